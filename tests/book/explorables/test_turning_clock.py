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


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"way": "learned"}, "turned, added, none"),
        ({"place": 25}, "from 0 to 24"),
        ({"distance": -7}, "from -6 to 6"),
        ({"ahead": 4}, "from -3 to 3"),
        ({"place": 1.5}, "place is 1.5"),
        ({"moved": 13}, "from 0 to 12"),
        ({"together": 1}, "together"),
    ],
)
def test_unusable_state_is_told(state, words):
    with pytest.raises(ValueError, match=words):
        TurningClock(**state)


def test_without_scripts_what_moving_does_is_told():
    words = TurningClock(together=True).words()
    for moved, added in enumerate(["7.5", "4.5", "1.5", "1.5", "4.5", "7.5", "7.5"]):
        assert f"<td>{moved}</td><td>{added}</td><td>2.0</td>" in words


def test_without_scripts_the_places_are_told():
    words = TurningClock(place=4, ahead=1).words()
    assert "<td>turned</td><td>4</td><td>5</td><td>1</td>" in words


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
def test_what_the_score_went_through_is_kept_until_something_else_changes(visit):
    page = visit(TurningClock().to_html())
    between = lambda: [shown(page, name) for name in ("lowest", "highest")]  # noqa: E731
    place = page.get_by_role("slider", name="Place of the query")
    page.get_by_label("Positions").select_option(index=1)
    place.press("Home")
    frame(page)
    wanted = [products("added", i, 1, 0).sum() / 2 for i in range(13)]
    for _ in range(12):
        place.press("ArrowRight")
        frame(page)
    assert between() == [close(min(wanted)), close(max(wanted))]
    assert [f"{x:.2f}" for x in between()] == ["2.68", "8.05"]
    page.get_by_label("Positions").select_option(index=0)
    frame(page)
    turned = products("turned", 12, 1, 0).sum() / 2
    assert between() == [close(turned)] * 2
    place.press("ArrowLeft")
    frame(page)
    assert between() == [close(turned)] * 2


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


@pytest.mark.browser
def test_a_query_that_looks_back_fits_best_there(visit):
    page = visit(TurningClock(ahead=-2, distance=-2, place=9).to_html())
    assert shown(page, "score") == close(4)
    assert "= 4.00" in page.locator(".d2lx-formula:visible").first.inner_text()
    page.get_by_role("button", name="Reset").click()


@pytest.mark.browser
def test_chapter_8s_task_is_done_with_what_is_in_sight(visit):
    """The key of the walk fits just before the query, and a whole turn on, wherever both stand."""
    page = visit(TurningClock(place=0, ahead=-1).to_html(), folded=True)
    assert shown(page, "product-0") == close(-2)
    distance = page.get_by_role("slider", name="Distance to the key")
    distance.press("Home")
    frame(page)
    found = []
    for at in range(-6, 7):
        found += [at] if shown(page, "product-0") == close(4) else []
        distance.press("ArrowRight")
        frame(page)
    assert found == [-1, 5]
    assert not page.get_by_role("button", name="Copy link").is_visible()
    page.get_by_text("More", exact=True).press("Enter")
    assert page.get_by_role("button", name="Copy link").is_visible()
    page.get_by_role("slider", name="Place of the query").press("End")
    frame(page)
    assert shown(page, "product-0") == close(products("turned", 0, 6, -1)[0])


def both(moved):
    """What the first pair of a query and of a key one place on come to: added, turned."""
    return [products(way, moved, 1, 0)[0] for way in ("added", "turned")]


def reach(page):
    """How many places far the two curves are drawn."""
    pixels = page.locator(".d2lx-plot path[stroke-width='2.5']").evaluate_all(
        "es => es.map(e => Number(e.getAttribute('d').split('L').at(-1).split(' ')[0]))"
    )
    from_to = page.locator(".d2lx-plot path[stroke-dasharray='2 4']").evaluate_all(
        "es => es.map(e => e.getAttribute('d').slice(1).split('L')"
        ".map(p => Number(p.split(' ')[0])))"
    )
    return [12 * (x - a) / (b - a) for x, (a, b) in zip(pixels, from_to, strict=True)]


