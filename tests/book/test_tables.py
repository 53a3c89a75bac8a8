"""Pages read the numbers of the benchmarks as the report pages show them."""

import json
from pathlib import Path

import pytest

from d2lattn.book.tables import read_tables, read_trainings

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def write_results(tmp_path):
    def write(*rows, title="5.3: heads"):
        table = {"title": title, "columns": [["", ""], ["error", ".1f"]], "rows": rows}
        path = tmp_path / "results" / "page.json"
        path.parent.mkdir()
        path.write_text(json.dumps({"tables": {"shares": table}}), "utf-8")
        return tmp_path / "page.md"

    return write


def test_cells_are_formatted_as_on_the_page(write_results):
    spread = {"mean": -1.25, "least": -2, "most": 0.5}
    cells = [1, None, "once", spread | {"best": True}, {"value": 3, "ratio": 1.5}]
    page = write_results(*([str(place), cell] for place, cell in enumerate(cells)))
    (table,) = read_tables(page)
    assert [cells for (cells,) in table.values()] == [
        "1.0",
        "–",
        "once",
        "**−1.2 (−2.0–0.5)**",
        "3.0 (× 1.50)",
    ]


def test_rows_that_begin_alike_are_refused(write_results):
    with pytest.raises(ValueError, match="two rows of a table begin alike"):
        read_tables(write_results(["a", 1], ["a", 2]))


def test_trainings_are_read_by_the_title_of_their_table(write_results):
    page = write_results(["two", {"mean": 2, "each": [1, 3]}])
    assert read_trainings(page, "5.3") == {"two": [[1, 3]]}
    with pytest.raises(ValueError, match="0 titles begin with '5:'"):
        read_trainings(page, "5")


def test_stored_trainings_have_five_seeds():
    page = ROOT / "reference" / "benchmarks" / "small-trainings.md"
    for title in ("4.2", "5", "5.2", "5.3", "6.4", "7.3", "7.5"):
        for columns in read_trainings(page, title).values():
            assert {len(values) for values in columns} == {5}
