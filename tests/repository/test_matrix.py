"""The script that runs the tests in many corners: which, how, and what it says of them."""

import re
import sys
from pathlib import Path

import matrix
import pytest
from matrix import CORNERS, Corner, Outcome

ROOT = Path(__file__).resolve().parents[2]


def ending(monkeypatch, program: str) -> None:
    """Let a few lines of Python stand in for the tests."""
    monkeypatch.setattr(matrix, "command", lambda corner, python: [str(python), "-c", program])


def test_the_oldest_are_those_that_the_requirements_allow():
    text = (ROOT / "requirements.txt").read_text("utf8")
    torch = re.search(r"^torch>=([\d.]+),", text, re.MULTILINE)[1]
    numpy = re.search(r"^numpy>=([\d.]+)$", text, re.MULTILINE)[1]
    assert CORNERS["oldest"].pins == (f"torch=={torch}.0", f"numpy=={numpy}.*")


def test_every_notebook_and_every_test_without_a_page_is_run():
    makefile = (ROOT / "Makefile").read_text("utf8")
    patterns = re.search(r"^NOTEBOOKS := (.*)$", makefile, re.MULTILINE)[1]
    patterns = re.sub(r"\$\(wildcard (\S+)\)", r"\1", patterns).split()
    notebooks = {str(p.relative_to(ROOT)) for pattern in patterns for p in ROOT.glob(pattern)}
    for corner in CORNERS.values():
        called = matrix.command(corner, Path("python"))
        assert {"tests", "d2lattn", "--doctest-modules", "not browser"} < set(called)
        assert [part for part in called if part.endswith(".ipynb")] == sorted(notebooks)
        assert ("--nbval-lax" in called) == (corner is CORNERS["oldest"])
        assert ("--nbval" in called) == (corner is not CORNERS["oldest"])


def test_what_differs_reaches_the_tests(monkeypatch, tmp_path, capfd):
    ending(monkeypatch, "import os; print(os.environ['TZ']); print('=== 3 passed in 2.00s ===')")
    corner = Corner("a time zone", {"TZ": "Pacific/Kiritimati"})
    found = matrix.run("elsewhere", corner._replace(python=this_version()), tmp_path)
    assert (found.held, found.told) == (True, "3 passed")
    assert "Pacific/Kiritimati" in capfd.readouterr().out


def test_a_failure_is_no_success(monkeypatch, tmp_path):
    ending(monkeypatch, "print('1 failed, 2 passed in 70.12s (0:01:10)'); raise SystemExit(1)")
    found = matrix.run("plain-1", CORNERS["plain-1"]._replace(python=this_version()), tmp_path)
    assert (found.held, found.told) == (False, "1 failed, 2 passed")


def test_a_python_that_is_not_here_is_told(monkeypatch, tmp_path):
    ending(monkeypatch, "print('9 passed')")
    found = matrix.run("python-3.13", Corner("none", {}, python="3.99"), tmp_path)
    assert (found.held, found.told) == (False, "not run: no such Python here")


def test_another_pytorch_than_the_one_asked_for_is_told(monkeypatch, tmp_path):
    ending(monkeypatch, "print('9 passed')")
    monkeypatch.setattr(matrix, "prepare", lambda corner, environments: Path(sys.executable))
    found = matrix.run("oldest", Corner("older", {}, pins=("torch==0.1.0",)), tmp_path)
    assert (found.held, found.told) == (False, "not run: no PyTorch 0.1.0")


def test_a_program_of_that_name_may_be_another_version(monkeypatch, tmp_path):
    for version, says in (("3.98", "3.98"), ("3.99", "3.97")):
        program = tmp_path / f"python{version}"
        program.write_text(f"#!/bin/sh\necho {says}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert matrix.find_python("3.98") == str(tmp_path / "python3.98")
    assert matrix.find_python("3.99") is None


def test_the_table_has_a_row_a_corner(tmp_path):
    rows = [Outcome("plain-1", "3.11.7, 2.13.0", True, "9 passed", 125.0),
            Outcome("oldest", "3.11.7, 2.5.0", False, "1 failed", 5.0)]  # fmt: skip
    first, second = matrix.table(rows).splitlines()[2:]
    assert first.startswith("| plain-1 | arithmetic without")
    assert first.endswith("| 3.11.7, 2.13.0 | yes | 9 passed | 2 |")
    assert second.endswith("| **no** | 1 failed | 0 |")


def test_an_unknown_corner_is_told_the_known_ones(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["matrix.py", "moon"])
    with pytest.raises(SystemExit):
        matrix.main()
    assert "moon is no corner; there are plain-1, avx2-2" in capsys.readouterr().err


def this_version() -> str:
    return "{}.{}".format(*sys.version_info)
