"""Checks for the exercises of chapter 8, rotary positions."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from d2lattn.book.exercises.checking import (
    Function,
    call,
    check,
    compare,
    judge_number,
    judge_tensor,
    read_parts,
    read_tensor,
)
from d2lattn.book.exercises.choices import choice

Score = Callable[[Tensor, int, Tensor, int], Tensor]


def _turn(X: Tensor, omega: Tensor, start: int = 0) -> Tensor:
    """Rotate the pairs of rows (T, D), the first of which has position `start`."""
    i = torch.arange(start, start + len(X)).unsqueeze(1)  # (T, 1)
    cos, sin = (i * omega).cos(), (i * omega).sin()  # (T, 1) x (D / 2,)
    x, y = X[:, 0::2], X[:, 1::2]
    return torch.stack((x * cos - y * sin, x * sin + y * cos), dim=-1).flatten(-2)


@check(
    "8.1",
    right=((-3, -1), (-3, 2), 7, -7),
    wrong=[((-3, -1), (-3, 2), 11, -7), ((-3, -1), (-3, 2), 7, 9)],
)
def check_by_hand(
    query: tuple[float, float], key: tuple[float, float], score: float, swapped: float
) -> str:
    """(3, 1) at position 2 and (2, 3) at 5, 90 degrees per position; then exchanged."""
    hands = (
        ("the rotated query", query, (-3.0, -1.0), (3.0, 1.0), 2),
        ("the rotated key", key, (-3.0, 2.0), (2.0, 3.0), 5),
    )
    for what, answer, expected, raw, place in hands:
        x, y = raw
        mistakes = [
            (raw, f"that is the vector before the rotation; rotate it by {place} times 90°."),
            ((y, -x), f"that is 90° clockwise, not {90 * place}° counterclockwise."),
            ((-y, x), "that is a rotation by 90°, as at position 1 or 5."),
        ]
        judge_tensor(answer, torch.tensor(expected), mistakes, f"Rotate by {90 * place}°.", what)
    numbers: dict[float, str] = {
        9: "9 is the dot product before the rotation.",
        7 / math.sqrt(2): "Give the dot product itself, not divided by √d.",
    }
    hint = "The dot product is not {:g}: take that of the two rotated vectors."
    judge_number(score, 7, numbers, hint, "the dot product")
    numbers = {7: "With the positions exchanged, the distance is −3, so the angle changes."}
    hint = "After the exchange, it is not {:g}: rotate the query by 450° and the key by 180°."
    judge_number(swapped, -7, numbers, hint, "the dot product with the positions exchanged")
    return "7 at a distance of 3 and −7 at −3: rotation distinguishes before from after."


def _step(
    query: Tensor, keys: Tensor, values: Tensor, omega: Tensor, start: int, turned: bool
) -> Tensor:
    """One step of decoding, right or with the mistakes of exercise 8.2."""
    q = _turn(query.unsqueeze(0), omega, start)  # (1, D)
    scores = q @ _turn(keys, omega).T / math.sqrt(len(query))  # (1, D) x (D, n) -> (1, n)
    return (scores.softmax(dim=-1) @ (_turn(values, omega) if turned else values)).squeeze(0)


def _newest(query: Tensor, keys: Tensor, values: Tensor, omega: Tensor) -> Tensor:
    return _step(query, keys, values, omega, len(keys) - 1, turned=False)


@check("8.2", right=(_newest,))
def check_step(step: Function) -> str:
    """Attention of the newest token, from a listing that rotates values and starts at 0."""
    for n, width in ((5, 4), (9, 6), (1, 2)):
        keys, values = 2 * torch.randn(2, n, width)
        query = 2 * torch.randn(width)
        omega = 10 ** (-torch.arange(0, width, 2) / width)  # (D / 2,)
        case = f"with {n} keys"
        expected = _newest(query, keys, values, omega)
        what = "values are rotated, too, and should not be."
        where = {
            0: "the query still has position 0 at each step",
            n: "the query is one position too far: its own key is the last of the keys",
        }
        mistakes = [(n - 1, True, f"The position is right now, but {what}")]
        for start, hint in where.items():
            mistakes += [
                (start, False, f"Values are no longer rotated, but {hint}."),
                (start, True, f"Two things are wrong: {hint}, and {what}"),
            ]
        given = query, keys, values, omega
        wrong = [(_step(*given, start, turned), hint) for start, turned, hint in mistakes]
        hint = "Rotate the query and the keys by their own positions, and do not rotate the values."
        compare(step, given, expected, wrong, hint, "your output", case)
    return "the query and the keys are rotated by their positions, and values are not rotated."


def _rotary(q: Tensor, i: int, k: Tensor, j: int) -> Tensor:
    omega = 100 ** (-torch.arange(0, len(q), 2) / len(q))
    return (_turn(q[None], omega, i) @ _turn(k[None], omega, j).T).squeeze()


def _added(q: Tensor, i: int, k: Tensor, j: int) -> Tensor:
    one = torch.zeros(1, len(q))
    one[:, 0::2] = 0.01  # a short vector for each pair, which the position rotates
    omega = 100 ** (-torch.arange(0, len(q), 2) / len(q))
    return ((q + _turn(one, omega, i)) @ (k + _turn(one, omega, j)).T).squeeze()


BOXES: dict[str, Score] = {
    "A": lambda q, i, k, j: _rotary(q, i, k, j) - abs(i - j) / 4,
    "B": _added,
    "C": lambda q, i, k, j: q @ k - abs(min(i, 30) - min(j, 30)) / 4,
    "D": lambda q, i, k, j: _rotary(q, i, k.flip(0), j),
}
"""Four scores (q, i, k, j) for exercise 8.4: two depend on the distance alone."""


check_boxes = choice("8.4")


def _converted(W: Tensor, num_heads: int) -> Tensor:
    pairs = W.unflatten(0, (num_heads, -1, 2))  # (H, d / 2, 2, D)
    return pairs.transpose(1, 2).flatten(0, 2)  # all x of a head, then all y


@check("8.5", right=(_converted,))
def check_convert(convert: Function) -> str:
    """Rows of W_q or W_k for pairs (0, 1), (2, 3), in the order that `rotary` needs."""
    for num_heads, width in ((2, 6), (3, 4)):
        W = torch.randn(num_heads * width, 5)
        case = f"with {num_heads} heads of width {width}"
        expected = _converted(W, num_heads)
        back = W.unflatten(0, (num_heads, 2, -1)).transpose(1, 2).flatten(0, 2)
        reordered = (
            (W, "the rows are still in their old order."),
            (_converted(W, 1), "heads are mixed: reorder the rows within each head."),
            (back, "this is the reverse conversion, from halves to pairs."),
        )
        hint = "In each head: rows 0, 2, 4, …, then 1, 3, 5, …"
        given = W, num_heads
        compare(convert, given, expected, reordered, hint, "your output", case=case)
    return "each head has the x entries of all pairs first, and then the y entries."


def _halves(X: Tensor, start: int = 0, base: float = 10000, by: int = 1, sign: int = 1) -> Tensor:
    """Rotary positions on halves, right or with the mistakes of exercise 8.6."""
    D = X.shape[-1]
    i = torch.arange(start, start + len(X)).unsqueeze(1)  # (T, 1)
    angle = i * base ** (-by * torch.arange(0, D, 2) / D)  # (T, 1) x (D / 2,)
    x, y = X.chunk(2, dim=-1)
    cos, sin = angle.cos(), sign * angle.sin()
    return torch.cat((x * cos - y * sin, x * sin + y * cos), dim=-1)


@check("8.6", right=(_halves,))
def check_rotary(rotary: Function) -> str:
    """Rotary positions on halves: entries m and m + D / 2 are a pair."""
    for T, width, start in ((5, 8, 0), (3, 6, 4), (1, 4, 7)):
        X = torch.randn(T, width)
        case = f"with {T} rows of width {width}, starting at position {start}"
        expected = _halves(X, start)
        omega = 10000 ** (-torch.arange(0, width, 2) / width)
        x, y = X.chunk(2, dim=-1)
        mistakes = (
            (X, "Nothing has been rotated."),
            (
                _turn(X, omega, start),
                "You rotated the pairs (0, 1), (2, 3), …: pair m is (m, m + D/2).",
            ),
            (_halves(X), "The position of the first row is `start`, not 0."),
            (_halves(X, start + 1), "Count positions from 0: the first row has position `start`."),
            (_halves(X, start, sign=-1), "It rotates clockwise: which of x and y gets the minus?"),
            (_halves(X, start, by=2), "The exponent is −2m/D; yours is twice as large."),
            (torch.cat((-y, x), dim=-1), "That is a rotation by 90° at every position."),
        )
        hint = "x cos − y sin, and x sin + y cos, on the two halves."
        compare(rotary, (X, start), expected, mistakes, hint, "your output", case)
    return "paired entries are half a width apart, and each row is rotated by its own position."


def _sloped(Q: Tensor, K: Tensor, by: float) -> Tensor:
    """Weights of a decoder that adds `by` times the position of the key to each score."""
    T = len(Q)
    scores = Q @ K.T / math.sqrt(Q.shape[1]) + by * torch.arange(T)  # (T, D) x (D, T) -> (T, T)
    later = torch.ones(T, T).triu(1) > 0
    return scores.masked_fill(later, -torch.inf).softmax(dim=-1)


def _extend(Q: Tensor, K: Tensor, slope: float) -> tuple[Tensor, Tensor]:
    place = torch.arange(len(K)).unsqueeze(1)  # (T, 1)
    slopes = math.sqrt(Q.shape[1]) * slope * place
    return torch.cat((Q, torch.ones(len(Q), 1)), dim=1), torch.cat((K, slopes), dim=1)


@check(
    "8.3",
    right=(_extend,),
    wrong=[
        lambda Q, K, slope: _extend(Q, K, 0),
        lambda Q, K, slope: _extend(Q, K, -slope),
        lambda Q, K, slope: _extend(Q, K, slope / math.sqrt(Q.shape[1])),
        lambda Q, K, slope: _extend(Q, K, slope * math.sqrt(1 + 1 / Q.shape[1])),
    ],
)
def check_extend(extend: Function) -> str:
    """ALiBi in a decoder, as one more coordinate of queries and keys."""
    for T, width, slope in ((6, 3, 0.25), (9, 8, 0.5), (1, 4, 0.25)):
        Q, K = torch.randn(2, T, width)
        case = f"with {T} words of width {width}"
        pair = call(extend, Q, K, slope, case=case)
        wider = [
            read_tensor(part, torch.zeros(T, width + 1), f"{case}, {what}")
            for part, what in zip(
                read_parts(pair, 2, f"{case}, return two tensors: the queries and the keys."),
                ("the queries", "the keys"),
                strict=True,
            )
        ]
        extra = wider[0] @ wider[1].T / math.sqrt(width) - Q @ K.T / math.sqrt(width)
        later = torch.ones(T, T).triu(1) > 0
        scores = (Q @ K.T / math.sqrt(width) + extra).masked_fill(later, -torch.inf)
        result, expected = scores.softmax(dim=-1), _sloped(Q, K, slope)
        mistakes = (
            (0, "No weight has changed: a term that all keys share cancels in the softmax."),
            (-slope, "Now distant keys gain weight. Subtract more for a more distant key."),
            (slope / math.sqrt(width), "The program divides the new entry by √D, too."),
            (slope * math.sqrt(1 + 1 / width), "The program divides by √D, not by √(D + 1)."),
        )
        wrong = [(_sloped(Q, K, by), hint) for by, hint in mistakes]
        hint = "Give all queries the same new entry, and let only the keys' new entries differ."
        judge_tensor(result, expected, wrong, hint, f"{case}, a weight")
    return "one coordinate for s j is enough: −s i is the same for all keys of query i."
