"""What strict nbval would silently let pass: cells never run, ignored claims, untidy files."""

import copy
import json
import re
from pathlib import Path

import nbformat
import pytest

from tools import reading_time, run_notebooks
from tools.run_notebooks import CHAPTERS, NOTEBOOKS

IGNORED = {"nbval-ignore-output", "nbval-skip"}


def layer(path: Path) -> str:
    """Walk, workshop, deeper, or which (the page that is passed on)."""
    return path.stem.split("-")[0]


def each(*layers: str):
    """Run a test for every notebook of these layers, or of all."""
    paths = [path for path in NOTEBOOKS if not layers or layer(path) in layers]
    names = [f"{path.parent.name}/{path.stem}" for path in paths]
    return pytest.mark.parametrize("path", paths, ids=names)


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def code_cells(notebook) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_a_chapter_is_a_folder_with_a_walk():
    assert {layer(path) for path in NOTEBOOKS} == {"walk", "workshop", "deeper", "which"}
    for folder in {path.parent for path in NOTEBOOKS if layer(path) != "which"}:
        assert folder / "walk.ipynb" in NOTEBOOKS
        assert re.fullmatch(r"\d\d[a-z]?-[a-z-]+", folder.name)


@each()
def test_every_cell_was_run_in_order_and_none_failed(path):
    notebook = read(path)
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert not [o for o in cell.outputs if o.output_type == "error"], cell.source
        assert not [o for o in cell.outputs if o.get("name") == "stderr"], cell.source


@each()
def test_few_outputs_are_ignored_and_a_claim_follows_each(path):
    notebook = read(path)
    cells = code_cells(notebook)
    ignored = [i for i, c in enumerate(cells) if IGNORED & set(c.metadata.get("tags", []))]
    assert len(ignored) <= max(1, len(cells) // 4)
    for i in ignored:
        assert "nbval-skip" not in cells[i].metadata.tags
        following = cells[i + 1 : i + 3]
        assert any("assert " in cell.source for cell in following), cells[i].source


@each()
def test_a_column_of_a_table_has_a_name(path):
    """Read aloud, a head without a word is silence."""
    for cell in read(path).cells:
        if cell.cell_type == "markdown":
            for head in re.findall(r"^(\|.*\|)\n\|[-: |]+\|$", cell.source, re.MULTILINE):
                assert all(name.strip() for name in head.strip("|").split("|")), head


def places_in(path: Path) -> set[str]:
    """All labels of a page, those of equations included."""
    text = path.read_text("utf8")
    if path.suffix == ".ipynb":
        cells = nbformat.reads(text, as_version=4).cells
        text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return set(re.findall(r"^(?:\$\$ )?\(([\w-]+)\)=?$", text, re.MULTILINE))


@pytest.mark.parametrize(
    "path",
    [*NOTEBOOKS, CHAPTERS / "start.ipynb"],
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
def test_every_link_leads_somewhere_in_jupyterlab_too(path):
    cells = [cell for cell in read(path).cells if cell.cell_type == "markdown"]
    text = "\n".join(cell.source for cell in cells)
    # JupyterLab knows the notebook that is open, and no other page
    assert not re.findall(r"\{(?:doc|ref|numref|any|py:\w+)\}`[^`]*`", text)
    # and of directives those that it shows as the pages do; another is an error in a fold
    assert set(re.findall(r"^(?:`{3,}|:{3,})\{([\w:-]+)\}", text, re.M)) <= {"dropdown", "div"}
    assert set(re.findall(r"\{eq\}`([^`]*)`", text)) <= places_in(path)
    for target in re.findall(r"(?<!\\)\]\(([^()\s]+)\)", text):
        if target.startswith("https://"):
            continue
        name, _, label = target.partition("#")
        there = path.parent / name if name else path
        assert there.is_file(), target
        if label.startswith("d2lattn."):  # the build asks whether there is one of that name
            assert there.name == "api.md"
        else:
            assert not label or label in places_in(there), target


@each("walk")
def test_a_walk_can_be_finished(path):
    notebook = read(path)
    spent = reading_time.cost(notebook)
    assert spent.words <= 2200
    assert spent.longest_listing <= 20
    assert spent.visible_assertions <= 5
    assert spent.minutes <= 75
    text = "\n".join(cell.source for cell in notebook.cells)
    for part in ("you will be able to", "you need", "to take away", "workshop", "predict"):
        assert part in text.lower(), f"no {part!r}"


@each("walk", "workshop", "deeper")
def test_first_cell_states_how_long_the_page_takes(path):
    notebook = read(path)
    row = f"- **Time:** {reading_time.time_row(notebook, path)}\n"
    assert row in notebook.cells[0].source, "run: make words"


@each("walk", "workshop", "deeper")
def test_lines_of_code_fit_the_column(path):
    notebook = read(path)
    for cell in code_cells(notebook):
        for line in cell.source.splitlines():
            assert len(line) <= 79, line


@each("workshop")
def test_a_workshop_gives_and_checks_its_solutions(path):
    notebook = read(path)
    checks = {
        cell.source for cell in code_cells(notebook) if re.search(r"\bcheck_\w+\(", cell.source)
    }
    collapsed = [c for c in code_cells(notebook) if "hide-cell" in c.metadata.get("tags", [])]
    solutions = [c for c in collapsed if re.search(r"\bcheck_\w+\(", c.source)]
    exercises = "\n".join(cell.source for cell in notebook.cells).count("## Exercise")
    assert len(solutions) >= min(4, exercises)
    assert len(checks) >= 2 * len(solutions)
    for cell in solutions:
        assert "assert " in cell.source
        assert "✓ Exercise" in json.dumps(cell.outputs, ensure_ascii=False)
    text = "\n".join(cell.source for cell in notebook.cells)
    outputs = [str(output) for cell in code_cells(notebook) for output in cell.outputs]
    assert sum("not attempted yet" in output for output in outputs) >= min(4, exercises)
    assert exercises == len(reading_time.EFFORT.findall(text)), "state each exercise's effort"


@each()
def test_a_second_tidying_changes_nothing(path):
    notebook = read(path)
    again = copy.deepcopy(notebook)
    run_notebooks.tidy(again)
    assert again == notebook
    nbformat.validate(notebook)
