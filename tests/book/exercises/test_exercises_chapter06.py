"""Each check of chapter 6 passes the right answer and knows each foreseen wrong one."""

import math
from itertools import product

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


def sines_first(i, width):
    angles = i * speeds(width)
    return torch.cat((angles.sin(), angles.cos()))


def cosine_first(i, width):
    return encoding_of(i, width).reshape(-1, 2).flip(1).flatten()


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


@pytest.mark.parametrize(
    ("answer", "hint"),
    [(63, "Go on to 400"), (1, "from 4 on"), (500, "whole number"), (126, "another has more")],
)
def test_twin_names_the_mistake(answer, hint):
    assert_hint(chapter06.check_twin(answer), hint)


def assert_hint(verdict, hint):
    assert not verdict
    assert hint in verdict.sentence, verdict.sentence
