"""The lab's grader on submissions that are right, wrong, empty, and that crash or hang."""

import csv

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import grade_lab

RIGHT = '''
import torch


def causal_mask(length):
    return torch.ones(length, length, dtype=torch.bool).tril()


@torch.no_grad()
def moves(model, tokens, place, rows, *valid):
    other = tokens.clone()
    other[0, place] = (other[0, place] + 1) % 10
    return not torch.allclose(model(tokens, *valid)[:, :rows], model(other, *valid)[:, :rows])


def sees_later(model, tokens):
    model.eval()
    return any(moves(model, tokens, place, place) for place in range(1, tokens.shape[1]))


def sees_padding(model, tokens, valid):
    model.eval()
    return any(moves(model, tokens, p, valid, valid) for p in range(valid, tokens.shape[1]))


VERDICT = {"A": False, "B": True, "C": True, "D": False}
WHY = """The answers stand
in sight."""
'''


@pytest.mark.parametrize(
    ("name", "body", "points", "remark"),
    [
        ("causal_mask", "(n): return torch.ones(n, n).tril()", 1, "not boolean"),
        ("causal_mask", "(n): return torch.ones(n, n).triu(1).bool()", 0, "may NOT attend"),
        ("causal_mask", "(n): return torch.ones(n, n).triu().bool()", 0, "other triangle"),
        ("causal_mask", "(n): return torch.ones(n, n).tril(-1).bool()", 0, "attend to itself"),
        ("causal_mask", "(n): return [[True] * n] * n", 0, "not a tensor"),
        ("causal_mask", "(n): return 1 / 0", 0, "ZeroDivisionError"),
        ("causal_mask", "(n): raise NotImplementedError", 0, "is open"),
        ("sees_later", "(model, tokens): return True", 0, "accuses"),
        ("sees_later", "(model, tokens): return False", 0, "not find that all"),
        ("sees_later", "(m, t): m.eval(); return moves(m, t, -1, 6)", 2, "attends to the second"),
        ("sees_later", "(m, t): return any(moves(m, t, p, p) for p in range(1, 7))", 2, "dropout"),
        ("sees_later", "(model, tokens): raise SystemExit", 0, "SystemExit"),
        ("sees_padding", "(model, tokens, valid): return True", 0, "accuses"),
        ("sees_padding", "(m, t, v): m.eval(); return moves(m, t, -1, v, v)", 1, "there is none"),
    ],
)
def test_wrong_function_loses_points_and_the_reason_is_given(
    one_thread, name, body, points, remark
):
    names = {}
    exec(RIGHT, names)
    exec(f"def {name}{body}", names)
    graded = grade_lab.grade_part(name, names)
    assert graded["points"] == points
    assert remark in graded["remark"]


@pytest.mark.slow
def test_folder_gives_a_table_and_no_submission_stops_another(tmp_path):
    crash = RIGHT.replace("VERDICT =", "open('suspects.py', 'w').write('broken')\nVERDICT = 3 / 0,")
    later = f"{str(tmp_path / 'in' / 'zoë.ipynb')!r}"
    texts = {
        "ada": crash + f"open({later}, 'w').write('broken')\n",
        "bob": "import os\nos._exit(7)",
        "cyd": RIGHT + "VERDICT = {k: torch.tensor(v) for k, v in VERDICT.items()}\n",
        "dan": RIGHT + "print = lambda *_: __import__('builtins').print('[9]')\n",
        "eva žižka": "# coding: latin-1\n",
    }
    for name, text in texts.items():
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "missing_mask.py").write_text(text, encoding="utf-8")
    (tmp_path / "in" / "dan" / "._missing_mask.py").write_bytes(b"\0")
    (tmp_path / "in" / "dan" / "no.ipynb").write_text("no notebook", encoding="utf-8")
    code = [new_code_cell(part) for part in RIGHT.split("\n\n\n")]
    scratch = [new_code_cell(text) for text in ("!true", "x = (", "torch.tril?", "%%bash\ntrue")]
    notebook = new_notebook(cells=[new_markdown_cell("At last: ("), *scratch, *code])
    (tmp_path / "in" / ".ipynb_checkpoints").mkdir()
    for name in ("zoë.ipynb", ".ipynb_checkpoints/zoë-checkpoint.ipynb"):
        nbformat.write(notebook, tmp_path / "in" / name)
    table = tmp_path / "points.csv"
    grade_lab.main([str(tmp_path / "in"), "--output", str(table)])
    with table.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["sum (8)"] for row in rows] == ["7", "0", "8", "0", "0", "0", "8"]
    remarks = [row["remarks"] for row in rows]
    assert "ZeroDivisionError" in remarks[0]
    assert remarks[1].startswith("ended its process")
    assert "gave no points" in remarks[3]
    assert "cannot be read" in remarks[4]
    assert "is not there" in remarks[5]
    assert rows[6]["WHY (2)"] == "The answers stand in sight."


@pytest.mark.slow
def test_submission_that_hangs_is_stopped():
    graded = grade_lab.grade([new_code_cell("while True:\n    pass")], 1)
    assert graded["remarks"][0] == "was stopped after 1 seconds"


def test_missing_folder_is_named(tmp_path):
    with pytest.raises(SystemExit, match="nowhere is not a folder"):
        grade_lab.main([str(tmp_path / "nowhere")])
