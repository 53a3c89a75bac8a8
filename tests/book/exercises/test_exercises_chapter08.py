"""Each check of chapter 8 passes the right answer and knows each foreseen wrong one."""

import math

import pytest
import torch

from d2lattn.bare_after import rotate
from d2lattn.book.exercises import chapter08


def step(at=-1, of_values=False):
    """The listing of the workshop; without arguments, repaired."""

    def newest(query, keys, values, omega):
        n, width = keys.shape
        q = rotate(query.expand(n + 1, width), omega)[n + at if at < 0 else at]
        scores = rotate(keys, omega) @ q / width**0.5
        return scores.softmax(dim=-1) @ (rotate(values, omega) if of_values else values)

    return newest


def one_too_far(query, keys, values, omega):
    n, width = keys.shape
    q = rotate(query.expand(n + 1, width), omega)[n]
    return (rotate(keys, omega) @ q / width**0.5).softmax(dim=-1) @ values


def half(h, H):
    return math.log(2) * 2 ** (8 * h / H)


def order(d):
    return [*range(0, d, 2), *range(1, d, 2)]


def way_back(d):
    return [place for m in range(d // 2) for place in (m, m + d // 2)]


def extend(by=None, of_query=lambda Q: torch.ones(len(Q), 1)):
    """Right, or with the slope times another number in place of √d."""

    def wider(Q, K, slope):
        factor = Q.shape[1] ** 0.5 if by is None else by
        places = factor * slope * torch.arange(len(K)).unsqueeze(1)
        return torch.cat((Q, of_query(Q)), dim=1), torch.cat((K, places), dim=1)

    return wider


CHECKS = {
    chapter08.check_by_hand: ((-3, -1), (-3, 2), 7, -7),
    chapter08.check_step: (step(),),
    chapter08.check_half: (half,),
    chapter08.check_boxes: ({"A", "D"},),
    chapter08.check_repeats: (18, 72, 44),
    chapter08.check_order: (order,),
    chapter08.check_extend: (extend(),),
}


@pytest.mark.parametrize(
    ("place", "answer", "hint"),
    [
        (0, (3, 1), "before it is turned"),
        (0, (1, -3), "clockwise"),
        (0, (-1, 3), "by one place"),
        (0, (0, 0), "Place 2 is 180°"),
        (1, (2, 3), "place 5 turns it"),
        (1, (3, -2), "clockwise"),
        (2, 9, "before anything is turned"),
        (2, 7 / math.sqrt(2), "before it is divided"),
        (2, 11, "multiply the two turned hands"),
        (3, 7, "the distance is −3"),
        (3, 9, "the key at 180°"),
    ],
)
def test_by_hand_names_the_mistake(place, answer, hint):
    answers = list(CHECKS[chapter08.check_by_hand])
    answers[place] = answer
    assert_hint(chapter08.check_by_hand(*answers), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (step(at=0, of_values=True), "Two things are wrong: the query still stands at place 0"),
        (step(at=0), "Values stay as they are now, but the query still stands at place 0"),
        (step(of_values=True), "The place is right now, but values are turned"),
        (one_too_far, "one place too far"),
        (lambda q, k, v, omega: (k @ q / len(q) ** 0.5).softmax(dim=-1) @ v, "and no value"),
        (lambda q, k, v, omega: step()(q, k, v, omega)[None], "shape"),
        (lambda q, k, v, omega: step()(q, k[:5], v[:5], omega), "With 9 keys"),
    ],
)
def test_step_names_the_mistake(answer, hint):
    assert_hint(chapter08.check_step(answer), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda h, H: 2 ** (8 * h / H), "divided by e"),
        (lambda h, H: 2 ** (-8 * h / H), "the slope m itself"),
        (lambda h, H: math.log(2) * 2 ** (-8 * h / H), "multiplied by the slope"),
        (lambda h, H: half(h - 1, H), "count heads from 0"),
        (lambda h, H: 2 ** (8 * h / H) / 2, "the *score* has lost"),
        (lambda h, H: half(1, 4), "For head 4 of 4"),
        (lambda h, H: torch.ones(2), "one number"),
    ],
)
def test_half_names_the_mistake(answer, hint):
    assert_hint(chapter08.check_half(answer), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ("A", "D does, too"),
        ("D", "A does, too"),
        ("BC", "it is the others"),
        ("ABD", "only weakly"),
        ("ACD", "How far did you move them"),
        ("ABCD", "only weakly"),
        ("E", "from A to D"),
    ],
)
def test_boxes_names_the_mistake(answer, hint):
    assert_hint(chapter08.check_boxes(set(answer)), hint)


@pytest.mark.parametrize(
    ("place", "answer", "hint"),
    [
        (0, 54, "the product of 6 and 9"),
        (0, 15, "the sum of 6 and 9"),
        (0, 36, "no first return"),
        (0, 9, "not all are back"),
        (0, 3, "one turn takes 6 and 9"),
        (0, 0, "no first return"),
        (1, 432, "the product of 6, 9 and 8"),
        (1, 24, "multiple of each"),
        (1, 18, "multiple of each"),
        (1, 144, "no first return"),
        (2, 6, "off by 0.28 radians"),
        (2, 22, "points away"),
        (2, 25, "off by 0.13 radians"),
        (2, 2 * math.pi, "Places are whole"),
        (2, 88, "from 1 to 50"),
    ],
)
def test_repeats_names_the_mistake(place, answer, hint):
    answers = list(CHECKS[chapter08.check_repeats])
    answers[place] = answer
    assert_hint(chapter08.check_repeats(*answers), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (way_back, "the way back"),
        (lambda d: list(range(d)), "come from rows 0 and 4"),
        (lambda d: order(d)[d // 2 :] + order(d)[: d // 2], "x and y have changed places"),
        (lambda d: [*range(0, d, 2)][::-1] + [*range(1, d, 2)][::-1], "another one's speed"),
        (lambda d: [row + 1 for row in order(d)], "counted from 0"),
        (lambda d: [0] * d, "each row from 0 to 7"),
        (lambda d: order(d)[: d // 2], "a list of 8 row numbers"),
        (lambda d: order(8), "For d = 6, give a list of 6"),
        (lambda d: order(d) if d > 6 else way_back(d), "the way back"),
    ],
)
def test_order_names_the_mistake(answer, hint):
    assert_hint(chapter08.check_order(answer), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda Q, K, m: extend()(Q, K, -m), "the far words that gain"),
        (extend(by=1), "divided by √d: scores are"),
        (extend(by=-1), "Two things are wrong"),
        (lambda Q, K, m: extend()(Q, K, m * (1 + 1 / Q.shape[1]) ** 0.5), "the √d of before"),
        (extend(by=0), "No weight has changed"),
        (extend(of_query=lambda Q: torch.arange(len(Q)).unsqueeze(1)), "only the key's tell"),
        (lambda Q, K, m: (Q, K), "has shape (6, 3); (6, 4) is needed"),
        (lambda Q, K, m: extend()(Q, K, m)[0], "two: the queries, and the keys"),
        (lambda Q, K, m: extend()(Q, K, 0.25), "With 9 words of width 8"),
    ],
)
def test_extend_names_the_mistake(answer, hint):
    assert_hint(chapter08.check_extend(answer), hint)


def assert_hint(verdict, hint):
    assert not verdict
    assert hint in verdict.sentence, verdict.sentence
