"""Explorables on pages of their own, opened with every request to elsewhere refused."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from explorable_pages import EXAMPLES, document
from playwright.sync_api import Page, Route

START = """async (unfold) => {
  const frames = () => new Promise(
    (done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const started = (tail) => document.querySelectorAll(`.d2lx[data-d2lx]${tail}`).length;
  for (let frame = 0; frame < 300 && started(' > .d2lx') < started(''); frame++) await frames();
  if (started(' > .d2lx') < started('')) throw new Error('a figure has not started');
  if (unfold)
    document.querySelectorAll('.d2lx-fold').forEach((more) => { more.open = true; });
  await frames();
}"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes ``example`` runs once for each explorable."""
    if "example" in metafunc.fixturenames:
        metafunc.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="session")
def server(folder, serve) -> str:
    return serve(folder)


class Windows:
    """Windows that tests hand on, since a new one takes as long as the page in it."""

    def __init__(self, chromium):
        self._chromium = chromium
        self._free: dict[str, list[Page]] = defaultdict(list)
        self.addresses: set[str] = set()
        self.troubles: list[str] = []

    @contextmanager
    def lent(self) -> Iterator[Callable[..., Page]]:
        """Lend windows by what they are opened with; those that are not closed come back."""
        out = []

        def lend(**options) -> Page:
            free = self._free[repr(options)]
            page = free.pop() if free else self._open(options)
            out.append((free, page))
            return page

        yield lend
        for free, page in out:
            if not page.is_closed():
                page.emulate_media(media="null", forced_colors="null", reduced_motion="reduce")
                page.mouse.move(0, 0)
                free.append(page)

    def _open(self, options: dict) -> Page:
        page = self._chromium.new_page(reduced_motion="reduce", **options)
        note = self.troubles.append
        page.on("pageerror", lambda error: note(f"page error: {error}"))
        page.on("console", lambda m: m.type == "error" and note(f"console: {m.text}"))
        page.route("**/*", self._gate)
        return page

    def _gate(self, route: Route) -> None:
        url = route.request.url
        if url.endswith("/favicon.ico"):
            route.fulfill(status=204)
        elif url in self.addresses or url.startswith(("data:", "blob:")):
            route.continue_()
        else:
            self.troubles.append(f"asks elsewhere: {url}")
            route.abort()


@pytest.fixture(scope="session")
def windows(chromium) -> Windows:
    return Windows(chromium)


@pytest.fixture
def visit(windows, folder, server) -> Iterator[Callable]:
    """Open outputs as a page; at the end nothing may have failed or left for elsewhere."""
    windows.troubles.clear()
    pages = []

    def open_page(
        *bodies,
        theme="light",
        width=1280,
        scheme="file",
        scripts=True,
        hash="",
        again=False,
        folded=False,
        **options,
    ):
        path = folder / f"{len(list(folder.iterdir()))}.html"
        path.write_text(document(*bodies, theme=theme), encoding="utf-8")
        address = path.as_uri() if scheme == "file" else server + path.name
        windows.addresses.add(address)
        if not (again and pages):  # else in the same window: an example of a property after another
            options = {"viewport": {"width": width, "height": 900}} | options
            pages.append(lend(java_script_enabled=scripts, **options))
        page = pages[-1]
        page.goto(address + hash)
        if scripts:
            page.evaluate(START, not folded)  # readers who want all of it open the folds
        return page

    with windows.lent() as lend:
        yield open_page
    assert windows.troubles == []


@pytest.fixture(scope="module")
def profile(chromium):
    """One browser profile, so that JupyterLab's scripts are loaded once."""
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    yield context
    context.close()


@pytest.fixture
def open_notebook(profile, lab):
    """Open a chapter's notebook in an empty workspace. The network is cut, see ``chromium``."""
    pages = []

    def opened(name: str):
        page = profile.new_page()
        pages.append(page)
        page.goto(f"{lab.address}/tree/chapters/{name}?reset")
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=90_000)
        return page

    yield opened
    for page in pages:
        page.evaluate("jupyterapp.shell.currentWidget?.context.sessionContext.shutdown()")
        page.close()
