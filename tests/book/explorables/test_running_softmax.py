"""Running softmax: what it accepts, its numbers beside PyTorch's, and a reader's way."""

import math

import pytest
import torch
from explorable_pages import frame, shown
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


@pytest.mark.browser
def test_tiles_are_read_by_keys_and_earlier_sums_halved(visit):
    page = visit(RunningSoftmax().to_html())
    assert kept(page) == [2, 1.5, 2.5]
    onward = page.get_by_role("button", name="Next tile (2 of 2)")
    onward.press("ArrowRight")
    frame(page)
    # The largest goes from 2 to 3: ½·1.5 + 1 + ¼, and ½·2.5 + 3 + ¼·4.
    assert kept(page) == [3, 2, 5.25]
    assert [shown(page, "answer"), shown(page, "full")] == [close(2.625)] * 2
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    frame(page)
    assert kept(page) == [-math.inf, 0, 0]


@pytest.mark.browser
def test_score_moves_by_key(visit):
    page = visit(RunningSoftmax(step=2).to_html())
    third = page.get_by_role("slider", name="Score of key 3")
    third.press("ArrowDown")
    frame(page)
    # Scores of 2 and 1 after a largest of 2: 1.5 + 1 + ½, 2.5 + 3 + 2.
    assert kept(page) == [2, 3, 7.5]
