"""Running softmax: what it accepts, its numbers beside PyTorch's, and a reader's way."""

import math

import pytest
import torch
from explorable_pages import shown
from few_examples import few
from hypothesis import given
from hypothesis import strategies as st

from d2lattn.book.explorables import RunningSoftmax


def close(x):
    return pytest.approx(float(x), rel=1e-9, abs=1e-9, nan_ok=True)


def kept(page):
    return [shown(page, name) for name in ("largest", "sum", "values")]


@pytest.mark.browser
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(-4, 9)), min_size=5, max_size=8),
    st.sampled_from([1, 2, 4]),
    st.integers(2, 8),
    st.booleans(),
    st.integers(0, 16),
)
@few
def test_shows_pytorchs_numbers(visit, keys, tile, step, running, shift):
    scores, values = torch.tensor(keys, dtype=torch.float64).T
    state = {"tile": tile, "step": step, "running": running, "shift": shift}
    page = visit(RunningSoftmax(scores=scores, values=values, **state).to_html(), again=True)
    natural = (scores + shift) * math.log(2)
    assert shown(page, "full") == close(natural.softmax(0) @ values)
    read = slice(0, tile * step)
    if running:
        # Not in one go as on the page, but over all keys that were read at once.
        largest = natural[read].max()
        total = (natural[read].logsumexp(0) - largest).exp()
        answer = natural[read].softmax(0) @ values[read]
        found = [largest / math.log(2), total, answer * total]
        assert kept(page) == [close(x) for x in found]
        assert shown(page, "answer") == close(answer)
        return
    powers = torch.exp2(scores[read] + shift).half()
    total, weighed = torch.zeros(2, dtype=torch.half)
    for power, value in zip(powers, values[read].half(), strict=True):
        total, weighed = total + power, weighed + power * value
    rounded = [pytest.approx(float(x), rel=2e-3, nan_ok=True) for x in (total, weighed)]
    assert kept(page)[1:] == rounded
