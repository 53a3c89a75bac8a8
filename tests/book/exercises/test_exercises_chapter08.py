"""Each check of chapter 8 passes the right answer and knows each foreseen wrong one."""

import math

import pytest
import torch

import d2lattn as d2l
from d2lattn.bare_after import distance_bias, rotate
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


CHECKS = {
    chapter08.check_by_hand: ((-3, -1), (-3, 2), 7, -7),
    chapter08.check_step: (step(),),
    chapter08.check_half: (half,),
    chapter08.check_boxes: ({"A", "D"},),
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


def test_by_hand_is_what_the_package_says():
    words = torch.zeros(6, 2)
    words[2], words[5] = torch.tensor([3.0, 1]), torch.tensor([2.0, 3])
    turned = rotate(words, torch.tensor([math.pi / 2]))
    query, key, score, _ = CHECKS[chapter08.check_by_hand]
    torch.testing.assert_close(turned[2], torch.tensor(query).float(), atol=1e-5, rtol=0)
    torch.testing.assert_close(turned[5], torch.tensor(key).float(), atol=1e-5, rtol=0)
    assert (turned[2] @ turned[5]).item() == pytest.approx(score, abs=1e-4)
    swapped = rotate(words.flip(0).roll(2, 0), torch.tensor([math.pi / 2]))  # 5 -> 2, 2 -> 5
    assert (swapped[2] @ swapped[5]).item() == pytest.approx(-score, abs=1e-4)


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


def test_a_step_is_the_last_row_of_a_whole_sentence():
    Q, K, V = torch.randn(3, 7, 8, generator=torch.Generator().manual_seed(1))
    omega = 10000 ** (-torch.arange(0, 8, 2) / 8)
    scores = d2l.RotaryPositions(8).turn(Q) @ d2l.RotaryPositions(8).turn(K).T / 8**0.5
    torch.testing.assert_close(step()(Q[-1], K, V, omega), (scores.softmax(dim=-1) @ V)[-1])


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


def test_half_halves_a_weight_of_the_package():
    bias = distance_bias(4, 200)[:, 0]  # (H, K), of the query at place 0
    ratio = bias.exp()  # beside what stands at the query's own place
    for h in range(1, 5):
        reached = half(h, 4)
        assert ratio[h - 1, math.floor(reached)] > 0.5 > ratio[h - 1, math.ceil(reached)]
    assert [math.ceil(half(h, 4)) for h in (1, 4)] == [3, 178]


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


@pytest.mark.parametrize("name", chapter08.BOXES)
def test_the_boxes_are_as_said(name):
    q, k = torch.randn(2, 8, generator=torch.Generator().manual_seed(84))
    box = chapter08.BOXES[name]
    (right,) = CHECKS[chapter08.check_boxes]
    most = {}
    for moves in ((1, 9), (10, 100)):
        apart = [
            abs(box(q, i + on, k, j + on) - box(q, i, k, j)).item()
            for i, j in ((3, 5), (6, 2), (20, 23))
            for on in moves
        ]
        most[moves] = max(apart)
    if name in right:
        assert max(most.values()) < 1e-4
    else:
        assert most[10, 100] > 0.01
    if name == "C":  # it fools whoever moves little
        assert abs(box(q, 3 + 9, k, 5 + 9) - box(q, 3, k, 5)) < 1e-6


def assert_hint(verdict, hint):
    assert not verdict
    assert hint in verdict.sentence, verdict.sentence
