"""The built book, as a reader reaches it: from a folder and from a server, with no network."""

import functools
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

BOOK = Path(__file__).resolve().parents[2] / "_build" / "html"


def page_names() -> list[str]:
    """Every page of the book, as a path below its root."""
    return sorted(
        str(path.relative_to(BOOK))
        for path in BOOK.rglob("*.html")
        if "_static" not in path.relative_to(BOOK).parts
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes ``page_name`` runs once for each page."""
    if "page_name" in metafunc.fixturenames:
        metafunc.parametrize("page_name", page_names())


@pytest.fixture(scope="session")
def pages(book) -> list[str]:
    return page_names()


@pytest.fixture(scope="session")
def book() -> Path:
    if not (BOOK / "index.html").exists():
        pytest.fail("the book is not built; call: make book", pytrace=False)
    return BOOK


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def addresses(book) -> Iterator[dict[str, str]]:
    """The book's address by scheme."""
    handler = functools.partial(QuietHandler, directory=str(book))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {"file": f"{book.as_uri()}/", "http": f"http://127.0.0.1:{server.server_port}/"}
    server.shutdown()


@dataclass
class Visit:
    """One open page, and everything on it that a reader would stumble over."""

    page: object
    troubles: list[str] = field(default_factory=list)


@pytest.fixture
def visit(chromium, addresses):
    """Open pages; requests that leave the book are refused and become troubles."""
    contexts = []

    def open_page(name, scheme="http", width=1280, theme="light") -> Visit:
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        contexts.append(context)
        base = addresses[scheme]
        seen = Visit(context.new_page())

        def gate(route):
            if route.request.url.startswith((base, "data:", "blob:")):
                route.continue_()
            else:
                seen.troubles.append(f"leaves the book: {route.request.url}")
                route.abort()

        context.route("**/*", gate)
        context.add_init_script(
            f"localStorage.setItem('mode', '{theme}'); localStorage.setItem('theme', '{theme}')"
        )
        seen.page.on(
            "console",
            lambda m: seen.troubles.append(f"console: {m.text}") if m.type == "error" else None,
        )
        seen.page.on("pageerror", lambda error: seen.troubles.append(f"page error: {error}"))
        seen.page.on(
            "requestfailed", lambda r: seen.troubles.append(f"failed: {r.url} ({r.failure})")
        )
        seen.page.on(
            "response",
            lambda r: seen.troubles.append(f"{r.status}: {r.url}") if r.status >= 400 else None,
        )
        seen.page.goto(base + name)
        seen.page.evaluate("window.MathJax?.startup?.promise")
        return seen

    yield open_page
    for context in contexts:
        context.close()
