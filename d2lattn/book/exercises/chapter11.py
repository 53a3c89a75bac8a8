"""Checks for the exercises of chapter 11, attention without the softmax."""

from collections.abc import Callable

import torch
from torch import Tensor

from d2lattn.book.exercises.checking import (
    Function,
    LargestTensor,
    WrongAnswer,
    call,
    check,
    compare,
    judge_tensor,
)
from d2lattn.book.exercises.choices import choice

Attention = Callable[[Tensor, Tensor, Tensor], Tensor]

S_TOLD = ((5.0, 6.0), (6.0, 5.0))
Z_TOLD = (4.0, 5.0)
"""The matrix and the sum after the three pairs of exercise 11.1."""


@check("11.1", right=(((3, 2), (6, 5)), (2, 5), (9 / 7, 1)))
def check_taken_back(
    S: tuple[tuple[float, float], tuple[float, float]],
    z: tuple[float, float],
    answer: tuple[float, float],
) -> str:
    """Delete the pair with features (2, 0) and value (1, 2); then read with (1, 1)."""
    before, features, value = torch.tensor(S_TOLD), torch.tensor([2.0, 0]), torch.tensor([1.0, 2])
    written = features[:, None] * value  # (D, 1) x (V,) -> (D, V)
    sums, left = torch.tensor(Z_TOLD), before - written
    below = (sums - features).sum()
    parts: tuple[tuple[str, object, Tensor, str, dict[str, Tensor]], ...] = (
        ("S", S, left, "Subtract the features times the value.", {
            "That is S as it was: the pair is still in it.": before,
            "The pair was added once more; subtract it.": before + written,
            "The value was subtracted from both rows; the second feature is 0.": before - value,
            "Rows and columns are exchanged: each row belongs to a feature.": before - written.T,
            "The value was subtracted once, but the first feature is 2.": before - written / 2,
        }),
        ("the sum z", z, sums - features, "Subtract the features.", {
            "The deleted pair is still in z.": sums,
            "Subtract the features from z, not the value.": sums - value,
        }),
        ("the output", answer, left.sum(dim=0) / below, "Add the rows; divide by the sum of z.", {
            "That is the output with the pair still included.": before.sum(dim=0) / sums.sum(),
            "Divide the output by the product of the query's features and z.": left.sum(dim=0),
            "You divided by the sum of the old z.": left.sum(dim=0) / sums.sum(),
        }),
    )  # fmt: skip
    for name, part, expected, hint, mistakes in parts:
        wrong = [(result, why) for why, result in mistakes.items()]
        judge_tensor(part, expected, wrong, hint, name)
    return "a pair can be subtracted if its key and value are still known."


def _gated(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    a: Tensor,
    b: Tensor,
    decay: str = "before",
    corrected: bool = True,
    share: bool = True,
    late: bool = False,
) -> Tensor:
    """The gated delta rule, right or with the mistakes of exercise 11.2."""
    S, read = torch.zeros(K.shape[1], V.shape[1]), []
    for t in range(len(K)):
        if late:  # it reads before it writes
            read.append(Q[t] @ S)
        S = a[t] * S if decay == "before" else S
        error = V[t] - K[t] @ S if corrected else V[t]
        S = a[t] * S if decay == "between" else S
        S = S + (b[t] if share else 1) * torch.outer(K[t], error)
        S = a[t] * S if decay == "after" else S
        if not late:
            read.append(Q[t] @ S)
    return torch.stack(read)


def _drawn(length: int, width: int, outputs: int) -> tuple[Tensor, Tensor, Tensor]:
    Q, K = (torch.rand(2, length, width) + 0.1).unbind()
    return Q, K, torch.randn(length, outputs)


@check("11.2", right=(_gated,))
def check_gated_delta(attention: Function) -> str:
    """A matrix that decays and is corrected by the delta rule, from an empty cell."""
    mistakes = (
        ({"decay": "none"}, "S never decays: multiply it by a[t]."),
        ({"decay": "between"}, "you read S with the key before S has decayed, not after."),
        ({"decay": "after"}, "the new pair decays at once: let S decay before it is corrected."),
        ({"corrected": False}, "V[t] itself is written; first subtract what is stored, K[t] @ S."),
        ({"share": False}, "the whole correction is written, not the fraction b[t] of it."),
        ({"late": True}, "each query reads before its own token has been written."),
    )
    for length, width, outputs in ((5, 3, 2), (8, 2, 4), (1, 4, 3)):
        Q, K, V = _drawn(length, width, outputs)
        K = K / K.norm(dim=-1, keepdim=True)
        a, b = torch.linspace(0.5, 0.9, length), torch.linspace(0.8, 0.3, length)
        case = f"with {length} tokens"
        expected = _gated(Q, K, V, a, b)
        wrong = [(_gated(Q, K, V, a, b, **how), hint) for how, hint in mistakes]
        hint = "Decay, correct, read: one line each."
        compare(attention, (Q, K, V, a, b), expected, wrong, hint, "your output", case)
    return "the matrix decays, is corrected, and is read."


def _chunks(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    size: int,
    before: bool = True,
    masked: bool = True,
    twice: bool = False,
) -> Tensor:
    """Squares within chunks and sums from before them, right or with mistakes of exercise 11.3."""
    S, z, read = torch.zeros(K.shape[1], V.shape[1]), torch.zeros(K.shape[1]), []
    for q, k, v in zip(Q.split(size), K.split(size), V.split(size), strict=True):
        products = q @ k.T  # (C, D) x (D, C) -> (C, C)
        products = products.tril() if masked else products
        if twice:
            S, z = S + k.T @ v, z + k.sum(dim=0)
        above, below = products @ v, products.sum(dim=1)
        if before:
            above, below = above + q @ S, below + q @ z
        read.append(above / below[:, None])
        if not twice:
            S, z = S + k.T @ v, z + k.sum(dim=0)
    return torch.cat(read)


@check(
    "11.3",
    right=(_chunks,),
    wrong=[
        lambda Q, K, V, size: _chunks(Q, K, V, len(Q)),
        lambda Q, K, V, size: _chunks(Q, K, V, 1),
    ],
)
def check_chunks(attention: Function) -> str:
    """Squares of at most `size` tokens, and sums for the tokens before them."""
    mistakes = (
        ({"before": False}, "earlier chunks are missing: add the products of q with S and z."),
        ({"masked": False}, "within a chunk, tokens attend to later ones: use `tril`."),
        ({"twice": True}, "you add a chunk to S and z before you read them: it counts twice."),
        ({"before": False, "masked": False}, "earlier chunks are missing, and so is the mask."),
    )
    for length, size in ((12, 4), (10, 4), (7, 1), (6, 9)):
        Q, K, V = _drawn(length, 3, 2)
        case = f"with {length} tokens in chunks of {size}"
        expected = _chunks(Q, K, V, size)
        wrong = [(_chunks(Q, K, V, size, **how), hint) for how, hint in mistakes]
        hint = "Add two parts: the products within the chunk, and those of q with S and z."
        compare(attention, (Q, K, V, size), expected, wrong, hint, "your output", case)
    with LargestTensor() as seen:
        call(attention, *_drawn(200, 3, 2), 50)
    if not 50 * 50 <= seen.numel < 200 * 200:
        raise WrongAnswer(
            f"the outputs are right, but with 200 tokens and a size of 50 the largest tensor has "
            f"{seen.numel:,} numbers; the square of a chunk has 2,500."
        )
    return "the same outputs, and no square matrix is larger than that of one chunk."


check_sizes = choice("11.4")
