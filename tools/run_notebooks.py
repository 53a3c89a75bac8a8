"""Run the chapters from a clean kernel and store their outputs in place, the same bytes every time.

usage: python -m tools.run_notebooks [--trust] [NOTEBOOK ...]

Without a name it takes all of chapters/. With --trust it runs nothing, but marks the notebooks as
trusted, so that JupyterLab shows their stored figures.
"""

import hashlib
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.sign import NotebookNotary

CHAPTERS = Path(__file__).resolve().parent.parent / "chapters"
NOTEBOOKS = [*sorted(CHAPTERS.glob("[0-9]*/*.ipynb")), CHAPTERS / "which-would-you-sign.ipynb"]
"""Walks, workshops and deeper pages, in a folder a chapter; and the page that is passed on."""

# Live widgets have random model ids, and nothing behind them once the kernel is gone. Without this
# type a stored output shows its text/html face: the static host.
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


# What the page folds or leaves out, JupyterLab folds; of a solution the output as well.
FOLDED = {"hide-cell", "hide-input", "remove-cell", "remove-input"}
OUTPUT_FOLDED = "hide-cell"


def name_cells(notebook: NotebookNode) -> None:
    """Name each cell after its content, so that ids do not change from run to run."""
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:8]
        seen[digest] = seen.get(digest, 0) + 1
        cell.id = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"


def merge_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join neighbouring pieces of one stream: where the kernel cuts them is chance."""
    merged: list[NotebookNode] = []
    for output in outputs:
        last = merged[-1] if merged else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            merged.append(output)
    return merged


def tidy(notebook: NotebookNode) -> None:
    """Take out what differs between two runs or two machines and teaches nothing."""
    name_cells(notebook)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        kept = {name: cell.metadata[name] for name in ("mystnb", "tags") if name in cell.metadata}
        tags = set(kept.get("tags", []))
        if cell.cell_type == "code" and FOLDED & tags:
            kept["jupyter"] = {"source_hidden": True}
            if OUTPUT_FOLDED in tags:
                kept["jupyter"]["outputs_hidden"] = True
        cell.metadata = nbformat.from_dict(kept)
        if cell.cell_type != "code":
            continue
        for output in cell.outputs:
            output.get("data", {}).pop(WIDGET_VIEW, None)
        cell.outputs = merge_streams(
            [o for o in cell.outputs if o.get("data", True) or o.output_type == "stream"]
        )


def run(path: Path) -> None:
    """Execute one notebook and write it back."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=900,
        kernel_name="python3",
        store_widget_state=False,
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    tidy(notebook)
    nbformat.validate(notebook)
    nbformat.write(notebook, path)


def trust(path: Path) -> None:
    """Sign a notebook for JupyterLab."""
    NotebookNotary().sign(nbformat.read(path, as_version=4))


if __name__ == "__main__":
    names = [name for name in sys.argv[1:] if name != "--trust"]
    for path in [Path(name) for name in names] or NOTEBOOKS:
        if "--trust" in sys.argv:
            trust(path)
        else:
            print(f"running {path.parent.name}/{path.name} …", flush=True)
            run(path)
