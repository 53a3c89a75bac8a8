"""Photograph the first screen of the built book, as the card that a shared link shows.

usage: make book, then python scripts/make_card.py      (needs the tests' Chromium)
"""

import shutil
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
BROWSERS = "chromium-headless-shell", "chromium", "google-chrome"


def main() -> None:
    """Write assets/card.png, 1200 by 630 as the networks ask for."""
    executable = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 630}, color_scheme="light")
        page.goto((ROOT / "_build" / "html" / "index.html").as_uri())
        page.evaluate("document.fonts.ready")
        page.add_style_tag(content=".tools, .play, .hero > p:has(> a) { visibility: hidden; }")
        picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
        browser.close()
    few = picture.quantize(128, dither=Image.Dither.NONE)
    few.save(ROOT / "assets" / "card.png", optimize=True)


if __name__ == "__main__":
    main()
