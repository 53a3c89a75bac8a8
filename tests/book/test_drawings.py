"""Drawings take the page's colours, say what they show, and do not disturb one another."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from d2lattn.book.drawings import show_drawing

IMAGES = Path(__file__).resolve().parents[2] / "images"
DRAWINGS = sorted(path for path in IMAGES.glob("[0-9]*.svg"))
SMALL = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 100">
<title>Two &amp; one</title><desc>A query beside
a key.</desc>
<text class="t">q <tspan>= 2</tspan></text><text>a &lt; b</text><path class="arrow" d="M0 0H9"/>
</svg>"""


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.svg"
    path.write_text(SMALL, encoding="utf-8")
    return show_drawing(path)


def test_it_stays_well_formed_and_says_what_it_shows(small):
    root = ElementTree.fromstring(small._repr_html_())
    assert root.get("role") == "img"
    assert root.get("aria-label") == "Two & one. A query beside a key."
    assert repr(small) == "A drawing. A query beside a key."
    assert "max-width: 250px" in root.get("style")


def test_two_drawings_have_two_arrowheads(small, tmp_path):
    other = tmp_path / "other.svg"
    other.write_text(SMALL, encoding="utf-8")
    assert 'id="arrow-small"' in small.svg
    assert "url(#arrow-small)" in small.svg
    assert "arrow-small" not in show_drawing(other).svg


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.stem)
def test_every_drawing_of_a_chapter_can_be_read_on_a_phone(path):
    drawing = show_drawing(path)
    root = ElementTree.fromstring(drawing.svg)
    assert float(root.get("viewBox").split()[2]) <= 360
    assert len(drawing.words.split()) >= 10
    source = path.read_text(encoding="utf-8")
    for colour in ("fill=", "stroke=", "font-size"):
        assert colour not in source, f"{path.name} sets {colour} itself; the style sheet does"
