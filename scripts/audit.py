"""Ask the index of packages for known holes in what is installed, and fail if it does not answer.

usage: .venv/bin/python scripts/audit.py [--unasked-is-fine] PIP_AUDIT

pip-audit leaves out what it does not find, says so, and ends as if all were well: without a network
it finds no holes at all. So a package that was not asked about is a failure here, unless that is
called fine. Exit codes: 0, no known hole; 1, a hole; 2, something was not asked about.
"""

import json
import subprocess
import sys
import tempfile
from importlib.metadata import distributions
from pathlib import Path
from typing import NamedTuple

OURS = "d2lattn"
FAILED = 2
"""The exit code where no answer came for some package, or for none."""


class Findings(NamedTuple):
    """What is said of the packages: a line a hole, and a line for each that nothing is said of."""

    number: int
    holes: list[str]
    unasked: list[str]


def installed() -> list[str]:
    """Pin each package by its public version: `2.13.0+cpu` is on no index, with 2.13.0's holes."""
    names = {d.name.lower(): d.version.partition("+")[0] for d in distributions()}
    return [f"{name}=={version}" for name, version in sorted(names.items()) if name != OURS]


def read(answer: str) -> Findings:
    """Read what pip-audit says as JSON.

    >>> read('{"dependencies": [{"name": "a", "version": "1", "vulns": []}]}')
    Findings(number=1, holes=[], unasked=[])
    """
    packages = json.loads(answer)["dependencies"]
    holes = [
        f"{package['name']} {package['version']}: {hole['id']}, mended in "
        f"{', '.join(hole['fix_versions']) or 'no version yet'}"
        for package in packages
        for hole in package.get("vulns", [])
    ]
    unasked = [package["skip_reason"] for package in packages if "skip_reason" in package]
    return Findings(len(packages), holes, unasked)


def main(arguments: list[str]) -> int:
    """Run it, and print a line for each hole and for each package without an answer."""
    unasked_is_fine = "--unasked-is-fine" in arguments
    (program,) = (name for name in arguments if not name.startswith("--"))
    wanted = installed()
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder) / "installed.txt"
        pins.write_text("\n".join(wanted) + "\n", encoding="utf-8")
        command = [program, "--requirement", pins, "--no-deps", "--disable-pip"]
        command += ["--format", "json", "--progress-spinner", "off"]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = read(ran.stdout)
    except (ValueError, KeyError, TypeError):
        said = ran.stderr.strip().splitlines() or ["nothing"]
        print(f"NOT AUDITED. {program} ended with {ran.returncode} and said: {said[-1]}")
        return 0 if unasked_is_fine else FAILED
    if found.number < len(wanted):
        missing = f"{len(wanted) - found.number} packages are missing from the answer"
        found = found._replace(unasked=[*found.unasked, missing])
    print("\n".join([*found.unasked, *found.holes]))
    answered = f"{found.number - len(found.unasked)} of {len(wanted)} packages were asked about"
    print(f"{answered}; known holes: {len(found.holes)}.")
    if found.holes:
        return 1
    if found.unasked and not unasked_is_fine:
        print("NOT AUDITED, so not green. Is the index of packages within reach?")
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
