from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from d2lattn.book.tables import read_tables, read_trainings

PAGES = Path(__file__).resolve().parents[2] / "reference" / "benchmarks"
cell = st.text("ab0.,–()% *<>é", max_size=6).map(str.strip)
text = st.text("ab. \n", max_size=20).map(lambda found: "\n\n".join(found.split("\n")).strip())


@st.composite
def tables(draw) -> list[list[str]]:
    """Rows, of which the first has the names of the columns; no two others begin alike."""
    width = draw(st.integers(2, 4))
    row = st.lists(cell, min_size=width, max_size=width)
    rows = draw(st.lists(row, min_size=1, max_size=4, unique_by=lambda cells: cells[0]))
    return [["name"] * width, *rows]


def written(rows: list[list[str]]) -> str:
    names, *others = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join((names, "|---" * len(rows[0]) + "|", *others))


def by_markdown_it(page: str) -> list[list[list[str]]]:
    """The rows below each rule, as a parser of Markdown has them."""
    found: list = []
    for token in MarkdownIt().enable("table").parse(page):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline" and found and token.level > 3:
            found[-1][-1].append(token.content)
    return [rows[1:] for rows in found]


@given(st.lists(st.tuples(text, tables()), max_size=3), text, st.sampled_from(["\n\n", "\n\n\n"]))
def test_reads_what_a_parser_of_markdown_reads(tmp_path_factory, parts, end, gap):
    page = gap.join([*(f"{words}{gap}{written(rows)}" for words, rows in parts), end, ""])
    path = tmp_path_factory.mktemp("pages") / "page.md"
    path.write_text(page, encoding="utf-8")
    expected = [{first: others for first, *others in rows} for rows in by_markdown_it(page)]
    assert read_tables(path) == expected
    assert len(expected) == len(parts)


def test_reads_the_pages_of_our_benchmarks():
    pages = [path for path in PAGES.glob("*.md") if "| model |" in path.read_text("utf8")]
    assert len(pages) > 3
    for path in pages:
        rows = by_markdown_it(path.read_text("utf8"))
        assert [list(table.values()) for table in read_tables(path)] == [
            [others for _, *others in table] for table in rows
        ]


def test_rows_that_begin_alike_are_refused(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(written([["n", "ms"], ["8", "1"], ["64", "2"], ["64", "3"]]), encoding="utf-8")
    with pytest.raises(ValueError, match="two rows of a table begin with '64'"):
        read_tables(page)


def test_the_values_of_each_training_are_read():
    page = PAGES / "small-trainings.md"
    found = read_trainings(page, "6.4")
    means = {
        name: [cell.split(" ")[0] for cell in cells] for name, cells in read_tables(page)[5].items()
    }
    assert found.keys() == means.keys()
    assert "r = 1" in found
    for name, columns in found.items():
        assert [len(column) for column in columns] == [5, 5]
        for column, mean in zip(columns, means[name], strict=True):
            assert sum(column) / 5 == pytest.approx(float(mean), abs=0.11)


@pytest.mark.parametrize(("title", "number"), [("6.5", 0), ("6", 2)])
def test_a_title_names_one_table(tmp_path, title, number):
    page = tmp_path / "page.md"
    one = "**6: words.** Percent.\n\n" + written([["", "right"], ["ours", "0.5 (0.0, 1.0)"]])
    page.write_text(f"{one}\n\n{one}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=f"{number} titles begin with '{title}:'"):
        read_trainings(page, title)
