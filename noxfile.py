"""Other processors, Pythons and versions of PyTorch: `nox --list`, `nox -s oldest`."""

import os
from pathlib import Path

import nox

nox.options.reuse_existing_virtualenvs = True
NOTEBOOKS = [
    str(path)
    for path in sorted(Path("chapters").glob("**/*.ipynb"))
    if path.name != "start.ipynb" and ".ipynb_checkpoints" not in path.parts
]
TESTS = ["-m", "not browser", "--numprocesses=auto", "--maxprocesses=4"]


def run_tests(session: nox.Session, *pins: str, strict: bool = True, **env: str) -> None:
    """Install what requirements-test.txt names, then run every test that opens no page."""
    session.install("-r", "requirements-test.txt", *pins)
    how = "--nbval" if strict else "--nbval-lax"
    session.run(
        *["python", "-m", "pytest", how, "--doctest-modules", *TESTS],
        *["tests", "d2lattn", *NOTEBOOKS],
        env=env,
    )


@nox.session(python="3.11")
def oldest(session: nox.Session) -> None:
    """Use the oldest PyTorch and NumPy; it trains other networks, so outputs are not compared."""
    run_tests(session, "torch==2.5.0", "numpy==1.26.*", strict=False)


@nox.session(python=["3.12", "3.13"])
def newest(session: nox.Session) -> None:
    """Use the newest PyTorch on newer Pythons."""
    run_tests(session)


@nox.session(python="3.11")
@nox.parametrize("instructions, threads", [("default", "1"), ("avx2", "2")])
def processor(session: nox.Session, instructions: str, threads: str) -> None:
    """Imitate another processor: no vector instructions, or AVX2 and two threads."""
    run_tests(session, ATEN_CPU_CAPABILITY=instructions, OMP_NUM_THREADS=threads)


@nox.session(python="3.11")
def elsewhere(session: nox.Session) -> None:
    """Use a locale without UTF-8, another time zone and hash seed, and no home folder."""
    run_tests(
        session,
        LC_ALL="C",
        PYTHONCOERCECLOCALE="0",
        PYTHONUTF8="0",
        TZ="Pacific/Kiritimati",
        PYTHONHASHSEED="1",
        HOME=os.devnull,
    )


@nox.session(python="3.11")
def hugging_face(session: nox.Session) -> None:
    """Compare `bare_modern` with Hugging Face's models, which no reader needs."""
    session.install("-r", "requirements-test.txt", "transformers>=4.50")
    session.run("python", "-m", "pytest", "-p", "no:nbval", "-m", "weekly", "tests/hugging_face")
