"""How tests are distributed over workers (`pytest --numprocesses=auto`)."""

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

# Files whose tests mostly wait, for JupyterLab or for frames; they start early
WAITING = ("test_jupyterlab.py", "test_explorable_speed.py")

if "PYTEST_XDIST_WORKER" in os.environ:
    # One thread per worker; set before PyTorch is loaded, and inherited by kernels
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_configure(config: pytest.Config) -> None:
    """Give matplotlib a temporary font cache; start notebooks' kernels as forks."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        fonts = tempfile.TemporaryDirectory(prefix="fonts-", ignore_cleanup_errors=True)
        os.environ["MPLCONFIGDIR"] = fonts.name
        config.add_cleanup(fonts.cleanup)
    elif sys.platform == "linux":
        from tests.forked_kernels import use_forked_kernels

        use_forked_kernels()


def is_split(path: Path) -> bool:
    """Return whether the tests of a file may run on several workers: those that open pages may."""
    return path.parts[-3:-1] in (("tests", "pages"), ("book", "explorables")) and (
        path.name not in WAITING
    )


def priority(path: Path) -> int:
    """Rank a file so that all workers finish together: long files first, split ones last."""
    if path.name == "walk.ipynb":
        return 0
    if path.name in WAITING:
        return 1
    if path.suffix == ".ipynb":
        return 2
    return 4 if is_split(path) else 3


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order tests, and deselect weekly ones unless `-m weekly` selects them."""
    if "weekly" not in config.option.markexpr:
        weekly = [item for item in items if item.get_closest_marker("weekly")]
        config.hook.pytest_deselected(items=weekly)
        items[:] = [item for item in items if not item.get_closest_marker("weekly")]
    sizes = Counter(item.path for item in items)
    items.sort(key=lambda item: (priority(item.path), -sizes[item.path], item.path))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a file on one worker, because the cells of a notebook share a kernel."""
    from xdist.scheduler import LoadScopeScheduling

    class FilesOrPages(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.split("::")[0]
            return nodeid if is_split(Path(path)) else path

    config.option.loadscopereorder = False  # keep our order
    return FilesOrPages(config, log)


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> Generator[None, int, int]:
    """Start one worker more than there are processors, because browser tests mostly wait."""
    workers = yield
    return workers + ("not browser" not in config.option.markexpr)
