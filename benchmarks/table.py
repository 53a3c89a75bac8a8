"""Attention with its table, in rows, in tiles and by PyTorch's kernel: memory and time over length.

python -m benchmarks.table measures for chapter 9, and reports in reference/benchmarks/table.md.
"""

import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from benchmarks.measure import median_times, peak_memory
from benchmarks.report import named, output_parser, table, write_report
from d2lattn.bare_after import running_attention

WIDTH, TILE = 64, 128
LENGTHS = [128, 256, 512, 1024, 2048, 4096, 8192]
Attention = Callable[[Tensor, Tensor, Tensor], Tensor]


def with_table(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Multiply, softmax, multiply; the root is taken off the queries, which saves a table."""
    return (queries / WIDTH**0.5 @ keys.mT).softmax(dim=-1) @ values


def in_rows(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Let some queries after the others see all keys, each with whole rows of weights."""
    rows = [with_table(some, keys, values) for some in queries.split(TILE, dim=-2)]
    return torch.cat(rows, dim=-2)


def in_tiles(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Let some queries after the others see some keys after the others, by the walk's listing."""
    rows = [running_attention(some, keys, values, TILE) for some in queries.split(TILE, dim=-2)]
    return torch.cat(rows, dim=-2)


class RunningAttention(torch.autograd.Function):
    """The listing, which keeps no tile: its backward pass computes each of them anew.

    Beside what came in and went out it keeps two numbers for each query, the largest score and the
    sum of the exponentials (Dao et al. 2022, section 3.1).
    """

    @staticmethod
    def forward(ctx, queries: Tensor, keys: Tensor, values: Tensor, tile: int) -> Tensor:
        """Go over the keys once."""
        top, total, out = queries[..., :1] - torch.inf, 0, 0  # (.., Q, 1)
        for K, V in zip(keys.split(tile, -2), values.split(tile, -2), strict=True):
            scores = queries @ K.mT / K.shape[-1] ** 0.5  # (.., Q, tile)
            new = scores.amax(-1, keepdim=True).maximum(top)  # (.., Q, 1)
            shrink, weights, top = (top - new).exp(), (scores - new).exp(), new
            total = total * shrink + weights.sum(-1, keepdim=True)
            out = out * shrink + weights @ V  # (.., Q, tile) x (.., tile, D)
        out = out / total
        ctx.save_for_backward(queries, keys, values, out, top, total)
        ctx.tile = tile
        return out

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """Go over the keys once more; with the two numbers each weight is known at once."""
        queries, keys, values, out, top, total = ctx.saved_tensors
        root = keys.shape[-1] ** 0.5
        mean = (grad * out).sum(-1, keepdim=True)  # (.., Q, 1)
        grad_q, grad_k, grad_v = 0, [], []
        for K, V in zip(keys.split(ctx.tile, -2), values.split(ctx.tile, -2), strict=True):
            weights = (queries @ K.mT / root - top).exp() / total  # (.., Q, tile)
            slopes = weights * (grad @ V.mT - mean) / root  # (.., Q, tile)
            grad_q = grad_q + slopes @ K  # (.., Q, tile) x (.., tile, D)
            grad_k.append(slopes.mT @ queries)  # (.., tile, Q) x (.., Q, D)
            grad_v.append(weights.mT @ grad)  # (.., tile, Q) x (.., Q, V)
        return grad_q, torch.cat(grad_k, -2), torch.cat(grad_v, -2), None


def tiles_recomputed(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Go over the tiles, and over the same tiles once more on the way back."""
    rows = [
        RunningAttention.apply(some, keys, values, TILE) for some in queries.split(TILE, dim=-2)
    ]
    return torch.cat(rows, dim=-2)


def rows_recomputed(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Go over the rows, and let PyTorch compute each group once more on the way back."""
    rows = [
        checkpoint(with_table, some, keys, values, use_reentrant=False)
        for some in queries.split(TILE, dim=-2)
    ]
    return torch.cat(rows, dim=-2)


FORMS: dict[str, Attention] = {
    "table": with_table,
    "rows": in_rows,
    "tiles": in_tiles,
    "fused": F.scaled_dot_product_attention,
    "rows, recomputed": rows_recomputed,
    "tiles, recomputed": tiles_recomputed,
}
FORWARD = "table", "rows", "tiles", "fused"  # the others do the same on the way there


def tasks(length: int, back: bool) -> dict[str, Callable[[], object]]:
    """Make a function of nothing for each form: forward alone, or forward and backward."""
    tensors = tuple(torch.randn(1, 1, length, WIDTH, requires_grad=back) for _ in range(3))
    upstream = torch.randn(1, 1, length, WIDTH)

    def task(attention: Attention) -> Callable[[], object]:
        def forward() -> object:
            with torch.no_grad():
                return attention(*tensors)

        def both() -> object:
            return torch.autograd.grad(attention(*tensors), tensors, upstream)

        return both if back else forward

    return {name: task(FORMS[name]) for name in (FORMS if back else FORWARD)}


def tables(lengths: list[int], seconds: float) -> dict[str, dict]:
    """Measure memory and time, forward and with the way back; a row a length."""
    measured = {}
    for back, direction in ((False, "forward"), (True, "both")):
        memory, times = [], []
        for length in lengths:
            functions = tasks(length, back)
            memory.append([length, *(1e-6 * peak_memory(task) for task in functions.values())])
            medians = median_times(functions, seconds, least=5, clock=time.process_time)
            times.append([length, *(1e3 * medians[name] for name in functions)])
        columns = [("n", "<,d"), *named(FORMS if back else FORWARD, ".2f")]
        measured[f"memory_{direction}"] = table(columns, memory)
        measured[f"time_{direction}"] = table(columns, times)
    return measured


def main() -> None:
    """Measure and report."""
    parser = output_parser(__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each cell (default 3)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    results = {"width": WIDTH, "tile": TILE, "tables": tables(options.lengths, options.seconds)}
    write_report("table", "table", results, options.output)


if __name__ == "__main__":
    main()
