"""The rooms of the package: imports point down, from the book to the library, and nowhere up."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "d2lattn"
ROOMS = ("corpus", "analysis", "book")
KNOWS = {
    "library": {"library"},
    "corpus": {"library", "corpus"},
    "analysis": {"library", "analysis"},
    "book": {"library", "corpus", "analysis", "book"},
}
"""Which rooms a module of each room may import."""

FACE = PACKAGE / "__init__.py"
MODULES = sorted(set(PACKAGE.rglob("*.py")) - {FACE})


def dotted(module: Path) -> str:
    parts = module.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {dotted(module) for module in [*MODULES, FACE]}


def room(name: str) -> str:
    """Of a module: the first folder it lies in, or the library."""
    inside = name.split(".")[1:2]
    return inside[0] if inside and inside[0] in ROOMS else "library"


def imported(source: str, package: str) -> set[str]:
    """The modules of this package that a piece of Python imports, wherever it does so."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: -node.level + 1 or None] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            inside = {f"{base}.{alias.name}" for alias in node.names}
            found |= (inside & NAMES) | ({base} if inside - NAMES else set())
    return {name for name in found if name.split(".")[0] == "d2lattn"}


def imports_at_once(node: ast.AST) -> list[ast.Import | ast.ImportFrom]:
    """The imports that run when a module is imported: not in functions, not for types alone."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [node]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return []
    for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    inside = node.orelse if for_types else ast.iter_child_nodes(node)
    return [found for part in inside for found in imports_at_once(part)]


@pytest.mark.parametrize("module", MODULES, ids=dotted)
def test_imports_point_down(module):
    name = dotted(module)
    package = name if module.name == "__init__.py" else name.rpartition(".")[0]
    known = imported(module.read_text("utf8"), package)
    assert not {other for other in known if room(other) not in KNOWS[room(name)]}


@pytest.mark.parametrize("module", MODULES, ids=dotted)
def test_nothing_leans_on_the_face(module):
    """It imports all others, so one that imported it would stand above and below itself."""
    assert "d2lattn" not in imported(module.read_text("utf8"), dotted(module))


def test_the_face_brings_the_book_only_when_it_is_asked_for():
    at_once = imports_at_once(ast.parse(FACE.read_text("utf8")))
    known = {name for node in at_once for name in imported(ast.unparse(node), "d2lattn")}
    assert {"library", "analysis"} <= {room(name) for name in known}
    assert not {name for name in known if room(name) == "book"}


@pytest.mark.parametrize(
    ("source", "known"),
    [
        ("import d2lattn.book.live", {"d2lattn.book.live"}),
        ("def f():\n    from d2lattn.corpus import Batch", {"d2lattn.corpus"}),
        ("from d2lattn.book import plotting", {"d2lattn.book.plotting"}),
        ("from d2lattn import masks, train", {"d2lattn.masks", "d2lattn"}),
        ("from .batches import pad", {"d2lattn.corpus.batches"}),
        ("from ..book import live", {"d2lattn.book.live"}),
        ("from .. import book", {"d2lattn.book"}),
        ("import torch\nfrom numpy import array", set()),
    ],
)
def test_what_a_piece_of_python_imports(source, known):
    assert imported(source, "d2lattn.corpus") == known


def test_what_runs_when_a_module_is_imported():
    source = """
import a
if TYPE_CHECKING:
    import never
else:
    import b
try:
    import c
except ImportError:
    import d
class Inside:
    import e
def later():
    import never
"""
    found = [alias.name for node in imports_at_once(ast.parse(source)) for alias in node.names]
    assert found == ["a", "b", "c", "d", "e"]
