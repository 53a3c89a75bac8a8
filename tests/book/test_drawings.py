"""Drawings are complete as files, say what they show, and fit a phone."""

import re
from xml.etree import ElementTree

import pytest

from tools.paint_drawings import DRAWINGS, paint
from website.extensions.plots import inline

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.stem)
def test_a_drawing_is_painted_and_can_be_read_on_a_phone(path):
    source = path.read_text(encoding="utf-8")
    assert source == paint(path), "run python -m tools.paint_drawings"
    root = ElementTree.fromstring(source)
    assert float(root.get("viewBox").split()[2]) <= 376
    assert len(root.find(f"{SVG}desc").text.split()) >= 10
    # GitHub shows no image that needs a script or another file
    assert not re.search(r"<script|<image|@import|href=|url\((?!#arrow-)", source)
    drawn = source.partition("</style>")[2]
    for colour in ("fill=", "stroke=", "font-size", "#fff"):
        assert colour not in drawn, f"{path.name} sets {colour} itself; the style sheet does"


def test_a_page_leaves_colours_to_its_style_sheet():
    path = next(path for path in DRAWINGS if path.stem == "01-desk")
    svg = inline(path.read_text(encoding="utf-8"), 'A "desk" & five things.')
    root = ElementTree.fromstring(svg)
    assert root.get("aria-label") == 'A "desk" & five things.'
    assert root.get("viewBox") == "0 0 340 196"
    assert "--arrow: url(#arrow-01-desk)" in root.get("style")
    assert not re.search(r"<style|<desc|<title|#[0-9a-f]{6}\b", svg)
