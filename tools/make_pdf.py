"""Print each walk of the built book to a PDF: answers open, interface gone, a page number below.

usage: make pdf, or after make book: python -m tools.make_pdf [FOLDER]
(needs the tests' Chromium)
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

# The headless shell opens a page four times as fast
BROWSERS = "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"
ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "_build" / "html"
MARGIN = {"top": "18mm", "bottom": "20mm", "left": "20mm", "right": "20mm"}
FOOT = (
    '<div style="width: 100%; padding: 0 20mm; font: 8px sans-serif; color: #635c52;">'
    '<span class="title"></span>'
    '<span class="pageNumber" style="float: right"></span></div>'
)


def walks(book: Path) -> list[Path]:
    """List the walks' pages in the order of the book."""
    return sorted(book.glob("chapters/*/walk.html"))


def to_pdf(browser: Browser, walk: Path, file: Path) -> None:
    """Print one page."""
    page = browser.new_page(color_scheme="light")
    page.goto(walk.as_uri())
    # What is far down waits until it is seen: print it all the same
    page.evaluate("for (const i of document.images) i.loading = 'eager'")
    page.wait_for_load_state("networkidle")
    page.evaluate("document.fonts.ready")
    page.pdf(
        path=file,
        format="A4",
        margin=MARGIN,
        print_background=True,
        tagged=True,
        outline=True,
        display_header_footer=True,
        header_template="<span></span>",
        footer_template=FOOT,
    )
    page.close()


def main(folder: Path) -> None:
    """Print all walks."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        raise SystemExit("a PDF needs Chromium (Debian: apt-get install chromium-headless-shell)")
    if not walks(BOOK):
        raise SystemExit("the book is not built; call: make book")
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for walk in walks(BOOK):
            to_pdf(browser, walk, folder / f"{walk.parent.name}.pdf")
        browser.close()
    print(f"{len(walks(BOOK))} walks: {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "_build" / "pdf")
