"""Checks for the exercises of chapter 10, the key-value cache."""

from itertools import product

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from d2lattn.bare import attention, split_heads
from d2lattn.book.exercises.checking import (
    Function,
    call,
    check,
    compare,
    judge_tensor,
    read_parts,
)
from d2lattn.book.exercises.choices import choice
from d2lattn.masks import window_mask

check_bytes = choice("10.1")


def _kept(past: Tensor, window: int, num_first: int) -> Tensor:
    """Rows that the next token may attend to."""
    return past[window_mask(1, len(past), window, num_first, start=len(past))[0]]


@check("10.2", right=(_kept,))
def check_keep(keep: Function) -> str:
    """Rows of a cache, (n, D), for the next token, from a listing with two mistakes."""
    for n, window, num_first in ((9, 4, 2), *product(range(1, 7), range(1, 5), range(4))):
        past = torch.arange(1.0, n + 1)[:, None] * torch.tensor([1.0, -1.0])  # row i holds i
        case = f"with {n} tokens, a window of {window} and {num_first} first tokens"
        expected = _kept(past, window, num_first)
        recent = past[max(0, n - window + 1) :]  # the next token is in its own window, too
        mistakes = [
            (
                torch.cat((past[:num_first], recent)),
                "a token is kept twice: the first tokens are still among the last ones.",
            ),
            (
                torch.cat((past[:num_first], past[-window:])),
                "one row too many: the next token is in the window as well (and `p[-0:]` is `p`).",
            ),
            (recent, "the first tokens have been deleted, but they must always be kept."),
            (past, "nothing has been deleted."),
        ]
        hint = "Compare the rows with the last row of the mask for one more token."
        given = past, window, num_first
        compare(keep, given, expected, mistakes, hint, "your output", case=case)
    return "it keeps the window without the next token itself, and each of the first tokens once."


def _pooled(W: Tensor, num_heads: int, num_groups: int) -> Tensor:
    heads = W.unflatten(0, (num_groups, num_heads // num_groups, -1))  # (G, H / G, d, D)
    return heads.mean(dim=1).flatten(0, 1)


@check("10.3", right=(_pooled,))
def check_pooled(pooled: Function) -> str:
    """From a matrix for H key heads, (H d, D), one for G groups, (G d, D), by means."""
    for heads, groups, width in ((8, 2, 3), (6, 3, 2), (4, 1, 2), (4, 4, 1)):
        W = torch.randn(heads * width, 5)
        case = f"with {heads} heads in {groups} groups"
        split = W.unflatten(0, (groups, heads // groups, width))  # (G, H / G, d, D)
        expected = _pooled(W, heads, groups)
        other = W.unflatten(0, (heads // groups, groups, width)).mean(dim=0).flatten(0, 1)
        rows = W.unflatten(0, (groups, width, heads // groups)).mean(dim=2).flatten(0, 1)
        mistakes = (
            (split.sum(dim=1).flatten(0, 1), "that is the sum of the heads; take their mean."),
            (split[:, 0].flatten(0, 1), "it keeps only the first head of each group."),
            (other, "a group has adjacent heads: of 8 heads in 2 groups, 1 to 4 and 5 to 8."),
            (rows, "it averages adjacent rows; average the rows of different heads."),
        )
        hint = "Average the heads of each group, row by row."
        given = W, heads, groups
        compare(pooled, given, expected, mistakes, hint, "your output", case=case)
    return "each group has one key head, the mean of those that it replaces."


def _cached(
    X: Tensor,
    keys: Tensor,
    values: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    num_heads: int,
    diagonal: int | None = None,
    interleaved: bool = True,
    loud: float = 1,
) -> tuple[Tensor, Tensor, Tensor]:
    """A step with cache and groups, right or with a mistake of exercise 10.4."""
    start, G = keys.shape[2], keys.shape[1]
    q = split_heads(X @ W_q, num_heads) * loud
    keys = torch.cat((keys, split_heads(X @ W_k, G)), dim=2)  # (B, G, P + N, d)
    values = torch.cat((values, split_heads(X @ W_v, G)), dim=2)
    k, v = (
        Y.repeat_interleave(num_heads // G, 1) if interleaved else Y.repeat(1, num_heads // G, 1, 1)
        for Y in (keys, values)
    )
    mask = torch.ones(X.shape[1], start + X.shape[1])
    heads, _ = attention(q, k, v, mask.tril(start if diagonal is None else diagonal).bool())
    return heads.transpose(1, 2).flatten(2), keys, values


@check("10.4", right=(_cached,))
def check_cached(step: Function) -> str:
    """Attention of N new tokens, with a cache and grouped keys."""
    text = torch.randn(2, 7, 12)  # (B, P + N, D)
    W = [torch.randn(12, width) / 3 for width in (12, 6, 6)]
    q, k, v = (
        split_heads(text @ matrix, heads) for matrix, heads in zip(W, (4, 2, 2), strict=True)
    )
    whole = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    whole = whole.transpose(1, 2).flatten(2)  # (B, P + N, H d)
    three = "Return three tensors: the output, all keys and all values."
    for start, end in ((0, 4), (4, 6), (6, 7)):
        case = f"with {end - start} new tokens after {start}"
        given = text[:, start:end], k[:, :, :start], v[:, :, :start], *W, 4
        parts = read_parts(call(step, *given, case=case), 3, three)
        for name, kept, new in (("the keys", parts[1], k), ("the values", parts[2], v)):
            expected = new[:, :, :end]
            forms = (
                (new[:, :, start:end], "only the new ones: append them to the cache."),
                (expected.repeat_interleave(2, dim=1), "repeated: return them without copies."),
            )
            wrong = [(form, f"{name} are {why}") for form, why in forms]
            what = f"{case}, {name} returned: an entry"
            judge_tensor(kept, expected, wrong, "Project, split, append.", what)
        expected = whole[:, start:end]
        mistakes = (
            ({"diagonal": 0}, "the diagonal of the mask must move: use `tril(P)`."),
            ({"diagonal": end}, "a new token attends to later tokens: use a causal mask."),
            ({"interleaved": False}, "heads 1 and 2 share key head 1: use `repeat_interleave`."),
            ({"loud": 0.5}, "divide by the square root of a head's width, d = 3, not by √D."),
            ({"loud": 3**0.5}, "the scores must still be divided by √d."),
        )
        wrong = [(_cached(*given, **how)[0], why) for how, why in mistakes]
        hint = "Append to the cache, copy key heads, mask, attend, and merge the heads."
        judge_tensor(parts[0], expected, wrong, hint, f"{case}, the output")
    return "the output equals PyTorch's on the whole text, and the cache holds G heads."
