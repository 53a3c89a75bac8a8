"""Explorables by finger, by ear, in forced colours, printed, saved, sent and sanitised."""

import re
from urllib.parse import unquote

import pytest
from explorable_pages import EXAMPLES, SENTENCES, contrast, frame, live, shown

from d2lattn.book.explorables import AlignmentJudge, CueMixer, NadarayaWatsonBench, SaturationLab

pytestmark = pytest.mark.browser

PHONE = {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True}


def drag_by_finger(page, point, by):
    """Touch a point in its middle, move in steps, let go; gives the places of finger and point."""
    box = point.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    client = page.context.new_cdp_session(page)
    send = lambda kind, at: client.send(  # noqa: E731
        "Input.dispatchTouchEvent",
        {"type": kind, "touchPoints": [{"x": at[0], "y": at[1]}] if at else []},
    )
    send("touchStart", (x, y))
    for step in range(1, 9):
        send("touchMove", (x + by[0] * step / 8, y + by[1] * step / 8))
        frame(page)
    send("touchEnd", None)
    frame(page)
    after = point.bounding_box()
    centre = after["x"] + after["width"] / 2, after["y"] + after["height"] / 2
    return (x + by[0], y + by[1]), centre


def test_a_point_stays_under_the_finger_and_the_page_does_not_scroll(visit):
    far = "<p style=height:2000px>A long page.</p>"
    page = visit(
        NadarayaWatsonBench([0, 1, 2], [0, 1, 0], query=1).to_html(),
        SaturationLab(view="field").to_html(),
        far,
        **PHONE,
    )
    for name, by in (("Point 2", (40, 60)), ("Query", (80, 0))):
        point = page.get_by_role("slider", name=name, exact=True).first
        point.scroll_into_view_if_needed()
        before = page.evaluate("scrollY")
        finger, centre = drag_by_finger(page, point, by)
        assert abs(centre[0] - finger[0]) <= 5
        assert name == "Query" or abs(centre[1] - finger[1]) <= 5
        assert page.evaluate("scrollY") == before
    key = page.get_by_role("slider", name="Key", exact=True)
    key.scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    finger, centre = drag_by_finger(page, key, (30, 50))
    assert max(abs(a - b) for a, b in zip(finger, centre, strict=True)) <= 5
    assert page.evaluate("scrollY") == before


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
    page = visit(*(example().to_html() for example in EXAMPLES.values()))
    page.evaluate(WATCH)
    page.wait_for_timeout(700)
    assert page.evaluate("spoken") == []
    page.clock.install()  # the pauses below are then the page's alone
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


def test_a_figure_that_hides_its_answer_tells_it_to_nobody(visit):
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
    page.get_by_role("slider", name="How strongly").press("ArrowRight")
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


@pytest.mark.parametrize("look", [{"forced_colors": "active"}, {"media": "print"}], ids=str)
def test_bars_are_seen(visit, look):
    page = visit(CueMixer(strength=2).to_html())
    page.emulate_media(**look)
    for kind in (".d2lx-shares div", ".d2lx-by-query", ".d2lx-by-salience"):
        fill = page.locator(f".d2lx {kind}:not(i)").nth(2 if "salience" in kind else 0)
        colours = fill.evaluate(
            """e => [e, e.closest('.d2lx-track') ?? e.closest('.d2lx')].map(
                (x) => getComputedStyle(x).backgroundColor)"""
        )
        assert contrast(page, *colours) >= 3, (kind, colours)
        # Browsers print no backgrounds unless told.
        assert fill.evaluate("e => getComputedStyle(e).printColorAdjust") == "exact"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_marks_that_carry_meaning_have_contrast(visit, theme):
    html = [example().to_html() for example in EXAMPLES.values()]
    page = visit(*html, NadarayaWatsonBench(view="norms").to_html(), theme=theme)
    faint = page.evaluate(
        """() => {
          const found = [];
          for (const mark of document.querySelectorAll('.d2lx-plot g path, .d2lx-plot g circle')) {
            if (!mark.checkVisibility() || mark.closest('.d2lx-stage')) continue;
            const style = getComputedStyle(mark);
            const paper = getComputedStyle(mark.closest('.d2lx')).backgroundColor;
            if (Number(style.strokeOpacity) < 1 || Number(style.opacity) < 1) found.push('opacity');
            for (const colour of [style.fill, style.stroke])
              if (colour !== 'none' && !/transparent|, 0\\)/.test(colour) && colour !== paper)
                found.push([colour, paper]);
          }
          return [...new Set(found.map(String))];
        }"""
    )
    assert "opacity" not in faint
    assert faint
    for pair in faint:
        one, other = re.findall(r"rgba?\([^)]*\)", pair)
        assert contrast(page, one, other) >= 3, pair


