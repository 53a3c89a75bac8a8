"""The minutes in a first cell derive from what the page shows."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools import reading_time


@pytest.mark.parametrize(("words", "minutes"), [(100, 1), (101, 2)])
def test_100_words_take_a_minute(words, minutes):
    notebook = new_notebook(cells=[new_markdown_cell("word " * words)])
    assert reading_time.cost(notebook).minutes == minutes


@pytest.mark.parametrize(
    ("tag", "lines"),
    [("none", (3, 1)), ("remove-input", (0, 1)), ("hide-output", (3, 0)), ("hide-cell", (0, 0))],
)
def test_hidden_code_and_output_cost_nothing(tag, lines):
    output = new_output("display_data", data={"text/plain": "one line"})
    cell = new_code_cell("assert a\nb = 1\nc = 2", metadata={"tags": [tag]}, outputs=[output])
    spent = reading_time.cost(new_notebook(cells=[cell]))
    assert (spent.code_lines, spent.output_lines) == lines


@pytest.mark.parametrize(
    ("name", "after"),
    [("walk", "4 minutes: 3 to the answer, 1 for the rest"), ("workshop", "4 minutes")],
)
def test_write_updates_the_time_and_nothing_else(name, after, tmp_path):
    path = tmp_path / f"{name}.ipynb"
    first = "# Title\n\n:::{{div}} facts\n- **Time:** {}\n- **You need:** Nothing\n:::"
    cells = [
        new_markdown_cell(first.format("… minutes")),
        new_markdown_cell("word " * 210),
        new_markdown_cell(
            "The end.\n\n## The answer\n\n:::{dropdown} *Predict first:* what comes?\nIt.\n:::"
        ),
    ]
    nbformat.write(new_notebook(cells=cells), path)
    reading_time.main(["--write", str(path)])
    notebook = nbformat.read(path, as_version=4)
    assert [cell.source for cell in notebook.cells] == [
        first.format(after),
        *(cell.source for cell in cells[1:]),
    ]
    assert reading_time.cost(notebook).minutes == 4
