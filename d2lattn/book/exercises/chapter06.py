"""Checks for the exercises of chapter 6, self-attention and positions."""

import math
from collections.abc import Callable
from functools import partial
from itertools import product

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from d2lattn.book.exercises.attending import attend_in_heads, mistakes_in_heads
from d2lattn.book.exercises.checking import (
    Function,
    WrongAnswer,
    call,
    check,
    compare,
    expect,
    read_number,
    read_tensor,
    recognise,
)
from d2lattn.book.exercises.choices import choice

Layer = Callable[[Tensor], Tensor]

# The hands of a mistake may turn fast, and the sine of a large angle loses digits.
ATOL = 1e-4


def _frequencies(width: int) -> Tensor:
    return 10000 ** (-torch.arange(0, width, 2) / width)  # (D / 2,)


def _waves(places: Tensor, width: int) -> Tensor:
    angles = places.unsqueeze(-1) * _frequencies(width)  # (T, 1) x (D / 2,) -> (T, D / 2)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)  # (T, D)


def _attention(X: Tensor) -> Tensor:
    """Self-attention without projections, (n, d) -> (n, d)."""
    scores = X @ X.T / math.sqrt(X.shape[1])  # (n, d) x (d, n) -> (n, n)
    return scores.softmax(dim=-1) @ X  # (n, n) x (n, d) -> (n, d)


def _placed(X: Tensor, along: int, speed: int, wave: Callable[[Tensor], Tensor]) -> Tensor:
    """X (B, T, D) with waves added, right or with mistakes of exercise 6.1."""
    shape = [1, 1, 1]
    shape[along] = -1
    i = torch.arange(X.shape[along]).reshape(shape)
    angles = i * 10000 ** (speed * torch.arange(0, X.shape[2], 2) / X.shape[2])
    # (B or 1, T or 1, D / 2) twice -> (..., D)
    return X + torch.stack((angles.sin(), wave(angles)), dim=-1).flatten(-2)


@check("6.1", right=(lambda X: _placed(X, 1, -1, torch.cos),))
def check_add_positions(add_positions: Function) -> str:
    """Add the encoding to a batch."""
    X = torch.randn(3, 7, 6)
    result = read_tensor(call(add_positions, X), X, "your output")
    right = {
        "axis": "positions are counted along the words",
        "speed": "later pairs are slower",
        "wave": "each pair has its cosine",
    }
    asks = {
        "axis": "is i the position of a sentence in the batch, or that of a word in its sentence?",
        "speed": "which pair should turn fastest?",
        "wave": "can sin x alone tell x from π − x?",
    }
    expected = _placed(X, 1, -1, torch.cos)
    P = expected - X
    sines_first = X + torch.cat((P[..., 0::2], P[..., 1::2]), dim=-1)
    in_turn = "Your sines all come before your cosines; in the formula, they alternate."
    recognise(result, [(P, "That is P alone; return X + P."), (sines_first, in_turn)], atol=ATOL)
    for axis, speed, wave in list(product((False, True), repeat=3))[1:]:
        variant = _placed(X, int(not axis), 1 if speed else -1, torch.sin if wave else torch.cos)
        left = [name for name, wrong in zip(right, (axis, speed, wave), strict=True) if wrong]
        done = [right[name] for name in right if name not in left]
        start = f"Right: {' and '.join(done)}. " if done else ""
        count = "One mistake: " if len(left) == 1 else f"{len(left)} mistakes. The first: "
        recognise(result, [(variant, f"{start}{count}{asks[left[0]]}")], atol=ATOL)
    expect(result, expected, "Compare it with the formula in the walk.", "your output")
    for shape in ((1, 9, 6), (4, 3, 10)):
        X = torch.randn(shape)
        case = f"for a batch of shape {shape}"
        result = call(add_positions, X, case=case)
        expect(
            result, _placed(X, 1, -1, torch.cos), "Take the sizes from X.", f"{case}, your output"
        )
    return "one position for each word, slower pairs after faster ones, a cosine for each sine."


check_crossing = choice("6.2")


def _shift(delta: float, frequencies: Tensor) -> Tensor:
    """The rotation by delta places, for columns (sin, cos, sin, cos, ...)."""
    angles = delta * frequencies
    blocks = [
        torch.stack((torch.stack((c, s)), torch.stack((-s, c))))
        for s, c in zip(angles.sin(), angles.cos(), strict=True)
    ]
    return torch.block_diag(*blocks)


def _shift_matrix(delta: int, width: int) -> Tensor:
    return _shift(delta, _frequencies(width))


