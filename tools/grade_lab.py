"""Grade the lab *Find the missing mask*: every .py and .ipynb below a folder.

usage: python -m tools.grade_lab FOLDER [--output points.csv] [--seconds 60]

Each submission runs as in Jupyter, in a kernel and a temporary folder of its own, and all are read
before the first one runs. This is for one machine and a class you trust: a submission runs with
your rights. Eight of ten points are given here; read the answers to WHY yourself.

(Otter-Grader and nbgrader run notebooks in the same way, by nbclient, but each wants the lab as a
notebook of its own kind, and the tests below would stay. For a class you do not trust, take them.)
"""

import argparse
import csv
import json
import shutil
import sys
import tempfile
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import torch
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat.v4 import new_code_cell, new_notebook

from teaching.lab.suspects import Model, later_hidden, nothing_hidden, padding_hidden

ROOT = Path(__file__).resolve().parents[1]
SUSPECTS = ROOT / "teaching" / "lab" / "suspects.py"
POINTS = {"causal_mask": 2, "sees_later": 3, "sees_padding": 2, "VERDICT": 1}
VERDICT = {"A": False, "B": True, "C": True, "D": False}


def with_hole(row: int, column: int) -> Callable:
    """Return a causal mask that also lets one place see another."""

    def mask(length: int, valid: int) -> torch.Tensor:
        mask = later_hidden(length, valid).clone()
        mask[row, column] = True
        return mask

    return mask


def grade_causal_mask(causal_mask: Callable) -> Iterator[tuple[int, str]]:
    """Yield points lost, and why."""
    for length in (5, 2, 1):
        expected = torch.ones(length, length).tril().bool()
        mask = causal_mask(length)
        if not isinstance(mask, torch.Tensor) or mask.shape != expected.shape:
            yield 2, f"for length {length} it is not a tensor of shape ({length}, {length})"
        elif torch.equal(mask.bool(), ~expected):
            yield 2, "it is true where a query may NOT attend"
        elif torch.equal(mask.bool(), expected.T) and length > 1:
            yield 2, "it is the other triangle: each position attends to later ones"
        elif not torch.equal(mask.bool(), expected):
            yield 2, f"wrong for length {length}: each may attend to itself and to earlier keys"
        elif mask.dtype != torch.bool:
            yield 1, "the right numbers, but not boolean"
        else:
            continue
        return


def grade_sees_later(sees_later: Callable) -> Iterator[tuple[int, str]]:
    """Yield points lost, and why."""
    tokens = torch.tensor([[3, 1, 4, 1, 5, 9, 2]])

    def detects(seed: int, *masks: Callable, dropout: float = 0.0) -> bool:
        return bool(sees_later(Model(seed, masks, dropout).train(dropout > 0), tokens.clone()))

    if detects(11, later_hidden, later_hidden):
        yield 3, "accuses a decoder whose masks are right"
    elif not detects(12, nothing_hidden, nothing_hidden):
        yield 3, "does not find that all masks are missing"
    if not detects(13, later_hidden, nothing_hidden):
        yield 1, "does not find a mask that is missing in the second layer alone"
    elif not detects(14, lambda n, valid: torch.ones(n, n).tril(1).bool(), later_hidden):
        yield 1, "does not find a mask that is one position too wide"
    elif not detects(15, with_hole(0, 1), later_hidden):
        yield 1, "does not find a hole through which the first position attends to the second"
    elif not detects(16, later_hidden, with_hole(0, 6)):
        yield 1, "does not find a hole through which the first position attends to the last"
    if detects(17, later_hidden, later_hidden, dropout=0.2):
        yield 1, "takes dropout for a missing mask: model.eval()"
    elif not detects(18, nothing_hidden, nothing_hidden, dropout=0.2):
        yield 1, "does not find that all masks are missing in a model with dropout"


def grade_sees_padding(sees_padding: Callable) -> Iterator[tuple[int, str]]:
    """Yield points lost, and why."""
    tokens = torch.tensor([[3, 1, 4, 1, 5, 0, 0]])

    def detects(seed: int, *masks: Callable, valid: int = 5, dropout: float = 0.0) -> bool:
        model = Model(seed, masks, dropout).train(dropout > 0)
        return bool(sees_padding(model, tokens.clone(), valid))

    if detects(21, padding_hidden, padding_hidden):
        yield 2, "accuses an encoder whose masks are right"
    elif not detects(22, nothing_hidden, nothing_hidden):
        yield 2, "does not find that the mask is missing"
    elif not detects(23, padding_hidden, nothing_hidden):
        yield 1, "does not find a mask that is missing in the second layer alone"
    elif detects(24, nothing_hidden, nothing_hidden, valid=7):
        yield 1, "finds padding where there is none"
    elif detects(25, padding_hidden, padding_hidden, dropout=0.2):
        yield 1, "takes dropout for a missing mask: model.eval()"


