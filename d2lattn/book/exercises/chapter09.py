"""Checks for the exercises of chapter 9, the running softmax."""

import math
from collections.abc import Callable, Iterable
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from d2lattn.book.exercises.checking import (
    Function,
    LargestTensor,
    WrongAnswer,
    agrees,
    call,
    check,
    expect,
    judge_number,
    judge_tensor,
    read_number,
    read_parts,
    read_tensor,
    recognise,
)
from d2lattn.book.exercises.choices import choice


@check(
    "9.1", right=((2, 1.25, 9), (4, 1.8125, 7.25), 4), wrong=[((2, 1.25, 9), (4, 1.8125, 7.25), 3)]
)
def check_by_hand(first: Iterable[float], second: Iterable[float], answer: float) -> str:
    """Scores 0, 2 and then 4, 3 with powers of 2, values 4, 8 and then 2, 6, in two tiles."""
    one, two = torch.tensor([2, 1.25, 9]), torch.tensor([4, 1.8125, 7.25])
    mistakes = [
        (torch.tensor([2, 5.0, 36]), "nothing was subtracted: score 2, minus M, is 0."),
        (torch.tensor([2, 1.25, 7.2]), "u is a sum; divide by s at the end."),
    ]
    hint = "With the largest score subtracted, the scores are −2 and 0."
    judge_tensor(first, one, mistakes, hint, "what is kept after tile 1")
    mistakes = [
        (torch.tensor([4, 2.75, 14]), "the sums of tile 1 were not rescaled."),
        (torch.tensor([4, 1.8125, 14]), "u must be rescaled as well, by the same factor."),
        (torch.tensor([4, 2.75, 7.25]), "s must be rescaled as well, by the same factor."),
        (torch.tensor([4, 2.125, 9.5]), "M has grown by 2, so the factor is 2⁻² = ¼."),
        (torch.tensor([4, 1.5, 5]), "that is tile 2 alone."),
        (torch.tensor([2, 7.25, 29]), "the largest score so far is now 4."),
    ]
    hint = "Multiply both sums of tile 1 by ¼, then add the new keys."
    judge_tensor(second, two, mistakes, hint, "what is kept after tile 2")
    means = {
        7.25: "7.25 is u: it must still be divided by s.",
        (7.2 + 10 / 3) / 2: "That is the mean of the outputs of both tiles; their weights differ.",
    }
    hint = "The output is not {:g}: divide u by s."
    judge_number(answer, 4, means, hint)
    return "4. The tiles alone give 7.2 and 3.33, and the second tile has far larger weights."


def _attend(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    tile: int,
    shrinks: bool = True,
    finishes: bool = True,
    top: float = -torch.inf,
) -> Tensor:
    """Give one query's output, right or with the mistakes of exercise 9.2."""
    total, out = torch.tensor(0.0), torch.zeros(values.shape[1])
    end = len(keys) if finishes else len(keys) // tile * tile
    for start in range(0, end, tile):
        K, V = keys[start : min(start + tile, end)], values[start : min(start + tile, end)]
        scores = K @ query / math.sqrt(len(query))
        new = max(top, scores.max().item())
        shrink, weights = math.exp(top - new), (scores - new).exp()
        total = total * shrink + weights.sum()
        out = out * (shrink if shrinks else 1) + weights @ V
        top = new
    return out / total


def _overflowing(query: Tensor, keys: Tensor, values: Tensor, tile: int) -> Tensor:
    weights = (keys @ query / math.sqrt(len(query))).exp()
    return weights @ values / weights.sum()


