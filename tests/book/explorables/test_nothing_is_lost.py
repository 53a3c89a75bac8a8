"""What a reader has set, marked, answered or guessed stays until they themselves take it away."""

import re
from urllib.parse import unquote

import pytest
from explorable_pages import EXAMPLES, NO_GUESS, SENTENCES, forge, frame, sign, xray

from d2lattn.book.explorables import (
    AlignmentJudge,
    CueMixer,
    NadarayaWatsonBench,
    PermuteAndEncode,
    SaturationLab,
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


# All take their sliders from the kit: one each time, the others once a week.
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(one, marks=[] if one == "WritersMemory" else pytest.mark.weekly)
        for one in EXAMPLES
    ],
)
def test_a_swipe_that_scrolls_moves_no_slider(visit, name):
    page = visit(FAR, EXAMPLES[name]().to_html(), FAR, **PHONE)
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


def test_a_finger_still_taps_and_drags_a_slider(visit):
    page = visit(CueMixer().to_html(), FAR, **PHONE)
    slider = page.get_by_role("slider", name="How strongly")
    box = slider.bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + 10)
    page.touchscreen.tap(*middle)
    frame(page)
    assert float(slider.input_value()) == pytest.approx(4, abs=0.2)
    finger(page, middle, (middle[0] + 0.4 * box["width"], middle[1] + 5))
    assert float(slider.input_value()) > 6
    assert slider.get_attribute("aria-valuetext") == f"{float(slider.input_value()):.2f}"


def test_clear_takes_the_marks_of_the_sentence_shown(visit):
    page = visit(AlignmentJudge(SENTENCES).to_html())
    sentence = page.get_by_label("Sentence")
    marks = page.locator(".d2lx-stage path[fill='var(--d2lx-orange)']")
    for place in (0, 1):
        sentence.select_option(index=place)
        page.get_by_role("application").press("Enter")
        frame(page)
        assert marks.count() == 1
    page.get_by_role("button", name="Clear marks").click()
    frame(page)
    assert marks.count() == 0
    sentence.select_option(index=0)
    frame(page)
    assert marks.count() == 1
    # Reset puts controls back, and is no eraser.
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert marks.count() == 1


def test_letters_that_come_back_are_those_that_were_there(visit):
    page = visit(xray().to_html())
    letter = lambda k: page.get_by_label(f"Letter {k}", exact=True)  # noqa: E731
    length = page.get_by_label(re.compile("^Letters"))
    word = lambda: "".join(letter(k).input_value() for k in range(1, 8) if letter(k).is_visible())  # noqa: E731

    def to(n):
        length.select_option(str(n))
        frame(page)

    letter(5).select_option("h")
    letter(6).select_option("h")
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert word() == "facade"
    to(3)
    to(6)
    assert word() == "facade"
    page.evaluate("location.hash = '#d2lx.xray.word=%22abcdefg%22'")
    page.wait_for_timeout(100)
    frame(page)
    assert word() == "abcdefg"
    to(3)
    to(7)
    assert word() == "abcdefg"


def test_back_keeps_what_was_done_since(visit):
    page = visit("<a href='#far'>Contents</a>", CueMixer().to_html(), "<h2 id=far>Far</h2>")
    strength = page.get_by_role("slider", name="How strongly")

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


def test_back_to_a_link_keeps_what_was_done_since(visit):
    words = "<a href='#far'>Contents</a><h2 id=far>Far</h2>"
    page = visit(CueMixer().to_html(), words, hash="#d2lx.cue_mixer.strength=8")
    strength = page.get_by_role("slider", name="How strongly")
    page.get_by_role("link", name="Contents").click()
    strength.fill("3")
    page.wait_for_timeout(400)
    page.go_back()
    page.wait_for_timeout(400)
    assert strength.input_value() == "3"


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in NO_GUESS])
def test_a_prediction_can_be_left(visit, name):
    page = visit(EXAMPLES[name]().to_html(), folded=True)
    figure = page.locator(".d2lx > .d2lx")
    for more in figure.locator("summary:visible").all():  # a storyboard's film has its fold open
        more.click()
    frame(page)
    before = figure.inner_text()
    visible = "all => all.filter((e) => e.checkVisibility({ visibilityProperty: true })).length"
    numbers = figure.locator("data, .d2lx-said, path").evaluate_all(visible)
    predict = page.get_by_role("button", name=re.compile("^Predict first"))
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


def test_the_axis_comes_back_with_reset(visit):
    page = visit(NadarayaWatsonBench().to_html(), hash="#d2lx.nadaraya_watson_bench.query=100000")
    ticks = page.locator(".d2lx-plot").first.locator(".d2lx-tick")
    assert "100000" in "".join(ticks.all_text_contents())
    page.get_by_role("button", name="Reset").click()
    frame(page)
    after = ticks.all_text_contents()
    plain = visit(NadarayaWatsonBench().to_html())
    assert after == plain.locator(".d2lx-plot").first.locator(".d2lx-tick").all_text_contents()


def test_a_forgers_link_holds_the_outlines(visit):
    page = visit(forge().to_html())
    page.get_by_label("Outline gold links").check()
    page.wait_for_timeout(400)
    sent = visit(forge().to_html(), hash=page.evaluate("location.hash"))
    assert sent.get_by_label("Outline gold links").is_checked()


@pytest.mark.parametrize(
    "figure",
    [
        lambda: NadarayaWatsonBench(),
        lambda: SaturationLab(),
        lambda: PermuteAndEncode(),
    ],
    ids=["bench", "saturation", "permute"],
)
def test_reset_stays_in_the_view(visit, figure):
    page = visit(figure().to_html())
    view = page.get_by_label("View")
    view.select_option(index=1)
    frame(page)
    page.get_by_role("button", name="Reset").locator("visible=true").click()
    frame(page)
    assert view.evaluate("e => e.selectedIndex") == 1


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


def test_the_right_button_drags_nothing(visit):
    page = visit(NadarayaWatsonBench().to_html(), PermuteAndEncode().to_html())
    query = page.get_by_role("slider", name="Query", exact=True)
    tokens = page.locator(".d2lx-token")

    def drag(thing, to, button):
        box = thing.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down(button=button)
        page.mouse.move(*to, steps=4)
        page.mouse.up(button=button)
        frame(page)

    before = query.get_attribute("aria-valuetext"), tokens.all_inner_texts()
    box = query.bounding_box()
    last = tokens.last.bounding_box()
    for button, same in (("right", True), ("left", False)):
        drag(query, (box["x"] + 120, box["y"]), button)
        drag(tokens.first, (last["x"] + last["width"] - 2, last["y"] + 8), button)
        after = query.get_attribute("aria-valuetext"), tokens.all_inner_texts()
        assert [a == b for a, b in zip(before, after, strict=True)] == [same, same]


def test_kept_places_are_told_apart(visit):
    """Two figures to sign on a page keep their own answers."""
    page = visit(*[sign().to_html()] * 2, scheme="http")
    page.get_by_role("button", name="I sign").nth(1).click()
    page.reload()
    page.wait_for_function("document.querySelectorAll('.d2lx-sign').length === 2")
    frame(page)
    figures = page.locator(".d2lx-sign").all()
    assert [one.locator("[data-done]").count() for one in figures] == [0, 1]
