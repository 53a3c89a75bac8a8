"""Every walk and workshop in a real JupyterLab, as readers use it: run, played, answered."""

import shutil

import nbformat
import pytest
from lab_pages import CHAPTERS, ENDED, LIVE, REPOSITORY, come_to, moves_something, run_all, serving

pytestmark = [pytest.mark.browser, pytest.mark.weekly]

NOTEBOOKS = sorted(
    path.relative_to(CHAPTERS).with_suffix("").as_posix()
    for kind in ("walk", "workshop")
    for path in CHAPTERS.glob(f"*/{kind}.ipynb")
)

# Nobody should meet these, nor the source text of what MyST did not read.
BAD = ("Traceback", "Error displaying widget", "Error creating widget", "Not drawn:")
# jupyterlab-myst says so of each term and section of another page.
EXPECTED = ("Cross reference target was not found",)
UNREAD = (
    "unknown directive",
    ":::",
    "{doc}",
    "{term}",
    "{ref}",
    "{dropdown}",
    "{margin}",
    "{figure}",
    "{note}",
)
# What a cell of text shows, folded or not, without its source.
DRAWN = """(cell) => {
  const copy = cell.cloneNode(true);
  copy.querySelectorAll('.jp-InputArea-editor, .cm-editor, style').forEach((one) => one.remove());
  return copy.textContent;
}"""
# An aside without a height of its own, as of `{margin}`, stands on the next paragraph.
OVERPRINTED = """(cell) => [...cell.querySelectorAll('aside')].some(
  (aside) => aside.scrollHeight > aside.offsetHeight + 4)"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A server with a copy of the chapters, whose cells have no numbers: none has run."""
    folder = tmp_path_factory.mktemp("lab") / "chapters"
    shutil.copytree(REPOSITORY / "images", folder.parent / "images")
    shutil.copytree(REPOSITORY / "reference/benchmarks", folder.parent / "reference/benchmarks")
    shutil.copytree(CHAPTERS, folder)
    for name in NOTEBOOKS:
        notebook = nbformat.read(folder / f"{name}.ipynb", as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.execution_count = None
        nbformat.write(notebook, folder / f"{name}.ipynb")
    with serving(folder.parent, tmp_path_factory.mktemp("home")) as lab:
        yield lab


@pytest.fixture
def troubles(profile):
    """What goes wrong in a page from its opening to the test's end."""
    noted = []

    def hear(message) -> None:
        if message.type == "error" and not message.text.startswith(EXPECTED):
            noted.append(f"{message.text} {message.location}")

    def catch(error) -> None:
        stack = error.error.stack or str(error.error)
        frames = [line for line in stack.splitlines() if line.strip().startswith("at ")]
        # JupyterLab loses a cell now and then while it scrolls; that is in its own files alone.
        if not frames or any("/static/lab/" not in line for line in frames):
            noted.append(f"not caught: {stack}")

    profile.on("console", hear)
    profile.on("weberror", catch)
    yield noted
    profile.remove_listener("console", hear)
    profile.remove_listener("weberror", catch)


def test_walks_and_workshops_are_found():
    kinds = [name.split("/")[1] for name in NOTEBOOKS]
    assert kinds.count("walk") >= 10
    assert kinds.count("workshop") >= 8


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_runs_plays_and_answers(troubles, open_notebook, name):
    cells = nbformat.read(CHAPTERS / f"{name}.ipynb", as_version=4).cells
    page = open_notebook(f"{name}.ipynb")
    run_all(page)
    page.wait_for_function(ENDED, polling=500, timeout=1_200_000)
    played = 0
    for index, cell in enumerate(cells):
        here = come_to(page, index)
        if "data-d2lx=" in str(cell.get("outputs")):
            here.locator(LIVE).first.wait_for(timeout=60_000)
            for figure in here.locator(LIVE).all():
                assert moves_something(figure)
                played += 1
        said = here.inner_text()
        assert not [word for word in BAD if word in said], said
        if cell.cell_type == "markdown":
            # also in what is folded, where an error may stand
            drawn = here.evaluate(DRAWN)
            assert not [word for word in UNREAD if word in drawn], drawn
            assert not here.evaluate(OVERPRINTED), said
    assert played == sum("data-d2lx=" in str(cell.get("outputs")) for cell in cells)
    if name.endswith("workshop"):
        answer_the_first_exercise(page, cells)
    assert not troubles, "\n".join(troubles)


def answer_the_first_exercise(page, cells) -> None:
    """Leave the stub as it stands, then put the folded solution into its place."""
    code = [i for i, cell in enumerate(cells) if cell.cell_type == "code"]
    solution = next(i for i in code if "hide-cell" in cells[i].metadata.get("tags", []))
    stub = come_to(page, code[code.index(solution) - 1])
    verdict = stub.locator(".jp-OutputArea-output")
    assert verdict.inner_text().strip().startswith("· Exercise")
    stub.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(cells[solution].source)
    page.keyboard.press("Shift+Enter")
    verdict.get_by_text("✓ Exercise").wait_for(timeout=60_000)
