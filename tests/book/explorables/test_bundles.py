"""Committed bundles are those that the sources give, here and in the outputs of the chapters."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest

from d2lattn.book.explorables.base import BUNDLES
from tools.refresh_explorables import refresh, refreshed
from tools.run_notebooks import NOTEBOOKS

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "javascript" / "src"


def digest(names: list[str]) -> str:
    return hashlib.sha256(b"".join((SOURCES / name).read_bytes() for name in names)).hexdigest()


def test_every_source_has_a_bundle_and_every_bundle_a_source():
    assert {path.name for path in SOURCES.glob("*.js")} == {path.name for path in BUNDLES.iterdir()}


# Without Node: the first line of a bundle names the sources that went into it, and their digest.
@pytest.mark.parametrize("bundle", sorted(BUNDLES.iterdir()), ids=lambda path: path.stem)
def test_bundle_is_of_the_sources_as_they_are(bundle):
    _, recorded, *names = bundle.read_text(encoding="utf-8").split("\n")[0].split()
    assert bundle.name in names
    assert "kit/host.js" in names
    assert recorded == digest(names)[:16], "stale; call: cd javascript && npm run build"


def test_stored_outputs_hold_the_bundles_as_they_are(tmp_path):
    for path in NOTEBOOKS:
        copy = Path(shutil.copy(path, tmp_path))
        refresh(copy)
        assert copy.read_bytes() == path.read_bytes(), "call: python -m tools.refresh_explorables"
    outputs = sum(path.read_text(encoding="utf-8").count("data-d2lx=") for path in NOTEBOOKS)
    assert outputs >= 4


def test_refreshing_replaces_the_code_alone(tmp_path):
    from d2lattn.book.explorables import CueMixer

    now = CueMixer(strength=3).to_html()
    old = re.sub(r"<!--\n.*\n(?=d2lx)", "<!--\nold\n", now)
    assert old != now
    assert refreshed(old) == now
    assert refreshed("<p>words</p>") == "<p>words</p>"


def test_nothing_enters_a_page_as_html():
    for path in SOURCES.rglob("*.js"):
        source = path.read_text(encoding="utf-8")
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert way not in source, path.name


def test_lock_file_holds_every_platform_and_names_no_registry():
    text = (ROOT / "javascript" / "package-lock.json").read_text(encoding="utf-8")
    packages = json.loads(text)["packages"]
    for name, package in packages.items():
        for wanted in package.get("optionalDependencies", {}):
            assert f"node_modules/{wanted}" in packages, f"{name or 'package.json'} wants {wanted}"
    assert "http" not in re.sub(r'"url": "[^"]*"', "", text)
