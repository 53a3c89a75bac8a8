"""What is made of the walks' own parts: figures in a zip, slides for each session."""

import re
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest

from tools import make_figures, make_slides, walk_parts

WALKS = list(walk_parts.walks())


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.number)
def test_parts_of_a_walk_are_complete(walk):
    source = walk_parts.CHAPTERS / walk.folder / "walk.ipynb"
    cells = walk_parts.nbformat.read(source, as_version=4).cells
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    numbers = re.findall(r"^\*\*Figure (\w+\.\d+)\.", text, re.MULTILINE)
    figures = [figure.number for figure in walk.figures]
    # what is played with has a caption here and there, and no picture that can be taken out
    assert set(figures) <= set(numbers)
    assert len(figures) >= len(numbers) - 2
    assert len(walk.predictions) == len(re.findall(r"\{dropdown\} \*Predict first", text))
    assert walk.predictions
    assert len(walk.task) > 100
    assert "place to stop" not in walk.task
    assert walk.answer.strip()
    assert walk.take_away
    assert walk.number in walk_parts.questions()


def test_zip_has_each_figure_and_its_caption(tmp_path):
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


@pytest.fixture(scope="module")
def slides(tmp_path_factory):
    if not (make_slides.REVEAL / "dist").exists():
        pytest.skip("reveal.js is not installed (cd javascript && npm ci)")
    folder = tmp_path_factory.mktemp("slides")
    make_slides.write(folder)
    return folder


@pytest.mark.browser
def test_slides_open_from_a_folder_and_none_is_cut_off(chromium, slides):
    context = chromium.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    problems = []
    page.on("console", lambda m: m.type == "error" and problems.append(m.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("requestfailed", lambda request: problems.append(request.url))
    page.on(
        "request",
        lambda r: r.url.startswith(("file:", "data:", "blob:")) or problems.append(r.url),
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
    assert problems == []
