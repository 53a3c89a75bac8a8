"""The package's rooms: imports point down, from the book to the library, and never up."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "d2lattn"
MAY_IMPORT = {
    "library": {"library"},
    "corpus": {"library", "corpus"},
    "analysis": {"library", "analysis"},
    "book": {"library", "corpus", "analysis", "book"},
}
MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def room(module: str) -> str:
    """Return the room of `d2lattn.corpus.pairs`: its first folder, or the library."""
    folder = [*module.split("."), ""][1]
    return folder if folder in MAY_IMPORT else "library"


def imports(path: Path) -> set[str]:
    """List what a file imports from the package, wherever it does so."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "write imports in full, from d2lattn on"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] == "d2lattn"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path):
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for imported in imports(path):
        assert room(imported) in MAY_IMPORT[room(name)], f"{name} may not import {imported}"
        module = imported.split(".")[1:2]
        top = PACKAGE.joinpath(*module)
        # The package's face imports all others: who imported it would stand above and below itself
        is_module = top != PACKAGE and (top.is_dir() or top.with_suffix(".py").is_file())
        assert is_module, f"{name}: import {imported} from the module that defines it"


def test_package_imports_without_the_book():
    # PyTorch first: some versions load tqdm
    code = "import sys, torch; before = {*sys.modules}; import d2lattn; "
    code += "print(*{*sys.modules} - before)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = run.stdout.split()
    assert "d2lattn" in loaded
    assert not [name for name in loaded if name.startswith("d2lattn.book")]
    unwanted = {"matplotlib", "IPython", "ipywidgets", "anywidget", "sacrebleu", "tqdm"}
    assert not unwanted & set(loaded)
