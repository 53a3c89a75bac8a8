"""Grade the lab *Find the missing mask*: every .py and .ipynb below a folder.

usage: python -m tools.grade_lab FOLDER [--output points.csv] [--seconds 60]

As Moodle hands them out, they may lie in folders of their own.
Each submission runs in a process of its own, with a limit of time and of memory, and what it got
until then counts. It is still a stranger's code that runs with your rights: use an account, or a
machine, where it can do no harm. Eight of ten points are given here; what stands in WHY is yours to
read.
"""

import argparse
import csv
import json
import re
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LAB = ROOT / "teaching" / "lab"
NOT_GRADED = {"suspects.py"}
POINTS = {"causal_mask": 2, "sees_later": 3, "sees_padding": 2, "VERDICT": 1}
MEMORY = 8 << 30
"""Bytes of address space; PyTorch alone reserves some of them."""


def source_of(path: Path) -> str:
    """Read a submission as Python; of a notebook the code, without its commands to Jupyter."""
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix != ".ipynb":
        return text
    cells = ["".join(c["source"]) for c in json.loads(text)["cells"] if c["cell_type"] == "code"]
    return re.sub(r"(?m)^\s*[%!].*$", "", "\n\n".join(cells))


def changed(mask: Callable, row: int, column: int) -> Callable:
    """Make a mask that also lets one place see another."""

    def with_a_hole(length: int, valid: int) -> Any:
        found = mask(length, valid).clone()
        if length > max(row, column):
            found[row, column] = True
        return found

    return with_a_hole


def grade_causal_mask(given: Callable) -> tuple[int, str]:
    """Two points for the triangle, one if its numbers are right but not boolean."""
    import torch

    points = 2
    for length in (5, 2, 1):
        right = torch.ones(length, length).tril().bool()
        found = given(length)
        if not isinstance(found, torch.Tensor) or found.shape != right.shape:
            return 0, f"for length {length} it is no tensor of shape ({length}, {length})"
        hints = (
            (~right, "it is true where a place may NOT look"),
            (right & ~torch.eye(length).bool(), "no place may ask itself, not even the first"),
            (right.T, "it is the other triangle: each place sees what comes after it"),
        )
        if not torch.equal(found.bool(), right):
            said = (hint for wrong, hint in hints if torch.equal(found.bool(), wrong))
            return 0, next(said, f"wrong for length {length}")
        if found.dtype != torch.bool:
            points = 1
    return points, "" if points == 2 else "the right numbers, but not boolean"


def grade_sees_later(given: Callable) -> tuple[int, str]:
    """A point for the plain case, one for what hides, one for a model in training mode."""
    import torch
    from suspects import Model, later_hidden, nothing_hidden

    tokens = torch.tensor([[3, 1, 4, 1, 5, 9, 2]])

    def tried(seed: int, *masks: Callable, dropout: float = 0.0) -> bool:
        model = Model(seed, list(masks), dropout)
        model.train(dropout > 0)
        return bool(given(model, tokens.clone()))

    if tried(11, later_hidden, later_hidden):
        return 0, "accuses a writer whose masks are right"
    if not tried(12, nothing_hidden, nothing_hidden):
        return 0, "does not find that all masks are missing"
    hidden = {
        "a mask that is missing in the second layer alone": (later_hidden, nothing_hidden),
        "a mask that is one place too wide": (
            lambda length, valid: torch.ones(length, length).tril(1).bool(),
            later_hidden,
        ),
        "a hole through which the first place sees the second": (
            changed(later_hidden, 0, 1),
            later_hidden,
        ),
        "a hole through which the first place sees the last": (
            later_hidden,
            changed(later_hidden, 0, 6),
        ),
    }
    missed = [
        name for seed, (name, masks) in enumerate(hidden.items(), 13) if not tried(seed, *masks)
    ]
    points = 1 + (not missed)
    said = [f"does not find {name}" for name in missed]
    if tried(17, later_hidden, later_hidden, dropout=0.2):
        said.append("takes dropout for a missing mask: model.eval()")
    else:
        points += tried(18, nothing_hidden, nothing_hidden, dropout=0.2)
    return points, "; ".join(said)


