"""Each number of a notebook's prose is shown on its page: see tools.numbers_in_prose."""

import re

import nbformat
import pytest

from tools.numbers_in_prose import ROOT, agrees, numbers, read_claims, read_page, report
from tools.run_notebooks import CHAPTERS, NOTEBOOKS

GIVEN = {  # by page, as the prose writes them, with the reason
    "04-bahdanau/deeper-what-a-gru-keeps.ipynb": {"600": "default of first_symbol.learn"},
    "04b-believe-the-picture/deeper-how-faithful.ipynb": {
        "1,000": "size of the corpus's test set",
        "0.01": "an example of a small weight",
    },
}


def name(path):
    return str(path.relative_to(CHAPTERS))


def missing(notebook, path):
    given = GIVEN.get(name(path), {})
    return [line for line in report(notebook, path) if not any(f"{n!r}." in line for n in given)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_every_number_of_the_prose_is_shown_on_the_page(path):
    lines = missing(nbformat.read(path, as_version=4), path)
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_an_exception_is_needed(path):
    found = report(nbformat.read(path, as_version=4), path)
    for number in GIVEN.get(name(path), {}):
        assert any(f"{number!r}." in line for line in found), number


def test_the_last_page_s_numbers_stand_on_the_pages_to_which_they_link():
    table = (CHAPTERS / "the-end.md").read_text("utf-8").split("\n## ")[1]
    for said, target in re.findall(r"\[([^]]*\d[^]]*)\]\((.+?\.ipynb)\)", table):
        cells = nbformat.read(CHAPTERS / target, as_version=4).cells
        outputs = [output.get("text", "") for cell in cells for output in cell.get("outputs", [])]
        prose = [cell.source for cell in cells if cell.cell_type == "markdown"]
        assert {*numbers(said)} <= {*numbers(" ".join(prose + outputs))}, (said, target)


def test_a_changed_output_is_reported():
    path = CHAPTERS / "01-attention-cues/walk.ipynb"
    notebook = nbformat.read(path, as_version=4)
    before = report(notebook, path)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "14.5" in output.get("text", ""):  # what the query times 4 gives; times 3 gives 15.5
                output.text = output.text.replace("14.5", "15.5")
    added = [line for line in report(notebook, path) if line not in before]
    assert added
    for line in added:
        assert line.startswith("01-attention-cues/walk.ipynb, cell ")
        assert "'14.5'. Print it, correct it, or" in line


@pytest.mark.parametrize(
    ("prose", "shown", "supported"),
    [
        ("It is 0.67 here.", "0.6652", True),
        ("It is 0.66 here.", "0.6652", False),
        ("It is 0.670 here.", "0.6652", False),
        ("It takes 37 % off.", "0.368", True),
        ("It takes 38 % off.", "0.368", False),
        ("There are 1,460 links.", "1460", True),
        ("There are 1,461 links.", "1460", False),
        ("About 1,500 links.", "1460", True),
        ("It keeps 16.8 MB.", "16777216", True),
        ("It keeps 16.9 MB.", "16777216", False),
    ],
)
def test_a_number_agrees_as_the_prose_rounds_it(prose, shown, supported):
    (claim,) = read_claims(0, prose)
    assert agrees(claim, float(shown)) is supported


@pytest.mark.parametrize(
    ("prose", "unsupported"),
    [
        ("That is $24 - 0.5$, or 23.5.", []),
        ("That is 24.5 less 0.5, or 24.0.", ["24.5", "0.5", "24.0"]),
        ("In chapter 12, figure 3.2 and three of 9 heads.", []),
        ("## 12.5 metres\n\n(sec-12)=\nSee [page 12.5](x.ipynb#a-12.5), in 1890.", []),
        ("It wins by 12.5 points {cite:p}`someone2020`.", []),
        ("It wins by 12.5 points.\n\n| by |\n| --: |\n| 12.46 |", []),
    ],
)
def test_what_counts_as_a_claim_and_what_as_evidence(prose, unsupported):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(prose)])
    page = read_page(notebook, CHAPTERS / "a.ipynb")
    assert [claim.text for claim in page.unsupported()] == unsupported


def test_hidden_cells_are_no_evidence():
    cell = nbformat.v4.new_code_cell("x = 12.5", metadata={"tags": ["remove-cell"]})
    prose = nbformat.v4.new_markdown_cell("It is 12.5.")
    notebook = nbformat.v4.new_notebook(cells=[cell, prose])
    assert report(notebook, ROOT / "a.ipynb")
    del cell.metadata["tags"]
    assert not report(notebook, ROOT / "a.ipynb")
