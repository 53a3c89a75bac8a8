"""Photograph the first screen of two built pages, as the cards that shared links show.

usage: make book, then python -m tools.make_card      (needs the tests' Chromium)
"""

import shutil
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
BROWSERS = "chromium-headless-shell", "chromium", "google-chrome"


CARDS = {
    "card.png": ("index.html", ".tools, .play, .hero > p:has(> a) { visibility: hidden; }"),
    # The question and the first picture, without what surrounds them in the book
    "card-sign.png": (
        "chapters/which-would-you-sign.html",
        ".page { display: block; padding: 0 90px; zoom: 1.25; } .tools, .steps, .read, .d2lx-steps,"
        " .d2lx-tried, .d2lx-choose, .contents { display: none !important; }",
    ),
}


def main() -> None:
    """Write website/assets/card.png and card-sign.png, 1200 by 630 as the networks ask for."""
    executable = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for name, (address, style) in CARDS.items():
            page = browser.new_page(viewport={"width": 1200, "height": 630}, color_scheme="light")
            page.goto((ROOT / "_build" / "html" / address).as_uri())
            page.evaluate("document.fonts.ready")
            page.add_style_tag(content=style)
            picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
            few = picture.quantize(128, dither=Image.Dither.NONE)
            few.save(ROOT / "website" / "assets" / name, optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
