"""Fixtures that several tests share: the browser, a server, a single thread."""

import locale
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tools.make_pdf import BROWSERS

SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    # No network: every host name fails to resolve, except this machine's.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


@pytest.fixture(scope="session")
def chromium() -> Iterator:
    """One headless Chromium for the whole run; if there is none, skip, or fail in CI."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        message = (
            "no Chromium found to test pages; on Debian: apt-get install chromium-headless-shell"
        )
        if os.environ.get("CI") == "true":
            pytest.fail(message, pytrace=False)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=SWITCHES)
        yield browser
        browser.close()


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder as GitHub Pages does: with its 404.html for every unknown address."""

    def log_message(self, *args: object) -> None:
        pass

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        page = Path(self.directory) / "404.html"
        if not page.exists():
            super().send_error(code, message, explain)
            return
        body = page.read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[Path], str]]:
    """Serve a folder on a free port until the tests end; give its address."""
    servers = []

    def start(folder: Path) -> str:
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield start
    for server in servers:
        server.shutdown()


@pytest.fixture(scope="session")
def accessible() -> Callable[..., None]:
    """Return a check that axe finds no violation in a page, or in a part of it."""
    from axe_playwright_python.sync_playwright import Axe

    def check(page: object, what: str = "", context: object = None, **options: object) -> None:
        # Report violations only, because describing what passes takes longer than the analysis; and
        # do not load style sheets again, which scripts of a page from a folder may not read.
        options |= {"resultTypes": ["violations"], "preload": False}
        results = Axe().run(page, context=context, options=options)
        assert results.violations_count == 0, f"{what}: {results.generate_report()}"

    return check


@pytest.fixture
def compiler() -> None:
    """Skip tests of torch.compile where the locale is not UTF-8: it cannot read its own files."""
    if locale.getpreferredencoding(do_setlocale=False).upper() not in {"UTF-8", "UTF8"}:
        pytest.skip("PyTorch's compiler reads its own files in the locale's encoding")


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Compute in one thread, which is faster for small tensors, above all on a busy machine."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def book_style() -> Iterator[None]:
    """Draw in the book's style, without a screen, and close all figures afterwards."""
    import matplotlib
    import matplotlib.pyplot as plt

    import d2lattn as d2l

    with matplotlib.rc_context():
        plt.switch_backend("agg")
        d2l.use_book_style()
        yield
    plt.close("all")


@pytest.fixture
def seeded() -> None:
    """Draw the same random numbers in each run."""
    import torch

    torch.manual_seed(0)


@pytest.fixture
def exact() -> Iterator[None]:
    """Compute in float64, from one seed."""
    import torch

    torch.manual_seed(0)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)
