"""d2lattn: the helper package of *Attention You Can Run*.

One module a chapter, and a few that chapters share. The names are those of the study notes that
the course follows, so a listing that says ``d2l.X`` runs with ``import d2lattn as d2l``.
"""

from typing import Any

try:
    import torch  # noqa: F401
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "d2lattn needs PyTorch; install it with: pip install -r requirements.txt"
    ) from None


def __getattr__(name: str) -> Any:
    """Give ``d2lattn.plt`` when it is asked for: matplotlib is not loaded before."""
    if name == "plt":
        import matplotlib.pyplot as plt

        return plt
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
