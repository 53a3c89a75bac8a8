"""What the heads of chapter 5b's translator are worth: one and two switched off, five trainings.

python -m benchmarks.head_worth trains the translator with four heads on the course's own corpus,
once for each seed, and reports in reference/benchmarks/head-worth.md.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import combinations

import torch
from torch import Tensor

import d2lattn as d2l
from benchmarks.exchanging import article_steps, articles
from benchmarks.heads import FORMS, OTHERS, fit
from benchmarks.report import table, write_report
from benchmarks.translation import (
    EVALUATION_BATCH,
    Translator,
    corpus_for,
    training_parser,
)
from d2lattn.corpus import Corpus, Pair, batches
from d2lattn.training import evaluating

NUM_HEADS = 4
GROUPS = ("la",), FORMS, OTHERS, ("est-ce",)  # what may be written where la is right
CHOICES = [off for count in (0, 1, 2) for off in combinations(range(NUM_HEADS), count)]


def chances(translator: Translator, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
    """Give the chances of each next word, true words before it, (N, V), and the true words (N,).

    And where this word is a *la* that translates *the*, (N,). The end of a sentence counts as a
    word.
    """
    model, vocabs = translator.model, (translator.source_vocab, translator.target_vocab)
    found, true, at_la = [], [], []
    with evaluating(model), torch.no_grad():
        for batch in batches(pairs, *vocabs, EVALUATION_BATCH):
            logits, _ = model(batch.source, d2l.shift_right(batch.target), batch.source_valid_lens)
            valid = torch.arange(batch.target.shape[1]) < batch.target_valid_lens[:, None]
            found.append(logits[valid].softmax(dim=-1))  # (B, T, V) -> (N, V)
            true.append(batch.target[valid])
            at_la.append(article_steps(batch)[valid])
    return torch.cat(found), torch.cat(true), torch.cat(at_la)


def measure(seed: int, corpus: Corpus) -> list[list]:
    """Train one translator, and give a row of the table for each choice of heads."""
    translator = fit(NUM_HEADS, corpus.train, seed)
    attention = translator.model.decoder.heads
    one_by_one = ([pair] for pair in corpus.valid)  # no padding asks
    means = d2l.head_means(attention, lambda: [chances(translator, one) for one in one_by_one])
    lengths, rows = head_lengths(translator, corpus.test), []
    for off in CHOICES:
        with d2l.without_heads(attention, off):
            zero = measure_words(translator, corpus.test)
        with d2l.without_heads(attention, off, means):
            mean = measure_words(translator, corpus.test)
        length = lengths[off[0]] if len(off) == 1 else ""
        heads = " and ".join(str(head + 1) for head in off) or "nothing"
        rows.append([f"seed {seed}, {heads}", length, *zero, *mean])
    print(f"seed {seed}, {translator.seconds:.0f} s: {rows}", file=sys.stderr, flush=True)
    return rows


def measure_words(translator: Translator, pairs: Sequence[Pair]) -> list[float]:
    """Give the percentage of wrong words, and at each such *la* the mean chance of each group."""
    probabilities, true, at_la = chances(translator, pairs)
    wrong = (probabilities.argmax(dim=-1) != true).double().mean().item()
    groups = [translator.target_vocab.encode(list(words)) for words in GROUPS]
    here = probabilities[at_la].double()  # (N, V)
    return [100 * wrong, *(here[:, group].sum(dim=-1).mean().item() for group in groups)]


def head_lengths(translator: Translator, pairs: Sequence[Pair]) -> list[float]:
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
            _, true, _ = chances(translator, [pair])
            means.append((lengths[0][0].sum(dim=-1), len(true)))
    finally:
        hook.remove()
    total = torch.stack([length for length, _ in means]).sum(dim=0)  # (H,)
    return (total / sum(count for _, count in means)).tolist()


def results_of(options: argparse.Namespace) -> dict:
    """Train with all seeds."""
    corpus = corpus_for(options)
    words = "*la*", "its other forms", "other determiners", "*est-ce*"
    columns = [("switched off", ""), ("length", ".2f")]
    for how in ("zeros", "means"):
        columns.append((f"wrong, {how}", ".2f"))
        columns += [(f"{what}, {how}", ".3f") for what in words]
    rows = [row for seed in options.seeds for row in measure(seed, corpus)]
    sizes = {name: len(getattr(corpus, name)) for name in ("test", "valid")}
    sizes["articles"] = len(list(articles(corpus.test)))
    tables = {"heads": table(columns, rows)}
    return {"pairs": len(corpus.train), **sizes, "seeds": options.seeds, "tables": tables}


def main() -> None:
    """Train, measure and report."""
    options = training_parser(__doc__, seeds=range(5)).parse_args()
    torch.set_num_threads(1)
    write_report("head-worth", "head_worth", results_of(options), options.output)


if __name__ == "__main__":
    main()
