"""How tests share the processors: `pytest --numprocesses=auto` starts several workers."""

import os
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("quick", max_examples=25)  # for `make check`

# Tests that mostly wait, for JupyterLab or for frames: others compute meanwhile
WAITING = ("test_jupyterlab.py", "test_jupyterlab_whole.py", "test_explorable_speed.py")

if "PYTEST_XDIST_WORKER" in os.environ:
    # The workers fill the processors; set before PyTorch is loaded, and inherited by kernels
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_configure(config: pytest.Config) -> None:
    """Give matplotlib a font list of its own, without warnings; start kernels as forks."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        fonts = tempfile.TemporaryDirectory(prefix="fonts-", ignore_cleanup_errors=True)
        os.environ["MPLCONFIGDIR"] = fonts.name
        config.add_cleanup(fonts.cleanup)
        # Groups are files, but browser tests go to workers one by one
        if getattr(config.option, "numprocesses", 0):
            config.option.dist, config.option.loadscopereorder = "loadgroup", False
    elif sys.platform == "linux":
        from tests.forked_kernels import use_forked_kernels

        use_forked_kernels()


def priority(item: pytest.Item) -> int:
    """Order tests so that all workers end together: long ones first, single ones last."""
    if item.path.name == "walk.ipynb":
        return 0
    if item.path.name in WAITING:
        return 1
    if item.path.suffix == ".ipynb":
        return 2
    return 4 if item.get_closest_marker("browser") else 3


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order and group tests; leave weekly ones out until they are asked for."""
    if "weekly" not in config.option.markexpr:
        weekly = [item for item in items if item.get_closest_marker("weekly")]
        config.hook.pytest_deselected(items=weekly)
        items[:] = [item for item in items if not item.get_closest_marker("weekly")]
    items.sort(key=priority)
    for item in items:
        # A notebook's cells need one kernel, a file's fixtures one worker
        if priority(item) < 4:
            item.add_marker(pytest.mark.xdist_group(str(Path(item.path))))
