"""Chapter 5b's translator with one head and with four: what they learn, and who does what.

python -m benchmarks.heads trains 5b.3's translator with one head and with four on the course's own
corpus, once for each seed, and reports in reference/benchmarks/heads.md.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

import d2lattn as d2l
from benchmarks.believing import counted
from benchmarks.exchanging import WHEN, article_steps, articles, articles_turned
from benchmarks.report import named, spread, table, write_report
from benchmarks.translation import (
    EMBED_SIZE,
    EVALUATION_BATCH,
    NUM_HIDDENS,
    Translator,
    align,
    bleu,
    corpus_for,
    count_parameters,
    fit_model,
    training_parser,
    translate,
)
from d2lattn.book.translators import HeadsDecoder
from d2lattn.corpus import Corpus, Pair, batches
from d2lattn.training import evaluating

HEADS = 1, 4
SPLITS = "test", "unseen", "long"
MEAN = "mean of the four"
NOTHING = "nothing"  # is switched off
FORMS = "le", "l'", "les"  # other forms of la
OTHERS = "une", "sa", "ma", "ta", "cette"  # other words of its kind, feminine too
LEARNING_RATE, DECAY_SHARE = 5e-3, 0.6


def build(num_heads: int, source_size: int, target_size: int) -> d2l.EncoderDecoder:
    """Make the translator for vocabularies of two sizes."""
    encoder = d2l.Seq2SeqEncoder(source_size, EMBED_SIZE, NUM_HIDDENS, 1, bidirectional=True)
    return d2l.EncoderDecoder(encoder, HeadsDecoder(target_size, num_heads))


def fit(num_heads: int, pairs: list[Pair], seed: int) -> Translator:
    """Train it: every pair once."""
    schedule = {"learning_rate": LEARNING_RATE, "decay_share": DECAY_SHARE}
    return fit_model(partial(build, num_heads), pairs, seed, num_epochs=1, **schedule)


def error_rates(translator: Translator, pairs: list[Pair]) -> dict[str, float]:
    """Give the alignment error rate of each head, and of the mean of several."""
    links: dict[str, list[frozenset]] = {}
    done: list[Pair] = []
    vocabs = translator.source_vocab, translator.target_vocab
    for batch in batches(pairs, *vocabs, EVALUATION_BATCH):
        done += batch.pairs
        for weights in d2l.teacher_forced_attention(translator.model, batch):  # (H, T, S)
            readings = {f"head {head}": matrix for head, matrix in enumerate(weights, start=1)}
            for name, matrix in (readings | {MEAN: weights.mean(dim=0)}).items():
                links.setdefault(name, []).append(d2l.alignment_links(matrix))
    return {name: align(values, done).error_rate for name, values in links.items()}


def looks_at_la(translator: Translator, pairs: list[Pair]) -> Tensor:
    """Give each head's mean weights on *the* and on the noun before it writes *la*, (H, 2)."""
    found = []
    vocabs = translator.source_vocab, translator.target_vocab
    for pair, step, article, noun in articles(pairs):
        (batch,) = batches([pair], *vocabs, 1)
        (weights,) = d2l.teacher_forced_attention(translator.model, batch)  # (H, T, S)
        found.append(weights[:, step, [article, noun]])
    return torch.stack(found).mean(dim=0)


def at_la(translator: Translator, pairs: list[Pair], off: Sequence[int]) -> list[float]:
    """Give the mean chance of *la*, its other forms and others of its kind with heads off.

    The mean is taken over the same steps as in `looks_at_la`: where *la* translates *the*.
    """
    model, vocab = translator.model, translator.target_vocab
    groups = [vocab.encode(list(words)) for words in (("la",), FORMS, OTHERS)]
    found = []
    without = d2l.without_heads(model.decoder.heads, off)
    with evaluating(model), torch.no_grad(), without:
        for batch in batches(pairs, translator.source_vocab, vocab, EVALUATION_BATCH):
            logits, _ = model(batch.source, d2l.shift_right(batch.target), batch.source_valid_lens)
            chances = logits[article_steps(batch)].softmax(dim=-1)  # (N, V)
            found.append(torch.stack([chances[:, group].sum(dim=-1) for group in groups], dim=-1))
    return torch.cat(found).mean(dim=0).tolist()