@check("9.2", right=(_attend,), wrong=[_overflowing, partial(_attend, top=0.0)])
def check_attend(attend: Function) -> str:
    """Attention of one query, read tile by tile."""
    for n, width, tile in ((7, 4, 3), (6, 2, 2), (5, 3, 5), (4, 2, 9)):
        keys, values = 2 * torch.randn(2, n, width)
        query = 2 * torch.randn(width)
        keys = keys[(keys @ query).argsort(descending=n % 2 == 0)]  # 7: each tile has a larger one
        low = -2000 * query.abs(), keys.abs(), values, tile
        for far, given, hint in (
            ("", (query, keys, values, tile), ""),
            (" and large scores", (60 * query, keys, values, tile), "subtract the largest so far."),
            (" and scores far below 0", low, "start M at −∞, not at 0, and never lower it."),
        ):
            case = f"with {n} keys in tiles of {tile}{far}"
            expected = _attend(*given)
            result = read_tensor(call(attend, *given, case=case), expected, f"{case}, your output")
            if far and not result.isfinite().all():
                raise WrongAnswer(f"{case}, your output is not finite: {hint}")
            lost = "the keys after the last whole tile are lost"
            mistakes = [
                (False, True, "s was rescaled, but u was not: multiply both by the same factor."),
                (True, False, f"{lost}: n need not be a multiple of `tile`."),
                (False, False, f"both sums must be rescaled by the same factor, and {lost}."),
            ]
            wrong = [
                (_attend(*given, shrinks, finishes), hint)
                for shrinks, finishes, hint in mistakes
                if not far and (n >= tile or finishes)
            ]
            unscaled = _attend(given[0] * math.sqrt(width), *given[1:])
            wrong.append((unscaled, "the scores are not divided by √D."))
            hint = "At each tile, multiply both sums by e^(old M − new M), then add the new terms."
            judge_tensor(result, expected, wrong, hint, f"{case}, your output")
    return "your output is right for large and small scores, and if the last tile is shorter."


State = tuple[float, float, float]
Box = Callable[[Tensor, Tensor], Tensor]


def _merge(one: State, other: State, shrinks: tuple[bool, bool] = (True, True)) -> State:
    """Merge what two have kept; where `shrinks` is false, a part is not rescaled."""
    top = max(one[0], other[0])
    by = [
        math.exp(part[0] - top) if shrunk else 1.0
        for part, shrunk in zip((one, other), shrinks, strict=True)
    ]
    return top, by[0] * one[1] + by[1] * other[1], by[0] * one[2] + by[1] * other[2]


def _mean_of_answers(one: State, other: State) -> State:
    return max(one[0], other[0]), 1.0, (one[2] / one[1] + other[2] / other[1]) / 2


def _merge_from(top: float, one: State, other: State) -> State:
    return _merge(_merge((top, 0.0, 0.0), one), other)


@check(
    "9.3",
    right=(_merge,),
    wrong=[
        _mean_of_answers,
        lambda one, other: _merge_from(0.0, one, other),
        lambda one, other: _merge_from(max(abs(one[0]), abs(other[0])), one, other),
    ],
)
def check_merge(merge: Function) -> str:
    """Merge two triples: largest score M, sum s, and weighted sum of values u."""
    pairs: list[tuple[State, State]] = [
        ((1.0, 1.5, 2.5), (2.0, 1.25, 4.0)),
        ((2.0, 1.25, 4.0), (1.0, 1.5, 2.5)),
        ((3.0, 2.0, -1.0), (3.0, 1.0, 6.0)),
        ((-3.0, 1.5, 2.0), (-1.0, 1.25, 4.0)),
        ((900.0, 1.0, 5.0), (-900.0, 2.0, 8.0)),
        ((-900.0, 2.0, 8.0), (900.0, 1.0, 5.0)),
    ]
    result = []
    for one, other in pairs:
        case = f"with {one} and {other}"
        parts = read_parts(
            call(merge, one, other, case=case),
            3,
            "Return three numbers: M, s and u.",
        )
        result.append([read_number(part, f"{case}, a part of it") for part in parts])
    value = torch.tensor(result)  # (pairs, 3)
    recognise(
        value,
        [
            (torch.tensor([_merge(*pair, shrinks) for pair in pairs]), hint)
            for shrinks, hint in (
                ((False, False), "the sums belong to different M: rescale them to the larger M."),
                ((True, False), "only the first is rescaled, but its M may be the larger."),
                ((False, True), "only the second is rescaled, but its M may be the larger."),
            )
        ],
    )
    means = torch.tensor([(u / s + v / t) / 2 for (_, s, u), (_, t, v) in pairs])
    if agrees(value[:, 2] / value[:, 1], means):
        raise WrongAnswer("That gives the mean of two outputs, but their sums s differ.")
    for (one, other), mine in zip(pairs, value, strict=True):
        hint = "Multiply s and u of each part by e^(its M − the larger M)."
        expect(mine, torch.tensor(_merge(one, other)), hint, f"with {one} and {other}, your output")
    return "with the same M subtracted, the sums can be added."


