"""Run the tests in the corners where this book is read, and write a table of what held.

usage: python scripts/matrix.py [CORNER ...] [--list] [--environments FOLDER] [--output table.md]

Without a name, all corners are run one after the other, each in an environment of its own where it
needs one. A corner whose Python is not on this machine is told as such, and not as passed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted(
    str(path.relative_to(ROOT))
    for path in ROOT.glob("chapters/**/*.ipynb")
    if path.name != "start.ipynb" and ".ipynb_checkpoints" not in path.parts  # links alone
)
REQUIREMENTS = (ROOT / "requirements.txt").read_text(encoding="utf-8")

# The least that requirements.txt allows, and for the newest what pip finds below its cap.
FLOORS = {
    name: re.search(rf"^{name}>=([\d.]+)", REQUIREMENTS, re.MULTILINE)[1]
    for name in ("torch", "numpy")
}
OLDEST = (f"torch=={FLOORS['torch']}.0", f"numpy=={FLOORS['numpy']}.*")

STRICT, BY_ASSERTIONS = "--nbval", "--nbval-lax"
CPU_INDEX = os.environ.get("TORCH_INDEX", "https://download.pytorch.org/whl/cpu")


class Corner(NamedTuple):
    """Where tests are run: on which Python, with which packages, in which surroundings."""

    what: str
    surroundings: dict[str, str]
    python: str = "3.11"
    pins: tuple[str, ...] = ()
    notebooks: str = STRICT


CORNERS = {
    "plain-1": Corner(
        "arithmetic without vector instructions, 1 thread",
        {"ATEN_CPU_CAPABILITY": "default", "OMP_NUM_THREADS": "1"},
    ),
    "avx2-2": Corner(
        "AVX2 arithmetic, 2 threads", {"ATEN_CPU_CAPABILITY": "avx2", "OMP_NUM_THREADS": "2"}
    ),
    "oldest": Corner(
        "oldest PyTorch and NumPy; another PyTorch trains other networks, so by assertions",
        {},
        pins=OLDEST,
        notebooks=BY_ASSERTIONS,
    ),
    "python-3.12": Corner("newest PyTorch", {}, python="3.12"),
    "python-3.13": Corner("newest PyTorch", {}, python="3.13"),
    "elsewhere": Corner(
        "no UTF-8 in the locale, half a day ahead, another hash seed, a home nobody can write",
        {
            **{"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
            **{"TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "1"},
            # No folder, so that nobody can write there, root included.
            "HOME": os.devnull,
        },
    ),
}


class Outcome(NamedTuple):
    """What a corner's run told: its versions, the last line of pytest, and how long it took."""

    name: str
    versions: str
    held: bool
    told: str
    seconds: float


def find_python(version: str) -> str | None:
    """Give a Python of that version: this one, one on the path, or one of pyenv's.

    >>> find_python("{}.{}".format(*sys.version_info)) == sys.executable
    True
    """
    if version == "{}.{}".format(*sys.version_info):
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python{version}")]
    candidates += map(str, sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True))
    ask = "import sys; print('{}.{}'.format(*sys.version_info))"  # a shim may lead nowhere
    for path in filter(None, candidates):
        found = subprocess.run([path, "-c", ask], capture_output=True, text=True, check=False)
        if found.stdout.strip() == version:
            return path
    return None