def measure(num_heads: int, seed: int, corpus: Corpus) -> dict:
    """Train one translator, and measure all that the page shows."""
    translator = fit(num_heads, corpus.train, seed)
    test = corpus.test
    run = {
        "parameters": count_parameters(translator.model),
        "bleu": [bleu(translate(translator, getattr(corpus, name))) for name in SPLITS],
        "rates": error_rates(translator, test),
    }
    turned = list(articles_turned(translator, test, WHEN[:1]))
    run["turned"] = counted(turned, {"article": "", "noun": ""})
    if num_heads > 1:
        valid = error_rates(translator, corpus.valid)
        run["choice"] = min((n for n in valid if n != MEAN), key=valid.__getitem__)
        run["looks"] = looks_at_la(translator, test).tolist()
        cases = {NOTHING: []} | {f"head {head + 1}": [head] for head in range(num_heads)}
        run["off"] = {name: at_la(translator, test, off) for name, off in cases.items()}
    seconds = f"{translator.seconds:.0f} s"
    print(f"{num_heads} heads, seed {seed}, {seconds}: {run}", file=sys.stderr, flush=True)
    return run


def bleu_table(runs: dict[str, list[dict]], seeds: Sequence[int]) -> dict:
    """Put BLEU together, seed by seed and in all."""
    rows = [
        [f"{name}, seed {seed}", run["parameters"], *run["bleu"]]
        for name, results in runs.items()
        for seed, run in zip(seeds, results, strict=True)
    ]
    scores = [
        torch.tensor([run["bleu"] for run in results], dtype=torch.float64)
        for results in runs.values()
    ]
    one, four = scores
    totals = [(f"{name}, all seeds", values) for name, values in zip(runs, scores, strict=True)]
    for name, values in (*totals, ("4 heads minus 1 head, for each seed", four - one)):
        rows.append([name, "", *map(spread, values.T.tolist())])
    return table([("model", ""), ("parameters", ",d"), *named(SPLITS, ".1f")], rows)


def links_table(one: list[dict], four: list[dict], seeds: Sequence[int]) -> dict:
    """Put the error rates of all readings together."""
    heads = [f"head {head}" for head in range(1, HEADS[1] + 1)]
    rates = [
        [a["rates"]["head 1"], *(b["rates"][n] for n in (*heads, b["choice"], MEAN))]
        for a, b in zip(one, four, strict=True)
    ]
    rows = [[seed, *values] for seed, values in zip(seeds, rates, strict=True)]
    alone, *_, best, mean = map(spread, zip(*rates, strict=True))
    rows.append(["all", alone, *([""] * len(heads)), best, mean])
    names = "1 head", *(f"{head} of 4" for head in heads), "best on valid", MEAN
    return table([("seed", "<d"), *named(names, ".3f")], rows)


def sharing_table(four: list[dict], seeds: Sequence[int]) -> dict:
    """Say where each head looks at *la*, and what is said without it."""
    rows = []
    for seed, run in zip(seeds, four, strict=True):
        looks = [["", ""], *run["looks"]]
        for (name, chances), weights in zip(run["off"].items(), looks, strict=True):
            rows.append([f"seed {seed}, {name}", *weights, *chances])
    weights = named(("weight on *the*", "weight on the noun"), ".2f")
    chances = named(("*la*", "its other forms", "other determiners"), ".3f")
    return table([("switched off", ""), *weights, *chances], rows)


def results_of(options: argparse.Namespace) -> dict:
    """Train both translators with all seeds."""
    corpus, seeds = corpus_for(options), options.seeds
    one, four = ([measure(heads, seed, corpus) for seed in seeds] for heads in HEADS)
    runs = {"1 head": one, "4 heads": four}
    turned = [
        [f"{name}, seed {seed}", *run["turned"]]
        for name, results in runs.items()
        for seed, run in zip(seeds, results, strict=True)
    ]
    columns = named(("sentences", "state at *the*", "state at the noun"), ".0f")
    return {
        "pairs": len(corpus.train),
        "test": len(corpus.test),
        "valid": len(corpus.valid),
        "seeds": seeds,
        "sentences": len(list(articles(corpus.test))),
        "tables": {
            "bleu": bleu_table(runs, seeds),
            "links": links_table(one, four, seeds),
            "sharing": sharing_table(four, seeds),
            "exchanges": table([("model", ""), *columns], turned),
        },
    }


def main() -> None:
    """Train, measure and report."""
    options = training_parser(__doc__, seeds=range(5)).parse_args()
    torch.set_num_threads(1)
    write_report("heads", "heads", results_of(options), options.output)


if __name__ == "__main__":
    main()
