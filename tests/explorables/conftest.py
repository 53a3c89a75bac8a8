"""Explorables on pages of their own, opened with every request to elsewhere refused."""

import functools
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from explorable_pages import EXAMPLES, document, frame


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes ``example`` runs once for each explorable."""
    if "example" in metafunc.fixturenames:
        metafunc.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="session")
def server(folder) -> Iterator[str]:
    handler = functools.partial(QuietHandler, directory=str(folder))
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{http.server_port}/"
    http.shutdown()


@pytest.fixture
def visit(chromium, folder, server) -> Iterator[Callable]:
    """Open outputs as a page; at the end nothing may have failed or left for elsewhere."""
    troubles: list[str] = []
    pages, addresses = [], set()

    def open_window(**options):
        page = chromium.new_page(reduced_motion="reduce", **options)
        pages.append(page)
        page.on("pageerror", lambda error: troubles.append(f"page error: {error}"))
        page.on(
            "console",
            lambda said: troubles.append(f"console: {said.text}") if said.type == "error" else None,
        )

        def gate(route):
            url = route.request.url
            if url.endswith("/favicon.ico"):
                route.fulfill(status=204)
            elif url in addresses or url.startswith(("data:", "blob:")):
                route.continue_()
            else:
                troubles.append(f"asks elsewhere: {url}")
                route.abort()

        page.route("**/*", gate)
        return page

    def open_page(
        *bodies,
        theme="light",
        width=1280,
        scheme="file",
        scripts=True,
        hash="",
        again=False,
        **options,
    ):
        path = folder / f"{len(list(folder.iterdir()))}.html"
        path.write_text(document(*bodies, theme=theme), encoding="utf-8")
        address = path.as_uri() if scheme == "file" else server + path.name
        addresses.add(address)
        if again and pages:  # in the same window: an example of a property after the other
            page = pages[-1]
        else:
            options = {"viewport": {"width": width, "height": 900}} | options
            page = open_window(java_script_enabled=scripts, **options)
        page.goto(address + hash)
        if scripts:
            page.wait_for_function(
                "document.querySelectorAll('.d2lx[data-d2lx] > .d2lx').length === "
                "document.querySelectorAll('.d2lx[data-d2lx]').length"
            )
            frame(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert troubles == []
