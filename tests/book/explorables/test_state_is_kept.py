"""What a reader has set, marked, answered or guessed stays until they themselves take it away."""

import re
from urllib.parse import unquote

import pytest
from explorable_pages import EXAMPLES, frame

from d2lattn.book.explorables import (
    CueMixer,
    NadarayaWatsonBench,
    PermuteAndEncode,
)

pytestmark = pytest.mark.browser

PHONE = {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True}
FAR = "<p style=height:2000px>A long page.</p>"


def finger(page, start, end):
    """Touch, move in steps, let go."""
    client = page.context.new_cdp_session(page)

    def send(kind, *at):
        points = [{"x": x, "y": y} for x, y in at]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    send("touchStart", start)
    for step in range(1, 11):
        way = [a + (b - a) * step / 10 for a, b in zip(start, end, strict=True)]
        send("touchMove", way)
        frame(page)
    send("touchEnd")
    frame(page)


def values(page) -> list:
    """Where every slider stands, and what is said of it."""
    return page.locator("input[type=range]").evaluate_all(
        "all => all.map((one) => [one.value, one.getAttribute('aria-valuetext')])"
    )


def test_a_swipe_that_scrolls_moves_no_slider(visit):
    page = visit(FAR, EXAMPLES["writers_memory"], FAR, **PHONE)
    sliders = page.locator("input[type=range]:visible")
    before = values(page)
    for slider in sliders.all():
        # Far from where the thumb stands.
        slider.evaluate("one => one.scrollIntoView({ block: 'center' })")
        box = slider.bounding_box()
        low, high, now = slider.evaluate("e => [e.min, e.max, e.value].map(Number)")
        left = (now - low) / (high - low) > 0.5
        start = (box["x"] + (0.15 if left else 0.85) * box["width"], box["y"] + 10)
        scrolled = page.evaluate("scrollY")
        finger(page, start, (start[0] + 3, start[1] - 200))
        assert page.evaluate("scrollY") > scrolled, "the page did not scroll"
        assert values(page) == before


def test_back_keeps_what_was_done_since(visit):
    page = visit("<a href='#far'>Contents</a>", CueMixer().to_html(), "<h2 id=far>Far</h2>")
    strength = page.get_by_role("slider", name="Strength of the query")

    def set_to(value):
        strength.fill(value)
        page.wait_for_timeout(400)

    set_to("1")
    page.get_by_role("link", name="Contents").click()
    set_to("3")
    page.go_back()
    page.wait_for_timeout(400)
    assert strength.input_value() == "3"
    assert unquote(page.evaluate("location.hash")) == "#d2lx.cue_mixer.strength=3"
    # A link that is followed is shown as it was sent, whatever was done before.
    page.evaluate("location.hash = '#d2lx.cue_mixer.strength=2'")
    page.wait_for_timeout(400)
    assert strength.input_value() == "2"
    # Nothing was done since: what one comes back to is as it was left.
    page.go_back()
    page.wait_for_timeout(400)
    assert strength.input_value() == "3"


def test_a_prediction_can_be_left(visit, example):
    page = visit(example, folded=True)
    # What is said to screen readers comes when it comes.
    page.add_style_tag(content=".d2lx [role=status] { display: none }")
    figure = page.locator(".d2lx > .d2lx")
    for more in figure.locator("summary:visible").all():  # a storyboard's film has its fold open
        more.click()
    frame(page)
    predict = page.get_by_role("button", name=re.compile("^Predict first"))
    if not predict.count():
        pytest.skip("it shows its numbers at once")
    before = figure.inner_text()
    visible = "all => all.filter((e) => e.checkVisibility({ visibilityProperty: true })).length"
    numbers = figure.locator("data, .d2lx-said, path").evaluate_all(visible)
    for way_out in ("No guess: show it", "Reset"):
        predict.click()
        frame(page)
        assert figure.inner_text() != before
        page.get_by_role("button", name=way_out).click()
        frame(page)
        if way_out == "Reset":
            assert figure.inner_text() == before
            assert figure.locator("data, .d2lx-said, path").evaluate_all(visible) == numbers
        assert predict.is_visible()
        assert page.locator("[data-predicting]").count() == 0
        assert page.locator(".d2lx-covered").count() == 0
        assert "You said" not in figure.inner_text()


def test_more_opens_by_keys_and_reset_closes_nothing(visit, example):
    page = visit(example, folded=True)
    more = page.get_by_text("More", exact=True)
    if not more.count():
        pytest.skip("nothing of it is folded")
    controls = page.locator(".d2lx > .d2lx :is(input, select, button):visible")
    few = controls.count()
    more.press("Enter")
    frame(page)
    assert controls.count() > few
    for reset in page.get_by_role("button", name="Reset").all():
        reset.click()
    frame(page)
    assert controls.count() > few
    more.press("Enter")
    frame(page)
    assert controls.count() == few


def test_keys_of_the_browser_move_no_word_and_no_point(visit):
    page = visit(PermuteAndEncode().to_html(), NadarayaWatsonBench().to_html())
    token = page.locator(".d2lx-token[tabindex='0']")
    place = token.get_attribute("aria-valuenow")
    for key in ("Alt+ArrowLeft", "Control+Home", "Meta+ArrowRight"):
        # The key alone, as a page hears it: what the browser does with it is its own.
        kept = token.evaluate(
            """(e, [held, key]) => e.dispatchEvent(new KeyboardEvent('keydown', {
              key, bubbles: true, cancelable: true, [held]: true }))""",
            [{"Alt": "altKey", "Control": "ctrlKey", "Meta": "metaKey"}[key.split("+")[0]],
             key.split("+")[1]],
        )  # fmt: skip
        frame(page)
        assert kept, key
        assert token.get_attribute("aria-valuenow") == place, key
    point = page.get_by_role("slider", name="Point 1", exact=True)
    point.focus()
    point.press("Control+PageDown")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Point 1"
    point.press("PageDown")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Point 2"
