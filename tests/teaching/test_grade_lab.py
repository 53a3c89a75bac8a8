"""The lab's grader on submissions that are right, wrong, empty, and that crash, hang or cheat."""

import csv
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from tools import grade_lab

HANDOUT = grade_lab.LAB / "missing_mask.py"
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
FULL = {"causal_mask": 2, "sees_later": 3, "sees_padding": 2, "VERDICT": 1}


def with_another(name: str, definition: str) -> str:
    """The right submission, but for one function."""
    text, found = re.subn(
        rf"(?ms)^def {name}\(.*?\n\n\n", lambda _: f"{definition}\n\n\n", RIGHT, count=1
    )
    assert found
    return text


@pytest.fixture
def graded(one_thread, tmp_path, monkeypatch):
    """Grade a text, here or in a process of its own."""
    monkeypatch.syspath_prepend(grade_lab.LAB)

    def grade(text: str, name: str = "missing_mask.py", alone: float = 0) -> dict:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        if alone:
            return grade_lab.grade(path, alone)
        grade_lab.grade_one(path, tmp_path / "report.json")
        return json.loads((tmp_path / "report.json").read_text("utf8"))

    return grade


def test_the_right_one_gets_all(graded):
    found = graded(RIGHT)
    assert found == {"points": FULL, "remarks": [], "why": "The answers stand in sight."}


def test_a_notebook_is_graded_as_well(graded):
    code = {"cell_type": "code", "source": ["%pip install x\n", "!ls\n", *RIGHT.splitlines(True)]}
    words = {"cell_type": "markdown", "source": ["My solution, at last: ("]}
    found = graded(json.dumps({"cells": [words, code]}), "mine.ipynb")
    assert found["points"] == FULL


def test_the_handout_as_it_is_gets_nothing_and_is_told_what_is_open(graded):
    found = graded(HANDOUT.read_text("utf8"))
    assert found["points"] == dict.fromkeys(FULL, 0)
    assert found["remarks"][0] == "causal_mask: is open"
    assert found["why"] == ""


@pytest.mark.parametrize(
    ("name", "definition", "points", "said"),
    [
        (
            "causal_mask",
            "def causal_mask(n):\n    return torch.ones(n, n).tril()",
            1,
            "not boolean",
        ),
        (
            "causal_mask",
            "def causal_mask(n):\n    return torch.ones(n, n).triu(1).bool()",
            0,
            "may NOT look",
        ),
        (
            "causal_mask",
            "def causal_mask(n):\n    return torch.ones(n, n).triu().bool()",
            0,
            "other triangle",
        ),
        (
            "causal_mask",
            "def causal_mask(n):\n    return torch.ones(n, n).tril(-1).bool()",
            0,
            "may ask itself",
        ),
        ("causal_mask", "def causal_mask(n):\n    return [[True] * n] * n", 0, "no tensor"),
        ("causal_mask", "def causal_mask(n):\n    return 1 / 0", 0, "ZeroDivisionError"),
        ("sees_later", "def sees_later(model, tokens):\n    return True", 0, "accuses"),
        ("sees_later", "def sees_later(model, tokens):\n    return False", 0, "not find that all"),
        (
            "sees_later",
            "def sees_later(model, tokens):\n    model.eval()\n"
            "    return moves(model, tokens, -1, tokens.shape[1] - 1)",
            2,
            "the first place sees the second",
        ),
        (
            "sees_later",
            "def sees_later(model, tokens):\n"
            "    return any(moves(model, tokens, p, p) for p in range(1, tokens.shape[1]))",
            2,
            "takes dropout",
        ),
        ("sees_later", "def sees_later(model, tokens):\n    raise SystemExit", 0, "SystemExit"),
        ("sees_padding", "def sees_padding(model, tokens, valid):\n    return True", 0, "accuses"),
        (
            "sees_padding",
            "def sees_padding(model, tokens, valid):\n    model.eval()\n"
            "    return moves(model, tokens, -1, valid, valid)",
            1,
            "padding where there is none",
        ),
    ],
)
def test_a_wrong_function_loses_its_points_alone_and_is_told_why(
    graded, name, definition, points, said
):
    found = graded(with_another(name, definition))
    assert found["points"] == FULL | {name: points}
    (remark,) = found["remarks"]
    assert remark.startswith(f"{name}: ")
    assert said in remark


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("\n\n  \n", "is empty"),
        ("def causal_mask(:", "does not run: SyntaxError"),
        ("import no_such_package", "does not run: ModuleNotFoundError"),
        ("raise SystemExit", "does not run: SystemExit"),
        ("import os\nos._exit(7)", "ended its process (code 7)"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "ended its process (code -9)"),
        ("x = bytearray(64 << 30)", "does not run: MemoryError"),
        ("VERDICT = 3", "VERDICT: is no dictionary"),
    ],
)
def test_what_cannot_be_graded_gets_nothing_and_stops_nobody(graded, text, said):
    found = graded(text, alone=60)
    assert sum(found["points"].values()) == 0
    assert any(remark.startswith(said) for remark in found["remarks"])


def test_one_that_hangs_is_stopped(graded):
    found = graded("while True:\n    pass", alone=2)
    assert found == {"points": {}, "remarks": ["was stopped after 2 seconds"], "why": ""}


@pytest.mark.slow
@pytest.mark.skipif(sys.getfilesystemencoding() != "utf-8", reason="a name could not be written")
def test_a_folder_gives_a_table(tmp_path, capsys):
    for name, text in {
        "ada": RIGHT,
        "bob": "",
        "čapek žižka": RIGHT.replace('"B": True', '"B": 0'),
    }.items():
        folder = tmp_path / "handed in" / name
        folder.mkdir(parents=True)
        (folder / "missing_mask.py").write_text(text, encoding="utf-8")
    shutil.copy(grade_lab.LAB / "suspects.py", tmp_path / "handed in" / "ada")
    table = tmp_path / "points.csv"
    grade_lab.main([str(tmp_path / "handed in"), "--output", str(table)])
    with table.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    name = str(Path("ada") / "missing_mask.py")
    assert [row["sum (8)"] for row in rows] == ["8", "0", "7"]
    assert rows[0]["submission"] == name
    assert rows[1]["remarks"] == "is empty"
    assert rows[2]["remarks"] == "VERDICT: wrong or open: B"
    assert "3 submissions" in capsys.readouterr().out
