"""The first cell for Colab: alike in all notebooks, no work elsewhere, an installation there."""

import copy
import os
import subprocess
import sys
import types
from pathlib import Path

import colab
import nbformat
import pytest
from run_notebooks import NOTEBOOKS

ROOT = Path(__file__).resolve().parents[2]


def read(path):
    return nbformat.read(path, as_version=4)


def test_all_notebooks_have_the_cell_or_none_has():
    without = [str(path.relative_to(ROOT)) for path in NOTEBOOKS if not colab.is_in(read(path))]
    assert without in ([], [str(path.relative_to(ROOT)) for path in NOTEBOOKS]), (
        "call: python scripts/colab.py"
    )


@pytest.mark.parametrize("path", NOTEBOOKS[::7], ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_it_can_be_put_in_and_moves_nothing_else(path):
    before = read(path)
    after = copy.deepcopy(before)
    colab.put_in(after)
    again = copy.deepcopy(after)
    colab.put_in(again)
    assert again == after
    first = after.cells[1]
    assert (first.source, first.outputs, first.execution_count) == (colab.source(), [], 1)
    assert first.metadata == {"tags": ["remove-cell"], "jupyter": {"source_hidden": True}}
    rest = [c for c in after.cells if c is not first]
    old = [c for c in before.cells if colab.MARK not in c.source]
    assert [(c.cell_type, c.source, c.metadata) for c in rest] == [
        (c.cell_type, c.source, c.metadata) for c in old
    ]
    assert [len(c.get("outputs", [])) for c in rest] == [len(c.get("outputs", [])) for c in old]
    numbers = [c.execution_count for c in after.cells if c.cell_type == "code"]
    assert numbers == list(range(1, len(numbers) + 1))


def test_its_lines_fit_the_column():
    assert max(map(len, colab.source().splitlines())) <= 79


@pytest.fixture
def elsewhere(monkeypatch):
    """Note what is run and where one goes, and do neither."""
    done = []
    monkeypatch.setattr(subprocess, "run", lambda step, check: done.append(step))
    monkeypatch.setattr(os, "chdir", lambda folder: done.append(folder))
    return done


def test_elsewhere_it_does_nothing(elsewhere):
    assert "google.colab" not in sys.modules
    exec(colab.source(), {})
    assert elsewhere == []


@pytest.fixture
def on_colab(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))


def test_on_colab_it_fetches_and_installs_once(elsewhere, on_colab, monkeypatch):
    exec(colab.source(), {})
    clone, install, folder = elsewhere
    assert clone[:2] == ["git", "clone"]
    assert clone[-2].startswith("https://github.com/")
    assert install == [sys.executable, "-m", "pip", "install", "-q", "/content/book[book]"]
    assert folder.startswith("/content/book/chapters/")
    elsewhere.clear()
    monkeypatch.setattr(os.path, "exists", lambda path: True)  # the cell is run once more
    exec(colab.source(), {})
    assert elsewhere == [folder]


@pytest.mark.weekly
def test_its_commands_install_from_a_checkout(on_colab, monkeypatch, tmp_path):
    """With the checkout in place of GitHub, without dependencies, beside what is installed."""
    url = next(line for line in colab.source().splitlines() if "url = " in line)
    text = colab.source().replace(url, f'    url = "{ROOT.as_uri()}"')
    text = text.replace("/content/book", str(tmp_path / "book"))
    site = tmp_path / "site"
    settings = {"NO_DEPS": "1", "TARGET": str(site), "NO_BUILD_ISOLATION": "0"}
    for name, value in (settings | {"DISABLE_PIP_VERSION_CHECK": "1"}).items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.chdir(tmp_path)
    exec(text, {})
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            "import d2lattn as d2l; from d2lattn.book.palette import palette;"
            "print(d2l.__file__, len(palette()) > 0);"
            "print(d2l.show_drawing('../../images/01-desk.svg').svg[:4])",
        ],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert said == [str(site / "d2lattn" / "__init__.py"), "True", "<svg"]
