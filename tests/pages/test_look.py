"""The book's own clothes: what readers do on a page, with a mouse, with keys, without a script."""

import re
from functools import partial

import pytest
import torch
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

WALK = "chapters/03-scoring-functions/walk.html"
KINDS = {
    "landing page": "index.html",
    "walk": WALK,
    "workshop": "chapters/03-scoring-functions/workshop.html",
    "deeper page": "chapters/03b-which-score/deeper-cost.html",
    "the end": "chapters/the-end.html",
    "notation": "reference/notation.html",
    "glossary": "reference/glossary.html",
    "package": "reference/api.html",
    "one page of code": "reference/bare.html",
    "benchmarks": "reference/benchmarks.html",
    "map of the notes": "reference/notes-map.html",
    "bibliography": "reference/bibliography.html",
    "quizzes": "reference/quizzes.html",
    "plans to teach": "reference/teach.html",
    "page for no page": "404.html",
    "index": "genindex.html",
    "search": "search.html?q=bandwidth",
}


# What these rules look at differs in the themes; what all others look at does not.
COLOURS = ["color-contrast", "link-in-text-block"]

# A page of the package has ten thousand elements, most of them like others before. One goes if in
# it, and in what it holds, nothing is new: no element, class, role or attribute in its place.
PRUNE = """() => {
    const blocks = "section, .scrolls, .citation, ul, ol, dl, tr, li, :is(section, dd, li) > p";
    const seen = new Set();
    const fresh = (element, path) => {
        const names = [...element.attributes].map(({ name }) => name);
        const text = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
        const kind = [path, element.tagName, ...element.classList, element.role, ...names, text];
        const here = kind.join(" ");
        let found = !seen.has(here);
        seen.add(here);
        for (const child of [...element.children]) {
            const isNew = fresh(child, here);
            if (!isNew && child.matches(`${blocks}, pre span, .sig-param`)) child.remove();
            found ||= isNew;
        }
        return found;
    };
    fresh(document.querySelector("article"), "");
}"""


@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing_on_any_kind_of_page(visit, accessible, kind):
    # What is in a figure has its own test, in all its views; and axe sees no text in a formula
    exclude = {"exclude": [[".d2lx"], ["th:has(math)"]]}
    clean = partial(accessible, context=exclude)
    seen = visit(KINDS[kind])
    seen.page.evaluate(PRUNE)
    clean(seen.page)
    seen.turn("dark")
    clean(seen.page, runOnly=COLOURS)


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_page_scrolls_sideways_at_320_px(visit, kind):
    page = visit(KINDS[kind], width=320).page
    over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(over) <= 0


def test_a_guess_is_shown_again_beside_the_answer_and_kept_nowhere(visit):
    page = visit(WALK).page
    asking = page.locator(".asking:has(.predict)").first
    answer = asking.locator(".answer")
    expect(answer).to_be_hidden()
    asking.get_by_role("textbox", name="My guess").fill("about <b>half</b>")
    page.keyboard.press("Enter")
    expect(answer).to_be_visible()
    expect(answer).to_contain_text("You said about <b>half</b>")
    expect(asking.get_by_role("textbox")).to_be_hidden()
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    # Closed and opened again, it is said once
    page.keyboard.press("Enter")
    expect(asking.get_by_role("textbox")).to_be_visible()
    page.keyboard.press("Enter")
    expect(asking.locator(".said")).to_have_count(1)
    kept = page.evaluate("JSON.stringify(localStorage) + JSON.stringify(sessionStorage)")
    assert "half" not in kept
    page.reload()
    assert page.locator(".said").count() == 0


@pytest.fixture
def without_script(chromium, addresses):
    context = chromium.new_context(java_script_enabled=False, color_scheme="dark")
    page = context.new_page()
    yield lambda name: (page.goto(addresses["file"] + name), page)[1]
    context.close()


def test_without_a_script_predictions_open_and_the_page_is_dark_where_the_system_is(without_script):
    page = without_script(WALK)
    asking = page.locator(".asking:has(.predict)").first
    assert asking.get_by_role("textbox").count() == 0
    asking.locator("summary").click()
    expect(asking.locator(".answer")).to_be_visible()
    expect(page.locator("body")).to_have_css("background-color", "rgb(25, 23, 21)")


