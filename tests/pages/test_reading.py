"""What readers do on a page: with a mouse, with keys, without a script, on paper."""

import re

import pytest
import torch
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

WALK = "chapters/03-scoring-functions/walk.html"
DARK_PAPER = "rgb(25, 23, 21)"
KINDS = {
    "landing page": "index.html",
    "walk": WALK,
    "workshop": "chapters/03-scoring-functions/workshop.html",
    "deeper page": "chapters/03b-which-score/deeper-cost.html",
    "last page": "chapters/the-end.html",
    "notation": "reference/notation.html",
    "glossary": "reference/glossary.html",
    "package": "reference/api.html",
    "listing": "reference/bare.html",
    "benchmarks": "reference/benchmarks.html",
    "map of the notes": "reference/notes-map.html",
    "bibliography": "reference/bibliography.html",
    "quizzes": "reference/quizzes.html",
    "teaching plans": "reference/teach.html",
    "missing page": "404.html",
    "index": "genindex.html",
    "search": "search.html?q=bandwidth",
}
# Rules whose result differs between the themes
COLOURS = ["color-contrast", "link-in-text-block"]
# Of thousands of elements, the first sections, rows and terms have every kind
FIRST_PARTS = """document.querySelectorAll("article section section:nth-of-type(n + 9), "
    + "article tr:nth-child(n + 13), article dl > :nth-child(n + 41)").forEach(e => e.remove())"""
LONG = {"notation", "glossary", "package"}

EACH_TIME = {"landing page", "walk", "workshop", "notation", "glossary", "quizzes", "search"}
"""The others are made of the same elements, some of thousands of them: once a week."""


@pytest.mark.parametrize(
    "kind",
    [k if k in EACH_TIME else pytest.param(k, marks=pytest.mark.weekly) for k in KINDS],
)
def test_axe_accepts_each_kind_of_page(visit, accessible, kind):
    # Figures have tests of their own, in all their views; axe sees no text in a formula
    context = {"exclude": [[".d2lx"], ["th:has(math)"]]}
    opened = visit(KINDS[kind])
    if kind in LONG:
        opened.page.evaluate(FIRST_PARTS)
    accessible(opened.page, context=context)
    opened.change("dark")
    accessible(opened.page, context=context, runOnly=COLOURS)


def test_guess_is_repeated_beside_the_answer_and_stored_nowhere(visit):
    page = visit(WALK).page
    question = page.locator(".asking:has(.predict)").first
    answer = question.locator(".answer")
    expect(answer).to_be_hidden()
    question.get_by_role("textbox", name="My guess").fill("about <b>half</b>")
    page.keyboard.press("Enter")
    expect(answer).to_contain_text("You said about <b>half</b>")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    page.keyboard.press("Enter")  # closed and opened again, it is said once
    page.keyboard.press("Enter")
    expect(question.locator(".said")).to_have_count(1)
    assert "half" not in page.evaluate("JSON.stringify([localStorage, sessionStorage])")


def test_page_works_without_scripts(visit):
    page = visit(WALK, "file", width=360, theme="dark", java_script_enabled=False).page
    question = page.locator(".asking:has(.predict)").first
    question.locator("summary").click()
    expect(question.locator(".answer")).to_be_visible()
    expect(page.locator("body")).to_have_css("background-color", DARK_PAPER)
    page.get_by_role("button", name="Contents").click()
    expect(page.get_by_role("navigation", name="Contents")).to_be_visible()
    assert page.locator("article math").count() > 10
    page = visit("index.html", "file", java_script_enabled=False).page
    expect(page.locator(".one-look .answer text")).to_have_text("12.4")


# What "save page, complete" does: files beside the page, and links to the rest of the book
SAVE = """() => {
    const files = {};
    for (const [selector, name] of [["link[rel=stylesheet]", "href"], ["script[src]", "src"]])
        for (const element of document.querySelectorAll(selector)) {
            const path = new URL(element[name]).pathname;
            files[path] = `saved_files/${path.split("/").at(-1)}`;
            element.setAttribute(name, files[path]);
        }
    for (const link of document.querySelectorAll("a[href]")) link.href = link.href;
    return files;
}"""


def test_saved_page_works(visit, book, tmp_path):
    page = visit(WALK).page
    page.wait_for_selector(".d2lx > .d2lx")
    page.locator(".asking:has(.predict)").first.get_by_role("textbox").fill("a third")
    page.keyboard.press("Enter")  # it is saved with this answer open
    (tmp_path / "saved_files").mkdir()
    for path, place in page.evaluate(SAVE).items():
        (tmp_path / place).write_bytes((book / path.lstrip("/")).read_bytes())
    (tmp_path / "saved.html").write_text(page.content(), encoding="utf-8")

    opened = visit("saved.html", folder=tmp_path, width=360)
    page = opened.page
    question = page.locator(".asking:has(.predict)").first
    expect(question.locator(".answer")).to_be_visible()
    question.locator("summary").click()
    question.get_by_role("textbox", name="My guess").fill("nothing")
    page.keyboard.press("Enter")
    expect(question.locator(".answer")).to_contain_text("You said nothing")
    page.get_by_role("button", name="Contents").click()
    contents = page.get_by_role("navigation", name="Contents")
    expect(contents).to_be_visible()
    page.keyboard.press("Escape")
    expect(contents).to_be_hidden()
    page.get_by_role("button", name="Light or dark").click()
    expect(page.locator("body")).to_have_css("background-color", DARK_PAPER)
    dial = page.get_by_role("slider", name="Temperature")
    expect(dial).to_have_count(1)
    dial.press("End")
    assert not [problem for problem in opened.problems if "page error" in problem]