def grade_verdict(verdict: Any) -> Iterator[tuple[int, str]]:
    """Yield points lost, and why."""
    if not isinstance(verdict, dict):
        yield 1, "is no dictionary"
    elif wrong := [name for name, missing in VERDICT.items() if verdict.get(name) != missing]:
        yield 1, f"wrong or open: {', '.join(wrong)}"


def grade_part(name: str, names: dict[str, Any]) -> dict[str, Any]:
    """Grade one part of a submission, out of all names that it defines."""
    graders = grade_causal_mask, grade_sees_later, grade_sees_padding, grade_verdict
    if name not in names:
        return {"points": 0, "remark": f"{name}: is not there"}
    try:
        losses = list(dict(zip(POINTS, graders, strict=True))[name](names[name]))
    except NotImplementedError:
        return {"points": 0, "remark": f"{name}: is open"}
    except (Exception, SystemExit) as error:
        return {"points": 0, "remark": f"{name}: {type(error).__name__}: {error}"}
    points = max(0, POINTS[name] - sum(lost for lost, _ in losses))
    return {"points": points, "remark": f"{name}: {losses[0][1]}" if losses else ""}


def read_cells(path: Path) -> list[nbformat.NotebookNode]:
    """Read a submission as cells of code."""
    if path.suffix == ".py":
        with tokenize.open(path) as file:  # in the encoding that its first lines name
            return [new_code_cell(file.read())]
    cells = nbformat.read(path, as_version=4).cells
    return [new_code_cell(cell.source) for cell in cells if cell.cell_type == "code"]


def grade(submission: list[nbformat.NotebookNode], seconds: float) -> dict[str, Any]:
    """Run a submission in a kernel, then grade it there; return points, remarks and WHY."""
    start = f"import sys; sys.path.append({str(ROOT)!r}); import json"
    start += "; from tools.grade_lab import grade_part"
    parts = [f"print(json.dumps(grade_part({name!r}, globals())))" for name in POINTS]
    parts.append("print(json.dumps(' '.join(str(globals().get('WHY', '')).split())))")
    cells = [new_code_cell(text) for text in (start, *parts)]
    notebook = new_notebook(cells=[*submission, *cells])
    result: dict[str, Any] = {"points": dict.fromkeys(POINTS, 0), "remarks": [], "why": ""}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(SUSPECTS, folder)
        client = NotebookClient(notebook, timeout=seconds, allow_errors=True, kernel_name="python3")
        try:
            client.execute(cwd=folder)
        except CellTimeoutError:
            result["remarks"].append(f"was stopped after {seconds:g} seconds")
        except DeadKernelError:
            result["remarks"].append("ended its process")
        except Exception as error:  # whatever it is, it must not stop the grading of others
            result["remarks"].append(f"does not run: {type(error).__name__}: {error}")
    errors = [o for cell in notebook.cells for o in cell.outputs if o.output_type == "error"]
    result["remarks"] += [f"does not run: {error.ename}: {error.evalue}" for error in errors]
    for cell, name in zip(cells[1:], [*POINTS, "why"], strict=True):
        printed = "".join(o.text for o in cell.outputs if o.output_type == "stream").splitlines()
        try:
            value = json.loads(printed[-1])
            if name == "why":
                result["why"] = value
            else:
                result["points"][name] = min(int(value["points"]), POINTS[name])
                result["remarks"] += filter(None, [value["remark"]])
        except (IndexError, KeyError, TypeError, ValueError):
            result["remarks"].append(f"{name}: gave no points")
    return result


def read_all(folder: Path) -> dict[Path, Any]:
    """Read every submission, or say why one cannot be read; hidden files are left out."""
    submissions: dict[Path, Any] = {}
    for path in sorted(path for kind in ("*.py", "*.ipynb") for path in folder.rglob(kind)):
        name = path.relative_to(folder)
        if path.name == "suspects.py" or not path.is_file() or any(p[0] == "." for p in name.parts):
            continue
        try:
            submissions[name] = read_cells(path)
        except Exception as error:
            submissions[name] = f"cannot be read: {type(error).__name__}: {error}"
    return submissions


def main(arguments: list[str] | None = None) -> None:
    """Grade a folder and write a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, default=Path("points.csv"))
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        raise SystemExit(f"{options.folder} is not a folder")
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    submissions = read_all(options.folder)
    with options.output.open("w", encoding="utf-8-sig", newline="") as file:
        rows = csv.writer(file)
        parts = [f"{name} ({most})" for name, most in POINTS.items()]
        rows.writerow(["submission", *parts, f"sum ({sum(POINTS.values())})", "remarks", "WHY (2)"])
        for path, cells in submissions.items():
            result: dict[str, Any] = {"points": dict.fromkeys(POINTS, 0), "remarks": [cells]}
            if isinstance(cells, list):
                result = grade(cells, options.seconds)
            points = list(result["points"].values())
            remarks, why = "; ".join(result["remarks"]), result.get("why", "")
            rows.writerow([path, *points, sum(points), remarks, why])
            print(f"{sum(points)} of {sum(POINTS.values())}  {path}  {remarks}")


if __name__ == "__main__":
    main()
