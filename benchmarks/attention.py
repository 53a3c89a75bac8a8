"""Time and peak memory of our attention beside the explicit form and PyTorch's own.

python benchmarks/attention.py prints the tables and writes them to
reference/benchmarks/attention.md, a section of the benchmarks page; with --scores it compares
additive scores with dot products, in reference/benchmarks/scores.md. That needs a C++ compiler.
"""

import argparse
import math
import platform
import time
from collections.abc import Callable
from pathlib import Path

import torch
from measure import median_times, peak_memory, processor
from torch import Tensor
from torch.nn import functional as F

import d2lattn as d2l

SIZES = [(32, 64), (16, 128), (8, 256), (8, 512), (4, 1024)]  # sequences, keys (and queries) each
HEADS = 8
SCORE_WIDTH, SCORE_LENGTHS = 64, (64, 128, 256, 512)
PAGE = Path(__file__).parents[1] / "reference" / "benchmarks" / "attention.md"
SCORES_PAGE = PAGE.with_name("scores.md")
Attention = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]


def explicit(q: Tensor, k: Tensor, v: Tensor, lens: Tensor | None) -> Tensor:
    """Multiply, softmax, multiply: the notes' listing 10.3.3 with the usual mask."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if lens is not None:
        scores = scores.masked_fill(~mask_of(k, lens), -math.inf)
    return torch.softmax(scores, -1) @ v


def bare(q: Tensor, k: Tensor, v: Tensor, lens: Tensor | None) -> Tensor:
    """Call PyTorch's fused attention and nothing else: no check, no weights to read after."""
    return F.scaled_dot_product_attention(q, k, v, None if lens is None else mask_of(k, lens))


def mask_of(keys: Tensor, lens: Tensor) -> Tensor:
    """Say which keys are valid, shape (B, 1, 1, K)."""
    return (torch.arange(keys.shape[-2]) < lens[:, None])[:, None, None]


