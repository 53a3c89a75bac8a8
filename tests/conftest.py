"""What several tests share: the browser, and a single thread."""

import locale
import os
import shutil
from collections.abc import Callable, Iterator

import pytest

# The shell without windows opens a page in a quarter of the time.
BROWSERS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)


SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    # The network is cut: no name is found, no address is reached but this machine's.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


@pytest.fixture(scope="session")
def chromium() -> Iterator:
    """One headless Chromium for the whole run; without one, skip, or fail where CI must not."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        message = "no Chromium found; install it (Debian: apt-get install chromium) to test pages"
        if os.environ.get("CI") == "true":
            pytest.fail(message, pytrace=False)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=SWITCHES)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def accessible() -> Callable[..., None]:
    """Let axe look at a page, or at a part of it, and find nothing."""
    from axe_playwright_python.sync_playwright import Axe

    def check(page: object, what: str = "", context: object = None, **options: object) -> None:
        # What passes is not asked for: to describe it takes longer than to find it. Nor are style
        # sheets asked for once more: from a folder no script may read them.
        options |= {"resultTypes": ["violations"], "preload": False}
        results = Axe().run(page, context=context, options=options)
        assert results.violations_count == 0, f"{what}: {results.generate_report()}"

    return check


@pytest.fixture
def compiler() -> None:
    """Skip what PyTorch compiles where the locale is not UTF-8: it could not read its own files."""
    if locale.getpreferredencoding(do_setlocale=False).upper() not in {"UTF-8", "UTF8"}:
        pytest.skip("PyTorch's compiler reads its own files in the locale's encoding")


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Compute in one thread: small tensors are slower in two, much slower on a busy machine."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
