"""Attention that carries a sum: what a written word costs, and how many pairs a matrix recalls.

python -m benchmarks.recall trains networks of each way and width on recall, five side by side,
prints the tables and writes them to reference/benchmarks/recall.md. Each training is kept in a file
as soon as it is done, and not done again.
"""

import argparse
import platform
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.measure import kept_or_made, median_times, print_and_write, processor
from benchmarks.relative import each
from benchmarks.translation import FOLDER, row, rule
from d2lattn.book.experiments import recall

KEPT = Path("recall.jsonl")
RATES = (0.01, 0.03, 0.1)
WIDTHS = (8, 16, 32)
PAIRS = (*recall.TRAINED, 128)
NUM_HEADS, HEAD = 8, 64
WRITTEN = (64, 256, 1024, 4096, 16384)
TEXTS = (256, 1024, 4096)
CHUNK = 64


def features(X: Tensor) -> Tensor:
    """The positive features of Katharopoulos et al. (2020)."""
    return F.elu(X) + 1


def measure(way: str, width: int, rate: float, networks: int, steps: int) -> dict:
    """Train networks side by side, and ask them."""
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


def trained(options: argparse.Namespace) -> Iterator[str]:
    """Write what trained networks recall, each way at its best rate."""
    yield row("way, width", "rate", *(f"{n} pairs" for n in PAIRS))
    yield rule(2 + len(PAIRS))
    for way in recall.WAYS:
        for width in options.widths:
            found = []
            for rate in RATES:
                run = {"way": way, "width": width, "rate": rate}
                run |= {"networks": options.networks, "steps": options.steps}
                found.append(kept_or_made(options.keep, run, partial(measure, **run)))
            best = max(found, key=lambda one: one["validation"])
            cells = (each([100 * x for x in best["test"][str(n)]]) for n in PAIRS)
            yield row(f"{way}, {width}", f"{best['rate']:g}", *cells)


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


def steps(options: argparse.Namespace) -> Iterator[str]:
    """Write what the newest word costs, and what is kept for it."""
    yield row("words so far", "list, µs", "matrix, µs", "list, numbers", "matrix, numbers")
    yield rule(5)
    for count in options.written:
        times = {}  # one after the other: a long list empties the cache of the processor
        for name, function in words(count).items():
            times |= median_times({name: function}, options.seconds, clock=time.process_time)
        kept = 2 * count * NUM_HEADS * HEAD, NUM_HEADS * HEAD * (HEAD + 1)
        cells = [f"{1e6 * x:.0f}" for x in times.values()] + [f"{x:,}" for x in kept]
        yield row(f"{count:,}", *cells)


def whole(options: argparse.Namespace) -> Iterator[str]:
    """Write what a text takes that is known as a whole."""
    names = list(texts(1))
    yield row("words", *(f"{name}, ms" for name in names))
    yield rule(1 + len(names))
    for count in options.texts:
        times = median_times(texts(count), options.seconds, least=5, clock=time.process_time)
        yield row(f"{count:,}", *(f"{1e3 * times[name]:.1f}" for name in names))


def page(options: argparse.Namespace) -> Iterator[str]:
    """Write the page, line by line."""
    yield "<!-- Written by: python -m benchmarks.recall -->"
    yield ""
    yield (
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, 1 thread,"
        " float32. Command: `python -m benchmarks.recall`."
    )
    yield ""
    yield (
        "**Words that trained networks recall, in percent.** A network is told pairs of one of "
        f"{recall.NUM_KEYS} keys and one of {recall.NUM_WORDS} words, no key twice, and is asked "
        f"for all of them. Trained on texts of {recall.TRAINED[0]} to {recall.TRAINED[-1]} pairs, "
        f"{options.steps:,} steps of 32 texts by Adam, at a rate that falls to 0 from the best of "
        f"{', '.join(f'{rate:g}' for rate in RATES)} (chosen on other texts). Mean of "
        f"{options.networks} networks, and behind it that of each."
    )
    yield ""
    yield "- *softmax*: keeps all keys and values."
    yield "- *products*: a matrix, the sum of the products of key and value."
    yield "- *positive*: the same with features elu(x) + 1, divided by their sum."
    yield "- *corrected*: a matrix by the delta rule, with keys of length 1."
    yield ""
    yield from trained(options)
    yield ""
    yield (
        f"**Attention of the newest word** ({NUM_HEADS} heads of width {HEAD}; medians of "
        "processor time). The list is asked by PyTorch's fused kernel, and has its room "
        "from the start; the matrix has features elu(x) + 1."
    )
    yield ""
    yield from steps(options)
    yield ""
    yield (
        "**Attention in a text that is known as a whole** (the same heads, each word to those "
        f"before it, forwards). *softmax*: PyTorch's fused kernel. The others have features "
        f"elu(x) + 1: all scores at once, chunks of {CHUNK} words, or a sum that is carried from "
        "word to word in Python."
    )
    yield ""
    yield from whole(options)


def main() -> None:
    """Train what is missing, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS)
    parser.add_argument("--networks", type=int, default=5, help="side by side")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--written", type=int, nargs="+", default=WRITTEN, help="words so far")
    parser.add_argument("--texts", type=int, nargs="+", default=TEXTS, help="words of a text")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each time")
    parser.add_argument("--keep", type=Path, default=KEPT, help="where trainings are kept")
    parser.add_argument("--output", type=Path, default=FOLDER / "recall.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print_and_write(page(options), options.output)


if __name__ == "__main__":
    main()
