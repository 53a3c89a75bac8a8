"""Each check of chapter 9 passes the right answer and knows each foreseen wrong one."""

import math

import pytest
import torch

from d2lattn.book.exercises import chapter09


def attend(shrinks=True, finishes=True, largest=True):
    """The listing of the workshop; without arguments, repaired."""

    def by_tiles(query, keys, values, tile):
        if not finishes:
            whole = len(keys) // tile * tile
            keys, values = keys[:whole], values[:whole]
        top, total, out = -torch.inf, 0, 0
        for K, V in zip(keys.split(tile), values.split(tile), strict=True):
            scores = K @ query / len(query) ** 0.5
            new = max(top, scores.max()) if largest else torch.tensor(0.0)
            shrink, weights = (top - new).exp(), (scores - new).exp()
            total = total * shrink + weights.sum()
            out = out * (shrink if shrinks else 1) + weights @ V
            top = new
        return out / total

    return by_tiles


def merge(one, other, first=True, second=True):
    M = max(one[0], other[0])
    a = math.exp(one[0] - M) if first else 1
    b = math.exp(other[0] - M) if second else 1
    return M, a * one[1] + b * other[1], a * one[2] + b * other[2]


CHECKS = {
    chapter09.check_by_hand: ((2, 1.25, 9), (4, 1.8125, 7.25), 4),
    chapter09.check_attend: (attend(),),
    chapter09.check_merge: (merge,),
    chapter09.check_boxes: ({"B", "D"},),
}


@pytest.mark.parametrize(
    ("place", "answer", "hint"),
    [
        (0, (2, 5, 36), "took nothing off"),
        (0, (2, 1.25, 7.2), "divide at the end"),
        (0, (2, 1.5, 9), "the scores are −2 and 0"),
        (1, (4, 2.75, 14), "was not shrunk"),
        (1, (4, 1.8125, 14), "The values shrink as well"),
        (1, (4, 2.75, 7.25), "The sum shrinks as well"),
        (1, (4, 2.125, 9.5), "2 to the −2 is ¼"),
        (1, (4, 1.5, 5), "tile 2 alone"),
        (1, (2, 7.25, 29), "is 4 now"),
        (1, (4, 2, 7), "Shrink what was kept by ¼"),
        (2, 7.25, "still to be divided"),
        (2, 5.27, "do not count alike"),
        (2, 3, "is not 3"),
    ],
)
def test_by_hand_names_the_mistake(place, answer, hint):
    answers = list(CHECKS[chapter09.check_by_hand])
    answers[place] = answer
    assert_hint(chapter09.check_by_hand(*answers), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (attend(shrinks=False, finishes=False), "Two things are wrong"),
        (attend(shrinks=False), "must stay in one unit"),
        (attend(finishes=False), "after the last whole tile are lost"),
        (attend(largest=False), "large scores, it overflows"),
        (lambda q, k, v, tile: v.mean(dim=0), "Both sums shrink"),
        (lambda q, k, v, tile: attend()(q, k, v, tile)[None], "shape"),
    ],
)
def test_attend_names_the_mistake(answer, hint):
    assert_hint(chapter09.check_attend(answer), hint)


def mean_of_answers(one, other):
    M = max(one[0], other[0])
    return M, 1, (one[2] / one[1] + other[2] / other[1]) / 2


def plain(one, other):
    """Take both back to no unit at all."""
    _, s, u = merge((0, *(math.exp(one[0]) * x for x in one[1:])), (0, 0, 0))
    return max(one[0], other[0]), s, u


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda one, other: merge(one, other, False, False), "wo units were added"),
        (lambda one, other: merge(one, other, second=False), "nly the first shrinks"),
        (lambda one, other: merge(one, other, first=False), "nly the second shrinks"),
        (mean_of_answers, "the mean of two answers"),
        (lambda one, other: merge(one, other)[1:], "three numbers"),
        (lambda one, other: (0, *merge(one, other)[1:]), "e to its own largest"),
        (plain, "OverflowError"),
    ],
)
def test_merge_names_the_mistake(answer, hint):
    assert_hint(chapter09.check_merge(answer), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ("B", "D holds as well"),
        ("D", "B holds as well"),
        ("AC", "it is the others"),
        ("ABD", "if the scores fall"),
        ("BCD", "if the scores rise"),
        ("E", "from A to D"),
    ],
)
def test_boxes_names_the_mistake(answer, hint):
    assert_hint(chapter09.check_boxes(set(answer)), hint)


def assert_hint(verdict, hint):
    assert not verdict
    assert hint in verdict.sentence, verdict.sentence
