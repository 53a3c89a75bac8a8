"""How the benchmarks report: results as JSON, and a page rendered from them by a template.

python -m benchmarks.report renders all pages of reference/benchmarks once more from their results.
"""

import argparse
import json
import platform
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import torch

from benchmarks.measure import processor
from d2lattn.book.tables import format_rows

FOLDER = Path(__file__).parents[1] / "reference" / "benchmarks"
TEMPLATES = Path(__file__).parent / "templates"
Column = tuple[str, str]
"""The name of a column, and how its numbers are formatted; "" and "<" align to the left."""


def named(names: Iterable[object], spec: str) -> list[Column]:
    """Give columns whose numbers are all formatted alike."""
    return [(str(name), spec) for name in names]


def table(columns: Sequence[Column], rows: Iterable[Sequence[Any]], title: str = "") -> dict:
    """Put a table together; what a cell may be is in :func:`d2lattn.book.tables.format_cell`."""
    parts = {"columns": [list(column) for column in columns], "rows": [list(row) for row in rows]}
    return {"title": title} | parts if title else parts


def spread(values: Sequence[float]) -> dict[str, float] | float:
    """Give the mean and, of several values, the least and the most."""
    if len(values) == 1:
        return values[0]
    return {"mean": statistics.mean(values), "least": min(values), "most": max(values)}


def each(values: Sequence[float]) -> dict[str, Any]:
    """Give the mean, and the values behind it."""
    return {"mean": statistics.mean(values), "each": list(values)}


def summarize(
    results: Mapping[str, Sequence[Mapping]], keys: Iterable[str], cell: Callable = each
) -> list[list]:
    """Give a row for each name: of each key, one cell of the values of all its trainings."""
    keys = list(keys)
    return [
        [name, *(cell([run[key] for run in runs]) for key in keys)]
        for name, runs in results.items()
    ]


def row(*cells: object) -> str:
    """Write one line of a Markdown table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def rule(specs: Iterable[str]) -> str:
    """Write the line under a table's head: text to the left, numbers to the right."""
    marks = ("---" if spec == "" or spec.startswith("<") else "--:" for spec in specs)
    return "|" + "|".join(marks) + "|"


def markdown_table(content: dict) -> str:
    """Write a table in Markdown."""
    names, specs = zip(*content["columns"], strict=True)
    return "\n".join([row(*names), rule(specs), *(row(*cells) for cells in format_rows(content))])


def environment(folder: Path) -> jinja2.Environment:
    """Read the templates of a folder, which fail if they name what they are not given."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "count": "{:,}".format,
        "percent": "{:.0%}".format,
        "decimals": lambda value, digits: f"{value:.{digits}f}",
    }
    return templates


def render(name: str, results: dict) -> str:
    """Render a report page from results."""
    versions = "Python {python}, PyTorch {pytorch}, {processor}".format(**results)
    tables = {key: markdown_table(content) for key, content in results["tables"].items()}
    template = environment(TEMPLATES).get_template(f"{name}.md.jinja")
    return template.render(
        results, versions=versions, table=tables.__getitem__, contents=results["tables"]
    )


def to_json(results: dict) -> str:
    """Write results as JSON, each row of a table on a line of its own."""
    text = json.dumps(results, indent=1, ensure_ascii=False, separators=(", ", ": "))
    text = re.sub(r"\n {5,}|\n {4}(?=[]}])", "", text)
    return re.sub(r" +\n", "\n", text) + "\n"


def write_report(name: str, command: str, results: dict, folder: Path = FOLDER) -> None:
    """Store results with what made them, render their page, and print it.

    Args:
        name: of the page, its template and its results.
        command: the benchmark's module and its options.
        results: `tables`, and whatever else the template quotes.
        folder: where the page goes; the results go to `results/` in it.
    """
    about = {
        "command": f"python -m benchmarks.{command}",
        "python": platform.python_version(),
        "pytorch": torch.__version__,
        "processor": processor(),
        "threads": torch.get_num_threads(),
    }
    text = to_json(about | results)
    (folder / "results").mkdir(parents=True, exist_ok=True)
    (folder / "results" / f"{name}.json").write_text(text, encoding="utf-8")
    page = render(name, json.loads(text))
    print(page)
    (folder / f"{name}.md").write_text(page, encoding="utf-8")


def output_parser(description: str | None) -> argparse.ArgumentParser:
    """Make a parser with the option that every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder of page and results")
    return parser


def main() -> None:
    """Render all pages from their results."""
    for path in sorted((FOLDER / "results").glob("*.json")):
        page = render(path.stem, json.loads(path.read_text(encoding="utf-8")))
        (FOLDER / f"{path.stem}.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
