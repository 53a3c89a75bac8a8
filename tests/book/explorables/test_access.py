"""Explorables by finger, by ear, in forced colours, printed, saved, sent and sanitised."""

import re
from urllib.parse import unquote

import pytest
from explorable_pages import EXAMPLES, frame, inline_scripts, live, shown

from d2lattn.book.explorables import CueMixer, NadarayaWatsonBench, SaturationLab

pytestmark = pytest.mark.browser

# Regions that speak by themselves, as screen readers count them.
WATCH = """() => {
  globalThis.spoken = [];
  const loud = '[role=status], [role=alert], [role=log], [aria-live], output';
  const regions = [...document.querySelectorAll(loud)].filter(
    (e) => e.getAttribute('aria-live') !== 'off');
  for (const region of regions)
    new MutationObserver(() => region.textContent.trim() && spoken.push(region.textContent))
      .observe(region, { childList: true, characterData: true, subtree: true });
  return regions.length;
}"""


def test_a_key_press_is_announced_once_and_a_page_that_opens_is_silent(visit):
    page = visit(*EXAMPLES.values())
    page.clock.install()  # the pauses are then the page's alone
    page.reload()
    page.wait_for_function(
        "(n) => document.querySelectorAll('.d2lx > .d2lx').length === n", arg=len(EXAMPLES)
    )
    page.evaluate(WATCH)
    page.clock.run_for(700)
    assert page.evaluate("spoken") == []
    figures = page.locator(".d2lx > .d2lx").all()
    for figure in figures:
        stops = [
            *figure.locator("input[type=range]:visible").all()[:2],
            *figure.locator("[role=application], [role=slider][tabindex='0']").all(),
        ]
        for stop in stops:
            stop.focus()
            page.clock.run_for(600)
            page.evaluate("spoken.length = 0")
            at_the_end = stop.evaluate("e => e.value !== undefined && e.value === e.max")
            stop.press("ArrowLeft" if at_the_end else "ArrowRight")
            page.clock.run_for(700)
            said = page.evaluate("spoken")
            assert len(said) == 1, (stop.get_attribute("aria-label"), said)
    page.close()  # no other test gets this clock


def test_hidden_answer_is_hidden_from_screen_readers_too(visit):
    page = visit(NadarayaWatsonBench().to_html(), CueMixer(strength=2).to_html())
    page.evaluate(WATCH)
    for predict in page.get_by_role("button", name="Predict first").all()[::-1]:
        predict.click()
    frame(page)
    for reveal in page.get_by_role("button", name="Reveal").all():
        assert reveal.is_disabled(), "nobody has guessed yet"
    # What one predicts from stays in sight.
    assert page.get_by_role("slider", name="Point 3").is_visible()
    assert page.get_by_text("q·k = 0.60").is_visible()
    page.get_by_role("slider", name="Strength of the query").press("ArrowRight")
    point = page.get_by_role("slider", name="Point 3")
    point.press("ArrowUp")
    frame(page)
    page.wait_for_timeout(700)
    spoken = " ".join(page.evaluate("spoken"))
    assert "Prediction" not in spoken
    assert "Pooled" not in spoken
    assert "weight" not in point.get_attribute("aria-valuetext")
    radii = page.locator("[role=slider] circle[fill*=orange]").evaluate_all(
        "es => es.map((e) => e.getAttribute('r'))"
    )
    assert len(set(radii)) == 1
    snapshot = page.locator("main").aria_snapshot()
    mixer = page.locator(".d2lx > .d2lx").nth(1)
    for name in ("prediction", "entropy"):
        hidden = page.locator(f"[data-name='{name}']").first
        assert not hidden.is_visible()
    assert mixer.locator("[data-name='bar-2']").text_content() not in snapshot
    for guess in page.get_by_role("slider", name="Your guess").all():
        guess.press("ArrowRight")
    frame(page)
    for reveal in page.get_by_role("button", name="Reveal").all()[::-1]:
        reveal.click()
    frame(page)
    assert "weight" in point.get_attribute("aria-valuetext")