def test_theme_button_turns_all_pages_dark_and_back(visit):
    page = visit("index.html").page
    page.get_by_role("button", name="Light or dark").click()
    page.goto(page.url.replace("index.html", "reference/glossary.html"))
    expect(page.locator("body")).to_have_css("background-color", DARK_PAPER)
    page.get_by_role("button", name="Light or dark").click()
    expect(page.locator("body")).not_to_have_css("background-color", DARK_PAPER)


def test_reduced_motion_disables_animation(visit):
    for name in ("index.html", WALK):
        page = visit(name, reduced_motion="reduce").page
        moving = page.evaluate(
            """() => [...document.querySelectorAll("*")].filter((e) => {
                const style = getComputedStyle(e);
                return style.scrollBehavior === "smooth" || style.transitionDuration !== "0s";
            }).map((e) => e.outerHTML.slice(0, 80))"""
        )
        assert moving == []
        # The line that shows how much is read follows the reader's scrolling, and no clock
        clocks = "document.getAnimations().filter((a) => a.timeline === document.timeline).length"
        assert page.evaluate(clocks) == 0


def test_keyboard_alone_leads_from_the_landing_page_to_the_next_chapter(visit):
    page = visit("index.html").page

    def reach(selector, steps=120):
        """Press Tab until the element has the focus; each stop on the way can be seen."""
        for _ in range(steps):
            page.keyboard.press("Tab")
            reached, visible, text = page.evaluate(
                """(selector) => {
                    const element = document.activeElement;
                    const box = element.getBoundingClientRect();
                    const visible = box.width && box.bottom > 0 && box.top < innerHeight;
                    return [element.matches(selector), visible, element.outerHTML.slice(0, 100)];
                }""",
                selector,
            )
            assert visible, f"make this visible when it has the focus: {text}"
            if reached:
                return
        raise AssertionError(f"Tab does not reach {selector}")

    reach(".handle")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".one-look .answer text")).not_to_have_text("12.4")
    reach("a.chapter[href*='01-attention-cues']")
    page.keyboard.press("Enter")
    page.wait_for_selector(".d2lx > .d2lx")
    reach("a.skip", 1)
    page.keyboard.press("Enter")
    reach(".asking .guess input")
    page.keyboard.type("a third")
    page.keyboard.press("Enter")
    expect(page.locator(".asking:has(.predict)").first).to_contain_text("You said a third")
    reach(".d2lx input[type=range]")
    figure = page.locator("article .d2lx").first
    before = figure.inner_text()
    page.keyboard.press("End")
    expect(figure).not_to_have_text(before, use_inner_text=True)
    reach(".ways-on .next")
    page.keyboard.press("Enter")
    page.wait_for_url("**/02-nadaraya-watson/walk.html")


def test_query_on_the_landing_page_computes_attention(visit):
    page = visit("index.html").page
    query = page.get_by_role("slider", name="Query")
    query.focus()
    for _ in range(20):
        page.keyboard.press("Shift+ArrowUp")
    answer = page.locator(".one-look .answer text").text_content()
    assert query.get_attribute("aria-valuenow") == answer
    shares = [float(page.locator(f".share-{i}").text_content()) for i in range(3)]
    # The scores are minus the squared distances to the keys
    place = [float(x) for x in re.findall(r"[\d.]+", query.get_attribute("transform"))]
    offsets = torch.tensor([[262.0, 82], [328, 222], [250, 352]]) - torch.tensor(place)
    weights = (-offsets.square().sum(1) / 119.62**2).softmax(0)
    assert shares == pytest.approx(weights.tolist(), abs=0.006)
    assert float(answer) == pytest.approx(
        (weights @ torch.tensor([40.0, 20, 10])).item(), abs=0.051
    )


def test_finger_drags_the_query(visit):
    page = visit("index.html", width=360, has_touch=True).page
    handle = page.locator(".one-look .handle")
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    finger = page.context.new_cdp_session(page)
    for kind, points in (
        ("touchStart", [{"x": x, "y": y}]),
        ("touchMove", [{"x": x, "y": y - 60}]),
        ("touchEnd", []),
    ):
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    expect(page.locator(".one-look .answer text")).not_to_have_text("12.4")


def test_print_shows_answers_and_no_interface(visit):
    page = visit(WALK).page
    page.emulate_media(media="print")
    for hidden in (".bar", ".contents", ".ways-on", ".guess"):
        expect(page.locator(hidden).first).to_be_hidden()
    assert page.locator(".ask .answer").evaluate_all("all => all.every(a => a.checkVisibility())")


def test_forced_colours_keep_shapes(visit):
    page = visit("chapters/01-attention-cues/walk.html", forced_colors="active").page
    ground = "e => getComputedStyle(e).backgroundColor"
    paper = page.locator("body").evaluate(ground)
    dot = "s => getComputedStyle(s, '::before').backgroundColor"
    assert page.locator(".ask.predict > summary").first.evaluate(dot) != paper
    assert page.locator(".d2lx-by-salience").last.evaluate(ground) != paper
