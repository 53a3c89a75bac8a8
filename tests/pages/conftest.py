"""The built book, as a reader reaches it: from a folder and from a server, with no network."""

import functools
import threading
import time
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request

BOOK = Path(__file__).resolve().parents[2] / "_build" / "html"
HEIGHT = 900


def page_names() -> list[str]:
    """Every page of the book, as a path below its root."""
    return sorted(
        str(path.relative_to(BOOK))
        for path in BOOK.rglob("*.html")
        if "_static" not in path.relative_to(BOOK).parts
    )


def names_with_figures() -> list[str]:
    return [name for name in page_names() if "data-d2lx=" in (BOOK / name).read_text("utf8")]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes one of these names runs once for each such page."""
    if "page_name" in metafunc.fixturenames:
        metafunc.parametrize("page_name", page_names())
    if "figures_on" in metafunc.fixturenames:
        metafunc.parametrize("figures_on", names_with_figures())


@pytest.fixture(scope="session")
def pages(book) -> list[str]:
    return page_names()


@pytest.fixture(scope="session")
def pages_with_figures(book) -> list[str]:
    return names_with_figures()


@pytest.fixture(scope="session")
def book() -> Path:
    if not (BOOK / "index.html").exists():
        pytest.fail("the book is not built; call: make book", pytrace=False)
    return BOOK


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def end_headers(self):
        # What all pages share is asked for once.
        self.send_header("Cache-Control", "max-age=3600, immutable")
        super().end_headers()


@pytest.fixture(scope="session")
def addresses(book) -> Iterator[dict[str, str]]:
    """The book's address by scheme."""
    handler = functools.partial(QuietHandler, directory=str(book))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {"file": f"{book.as_uri()}/", "http": f"http://127.0.0.1:{server.server_port}/"}
    server.shutdown()


@pytest.fixture(scope="session")
def windows(chromium) -> dict[tuple, Page]:
    """Windows to open pages in, by scheme, width and theme: one loads the shared scripts once."""
    return {}


class Visit:
    """One open page, and everything on it that a reader would stumble over."""

    def __init__(self, page: Page, base: str):
        self.page = page
        self.troubles: list[str] = []
        self.over = False
        self._base = base
        self._listeners = {
            "request": self._request,
            "response": lambda r: r.status >= 400 and self._note(f"{r.status}: {r.url}"),
            "requestfailed": lambda r: self._note(f"failed: {r.url} ({r.failure})"),
            "console": lambda m: m.type == "error" and self._note(f"console: {m.text}"),
            "pageerror": lambda error: self._note(f"page error: {error}"),
        }
        for event, listener in self._listeners.items():
            page.on(event, listener)

    def open(self, name: str) -> None:
        self.page.goto(self._base + name)
        self._busy = time.monotonic()

    def turn(self, theme: str, width: int | None = None) -> None:
        """Go on in this theme, and in a window of this width, without loading anything anew."""
        if width is not None:
            self.page.set_viewport_size({"width": width, "height": HEIGHT})
        self.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        self.wait_for_frame()

    def wait_for_frame(self) -> None:
        """Wait until the next frames are drawn."""
        self.page.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def look(self) -> list[str]:
        """What a reader sees at once: formulas, words for pictures, nothing beyond the margin."""
        return self.page.evaluate(
            """() => {
                const all = (selector) => [...document.querySelectorAll(selector)];
                const start = (element) => element.outerHTML.slice(0, 80);
                const root = document.documentElement;
                const overflow = root.scrollWidth - root.clientWidth;
                return [
                    ...all("article div.math")
                        .filter(m => !m.querySelector("math"))
                        .map(m => `not typeset: ${m.textContent}`),
                    ...all("article merror").map(m => `wrong formula: ${m.textContent}`),
                    ...all("article img, article svg[role=img]")
                        .filter(i => i.tagName === "IMG"
                            ? !i.alt.trim() || i.alt.includes("_images/")
                            : !i.getAttribute("aria-label") && !i.getAttribute("aria-labelledby"))
                        .map(i => `has no words: ${i.src || start(i)}`),
                    ...overflow > 1 ? [`the page scrolls sideways by ${overflow} px`] : [],
                    // what is not text stays inside its column too, where no box of its own scrolls
                    ...all("article img, article svg, article .d2lx")
                        .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
                        .filter(e => !e.closest("table, .output, pre"))
                        .map(e => `is outside: ${start(e)}`),
                ];
            }"""
        )

    def _note(self, trouble: str) -> None:
        self.troubles.append(trouble)

    def _request(self, request: Request) -> None:
        self._busy = time.monotonic()
        if not request.url.startswith((self._base, "data:", "blob:")):
            self._note(f"leaves the book: {request.url}")

    def end(self) -> list[str]:
        """Wait until the page has asked for nothing for half a second, and say what was wrong."""
        # Playwright's own "networkidle" misses the end of some requests that the cache answers.
        while (rest := self._busy + 0.5 - time.monotonic()) > 0:
            self.page.wait_for_timeout(1000 * rest)
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
        self.over = True
        return self.troubles


@pytest.fixture
def visit(chromium, addresses, windows):
    """Open pages. A window whose visit has come to its end is used again, another is closed."""
    visits = {}

    def leave(kind):
        if kind in visits and not visits.pop(kind).over:
            windows.pop(kind).context.close()

    def open_page(name, scheme="http", width=1280, theme="light") -> Visit:
        kind = scheme, width, theme
        leave(kind)
        if kind not in windows:
            context = chromium.new_context(color_scheme=theme)
            context.add_init_script(f"localStorage.setItem('theme', '{theme}')")
            windows[kind] = context.new_page()
        windows[kind].set_viewport_size({"width": width, "height": HEIGHT})
        seen = visits[kind] = Visit(windows[kind], addresses[scheme])
        seen.open(name)
        return seen

    yield open_page
    for kind in list(visits):
        leave(kind)


@pytest.fixture
def visit_folder(chromium):
    """Open a page of another folder than the book's own."""
    windows = []

    def open_page(folder: Path, name: str) -> Visit:
        windows.append(chromium.new_page())
        seen = Visit(windows[-1], f"{folder.as_uri()}/")
        seen.open(name)
        return seen

    yield open_page
    for page in windows:
        page.close()