def test_the_cursor_of_a_heatmap_is_seen_on_every_cell(visit):
    page = visit(CueMixer(strength=8).to_html())
    page.get_by_role("application").press("ArrowRight")
    strokes = page.locator(".d2lx-cursor rect").evaluate_all(
        "es => es.map((e) => [getComputedStyle(e).stroke, getComputedStyle(e).visibility,"
        " parseFloat(getComputedStyle(e).strokeWidth)])"
    )
    assert {visible for _, visible, _ in strokes} == {"visible"}
    cells = set(page.locator("rect[data-value]").evaluate_all("es => es.map(e => e.style.fill"
        " || e.getAttribute('fill'))"))  # fmt: skip
    for cell in cells:
        assert max(contrast(page, stroke, cell) for stroke, _, _ in strokes) >= 3
    assert strokes[0][2] - strokes[1][2] >= 4, "no light line beside the dark one"


def test_targets_are_large_enough_for_a_finger(visit):
    long = {**SENTENCES[0], "source": [f"word{i}" for i in range(12)]}
    long["weights"] = [[1 / 12] * 12] * 6
    page = visit(
        *(example().to_html() for example in EXAMPLES.values()),
        SaturationLab(view="field").to_html(),
        AlignmentJudge([long]).to_html(),
        **PHONE,
    )
    named = ".d2lx :is(input, select, button, [role=slider]):visible"
    sizes = page.locator(named).evaluate_all(
        "es => es.map((e) => [e.outerHTML.slice(0, 80), e.getBoundingClientRect()])"
    )
    small = [(name, box) for name, box in sizes if min(box["width"], box["height"]) < 24]
    assert small == []
    cells = page.locator(".d2lx[data-d2lx^=alignment] rect[data-value]").evaluate_all(
        "es => es.map((e) => e.getBoundingClientRect())"
    )
    assert cells
    assert min(min(box["width"], box["height"]) for box in cells) >= 24
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(overflow) <= 0
    # The last cell of a wide sentence comes into sight by keys.
    stage = page.get_by_role("application").last
    stage.press("End")
    assert stage.evaluate("e => e.scrollLeft") > 0


# What a control moves first.
RESULTS = (
    ".d2lx-result, .d2lx-shares, .d2lx-mix .d2lx-track, .d2lx-forge > div > div > .d2lx-stage, "
    ".d2lx-turning, .d2lx-placed, .d2lx-keys"
)


def test_on_a_phone_a_control_stands_beside_what_it_moves(visit):
    page = visit(*(example().to_html() for example in EXAMPLES.values()), **PHONE)
    for figure in page.locator(".d2lx > .d2lx").all():
        top = "(e) => e.getBoundingClientRect().top"
        bottom = "(e) => e.getBoundingClientRect().bottom"
        results = figure.locator(RESULTS).all()
        for slider in figure.locator("input[type=range]:visible").all():
            reach = min(
                max(slider.evaluate(bottom), one.evaluate(bottom))
                - min(slider.evaluate(top), one.evaluate(top))
                for one in results
            )
            assert reach <= 640, slider.get_attribute("aria-label")


def test_figures_use_no_headings(visit):
    page = visit(*(example().to_html() for example in EXAMPLES.values()))
    assert page.locator(".d2lx :is(h1, h2, h3, h4, h5, h6)").count() == 0
    for figure in page.locator(".d2lx > .d2lx").all():
        assert figure.get_attribute("role") == "group"
        name = figure.get_attribute("aria-labelledby")
        assert page.locator(f"#{name}").inner_text()


def test_a_saved_page_plays(visit, folder):
    page = visit(CueMixer().to_html(), CueMixer(strength=1).to_html())
    page.get_by_role("slider", name="How strongly").first.press("End")
    frame(page)
    saved = folder / "saved.html"
    saved.write_text(page.content(), encoding="utf-8")
    again = page.context.browser.new_page()
    troubles = []
    again.on("pageerror", lambda error: troubles.append(str(error)))
    again.goto(saved.as_uri())
    again.wait_for_timeout(300)
    assert again.locator(".d2lx > .d2lx").count() == 2
    for nth in (0, 1):
        before = shown(again, "pooled", nth)
        again.get_by_role("slider", name="How strongly").nth(nth).press("End")
        frame(again)
        assert shown(again, "pooled", nth) != before
    assert troubles == []
    again.close()


