"""The last page repeats what the walks found; whatever changes there has to change here."""

import re
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest

from d2lattn.book import running_pair

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "chapters" / "the-end.md"
LINK = re.compile(r"\[([^]]+)\]\(([^)#]+)(?:#[^)]*)?\)")


class Row(NamedTuple):
    chapter: str
    question: str
    answer: str


def table(path: Path) -> list[Row]:
    """The rows of the first table whose second column holds questions."""
    lines = path.read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [Row(*row) for row in cells if len(row) == 3 and row[1].endswith("?")]


def plain(text: str) -> str:
    return re.sub(r"[*_]", "", text)


def walk(name: str) -> list[str]:
    notebook = nbformat.read(ROOT / "chapters" / name, as_version=4)
    return [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]


ROWS = table(PAGE)


def test_every_walk_has_its_row():
    walks = [
        f"{path.parent.name}/{path.name}"
        for path in sorted((ROOT / "chapters").glob("*/walk.ipynb"))
    ]
    linked = [next(target for _, target in LINK.findall(row.answer)) for row in ROWS]
    assert linked == walks
    assert [row.chapter for row in ROWS] == [name.split("-")[0].lstrip("0") for name in walks]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.chapter)
def test_the_question_is_the_walks_and_the_landing_pages(row):
    target = LINK.search(row.answer)[2]
    question = row.question.split(". ")[-1]  # before it, what the walk has just told
    assert question.lower() in plain("\n".join(walk(target))).lower()
    assert row[:2] in [one[:2] for one in table(ROOT / "index.md")]


def test_the_start_page_leads_to_the_same_questions():
    (text,) = walk("start.ipynb")
    rows = re.findall(r"^\| (\w+) \| \[(.*)\]\((\S+)\) \| (.*) \|$", text, re.MULTILINE)
    assert [row[:2] for row in rows] == [row[:2] for row in ROWS]
    for _, _, target, exercises in rows:
        workshop = ROOT / "chapters" / Path(target).with_name("workshop.ipynb")
        assert (ROOT / "chapters" / target).is_file()
        assert (str(Path(target).with_name("workshop.ipynb")) in exercises) == workshop.is_file()
        assert bool(exercises) == workshop.is_file()


def test_the_landing_page_asks_the_same_questions_in_the_same_order():
    assert [row[:2] for row in table(ROOT / "index.md")] == [row[:2] for row in ROWS]


def test_the_strip_has_the_weights_of_all_chapters():
    assert "the-thread.html" in PAGE.read_text(encoding="utf-8")
    strip = (ROOT / "images" / "the-thread.html").read_text(encoding="utf-8")
    assert strip == running_pair.as_html(), "run tools/make_thread.py"
    for label, weights in running_pair.rows().items():
        row = strip.split(f'<th scope="row">{label}</th>')[1].partition("</tr>")[0]
        shown = [float(text) for text in re.findall(r"--w:([\d.]+)", row)]
        assert shown == [round(weight, 2) for weight in weights.flatten().tolist()]
