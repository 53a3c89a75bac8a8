"""Time of a convolution, a GRU, self-attention and restricted self-attention over n and d.

python -m benchmarks.layers measures, and reports in reference/benchmarks/layers.md.
"""

import math
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.measure import median_times
from benchmarks.report import named, output_parser, table, write_report

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
def times_table(seconds: float) -> dict:
    """Measure over n, then over d."""
    rows = []
    for what, sizes in (
        ("n", [(n, WIDTH) for n in LENGTHS]),
        ("d", [(LENGTH, d) for d in WIDTHS]),
    ):
        times = [median_times(tasks(n, d), seconds, clock=time.process_time) for n, d in sizes]
        for size, medians in zip(sizes, times, strict=True):
            rows.append([*size, *(1e3 * medians[name] for name in NAMES)])
        along = tuple(size[what == "d"] for size in sizes)
        slopes = [exponent(along, [medians[name] for medians in times]) for name in NAMES]
        rows.append([f"exponent in {what}", "", *slopes])
    return table([("n", "d"), ("d", "d"), *named(NAMES, ".2f")], rows)


def main() -> None:
    """Measure and report."""
    parser = output_parser(__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each cell (default 1)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    results = {"tables": {"times": times_table(options.seconds)}}
    write_report("layers", "layers", results, options.output)


if __name__ == "__main__":
    main()