def test_without_a_script_the_drawer_opens_and_the_first_figure_stands(without_script):
    page = without_script(WALK)
    page.set_viewport_size({"width": 360, "height": 800})
    contents = page.get_by_role("navigation", name="Contents")
    expect(contents).to_be_hidden()
    page.get_by_role("button", name="Contents").click()
    expect(contents).to_be_visible()
    page = without_script("index.html")
    expect(page.locator(".one-look .answer text")).to_have_text("12.4")
    expect(page.locator(".play")).to_be_hidden()


SAVE = """() => {
    // What "save page, complete" does: files beside the page, and links to the rest of the book
    const files = {};
    for (const [selector, name] of [["link[rel=stylesheet]", "href"], ["script[src]", "src"]])
        for (const one of document.querySelectorAll(selector)) {
            const path = new URL(one[name]).pathname;
            files[path] = `saved_files/${path.split("/").at(-1)}`;
            one.setAttribute(name, files[path]);
        }
    for (const link of document.querySelectorAll("a[href]")) link.href = link.href;
    return files;
}"""


def test_a_page_saved_by_a_browser_works(visit, chromium, book, tmp_path):
    page = visit(WALK).page
    page.wait_for_selector(".d2lx > .d2lx")
    formulas = page.locator("article math").count()
    first = page.locator(".asking:has(.predict)").first
    first.get_by_role("textbox").fill("a third")
    page.keyboard.press("Enter")  # it is saved with this answer open
    (tmp_path / "saved_files").mkdir()
    for path, place in page.evaluate(SAVE).items():
        (tmp_path / place).write_bytes((book / path.lstrip("/")).read_bytes())
    (tmp_path / "saved.html").write_text(page.content(), encoding="utf-8")

    context = chromium.new_context(viewport={"width": 360, "height": 800})
    page = context.new_page()
    troubles = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto((tmp_path / "saved.html").as_uri())
    first = page.locator(".asking:has(.predict)").first
    expect(first.locator(".answer")).to_be_visible()
    expect(first.locator("form")).to_be_hidden()
    first.locator("summary").click()  # closed, it takes another guess
    first.get_by_role("textbox", name="My guess").fill("nothing")
    page.keyboard.press("Enter")
    expect(first.locator(".answer")).to_contain_text("You said nothing")
    for code in page.locator(".cell_input .highlight").all()[:3]:
        expect(code.locator(".copy")).to_have_count(1)
    assert page.locator("article math").count() == formulas > 10  # none is lost
    page.get_by_role("button", name="Contents").click()
    expect(page.get_by_role("navigation", name="Contents")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Light or dark").click()
    expect(page.locator("body")).to_have_css("background-color", "rgb(25, 23, 21)")
    dial = page.get_by_role("slider", name="Temperature")
    expect(dial).to_have_count(1)
    dial.press("End")
    assert "saved" not in page.locator(".ways-on a").first.get_attribute("href")
    assert troubles == []
    context.close()


def test_nothing_moves_for_a_reader_who_asks_for_stillness(chromium, addresses):
    context = chromium.new_context(reduced_motion="reduce")
    page = context.new_page()
    for name in ("index.html", WALK):
        page.goto(addresses["http"] + name)
        moving = page.evaluate(
            """() => [...document.querySelectorAll("*")].filter((e) => {
                const style = getComputedStyle(e);
                return style.scrollBehavior === "smooth" || style.transitionDuration !== "0s";
            }).map((e) => e.outerHTML.slice(0, 80))"""
        )
        assert moving == []
        # The line that says how much is read follows the reader's own scrolling, and no clock
        clocks = "document.getAnimations().filter((a) => a.timeline === document.timeline).length"
        assert page.evaluate(clocks) == 0
    context.close()


def test_keys_alone_lead_from_the_landing_page_to_the_last_figure(chromium, addresses):
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(addresses["http"])

    def reach(what, most=120):
        """Press Tab until this has the focus; each stop on the way can be seen."""
        for _ in range(most):
            page.keyboard.press("Tab")
            focus = page.evaluate(
                """(what) => {
                    const one = document.activeElement;
                    const box = one.getBoundingClientRect();
                    const seen = box.width && box.bottom > 0 && box.top < innerHeight;
                    return { there: one.matches(what), seen, is: one.outerHTML.slice(0, 100) };
                }""",
                what,
            )
            assert focus["seen"], focus["is"]
            if focus["there"]:
                return
        raise AssertionError(f"no way to {what}")

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
    before = page.locator("article .d2lx").first.inner_text()
    page.keyboard.press("End")
    page.wait_for_function(
        "before => document.querySelector('article .d2lx').innerText !== before", arg=before
    )
    reach(".ways-on .next")
    page.keyboard.press("Enter")
    page.wait_for_url("**/02-nadaraya-watson/walk.html")
    context.close()


def test_the_drawer_closes_by_escape_and_by_a_link_to_this_page(visit):
    page = visit(WALK, width=360).page
    contents = page.get_by_role("navigation", name="Contents")
    open_it = page.get_by_role("button", name="Contents")
    open_it.click()
    page.keyboard.press("Escape")
    expect(contents).to_be_hidden()
    open_it.click()
    contents.get_by_role("link", name="Toss coins").click()
    expect(contents).to_be_hidden()
    assert page.url.endswith("#toss-coins")


def test_the_query_on_the_landing_page_is_moved_by_keys(visit):
    page = visit("index.html").page
    query = page.get_by_role("slider", name="Query")
    answer = page.locator(".one-look .answer text")
    expect(answer).to_have_text("12.4")
    query.focus()
    for _ in range(20):
        page.keyboard.press("Shift+ArrowUp")
    assert float(answer.text_content()) > 30
    assert query.get_attribute("aria-valuenow") == answer.text_content()
    shares = [float(page.locator(f".share-{i}").text_content()) for i in range(3)]
    # They are the softmax of the scores, which are minus the squared distances to the keys
    place = [float(x) for x in re.findall(r"[\d.]+", query.get_attribute("transform"))]
    away = torch.tensor([[262.0, 82], [328, 222], [250, 352]]) - torch.tensor(place)
    wanted = (-away.square().sum(1) / 119.62**2).softmax(0)
    assert shares == pytest.approx(wanted.tolist(), abs=0.006)
    mixed = (wanted @ torch.tensor([40.0, 20, 10])).item()
    assert float(answer.text_content()) == pytest.approx(mixed, abs=0.051)
    for i, share in enumerate(shares):
        width = page.locator(f".key-{i} .strand").first.get_attribute("stroke-width")
        assert float(width) == pytest.approx(max(0.7, 22 * share), abs=0.15)


def test_a_finger_drags_the_query(chromium, addresses):
    context = chromium.new_context(has_touch=True, viewport={"width": 360, "height": 800})
    page = context.new_page()
    page.goto(addresses["http"])
    handle = page.locator(".one-look .handle")
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    finger = context.new_cdp_session(page)
    send = "Input.dispatchTouchEvent"
    finger.send(send, {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    finger.send(send, {"type": "touchMove", "touchPoints": [{"x": x, "y": y - 60}]})
    finger.send(send, {"type": "touchEnd", "touchPoints": []})
    assert page.locator(".one-look .answer text").text_content() != "12.4"
    context.close()


def test_formulas_need_no_script_and_their_font_is_the_books(without_script):
    page = without_script("chapters/03-scoring-functions/deeper-softmax.html")
    assert page.locator("article math").count() > 20
    font = page.locator("article math").first.evaluate("m => getComputedStyle(m).fontFamily")
    assert font.startswith("Formula")


def test_paper_has_answers_and_no_interface(visit):
    page = visit(WALK).page
    page.emulate_media(media="print")
    for hidden in (".bar", ".contents", ".ways-on", ".guess"):
        expect(page.locator(hidden).first).to_be_hidden()
    seen = page.locator(".ask .answer").evaluate_all("all => all.map(a => a.checkVisibility())")
    assert seen
    assert all(seen)


def test_forced_colours_keep_shapes_and_text(chromium, addresses):
    context = chromium.new_context(forced_colors="active")
    page = context.new_page()
    page.goto(addresses["http"] + WALK)
    assert page.evaluate("matchMedia('(forced-colors: active)').matches")
    ink = page.evaluate("getComputedStyle(document.body).color")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ink != paper
    dot = page.locator(".ask.predict > summary").first.evaluate(
        "s => getComputedStyle(s, '::before').backgroundColor"
    )
    assert dot != paper
    # A browser lays its own paper behind text: what fills a button would be seen around it
    button = page.locator(".guess button").first
    assert button.evaluate("b => getComputedStyle(b).backgroundColor") != dot
    assert page.locator(".steps .now span").evaluate("s => getComputedStyle(s).color") == ink
    page.goto(addresses["http"] + "chapters/01-attention-cues/walk.html")
    part = page.locator(".d2lx-by-salience").last
    ground = "e => getComputedStyle(e).backgroundColor"
    assert part.evaluate(ground) == ink
    assert part.locator("..").evaluate(ground) == paper
    context.close()