def inputs(batch: int, heads: int, length: int, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values alike in shape; no axis of heads where `heads` is 0."""
    shape = (batch, heads, length, width) if heads else (batch, length, width)
    return tuple(torch.randn(shape, requires_grad=True) for _ in range(3))


def tasks(
    attentions: dict[str, Attention], tensors: tuple[Tensor, ...], lens: Tensor | None, back: bool
) -> dict[str, Callable[[], object]]:
    """Turn each attention into a function of nothing: forward alone, or forward and backward."""
    upstream = torch.randn_like(tensors[0])

    def task(attention: Attention) -> Callable[[], object]:
        def forward() -> object:
            return attention(*tensors, lens)

        def both() -> object:
            return torch.autograd.grad(attention(*tensors, lens), tensors, upstream)

        return both if back else forward

    return {name: task(attention) for name, attention in attentions.items()}


def dot_product_table(width: int, sizes: list[tuple[int, int]], masked: bool, seconds: float):
    """Write the table of one width: ours beside the explicit form and PyTorch's."""
    attentions = {"ours": d2l.DotProductAttention(0), "explicit": explicit, "PyTorch": bare}
    yield (
        "| B × H × Q × K | pass | ours, ms | explicit, ms | PyTorch, ms "
        "| ours / PyTorch | ours / explicit | ours, MB | explicit, MB | PyTorch, MB |"
    )
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for batch, length in sizes:
        tensors = inputs(batch, HEADS, length, width)
        lens = torch.randint(length // 2, length + 1, (batch,)) if masked else None
        for back in (False, True):
            functions = tasks(attentions, tensors, lens, back)
            times = median_times(functions, seconds)
            bytes_ = {name: peak_memory(function) for name, function in functions.items()}
            yield row(
                f"{batch} × {HEADS} × {length} × {length}",
                "forward + backward" if back else "forward",
                *(f"{1e3 * times[name]:.2f}" for name in attentions),
                f"{times['ours'] / times['PyTorch']:.2f}",
                f"{times['ours'] / times['explicit']:.2f}",
                *(f"{bytes_[name] / 1e6:.1f}" for name in attentions),
            )


def scores_table(width: int, seconds: float):
    """Write the table of additive attention beside dot products, for one sequence."""
    attentions = {
        "additive": d2l.AdditiveAttention(width, width, width, dropout=0),
        "dot": explicit,
        "compiled": torch.compile(additive_in_a_loop(width)),
        "fused": d2l.DotProductAttention(0),
    }
    yield (
        "| B × Q × K | pass | additive, ms | dot, ms | ratio | additive compiled, ms "
        "| dot fused, ms | ratio | additive, MB | by the formula, MB | dot, MB | dot fused, MB |"
    )
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for length in SCORE_LENGTHS:
        tensors = inputs(1, 0, length, width)
        features = 4 * length * length * width  # bytes of B Q K h numbers
        for back in (False, True):
            functions = tasks(attentions, tensors, None, back)
            times = median_times(functions, seconds, clock=time.process_time)
            bytes_ = {name: peak_memory(functions[name]) for name in ("additive", "dot", "fused")}
            yield row(
                f"1 × {length} × {length}",
                "forward + backward" if back else "forward",
                *(f"{1e3 * times[name]:.2f}" for name in ("additive", "dot")),
                f"{times['additive'] / times['dot']:.1f}",
                *(f"{1e3 * times[name]:.2f}" for name in ("compiled", "fused")),
                f"{times['compiled'] / times['fused']:.1f}",
                f"{bytes_['additive'] / 1e6:.1f}",
                f"{(3 if back else 1) * features / 1e6:.1f}",
                *(f"{bytes_[name] / 1e6:.1f}" for name in ("dot", "fused")),
            )


def additive_in_a_loop(width: int) -> Attention:
    """Write additive attention so that a compiler makes one loop of add, tanh and weighted sum."""
    W_q, W_k = torch.randn(2, width, width) / math.sqrt(width)
    w_v = torch.randn(width) / math.sqrt(width)

    def attend(q: Tensor, k: Tensor, v: Tensor, lens: Tensor | None) -> Tensor:
        features = torch.tanh((q @ W_q).unsqueeze(2) + (k @ W_k).unsqueeze(1))  # (B, Q, K, h)
        return (features * w_v).sum(-1).softmax(-1) @ v  # (B, Q, K) x (B, K, V) -> (B, Q, V)

    return attend


def row(*cells: str) -> str:
    """Write one line of a table."""
    return "| " + " | ".join(cells) + " |"


def page(seconds: float):
    """Write the section of the page, line by line."""
    yield "<!-- Written by: python benchmarks/attention.py -->"
    yield ""
    yield (
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, "
        f"{torch.get_num_threads()} threads, float32. Command: `python benchmarks/attention.py`."
    )
    yield ""
    yield (
        "Each time is the median over rounds in which every form has one turn. Memory is the most "
        "that PyTorch's allocator had given out at once, less what it held before: the profiler "
        "notes every allocation, so the figure is exact. *Explicit* is multiply, softmax, "
        "multiply. *PyTorch* is `scaled_dot_product_attention` with nothing around it. *Ours* is "
        "`DotProductAttention`, its weights not read."
    )
    for masked in (False, True):
        yield from (
            "",
            f"**Width 32 a head, {'with lengths' if masked else 'all keys valid'}**",
            "",
        )
        yield from dot_product_table(32, SIZES, masked, seconds)
    yield from ("", "**Width 64 a head, with lengths, 512 keys and more**", "")
    yield from dot_product_table(64, SIZES[-2:], True, seconds)


def scores_page(seconds: float):
    """Write the section on what a score costs, line by line."""
    yield "<!-- Written by: python benchmarks/attention.py --scores -->"
    yield ""
    yield (
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, "
        f"1 thread, float32, one sequence, h = d = {SCORE_WIDTH}. "
        "Command: `python benchmarks/attention.py --scores`."
    )
    yield ""
    yield (
        "Milliseconds of processor time, which a busy machine lengthens less than time by the "
        "clock. The forms take turns. *Additive* and *dot* are the formulas written out, each step "
        "a call of PyTorch. *Compiled* is the additive score by `torch.compile`, which makes one "
        "loop of addition, tanh and weighted sum; *fused* is `DotProductAttention`, PyTorch's own "
        "kernel. The formula for memory counts the features alone, n = B Q K h numbers of 4 bytes: "
        "n in the forward pass, 3 n in the backward pass (the features, their gradient, the "
        "gradient before tanh)."
    )
    yield ""
    yield from scores_table(SCORE_WIDTH, seconds)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each cell (default 1)")
    parser.add_argument("--scores", action="store_true", help="what a score costs, and no more")
    parser.add_argument("--output", type=Path, help="where the section goes")
    parser.add_argument("--threads", type=int, help="for PyTorch (default: as it likes)")
    options = parser.parse_args()
    if options.threads or options.scores:
        torch.set_num_threads(options.threads or 1)  # scores.md says one
    torch.manual_seed(0)
    write, output = (scores_page, SCORES_PAGE) if options.scores else (page, PAGE)
    output = options.output or output
    lines = []
    for line in write(options.seconds):
        print(line, flush=True)
        lines.append(line)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
