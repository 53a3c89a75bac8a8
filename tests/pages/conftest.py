"""The built book in a browser: from a folder and from a server, with no network."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Page, Request

BOOK = Path(__file__).resolve().parents[2] / "_build" / "html"


def page_names() -> list[str]:
    """List every page of the book as a path below its root."""
    names = (path.relative_to(BOOK) for path in BOOK.rglob("*.html"))
    return sorted(name.as_posix() for name in names if "_static" not in name.parts)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `page_name` for every page."""
    if "page_name" in metafunc.fixturenames:
        metafunc.parametrize("page_name", page_names())


@pytest.fixture(scope="session")
def book() -> Path:
    if not (BOOK / "index.html").exists():
        pytest.fail("the book is not built; run: make book", pytrace=False)
    return BOOK


@pytest.fixture(scope="session")
def pages(book) -> list[str]:
    return page_names()


@pytest.fixture(scope="session")
def addresses(book, serve) -> dict[str, str]:
    """The book's address by scheme."""
    return {"file": f"{book.as_uri()}/", "http": serve(book)}


class Visit:
    """One open page, and everything on it that a reader would stumble over."""

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self.problems: list[str] = []
        self.base = base
        self.last_request = time.monotonic()
        self.urls: list[str] = []
        page.on("request", self.check_request)
        page.on("response", lambda r: r.status >= 400 and self.note(f"{r.status}: {r.url}"))
        page.on("requestfailed", lambda r: self.note(f"failed: {r.url} ({r.failure})"))
        page.on("console", lambda m: m.type == "error" and self.note(f"console: {m.text}"))
        page.on("pageerror", lambda error: self.note(f"page error: {error}"))

    def note(self, problem: str) -> None:
        self.problems.append(problem)

    def check_request(self, request: Request) -> None:
        self.last_request = time.monotonic()
        self.urls.append(request.url)
        if not request.url.startswith((self.base, "data:", "blob:")):
            self.note(f"leaves the book: {request.url}")

    def files(self) -> set[str]:
        """List the book's files that the page has loaded."""
        urls = [url for url in self.urls if url.startswith(self.base)]
        return {unquote(urlsplit(url.removeprefix(self.base)).path) for url in urls}

    def change(self, theme: str, width: int | None = None) -> None:
        """Continue in another theme, and in a window of another width."""
        if width is not None:
            self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(color_scheme=theme)
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")

    def visible_problems(self) -> list[str]:
        """List formulas not typeset, pictures without words, and what is wider than the page."""
        return self.page.evaluate(
            """() => {
                const all = (selector) => [...document.querySelectorAll(selector)];
                const start = (element) => element.outerHTML.slice(0, 80);
                const root = document.documentElement;
                const overflow = root.scrollWidth - root.clientWidth;
                return [
                    ...all("article div.math:not(:has(math)), article merror")
                        .map(m => `not typeset: ${m.textContent}`),
                    ...all("article img").filter(i => !i.alt.trim() || i.alt.includes("_images/"))
                        .map(i => `has no description: ${i.src}`),
                    ...all("article svg[role=img]:not([aria-label], [aria-labelledby])")
                        .map(i => `has no description: ${start(i)}`),
                    ...overflow > 1 ? [`the page scrolls sideways by ${overflow} px`] : [],
                    ...all("article img, article svg, article .d2lx")
                        .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
                        .filter(e => !e.closest("table, .output, pre"))
                        .map(e => `is outside the page: ${start(e)}`),
                ];
            }"""
        )

    def finish(self) -> list[str]:
        """Wait until the page has requested nothing for a while; list all problems."""
        while (rest := self.last_request + 0.15 - time.monotonic()) > 0:
            self.page.wait_for_timeout(1000 * rest)
        return self.problems


@pytest.fixture
def visit(chromium, addresses) -> Iterator[Callable[..., Visit]]:
    """Open pages of the book, or of another folder."""
    contexts = []

    def open_page(
        name: str,
        scheme: str = "http",
        width: int = 1280,
        theme: str = "light",
        folder: Path | None = None,
        **options: object,
    ) -> Visit:
        size = {"width": width, "height": 900}
        contexts.append(chromium.new_context(viewport=size, color_scheme=theme, **options))
        base = f"{folder.as_uri()}/" if folder else addresses[scheme]
        visit = Visit(contexts[-1].new_page(), base)
        visit.page.goto(base + name)
        return visit

    yield open_page
    for context in contexts:
        context.close()
