"""What strict nbval would silently let pass: cells never run, ignored claims, untidy files."""

import copy
import json
import re
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
IGNORED = {"nbval-ignore-output", "nbval-skip"}


@pytest.fixture(params=CHAPTERS, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


def code_cells(notebook) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_there_are_chapters():
    assert CHAPTERS


def test_every_cell_was_run_in_order_and_none_failed(notebook):
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert not [o for o in cell.outputs if o.output_type == "error"], cell.source
        assert not [o for o in cell.outputs if o.get("name") == "stderr"], cell.source


def test_few_outputs_are_ignored_and_a_claim_follows_each(notebook):
    cells = code_cells(notebook)
    ignored = [i for i, c in enumerate(cells) if IGNORED & set(c.metadata.get("tags", []))]
    assert len(ignored) <= 0.2 * len(cells)
    for i in ignored:
        assert "nbval-skip" not in cells[i].metadata.tags
        following = cells[i + 1 : i + 3]
        assert any("assert " in cell.source for cell in following), cells[i].source


def test_every_figure_says_what_it_shows(notebook):
    for cell in code_cells(notebook):
        kinds = {kind for output in cell.outputs for kind in output.get("data", {})}
        if kinds & {"image/png", "image/svg+xml"}:
            alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
            assert len(alt.split()) >= 6, f"{alt!r} for\n{cell.source}"


def test_a_chapter_keeps_the_contract(notebook):
    text = "\n".join(cell.source for cell in notebook.cells)
    for part in ("You will be able to", "You need first", "Take-away", ":::{dropdown}"):
        assert part in text, f"no {part!r}"
    checks = {
        cell.source for cell in code_cells(notebook) if re.search(r"\bcheck_\w+\(", cell.source)
    }
    collapsed = [c for c in code_cells(notebook) if "hide-cell" in c.metadata.get("tags", [])]
    solutions = [c for c in collapsed if re.search(r"\bcheck_\w+\(", c.source)]
    assert len(solutions) >= 4
    assert len(checks) >= 2 * len(solutions)
    for cell in solutions:
        assert cell.metadata.get("jupyter", {}).get("source_hidden") is True
        assert "assert " in cell.source
        assert "✓ Exercise" in json.dumps(cell.outputs, ensure_ascii=False)


def test_unattempted_exercises_say_so_and_stop_nothing(notebook):
    said = [
        output["data"]["text/plain"]
        for cell in code_cells(notebook)
        for output in cell.outputs
        if "not attempted yet" in str(output.get("data", {}).get("text/plain", ""))
    ]
    assert len(said) >= 4


def test_a_second_tidying_changes_nothing(notebook):
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from run_notebooks import tidy
    finally:
        sys.path.pop(0)
    again = copy.deepcopy(notebook)
    tidy(again)
    assert again == notebook
    nbformat.validate(notebook)
