"""The minutes in a header come from what the page shows."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools import honest_time


def minutes(*cells) -> int:
    return honest_time.cost(new_notebook(cells=list(cells))).minutes


def code(source="x = 1", tags=(), **data):
    outputs = [new_output("display_data", data={k.replace("_", "/"): v for k, v in data.items()})]
    return new_code_cell(source, metadata={"tags": list(tags)}, outputs=outputs if data else [])


def test_100_words_take_a_minute_and_the_next_one_begins_another():
    assert minutes(new_markdown_cell("word " * 100)) == 1
    assert minutes(new_markdown_cell("word " * 101)) == 2


@pytest.mark.parametrize(
    ("tags", "lines"),
    [([], (3, 1)), (["hide-input"], (0, 1)), (["remove-input"], (0, 1)), (["hide-output"], (3, 0))]
    + [([tag], (0, 0)) for tag in ("hide-cell", "remove-cell")],
)
def test_what_the_page_hides_costs_nothing(tags, lines):
    cell = code("assert a\nb = 1\nc = 2", tags, text_plain="one line")
    found = honest_time.cost(new_notebook(cells=[cell]))
    assert (found.code_lines, found.output_lines) == lines
    assert (found.visible_assertions, found.longest_listing) == ((1, 3) if lines[0] else (0, 0))


@pytest.mark.parametrize("before", ["… minutes", "9 minutes, 8 of them reading"])
@pytest.mark.parametrize(
    ("name", "after"), [("walk", "4 minutes, 3 of them reading"), ("workshop", "4 minutes")]
)
def test_writing_mends_the_header_and_nothing_else(before, name, after, tmp_path, capsys):
    path = tmp_path / f"{name}.ipynb"
    header = new_markdown_cell(f"# Title\n\n*About {before}. You need nothing.*")
    predict = new_markdown_cell(":::{dropdown} Predict: what comes?\nIt.\n:::")
    cells = [header, new_markdown_cell("word " * 210), predict]
    nbformat.write(new_notebook(cells=cells), path)
    honest_time.main(["--write", str(path)])
    found = nbformat.read(path, as_version=4)
    assert found.cells[0].source == f"# Title\n\n*About {after}. You need nothing.*"
    assert honest_time.said(found) == honest_time.cost(found).minutes == 4
    assert "4   22" in capsys.readouterr().out
