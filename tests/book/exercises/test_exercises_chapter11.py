"""Each check of chapter 11 passes the right answer and knows each foreseen wrong one."""

import pytest
import torch

from d2lattn.bare_after import carried_attention, product_attention
from d2lattn.book.exercises import chapter11


def in_chunks(Q, K, V, size):
    S, z, read = 0, 0, []
    for start in range(0, len(Q), size):
        q, k, v = (X[start : start + size] for X in (Q, K, V))
        products = (q @ k.T).tril()
        above, below = products @ v, products.sum(dim=1)
        if start:
            above, below = above + q @ S, below + q @ z
        S, z = S + k.T @ v, z + k.sum(dim=0)
        read.append(above / below[:, None])
    return torch.cat(read)


CHECKS = {
    chapter11.check_taken_back: (((3, 2), (6, 5)), (2, 5), (9 / 7, 1)),
    chapter11.check_repaired: (carried_attention,),
    chapter11.check_chunks: (in_chunks,),
    chapter11.check_sizes: (80, 12_800, 33),
}


@pytest.mark.parametrize(
    ("place", "answer", "hint"),
    [
        (0, ((5, 6), (6, 5)), "still in it"),
        (0, ((7, 10), (6, 5)), "once more"),
        (0, ((4, 4), (5, 3)), "from both rows"),
        (0, ((3, 6), (2, 5)), "exchanged"),
        (0, ((4, 4), (6, 5)), "first feature is 2"),
        (0, ((0, 0), (0, 0)), "features times the value"),
        (1, (4, 5), "still counts"),
        (1, (3, 3), "not its value"),
        (1, (2, 4), "features away"),
        (2, (11 / 9, 11 / 9), "from before"),
        (2, (9, 7), "divided by what z reads"),
        (2, (1, 7 / 9), "the z of before"),
        (2, (3, 2), "Add the two rows"),
    ],
)
def test_taken_back_names_the_mistake(place, answer, hint):
    answers = list(CHECKS[chapter11.check_taken_back])
    answers[place] = torch.tensor(answer).float()
    assert_hint(chapter11.check_taken_back(*answers), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda *x: chapter11._carried(*x, sums=False, asked=False), "Two things are wrong"),
        (lambda *x: chapter11._carried(*x, sums=False), "the newest word alone"),
        (lambda *x: chapter11._carried(*x, asked=False), "does not ask it"),
        (lambda *x: chapter11._carried(*x, late=True), "written before it reads"),
        (lambda Q, K, V: V, "q reads z"),
        (lambda Q, K, V: carried_attention(Q, K, V)[None], "shape"),
    ],
)
def test_repaired_names_the_mistake(answer, hint):
    assert_hint(chapter11.check_repaired(answer), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda *x: chapter11._chunks(*x, before=False), "nothing of one another"),
        (lambda *x: chapter11._chunks(*x, masked=False), "looks ahead"),
        (lambda *x: chapter11._chunks(*x, twice=True), "count twice"),
        (lambda *x: chapter11._chunks(*x, before=False, masked=False), "stands alone"),
        (lambda Q, K, V, size: product_attention(Q, K, V), "all products are made at once"),
        (lambda Q, K, V, size: V, "Both sums"),
    ],
)
def test_chunks_names_the_mistake(answer, hint):
    assert_hint(chapter11.check_chunks(answer), hint)


@pytest.mark.parametrize(
    ("place", "answer", "hint"),
    [
        (0, 6400, "root of that"),
        (0, 800, "eight *numbers* a pair"),
        (0, 10, "You divided"),
        (0, 81, "for eight numbers"),
        (1, 6400, "a key *and* a value"),
        (1, 800, "a key and a value of 8"),
        (2, 32, "At 32 words"),
        (2, 65, "128 numbers, not 64"),
        (2, 64, "compare 128"),
    ],
)
def test_sizes_names_the_mistake(place, answer, hint):
    answers = list(CHECKS[chapter11.check_sizes])
    answers[place] = answer
    assert_hint(chapter11.check_sizes(*answers), hint)


def assert_hint(verdict, hint):
    assert not verdict
    assert hint in verdict.sentence, verdict.sentence
