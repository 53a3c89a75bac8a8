"""Attention in heads, right or with one of the mistakes that several exercises recognise."""

import math
from collections.abc import Callable, Iterable

from torch import Tensor

from d2lattn.bare import merge_heads, split_heads

SLIPS = {
    "split": "You split by a reshape, which gives head 1 pieces of the first positions only. Cut "
    "each row into heads, then move the axis of heads in front of the axis of positions.",
    "merge": "You merge by a reshape, which mixes heads and positions. First move the axis of "
    "heads behind the axis of positions, then flatten the last two axes.",
    "whole width": "You divide by the square root of the whole width. A head is only D/H wide.",
    "no scale": "The scores are not divided by the square root of a head's width.",
    "softmax": "The softmax is computed along the queries. The weights of each query sum to 1.",
    "no mask": "Masked positions get weight: mask the scores before the softmax.",
    "mask after": "The rows no longer sum to 1: mask the scores before the softmax, not after.",
    "inverted": "The mask is inverted: where it is true, a query may attend.",
    "score 0": "A masked score of 0 still gets weight, since exp(0) = 1. Use minus infinity.",
    "no W_o": "The merged heads are right; the last layer, W_o, is missing.",
    "keys as values": "Your W_v is applied to the keys. It projects the values.",
}
"""Mistakes in multi-head attention, with their hints; the last two are in the projections."""
ONE_HEAD = "no scale", "softmax"
MASKING = "no mask", "mask after", "inverted", "score 0"
HEADS = "split", "merge", "whole width"


def attend_in_heads(
    q: Tensor, k: Tensor, v: Tensor, num_heads: int, mask: Tensor | None = None, slip: str = ""
) -> Tensor:
    """Attend in heads, (B, Q, D), of projected q, k and v, (B, N, D); with one of SLIPS."""
    width = q.shape[-1]
    if slip == "split":
        q, k, v = (x.reshape(len(x), num_heads, x.shape[1], -1) for x in (q, k, v))
    else:
        q, k, v = (split_heads(x, num_heads) for x in (q, k, v))
    divisor = {"whole width": width, "no scale": 1}.get(slip, width / num_heads)
    scores = q @ k.mT / math.sqrt(divisor)  # (B, H, Q, K)
    if mask is not None and slip not in ("no mask", "mask after"):
        hidden = mask if slip == "inverted" else ~mask
        scores = scores.masked_fill(hidden, 0.0 if slip == "score 0" else -math.inf)
    weights = scores.softmax(dim=-2 if slip == "softmax" else -1)
    if mask is not None and slip == "mask after":
        weights = weights * mask
    heads = weights @ v  # (B, H, Q, D / H)
    if slip == "merge":
        return heads.reshape(len(q), -1, width)
    return merge_heads(heads)


def mistakes_in_heads(
    make: Callable[[str], Tensor], slips: Iterable[str]
) -> list[tuple[Tensor, str]]:
    """Return the output of each mistake, with its hint; nan alone does not tell which it was."""
    return [(out, SLIPS[slip]) for slip in slips if not (out := make(slip)).isnan().all()]
