"""Attention that carries a sum: what a written word costs, and how many pairs a matrix recalls.

python -m benchmarks.recall trains networks of each way and width on recall, five side by side, and
reports in reference/benchmarks/recall.md. Each training is kept in a file as soon as it is done,
and not done again.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.measure import load_or_run, median_times
from benchmarks.report import each, named, output_parser, table, write_report
from d2lattn.book.experiments import recall

KEPT = Path("recall.jsonl")
RATES = (0.01, 0.03, 0.1)
WIDTHS = (8, 16, 32)
NETWORKS = 5
"""Side by side."""
PAIRS = (*recall.TRAINED, 128)
NUM_HEADS, HEAD = 8, 64
WRITTEN = (64, 256, 1024, 4096, 16384)
TEXTS = (256, 1024, 4096)
CHUNK = 64


def features(X: Tensor) -> Tensor:
    """The positive features of Katharopoulos et al. (2020)."""
    return F.elu(X) + 1


def measure(way: str, width: int, rate: float, networks: int, steps: int) -> dict:
    """Train networks side by side, and count what they recall."""
    start = time.process_time()
    trained = recall.learn(way, width, rate, networks, steps)
    seconds = time.process_time() - start
    chosen = [recall.accuracy(trained, n, "validation") for n in recall.TRAINED]
    return {
        "way": way,
        "width": width,
        "rate": rate,
        "networks": networks,
        "steps": steps,
        "seconds": seconds,
        "validation": torch.stack(chosen).mean().item(),
        "test": {str(n): recall.accuracy(trained, n).tolist() for n in PAIRS},
    }


def words(num_written: int) -> dict[str, Callable[[], Tensor]]:
    """Attention of the newest word, by a list of all keys and values, and by a matrix."""
    keys, values = torch.randn(2, 1, NUM_HEADS, num_written, HEAD)
    q, k, v = torch.randn(3, 1, NUM_HEADS, 1, HEAD)
    matrix, total = torch.zeros(NUM_HEADS, HEAD, HEAD), torch.zeros(NUM_HEADS, HEAD, 1)

    def by_list() -> Tensor:
        keys[:, :, -1:], values[:, :, -1:] = k, v
        return F.scaled_dot_product_attention(q, keys, values)

    def by_matrix() -> Tensor:
        asked, told = features(q)[0], features(k)[0].mT  # (H, 1, D), (H, D, 1)
        matrix.baddbmm_(told, v[0])  # (H, D, D) + (H, D, 1) x (H, 1, D)
        total.add_(told)
        return torch.bmm(asked, matrix) / torch.bmm(asked, total)

    return {"list": by_list, "matrix": by_matrix}


def in_chunks(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention by features (H, T, D) with a square within each chunk and a sum from before."""
    matrix, total, read = 0.0, 0.0, []
    for ours, keys, values in zip(*(x.split(CHUNK, dim=1) for x in (q, k, v)), strict=True):
        scores = (ours @ keys.mT).tril()  # (H, C, D) x (H, D, C) -> (H, C, C)
        above, below = scores @ values, scores.sum(dim=-1, keepdim=True)
        if read:
            above, below = above + ours @ matrix, below + ours @ total
        read.append(above / below)
        matrix = matrix + keys.mT @ values  # (H, D, D)
        total = total + keys.sum(dim=1).unsqueeze(-1)  # (H, D, 1)
    return torch.cat(read, dim=1)


def texts(num_positions: int) -> dict[str, Callable[[], Tensor]]:
    """Attention of every word of a text to those before it, when all of it is known."""
    q, k, v = torch.randn(3, 1, NUM_HEADS, num_positions, HEAD)

    def square() -> Tensor:
        scores = (features(q) @ features(k).mT).tril()
        return scores @ v / scores.sum(dim=-1, keepdim=True)

    def one_by_one() -> Tensor:
        asked, told = features(q)[0], features(k)[0]  # (H, T, D)
        matrix, total, read = torch.zeros(NUM_HEADS, HEAD, HEAD), torch.zeros(NUM_HEADS, HEAD), []
        for i in range(num_positions):
            matrix.baddbmm_(told[:, i, :, None], v[0, :, i, None])
            total += told[:, i]
            found = torch.bmm(asked[:, i, None], matrix)  # (H, 1, D) x (H, D, D)
            read.append(found / (asked[:, i] * total).sum(dim=-1).view(-1, 1, 1))
        return torch.cat(read, dim=1)

    return {
        "softmax": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        "square": square,
        "in chunks": lambda: in_chunks(features(q)[0], features(k)[0], v[0]),
        "one by one": one_by_one,
    }


def recall_table(options: argparse.Namespace) -> dict:
    """Train what is missing, and give what networks recall, each way at its best rate."""
    rows = []
    for way, width in product(recall.WAYS, WIDTHS):
        runs = []
        for rate in RATES:
            run = {"way": way, "width": width, "rate": rate}
            run |= {"networks": NETWORKS, "steps": options.steps}
            runs.append(load_or_run(options.keep, run, partial(measure, **run)))
        best = max(runs, key=lambda run: run["validation"])
        cells = [each([100 * share for share in best["test"][str(n)]]) for n in PAIRS]
        rows.append([f"{way}, {width}", best["rate"], *cells])
    columns = named((f"{n} pairs" for n in PAIRS), ".1f")
    return table([("method, width", ""), ("learning rate", "g"), *columns], rows)


def steps_table(options: argparse.Namespace) -> dict:
    """Measure what the newest word costs, and what is kept for it."""
    rows = []
    for count in options.written:
        times = {}  # one after the other: a long list empties the cache of the processor
        for name, function in words(count).items():
            times |= median_times({name: function}, options.seconds, clock=time.process_time)
        kept = 2 * count * NUM_HEADS * HEAD, NUM_HEADS * HEAD * (HEAD + 1)
        rows.append([count, *(1e6 * seconds for seconds in times.values()), *kept])
    columns = [*named(("list, µs", "matrix, µs"), ".0f")]
    columns += named(("list, numbers", "matrix, numbers"), ",d")
    return table([("words so far", "<,d"), *columns], rows)


def texts_table(options: argparse.Namespace) -> dict:
    """Measure what a text takes that is known as a whole."""
    rows = []
    for count in options.texts:
        times = median_times(texts(count), options.seconds, least=5, clock=time.process_time)
        rows.append([count, *(1e3 * seconds for seconds in times.values())])
    return table([("words", "<,d"), *named((f"{name}, ms" for name in texts(1)), ".1f")], rows)


def main() -> None:
    """Train what is missing, and report."""
    parser = output_parser(__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--written", type=int, nargs="+", default=WRITTEN, help="words so far")
    parser.add_argument("--texts", type=int, nargs="+", default=TEXTS, help="words of a text")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each time")
    parser.add_argument("--keep", type=Path, default=KEPT, help="where trainings are kept")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    tables = {"trained": recall_table, "steps": steps_table, "whole": texts_table}
    results = {
        "steps": options.steps,
        "networks": NETWORKS,
        "rates": RATES,
        "tables": {name: make(options) for name, make in tables.items()},
    }
    write_report("recall", "recall", results, options.output)


if __name__ == "__main__":
    main()
