"""How tests share the processors: `pytest --numprocesses=auto` starts several workers."""

import gc
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# For `make check`; `make test` tries the hundred examples that are hypothesis's own.
settings.register_profile("quick", max_examples=25)

if "PYTEST_XDIST_WORKER" in os.environ:
    # The workers fill the processors; threads of PyTorch would only push one another aside.
    # Set before PyTorch is loaded, and inherited by the kernels of notebooks.
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_configure(config: pytest.Config) -> None:
    """Give matplotlib a list of fonts of its own; start notebooks as forks beside other workers.

    A list that another installation left in the home folder has warnings written under plots.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        fonts = tempfile.TemporaryDirectory(prefix="fonts-", ignore_cleanup_errors=True)
        os.environ["MPLCONFIGDIR"] = fonts.name
        config.add_cleanup(fonts.cleanup)
    if "PYTEST_XDIST_WORKER" in os.environ and sys.platform == "linux":
        from tests.forked_kernels import use_forked_kernels

        use_forked_kernels()


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> Generator[None, int, int]:
    """Start one worker more than there are processors, where some wait for pages and frames."""
    workers = yield
    return workers + ("not browser" not in config.option.markexpr)


def pytest_collection_finish() -> None:
    """Let Python search for garbage in what a test makes, not in all modules and tests each time.

    That search took an eighth of the time of the tests without a browser.
    """
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes long comes first: the walks, some of which train, then who mostly waits.

    What is for once a week waits until it is asked for.
    """
    if "weekly" not in config.option.markexpr:
        weekly = [item for item in items if item.get_closest_marker("weekly")]
        config.hook.pytest_deselected(items=weekly)
        items[:] = [item for item in items if not item.get_closest_marker("weekly")]
    sizes = Counter(item.path for item in items)
    items.sort(key=lambda item: (_turn(item.path), -sizes[item.path], item.path))


# Half of their time they wait, for JupyterLab or for frames: others should compute meanwhile.
WAITING = ("test_jupyterlab.py", "test_jupyterlab_whole.py", "test_explorable_speed.py")


def _turn(path: Path) -> int:
    """Say when a file's tests are run."""
    if path.name == "walk.ipynb":
        return 0
    if path.name in WAITING:
        return 1
    if path.suffix == ".ipynb":
        return 2
    return 4 if _single(path) else 3  # at the end single tests, so that all end together


def _single(path: Path) -> bool:
    """Whether each of its tests may go to another worker: it opens a page, which takes long."""
    folders = path.parts[-3:-1]
    return folders in (("tests", "pages"), ("book", "explorables")) and path.name not in WAITING


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Share out whole files, but of the tests that open pages each, which take long.

    A notebook's cell needs those before it, in one kernel; a server is started once; and to ask
    for each test of a few milliseconds would take longer than the test.
    """
    from xdist.scheduler import LoadScopeScheduling

    class FilesOrPages(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.split("::")[0]
            return nodeid if _single(Path(path)) else path

    config.option.loadscopereorder = False  # the order above stands
    return FilesOrPages(config, log)
