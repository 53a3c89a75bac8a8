"""One page of each kind looks as it did when somebody last looked at it.

A failure shows where the new picture lies. If the change is wanted, renew the stored pictures with

    RENEW_SCREENSHOTS=1 .venv/bin/python -m pytest tests/pages/test_screenshots.py

and look at them before you commit them.
"""

import io
import os
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageStat

pytestmark = pytest.mark.browser

STORED = Path(__file__).parent / "screenshots"
PAGES = {
    "landing": "index.html",
    "walk": "chapters/03-scoring-functions/walk.html",
    "figure": "chapters/01-attention-cues/walk.html#sec-cues-play",
    "workshop": "chapters/03-scoring-functions/workshop.html",
    "deeper": "chapters/03b-which-score/deeper-cost.html",
    "reference": "reference/notation.html",
    "package": "reference/api.html",
    "missing": "404.html",
}
SHRINK = 4
"""Screenshots are compared at a quarter of their size, where the edges of letters hardly count."""

MOST = 2.0
"""The largest mean difference of a pixel, of 255, that other fonts or Chromiums may cause."""


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 360)])
@pytest.mark.parametrize("kind", PAGES)
def test_page_looks_as_stored(visit, tmp_path, kind, theme, width):
    opened = visit(PAGES[kind], width=width, theme=theme)
    opened.page.evaluate("document.fonts.ready")
    opened.finish()
    picture = Image.open(io.BytesIO(opened.page.screenshot(animations="disabled"))).convert("L")
    picture = picture.resize((picture.width // SHRINK, picture.height // SHRINK))
    stored = STORED / f"{kind}-{theme}.png"
    if os.environ.get("RENEW_SCREENSHOTS"):
        picture.save(stored, optimize=True)
    difference = ImageChops.difference(picture, Image.open(stored))
    if ImageStat.Stat(difference).mean[0] > MOST:
        picture.save(tmp_path / stored.name)
        pytest.fail(f"{kind} ({theme}) differs from {stored}; it is now {tmp_path / stored.name}")
