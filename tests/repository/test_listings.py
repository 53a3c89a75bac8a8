"""What the chapters print as the bare mechanism is what stands in `bare.py`,
`bare_after.py` and `bare_modern.py`."""

import ast
import re
from functools import cache
from pathlib import Path

import nbformat
import pytest

from d2lattn import bare, bare_after, bare_modern
from tools.run_notebooks import NOTEBOOKS

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "reference" / "bare.md"

# A walk prints its part of the mechanism itself; a LLaMA's parts lead its walk too far away.
ASIDE = {"12-gpt/deeper-llama"}
PRINTERS = [p for p in NOTEBOOKS if p.stem == "walk" or f"{p.parent.name}/{p.stem}" in ASIDE]


def statements(definition: ast.FunctionDef | ast.ClassDef) -> str:
    """A function or class without its docstrings, as one text that knows no comments."""
    definition = ast.parse(ast.unparse(definition)).body[0]
    for node in ast.walk(definition):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            del node.body[0]
    return ast.unparse(definition)


def definitions(source: str) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """Functions and classes at the top level, by name."""
    nodes = ast.parse(source).body
    return {n.name: n for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}


PAGES = bare, bare_after, bare_modern
BARE = {
    name: node
    for page in PAGES
    for name, node in definitions(Path(page.__file__).read_text("utf-8")).items()
}


def uses(name: str) -> set[str]:
    """What else of the page a part of it calls."""
    names = {node.id for node in ast.walk(BARE[name]) if isinstance(node, ast.Name)}
    return (names & set(BARE)) - {name}


@cache
def cells(path: Path) -> list[nbformat.NotebookNode]:
    """The code of a notebook."""
    return [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]


def in_sight(cell: nbformat.NotebookNode) -> bool:
    hidden = {"remove-cell", "hide-cell", "remove-input", "hide-input"}
    return not hidden & set(cell.metadata.get("tags", []))


def is_printed(cell: nbformat.NotebookNode) -> bool:
    """In sight, or in a fold below the sentence that says it, or below the task that it solves."""
    return in_sight(cell) or bool({"hide-input", "hide-cell"} & {*cell.metadata.get("tags", [])})


def printed(path: Path) -> list[str]:
    """What a page defines for its reader under a name of the one page, in its order."""
    sources = [cell.source for cell in cells(path) if is_printed(cell)]
    return [name for source in sources for name in definitions(source) if name in BARE]


def taken(source: str) -> set[str]:
    """Names that a cell imports from the two pages."""
    imports = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ImportFrom)]
    pages = {page.__name__ for page in PAGES}
    return {alias.name for n in imports if n.module in pages for alias in n.names}


def each(paths: list[Path]):
    names = [f"{path.parent.name}/{path.stem}" for path in paths]
    return pytest.mark.parametrize("path", paths, ids=names)


@each(NOTEBOOKS)
def test_listing_equals_the_one_page(path):
    """Hidden cells too: a name means one thing in the whole book."""
    for cell in cells(path):
        for name, definition in definitions(cell.source).items():
            if name in BARE:
                assert statements(definition) == statements(BARE[name])


@each(PRINTERS)
def test_listing_uses_only_earlier_listings(path):
    """What it calls was printed here, or by an earlier page, and is then imported in sight."""
    earlier = {name for page in PRINTERS[: PRINTERS.index(path)] for name in printed(page)}
    known: set[str] = set()
    for cell in filter(is_printed, cells(path)):
        # An import stands in sight, or in the fold of the listing that needs it.
        if in_sight(cell) or set(definitions(cell.source)) & set(BARE):
            assert taken(cell.source) <= earlier, "shown by no earlier page"
            known |= taken(cell.source)
        known |= set(definitions(cell.source)) & set(BARE)
        for name in definitions(cell.source):
            if name in BARE:
                assert uses(name) <= known, f"{name} calls what the reader has not seen"


def test_each_part_is_printed_by_one_page():
    by_pages = [name for path in PRINTERS for name in printed(path)]
    assert len(by_pages) == len(set(by_pages))
    assert set(by_pages) == set(BARE)


def test_page_of_all_listings_names_the_page_of_each():
    rows = re.findall(r"^\| \[.+\]\(\.\./(.+)\) \| (.+) \|$", TABLE.read_text("utf-8"), re.M)
    said = {ROOT / link: re.findall(r"`(\w+)`", names) for link, names in rows}
    assert said == {path: printed(path) for path in PRINTERS if printed(path)}