def test_a_figure_that_cannot_be_drawn_leaves_the_words(chromium):
    broken = re.sub(r'"items":\[[^]]*\]', '"items":null', CueMixer().to_html())
    page = chromium.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_content(f"<main>{broken}{CueMixer().to_html()}</main>")
    page.wait_for_selector(".d2lx .d2lx")
    assert errors
    first = page.locator("[data-d2lx]").first
    assert "Interactive figure" in first.inner_text()
    assert first.locator(".d2lx-title").count() == 0
    page.close()


def test_a_live_figure_that_cannot_be_drawn_says_so(chromium):
    page = chromium.new_page()
    page.set_content("<main></main>")
    mixer = CueMixer()
    mixer._trait_values["items"] = None
    live(page, mixer)
    assert "Not drawn: " in page.inner_text("main")
    page.close()


def test_a_live_figure_follows_when_python_replaces_what_it_is_made_of(visit):
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


def test_sanitised_output_is_words_and_no_code():
    from nbconvert.preprocessors.sanitize import SanitizeHTML

    for example in EXAMPLES.values():
        clean = SanitizeHTML().sanitize_html_tags(example().to_html())
        assert "Interactive figure" in clean
        # A drawing is for eyes alone, and does no harm.
        drawing = r"&lt;svg.*?/svg&gt;"
        assert len(re.sub(drawing, "", clean, flags=re.DOTALL)) < 2500
        assert "function" not in clean


def test_formulas_add_up_where_numbers_are_tiny(visit):
    far = NadarayaWatsonBench([0, 1], [3.2, 5], query=-1.5, bandwidth=0.25)
    boxcar = NadarayaWatsonBench([0, 1], [3.2, 5], query=9, bandwidth=0.25, kernel="boxcar")
    page = visit(far.to_html(), boxcar.to_html())
    formula = page.locator(".d2lx-formula:visible").first.inner_text()
    assert re.search(r"= 1\.94·10⁻⁸ / 6\.08·10⁻⁹ = 3\.200$", formula), formula
    none = page.locator(".d2lx > .d2lx").nth(1).locator(".d2lx-formula:visible").inner_text()
    assert "No point lies within one bandwidth" in none
    assert "machine precision" not in none


def test_too_much_to_follow_the_hand_is_told_in_a_sentence():
    many = list(range(2000))
    with pytest.raises(ValueError, match=r"xs has 2000 entries; at most 100 .* xs\[::20\]"):
        NadarayaWatsonBench(many, many)
    with pytest.raises(ValueError, match="items has 21 entries"):
        CueMixer(items=["a"] * 21)
    sentence = {**SENTENCES[0], "source": ["a"] * 41, "weights": [[1 / 41] * 41] * 6}
    with pytest.raises(ValueError, match="41 words; 40 at most"):
        AlignmentJudge([sentence])


# --- state in the address ------------------------------------------------------------------------


def address(page) -> str:
    return unquote(page.evaluate("location.hash"))


def test_what_the_reader_moves_is_in_the_address_and_comes_back(visit):
    html = [CueMixer().to_html(), CueMixer().to_html(), SaturationLab().to_html()]
    page = visit(*html)
    assert address(page) == ""
    page.get_by_role("slider", name="How strongly").nth(1).press("End")
    page.get_by_role("slider", name="Width d").press("Home")
    page.wait_for_timeout(400)
    assert address(page) == "#d2lx.cue_mixer.2.strength=8&d2lx.saturation_lab.width=2"
    entropy = shown(page, "entropy", 1)

    sent = visit(*html, hash=page.evaluate("location.hash"))
    assert shown(sent, "entropy", 1) == entropy
    assert shown(sent, "theory") == 2
    assert sent.get_by_role("slider", name="How strongly").first.input_value() == "0"

    # The first of a kind leaves the second's place in the address alone.
    sent.get_by_role("slider", name="How strongly").first.press("End")
    sent.get_by_role("button", name="Copy link").first.click()
    both = ["d2lx.cue_mixer.2.strength=8", "d2lx.cue_mixer.strength=8"]
    assert sorted(address(sent)[1:].split("&")) == [*both, "d2lx.saturation_lab.width=2"]

    # Reset goes back to the page's state, not to the link's.
    for reset in sent.get_by_role("button", name="Reset").all():
        reset.click()
    sent.wait_for_timeout(400)
    assert address(sent) == ""
    assert [strength.input_value() for strength in sent.get_by_label("How strongly").all()] == [
        "0",
        "0",
    ]


