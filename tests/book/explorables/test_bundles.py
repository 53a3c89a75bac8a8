"""Committed scripts are those that the sources give, and no cell output repeats them."""

import hashlib
import re
from pathlib import Path

import nbformat
import pytest

from d2lattn.book.explorables.base import BUILT
from tools.run_notebooks import NOTEBOOKS

ROOT = Path(__file__).resolve().parents[3]
SOURCES = BUILT.parent


def digest(names: list[str]) -> str:
    return hashlib.sha256(b"".join((SOURCES / name).read_bytes() for name in names)).hexdigest()


def test_every_figure_is_built_and_nothing_else():
    figures = {f"{path.parent.name}.js" for path in SOURCES.glob("*/figure.js")}
    assert {path.name for path in BUILT.iterdir()} == figures | {"kit.js"}


# Without Node: the first line of a script names the sources that went into it, and their digest.
@pytest.mark.parametrize("script", sorted(BUILT.iterdir()), ids=lambda path: path.stem)
def test_built_script_is_of_the_sources_as_they_are(script):
    _, recorded, *names = script.read_text(encoding="utf-8").split("\n")[0].split()
    assert ("kit/host.js" if script.stem == "kit" else f"{script.stem}/figure.js") in names
    assert recorded == digest(names)[:16], "stale; call: cd javascript && npm run build"
    in_kit = ".d2lx-quiet" in script.read_text(encoding="utf-8")
    assert in_kit == (script.stem == "kit"), "a figure takes the kit from its page"


def test_stored_outputs_hold_no_code():
    outputs = [
        html
        for path in NOTEBOOKS
        for cell in nbformat.read(path, as_version=4).cells
        for output in cell.get("outputs", [])
        if "data-d2lx=" in (html := output.get("data", {}).get("text/html", ""))
    ]
    assert len(outputs) >= 4
    for html in outputs:
        assert re.findall("<(script|style)[^>]*>", html) == ["script"]
        assert '<script type="application/json">' in html


def test_no_text_is_inserted_as_html():
    for path in {*SOURCES.rglob("*.js")} - {*BUILT.iterdir()}:
        source = path.read_text(encoding="utf-8")
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert way not in source, path.name