@pytest.mark.browser
def test_moved_together_one_product_swings_and_the_other_stays(visit):
    """A reader does what chapter 8 asks: when is the added one back, and did the other ever go?"""
    page = visit(TurningClock(together=True).to_html())
    slider = page.get_by_role("slider", name="Move both words by")
    assert page.locator("input, select").count() == 2
    assert not page.get_by_role("button", name="Copy link").is_visible()
    assert reach(page) == [pytest.approx(0, abs=0.01)] * 2  # nothing is told before one moves
    back = []
    for moved in range(13):
        frame(page)
        found = [shown(page, way) for way in ("added", "turned")]
        assert found == [close(x) for x in both(moved)]
        assert found[1] == close(2)
        assert page.get_by_text(f"q at {moved}, k at {moved + 1}", exact=True).is_visible()
        assert reach(page) == [pytest.approx(moved, abs=0.05)] * 2
        back += [moved] if moved and found[0] == close(7.5) else []
        # The hands that are drawn are those whose product is printed.
        drawn = page.locator(".d2lx-together path[stroke-width='4']").evaluate_all(
            "es => es.map(e => e.getAttribute('d').slice(5).split(' ').map(Number))"
        )
        tips = torch.tensor(drawn).double().view(2, 2, 2) / 22
        torch.testing.assert_close(
            tips.prod(dim=1).sum(-1), torch.stack(both(moved)), rtol=0, atol=0.005
        )
        slider.press("ArrowRight")
    assert back == [5, 6, 11, 12]
    slider.press("Home")
    frame(page)
    assert shown(page, "added") == close(7.5)
    assert reach(page) == [pytest.approx(12, abs=0.05)] * 2  # what was drawn stays
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert reach(page) == [pytest.approx(0, abs=0.01)] * 2


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
def test_moving_both_is_said_once_and_in_words(visit):
    page = visit(TurningClock(together=True).to_html())
    slider = page.get_by_role("slider", name="Move both words by")
    slider.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext") == "1 place"
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext") == "3 places"
    said = page.get_by_role("status")
    said.get_by_text("Moved by 3: product added 1.5, turned 2.0", exact=True).wait_for()


@pytest.mark.browser
def test_a_film_ends_by_itself_and_halts_at_a_place(visit):
    page = visit(TurningClock(together=True).to_html())
    play = page.get_by_role("button", name="Play")
    assert not play.is_visible()  # whoever wants no motion
    page.emulate_media(reduced_motion="no-preference")
    play.click()
    stop = page.get_by_role("button", name="Stop")
    page.wait_for_function("document.querySelector('[data-name=added]').value < 4")
    stop.click()
    page.wait_for_function("document.querySelector('.d2lx-head').textContent !== 'q at 0, k at 1'")
    page.wait_for_timeout(400)
    moved = int(page.get_by_role("slider", name="Move both words by").input_value())
    assert 1 < moved < 12
    assert shown(page, "added") == close(both(moved)[0])
    assert reach(page) == [pytest.approx(moved, abs=0.05)] * 2
    page.get_by_role("slider", name="Move both words by").press("End")  # hands glide there
    page.wait_for_function("document.querySelector('[data-name=added]').value > 7.4999")
    page.wait_for_timeout(400)
    play.click()
    page.wait_for_function("document.querySelector('input[type=range]').value < 12")  # anew
    play.wait_for(timeout=15_000)
    assert page.get_by_role("slider", name="Move both words by").input_value() == "12"
    assert [shown(page, way) for way in ("added", "turned")] == [close(7.5), close(2)]


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


@pytest.mark.browser
def test_a_link_opens_where_both_were_moved_to(visit):
    page = visit(TurningClock(together=True).to_html(), hash="#d2lx.turning_clock.moved=3")
    assert [shown(page, way) for way in ("added", "turned")] == [close(1.5), close(2)]
    assert reach(page) == [pytest.approx(3, abs=0.05)] * 2
