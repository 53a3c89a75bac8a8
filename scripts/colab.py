"""The first cell of every notebook: on Colab it fetches the book and installs its package.

usage: python scripts/colab.py [NOTEBOOK ...]      (all of chapters/ if none is named)

Elsewhere the cell does nothing, so nothing is run: it is put in with an empty output, and the cells
after it are numbered on. Where it stands already, it is brought up to date with `_config.yml`.
"""

import sys
from pathlib import Path

import nbformat
import yaml
from nbformat import NotebookNode
from run_notebooks import NOTEBOOKS, tidy

ROOT = Path(__file__).resolve().parents[1]
MARK = 'if "google.colab" in sys.modules:'
SOURCE = """\
import sys

{mark}  # elsewhere nothing happens
    import os
    import subprocess

    url = "{url}"
    steps = [
        ["git", "clone", "-q", "--depth=1", url, "/content/book"],
        [sys.executable, "-m", "pip", "install", "-q", "/content/book[book]"],
    ]
    for step in [] if os.path.exists("/content/book") else steps:
        subprocess.run(step, check=True)
    os.chdir("/content/book/chapters/01-attention-cues")  # drawings are near"""


def source() -> str:
    """The cell, with the repository that `_config.yml` names."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    return SOURCE.format(mark=MARK, url=config["repository"]["url"])


def is_in(notebook: NotebookNode) -> bool:
    """Whether a notebook begins with the cell."""
    code = next((cell for cell in notebook.cells if cell.cell_type == "code"), None)
    return code is not None and MARK in code.source


def put_in(notebook: NotebookNode) -> None:
    """Put the cell behind the title, or bring it up to date."""
    if is_in(notebook):
        next(cell for cell in notebook.cells if cell.cell_type == "code").source = source()
    else:
        cell = nbformat.v4.new_code_cell(source(), metadata={"tags": ["remove-cell"]})
        notebook.cells.insert(1, cell)
    for number, cell in enumerate((c for c in notebook.cells if c.cell_type == "code"), 1):
        cell.execution_count = number
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = number
    tidy(notebook)


def link(repository: str, branch: str, page: str) -> str:
    """Where Colab opens a page's notebook.

    >>> link("https://github.com/owner/name", "main", "chapters/x/walk")
    'https://colab.research.google.com/github/owner/name/blob/main/chapters/x/walk.ipynb'
    """
    slug = "/".join(repository.rstrip("/").split("/")[-2:])
    return f"https://colab.research.google.com/github/{slug}/blob/{branch}/{page}.ipynb"


def main(names: list[str]) -> None:
    """Put it into notebooks."""
    for path in [Path(name) for name in names] or NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        put_in(notebook)
        nbformat.validate(notebook)
        path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