def test_a_second_link_in_the_same_window_is_shown_as_it_was_sent(visit):
    page = visit(CueMixer().to_html(), hash="#d2lx.cue_mixer.strength=8")
    strength = page.get_by_role("slider", name="How strongly")
    assert strength.input_value() == "8"
    page.evaluate("location.hash = '#d2lx.cue_mixer.ask=1'")
    page.wait_for_timeout(400)
    assert strength.input_value() == "0"
    assert address(page) == "#d2lx.cue_mixer.ask=1"
    page.go_back()
    page.wait_for_timeout(400)
    assert strength.input_value() == "8"
    assert address(page) == "#d2lx.cue_mixer.strength=8"


def test_who_comes_back_from_an_anchor_goes_on_reading_where_they_were(visit):
    words = "<p style='height: 4000px'>Much.</p><a href='#ref'>1</a><p id=ref>Whence.</p>"
    page = visit(CueMixer().to_html(), words)
    page.get_by_role("slider", name="How strongly").press("End")
    page.wait_for_timeout(400)
    link = page.get_by_role("link", name="1")
    link.scroll_into_view_if_needed()
    reading = page.evaluate("scrollY")
    assert reading > 2000
    link.click()
    page.go_back()
    page.wait_for_timeout(400)
    assert page.evaluate("scrollY") == pytest.approx(reading, abs=2)


def test_an_anchor_followed_at_once_keeps_its_place(visit):
    page = visit(CueMixer().to_html(), "<h2 id=next>Next</h2>")
    page.get_by_role("slider", name="How strongly").press("End")
    page.evaluate("location.hash = '#next'")
    page.wait_for_timeout(400)
    assert address(page) == "#next"


def test_presets_are_the_pages_after_a_reload_too(visit):
    page = visit(CueMixer().to_html())
    page.get_by_role("button", name="Salience only").click()
    frame(page)
    coffee = shown(page, "bar-2")
    page.get_by_role("button", name="No cues").click()
    page.wait_for_timeout(400)
    page.reload()
    page.get_by_role("button", name="Salience only").click()
    frame(page)
    assert shown(page, "bar-2") == coffee > 0.5
    assert "will coffee get" in page.locator(".d2lx-guess").text_content()


def test_the_default_state_has_no_hash(visit):
    page = visit(CueMixer().to_html())
    strength = page.get_by_role("slider", name="How strongly")
    strength.press("End")
    page.wait_for_timeout(400)
    assert address(page) == "#d2lx.cue_mixer.strength=8"
    strength.press("Home")
    page.wait_for_timeout(400)
    assert page.evaluate("location.href").endswith(".html")


