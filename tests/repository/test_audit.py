"""`make audit` is green only if an answer came for every package."""

import json
import subprocess
import sys
from pathlib import Path

import audit
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def answering(tmp_path, monkeypatch):
    """A stand-in for pip-audit that answers as it is told; two packages are installed."""
    monkeypatch.setattr(audit, "installed", lambda: ["numpy==2.0.0", "torch==2.13.0"])

    def program(*packages: dict, code: int = 0, error: str = "", says: str | None = None) -> str:
        text = says if says is not None else json.dumps({"dependencies": packages, "fixes": []})
        (tmp_path / "says").write_text(text)
        path = tmp_path / "pip-audit"
        path.write_text(f"#!/bin/sh\necho '{error}' >&2\ncat {tmp_path}/says\nexit {code}\n")
        path.chmod(0o755)
        return str(path)

    return program


def clean(name: str) -> dict:
    return {"name": name, "version": "1.0", "vulns": []}


def unasked(name: str) -> dict:
    return {"name": name, "skip_reason": f"Dependency not found and could not be audited: {name}"}


def test_green_is_an_answer_for_every_package(answering, capsys):
    assert audit.main([answering(clean("numpy"), clean("torch"))]) == 0
    assert "2 of 2 packages were asked about; known holes: 0." in capsys.readouterr().out


def test_a_known_hole_is_named_and_fails(answering, capsys):
    hole = {"id": "PYSEC-1", "fix_versions": ["1.1"], "aliases": []}
    program = answering({**clean("numpy"), "vulns": [hole]}, clean("torch"), code=1)
    assert audit.main([program]) == 1
    assert "numpy 1.0: PYSEC-1, mended in 1.1" in capsys.readouterr().out
    assert audit.main(["--unasked-is-fine", program]) == 1


def test_what_could_not_be_asked_about_fails_though_pip_audit_is_content(answering, capsys):
    program = answering(unasked("numpy"), clean("torch"))
    assert audit.main([program]) == audit.FAILED
    said = capsys.readouterr().out
    assert "could not be audited: numpy" in said
    assert "1 of 2 packages were asked about" in said
    assert "NOT AUDITED" in said
    assert audit.main(["--unasked-is-fine", program]) == 0
    assert "could not be audited: numpy" in capsys.readouterr().out


def test_a_package_that_the_answer_leaves_out_fails(answering, capsys):
    assert audit.main([answering(clean("numpy"))]) == audit.FAILED
    assert "1 packages are missing" in capsys.readouterr().out


@pytest.mark.parametrize("says", ["", "[]", '{"error": 1}', "<html>"])
def test_an_index_out_of_reach_fails(answering, capsys, says):
    program = answering(says=says, code=1, error="Failed to resolve the index")
    assert audit.main([program]) == audit.FAILED
    said = capsys.readouterr().out
    assert "NOT AUDITED" in said
    assert "Failed to resolve the index" in said


def test_all_that_is_installed_is_asked_about_by_public_versions():
    pins = dict(pin.split("==") for pin in audit.installed())
    assert {"numpy", "torch", "sphinx"} <= pins.keys()
    assert audit.OURS not in pins
    assert not any("+" in version for version in pins.values())


def test_the_command_ends_with_that_code(tmp_path):
    program = tmp_path / "pip-audit"
    program.write_text('#!/bin/sh\necho "{}"\n')
    program.chmod(0o755)
    command = [sys.executable, ROOT / "scripts/audit.py", program]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == audit.FAILED
    assert "NOT AUDITED" in ran.stdout


def test_make_takes_it_as_its_last_step_and_weekly_asks_for_it_strictly():
    makefile = (ROOT / "Makefile").read_text("utf8")
    rule = makefile.split("\naudit:", 1)[1].split("\n\n", 1)[0]
    last = rule.splitlines()[-1].lstrip("\t@")
    assert last == "$(BIN)/python scripts/audit.py $(AUDIT) .venv/audit/bin/pip-audit"
    assert "\nAUDIT" not in makefile
    assert "unasked" not in (ROOT / ".github/workflows/weekly.yml").read_text("utf8")


def test_a_link_that_gives_no_answer_is_broken():
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["sphinx"]["config"]
    assert config["linkcheck_report_timeouts_as_broken"] is True
