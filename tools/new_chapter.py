"""Make the skeleton of a chapter, with an entry in every place that lists chapters.

usage: python -m tools.new_chapter 13 name-of-it "Its question?"

Then: replace each "…", draw website/theme/drawings/13.svg, and run `make words check book`.
"""

import re
import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import reading_time, run_notebooks

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = ROOT / "tools" / "templates"
COUNTS = ["Nineteen", "Twenty", "Twenty-one", "Twenty-two"]


def insert(text: str, entry: str, number: str, pattern: str) -> str:
    """Insert a chapter's entry after those that come before it; group 1 is an entry's number.

    >>> insert("8 a\\n9 b\\n", "8b new\\n", "8b", r"^(\\w+) .*\\n")
    '8 a\\n8b new\\n9 b\\n'
    """

    def order(name: str) -> tuple[int, str]:
        digits, letter = re.fullmatch(r"0?(\d+)([a-z]?)", name).groups()
        return int(digits), letter

    entries = re.finditer(pattern, text, re.MULTILINE)
    end = max(found.end() for found in entries if order(found[1]) < order(number))
    return text[:end] + entry + text[end:]


def insert_into(path: Path, entry: str, number: str, pattern: str) -> None:
    """Insert a chapter's entry into a file."""
    page = insert(path.read_text(encoding="utf-8"), entry, number, pattern)
    path.write_text(page, encoding="utf-8")


def fill(template: str, values: dict[str, str]) -> str:
    """Fill in a template of `tools/templates/`."""
    return (TEMPLATES / template).read_text(encoding="utf-8").format(**values)


def write_notebook(path: Path, text: str) -> None:
    """Write cells that are divided by lines with ~: text, code, text; then run them."""
    cells = [
        new_code_cell(cell) if i % 2 else new_markdown_cell(cell)
        for i, cell in enumerate(text.strip().split("\n~\n"))
    ]
    nbformat.write(new_notebook(cells=cells), path)
    run_notebooks.run(path)
    reading_time.main(["--write", str(path)])


def main(number: str, name: str, question: str) -> None:
    """Make the chapter."""
    digits = re.match(r"\d+", number)[0]
    folder = f"{digits.zfill(2)}{number.removeprefix(digits)}-{name}"
    values = {"number": number, "name": name, "question": question, "folder": folder}
    (ROOT / "chapters" / folder).mkdir()
    write_notebook(ROOT / "chapters" / folder / "walk.ipynb", fill("walk.md", values))
    write_notebook(ROOT / "chapters" / folder / "workshop.ipynb", fill("workshop.md", values))
    quiz = ROOT / "teaching" / "quizzes" / f"{number}.yaml"
    quiz.write_text(fill("quiz.yaml", values), encoding="utf-8")
    drawing = ROOT / "website" / "theme" / "drawings" / f"{number}.svg"
    drawing.write_text(fill("drawing.svg", values), encoding="utf-8")

    row = r"^\| (\d+[a-z]?) \|.*\n"
    insert_into(ROOT / "index.md", f"| {number} | {question} | … |\n", number, row)
    answer = f"| {number} | {question} | [Walk {number}]({folder}/walk.ipynb) answers it. |\n"
    insert_into(ROOT / "chapters" / "the-end.md", answer, number, row)
    toc = f"      - file: chapters/{folder}/walk\n        sections:\n"
    toc += f"          - file: chapters/{folder}/workshop\n"
    insert_into(ROOT / "_toc.yml", toc, number, r"^ +- file: chapters/(\d+[a-z]?)-.*\n")
    links = f"[{question}]({folder}/walk.ipynb) | [workshop]({folder}/workshop.ipynb)"
    start = ROOT / "chapters" / "start.ipynb"
    notebook = nbformat.read(start, as_version=4)
    first = notebook.cells[0]
    first.source = insert(first.source, f"| {number} | {links} |\n", number, row)
    run_notebooks.tidy(notebook)
    nbformat.write(notebook, start)
    entry = f"\n## {number}. {question}\n\n```{{quiz}} {number}\n```\n"
    insert_into(ROOT / "reference" / "quizzes.md", entry, number, r"^```\{quiz\} (\w+)\n```\n")
    landing = ROOT / "index.md"
    page = landing.read_text(encoding="utf-8")
    for count, following in zip(COUNTS[-2::-1], COUNTS[:0:-1], strict=True):
        page = page.replace(f"{count} questions", f"{following} questions")
    landing.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
