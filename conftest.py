"""How tests share the processors: `pytest --numprocesses=auto` starts several workers."""

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:
    # The workers fill the processors; threads of PyTorch would only push one another aside.
    # Set before PyTorch is loaded, and inherited by the kernels of notebooks.
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_configure(config: pytest.Config) -> None:
    """Keep trainings for this run alone: the notebooks share them, and none is an earlier one's."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="d2lattn-")
        config.add_cleanup(folder.cleanup)
        os.environ["D2LATTN_CACHE"] = folder.name
    elif sys.platform == "linux":
        from tests.forked_kernels import use_forked_kernels

        use_forked_kernels()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first, and a walk before the pages that take up what it trained."""
    items.sort(key=lambda item: _turn(item.path))


def _turn(path: Path) -> tuple[int, str]:
    """Say when a file's tests are run: first 04-…, then 04b-…, then 04-deeper-… and all others."""
    walk = re.match(r"\d\d(b?)-(?!deeper|workshop).*ipynb", path.name)
    if walk:
        return len(walk[1]), path.name
    if path.suffix == ".ipynb":
        return 2, path.name
    return (3 if path.name == "test_jupyterlab.py" else 4), ""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Share out single tests, but whole notebooks: a cell needs those before it, in one kernel."""
    from xdist.scheduler import LoadScopeScheduling

    class WholeNotebooks(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.split("::")[0]
            # and a server is started once
            return path if path.endswith((".ipynb", "test_jupyterlab.py")) else nodeid

    config.option.loadscopereorder = False  # the order above stands
    return WholeNotebooks(config, log)
