"""What a learner has not done is not right, whatever solutions have been run before."""

import ast
import re

import nbformat
import pytest
import torch

from d2lattn.book.exercises.checking import Check
from tools.run_notebooks import CHAPTERS

WORKSHOPS = sorted(CHAPTERS.glob("*/workshop.ipynb"))
CHECK_CALL = re.compile(r"\.check_\w+\(")


def is_solution(cell):
    return "hide-cell" in cell.metadata.get("tags", [])


def names_bound_by(source):
    """All names that a cell defines or assigns at its top level."""
    code = compile(source, "cell", "exec")
    return set(code.co_names) & {
        node.name if isinstance(node, ast.FunctionDef) else node.id
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    }


def run_check(source, namespace, right_for=()):
    """Run a cell whose last line is a check, after names have got the right answers.

    ``right_for`` are the names that solutions bind; where the check is given one of them, the
    cell starts with the right answer behind it.
    """
    *statements, last = ast.parse(source).body
    check = eval(ast.unparse(last.value.func), namespace)
    assert isinstance(check, Check)
    answers, right = last.value.args, check.right
    if len(answers) == 1 and isinstance(answers[0], ast.Tuple):
        answers, right = answers[0].elts, right[0]
    for answer, value in zip(answers, right, strict=False):
        if isinstance(answer, ast.Name) and answer.id in right_for:
            namespace[answer.id] = value
    exec(compile(ast.Module(statements, []), "cell", "exec"), namespace)
    return repr(eval(ast.unparse(last.value), namespace))


@pytest.mark.parametrize("path", WORKSHOPS, ids=lambda path: path.parent.name)
def test_no_solution_makes_an_untouched_stub_right(path):
    setup, *cells = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    namespace, not_run = {}, []
    bound_by_solutions = set()
    for cell in cells:
        if is_solution(cell):
            bound_by_solutions |= names_bound_by(cell.source)
    default_threads = torch.get_num_threads()
    exec(setup.source, namespace)
    stubs = 0
    for cell in cells:
        if is_solution(cell):
            continue
        if not CHECK_CALL.search(cell.source):
            not_run.append(cell.source)
            continue
        stored = cell.outputs[-1]["data"]["text/plain"]
        try:
            shown = run_check(cell.source, namespace, bound_by_solutions)
        except NameError:  # the stub needs what stands above it
            for source in not_run:
                exec(source, namespace)
            not_run.clear()
            shown = run_check(cell.source, namespace, bound_by_solutions)
        assert shown == stored
        assert "not attempted yet" in shown or "not yet" in shown
        stubs += 1
    assert stubs >= 3 or not cells  # a new chapter's workshop is empty
    torch.set_num_threads(default_threads)
    torch.set_printoptions(profile="default")