def grade_sees_padding(given: Callable) -> tuple[int, str]:
    """A point for the plain case, one if neither hidden masks nor dropout fool it."""
    import torch
    from suspects import Model, nothing_hidden, padding_hidden

    tokens = torch.tensor([[3, 1, 4, 1, 5, 0, 0]])
    if bool(given(Model(21, [padding_hidden, padding_hidden]), tokens.clone(), 5)):
        return 0, "accuses a reader whose masks are right"
    if not given(Model(22, [nothing_hidden, nothing_hidden]), tokens.clone(), 5):
        return 0, "does not find that the mask is missing"
    if not given(Model(23, [padding_hidden, nothing_hidden]), tokens.clone(), 5):
        return 1, "does not find a mask that is missing in the second layer alone"
    if bool(given(Model(24, [nothing_hidden, nothing_hidden]), tokens.clone(), 7)):
        return 1, "finds padding where there is none"
    model = Model(25, [padding_hidden, padding_hidden], 0.2).train()
    if bool(given(model, tokens.clone(), 5)):
        return 1, "takes dropout for a missing mask: model.eval()"
    return 2, ""


def grade_verdict(given: Any) -> tuple[int, str]:
    """One point if all four are judged rightly."""
    right = {"A": False, "B": True, "C": True, "D": False}
    if not isinstance(given, dict):
        return 0, "is no dictionary"
    wrong = [name for name, missing in right.items() if given.get(name) is not missing]
    return int(not wrong), f"wrong or open: {', '.join(wrong)}" if wrong else ""


GRADERS = {
    "causal_mask": grade_causal_mask,
    "sees_later": grade_sees_later,
    "sees_padding": grade_sees_padding,
    "VERDICT": grade_verdict,
}


def grade_one(path: Path, report: Path) -> None:
    """Run one submission and grade it part by part; the report is written after each."""
    found: dict[str, Any] = {"points": {}, "remarks": [], "why": ""}

    def note(remark: str = "") -> None:
        if remark:
            found["remarks"].append(remark)
        report.write_text(json.dumps(found), encoding="utf-8")

    note()
    sys.path[:0] = [place for place in (str(LAB), str(ROOT)) if place not in sys.path]
    module = types.ModuleType("submission")
    try:
        source = source_of(path)
        if not source.strip():
            return note("is empty")
        exec(compile(source, path.name, "exec"), module.__dict__)
    except BaseException as error:
        note(f"does not run: {type(error).__name__}: {error}")
        # What was defined before it failed is graded all the same
    found["why"] = " ".join(str(getattr(module, "WHY", "")).split())
    for name, grade in GRADERS.items():
        if not hasattr(module, name):
            note(f"{name}: is not there")
            continue
        try:
            points, said = grade(getattr(module, name))
        except NotImplementedError:
            points, said = 0, "is open"
        except BaseException as error:
            points, said = 0, f"{type(error).__name__}: {error}"
        found["points"][name] = points
        note(f"{name}: {said}" if said else "")


def limit_memory() -> None:
    """Let a process reserve no more than MEMORY."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def grade(path: Path, seconds: float) -> dict[str, Any]:
    """Grade one submission in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, __file__, str(path), "--one", str(report)]
        late = False
        try:
            run = subprocess.run(
                command,
                cwd=folder,
                timeout=seconds,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                preexec_fn=limit_memory if sys.platform == "linux" else None,
            )
            code = run.returncode
        except subprocess.TimeoutExpired:
            late, code = True, 0
        try:
            found = json.loads(report.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = {"points": {}, "remarks": [], "why": ""}
    if late:
        found["remarks"].append(f"was stopped after {seconds:g} seconds")
    elif code:
        found["remarks"].append(f"ended its process (code {code})")
    return found


def submissions(folder: Path) -> list[Path]:
    """List the files to grade."""
    return sorted(
        path
        for kind in ("*.py", "*.ipynb")
        for path in folder.rglob(kind)
        if path.name not in NOT_GRADED and ".ipynb_checkpoints" not in path.parts
    )


def main(arguments: list[str] | None = None) -> None:
    """Grade a folder, and write a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, default=Path("points.csv"))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.one:
        return grade_one(chosen.folder, chosen.one)
    if not chosen.folder.is_dir():
        raise SystemExit(f"{chosen.folder} is no folder")
    paths = submissions(chosen.folder.resolve())
    with chosen.output.open("w", encoding="utf-8-sig", newline="") as file:
        rows = csv.writer(file)
        parts = [f"{name} ({most})" for name, most in POINTS.items()]
        rows.writerow(["submission", *parts, f"sum ({sum(POINTS.values())})", "remarks", "WHY (2)"])
        for path in paths:
            found = grade(path, chosen.seconds)
            points = [found["points"].get(name, 0) for name in POINTS]
            name = path.relative_to(chosen.folder.resolve())
            remarks = "; ".join(found["remarks"])
            rows.writerow([name, *points, sum(points), remarks, found["why"]])
            print(f"{sum(points)} of {sum(POINTS.values())}  {name}  {remarks}")
    print(f"{len(paths)} submissions: {chosen.output}")


if __name__ == "__main__":
    main()