def test_a_figure_that_cannot_be_drawn_leaves_the_words(chromium):
    broken = re.sub(r'"items":\[[^]]*\]', '"items":null', CueMixer().to_html())
    page = chromium.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    html = broken + CueMixer().to_html()
    page.set_content(f"<main>{html}</main>{inline_scripts(html)}")
    page.wait_for_selector(".d2lx .d2lx")
    assert errors
    first = page.locator("[data-d2lx]").first
    assert "Interactive figure" in first.inner_text()
    assert first.locator(".d2lx-title").count() == 0
    page.close()


def test_live_figure_follows_new_values_from_python(visit):
    mixer = CueMixer(strength=1)
    page = visit()
    live(page, mixer)
    page.evaluate(
        """() => {
          model.set('items', ['tea', 'pen']); model.set('values', [10, 20]);
          model.set('matches', [[1, 0, 0], [0, 0, 1]]); model.set('salience', [0, 1]);
        }"""
    )
    frame(page)
    page.get_by_text("More", exact=True).click()
    assert page.locator(".d2lx-mix .d2lx-name").all_inner_texts() == ["tea", "pen"]
    assert shown(page, "pooled") == pytest.approx(15)
    page.get_by_role("slider", name="Salience of pen").press("Home")
    frame(page)
    assert page.evaluate("sent.salience") == [0, 0]
    assert shown(page, "pooled") == pytest.approx(10 + 10 / (2.718281828 + 1))
    page.evaluate("stop()")


# --- state in the address ------------------------------------------------------------------------


def address(page) -> str:
    return unquote(page.evaluate("location.hash"))


def wait_for_address(page, expected: str) -> None:
    """Wait until the figures have written this into the page's address."""
    page.wait_for_function("(hash) => decodeURIComponent(location.hash) === hash", arg=expected)


def test_state_is_stored_in_the_address_and_restored(visit):
    html = [CueMixer().to_html(), CueMixer().to_html(), SaturationLab().to_html()]
    page = visit(*html)
    assert address(page) == ""
    page.get_by_role("slider", name="Strength of the query").nth(1).press("End")
    page.get_by_role("slider", name="Width d").press("Home")
    wait_for_address(page, "#d2lx.cue_mixer.2.strength=8&d2lx.saturation_lab.width=2")
    entropy = shown(page, "entropy", 1)

    sent = visit(*html, hash=page.evaluate("location.hash"))
    assert shown(sent, "entropy", 1) == entropy
    assert shown(sent, "theory") == 2
    assert sent.get_by_role("slider", name="Strength of the query").first.input_value() == "0"

    # The first of a kind leaves the second's place in the address alone.
    sent.get_by_role("slider", name="Strength of the query").first.press("End")
    sent.get_by_role("button", name="Copy link").first.click()
    both = ["d2lx.cue_mixer.2.strength=8", "d2lx.cue_mixer.strength=8"]
    assert sorted(address(sent)[1:].split("&")) == [*both, "d2lx.saturation_lab.width=2"]

    # Reset goes back to the page's state, not to the link's.
    for reset in sent.get_by_role("button", name="Reset").all():
        reset.click()
    wait_for_address(sent, "")
    strengths = sent.get_by_label("Strength of the query").all()
    assert [strength.input_value() for strength in strengths] == ["0", "0"]


def test_an_address_that_does_not_fit_changes_nothing(visit):
    page = visit(CueMixer().to_html(), hash="#d2lx.cue_mixer.strength=1e9")
    before = page.locator(".d2lx > .d2lx").inner_text()
    assert page.get_by_role("slider", name="Strength of the query").input_value() == "0"
    for bad in (
        'strength="a"',
        "strength=null",
        "strength=%%%",
        "query=7",
        "query=0.5",
        "salience=[1]",
        'salience=[1,2,3,4,"<img src=x onerror=alert(1)>"]',
        "items=[]",
        "__proto__=1",
    ):
        page.evaluate("(hash) => { location.hash = hash }", f"#d2lx.cue_mixer.{bad}")
        page.wait_for_timeout(50)
        frame(page)
        assert page.locator(".d2lx > .d2lx").inner_text() == before, bad
    assert page.locator("img").count() == 0
    page.evaluate("() => { location.hash = '#d2lx.cue_mixer.query=1&d2lx.cue_mixer.strength=8' }")
    page.wait_for_timeout(50)
    frame(page)
    assert page.locator(".d2lx > .d2lx").inner_text() != before
