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


def test_to_prune_a_page_takes_nothing_that_is_new(visit):
    page = visit(KINDS["package"]).page
    kinds = """() => [...new Set([...document.querySelectorAll("article *")]
        .flatMap((e) => [e.tagName, ...e.classList, ...e.getAttributeNames()]))].sort()"""
    count = "document.querySelectorAll('article *').length"
    before, number = page.evaluate(kinds), page.evaluate(count)
    page.evaluate(PRUNE)
    assert page.evaluate(kinds) == before
    assert page.evaluate(count) < 0.2 * number


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_page_scrolls_sideways_at_320_px(visit, kind):
    page = visit(KINDS[kind], width=320).page
    over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(over) <= 0


def test_an_opener_says_number_question_time_and_needs(visit):
    page = visit(WALK).page
    opener = page.locator(".opener")
    expect(opener.get_by_role("heading", level=1)).to_have_text(re.compile("^Why divide by √d"))
    expect(opener).to_contain_text("Chapter 3")
    expect(opener).to_contain_text("Why is attention sure of itself before it has learned anything")
    rows = dict(
        zip(
            opener.locator("dt").all_inner_texts(),
            opener.locator("dd").all_inner_texts(),
            strict=True,
        )
    )
    assert re.fullmatch(r"\d+ minutes, \d+ of them reading", rows["Time"])
    assert rows["You need"].startswith("Chapters 1 and 2")


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


def test_an_answer_opens_without_a_guess(visit):
    page = visit(WALK).page
    asking = page.locator(".asking:has(.predict)").first
    asking.get_by_role("button", name="See").click()
    expect(asking.locator(".answer")).to_be_visible()
    assert asking.locator(".said").count() == 0


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


def test_at_twice_the_size_nothing_is_lost(visit):
    # 200 % in a window of 1280 px leaves 640; a reader may instead ask for larger letters alone
    seen = visit(WALK, width=640)
    assert seen.look() == []
    cut = """() => [...document.querySelectorAll("article :is(p, h1, h2, summary, dd), .bar a")]
        .filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline"
            && getComputedStyle(e).overflowX !== "visible").map((e) => e.textContent)"""
    seen.page.add_style_tag(content="html { font-size: 200% !important; }")
    seen.wait_for_frame()
    assert seen.look() == []
    assert seen.page.evaluate(cut) == []


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


def test_figures_have_their_captions_beside_them_and_on_a_phone_below(visit):
    seen = visit(WALK)
    figure = seen.page.locator("figure.fig").first
    sides = """f => [f.querySelector(".cell_output"), f.lastElementChild]
        .map(e => e.getBoundingClientRect())"""
    cell, caption = figure.evaluate(sides)
    assert caption["left"] >= cell["right"]
    seen.turn("light", width=360)
    cell, caption = figure.evaluate(sides)
    assert caption["top"] >= cell["bottom"]
    assert caption["left"] == cell["left"]


def test_captions_stand_on_one_edge_and_stay_as_long_as_their_picture_is_seen(visit):
    page = visit(WALK).page
    boxes = """() => [...document.querySelectorAll("figure.fig")].map(figure => ({
        picture: figure.querySelector(".cell_output").getBoundingClientRect(),
        caption: figure.querySelector("figcaption").getBoundingClientRect(),
    }))"""
    found = page.evaluate(boxes)
    drawn = page.locator("figure.fig .cell_output").evaluate_all(
        """all => all.map(e => Math.max(
            ...[...e.querySelectorAll("svg")].map(svg => svg.getBoundingClientRect().width)))"""
    )
    assert min(drawn) < 460 < 620 < max(drawn)  # the edge is not that of the picture
    assert len({one["caption"]["left"] for one in found}) == 1
    for one in found:
        assert one["caption"]["left"] > one["picture"]["right"]
        assert one["caption"]["top"] == one["picture"]["top"]  # and not that of its code
    tall = max(range(len(found)), key=lambda i: found[i]["picture"]["height"])
    page.evaluate(f"scrollBy(0, {found[tall]['picture']['top'] + 100})")
    one = page.evaluate(boxes)[tall]
    assert one["picture"]["top"] < -50
    assert 0 < one["caption"]["top"] < one["caption"]["bottom"] < one["picture"]["bottom"]


