"""Run notebooks as Binder would: on one processor, with 2 GB of memory and no more.

usage: python -m benchmarks.notebooks [NOTEBOOK ...]     (all of chapters/ if none is named)

The limit is the system's own (`setrlimit`, RLIMIT_DATA): a process that asks for more private space
than that is refused, which ends the notebook with an error. It counts what is asked for, also what
is never touched, so it is stricter than Binder's, which counts what is used. What is used is
measured beside it: all processes of a run together, ten times a second. Nothing is stored in the
notebooks.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import psutil

from benchmarks.report import output_parser, table, write_report

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "chapters"
GB = 1 << 30
LIMIT = 2 * GB
EVERY = 0.1
ONE = """
import sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
resources = {"metadata": {"path": sys.argv[2]}}
NotebookClient(notebook, timeout=1800, kernel_name="python3", resources=resources).execute()
"""


class Run(NamedTuple):
    """What running a notebook took, and how it ended."""

    seconds: float
    peak: int
    error: str


def limited(limit: int) -> None:
    """Put the process, and all that it starts, on one processor and under the limit."""
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def used(process: psutil.Process) -> int:
    """Bytes in memory of a process and all that it started; what they share counts for each."""
    total = 0
    for one in [process, *process.children(recursive=True)]:
        try:
            total += one.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def run(path: Path, limit: int = LIMIT) -> Run:
    """Run one notebook in processes of its own."""
    start = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-c", ONE, str(path), str(path.parent)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: limited(limit),
    )
    peak, watched = 0, psutil.Process(child.pid)
    while child.poll() is None:
        try:
            peak = max(peak, used(watched))
        except psutil.NoSuchProcess:
            break
        time.sleep(EVERY)
    _, said = child.communicate()
    lines = said.strip().splitlines()
    error = (lines or [f"ended with {child.returncode}"])[-1] if child.returncode else ""
    return Run(time.perf_counter() - start, peak, error)


def number_of(path: Path) -> str:
    """How a page is called in the table."""
    return str(path.relative_to(CHAPTERS).with_suffix(""))


def run_all(paths: list[Path], all_notebooks: int) -> dict:
    """Run each notebook, and give what each took."""
    rows, failed = [], []
    for path in paths:
        took = run(path)
        rows.append([number_of(path), took.seconds, took.peak / 2**20])
        print(rows[-1], file=sys.stderr, flush=True)
        if took.error:
            failed.append(f"{number_of(path)}: `{took.error[:200]}`")
    columns = ("notebook", ""), ("seconds", ".0f"), ("most memory in use, MB", ".0f")
    which = "all" if len(paths) == all_notebooks else f"{len(paths)} of {all_notebooks}"
    tables = {"notebooks": table(columns, rows)}
    return {"limit": LIMIT // GB, "which": which, "failed": failed, "tables": tables}


def main() -> None:
    """Run and report."""
    parser = output_parser(__doc__.split("\n")[0])
    parser.add_argument("notebooks", nargs="*", type=Path)
    options = parser.parse_args()
    if sys.platform != "linux":
        raise SystemExit("only Linux refuses memory in this way")
    every = [*sorted(CHAPTERS.glob("[0-9]*/*.ipynb")), CHAPTERS / "which-would-you-sign.ipynb"]
    paths = [path.resolve() for path in options.notebooks] or every
    write_report("notebooks", "notebooks", run_all(paths, len(every)), options.output)


if __name__ == "__main__":
    main()
