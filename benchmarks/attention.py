"""Time and peak memory of our attention beside the explicit form and PyTorch's own.

python -m benchmarks.attention reports in reference/benchmarks/attention.md. With --heads it
compares multi-head attention, in reference/benchmarks/multi-head.md; with --scores additive scores
with dot products, in reference/benchmarks/scores.md, for which it needs a C++ compiler.
"""

import math
import statistics
import time
from collections.abc import Callable
from itertools import product

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2lattn as d2l
from benchmarks.measure import median_times, peak_memory
from benchmarks.report import named, output_parser, table, write_report
from d2lattn.bare import merge_heads, split_heads

SIZES = [(32, 64), (16, 128), (8, 256), (8, 512), (4, 1024)]  # sequences, keys (and queries) each
HEADS = 8
PLACES = 11  # where tensors happen to lie moves a time by up to 15 %: so many sets are timed
MULTI_HEAD_SIZES = [  # sequences, positions, width of all heads, heads
    (64, 10, 256, 4),
    (32, 64, 256, 4),
    (16, 128, 256, 8),
    (4, 512, 256, 8),
    (1, 2048, 256, 8),
]
MEMORY_LENGTHS = (512, 1024, 2048, 4096)
SCORE_WIDTH, SCORE_LENGTHS = 64, (64, 128, 256, 512)
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
    """Measure one width: ours beside the explicit form and PyTorch's."""
    attentions = {"ours": d2l.DotProductAttention(0), "explicit": explicit, "PyTorch": bare}
    rows = []
    for (batch, length), back in product(sizes, (False, True)):
        rounds: dict[str, list[dict[str, float]]] = {"explicit": [], "PyTorch": []}
        for _ in range(PLACES):
            tensors = inputs(batch, HEADS, length, width)
            lens = torch.randint(length // 2, length + 1, (batch,)) if masked else None
            functions = tasks(attentions, tensors, lens, back)
            for other, times in rounds.items():
                two = {name: functions[name] for name in ("ours", other)}
                times.append(median_times(two, seconds / PLACES, least=3))
        (theirs, beside_theirs), (kernels, beside_kernels) = (
            [statistics.median(medians[name] for medians in times) for name in (other, "ours")]
            for other, times in rounds.items()
        )
        rows.append(
            [
                f"{batch} × {HEADS} × {length} × {length}",
                pass_name(back),
                *(1e3 * time for time in (beside_kernels, theirs, kernels)),
                beside_kernels / kernels,
                beside_theirs / theirs,
                *(peak_memory(function) / 1e6 for function in functions.values()),
            ]
        )
    names = "ours, ms", "explicit, ms", "PyTorch, ms", "ours / PyTorch", "ours / explicit"
    memory = named((f"{name}, MB" for name in attentions), ".1f")
    return table([("B × H × Q × K", ""), ("pass", ""), *named(names, ".2f"), *memory], rows)


def four_layers(module: d2l.MultiHeadAttention, attention: Attention) -> Attention:
    """Put a module's four linear layers around an attention, and nothing else."""

    def attend(q: Tensor, k: Tensor, v: Tensor, lens: Tensor | None) -> Tensor:
        projected = module.W_q(q), module.W_k(k), module.W_v(v)  # (B, N, D) each
        heads = (split_heads(X, module.num_heads) for X in projected)  # (B, H, N, D / H) each
        return module.W_o(merge_heads(attention(*heads, lens)))

    return attend


def multi_head_forms(width: int, heads: int) -> tuple[dict[str, Attention], list[nn.Parameter]]:
    """Make four functions that give the same, and the parameters that each is trained by."""
    ours = d2l.MultiHeadAttention(width, width, width, width, heads, 0)
    theirs = nn.MultiheadAttention(width, heads, bias=False, batch_first=True)
    projections = (ours.W_q, ours.W_k, ours.W_v)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([layer.weight for layer in projections]))
        theirs.out_proj.weight.copy_(ours.W_o.weight)

    def pytorch(q: Tensor, k: Tensor, v: Tensor, lens: Tensor | None) -> Tensor:
        return theirs(q, k, v, need_weights=False)[0]

    forms = {
        "ours": ours,
        "PyTorch": pytorch,
        "four layers": four_layers(ours, bare),
        "explicit": four_layers(ours, explicit),
    }
    return forms, [*ours.parameters(), *theirs.parameters()]


def training_steps(
    batch: int, length: int, width: int, heads: int
) -> dict[str, Callable[[], object]]:
    """Make a forward and a backward pass of each form, for X and all weights."""
    forms, parameters = multi_head_forms(width, heads)
    X = torch.randn(batch, length, width, requires_grad=True)
    upstream = torch.randn_like(X)
    wanted = X, *parameters

    def step(form: Attention) -> Callable[[], object]:
        return lambda: torch.autograd.grad(form(X, X, X, None), wanted, upstream, allow_unused=True)

    expected = forms["ours"](X, X, X, None)
    for form in forms.values():
        torch.testing.assert_close(form(X, X, X, None), expected, rtol=0, atol=1e-5)
    return {name: step(form) for name, form in forms.items()}


