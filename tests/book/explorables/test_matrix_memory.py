"""Matrix memory: what it accepts, its numbers beside PyTorch's, and a reader's way."""

import pytest
import torch
from explorable_pages import all_shown
from few_examples import few
from hypothesis import given
from hypothesis import strategies as st

from d2lattn.book.experiments.recall import memory
from d2lattn.book.explorables import MatrixMemory

HALVES = torch.tensor([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]).double() / 2
KEYS = torch.cat((torch.eye(4).double(), HALVES))
WISHES = torch.tensor([0, 0, 1, 2, 2, 3, 3, 1])


def matrix(told, keep):
    return memory(KEYS[:told], torch.eye(4).double()[WISHES[:told]], keep)


def served_right(told, keep):
    """How many of those who told get what they want, and it alone."""
    read = KEYS[:told] @ matrix(told, keep)  # (told, 4)
    own = read.gather(1, WISHES[:told, None])
    others = read.scatter(1, WISHES[:told, None], -torch.inf).max(dim=1, keepdim=True).values
    return int((own > others + 1e-9).sum())


def close(x):
    return pytest.approx(float(x), rel=1e-9, abs=1e-9)


@pytest.mark.browser
@given(st.integers(0, 8), st.integers(0, 7), st.sampled_from([1.0, 0.95, 0.8, 0.5]))
@few
def test_shows_pytorchs_numbers(visit, told, asked, keep):
    page = visit(MatrixMemory(told=told, asked=asked, keep=keep).to_html(), again=True)
    found = matrix(told, keep)
    now = all_shown(page)
    for i in range(4):
        assert now[f"key-{i}"] == close(KEYS[asked, i])
        for j in range(4):
            assert now[f"cell-{i}-{j}"] == close(found[i, j])
    for j, x in enumerate(KEYS[asked] @ found):
        assert now[f"read-{j}"] == close(x)
    assert page.locator(".d2lx-guests li").count() == told
    assert page.locator(".d2lx-guests .d2lx-wrong").count() == told - served_right(told, keep)
