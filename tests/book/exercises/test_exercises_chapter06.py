"""Each check of chapter 6 passes the right answer and knows each foreseen wrong one."""

import math
from itertools import product

import numpy as np
import pytest
import torch

from d2lattn.book.exercises import chapter06


def speeds(width):
    return 10000 ** (-torch.arange(0, width, 2) / width)


def encoding_of(i, width):
    angles = i * speeds(width)
    return torch.stack((angles.sin(), angles.cos()), dim=1).flatten()


def moves_along(layer, X, order):
    return torch.allclose(layer(X[order]), layer(X)[order], atol=1e-5)


def shift_matrix(delta, width, omega=None):
    R = torch.zeros(width, width)
    for j, w in enumerate(speeds(width) if omega is None else omega):
        c, s = math.cos(w * delta), math.sin(w * delta)
        R[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = torch.tensor([[c, s], [-s, c]])
    return R


def placed(axis=False, speed=False, wave=False):
    """The listing of the workshop, with those of its three mistakes that are still in."""

    def add_positions(X):
        i = torch.arange(X.shape[0 if axis else 1])
        i = i.reshape(-1, 1, 1) if axis else i.reshape(1, -1, 1)
        omega = 10000 ** (torch.arange(0, X.shape[2], 2) / X.shape[2])
        angles = i * (omega if speed else 1 / omega)
        waves = torch.zeros(i.shape[0], i.shape[1], X.shape[2])
        waves[..., 0::2] = torch.sin(angles)
        waves[..., 1::2] = torch.sin(angles) if wave else torch.cos(angles)
        return X + waves

    return add_positions


CHECKS = {
    chapter06.check_encoding_of: (encoding_of,),
    chapter06.check_moves_along: (moves_along,),
    chapter06.check_crossing: (768,),
    chapter06.check_shift_matrix: (shift_matrix,),
    chapter06.check_add_positions: (placed(),),
    chapter06.check_sees_order: ("B",),
    chapter06.check_bandwidth: (lambda omega, strength: 1 / (omega * math.sqrt(strength)),),
    chapter06.check_boxes: ({"B", "C"},),
    chapter06.check_twin: (377,),
}


def sines_first(i, width):
    angles = i * speeds(width)
    return torch.cat((angles.sin(), angles.cos()))


def cosine_first(i, width):
    return encoding_of(i, width).reshape(-1, 2).flip(1).flatten()


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (sines_first, "in turn"),
        (cosine_first, "wrong way round"),
        (lambda i, d: encoding_of(i + 1, d), "end to end"),
        (lambda i, d: encoding_of(i, d).reshape(-1, 2), "shape"),
        (lambda i, d: encoding_of(i, 6), "For place 0 and width 4"),
    ],
)
def test_encoding_of_names_the_mistake(answer, hint):
    assert_hint(chapter06.check_encoding_of(answer), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda f, X, order: torch.allclose(f(X[order]), f(X), atol=1e-5), "move with the words"),
        (
            lambda f, X, order: torch.allclose(f(X[order]), f(X)[order.argsort()], atol=1e-5),
            "once by its inverse",
        ),
        (
            lambda f, X, order: not moves_along(f, X, order),
            "For self-attention your test says False",
        ),
        (lambda *a: True, "For a running sum your test says True"),
        (
            lambda f, X, order: moves_along(f, X, order) or f(X)[1, 0] == X[1, 0] + 1,
            "the place stays behind",
        ),
        (
            lambda f, X, order: f(X[order]) == f(X)[order],
            "one True or False; this has shape (5, 4)",
        ),
        (lambda f, X, order: "yes", "For self-attention, your answer should be True or False"),
        (lambda f, X, order: f(X).view(-1).view(7), "your function stopped"),
    ],
)
def test_moves_along_names_the_mistake(answer, hint):
    assert_hint(chapter06.check_moves_along(answer), hint)


def close(one, other):
    return torch.allclose(one, other, atol=1e-5)


WRONG_TESTS = {
    "ignores order": lambda f, X, order: close(f(X.flip(0)), f(X).flip(0)),
    "an order of its own": lambda f, X, order: moves_along(f, X, torch.tensor([2, 0, 3, 4, 1])),
    "the norm alone": lambda f, X, order: close(f(X[order]).norm(), f(X)[order].norm()),
    "rows in any order": lambda f, X, order: close(
        f(X[order]).sort(dim=0).values, f(X)[order].sort(dim=0).values
    ),
    "the first entries": lambda f, X, order: close(f(X[order])[:, 0], f(X)[order][:, 0]),
    "two rows": lambda f, X, order: close(f(X[order])[1:3], f(X)[order][1:3]),
} | {
    f"row {row} alone": lambda f, X, order, row=row: close(f(X[order])[row], f(X)[order][row])
    for row in range(5)
}


@pytest.mark.parametrize("name", WRONG_TESTS)
def test_moves_along_tells_tests_that_look_at_a_part(name):
    own = name in ("ignores order", "an order of its own")
    hint = "Reorder by the `order` that it is given" if own else "every number in its place"
    assert_hint(chapter06.check_moves_along(WRONG_TESTS[name]), hint)


def test_moving_the_answers_back_is_as_good():
    def back(layer, X, order):
        return torch.allclose(layer(X[order])[order.argsort()], layer(X), atol=1e-5)

    assert chapter06.check_moves_along(back)
    for kind in (torch.tensor, np.bool_, np.array):
        assert chapter06.check_moves_along(lambda *a, kind=kind: kind(moves_along(*a)))


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (256, "d itself"),
        (85.33, "larger constant"),
        (3072, "divide by the 4"),
        (589824, "That is n²"),
        (100, "solve for n"),
        (768.5, "solve for n"),
        (767, "solve for n"),
        (770, "solve for n"),
    ],
)
def test_crossing_names_the_mistake(answer, hint):
    assert_hint(chapter06.check_crossing(answer), hint)