def test_the_bar_says_where_one_is_and_not_what_is_done(visit):
    lines = """() => [...document.querySelectorAll(".steps li + li")]
        .map(li => parseFloat(getComputedStyle(li, "::before").borderTopWidth))"""
    page = visit(WALK).page
    before, *_ = page.locator(".steps li").all_inner_texts()
    assert before == "1"
    around = page.evaluate(lines)
    assert around[1] == around[2] > around[0] == around[3] > around[4] > around[5] == around[-1]
    page = visit("chapters/the-end.html").page
    assert len(set(page.evaluate(lines))) == 1
    assert page.locator("nav.steps [class]").count() == 0


def test_what_an_exercise_takes_stands_on_the_line_of_its_heading(visit):
    seen = visit(KINDS["workshop"])
    efforts = seen.page.locator("p.effort")
    assert efforts.count() == seen.page.locator("h2:has-text('Exercise')").count() > 5
    expect(efforts.first).to_have_text(re.compile(r"^Difficulty \d of 3, about \d+ minutes$"))
    edges = "p => [p.previousElementSibling, p].map(e => e.getBoundingClientRect())"
    for effort in efforts.all():
        heading, label = effort.evaluate(edges)
        assert heading["top"] < label["top"] < label["bottom"] < heading["bottom"] + 1
        assert heading["right"] < label["left"]
    seen.turn("light", width=360)
    heading, label = efforts.first.evaluate(edges)
    assert label["top"] >= heading["bottom"]
    assert label["left"] == heading["left"]


def test_the_ring_of_a_slider_is_whole_and_cuts_no_label(visit):
    page = visit(WALK).page
    page.wait_for_selector(".d2lx > .d2lx")
    dial = page.get_by_role("slider", name="Temperature")
    dial.press("ArrowRight")
    ring, label, below = dial.evaluate(
        """input => {
            const style = getComputedStyle(input);
            const out = parseFloat(style.outlineWidth) + parseFloat(style.outlineOffset);
            const { top, bottom } = input.getBoundingClientRect();
            const slider = input.parentElement;
            return [
                { top: top - out, bottom: bottom + out, width: parseFloat(style.outlineWidth) },
                slider.querySelector("label").getBoundingClientRect(),
                [...slider.closest(".d2lx").querySelectorAll("button")]
                    .find(button => button.textContent === "Reset").getBoundingClientRect(),
            ];
        }"""
    )
    assert ring["width"] == 3
    assert label["bottom"] <= ring["top"]
    assert ring["bottom"] <= below["top"]
    around = dial.evaluate(
        """input => {
            const cuts = ({ overflowX, maskImage }) => overflowX !== "visible"
                || maskImage !== "none";
            let one = input;
            while ((one = one.parentElement) && one.localName !== "article")
                if (cuts(getComputedStyle(one))) return one.className;
        }"""
    )
    assert around is None


def test_in_the_dark_no_rule_is_louder_than_words(visit):
    page = visit(WALK, theme="dark").page
    light = """selector => {
        const { borderTopColor, color } = getComputedStyle(document.querySelector(selector));
        return [borderTopColor, color]
            .map(one => one.match(/\\d+/g).reduce((sum, number) => sum + Number(number), 0));
    }"""
    for part in (".ways-on .next", ".also .workshop", "article .d2lx"):
        rule, words = page.evaluate(light, part)
        assert rule < 0.7 * words


def test_a_title_that_is_the_question_is_not_asked_twice(visit):
    page = visit("chapters/04b-believe-the-picture/walk.html").page
    assert page.locator(".opener").inner_text().count("Can you believe the picture?") == 1
    page = visit("chapters/04-bahdanau/walk.html").page
    ways = page.get_by_role("navigation", name="Ways on").get_by_role("link").first
    assert ways.inner_text().split("\n") == ["Next: chapter 4b", "Can you believe the picture?"]


def test_a_note_stands_beside_the_text_and_on_a_phone_in_it(visit):
    seen = visit(WALK)
    note = """() => {
        const text = document.querySelector("article section section > p");
        text.insertAdjacentHTML("afterend", '<aside class="margin"><p>A note.</p></aside>');
    }"""
    seen.page.evaluate(note)
    edges = """() => [document.querySelector("article section section > p"),
        document.querySelector("aside.margin")].map((e) => e.getBoundingClientRect())"""
    text, aside = seen.page.evaluate(edges)
    assert aside["left"] >= text["right"]
    assert seen.look() == []
    seen.turn("light", width=360)
    text, aside = seen.page.evaluate(edges)
    assert aside["top"] >= text["bottom"]
    assert seen.look() == []