TILE = 2  # of the boxes


def _box(unit: Callable[[Tensor, Tensor, float], float]) -> Box:
    """Read scores in tiles; `unit` gives what is subtracted, from all, a tile and the last unit."""

    def answer(scores: Tensor, values: Tensor) -> Tensor:
        top, total, out = -math.inf, torch.tensor(0.0), torch.tensor(0.0)
        for some, theirs in zip(scores.split(TILE), values.split(TILE), strict=True):
            new = unit(scores, some, top)
            shrink = torch.tensor(top - new).exp()
            weights = (some - new).exp()
            total, out, top = total * shrink + weights.sum(), out * shrink + weights @ theirs, new
        return out / total

    return answer


BOXES: dict[str, Box] = {
    "A": _box(lambda scores, tile, top: tile.max().item()),
    "B": _box(lambda scores, tile, top: max(top, tile.max().item())),
    "C": _box(lambda scores, tile, top: top if top > -math.inf else tile.max().item()),
    "D": _box(lambda scores, tile, top: scores.max().item()),
}
"""Four ways to sum (scores, values) in tiles of two, for exercise 9.4: two cannot be broken."""


check_boxes = choice("9.4")


def _windowed(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    window: int,
    tile: int,
    *,
    later: int = 0,
    start: float = torch.finfo(torch.float32).min,
) -> Tensor:
    """Causal attention with a window, in tiles, right or with a mistake of exercise 9.5."""
    i = torch.arange(len(Q)).unsqueeze(1)  # (Q, 1)
    M, s, u = torch.full((len(Q), 1), start), torch.tensor(0.0), torch.tensor(0.0)
    for j, keys, values in zip(i.split(tile), K.split(tile), V.split(tile), strict=True):
        allowed = (i - j.T < window) & (j.T - i <= later)  # (Q, tile)
        a = (Q @ keys.T / Q.shape[1] ** 0.5).masked_fill(~allowed, -torch.inf)
        new = M.maximum(a.amax(dim=1, keepdim=True))
        shrink, e, M = (M - new).exp(), (a - new).exp(), new
        s, u = s * shrink + e.sum(dim=1, keepdim=True), u * shrink + e @ values
    return u / s


@check("9.5", right=(_windowed,), wrong=[partial(_windowed, start=-torch.inf)])
def check_windowed(attention: Function) -> str:
    """Causal attention with a window for all queries, tile by tile, from an empty cell."""
    for n, window, tile in ((8, 3, 2), (7, 2, 3), (64, 9, 4)):
        Q, K, V = torch.randn(3, n, 2)
        case = f"with {n} tokens, a window of {window} and tiles of {tile}"
        i = torch.arange(n)
        ago = i[:, None] - i
        mask = (ago >= 0) & (ago < window)
        expected = scaled_dot_product_attention(Q, K, V, attn_mask=mask)
        with LargestTensor() as seen:
            answer = call(attention, Q, K, V, window, tile, case=case)
        result = read_tensor(answer, expected, f"{case}, your output")
        if result.isnan().any():
            raise WrongAnswer(
                f"{case}, your output contains nan. Does each query have an allowed key? Does M "
                "start at the lowest finite number? From −∞, M − M' can be −∞ − (−∞), which is nan."
            )
        mistakes = [
            (n, 0, "all earlier keys are allowed: i − j must be below the window."),
            (window + 1, 0, "the window contains one key too many."),
            (window - 1, 0, "the window contains one key too few."),
            (window, n, "later keys are allowed: i − j must not be below 0."),
        ]
        wrong = [
            (_windowed(Q, K, V, wide, tile, later=later), hint) for wide, later, hint in mistakes
        ]
        unscaled = _windowed(Q * math.sqrt(2), K, V, window, tile)
        wrong.append((unscaled, "the scores are not divided by √D."))
        hint = "Mask each tile according to the positions of its keys."
        judge_tensor(result, expected, wrong, hint, f"{case}, your output")
    if seen.numel >= n * n:
        raise WrongAnswer(
            "Right, but one tensor has an entry for each pair of query and key: work in tiles."
        )
    return "the output agrees with PyTorch's for this mask, and no tensor is as large as the table."
