"""Put the explorables' bundles as they are now into the stored outputs of notebooks.

usage: python -m tools.refresh_explorables [NOTEBOOK ...]      (all of chapters/ if none is named)

An output holds words, code and state. Only the code changes when a bundle is built again, so no
cell has to be run for it. Whether the whole output is still what its cell gives, nbval checks.
"""

import re
import sys
from pathlib import Path

import nbformat

from d2lattn.book.explorables.base import BUNDLES, LOADER, script
from tools.run_notebooks import NOTEBOOKS

OUTPUT = re.compile(
    r'(data-d2lx="(\w+)-\w+">.*?<!--\n)(.*?)'
    r'(\nd2lx\.start\(.*-->.*?<script type="module">\n)(.*?)(</script>)',
    re.DOTALL,
)


def refreshed(html: str) -> str:
    """The same output with its figure's code as it is now."""

    def put(found: re.Match) -> str:
        before, name, _, between, _, end = found.groups()
        if not (BUNDLES / f"{name}.js").exists():
            return found[0]
        return before + script(name) + between + LOADER + end

    return OUTPUT.sub(put, html)


def refresh(path: Path) -> None:
    """Write a notebook back if an output of it has changed."""
    notebook = nbformat.read(path, as_version=4)
    changed = False
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            html = data.get("text/html", "")
            if "data-d2lx=" in html and refreshed(html) != html:
                data["text/html"] = refreshed(html)
                changed = True
    if changed:
        nbformat.write(notebook, path)
        print(f"refreshed {path.parent.name}/{path.name}")


if __name__ == "__main__":
    for name in [Path(name) for name in sys.argv[1:]] or NOTEBOOKS:
        refresh(name)
