"""How tests share the processors: `pytest --numprocesses=auto` starts several workers."""

import os
from pathlib import Path

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:
    # The workers fill the processors; threads of PyTorch would only push one another aside.
    # Set before PyTorch is loaded, and inherited by the kernels of notebooks.
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the cells of a notebook together: they share a kernel, and each needs those before."""
    for item in items:
        if Path(item.path).suffix == ".ipynb":
            item.add_marker(pytest.mark.xdist_group(item.path.name))