def multi_head_table(seconds: float):
    """Time ours beside PyTorch's module and the two forms of four layers."""
    names = ("ours", "PyTorch", "four layers", "explicit")
    rows = []
    for sizes in MULTI_HEAD_SIZES:
        times = median_times(training_steps(*sizes), seconds, clock=time.process_time)
        ratios = [times["ours"] / times[name] for name in names[1:]]
        rows.append([" × ".join(map(str, sizes)), *(1e3 * times[name] for name in names), *ratios])
    columns = *(f"{name}, ms" for name in names), *(f"ours / {name}" for name in names[1:])
    return table([("B × N × D × H", ""), *named(columns, ".2f")], rows)


def multi_head_memory_table():
    """Measure memory by the length of one sequence."""
    names, rows = ("ours", "PyTorch", "explicit"), []
    for length in MEMORY_LENGTHS:
        steps = training_steps(1, length, 256, 8)
        peaks = [peak_memory(steps[name]) for name in names]
        rows.append([length, *(peak / 1e6 for peak in peaks), peaks[0] / 1e3 / length])
    columns = named((f"{name}, MB" for name in names), ",.1f")
    return table([("positions", ",d"), *columns, ("ours, KB per position", ".1f")], rows)


def scores_table(width: int, seconds: float):
    """Measure additive attention beside dot products, for one sequence."""
    attentions = {
        "additive": d2l.AdditiveAttention(width, width, width, dropout=0),
        "dot": explicit,
        "compiled": torch.compile(additive_in_a_loop(width)),
        "fused": d2l.DotProductAttention(0),
    }
    rows = []
    for length, back in product(SCORE_LENGTHS, (False, True)):
        tensors = inputs(1, 0, length, width)
        features = 4 * length * length * width / 1e6  # megabytes of B Q K h numbers
        functions = tasks(attentions, tensors, None, back)
        times = median_times(functions, seconds, clock=time.process_time)
        additive, dot, fused = (
            peak_memory(functions[name]) / 1e6 for name in ("additive", "dot", "fused")
        )
        cells = []
        for ours, other in (("additive", "dot"), ("compiled", "fused")):
            cells += [1e3 * times[ours], 1e3 * times[other], times[ours] / times[other]]
        memory = additive, (3 if back else 1) * features, dot, fused
        rows.append([f"1 × {length} × {length}", pass_name(back), *cells, *memory])
    columns = [*named(("additive, ms", "dot, ms"), ".2f"), ("ratio", ".1f")]
    columns += [*named(("additive compiled, ms", "dot fused, ms"), ".2f"), ("ratio", ".1f")]
    columns += named(("additive, MB", "by the formula, MB", "dot, MB", "dot fused, MB"), ".1f")
    return table([("B × Q × K", ""), ("pass", ""), *columns], rows)


def additive_in_a_loop(width: int) -> Attention:
    """Write additive attention so that a compiler makes one loop of add, tanh and weighted sum."""
    W_q, W_k = torch.randn(2, width, width) / math.sqrt(width)
    w_v = torch.randn(width) / math.sqrt(width)

    def attend(q: Tensor, k: Tensor, v: Tensor, lens: Tensor | None) -> Tensor:
        features = torch.tanh((q @ W_q).unsqueeze(2) + (k @ W_k).unsqueeze(1))  # (B, Q, K, h)
        return (features * w_v).sum(-1).softmax(-1) @ v  # (B, Q, K) x (B, K, V) -> (B, Q, V)

    return attend


def pass_name(back: bool) -> str:
    """Name what is timed."""
    return "forward + backward" if back else "forward"


def dot_product_results(seconds: float) -> dict:
    """Compare attention of one head."""
    tables = {
        "all_valid": dot_product_table(32, SIZES, False, seconds),
        "lengths": dot_product_table(32, SIZES, True, seconds),
        "wide": dot_product_table(64, SIZES[-2:], True, seconds),
    }
    return {"places": PLACES, "tables": tables}


def multi_head_results(seconds: float) -> dict:
    """Compare multi-head attention."""
    return {"tables": {"times": multi_head_table(seconds), "memory": multi_head_memory_table()}}


def scores_results(seconds: float) -> dict:
    """Compare additive scores with dot products."""
    return {"width": SCORE_WIDTH, "tables": {"scores": scores_table(SCORE_WIDTH, seconds)}}


def main() -> None:
    """Measure and report."""
    parser = output_parser(__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each cell (default 3)")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--heads", action="store_true", help="multi-head attention, and no more")
    only.add_argument("--scores", action="store_true", help="what a score costs, and no more")
    parser.add_argument("--threads", type=int, help="for PyTorch (default: as it likes)")
    options = parser.parse_args()
    if options.threads or options.heads or options.scores:
        torch.set_num_threads(options.threads or 1)  # their pages say one
    torch.manual_seed(0)
    if options.heads:
        name, command, results = "multi-head", "attention --heads", multi_head_results
    elif options.scores:
        name, command, results = "scores", "attention --scores", scores_results
    else:
        name, command, results = "attention", "attention", dot_product_results
    write_report(name, command, results(options.seconds), options.output)


if __name__ == "__main__":
    main()
