"""What a valid length means: so many steps of a sequence count, from the first on.

The rest is padding. Lengths are checked here and turned into a boolean mask, true where a step
counts; whatever comes after takes the mask. Lengths are integers from 0 to K, shape (B,), or (B, Q)
if each query has its own; others raise TypeError or ValueError. Where entries cannot be read (see
`check_range`), they are believed.

Sources: Vaswani et al. 2017, section 3.2.3; d2l.ai section 9.7.2; the notes' listing 10.3.1.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from d2lattn.checks import check_integers, check_range, wrong

Mask = Tensor | Callable[[], Tensor] | None
"""True where a key is valid, or what makes that, so that nobody has to keep it; None: all are."""


def made(mask: Mask) -> Tensor | None:
    """Give the mask itself, which may come as what makes it."""
    return mask() if callable(mask) else mask


def unchanging(mask: Mask) -> Mask:
    """Give a mask that stays as it is when its owner changes theirs in place."""
    return mask if mask is None or callable(mask) else mask.clone()


def length_mask(valid_lens: Tensor, shape: tuple[int, ...], name: str = "valid_lens") -> Tensor:
    """Say which steps are valid, as booleans that broadcast to `shape`.

    >>> length_mask(torch.tensor([1, 2]), (2, 3))
    tensor([[ True, False, False],
            [ True,  True, False]])

    Masked are (B, K), scores (B, Q, K) or scores with heads (B, H, Q, K). The mask has as many
    axes; queries and heads that share a length have size 1. An error calls the lengths `name`.
    """
    check_lengths(valid_lens, shape, name)
    sequences, *queries = valid_lens.shape
    shared = [1] * (len(shape) - 1 - valid_lens.dim())
    lens = valid_lens.reshape(sequences, *shared, *queries, 1)  # (B, 1, 1) or (B, Q, 1)
    return torch.arange(shape[-1], device=valid_lens.device) < lens  # (B, 1, K) or (B, Q, K)


def check_lengths(
    valid_lens: Tensor, shape: tuple[int, ...], name: str = "valid_lens", shortest: int = 0
) -> None:
    """Raise what `length_mask` raises, and a ValueError for a length below `shortest`."""
    check_integers(name, valid_lens)
    of_queries = (shape[0], shape[-2]) if len(shape) > 2 else None
    if valid_lens.shape not in (shape[:1], of_queries):
        needs = f"(B,) = {tuple(shape[:1])}" + (f" or (B, Q) = {of_queries}" if of_queries else "")
        raise wrong(ValueError, name, valid_lens, needs)
    check_range(name, valid_lens, shortest, shape[-1])


def causal_mask(num_queries: int, num_keys: int, device: torch.device | None = None) -> Tensor:
    """Let the last `num_queries` of `num_keys` steps see the steps up to themselves, (Q, K).

    >>> causal_mask(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    everything = torch.ones(num_queries, num_keys, dtype=torch.bool, device=device)
    return everything.tril(num_keys - num_queries)


def window_mask(
    num_queries: int,
    num_keys: int,
    window: int,
    num_first: int = 0,
    start: int = 0,
    device: torch.device | None = None,
) -> Tensor:
    """Let queries, from place `start` on, see keys less than `window` places off, (Q, K).

    >>> window_mask(3, 5, window=2, num_first=1, start=2)
    tensor([[ True,  True,  True,  True, False],
            [ True, False,  True,  True,  True],
            [ True, False, False,  True,  True]])

    Keys stand at the places 0, 1, …; the first `num_first` of them are seen from everywhere.
    """
    i = torch.arange(start, start + num_queries, device=device).unsqueeze(1)  # (Q, 1)
    j = torch.arange(num_keys, device=device)  # (K,)
    return ((i - j).abs() < window) | (j < num_first)  # (Q, 1) - (K,) -> (Q, K)


def sequence_mask(X: Tensor, valid_len: Tensor, value: float = 0) -> Tensor:
    """Put `value` in place of everything after the valid length of each sequence.

    >>> sequence_mask(torch.tensor([[1, 2, 3], [4, 5, 6]]), torch.tensor([1, 2]))
    tensor([[1, 0, 0],
            [4, 5, 0]])

    Takes sequences (B, K) or (B, K, ...) and lengths (B,); gives a new tensor like the sequences.
    """
    if not isinstance(X, Tensor):
        raise wrong(TypeError, "X", X, "a tensor")
    if X.dim() < 2:
        raise wrong(ValueError, "X", X, "(B, K) or (B, K, ...)")
    mask = length_mask(valid_len, X.shape[:2], "valid_len")
    return X.masked_fill(~mask.reshape(mask.shape + (1,) * (X.dim() - 2)), value)  # (B, K, 1, ...)
