"""Change the library in one place at a time and see whether its tests notice.

usage: python -m tools.mutate [--sample 100] [--seed 0] [--output mutation.json] [MODULE ...]

Each mutant swaps an operator, changes a number, negates a condition or drops a keyword argument
in one module of d2lattn, runs that module's tests, and is undone. Run it in a clone of its own.
"""

import argparse
import ast
import copy
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = {
    "checks": ["checks", "wrong_input", "masks"],
    "decoding": ["decoding"],
    "fused": ["scoring", "relative"],
    "kernel_regression": ["kernel_regression", "wrong_input"],
    "masks": ["masks", "scoring"],
    "multihead": ["multihead", "relative", "scoring", "transformer", "wrong_input"],
    "positional": ["positional", "relative", "wrong_input"],
    "scoring": ["scoring", "attention_weights", "wrong_input"],
    "seq2seq": ["seq2seq", "bare", "wrong_input"],
    "training": ["training"],
    "transformer": ["transformer", "relative", "wrong_input"],
}
SWAPS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


def mutate(node: ast.AST) -> Iterator[str]:
    """Change a node in place in every way, yielding what was done while it is changed."""
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPS:
        old, node.op = node.op, SWAPS[type(node.op)]()
        yield f"{type(old).__name__} -> {type(node.op).__name__}"
        node.op = old
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        old, node.ops[0] = node.ops[0], SWAPS[type(node.ops[0])]()
        yield f"{type(old).__name__} -> {type(node.ops[0]).__name__}"
        node.ops[0] = old
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        old = node.value
        node.value = old + 1
        yield f"{old} -> {node.value}"
        node.value = old
    elif isinstance(node, ast.If | ast.IfExp):
        old = node.test
        node.test = ast.UnaryOp(ast.Not(), old)
        yield "condition negated"
        node.test = old
    elif isinstance(node, ast.Call):
        for place, keyword in enumerate(list(node.keywords)):
            node.keywords.pop(place)
            yield f"without {keyword.arg}="
            node.keywords.insert(place, keyword)


def mutants(module: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the change and the source of every mutant of a module."""
    tree = ast.parse((ROOT / "d2lattn" / f"{module}.py").read_text("utf8"))
    for node in ast.walk(tree):
        for change in mutate(node):
            source = ast.unparse(ast.fix_missing_locations(copy.deepcopy(tree)))
            yield getattr(node, "lineno", 0), change, source


def is_killed(module: str, source: str) -> bool:
    """Run the module's tests and doctests on a mutant."""
    path = ROOT / "d2lattn" / f"{module}.py"
    original = path.read_text("utf8")
    tests = [f"tests/test_{name}.py" for name in TESTS[module]]
    options = ["-x", "-q", "-p", "no:nbval", "--doctest-modules", "--hypothesis-profile=quick"]
    try:
        path.write_text(source, "utf8")
        command = [sys.executable, "-m", "pytest", *options, str(path), *tests]
        return subprocess.run(command, cwd=ROOT, capture_output=True, timeout=900).returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(original, "utf8")


def main() -> None:
    """Try a random sample and store what lives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=list(TESTS))
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("mutation.json"))
    options = parser.parse_args()
    every = [(module, *mutant) for module in options.modules for mutant in mutants(module)]
    sample = random.Random(options.seed).sample(every, min(options.sample, len(every)))
    alive = []
    for number, (module, line, change, source) in enumerate(sorted(sample), 1):
        if not is_killed(module, source):
            alive.append(f"{module}.py:{line}: {change}")
            print(alive[-1], flush=True)
        print(f"{number - len(alive)} of {number} killed", end="\r", flush=True)
    killed = len(sample) - len(alive)
    result = {"mutants": len(every), "sample": len(sample), "killed": killed, "alive": alive}
    options.output.write_text(json.dumps(result, indent=1) + "\n", "utf8")
    print(f"{killed} of {len(sample)} killed")


if __name__ == "__main__":
    main()
