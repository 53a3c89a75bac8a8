"""Estimate how long a notebook takes to read and do.

usage: python -m tools.reading_time [--write] [NOTEBOOK ...]   (all of chapters/ if none is named)

`--write` updates the *Time* row of each first cell and tidies the notebook as `run_notebooks` does;
no kernel is started. `make words` runs it after a change of words.
"""

import copy
import re
import sys
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.run_notebooks import NOTEBOOKS, tidy

# Minutes. A rate is a rule of thumb, not a measurement: 100 words of prose a minute (many readers
# read in a second language and calculate along), six lines of code a minute (who wants to write it
# reads it twice: with ten, a student found the sums of chapters 1 to 7 a fifth too low), outputs
# and displayed formulas at a glance, because the prose beside them explains them, and eight minutes
# for a cell with a task of a walk (students named four to twelve).
PER_WORD, PER_LINE, PER_OUTPUT_LINE, PER_FORMULA = 1 / 100, 1 / 6, 1 / 30, 1 / 2
PER_FIGURE, PER_EXPLORABLE, PER_PREDICTION, PER_TASK = 3 / 4, 3, 3 / 2, 8
TIME = re.compile(r"(?<=^- \*\*Time:\*\* )(\d+|…) minutes(?:[,:] [\w ,]+)?$", re.MULTILINE)
EFFORT = re.compile(r"^:::\{div\} effort\nDifficulty \d of 3, about (\d+) minutes\n:::$", re.M)
NO_WORDS = re.compile(
    r"```.*?```"  # code
    r"|\$\$.*?\$\$"
    r"|^:::+.*?$|^\([\w-]+\)=$"  # directives and labels
    r"|!\[[^\]]*\]|\]\([^)]*\)|\s<[^<>`]+>(?=`)"  # words in place of a picture, targets of links
    r"|[-|: ]{5,}$",  # the rule below a table's head
    re.DOTALL | re.MULTILINE,
)


@dataclass
class Cost:
    """What a reader meets on a notebook's page."""

    words: int = 0
    code_lines: int = 0
    output_lines: int = 0
    figures: int = 0
    explorables: int = 0
    predictions: int = 0
    formulas: int = 0
    exercise_minutes: int = 0
    tasks: int = 0
    visible_assertions: int = 0
    longest_listing: int = 0

    @property
    def minutes(self) -> int:
        """All minutes, rounded up. The minutes of exercises include their code."""
        code = self.code_lines * PER_LINE + self.output_lines * PER_OUTPUT_LINE
        spent = (
            self.words * PER_WORD
            + (0 if self.exercise_minutes else code)
            + self.figures * PER_FIGURE
            + self.explorables * PER_EXPLORABLE
            + self.predictions * PER_PREDICTION
            + self.formulas * PER_FORMULA
        )
        return ceil(round(spent, 6)) + self.exercise_minutes

    def add_text(self, source: str) -> None:
        """Count a markdown cell."""
        source = TIME.sub("0 minutes", source)  # the estimate must not depend on itself
        titles = " ".join(re.findall(r"^:::+\{dropdown\} (.*)$", source, re.MULTILINE))
        text = re.sub(r"\$[^$\n]+\$", "x", NO_WORDS.sub(" ", source))
        self.words += len(re.findall(r"\w[\w’'.,-]*", f"{titles} {text}"))
        self.predictions += source.count("{dropdown} *Predict")
        self.formulas += len(re.findall(r"\$\$.*?\$\$", source, re.DOTALL))
        self.exercise_minutes += sum(map(int, EFFORT.findall(source)))
        self.figures += len(re.findall(r"!\[|\{(?:figure|image)\}", source))

    def add_code(self, source: str) -> None:
        """Count code that the page shows."""
        lines = count_lines(source)
        self.code_lines += lines
        self.tasks += ".check_" in source
        self.longest_listing = max(self.longest_listing, lines)

    def add_output(self, output: NotebookNode) -> None:
        """Count an output that the page shows."""
        data = output.get("data", {})
        html, markdown = data.get("text/html", ""), data.get("text/markdown", "")
        if output.output_type == "stream":
            self.output_lines += count_lines(output.text)
        elif "data-d2lx" in html:
            self.explorables += 1
        elif "<svg" in html or {"image/png", "image/svg+xml"} & data.keys():
            self.figures += 1
        elif markdown.startswith("```"):  # a listing printed from the package
            self.add_code(markdown.strip().removeprefix("```python").removesuffix("```"))
        else:
            self.output_lines += count_lines(data.get("text/plain", ""))


def count_lines(text: str) -> int:
    """Count lines that are not blank."""
    return sum(bool(line.strip()) for line in text.splitlines())


def cost(notebook: NotebookNode) -> Cost:
    """Count what the page of a notebook shows."""
    total = Cost()
    for cell in notebook.cells:
        tags = set(cell.metadata.get("tags", []))
        if cell.cell_type == "markdown":
            total.add_text(cell.source)
        if cell.cell_type != "code" or tags & {"remove-cell", "hide-cell"}:
            continue
        if not tags & {"remove-input", "hide-input"}:
            total.add_code(cell.source)
            total.visible_assertions += len(re.findall(r"^\s*assert |assert_", cell.source, re.M))
        if not tags & {"remove-output", "hide-output"}:
            for output in cell.outputs:
                total.add_output(output)
    return total


def time_row(notebook: NotebookNode, path: Path) -> str:
    """Word the Time row of a first cell; that of a walk says how long its parts take."""
    total, before = cost(notebook), copy.deepcopy(notebook)
    for i, cell in enumerate(before.cells):
        parts = re.split(r"^## The answer$", cell.source, flags=re.MULTILINE)
        if parts[1:] and path.stem == "walk":
            cell.source, before.cells = parts[0], before.cells[: i + 1]
            answer, tasks = cost(before).minutes, PER_TASK * total.tasks
            task = f"{tasks} for the task{'s' * (total.tasks > 1)}, " if tasks else ""
            rest = f"{answer} to the answer, {task}{total.minutes - answer} for the rest"
            return f"{total.minutes + tasks} minutes: {rest}"
    return f"{total.minutes} minutes"


def main(arguments: list[str]) -> None:
    """Print a line per notebook; with ``--write`` update first cells and cell ids."""
    names = [Path(name) for name in arguments if name != "--write"]
    print("minutes words  code output figures play predict exercises  notebook")
    for path in names or NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        spent = cost(notebook)
        print(
            f"{spent.minutes:7}{spent.words:6}{spent.code_lines:6}{spent.output_lines:7}"
            f"{spent.figures:8}{spent.explorables:5}{spent.predictions:8}"
            f"{spent.exercise_minutes:10}  {path.parent.name}/{path.stem}"
        )
        if "--write" in arguments:
            first = notebook.cells[0]
            first.source = TIME.sub(time_row(notebook, path), first.source, count=1)
            tidy(notebook)  # a cell's id derives from its text
            text = nbformat.writes(notebook) + "\n"
            if text != path.read_text(encoding="utf-8"):
                path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