def test_the_first_length_at_which_it_needs_more_passes_too():
    operations = {"gru": lambda n: 12 * n * 256**2, "attention": lambda n: 4 * n**2 * 256}
    first = next(n for n in range(1, 999) if operations["attention"](n) > operations["gru"](n))
    assert first == 769
    assert chapter06.check_crossing(first)
    assert "from 769 on" in chapter06.check_crossing(torch.tensor(769)).sentence


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda delta, d: shift_matrix(-delta, d), "wrong way"),
        (lambda delta, d: shift_matrix(1, d), "whatever the offset"),
        (lambda delta, d: shift_matrix(delta, d, torch.ones(d // 2)), "speed of its own"),
        (lambda delta, d: shift_matrix(delta, d, 1 / speeds(d)), "turn faster"),
        (lambda delta, d: shift_matrix(delta, d) + 0.1, "block"),
        (lambda delta, d: shift_matrix(3, d), "For an offset of 0"),
        (lambda delta, d: shift_matrix(delta, d)[0], "shape"),
    ],
)
def test_shift_matrix_names_the_mistake(answer, hint):
    assert_hint(chapter06.check_shift_matrix(answer), hint)


@pytest.mark.parametrize("wrong", list(product((False, True), repeat=3))[1:])
def test_add_positions_counts_the_mistakes_that_are_left(wrong):
    sentence = chapter06.check_add_positions(placed(*wrong)).sentence
    done = ("count along the words", "are slower", "has its cosine")
    for said, still_in in zip(done, wrong, strict=True):
        assert (said in sentence) == (not still_in), sentence
    assert ("One is left" in sentence) == (sum(wrong) == 1)
    assert ("All three" in sentence) == all(wrong)


def test_add_positions_knows_an_output_of_another_kind():
    assert_hint(chapter06.check_add_positions(lambda X: X), "the walk's listing")
    assert_hint(chapter06.check_add_positions(lambda X: X[0]), "shape")


def test_add_positions_knows_sizes_that_are_written_down():
    right = placed()
    for shape in ((3, 7, 6), (1, 7, 6)):  # of the batch, or of its words
        waves = right(torch.zeros(shape))
        verdict = chapter06.check_add_positions(lambda X, waves=waves: X + waves)
        assert_hint(verdict, "For a batch of shape (1, 9, 6), your function stopped")

    def of_width_6(X):
        angles = torch.arange(X.shape[1]).reshape(-1, 1) * speeds(6)
        waves = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)
        return X + torch.nn.functional.pad(waves, (0, X.shape[2] - 6))

    assert_hint(chapter06.check_add_positions(of_width_6), "Take the sizes from X")


@pytest.mark.parametrize(
    ("letter", "hint"),
    [("A", "hides padding"), (" c", "two heads"), ("D", "one letter"), (2, "one letter")],
)
def test_sees_order_explains_the_others(letter, hint):
    assert_hint(chapter06.check_sees_order(letter), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda w, s: w * math.sqrt(s), "sharpness"),
        (lambda w, s: 1 / w, "strength is missing"),
        (lambda w, s: 1 / (w * s), "under a root"),
        (lambda w, s: 1 / (w**2 * s), "That is h²"),
        (lambda w, s: 2 / (w * math.sqrt(s)), "cos x ≈ 1 − x²/2"),
    ],
)
def test_bandwidth_names_the_mistake(answer, hint):
    assert_hint(chapter06.check_bandwidth(answer), hint)


def test_the_bandwidth_is_that_of_the_weights():
    omega, strength = 0.05, 16.0
    delta = torch.arange(-10.0, 11.0)
    hand = (strength * torch.cos(omega * delta)).softmax(0)
    gaussian = (-(delta**2) / 2 * omega**2 * strength).softmax(0)
    assert torch.allclose(hand, gaussian, atol=2e-3)


@pytest.mark.parametrize(
    ("letters", "hint"),
    [
        ({"B"}, "How long were yours"),
        ({"C"}, "only weakly"),
        ({"A", "B", "C"}, "A: every answer"),
        ("ABCD", "A and D"),
        ({"E"}, "set of letters"),
        (7, "set of letters"),
    ],
)
def test_boxes_says_what_to_look_at(letters, hint):
    assert_hint(chapter06.check_boxes(letters), hint)


@pytest.mark.parametrize(("name", "sees", "short"), [("A", 0, 0), ("B", 1, 1), ("C", 1, 0)])
def test_the_boxes_are_as_said(name, sees, short):
    for num_words, wanted in ((8, short), (24, sees)):
        generator = torch.Generator().manual_seed(num_words)
        X = torch.randn(num_words, 6, generator=generator)
        order = torch.randperm(num_words, generator=generator)
        assert moves_along(chapter06.BOXES[name], X, order) != bool(wanted)
    assert moves_along(chapter06.BOXES["D"], X, order)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [(63, "Go on to 400"), (1, "from 4 on"), (500, "whole number"), (126, "another has more")],
)
def test_twin_names_the_mistake(answer, hint):
    assert_hint(chapter06.check_twin(answer), hint)


def test_the_twin_is_the_largest():
    i = torch.arange(401.0)
    likeness = torch.cos(i) + torch.cos(i / 10)
    assert likeness[4:].argmax() + 4 == 377
    assert likeness[4:200].argmax() + 4 == 63


def assert_hint(verdict, hint):
    assert not verdict
    assert hint in verdict.sentence, verdict.sentence
