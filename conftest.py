"""How tests share the processors: `pytest --numprocesses=auto` starts several workers."""

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

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
    elif sys.platform == "linux":
        from tests.forked_kernels import use_forked_kernels

        use_forked_kernels()


def is_shared_out(path: Path) -> bool:
    """Tell whether each test of a file may go to another worker: those that open pages may."""
    return path.parts[-3:-1] in (("tests", "pages"), ("book", "explorables")) and (
        path.name not in WAITING
    )


def priority(path: Path) -> int:
    """Order tests so that all workers end together: long ones first, single ones last."""
    if path.name == "walk.ipynb":
        return 0
    if path.name in WAITING:
        return 1
    if path.suffix == ".ipynb":
        return 2
    return 4 if is_shared_out(path) else 3


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order tests; leave weekly ones out until they are asked for."""
    if "weekly" not in config.option.markexpr:
        weekly = [item for item in items if item.get_closest_marker("weekly")]
        config.hook.pytest_deselected(items=weekly)
        items[:] = [item for item in items if not item.get_closest_marker("weekly")]
    sizes = Counter(item.path for item in items)
    items.sort(key=lambda item: (priority(item.path), -sizes[item.path], item.path))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give whole files to a worker: a notebook's cells need one kernel, in their order."""
    from xdist.scheduler import LoadScopeScheduling

    class FilesOrPages(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.split("::")[0]
            return nodeid if is_shared_out(Path(path)) else path

    config.option.loadscopereorder = False  # keep the order above
    return FilesOrPages(config, log)


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> Generator[None, int, int]:
    """Start one worker more than there are processors, because browser tests mostly wait."""
    workers = yield
    return workers + ("not browser" not in config.option.markexpr)