def test_a_walk_leads_on_to_the_next_question_the_workshop_and_deeper_pages(visit):
    ways = visit(WALK).page.get_by_role("navigation", name="Ways on")
    following = ways.get_by_role("link", name=re.compile("Which score should you take"))
    assert following.get_attribute("href") == "../03b-which-score/walk.html"
    expect(ways.get_by_role("link", name="Workshop")).to_be_visible()
    assert ways.get_by_role("link").count() == 4


def test_a_workshop_leads_on_in_large_and_back_in_small(visit):
    ways = visit(KINDS["workshop"]).page.get_by_role("navigation", name="Ways on")
    onward = ways.locator(".next")
    assert onward.get_attribute("href") == "../03b-which-score/walk.html"
    expect(onward).to_contain_text("Next: chapter 3b")
    back = ways.get_by_role("link", name="Why divide by √d?")
    assert back.get_attribute("href") == "walk.html"
    # Who comes by the page that is passed on has not read its chapter: it leads there
    ways = visit("chapters/which-would-you-sign.html").page.get_by_role(
        "navigation", name="Ways on"
    )
    expect(ways.locator(".next")).to_contain_text("Back: chapter")


def test_the_contents_mark_the_section_at_a_third_of_the_screen(visit):
    page = visit(WALK).page
    marked = page.locator(".contents .here")
    for place in ("#variances-add-up", "#one-division"):
        # Its heading comes into view, and the section before is still read
        page.locator(place).evaluate("e => scrollBy(0, e.getBoundingClientRect().top - 700)")
        expect(marked).to_have_count(1)
        assert marked.get_attribute("href") != place
        page.evaluate("scrollBy(0, 500)")
        expect(page.locator(f".contents a[href='{place}']")).to_have_class(re.compile("here"))
        expect(marked).to_have_count(1)


def test_questions_on_the_landing_page_stand_in_one_grid_and_have_titles(visit):
    seen = visit("index.html")
    lefts = "all => [...new Set(all.map(a => Math.round(a.getBoundingClientRect().left)))]"
    assert len(seen.page.locator("a.chapter").evaluate_all(lefts)) == 4
    for chapter in seen.page.locator("a.chapter").all():
        label = chapter.locator(".label").inner_text()
        assert re.search(r"[a-z]{3}", label), label
        assert chapter.locator(".question").inner_text() not in label
    button, *links = seen.page.locator(".hero > p > a").evaluate_all(
        "all => all.map(a => a.getBoundingClientRect())"
    )
    assert len({link["top"] for link in links}) == 1
    assert links[0]["top"] >= button["bottom"]
    seen.turn("light", width=360)
    # A rule is nearer to what it begins than to what it ends
    rooms = seen.page.evaluate(
        """() => [...document.querySelectorAll(".lane, .fork + .row")].map(part => {
            const before = part.previousElementSibling ?? part.parentElement.previousElementSibling;
            const last = [...before.querySelectorAll(".settles")].at(-1);
            return part.getBoundingClientRect().top - last.getBoundingClientRect().bottom;
        })"""
    )
    assert min(rooms) >= 50
    slider = seen.page.locator(".play label").bounding_box()
    assert slider["width"] > 300


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


def test_the_query_is_dragged_and_no_place_gives_45(visit):
    page = visit("index.html").page
    handle = page.locator(".one-look .handle")
    sharp = page.get_by_role("slider", name="Sharpness")
    sharp.focus()
    page.keyboard.press("End")
    box = handle.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 1000, 0, steps=5)
    page.mouse.up()
    keys = page.locator(".one-look .key").first.bounding_box()
    assert handle.bounding_box()["x"] < keys["x"]
    expect(page.locator(".one-look [role=status]")).to_contain_text("45 is out of reach")
    assert float(page.locator(".one-look .answer text").text_content()) <= 40


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


def test_every_chapter_stands_on_the_landing_page_with_its_drawing(visit, pages):
    page = visit("index.html").page
    links = page.locator("a.chapter").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    walks = {name for name in pages if name.endswith("/walk.html")}
    assert set(links) == walks | {"chapters/the-end.html"}
    assert page.locator("a.chapter svg.small").count() == len(links)


def test_formulas_need_no_script_and_their_font_is_the_books(without_script):
    page = without_script("chapters/03-scoring-functions/deeper-softmax.html")
    assert page.locator("article math").count() > 20
    font = page.locator("article math").first.evaluate("m => getComputedStyle(m).fontFamily")
    assert font.startswith("Formula")


