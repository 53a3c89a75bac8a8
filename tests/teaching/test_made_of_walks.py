"""What is made of the walks' own parts: figures in a zip, slides for each session."""

import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest

from tools import make_figures, make_slides, walk_parts

WALKS = list(walk_parts.walks())


def ids(walk):
    return walk.number


@pytest.mark.parametrize("walk", WALKS, ids=ids)
def test_all_that_has_a_caption_is_found(walk):
    source = walk_parts.CHAPTERS / walk.folder / "walk.ipynb"
    cells = walk_parts.nbformat.read(source, as_version=4).cells
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    numbers = re.findall(r"^\*Figure (\w+\.\d+)\.", text, re.MULTILINE)
    found = [figure.number for figure in walk.figures]
    # what is played with has a caption here and there, and no picture that can be taken out
    assert set(found) <= set(numbers)
    assert len(found) >= len(numbers) - 2
    assert len(walk.predictions) == len(re.findall(r"\{dropdown\} Predict first", text))
    assert walk.predictions
    assert len(walk.task) > 100
    assert walk.answer.strip()
    assert len(re.findall(r"^(?:\d+\.|-) ", walk.take_away, re.MULTILINE)) >= 3
    assert walk.number in walk_parts.questions()


@pytest.mark.parametrize("walk", WALKS, ids=ids)
def test_no_role_and_no_mark_of_myst_is_left_over(walk):
    pieces = [walk.task, walk.answer, walk.take_away]
    pieces += [text for one in walk.predictions for text in (one.asks, one.answer)]
    for piece in pieces:
        html = walk_parts.as_html(piece)
        assert not re.search(r"\{\w+(?::\w+)?\}`|:::|\]\(|^\(\w+\)=|\$", html), html
    for figure in walk.figures:
        assert not re.search(r"\*|\{\w+(?::\w+)?\}`|\]\(", figure.caption), figure.caption
        assert len(figure.words.split()) >= 6


def test_a_source_is_named_by_its_authors():
    said = walk_parts.without_roles("{cite:t}`vaswani2017attention`, {cite:t}`james1890principles`")
    assert said == "Vaswani et al. (2017), James (1890)"
    assert walk_parts.without_roles("It is {doc}`here <x/y>`, {ref}`there <a-b>`.") == (
        "It is here, there."
    )


# --- figures -------------------------------------------------------------------------------------


def test_the_zip_has_each_figure_and_its_caption(tmp_path):
    file = tmp_path / "new" / "figures.zip"
    number = make_figures.write(file)
    assert number == sum(len(walk.figures) for walk in WALKS)
    with ZipFile(file) as folder:
        names = set(folder.namelist())
        for walk in WALKS:
            captions = folder.read(f"{walk.folder}/captions.md").decode("utf8")
            for figure in walk.figures:
                assert f"**Figure {figure.number}.** {figure.caption}" in captions
                made = {f"{walk.folder}/figure-{figure.number}.{kind}" for kind in ("svg", "png")}
                assert made & names
        for name in names:
            if name.endswith(".svg"):
                root = ElementTree.fromstring(folder.read(name))
                assert root.tag == "{http://www.w3.org/2000/svg}svg"
            elif name.endswith(".png"):
                assert folder.read(name).startswith(b"\x89PNG")


def test_the_same_figures_make_the_same_zip(tmp_path):
    for name in ("a.zip", "b.zip"):
        make_figures.write(tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


# --- slides --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "i"),
    [(plan, i) for plan, all_of in make_slides.load_plans().items() for i in range(len(all_of))],
)
def test_a_session_has_about_eight_slides(plan, i):
    names = make_slides.load_plans()[plan][i]["walks"]
    slides = make_slides.session([walk_parts.read_walk(name) for name in names])
    assert 7 <= len(slides) <= 10
    assert any("One for you" in one for one in slides) == (len(names) == 1)
    assert len([one for one in slides if 'class="opens"' in one]) == len(names)
    assert any('class="asks"' in one for one in slides)
    assert any('class="shows"' in one for one in slides)
    assert all('<aside class="notes">Walk ' in one for one in slides)


def test_an_answer_waits_for_the_next_key():
    slides = list(make_slides.slides_of(WALKS[0], 3, 2, alone=True))
    (asked,) = [one for one in slides if "the query by 0" in one]
    before, _, after = asked.partition('<div class="answer fragment">')
    assert "Where does the blend go" in before
    assert "it is the average" in after


def test_what_was_before_is_asked_where_a_walk_has_its_session_alone():
    walk = next(walk for walk in WALKS if walk.number == "9")
    assert len(walk.recalls) >= 2
    alone, shared = (list(make_slides.slides_of(walk, 1, 1, alone=one)) for one in (True, False))
    assert alone[1].count('<div class="answer fragment">') == len(walk.recalls)
    assert "From earlier chapters" not in "".join(shared)


def test_without_reveal_js_there_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(make_slides, "REVEAL", tmp_path / "nowhere")
    with pytest.raises(SystemExit, match="npm ci"):
        make_slides.write(tmp_path / "slides")


@pytest.fixture(scope="module")
def slides(tmp_path_factory):
    if not (make_slides.REVEAL / "dist").exists():
        pytest.skip("reveal.js is not installed (cd javascript && npm ci)")
    folder = tmp_path_factory.mktemp("slides")
    make_slides.write(folder)
    return folder


@pytest.mark.browser
def test_slides_open_from_a_folder_and_nothing_is_cut_off(chromium, slides):
    context = chromium.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    troubles = []
    page.on("console", lambda m: m.type == "error" and troubles.append(m.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("requestfailed", lambda request: troubles.append(request.url))
    page.on(
        "request",
        lambda r: r.url.startswith(("file:", "data:", "blob:")) or troubles.append(r.url),
    )
    page.goto((slides / "index.html").as_uri())
    names = page.eval_on_selector_all("a", "all => all.map(a => a.getAttribute('href'))")
    assert len(names) == len(list(slides.glob("*-*.html")))
    for name in names:
        page.goto((slides / name).as_uri())
        page.wait_for_function("window.Reveal && Reveal.isReady()")
        heights = page.evaluate(
            """async () => {
                const over = [];
                for (let i = 0; i < Reveal.getTotalSlides(); i++) {
                    Reveal.slide(i, 0, 99);
                    await document.fonts.ready;
                    const now = Reveal.getCurrentSlide();
                    over.push(Math.max(now.scrollHeight - 720, now.scrollWidth - 1280));
                }
                return over;
            }"""
        )
        assert len(heights) >= 7
        assert max(heights) <= 0, f"{name}: slide {heights.index(max(heights)) + 1}"
    context.close()
    assert troubles == []


@pytest.mark.browser
def test_a_key_brings_the_answer_first_and_then_the_next_slide(chromium, slides):
    handler = partial(SimpleHTTPRequestHandler, directory=str(slides))
    handler.log_message = lambda *arguments: None
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = chromium.new_page()
    page.goto(f"http://127.0.0.1:{server.server_port}/seven-1.html#/3")
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    answer = page.locator("section.present .answer")
    assert "visible" not in answer.get_attribute("class")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("section.present .answer.visible")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("Reveal.getIndices().h === 4")
    page.close()
    server.shutdown()
