"""The folder for what need not be fetched again."""

import os
from pathlib import Path


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
