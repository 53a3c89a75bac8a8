"""What the heads of chapter 5b's translator are worth: one and two switched off, five trainings.

python -m benchmarks.head_worth trains the translator with four heads on the course's own corpus,
once for each seed, prints the table and writes it to reference/benchmarks/head-worth.md.
"""

import argparse
import platform
import sys
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import torch
from torch import Tensor

import d2lattn as d2l
from benchmarks.heads import DECAY_SHARE, FORMS, LEARNING_RATE, OTHERS, fit
from benchmarks.measure import print_and_write, processor
from benchmarks.translation import (
    BATCH_SIZE,
    EVALUATION_BATCH,
    FOLDER,
    Translator,
    corpus_for,
    row,
    rule,
)
from d2lattn.corpus import Pair, batches
from d2lattn.training import evaluating

NUM_HEADS = 4
GROUPS = ("la",), FORMS, OTHERS, ("est-ce",)  # what may be written where la is right
CHOICES = [off for count in (0, 1, 2) for off in combinations(range(NUM_HEADS), count)]


def chances(translator: Translator, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor]:
    """Give the chances of each next word, true words before it, (N, V), and the true words (N,).

    The end of a sentence counts as a word.
    """
    model, vocabs = translator.model, (translator.source_vocab, translator.target_vocab)
    found, true = [], []
    with evaluating(model), torch.no_grad():
        for batch in batches(pairs, *vocabs, EVALUATION_BATCH):
            logits, _ = model(batch.source, d2l.shift_right(batch.target), batch.source_valid_lens)
            valid = torch.arange(batch.target.shape[1]) < batch.target_valid_lens[:, None]
            found.append(logits[valid].softmax(dim=-1))  # (B, T, V) -> (N, V)
            true.append(batch.target[valid])
    return torch.cat(found), torch.cat(true)


def told(translator: Translator, pairs: Sequence[Pair]) -> list[float]:
    """Give the percentage of wrong words, and at each *la* the mean chance of each group."""
    found, true = chances(translator, pairs)
    wrong = (found.argmax(dim=-1) != true).double().mean().item()
    groups = [translator.target_vocab.encode(list(words)) for words in GROUPS]
    at_la = found[true == groups[0][0]].double()  # (N, V)
    return [100 * wrong, *(at_la[:, group].sum(dim=-1).mean().item() for group in groups)]


def brought(translator: Translator, pairs: Sequence[Pair]) -> list[float]:
    """Give how long what each head adds to the output is, in the mean over all words."""
    attention = translator.model.decoder.heads
    blocks = attention.W_o.weight.T.unflatten(0, (NUM_HEADS, -1))  # (D, D) -> (H, D / H, D)
    lengths = []

    def see(joined: Tensor) -> None:
        heads = joined.unflatten(-1, (NUM_HEADS, -1)).transpose(1, 2)  # (B, H, T, D / H)
        lengths.append((heads @ blocks).norm(dim=-1))  # (B, H, T, D) -> (B, H, T)

    hook = attention.W_o.register_forward_pre_hook(lambda _, inputs: see(inputs[0]))
    means = []
    try:
        for pair in pairs:  # one by one, so that there is no padding
            lengths.clear()
            _, true = chances(translator, [pair])
            means.append((lengths[0][0].sum(dim=-1), len(true)))
    finally:
        hook.remove()
    total = torch.stack([length for length, _ in means]).sum(dim=0)  # (H,)
    return (total / sum(count for _, count in means)).tolist()


def measure(seed: int, corpus) -> dict:
    """Train one translator, and ask it with heads switched off."""
    translator = fit(NUM_HEADS, corpus.train, seed)
    attention = translator.model.decoder.heads
    one_by_one = ([pair] for pair in corpus.valid)  # no padding asks
    means = d2l.head_means(attention, lambda: [chances(translator, one) for one in one_by_one])
    found = {"brought": brought(translator, corpus.test), "off": {}}
    for off in CHOICES:
        with d2l.without_heads(attention, off):
            zero = told(translator, corpus.test)
        with d2l.without_heads(attention, off, means):
            mean = told(translator, corpus.test)
        found["off"][off] = zero, mean
    seconds = f"{translator.seconds:.0f} s"
    print(f"seed {seed}, {seconds}: {found}", file=sys.stderr, flush=True)
    return found


def named(seed: int, off: Sequence[int]) -> str:
    """Name a row."""
    heads = " and ".join(str(head + 1) for head in off) or "nothing"
    return f"seed {seed}, {heads}"


def table(results: list[dict], seeds: Sequence[int]) -> Iterator[str]:
    """Write a row for each choice of heads."""
    words = "*la*", "its other forms", "others", "*est-ce*"
    kinds = (f"{what}, {how}" for how in ("zeros", "means") for what in ("wrong", *words))
    yield row("switched off", "length", *kinds)
    yield rule(2 + 2 * (1 + len(words)))
    for seed, found in zip(seeds, results, strict=True):
        for off, both in found["off"].items():
            length = f"{found['brought'][off[0]]:.2f}" if len(off) == 1 else ""
            cells = [
                text
                for wrong, *shares in both
                for text in (f"{wrong:.2f}", *(f"{p:.3f}" for p in shares))
            ]
            yield row(named(seed, off), length, *cells)
    yield ""


def page(options: argparse.Namespace) -> Iterator[str]:
    """Write the page, line by line."""
    corpus, seeds = corpus_for(options), options.seeds
    results = [measure(seed, corpus) for seed in seeds]
    yield "<!-- Written by: python -m benchmarks.head_worth -->"
    yield ""
    yield (
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, 1 thread."
        f" Command: `python -m benchmarks.head_worth`. The same translator with four heads, "
        f"{len(corpus.train):,} pairs once, in batches of {BATCH_SIZE}; Adam at {LEARNING_RATE} "
        f"falling to 0 over the last {DECAY_SHARE:.0%} of the steps; seeds "
        f"{', '.join(map(str, seeds))}. *Wrong*: percent of the words of {len(corpus.test):,} test "
        "pairs that are not the likeliest one, the true words before them; the end of a sentence "
        "counts. *Zeros*, *means*: what stands in for a head that is off; means are those of "
        f"{len(corpus.valid):,} other pairs. *Length*: of what the head adds to the output, in the "
        "mean over all words. The other columns are mean probabilities at each *la*, of "
        f"{', '.join(f'*{word}*' for word in FORMS)} (forms), of "
        f"{', '.join(f'*{word}*' for word in OTHERS)} (others) and of *est-ce*."
    )
    yield ""
    yield from table(results, seeds)


def main() -> None:
    """Train, ask, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--pairs", type=int, default=42_000, help="to train on")
    parser.add_argument("--held-out", type=int, help="of each set (default: all)")
    parser.add_argument("--output", type=Path, default=FOLDER / "head-worth.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print_and_write(page(options), options.output)


if __name__ == "__main__":
    main()
