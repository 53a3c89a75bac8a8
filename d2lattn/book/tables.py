"""The tables that benchmarks wrote, for the pages that tell of them."""

import os
import re
from pathlib import Path

Table = dict[str, list[str]]


def read_tables(page: str | os.PathLike[str]) -> list[Table]:
    """Read each table of a Markdown page: of a row, by its first cell, the others.

    The names of the columns are left out. Blank lines stand around a table.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "page.md"
    ...     _ = page.write_text("| model | BLEU |\\n|---|---|\\n| GRU | 76 |\\n| ours | 99 |\\n")
    ...     read_tables(page)
    [{'GRU': ['76'], 'ours': ['99']}]

    Raises:
        OSError: there is no such page.
        ValueError: two rows of a table begin alike.
    """
    text = Path(page).read_text(encoding="utf-8")
    blocks = re.split(r"\n{2,}", text)
    return [_by_first_cell(block.splitlines()[2:]) for block in blocks if block.startswith("|")]


def read_trainings(page: str | os.PathLike[str], title: str) -> dict[str, list[list[float]]]:
    """Read the table whose bold title begins so: of each row and column, the value of each seed.

    Cells have a mean and behind it, in parentheses, the values.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "page.md"
    ...     table = "| | error |\\n|---|--:|\\n| 2 | 0.3 (0.1, 0.5) |\\n"
    ...     _ = page.write_text("**5.3: heads.** Of five seeds.\\n\\n" + table)
    ...     read_trainings(page, "5.3")
    {'2': [[0.1, 0.5]]}

    Raises:
        OSError: there is no such page.
        ValueError: no title, or more than one, begins so; two rows of the table begin alike.
    """
    blocks = re.split(r"\n{2,}", Path(page).read_text(encoding="utf-8"))
    places = [i for i, block in enumerate(blocks) if block.startswith(f"**{title}:")]
    if len(places) != 1:
        raise ValueError(f"{len(places)} titles begin with {title + ':'!r}; one table is wanted")
    table = _by_first_cell(blocks[places[0] + 1].splitlines()[2:])
    return {name: [_values(cell) for cell in cells] for name, cells in table.items()}


def _values(cell: str) -> list[float]:
    """Take 1.5 and 2.5 from "2.0 (1.5, 2.5)"."""
    return [float(value) for value in cell.partition("(")[2].rstrip(")").split(",")]


def _by_first_cell(lines: list[str]) -> Table:
    table: Table = {}
    for line in lines:
        name, *others = (cell.strip() for cell in line.strip("|").split("|"))
        if name in table:
            raise ValueError(f"two rows of a table begin with {name!r}; each needs its own name")
        table[name] = others
    return table
