"""What several tests share: the browser."""

import os
import shutil
from collections.abc import Iterator

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
        browser = playwright.chromium.launch(
            executable_path=executable,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield browser
        browser.close()
