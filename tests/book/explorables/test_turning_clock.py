"""Turning clock: what it accepts, its numbers beside PyTorch's, and a reader's way."""

import math

import pytest
import torch
from explorable_pages import frame, shown
from few_examples import few
from hypothesis import given
from hypothesis import strategies as st

from d2lattn.book.explorables import TurningClock

SPEEDS = torch.tensor([math.pi / 3, math.pi / 6], dtype=torch.float64)
CONTENT = torch.tensor([2.0 + 0j, 2.0 + 0j], dtype=torch.complex128)


def hands(content, place, way):
    """The two hands as complex numbers, which a turn multiplies."""
    turn = torch.polar(torch.ones(2, dtype=torch.float64), SPEEDS * place)
    return {"turned": content * turn, "added": content + turn, "none": content}[way]


def products(way, place, distance, ahead):
    query = hands(CONTENT, place, way)
    key = hands(hands(CONTENT, -ahead, "turned"), place + distance, way)
    return (query * key.conj()).real


def close(x):
    return pytest.approx(float(x), rel=1e-9, abs=1e-9)


@pytest.mark.browser
@given(
    st.sampled_from(["turned", "added", "none"]),
    st.integers(0, 24),
    st.integers(-6, 6),
    st.integers(-3, 3),
)
@few
def test_shows_pytorchs_numbers(visit, way, place, distance, ahead):
    figure = TurningClock(way=way, place=place, distance=distance, ahead=ahead)
    page = visit(figure.to_html(), again=True)
    found = products(way, place, distance, ahead)
    assert shown(page, "product-0") == close(found[0])
    assert shown(page, "product-1") == close(found[1])
    assert shown(page, "score") == close(found.sum() / 2)
    first = products(way, 0, distance, ahead)
    assert shown(page, "first") == close(first.sum() / 2)
    if way != "added":
        assert shown(page, "first") == pytest.approx(shown(page, "score"), abs=1e-12)


@pytest.mark.browser
def test_product_of_turned_hands_depends_on_the_distance_alone(visit):
    page = visit(TurningClock(together=True).to_html())
    both_words = page.get_by_role("slider", name="Move both words by")
    key = page.get_by_role("slider", name="Distance to the key")
    key.press("Home")
    for distance, product in (0, 4), (1, 2), (2, -2):
        added = set()
        for moved in range(5):
            frame(page)
            assert shown(page, "turned") == close(product)
            expected = products("added", moved, distance, 0)[0]
            assert shown(page, "added") == close(expected)
            added.add(f"{expected:.1f}")
            both_words.press("ArrowRight")
        assert len(added) > 2
        both_words.press("Home")
        key.press("ArrowRight")
