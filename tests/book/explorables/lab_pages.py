"""A JupyterLab of our own, and what its tests do there with a notebook."""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from explorable_pages import frame

REPOSITORY = Path(__file__).resolve().parents[3]
CHAPTERS = REPOSITORY / "chapters"

# The live figure stands in its widget; the static one in the element of its words.
LIVE = ".lm-Widget > .d2lx:not([data-d2lx])"

# `jupyter lab`, but its kernels need not import PyTorch anew.
START = """
import sys
from jupyterlab.labapp import main
if sys.platform == "linux":
    from tests.forked_kernels import use_forked_kernels
    use_forked_kernels()
main()
"""


class Lab(NamedTuple):
    """Where the server answers, and the folder of its settings."""

    address: str
    settings: Path


@contextmanager
def serving(folder: Path, home: Path) -> Iterator[Lab]:
    """Serve a folder with `chapters` on a free port of this machine; home holds the settings."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = home / "server.log"  # a pipe that nobody reads would stop the server when it is full
    server = subprocess.Popen(
        [
            *(sys.executable, "-c", START, "--no-browser", "--allow-root"),
            *(f"--ServerApp.port={port}", "--ServerApp.ip=127.0.0.1"),
            *("--IdentityProvider.token=", "--ServerApp.password="),
            *(f"--ServerApp.root_dir={folder}", "--ServerApp.port_retries=0"),
            f"--LabApp.default_url={first_page()}",
            "--LabApp.news_url=",
            "--LabApp.expose_app_in_browser=True",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        ],
        env={**os.environ, "JUPYTER_CONFIG_DIR": str(home), "JUPYTER_DATA_DIR": str(home / "data")},
        stdout=subprocess.DEVNULL,
        stderr=log.open("w"),
    )
    address = f"http://127.0.0.1:{port}/lab"
    try:
        _wait_for(address, server, log)
        yield Lab(address, home)
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()


def first_page() -> str:
    """What `make lab` opens."""
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    assert '"--LabApp.default_url=$(START)"' in makefile
    return re.search(r"^START := (.*)$", makefile, re.MULTILINE)[1]


def _wait_for(address: str, server: subprocess.Popen, log: Path) -> None:
    for _ in range(720):
        try:
            urllib.request.urlopen(address, timeout=2)
            return
        except OSError:
            if server.poll() is not None:
                pytest.fail(f"JupyterLab ended: {log.read_text()[-2000:]}")
            time.sleep(0.25)
    pytest.fail("JupyterLab did not answer within minutes")


def run_all(page) -> None:
    # Before the kernel is there, running cells would only clear their outputs.
    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for(timeout=90_000)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()


# What a figure shows beside its controls and what it says to screen readers.
SHOWN = """(figure) => {
  const copy = figure.cloneNode(true);
  const controls = '.d2lx-slider, .d2lx-choice, input, select, button, [role=slider]';
  copy.querySelectorAll(`${controls}, [role=status]`).forEach((control) => control.remove());
  return copy.innerHTML;
}"""

# Those first that everyone sees to be controls
CONTROLS = ("input[type=range]", "select, input:not([type=range])", "[role=slider]", "button")
KEYS = {"BUTTON": ("Enter",), "SELECT": ("ArrowDown", "ArrowUp"), "checkbox": (" ",)}


def moves_something(figure) -> bool:
    """Whether a key on one of a figure's controls changes what it shows beside that control."""
    for kind in CONTROLS:
        for control in figure.locator(kind).all():
            if not (control.is_visible() and control.is_enabled()):
                continue
            name = control.evaluate("e => e.type === 'checkbox' ? e.type : e.tagName")
            for key in KEYS.get(name, ("ArrowRight", "ArrowLeft")):
                control.focus()
                frame(figure.page)
                before = figure.evaluate(SHOWN)
                control.press(key)
                frame(figure.page)
                if figure.evaluate(SHOWN) != before:
                    return True
    return False