@check("6.3", right=(_shift_matrix,))
def check_shift_matrix(shift_matrix: Function) -> str:
    """The matrix that takes the encoding of any place to that of `delta` places on."""
    for delta, width in ((3, 6), (0, 4), (-2, 8)):
        case = f"for an offset of {delta} and width {width}"
        expected = _shift_matrix(delta, width)
        result = read_tensor(
            call(shift_matrix, delta, width, case=case), expected, f"{case}, your matrix"
        )
        same_angle = "You rotate all pairs by the same angle, but each has its own frequency."
        mistakes = [
            (expected.T, "Wrong direction: your matrix leads to position i - delta."),
            (
                _shift_matrix(1, width),
                "Your matrix shifts by one position, whatever the offset is.",
            ),
            (_shift(delta, torch.ones(width // 2)), same_angle),
            (_shift(delta, 1 / _frequencies(width)), "Later pairs should be slower, not faster."),
        ]
        recognise(result, mistakes, expected, atol=ATOL)
        places = torch.arange(20)
        led = _waves(places, width) @ result.T  # (20, D) x (D, D) -> (20, D)
        expect(
            led,
            _waves(places + delta, width),
            "Each pair has its own block; the rest of the matrix is 0.",
            f"{case}, your matrix times the encodings",
        )
    return "one rotation per pair, and the same matrix for every position."


def _bandwidth(omega: float, strength: float) -> float:
    return 1 / (omega * math.sqrt(strength))


@check("6.4", right=(_bandwidth,))
def check_bandwidth(bandwidth: Function) -> str:
    """The bandwidth of the Gaussian that exp(strength * cos(omega * delta)) is like, near 0."""
    cases = ((1.0, 1.0), (0.5, 1.0), (1.0, 9.0), (0.1, 16.0))
    result = [
        read_number(
            call(bandwidth, omega, strength), f"for ω = {omega} and s = {strength}, your result"
        )
        for omega, strength in cases
    ]
    mistakes: list[tuple[Callable[[float, float], float], str]] = [
        (lambda omega, s: omega * math.sqrt(s), "That is 1/h. A faster pair narrows the window."),
        (lambda omega, s: 1 / omega, "The strength is missing: a larger s narrows the window."),
        (lambda omega, s: 1 / (omega * s), "Compare the exponents: s is under a square root."),
        (lambda omega, s: 1 / (omega**2 * s), "That is h². The bandwidth is its square root."),
    ]
    results = [([formula(*case) for case in cases], hint) for formula, hint in mistakes]
    recognise(result, results, rtol=1e-3, atol=0)
    for x, (omega, strength) in zip(result, cases, strict=True):
        expected = _bandwidth(omega, strength)
        if not math.isclose(x, expected, rel_tol=1e-3):
            raise WrongAnswer(
                f"For ω = {omega} and s = {strength}, your result is {x:.4g}, not {expected:.4g}. "
                "Use cos x ≈ 1 − x²/2; a constant cancels in the softmax."
            )
    return "h = 1 / (ω √s): the faster the pair and the larger s, the narrower the window."


def _box(positions: Callable[[int, int], Tensor]) -> Layer:
    return lambda X: _attention(X + positions(*X.shape))


BOXES: dict[str, Layer] = {
    "A": lambda X: _attention(X - X.mean(dim=0)),
    "B": _box(lambda n, d: 0.01 * _waves(torch.arange(n), d)),
    "C": _box(lambda n, d: _waves((torch.arange(n) - 9).clamp(min=0), d)),
    "D": lambda X: _attention(_attention(X).sin()) + X,
}
"""Four layers (n, d) -> (n, d) for exercise 6.5: two depend on the order of the rows."""


check_boxes = choice("6.5")


@check("6.6", right=(377,), wrong=[63, 1, 126])
def check_twin(place: float) -> str:
    """The place from 4 to 400 most like place 0, for width 4 and base 100."""
    result = read_number(place, "the position")
    if result == 63:
        raise WrongAnswer(
            "Position 63 is close (1.986 of at most 2), after one slow rotation. Search up to 400."
        )
    if result in (0, 1, 2, 3):
        raise WrongAnswer("Leave out position 0 and its neighbours: begin at 4.")
    if result != 377:
        if not 4 <= result <= 400 or result != int(result):
            raise WrongAnswer("A whole number from 4 to 400 is needed.")
        likeness = math.cos(result) + math.cos(result / 10)
        raise WrongAnswer(
            f"At position {result:g}, p(0)·p(i) is {likeness:.4f}; at another position, it is "
            "larger. Compute it for all positions, with frequencies 1 and 0.1. Take the largest."
        )
    return "position 377: almost exactly 60 full rotations of the fast pair and 6 of the slow one."


def _self_attention(X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor) -> Tensor:
    return scaled_dot_product_attention(X @ W_q.T, X @ W_k.T, X @ W_v.T, mask)


@check("6.7", right=(_self_attention,))
def check_self_attention(self_attention: Function) -> str:
    """Masked self-attention for a batch, beside PyTorch's function."""
    for batch, count, width, head in ((2, 4, 6, 3), (1, 5, 4, 8)):
        X = torch.randn(batch, count, width)
        W_q, W_k, W_v = torch.randn(3, head, width).unbind()
        mask = torch.ones(count, count).tril() > 0
        given = X, W_q, W_k, W_v, mask
        Q, K, V = (X @ matrix.T for matrix in (W_q, W_k, W_v))
        slips = "no scale", "no mask", "score 0"
        mistakes = [
            *mistakes_in_heads(partial(attend_in_heads, Q, K, V, 1, mask), slips),
            (
                attend_in_heads(Q * math.sqrt(head / width), K, V, 1, mask),
                "Under the root is the width of queries and keys, not of X.",
            ),
            (_self_attention(X, W_q, W_k, W_v, mask.mT), "The mask is transposed."),
        ]
        case = f"for X of shape {tuple(X.shape)}"
        hint = "Project, score, mask, softmax, sum."
        compare(self_attention, given, _self_attention(*given), mistakes, hint, case=case)
    return "your function and F.scaled_dot_product_attention agree."
