"""Write the notebooks for Colab, each with a first cell that fetches the book.

usage: python -m tools.colab FOLDER

CI puts the folder on the branch `colab`; the pages' Colab links lead there.
"""

import sys
from pathlib import Path

import nbformat
import yaml

from tools.run_notebooks import NOTEBOOKS

ROOT = Path(__file__).resolve().parents[1]
FIRST_CELL = """\
# Fetch the book and install its package; takes about a minute.
!git clone --quiet --depth=1 {url} /content/book
%pip install --quiet "/content/book[book]"
%cd /content/book/{folder}"""


def write(folder: Path) -> None:
    """Write every notebook, its outputs kept, below `folder`."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    images = "{url}/raw/{branch}/images".format(**config["repository"])
    for path in NOTEBOOKS:
        place = path.relative_to(ROOT)
        source = FIRST_CELL.format(url=config["repository"]["url"], folder=place.parent)
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:  # Colab finds no file beside a notebook
            if cell.cell_type == "markdown":
                cell.source = cell.source.replace("](../../images/", f"]({images}/")
        notebook.cells.insert(0, nbformat.v4.new_code_cell(source, id="fetch-the-book"))
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, folder / place)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    write(Path(sys.argv[1]))