def prepare(corner: Corner, environments: Path) -> Path | None:
    """Give the Python that has what the corner needs; None where there is no such Python."""
    if not corner.pins and corner.python == "{}.{}".format(*sys.version_info):
        return Path(sys.executable)
    if (base := find_python(corner.python)) is None:
        return None
    folder = environments / "-".join(
        ("python" + corner.python, *(pin.replace("==", "").rstrip(".*") for pin in corner.pins))
    )
    python, done = folder / "bin/python", folder / "installed"
    if not done.exists():
        subprocess.run([base, "-m", "venv", folder], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        torch = next((pin for pin in corner.pins if pin.startswith("torch")), _line_of("torch"))
        if CPU_INDEX:  # a few hundred MB less, where it can be reached
            hurry = ["--timeout", "10", "--retries", "0", "--index-url", CPU_INDEX]
            subprocess.run([*pip, *hurry, torch], check=False, stderr=subprocess.DEVNULL)
        subprocess.run([*pip, "-r", "requirements.txt", *corner.pins], check=True, cwd=ROOT)
        done.touch()
    return python


def _line_of(name: str) -> str:
    return re.search(rf"^{name}\b.*$", REQUIREMENTS, re.MULTILINE)[0]


def command(corner: Corner, python: Path) -> list[str]:
    """Say how its tests are called: all that opens no page, and every notebook."""
    flags = ["--numprocesses=auto", "--maxprocesses=4", "--quiet", "-m", "not browser"]
    where = ["--doctest-modules", "tests", "d2lattn", *NOTEBOOKS]
    return [str(python), "-m", "pytest", *flags, corner.notebooks, *where]


def run(name: str, corner: Corner, environments: Path) -> Outcome:
    """Run one corner; what pytest prints goes on to whoever looks."""
    if (python := prepare(corner, environments)) is None:
        return Outcome(name, corner.python, False, "not run: no such Python here", 0)
    surroundings = {**os.environ, **corner.surroundings}
    ask = (
        "from importlib.metadata import version; from platform import python_version as python;"
        " print(python(), version('torch'))"
    )
    versions = subprocess.run(
        [python, "-c", ask], env=surroundings, capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.split()
    pinned = [pin.removeprefix("torch==") for pin in corner.pins if pin.startswith("torch==")]
    if pinned and not versions[1].startswith(pinned[0]):
        return Outcome(name, ", ".join(versions), False, f"not run: no PyTorch {pinned[0]}", 0)
    start = time.monotonic()
    tests = subprocess.Popen(
        command(corner, python), env=surroundings, cwd=ROOT, stdout=subprocess.PIPE, text=True,
        encoding="utf-8", errors="replace",
    )  # fmt: skip
    last = ""
    for line in tests.stdout:
        sys.stdout.write(line)
        last = line.strip(" =\n") or last
    failed = tests.wait()
    counts = re.sub(r" in [\d.:s ()]+$", "", last)
    return Outcome(name, ", ".join(versions), not failed, counts, time.monotonic() - start)


def table(outcomes: list[Outcome]) -> str:
    """Write what was found in Markdown, a row a corner."""
    lines = [
        "| Corner | What differs | Python, PyTorch | Held | Tests | Minutes |",
        "| --- | --- | --- | --- | --- | --: |",
    ]
    for name, versions, held, told, seconds in outcomes:
        cells = name, CORNERS[name].what, versions, "yes" if held else "**no**", told
        lines.append(f"| {' | '.join(cells)} | {seconds / 60:.0f} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Read what was asked, run it, and say by the exit code whether all held."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corners", nargs="*", metavar="CORNER", help=", ".join(CORNERS))
    parser.add_argument("--list", action="store_true", help="names alone, as JSON for a workflow")
    parser.add_argument("--environments", type=Path, default=ROOT / ".matrix")
    parser.add_argument("--output", type=Path, help="where the table goes")
    arguments = parser.parse_args()
    if unknown := set(arguments.corners) - CORNERS.keys():
        parser.error(f"{min(unknown)} is no corner; there are {', '.join(CORNERS)}")
    if arguments.list:
        print(json.dumps(list(CORNERS)))
        return 0
    outcomes = []
    for name in arguments.corners or CORNERS:
        outcomes.append(run(name, CORNERS[name], arguments.environments))
        written = table(outcomes)
        if arguments.output:
            arguments.output.write_text(written, encoding="utf-8")
    print("\n" + written)
    return not all(outcome.held for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(main())
