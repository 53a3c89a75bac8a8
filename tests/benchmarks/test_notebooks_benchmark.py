"""Notebooks under Binder's limits: the limit bites, and the page says what happened."""

import sys

import nbformat
import pytest

from benchmarks import notebooks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux refuses memory in this way"),
]

# What is written to is in use, and what is held for half a second is seen.
TOUCH = """import os, time
assert len(os.sched_getaffinity(0)) == 1
held = b"x" * ({} << 20)
time.sleep(0.5)"""


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    """Write a notebook that holds so many MB."""
    monkeypatch.setattr(notebooks, "CHAPTERS", tmp_path)

    def write(name: str, megabytes: int):
        path = tmp_path / "01-one" / f"{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        cells = [nbformat.v4.new_code_cell(TOUCH.format(megabytes))]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
        return path

    return write


def test_what_fits_ends_well_and_is_measured(chapter):
    took = notebooks.run(chapter("small", 300))
    assert took.error == ""
    assert 350 <= took.peak / 2**20 <= 1000
    assert took.seconds > 0


def test_what_does_not_fit_is_refused_and_the_page_says_so(chapter, monkeypatch):
    monkeypatch.setattr(notebooks, "LIMIT", 1 * notebooks.GB)
    monkeypatch.setattr(
        notebooks, "run", lambda path, run=notebooks.run: run(path, notebooks.LIMIT)
    )
    page = "\n".join(notebooks.lines([chapter("large", 1500)], every=3))
    assert "Run were 1 of 3 notebooks." in page
    assert "| 01-one/large |" in page
    assert "**Not all came to their end:**" in page
    assert "MemoryError" in page
