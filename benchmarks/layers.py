"""Time of a convolution, a GRU, self-attention and restricted self-attention over n and d.

python -m benchmarks.layers prints the table and writes it to reference/benchmarks/layers.md, a
section of the benchmarks page.
"""

import argparse
import math
import platform
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.measure import median_times, processor

PAGE = Path(__file__).parents[1] / "reference" / "benchmarks" / "layers.md"
LENGTHS, WIDTHS = (128, 256, 512, 1024), (64, 128, 256, 512)
LENGTH, WIDTH, KERNEL, REACH = 256, 64, 3, 4
NAMES = ("convolution", "GRU", "self-attention", "fused", "restricted")


def explicit(X: Tensor) -> Tensor:
    """Scores, softmax, sum, without projections, as the table counts it."""
    scores = X @ X.transpose(1, 2) / math.sqrt(X.shape[2])  # (B, n, d) x (B, d, n) -> (B, n, n)
    return scores.softmax(dim=-1) @ X  # (B, n, n) x (B, n, d) -> (B, n, d)


def fused(X: Tensor) -> Tensor:
    """Do the same by PyTorch's kernel."""
    return F.scaled_dot_product_attention(X, X, X)


def restricted(X: Tensor) -> Tensor:
    """Let each word see REACH places to each side: windows, and no n x n matrix."""
    near = F.pad(X, (0, 0, REACH, REACH)).unfold(1, 2 * REACH + 1, 1)  # (B, n, d, window)
    scores = X.unsqueeze(2) @ near / math.sqrt(X.shape[2])  # (B, n, 1, d) x (B, n, d, window)
    return (scores.softmax(dim=-1) @ near.transpose(2, 3)).squeeze(2)  # (B, n, d)


def tasks(n: int, d: int) -> dict[str, Callable[[], object]]:
    """Each layer on one sequence, forward, as a function of nothing."""
    X = torch.randn(1, n, d)
    convolution = nn.Conv1d(d, d, KERNEL, padding=KERNEL // 2, bias=False)
    gru = nn.GRU(d, d, batch_first=True, bias=False)
    layers = (
        lambda: convolution(X.mT),  # (B, n, d) -> (B, d, n)
        lambda: gru(X),
        lambda: explicit(X),
        lambda: fused(X),
        lambda: restricted(X),
    )
    return dict(zip(NAMES, layers, strict=True))


def exponent(sizes: tuple[int, ...], times: list[float]) -> float:
    """Slope of the least-squares line through the logarithms."""
    x, y = (torch.tensor(values, dtype=torch.float64).log() for values in (sizes, times))
    x, y = x - x.mean(), y - y.mean()
    return ((x @ y) / (x @ x)).item()


@torch.inference_mode()
def page(seconds: float) -> list[str]:
    """The section, line by line."""
    lines = [
        "<!-- Written by: python -m benchmarks.layers -->",
        "",
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, "
        f"1 thread, float32, one sequence, forward. Kernel of {KERNEL}; restricted to {REACH} "
        "places each side. Command: `python -m benchmarks.layers`.",
        "",
        "Milliseconds of processor time; the layers take turns. *Self-attention* is the formula "
        "written out, *fused* PyTorch's own kernel; neither has projections, as in chapter 6's "
        "table. The exponent is the slope of a line through the logarithms.",
        "",
        "| n | d | " + " | ".join(NAMES) + " |",
        "|--:|--:|" + "--:|" * len(NAMES),
    ]
    for what, sizes in (
        ("n", [(n, WIDTH) for n in LENGTHS]),
        ("d", [(LENGTH, d) for d in WIDTHS]),
    ):
        rows = [median_times(tasks(n, d), seconds, clock=time.process_time) for n, d in sizes]
        for (n, d), row in zip(sizes, rows, strict=True):
            cells = " | ".join(f"{1e3 * row[name]:.2f}" for name in NAMES)
            lines.append(f"| {n} | {d} | {cells} |")
        along = tuple(size[what == "d"] for size in sizes)
        slopes = [exponent(along, [row[name] for row in rows]) for name in NAMES]
        lines.append(f"| exponent in {what} | | " + " | ".join(f"{s:.2f}" for s in slopes) + " |")
    return lines


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each cell (default 1)")
    parser.add_argument("--output", type=Path, default=PAGE, help="where the section goes")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    lines = page(options.seconds)
    print("\n".join(lines))
    options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
