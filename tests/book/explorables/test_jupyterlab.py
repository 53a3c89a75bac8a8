"""Explorables in a real JupyterLab: before anything is run, then live."""

import re
import shutil
from pathlib import Path

import nbformat
import pytest
from lab_pages import CHAPTERS, LIVE, REPOSITORY, run_all, serving

from tools import run_notebooks

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LINKED = ("03b-which-score/deeper-bias.ipynb", "03b-which-score/walk.ipynb")

CELLS = [
    "from d2lattn.book.explorables import NadarayaWatsonBench\n"
    "bench = NadarayaWatsonBench([0, 1, 2, 3], [0, 2, 1, 3], query=1, bandwidth=0.5)\n"
    "bench",
    "print('bandwidth', bench.bandwidth)",
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A server with copies of drawings and of some notebooks."""
    folder = tmp_path_factory.mktemp("lab") / "chapters"
    shutil.copytree(REPOSITORY / "images", folder.parent / "images")
    folder.mkdir()
    shutil.copy(CHAPTERS / "start.ipynb", folder)
    _write_small_notebook(folder / "small.ipynb")
    for name in LINKED:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(CHAPTERS / name, folder / name)
    with serving(folder.parent, tmp_path_factory.mktemp("home")) as lab:
        yield lab


def _write_small_notebook(path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "name": "python3"}
    nbformat.write(notebook, path)
    run_notebooks.run(path)


@pytest.fixture
def without_anywidget(lab):
    """As where the kernel has anywidget and the server that shows the page has not."""
    page = lab.settings / "labconfig" / "page_config.json"
    page.parent.mkdir()
    page.write_text('{"disabledExtensions": {"anywidget": true}}')
    yield
    shutil.rmtree(page.parent)


def test_a_link_of_a_page_opens_the_other_notebook(open_notebook):
    page = open_notebook(LINKED[0])
    page.get_by_role("link", name="additive score").click(timeout=90_000)
    page.wait_for_function(
        "(name) => jupyterapp.shell.currentWidget.context?.path.endsWith(name)",
        arg=LINKED[1],
        timeout=90_000,
    )
    page.get_by_role("heading", name="Build it: additive attention").wait_for(timeout=90_000)


def test_saved_notebook_says_something_before_it_is_run(open_notebook):
    page = open_notebook("small.ipynb")
    output = page.locator(".jp-OutputArea-output").first
    output.wait_for(timeout=30_000)
    text = output.inner_text()
    assert "kernel regression" in text
    assert "Error displaying widget" not in page.inner_text(".jp-Notebook")


def test_slider_moved_by_keyboard_is_read_back(open_notebook):
    page = open_notebook("small.ipynb")
    run_all(page)
    figure = page.locator(LIVE)
    slider = figure.get_by_role("slider", name="Bandwidth h")
    slider.wait_for(timeout=90_000)
    before = figure.locator("[data-name='prediction']").inner_text()
    slider.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(300)
    assert figure.locator("[data-name='prediction']").inner_text() != before
    moved = float(slider.get_attribute("aria-valuetext"))
    assert moved > 0.6

    last = page.locator(".jp-CodeCell").nth(1)
    last.locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    page.wait_for_function(
        "() => document.querySelectorAll('.jp-CodeCell')[1].innerText.match(/bandwidth \\d/)"
        " && !document.querySelectorAll('.jp-CodeCell')[1].innerText.includes('bandwidth 0.5')",
        timeout=30_000,
    )
    read = float(re.search(r"bandwidth ([\d.]+)", last.inner_text())[1])
    assert read == pytest.approx(moved, abs=6e-4)


def test_notebook_without_anywidget_keeps_the_words(open_notebook, without_anywidget):
    page = open_notebook("small.ipynb")
    run_all(page)
    page.get_by_text("bandwidth 0.5", exact=True).wait_for(timeout=90_000)
    page.locator(".d2lx[data-d2lx] table").wait_for(timeout=30_000)
    page.wait_for_timeout(1_000)  # a live figure would have taken its place by now
    assert page.locator(LIVE).count() == 0
    assert "Error displaying widget" not in page.inner_text(".jp-Notebook")
