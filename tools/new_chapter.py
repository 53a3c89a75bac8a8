"""Make the skeleton of a chapter, with an entry in every place that lists chapters.

usage: python -m tools.new_chapter 13 name-of-it "Its question?"

Then: replace each "…", draw website/theme/drawings/12.svg, and run `make words check book`.
"""

import re
import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import honest_time, run_notebooks

ROOT = Path(__file__).resolve().parents[1]
COUNTS = ["Sixteen", "Seventeen", "Eighteen", "Nineteen", "Twenty", "Twenty-one"]

WALK = """\
(ch-{name})=
# {number}. {question}

:::{{div}} facts
- **Time:** … minutes
- **You need:** …
:::

{question}

**…?** You will be able to …
~
import d2lattn as d2l

len(d2l.__all__) > 0
~
:::{{dropdown}} *Predict first:* …?
…
:::

## One for you

… A task on paper, of a few sentences, with all the numbers that it takes; it asks for one number or
one word, and for the reason.

:::{{dropdown}} Solution
…
:::

## The answer

*{question}* …

**To take away**

1. …
2. …
3. …

:::{{div}} onward
[Open workshop {number}](workshop.ipynb)
:::
"""
WORKSHOP = """\
# {number}.1 Workshop

:::{{div}} facts
- **Time:** … minutes
- **You need:** [chapter {number}](walk.ipynb)
:::

Exercises: copy the form of another chapter's workshop. Their checks belong into
`d2lattn/book/exercises/chapter{number:0>2}.py`.
~
import d2lattn as d2l

len(d2l.__all__) > 0
"""
QUESTION = """\
  - asks: "Question …?"
    right: "The right answer …"
    because: "It is right because …"
    wrong:
      - says: "A wrong answer …"
        means: "Who says so believes …"
      - says: "Another wrong answer …"
        means: "Who says so believes …"
"""
DRAWING = """\
<svg class="small" viewBox="0 0 72 48" aria-hidden="true">
  <circle class="query" cx="18" cy="24" r="3"/>
  <circle class="key" cx="54" cy="24" r="3"/>
</svg>
"""


def insert_after_last(path: Path, pattern: str, text: str) -> None:
    """Insert a text after the last match of a pattern."""
    page = path.read_text(encoding="utf-8")
    matches = [*re.finditer(pattern, page, re.MULTILINE)]
    end = matches[-1].end()
    path.write_text(page[:end] + text + page[end:], encoding="utf-8")


def write_notebook(path: Path, text: str) -> None:
    """Write cells that are divided by lines with ~: text, code, text; then run them."""
    cells = [
        new_code_cell(cell) if i % 2 else new_markdown_cell(cell)
        for i, cell in enumerate(text.strip().split("\n~\n"))
    ]
    nbformat.write(new_notebook(cells=cells), path)
    run_notebooks.run(path)
    honest_time.main(["--write", str(path)])


def main(number: str, name: str, question: str) -> None:
    """Make the chapter."""
    digits = re.match(r"\d+", number)[0]
    folder = f"{digits.zfill(2)}{number.removeprefix(digits)}-{name}"
    values = {"number": number, "name": name, "question": question}
    (ROOT / "chapters" / folder).mkdir()
    write_notebook(ROOT / "chapters" / folder / "walk.ipynb", WALK.format(**values))
    write_notebook(ROOT / "chapters" / folder / "workshop.ipynb", WORKSHOP.format(**values))
    quiz = f"walk: chapters/{folder}/walk\nquestions:\n"
    quiz += "".join(QUESTION.replace("Question", f"Question {i}") for i in range(1, 6))
    (ROOT / "teaching" / "quizzes" / f"{number}.yaml").write_text(quiz, encoding="utf-8")
    (ROOT / "website" / "theme" / "drawings" / f"{number}.svg").write_text(DRAWING, "utf-8")

    row = r"^\| \d+[a-z]? \|.*\n"
    insert_after_last(ROOT / "index.md", row, f"| {number} | {question} | … |\n")
    answer = f"| {number} | {question} | [Walk {number}]({folder}/walk.ipynb) answers it. |\n"
    insert_after_last(ROOT / "chapters" / "the-end.md", row, answer)
    toc = f"      - file: chapters/{folder}/walk\n        sections:\n"
    toc += f"          - file: chapters/{folder}/workshop\n"
    insert_after_last(ROOT / "_toc.yml", r"^ +- file: chapters/\d.*\n", toc)
    links = f"[{question}]({folder}/walk.ipynb) | [workshop]({folder}/workshop.ipynb)"
    start = ROOT / "chapters" / "start.ipynb"
    notebook = nbformat.read(start, as_version=4)
    rows = [*re.finditer(row, notebook.cells[0].source, re.MULTILINE)]
    text, end = notebook.cells[0].source, rows[-1].end()
    notebook.cells[0].source = f"{text[:end]}| {number} | {links} |\n{text[end:]}"
    run_notebooks.tidy(notebook)
    nbformat.write(notebook, start)
    quizzes = f"\n## {number}. {question}\n\n```{{quiz}} {number}\n```\n"
    page = ROOT / "reference" / "quizzes.md"
    page.write_text(page.read_text(encoding="utf-8") + quizzes, encoding="utf-8")
    landing = ROOT / "index.md"
    page = landing.read_text(encoding="utf-8")
    for count, following in zip(COUNTS[-2::-1], COUNTS[:0:-1], strict=True):
        page = page.replace(f"{count} questions", f"{following} questions")
    landing.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
