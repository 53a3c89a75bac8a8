"""How heavy a page is: all that its first screen asks for, compressed."""

import gzip
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytestmark = pytest.mark.browser

KB = 1024


@pytest.fixture
def weigh(chromium, addresses, book):
    """Kilobytes that a first view asks for, by file; a phone's, so that no reader's is heavier."""

    def first_view(name: str) -> dict[str, float]:
        asked = []
        context = chromium.new_context(viewport={"width": 390, "height": 844})
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(addresses["http"] + name)
        page.wait_for_load_state("networkidle")
        context.close()
        files = {unquote(urlsplit(url).path).lstrip("/") for url in asked if url.startswith("http")}
        return {file: len(gzip.compress((book / file).read_bytes())) / KB for file in files}

    return first_view


def walks() -> list[str]:
    chapters = Path(__file__).resolve().parents[2] / "chapters"
    return [f"chapters/{path.parent.name}/walk.html" for path in chapters.glob("*/walk.ipynb")]


def test_the_landing_page_weighs_at_most_130_kb(weigh):
    parts = weigh("index.html")
    assert sum(parts.values()) <= 130, parts


def test_the_page_that_is_passed_on_weighs_at_most_150_kb(weigh):
    parts = weigh("chapters/which-would-you-sign.html")
    assert sum(parts.values()) <= 150, parts


@pytest.mark.parametrize("name", sorted(walks()))
def test_a_walk_weighs_at_most_300_kb(weigh, name):
    parts = weigh(name)
    assert sum(parts.values()) <= 300, parts


def test_only_the_search_page_loads_the_search(weigh):
    assert not {"searchindex.js", "_static/searchtools.js"} & set(weigh("index.html"))
    assert {"searchindex.js", "_static/searchtools.js"} <= set(weigh("search.html"))
