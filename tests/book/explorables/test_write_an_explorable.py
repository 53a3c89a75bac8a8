"""The example on the page for those who write one more, taken from the page and run."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import test_explorable_pages as pages
import torch
from explorable_pages import frame, shown

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "reference" / "write-an-explorable.md"
BUILD = ROOT / "javascript" / "build.js"


def listing(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return found


@pytest.fixture(scope="module")
def temperature(tmp_path_factory):
    """Built as the page says, in a folder that is empty but for the source."""
    folder = tmp_path_factory.mktemp("mine")
    if not (BUILD.parent / "node_modules").exists() or not shutil.which("node"):
        message = "the build needs Node and, once, npm ci in javascript/"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
    source = listing("js").replace("../kit/index.js", "kit")
    (folder / "temperature.js").write_text(source, encoding="utf-8")
    command = ["node", BUILD, folder / "temperature.js", f"--out={folder / 'built'}"]
    subprocess.run(command, check=True, capture_output=True)
    names: dict = {"Path": Path}
    face = listing("python").replace(
        '"temperature"\n', f"Path({str(folder / 'built' / 'temperature.js')!r})\n"
    )
    exec(compile(face, PAGE.name, "exec"), names)
    return names["Temperature"]


@pytest.mark.browser
def test_example_runs_and_is_right(visit, accessible, temperature):
    page = visit(temperature(scores=[3, 1, 0], temperature=2).to_html())
    weights = torch.softmax(torch.tensor([3.0, 1, 0]).double() / 2, 0)
    for i, weight in enumerate(weights):
        assert shown(page, f"bar-{i}") == pytest.approx(weight.item())
    page.get_by_role("slider", name="Temperature").press("End")
    frame(page)
    assert shown(page, "entropy") == pytest.approx(torch.log(torch.tensor(3.0)).item(), abs=0.02)
    accessible(page)


@pytest.mark.browser
def test_example_passes_what_every_explorable_has_to(visit, temperature):
    html = temperature().to_html()
    pages.test_says_something_without_scripts(visit, html)
    pages.test_keyboard_reaches_and_moves_everything(visit, html)
