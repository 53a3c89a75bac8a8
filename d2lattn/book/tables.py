"""The numbers of the benchmarks, for the pages that quote them.

A benchmark stores its results as JSON in `reference/benchmarks/results`; `benchmarks/report.py`
renders the report pages from the same files.
"""

import json
import os
from pathlib import Path
from typing import Any

Table = dict[str, list[str]]


def load_results(page: str | os.PathLike[str]) -> dict[str, Any]:
    """Load the results behind a report page; `page` may also name the JSON file itself.

    Raises:
        OSError: there are no such results.
    """
    path = Path(page)
    if path.suffix != ".json":
        path = path.parent / "results" / f"{path.stem}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def format_cell(cell: Any, spec: str) -> str:
    """Format a cell of a table as on its report page.

    A cell is text, a number, or a mean with its range or with the value of each training run.

    >>> format_cell(1234, ",d"), format_cell(None, ".1f"), format_cell("once", ".1f")
    ('1,234', '–', 'once')
    >>> format_cell({"mean": 2.0, "least": 1.5, "most": 2.5}, ".1f")
    '2.0 (1.5–2.5)'
    >>> format_cell({"mean": 2.0, "each": [1.5, 2.5]}, ".1f")
    '2.0 (1.5, 2.5)'
    """
    match cell:
        case None:
            return "–"
        case str():
            return cell
        case {"mean": mean, "least": least, "most": most}:
            values = (format(value, spec) for value in (mean, least, most))
            text = "{} ({}–{})".format(*values).replace("-", "−")
        case {"mean": mean, "each": each}:
            text = f"{mean:{spec}} ({', '.join(format(value, spec) for value in each)})"
        case {"least": least, "most": most}:
            text = f"{least:{spec}} to {most:{spec}}"
        case {"value": value, "ratio": ratio}:
            text = f"{value:{spec}} (× {ratio:.2f})"
        case _:
            return format(cell, spec)
    return f"**{text}**" if cell.get("best") else text


def format_rows(table: dict[str, Any]) -> list[list[str]]:
    """Format all cells of a table, row by row."""
    specs = [spec for _, spec in table["columns"]]
    return [
        [format_cell(cell, spec) for cell, spec in zip(row, specs, strict=True)]
        for row in table["rows"]
    ]


def read_tables(page: str | os.PathLike[str]) -> list[Table]:
    """Return each table of a report page: the other cells of each row, by its first cell.

    Args:
        page: the report page, `reference/benchmarks/NAME.md`.

    Raises:
        OSError: there are no such results.
        ValueError: two rows of a table begin with the same cell.
    """
    return [_by_first_cell(format_rows(table)) for table in load_results(page)["tables"].values()]


def read_trainings(page: str | os.PathLike[str], title: str) -> dict[str, list[list[float]]]:
    """Return the table with this number: for each row and column, the value of each training run.

    Args:
        page: the report page, `reference/benchmarks/NAME.md`.
        title: the part of the table's title before the colon, such as "5.3".

    Raises:
        OSError: there are no such results.
        ValueError: no title, or more than one, begins in this way.
    """
    tables = load_results(page)["tables"].values()
    matches = [table for table in tables if table.get("title", "").startswith(f"{title}:")]
    if len(matches) != 1:
        raise ValueError(f"{len(matches)} titles begin with {title + ':'!r}; it needs to be one")
    return {name: [cell["each"] for cell in cells] for name, *cells in matches[0]["rows"]}


def _by_first_cell(rows: list[list[str]]) -> Table:
    table = {name: cells for name, *cells in rows}
    if len(table) < len(rows):
        raise ValueError("two rows of a table begin alike; each needs its own name")
    return table
