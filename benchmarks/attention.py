"""Time and peak memory of our attention beside the explicit form and PyTorch's own.

python -m benchmarks.attention prints the tables and writes them to
reference/benchmarks/attention.md, a section of the benchmarks page. With --heads it compares
multi-head attention, in reference/benchmarks/multi-head.md; with --scores additive scores with dot
products, in reference/benchmarks/scores.md, for which it needs a C++ compiler.
"""

import argparse
import math
import platform
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import d2lattn as d2l
import d2lattn.bare_after as after
from benchmarks.measure import median_times, peak_memory, print_and_write, processor

SIZES = [(32, 64), (16, 128), (8, 256), (8, 512), (4, 1024)]  # sequences, keys (and queries) each
HEADS = 8
PLACES = 11  # where tensors happen to lie moves a time by up to 15 %: so many sets are timed
REPEATS = 5  # of the kernel beside itself
MULTI_HEAD_SIZES = [  # sequences, positions, width of all heads, heads
    (64, 10, 256, 4),
    (32, 64, 256, 4),
    (16, 128, 256, 8),
    (4, 512, 256, 8),
    (1, 2048, 256, 8),
]
MEMORY_LENGTHS = (512, 1024, 2048, 4096)
OPTIONS_SIZE, WINDOW = (4, 512, 256, 8), 64  # as in MULTI_HEAD_SIZES; a window of so many places
SCORE_WIDTH, SCORE_LENGTHS = 64, (64, 128, 256, 512)
PAGE = Path(__file__).parents[1] / "reference" / "benchmarks" / "attention.md"
MULTI_HEAD_PAGE = PAGE.with_name("multi-head.md")
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
        for back in (False, True):
            rounds: dict[str, list[dict[str, float]]] = {"explicit": [], "PyTorch": []}
            for _ in range(PLACES):
                tensors = inputs(batch, HEADS, length, width)
                lens = torch.randint(length // 2, length + 1, (batch,)) if masked else None
                functions = tasks(attentions, tensors, lens, back)
                for other, found in rounds.items():
                    two = {name: functions[name] for name in ("ours", other)}
                    found.append(median_times(two, seconds / PLACES, least=3))
            (theirs, beside_theirs), (kernels, beside_kernels) = (
                [statistics.median(times[name] for times in found) for name in (other, "ours")]
                for other, found in rounds.items()
            )
            bytes_ = {name: peak_memory(function) for name, function in functions.items()}
            yield row(
                f"{batch} × {HEADS} × {length} × {length}",
                "forward + backward" if back else "forward",
                *(f"{1e3 * time:.2f}" for time in (beside_kernels, theirs, kernels)),
                f"{beside_kernels / kernels:.2f}",
                f"{beside_theirs / theirs:.2f}",
                *(f"{bytes_[name] / 1e6:.1f}" for name in attentions),
            )


def control_table(seconds: float):
    """Write the table of two ways of timing, of the kernel beside itself and beside ours."""
    ours = d2l.DotProductAttention(0)
    attentions = {"once": bare, "explicit": explicit, "again": partial(bare), "ours": ours}
    ways = {
        "kernel, in pairs": ("once", "again"),
        "kernel, explicit between": ("once", "explicit", "again"),
        "ours, in pairs": ("once", "ours"),
        "ours, explicit between": ("once", "explicit", "ours"),
    }
    yield "| B × H × Q × K | " + " | ".join(ways) + " |"
    yield "|---" * (1 + len(ways)) + "|"
    for batch, length in SIZES[:2]:
        ratios: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(REPEATS):
            rounds: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
            for _ in range(PLACES):
                tensors = inputs(batch, HEADS, length, 32)
                lens = torch.randint(length // 2, length + 1, (batch,))
                functions = tasks(attentions, tensors, lens, back=False)
                for way, names in ways.items():
                    taken = {name: functions[name] for name in names}
                    rounds[way].append(median_times(taken, seconds / PLACES, least=3))
            for way, found in rounds.items():
                once, *_, other = (
                    statistics.median(times[name] for times in found) for name in ways[way]
                )
                ratios[way].append(other / once)
        yield row(
            f"{batch} × {HEADS} × {length} × {length}",
            *(f"{min(found):.2f} to {max(found):.2f}" for found in ratios.values()),
        )


def four_layers(module: d2l.MultiHeadAttention, attention: Attention) -> Attention:
    """Put a module's four linear layers around an attention, and nothing else."""

    def heads(X: Tensor, count: int) -> Tensor:
        return X.unflatten(-1, (count, -1)).transpose(1, 2)  # (B, N, D) -> (B, H, N, D / H)

    def attend(q: Tensor, k: Tensor, v: Tensor, lens: Tensor | None) -> Tensor:
        q = heads(module.W_q(q), module.num_heads)
        k, v = (
            heads(layer(X), module.num_kv_heads) for layer, X in ((module.W_k, k), (module.W_v, v))
        )
        return module.W_o(attention(q, k, v, lens).transpose(1, 2).flatten(2))

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


def option_forms(
    length: int, width: int, heads: int
) -> dict[str, tuple[d2l.MultiHeadAttention, Attention]]:
    """Make ours with each option, and the kernel between ours' layers with the same, made before.

    What depends on places alone (angles, biases, a mask) the second has worked out in advance.
    """
    head_dim, i = width // heads, torch.arange(length)
    omega = 10000.0 ** (-torch.arange(0, head_dim, 2) / head_dim)
    turns = torch.polar(torch.ones(length, head_dim // 2), i[:, None] * omega)  # (N, D / 2H)

    def turn(X: Tensor) -> Tensor:
        pairs = torch.view_as_complex(X.unflatten(-1, (-1, 2)))  # (B, H, N, D / 2H)
        return torch.view_as_real(pairs * turns).flatten(-2)

    def rotary(q: Tensor, k: Tensor, v: Tensor, lens: Tensor | None) -> Tensor:
        return bare(turn(q), turn(k), v, lens)

    def grouped(q: Tensor, k: Tensor, v: Tensor, lens: Tensor | None) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    def masked(mask: Tensor) -> Attention:
        return lambda q, k, v, lens: F.scaled_dot_product_attention(q, k, v, mask)

    far = (i[:, None] - i).abs()
    forms: dict[str, tuple[dict, Attention]] = {
        "none": ({}, bare),
        "rotary": ({"relative": d2l.RotaryPositions(head_dim)}, rotary),
        "ALiBi": (
            {"relative": d2l.LinearBiases(heads)},
            masked(after.distance_bias(heads, length)[None]),  # (1, H, N, N)
        ),
        "grouped": ({"num_kv_heads": heads // 4}, grouped),
        "one shared": ({"num_kv_heads": 1}, grouped),
        "window": ({"window": WINDOW}, masked(far < WINDOW)),
        "window + first": (
            {"window": WINDOW - 1, "num_first": 1},
            masked((far < WINDOW - 1) | (i == 0)),
        ),
    }
    made = {}
    for name, (options, attention) in forms.items():
        ours = d2l.MultiHeadAttention(width, width, width, width, heads, 0, **options)
        made[name] = ours, four_layers(ours, attention)
    return made


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
    """Write the table of times: ours beside PyTorch's module and the two forms of four layers."""
    names = ("ours", "PyTorch", "four layers", "explicit")
    yield (
        "| B × N × D × H | ours, ms | PyTorch, ms | four layers, ms | explicit, ms "
        "| ours / PyTorch | ours / four layers | ours / explicit |"
    )
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    for sizes in MULTI_HEAD_SIZES:
        times = median_times(training_steps(*sizes), seconds, clock=time.process_time)
        yield row(
            " × ".join(map(str, sizes)),
            *(f"{1e3 * times[name]:.2f}" for name in names),
            *(f"{times['ours'] / times[name]:.2f}" for name in names[1:]),
        )


def options_table(seconds: float):
    """Write the table of what each option costs, beside the kernel with the same and with none."""
    batch, *sizes = OPTIONS_SIZE
    X = torch.randn(batch, sizes[0], sizes[1], requires_grad=True)
    upstream = torch.randn_like(X)

    def step(form: Attention, wanted: tuple[Tensor, ...]) -> Callable[[], object]:
        return lambda: torch.autograd.grad(form(X, X, X, None), wanted, upstream)

    forms, steps = option_forms(*sizes), {}
    for name, (ours, kernel) in forms.items():
        torch.testing.assert_close(ours(X, X, X), kernel(X, X, X, None), rtol=0, atol=1e-5)
        wanted = X, *ours.parameters()
        steps[name, "ours"], steps[name, "kernel"] = step(ours, wanted), step(kernel, wanted)
    times = median_times(steps, seconds, clock=time.process_time)
    none = times["none", "kernel"]
    yield "| option | ours, ms | kernel, ms | ours / kernel | kernel / none | ours / none |"
    yield "|---|--:|--:|--:|--:|--:|"
    for name in forms:
        ours, kernel = times[name, "ours"], times[name, "kernel"]
        yield row(
            name,
            *(f"{1e3 * time:.2f}" for time in (ours, kernel)),
            *(f"{ratio:.2f}" for ratio in (ours / kernel, kernel / none, ours / none)),
        )


def multi_head_memory_table():
    """Write the table of memory by the length of one sequence."""
    yield "| positions | ours, MB | PyTorch, MB | explicit, MB | ours, KB a position |"
    yield "|--:|--:|--:|--:|--:|"
    for length in MEMORY_LENGTHS:
        steps = training_steps(1, length, 256, 8)
        bytes_ = {name: peak_memory(steps[name]) for name in ("ours", "PyTorch", "explicit")}
        yield row(
            f"{length:,}",
            *(f"{peak / 1e6:,.1f}" for peak in bytes_.values()),
            f"{bytes_['ours'] / 1e3 / length:.1f}",
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
    yield "<!-- Written by: python -m benchmarks.attention -->"
    yield ""
    yield (
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, "
        f"{torch.get_num_threads()} threads, float32. Command: `python -m benchmarks.attention`."
    )
    yield ""
    yield (
        "Each time is the median over rounds in which ours and one other form have a turn each, "
        f"and then over {PLACES} sets of tensors, because where they lie in memory matters; the "
        "milliseconds of ours are those beside PyTorch's. The last table says how fine this is. "
        "Memory is the most "
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
    yield from ("", "**Two ways of timing**", "")
    yield (
        "Forward, width 32, with lengths: time over that of PyTorch's kernel, the least and the "
        f"most of {REPEATS} repeats. *In pairs* is the way above; *explicit between* has the "
        "explicit form in each round, too. *Kernel* is the same call timed as if it were another, "
        "so it should be 1."
    )
    yield ""
    yield from control_table(seconds)


def multi_head_page(seconds: float):
    """Write the section on multi-head attention, line by line."""
    yield "<!-- Written by: python -m benchmarks.attention --heads -->"
    yield ""
    yield (
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, "
        "1 thread, float32, self-attention without biases, forward and backward. "
        "Command: `python -m benchmarks.attention --heads`."
    )
    yield ""
    yield (
        "Milliseconds of processor time, in turn; B sequences of N positions, width D in H heads. "
        "All forms hold the same weights and give the same. *Ours* is `MultiHeadAttention`, "
        "*PyTorch* `nn.MultiheadAttention` asked for no weights. *Four layers* is "
        "`scaled_dot_product_attention` between four linear layers, without checks and with "
        "nothing kept; *explicit* is multiply, softmax, multiply between them."
    )
    yield ""
    yield from multi_head_table(seconds)
    yield ""
    yield (
        "Memory of one sequence, D = 256 and H = 8, beside what input and weights hold. The fused "
        "kernel's part grows with the positions, the explicit form's with their square."
    )
    yield ""
    yield from multi_head_memory_table()
    yield ""
    yield (
        f"What the options of chapters 8 and 10 cost, at {' × '.join(map(str, OPTIONS_SIZE))}. "
        "*Ours* is `MultiHeadAttention` with the option. *Kernel* is the same by "
        "`scaled_dot_product_attention` between the same four layers, with angles, biases and "
        "masks worked out before. *None* is the kernel without any option. *Grouped* has 2 heads "
        f"of keys for 8 of queries. The window is {WINDOW} places to each side, and the kernel, "
        "which is handed it as a mask, leaves no work out for it."
    )
    yield ""
    yield from options_table(seconds)


def scores_page(seconds: float):
    """Write the section on what a score costs, line by line."""
    yield "<!-- Written by: python -m benchmarks.attention --scores -->"
    yield ""
    yield (
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, "
        f"1 thread, float32, one sequence, h = d = {SCORE_WIDTH}. "
        "Command: `python -m benchmarks.attention --scores`."
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
    parser.add_argument("--seconds", type=float, default=3.0, help="for each cell (default 3)")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--heads", action="store_true", help="multi-head attention, and no more")
    only.add_argument("--scores", action="store_true", help="what a score costs, and no more")
    parser.add_argument("--output", type=Path, help="where the section goes")
    parser.add_argument("--threads", type=int, help="for PyTorch (default: as it likes)")
    options = parser.parse_args()
    if options.threads or options.heads or options.scores:
        torch.set_num_threads(options.threads or 1)  # their pages say one
    torch.manual_seed(0)
    if options.heads:
        write, output = multi_head_page, MULTI_HEAD_PAGE
    elif options.scores:
        write, output = scores_page, SCORES_PAGE
    else:
        write, output = page, PAGE
    print_and_write(write(options.seconds), options.output or output)


if __name__ == "__main__":
    main()
