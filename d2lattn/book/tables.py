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


def _by_first_cell(lines: list[str]) -> Table:
    table: Table = {}
    for line in lines:
        name, *others = (cell.strip() for cell in line.strip("|").split("|"))
        if name in table:
            raise ValueError(f"two rows of a table begin with {name!r}; each needs its own name")
        table[name] = others
    return table
