"""How long a notebook takes its reader: words, visible lines, figures, predictions, exercises.

usage: python -m tools.honest_time [--write] [NOTEBOOK ...]   (all of chapters/ if none is named)

`--write` puts the minutes into the line of the first cell that says *About … minutes*, a walk's
reading beside them, and tidies as `run_notebooks.py` does: what a change of words needs, and no
kernel. `make words` does all.
"""

import re
import sys
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.run_notebooks import CHAPTERS, NOTEBOOKS, tidy

SAID = re.compile(r"(?<=\*About )(\d+|…) minutes(?:, \d+ of them reading)?(?=\.)")

# Readers take a minute for 100 words, or for 6 lines of code or output, 45 seconds a figure, 3
# minutes to play with an interactive one, a minute and a half to think before they open a
# prediction, and a minute for a displayed formula. Of fifteen walks readers said what a
# typical one needs; the minutes given here lie within a quarter of the mean of each walk.
WORDS, LINES, FORMULAS = 100, 6, 1
FIGURES, EXPLORABLES, PREDICTIONS = Fraction(3, 4), 3, Fraction(3, 2)

_NO_WORDS = re.compile(
    r"```.*?```"  # code
    r"|\$\$.*?\$\$"
    r"|^:::+.*?$|^\([\w-]+\)=$"  # directives and labels
    r"|\]\([^)]*\)|\s<[^<>`]+>(?=`)"  # where a link leads
    r"|[-|: ]{5,}$",  # the line below a table's head
    re.DOTALL | re.MULTILINE,
)
EXERCISE = re.compile(r"^\*Difficulty \d of 3, about (\d+) minutes?\.\*$", re.MULTILINE)


@dataclass
class Cost:
    """What a reader meets on the page of one notebook."""

    words: int = 0
    code_lines: int = 0
    output_lines: int = 0
    figures: int = 0
    explorables: int = 0
    predictions: int = 0
    formulas: int = 0
    exercise_minutes: int = 0
    visible_assertions: int = 0
    longest_listing: int = 0

    @property
    def reading(self) -> int:
        """The words alone, rounded up."""
        return ceil(Fraction(self.words, WORDS))

    @property
    def minutes(self) -> int:
        """All of it, rounded up. The minutes that an exercise names hold its code already."""
        lines = 0 if self.exercise_minutes else self.code_lines + self.output_lines
        spent = (
            Fraction(self.words, WORDS)
            + Fraction(lines, LINES)
            + self.figures * FIGURES
            + self.explorables * EXPLORABLES
            + self.predictions * PREDICTIONS
            + self.formulas * FORMULAS
        )
        return ceil(spent) + self.exercise_minutes


def text_of(source: str) -> str:
    """The words of a markdown cell as a reader sees them, a title of a folded answer included."""
    titles = " ".join(re.findall(r"^:::+\{dropdown\} (.*)$", source, re.MULTILINE))
    formulas = re.sub(r"\$[^$\n]+\$", "x", _NO_WORDS.sub(" ", source))
    return f"{titles} {formulas}"


def parts_shown(cell: NotebookNode) -> tuple[bool, bool]:
    """Whether the page shows a cell's source, and whether it shows its output."""
    tags = set(cell.metadata.get("tags", []))
    if tags & {"remove-cell", "hide-cell"}:
        return False, False
    return not tags & {"remove-input", "hide-input"}, not tags & {"remove-output", "hide-output"}


def lines_of(text: str) -> int:
    """Lines that are not empty."""
    return sum(bool(line.strip()) for line in text.splitlines())


def cost(notebook: NotebookNode) -> Cost:
    """Count what the page of a notebook shows."""
    found = Cost()
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            counted = text_of(SAID.sub("0 minutes", cell.source))  # the same whatever it says
            found.words += len(re.findall(r"\w[\w’'.,-]*", counted))
            found.predictions += len(re.findall(r"\{dropdown\} Predict", cell.source))
            found.formulas += len(re.findall(r"\$\$.*?\$\$", cell.source, re.DOTALL))
            found.exercise_minutes += sum(map(int, EXERCISE.findall(cell.source)))
            # A drawing or picture that stands in the text
            found.figures += len(re.findall(r"!\[|\{(?:figure|image)\}", cell.source))
        if cell.cell_type != "code":
            continue
        source_shown, output_shown = parts_shown(cell)
        if source_shown:
            found.code_lines += lines_of(cell.source)
            found.longest_listing = max(found.longest_listing, lines_of(cell.source))
            found.visible_assertions += len(re.findall(r"^\s*assert |assert_", cell.source, re.M))
        for output in cell.outputs if output_shown else []:
            data = output.get("data", {})
            listing = data.get("text/markdown", "")
            if output.output_type == "stream":
                found.output_lines += lines_of(output.text)
            elif "data-d2lx" in data.get("text/html", ""):
                found.explorables += 1
            elif {"image/png", "image/svg+xml"} & data.keys() or "<svg" in data.get(
                "text/html", ""
            ):
                found.figures += 1
            elif listing.startswith("```"):  # a listing out of the package
                found.code_lines += lines_of(listing) - 2
                found.longest_listing = max(found.longest_listing, lines_of(listing) - 2)
            else:
                found.output_lines += lines_of(data.get("text/plain", ""))
    return found


def line(found: Cost, path: Path) -> str:
    """What a header says after *About*."""
    reading = f", {found.reading} of them reading" if path.stem == "walk" else ""
    return f"{found.minutes} minutes{reading}"


def said(notebook: NotebookNode) -> int | None:
    """The minutes that the header says."""
    found = SAID.search(notebook.cells[0].source)
    return int(found[1]) if found and found[1].isdigit() else None


def main(arguments: list[str]) -> None:
    """Print a line a notebook; with ``--write`` mend headers and names of cells."""
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
            first.source, found = SAID.subn(line(spent, path), first.source, count=1)
            if not found and path.parent != CHAPTERS:  # one page there has no opener
                sys.exit(f"{path.name}: its first cell needs a line *About … minutes. …*")
            tidy(notebook)  # a cell is named after its text
            text = nbformat.writes(notebook) + "\n"
            if text != path.read_text(encoding="utf-8"):
                path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
