"""Turning clock: what it accepts, its numbers beside PyTorch's, and a reader's way."""

import math

import pytest
import torch
from explorable_pages import frame, shown
from hypothesis import HealthCheck, given, settings
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
@settings(
    deadline=None,
    max_examples=12,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
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
    # Hands as drawn: 22 for a length of 1, counted against the clock from the right.
    drawn = page.locator(".d2lx-turning path[stroke-width='4']").evaluate_all(
        "es => es.map(e => e.getAttribute('d').slice(5).split(' ').map(Number))"
    )
    tips = torch.tensor(drawn).double().view(2, 2, 2) * torch.tensor([1, -1]) / 22
    query = hands(CONTENT, place, way)
    key = hands(hands(CONTENT, -ahead, "turned"), place + distance, way)
    wanted = torch.stack([torch.view_as_real(key), torch.view_as_real(query)], dim=1)
    torch.testing.assert_close(tips, wanted, rtol=0, atol=0.001)


def curves(page):
    split = "e => e.getAttribute('d').slice(1).split('L').map(p => p.split(' ').map(Number))"
    lines = page.locator(".d2lx-plot path[stroke-width='2.5']").evaluate_all(
        f"es => es.map({split})"
    )
    return torch.tensor(lines).double()  # from place 0, from here


@pytest.mark.browser
def test_turned_hands_have_one_curve_everywhere_and_added_ones_have_not(visit):
    page = visit(TurningClock(place=3).to_html())
    before = curves(page)
    assert before.shape == (2, 121, 2)
    torch.testing.assert_close(before[0], before[1])
    page.get_by_role("slider", name="Place of the query").press("End")
    frame(page)
    torch.testing.assert_close(curves(page), before)
    page.get_by_label("Positions").select_option(index=1)
    frame(page)
    from_zero, here = curves(page)
    assert torch.equal(from_zero, here)  # place 24 is two turns of one hand, four of the other
    page.get_by_role("slider", name="Place of the query").press("ArrowLeft")
    frame(page)
    from_zero, here = curves(page)
    assert (from_zero - here).abs().max() > 10


@pytest.mark.browser
def test_the_point_moves_by_keys_from_end_to_end(visit):
    page = visit(TurningClock().to_html())
    point = page.locator("[role=slider].d2lx-handle")
    point.focus()
    page.keyboard.press("ArrowLeft")
    frame(page)
    assert point.get_attribute("aria-valuenow") == "0"
    assert shown(page, "score") == close(4)
    page.keyboard.press("Shift+ArrowRight")
    frame(page)
    assert point.get_attribute("aria-valuenow") == "6"
    assert shown(page, "score") == close((4 - 4) / 2)


def both(moved):
    """What the first pair of a query and of a key one place on come to: added, turned."""
    return [products(way, moved, 1, 0)[0] for way in ("added", "turned")]


@pytest.mark.browser
def test_the_key_moved_alone_changes_both_products_and_at_its_distance_one_stays(visit):
    page = visit(TurningClock(together=True).to_html())
    both_words = page.get_by_role("slider", name="Move both words by")
    key = page.get_by_role("slider", name="Distance to the key")
    key.press("Home")
    for distance, stays in (0, 4), (1, 2), (2, -2):
        frame(page)
        assert shown(page, "turned") == close(stays)
        angle = page.get_by_text(f"{60 * distance}°", exact=True)
        assert angle.count() == (distance > 0)
        swing = set()
        for moved in range(5):
            frame(page)
            assert page.get_by_text(f"q at {moved}, k at {moved + distance}").is_visible()
            wanted = [products(way, moved, distance, 0)[0] for way in ("added", "turned")]
            assert [shown(page, way) for way in ("added", "turned")] == [close(x) for x in wanted]
            assert wanted[1] == close(stays)
            swing.add(f"{wanted[0]:.1f}")
            both_words.press("ArrowRight")
        assert len(swing) > 2  # the added one does not stay
        both_words.press("Home")
        key.press("ArrowRight")
    assert key.get_attribute("aria-valuetext") == "2 places"
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert page.get_by_text("q at 0, k at 1", exact=True).is_visible()


@pytest.mark.browser
def test_a_hand_on_the_slider_stops_the_film(visit):
    page = visit(TurningClock(together=True).to_html())
    page.emulate_media(reduced_motion="no-preference")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("document.querySelector('[data-name=added]').value < 6")
    page.get_by_role("slider", name="Move both words by").press("Home")
    page.get_by_role("slider", name="Move both words by").press("ArrowRight")
    page.get_by_role("button", name="Play").wait_for()
    page.wait_for_timeout(800)
    assert page.get_by_role("slider", name="Move both words by").input_value() == "1"
    assert shown(page, "added") == close(4.5)