def test_copy_link_gives_the_whole_address(visit):
    clipboard = ["clipboard-read", "clipboard-write"]
    page = visit(NadarayaWatsonBench().to_html(), scheme="http", permissions=clipboard)
    page.get_by_role("slider", name="Bandwidth").press("End")
    page.get_by_role("button", name="Copy link").click()
    page.get_by_text("The link is copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.evaluate("location.href")
    assert "#d2lx.nadaraya_watson_bench.bandwidth=" in copied


def test_anchors_of_the_page_are_left_alone(visit):
    page = visit(CueMixer().to_html(), "<h2 id=next>Next</h2>", hash="#next")
    page.get_by_role("slider", name="How strongly").press("End")
    page.wait_for_timeout(400)
    assert address(page) == "#next"


def test_an_address_that_does_not_fit_changes_nothing(visit):
    page = visit(CueMixer().to_html(), hash="#d2lx.cue_mixer.strength=1e9")
    before = page.locator(".d2lx > .d2lx").inner_text()
    assert page.get_by_role("slider", name="How strongly").input_value() == "0"
    for bad in (
        'strength="a"',
        "strength=null",
        "strength=%%%",
        "ask=7",
        "ask=0.5",
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
    page.evaluate("() => { location.hash = '#d2lx.cue_mixer.ask=1&d2lx.cue_mixer.strength=8' }")
    page.wait_for_timeout(50)
    frame(page)
    assert page.locator(".d2lx > .d2lx").inner_text() != before


# --- text as readers have set it -----------------------------------------------------------------

# How high each piece of text is drawn, by what it says.
HEIGHTS = """() => {
  const found = {};
  const walk = document.createTreeWalker(document.querySelector('.d2lx'), NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode()); ) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest('style, option, .d2lx-quiet')) continue;
    const { fontSize } = getComputedStyle(parent);
    const svg = parent.closest('svg');
    const scale = svg?.viewBox.baseVal?.width
      ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    found[parent.className.baseVal ?? parent.className + parent.tagName] =
      parseFloat(fontSize) * scale;
  }
  return found;
}"""
OVER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def test_text_follows_the_readers_font_size(visit, example):
    page = visit(example().to_html())
    before = page.evaluate(HEIGHTS)
    assert min(before.values()) >= 12
    page = visit(f"<style>html {{ font-size: 200% }}</style>{example().to_html()}")
    after = page.evaluate(HEIGHTS)
    # Twice as large, or what twice the smallest would be: a drawing has no more than its column.
    small = {
        name: (x, after[name])
        for name, x in before.items()
        if after.get(name, 24) < min(1.9 * x, 24)
    }
    assert small == {}
    assert page.evaluate(OVER) <= 0


# What the guidelines for accessible content ask pages to bear (1.4.12).
SPACED = """<style>* { letter-spacing: 0.12em !important; word-spacing: 0.16em !important;
  line-height: 1.5 !important } p { margin-bottom: 2em !important }</style>"""


@pytest.mark.parametrize("spacing", ["", SPACED], ids=["plain", "spaced"])
def test_on_the_narrowest_phone_nothing_is_cut(visit, example, spacing):
    page = visit(f"{spacing}{example().to_html()}", width=320)
    cut = """() => [...document.querySelectorAll('.d2lx *')].filter((e) => {
      if (!e.checkVisibility() || e.closest('svg, .d2lx-stage, .d2lx-quiet, select')) return false;
      const { left, right } = e.getBoundingClientRect();
      const frame = e.closest('[data-d2lx]').getBoundingClientRect();
      const hides = e.textContent && getComputedStyle(e).overflowX !== 'visible'
        && e.scrollWidth > e.clientWidth + 1;
      return right > frame.right + 1 || left < frame.left - 1 || hides;
    }).map((e) => `${e.tagName}.${e.className}: ${e.textContent.slice(0, 40)}`)"""
    assert page.evaluate(cut) == []
    assert page.evaluate(OVER) <= 0


def test_forced_colours_show_which_picture_is_there(visit):
    page = visit(EXAMPLES["Storyboard"]().to_html())
    page.emulate_media(forced_colors="active")
    look = """e => { const s = getComputedStyle(e);
      return [s.fontWeight, s.outlineStyle, s.borderTopWidth, s.textDecorationLine].join(); }"""
    looks = [one.evaluate(look) for one in page.locator(".d2lx-film button").all()]
    now = page.locator(".d2lx-film .d2lx-now").evaluate(look)
    assert looks.count(now) == 1


@pytest.mark.parametrize(
    ("name", "pressed"),
    [("TransformerXray", "[aria-pressed='true']"), ("HeadAblation", "[data-shown]")],
)
def test_what_is_chosen_is_not_what_has_the_focus(visit, name, pressed):
    page = visit(EXAMPLES[name]().to_html())
    chosen = page.locator(pressed).first
    assert chosen.evaluate("e => getComputedStyle(e).outlineStyle") == "none"
    assert chosen.evaluate("e => parseFloat(getComputedStyle(e).borderTopWidth)") >= 3


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_paper_is_white_and_cuts_no_figure(visit, example, theme):
    page = visit(example().to_html(), theme=theme)
    page.emulate_media(media="print")
    figure = page.locator(".d2lx").first
    style = lambda what: figure.evaluate(f"e => getComputedStyle(e).{what}")  # noqa: E731
    assert style("backgroundColor") == "rgb(255, 255, 255)"
    assert contrast(page, style("color"), "#fff") >= 7
    assert style("breakInside") == "avoid"
    for name in ("blue", "orange", "green", "line", "muted", "ink"):
        colour = figure.evaluate(f"e => getComputedStyle(e).getPropertyValue('--d2lx-{name}')")
        assert contrast(page, colour, "#fff") >= 4.5, name