def test_subscripts_stand_at_one_height_and_move_no_line(visit):
    page = visit("chapters/03-scoring-functions/workshop.html").page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    bottoms = page.evaluate(
        """() => [...document.querySelectorAll("p math")]
            .map(m => [...m.querySelectorAll("msub > mi:last-child")]
                .filter(mi => mi.textContent === "j")
                .map(mi => mi.getBoundingClientRect().bottom))
            .filter(js => js.length > 1)"""
    )
    assert bottoms  # as in q_j k_j, of which the first has a tail
    assert min(max(js) for js in bottoms) > 0, "folded away"
    assert max(max(js) - min(js) for js in bottoms) < 0.3
    page = visit("chapters/08-relative-positions/deeper-base.html").page
    lines = page.evaluate(
        """() => [...document.querySelectorAll("article section > p:has(msub, code)")]
            .filter(p => !p.querySelector("msqrt"))
            .map(p => p.getBoundingClientRect().height / parseFloat(getComputedStyle(p).lineHeight))
        """
    )
    assert lines
    assert max(abs(number - round(number)) for number in lines) < 0.03


def test_tuples_sums_and_short_code_are_not_broken(visit):
    page = visit("chapters/04-bahdanau/walk.html", width=360).page
    heights = page.locator("p .whole:visible").evaluate_all(
        "all => all.map(e => e.getClientRects().length)"
    )
    assert "1.5 · 0 + 0.5 · 2" in page.locator("p .whole:visible").all_inner_texts()
    page = visit("chapters/03b-which-score/walk.html", width=360).page
    assert "(1, 1)" in page.locator("p .whole:visible").all_inner_texts()
    heights += page.locator("p .whole:visible").evaluate_all(
        "all => all.map(e => e.getClientRects().length)"
    )
    assert len(heights) > 5
    assert set(heights) == {1}


def test_all_that_is_folded_opens_by_one_sign_on_one_edge(visit):
    for name in (WALK, KINDS["workshop"]):
        page = visit(name).page
        edges = page.evaluate(
            """() => [...document.querySelectorAll(
                ":is(article section > .cell, .fig > .cell) > .fold > summary,"
                + "article section > .asking > :is(.more, .recall) > summary")]
                .map(s => [s.getBoundingClientRect().left
                    + parseFloat(getComputedStyle(s, "::before").left),
                    getComputedStyle(s, "::before").content.slice(0, 3)].join(" "))"""
        )
        assert len(edges) > 5
        assert len(set(edges)) == 1


def test_on_a_phone_printed_sentences_go_on_below_and_tables_keep_their_columns(visit):
    page = visit("chapters/02-nadaraya-watson/workshop.html", width=360).page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    cut = """all => all.filter(pre => pre.scrollWidth > pre.clientWidth + 1).length"""
    sentences = page.locator(".cell_output .prose pre")
    assert sentences.count() > 2
    assert sentences.evaluate_all(cut) == 0
    page = visit("chapters/02-nadaraya-watson/deeper-learning-w.html", width=360).page
    tables = page.locator(".cell_output .output[style] pre")
    assert tables.count() > 1
    assert tables.evaluate_all(cut) == 0  # their letters are smaller, and can be read
    sizes = tables.evaluate_all("all => all.map(p => parseFloat(getComputedStyle(p).fontSize))")
    assert min(sizes) >= 12


def test_a_root_leaves_no_hole_behind_it(visit):
    page = visit(WALK).page
    gaps = page.evaluate(
        """() => [...document.querySelectorAll("msqrt")].map(root => {
            const inside = root.lastElementChild.getBoundingClientRect();
            return (root.getBoundingClientRect().right - inside.right)
                / parseFloat(getComputedStyle(root).fontSize);
        })"""
    )
    assert gaps
    assert max(gaps) < 0.12


def test_a_prime_can_be_seen(visit):
    page = visit("chapters/04-bahdanau/deeper-keys-projected-once.html").page
    # As wide as in text (0.3 of the letters' size), though it is a superscript
    widths = page.evaluate(
        """() => [...document.querySelectorAll("msup > mo:last-child")]
            .filter(mo => mo.textContent === "′")
            .map(mo => mo.getBoundingClientRect().width
                / parseFloat(getComputedStyle(mo.closest("msup")).fontSize))"""
    )
    assert len(widths) > 3
    assert min(widths) > 0.29


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
