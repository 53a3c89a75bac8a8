"""What need not be made, or fetched, again: the folder for it, and work that is done once."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock

MOST = 50
"""How many results are kept; a further one takes the place of the one unused for longest."""

PATIENCE = 600.0
"""Seconds to wait for another process, which may have died where the disk does not notice."""


def cache_directory(cache: str | os.PathLike[str] | None = None) -> Path:
    """Where it is: the argument, or ``D2LATTN_CACHE``, or the user's own cache.

    >>> str(cache_directory("here"))
    'here'
    """
    if cache is not None:
        return Path(cache).expanduser()
    chosen = os.environ.get("D2LATTN_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "d2lattn"


def do_once(name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Give what `make` gives, or what it gave before under this name.

    The name says all that the result depends on, but for the code of this package and PyTorch's
    version: where these have changed, it is made anew. While another process makes it, this one
    waits. Results lie in `cache_directory`, below ``once``.

    Args:
        name: as long as need be; a number stands for it on the disk.
        make: gives tensors, numbers and texts, in dictionaries and lists.
    """
    seen = hashlib.sha256(_code() + repr((torch.__version__, name)).encode())
    path = cache_directory() / "once" / f"{seen.hexdigest()}.pt"
    with _alone(path):
        result = _load(path)
        if result is None:
            result = make()
            _save(path, result)
    return result


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let others wait who want the same file; where no lock can be had, nobody does."""
    with ExitStack() as held:
        with suppress(OSError, NotImplementedError):
            path.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(FileLock(path.with_suffix(".lock"), timeout=PATIENCE))
        yield


@cache
def _code() -> bytes:
    """All of this package's code: which of it a result depends on is hard to say."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return b"".join(file.read_bytes() for file in files)


_code()  # now: what is edited after the import is not what runs


def _load(path: Path) -> dict[str, Any] | None:
    """Read a result, if it is there and whole."""
    try:
        result: dict[str, Any] = torch.load(path, weights_only=True)
    except Exception:  # a damaged file raises whatever its bytes happen to mean
        return None
    with suppress(OSError):
        path.touch()  # used now
    return result


def _save(path: Path, result: dict[str, Any]) -> None:
    """Keep it, whole or not at all; a folder that cannot be written costs only time."""
    with suppress(OSError, RuntimeError):  # PyTorch says that the disk is full by the second
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            torch.save(result, Path(folder) / path.name)
            os.replace(Path(folder) / path.name, path)
        by_use = sorted(path.parent.glob("*.pt"), key=lambda file: file.stat().st_mtime)
        for file in by_use[:-MOST]:
            file.unlink()
            file.with_suffix(".lock").unlink(missing_ok=True)
