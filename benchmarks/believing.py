"""Chapter 4b's tests of attention again, on three seeds, and on real sentences.

python -m benchmarks.believing trains both translators on the course's own corpus, hides and
exchanges their states, gives them other weights, prints the tables and writes them to
reference/benchmarks/believing.md.
With --tatoeba PATH, what has no gold links is measured on real sentences too.
"""

import argparse
import platform
import random
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

import d2lattn as d2l
from benchmarks import exchanging, other_weights, translation
from benchmarks.measure import print_and_write, processor
from d2lattn.corpus import Pair, batches
from d2lattn.corpus.tatoeba import read_tatoeba, split_by_source
from d2lattn.training import evaluating

KINDS = translation.FORWARD, translation.BOTH
BOUNDS = 0.0, 0.5, 0.8, 0.95, 1.01  # of a row's largest weight
OWN = argparse.Namespace(
    epochs=2, learning_rate=5e-3, decay_share=0.6, dropout=0.1, encoder_dropout=0.0, min_freq=1
)
REAL = argparse.Namespace(
    epochs=40, learning_rate=4e-3, decay_share=0.6, dropout=0.3, encoder_dropout=0.3, min_freq=2
)
# What is counted of each word, and how a table's column calls it
HIDDEN = {
    "looked at": "without the state looked at",
    "second": "without the second",
    "own": "without its own",
    "random": "without a random one",
    "worst": "looked at cost most",
}
REAL_HIDDEN = {key: name for key, name in HIDDEN.items() if key != "own"}
REAL_HIDDEN["guess"] = "a guess would"
ARTICLES = {
    "article": "state at *the*",
    "noun": "state at the noun",
    "random": "a random one",
    "all": "all",
}
PRONOUNS = {
    "looked at": "state looked at",
    "own": "state at the pronoun",
    "before": "both before it",
    "looks before": "(looked at is one of these)",
    "random": "a random one",
    "all": "all",
}
REWEIGHED = {
    "permuted": "permuted: change",
    "looked at": "looked at alone: same",
    "another": "another alone: same",
    "near": "with like probabilities",
    "random": "a random one alone: same",
    "nothing": "none: same",
}
Word = dict[str, Any]


def hide(translator: translation.Translator, pairs: Sequence[Pair]) -> Iterator[Word]:
    """Hide the states in turn at each word that is right with nothing hidden: what that did.

    Without gold links (a pair has none), what the word translates is not known.
    """
    model, vocab = translator.model, translator.target_vocab
    drawn = random.Random(0)
    for batch in batches(pairs, translator.source_vocab, vocab, batch_size=1, bucket=False):
        (pair,) = batch.pairs
        chances = d2l.hide_each_state(model, batch.source, batch.target)[0, :-1]  # (T, S + 2, V)
        with evaluating(model), torch.no_grad():
            model(batch.source, d2l.shift_right(batch.target), batch.source_valid_lens)
        rows = model.decoder.attention_weights[0, :-1]  # (T, S), <eos> the last column
        ids = batch.target[0, :-1]
        logs = chances[torch.arange(len(ids)), :, ids].log()  # (T, S + 2)
        changed = chances.argmax(dim=-1) != ids.unsqueeze(1)
        for step, row in enumerate(rows):
            if changed[step, 0] or ids[step] == vocab.unk:
                continue
            look, second = row.topk(2).indices.tolist()
            own = {s for s, t in pair.possible if t == step}
            other = drawn.choice([state for state in range(len(row)) if state != look])
            without = changed[step, 1:-1]
            yield {
                "weight": row.max().item(),
                "on gold": look in own,
                "looked at": without[look].item(),
                "second": without[second].item(),
                "own": any(without[state].item() for state in own),
                "random": without[other].item(),
                "worst": logs[step, 1:-1].argmin().item() == look,
                "guess": 1 / len(row),
            }


def counted(
    words: Sequence[Word], columns: dict[str, str], like: dict[str, object] | None = None
) -> list[float | None]:
    """Count the words that are `like` this, and give the percentage that each column is true of."""
    some = [w for w in words if all(w[key] == value for key, value in (like or {}).items())]
    if not some:
        return [0, *(None for _ in columns)]
    return [len(some), *(100 * statistics.mean(word[key] for word in some) for key in columns)]


def table(
    first: str, columns: dict[str, str], rows: dict[str, list[list[float | None]]]
) -> Iterator[str]:
    """Write a table from what was counted for each seed."""
    yield translation.row(first, "words", *columns.values())
    yield translation.rule(2 + len(columns))
    for name, seeds in rows.items():
        found = (
            [value for value in values if value is not None] for values in zip(*seeds, strict=True)
        )
        cells = (translation.spread(values, 0) if values else "–" for values in found)
        yield translation.row(name, *cells)
    yield ""


def own_corpus(options: argparse.Namespace) -> Iterator[str]:
    """Write the section on the course's own corpus."""
    corpus = translation.corpus_for(options)
    settings = argparse.Namespace(**{**vars(OWN), "epochs": options.epochs or OWN.epochs})
    hidden, reweighed = defaultdict(list), defaultdict(list)
    articles, pronouns = defaultdict(list), defaultdict(list)
    for kind in KINDS:
        for seed in options.seeds:
            translator = translation.fit(kind, corpus.train, seed, settings)
            some = corpus.test[: options.sentences]
            words, weighed = (list(ask(translator, some)) for ask in (hide, other_weights.reweigh))
            for where, hit in (("on gold", True), ("elsewhere", False)):
                name = f"{kind}, {where}"
                hidden[name].append(counted(words, HIDDEN, {"on gold": hit}))
                reweighed[name].append(counted(weighed, REWEIGHED, {"on gold": hit}))
                needy = counted(weighed, REWEIGHED, {"on gold": hit, "nothing": False})
                reweighed[f"{name}, lost with none"].append(needy)
            turned = list(exchanging.articles_turned(translator, corpus.test))
            others = list(exchanging.pronouns_turned(translator, corpus.test))
            for when in exchanging.WHEN:
                articles[f"{kind}, {when}"].append(counted(turned, ARTICLES, {"when": when}))
                for where, hit in (("on the pronoun", True), ("elsewhere", False)):
                    found = counted(others, PRONOUNS, {"when": when, "on it": hit})
                    pronouns[f"{kind}, {where}, {when}"].append(found)
            print(f"{kind}, seed {seed}: done", file=sys.stderr, flush=True)
    yield (
        f"{len(corpus.train):,} pairs, {settings.epochs} epochs, seeds "
        f"{', '.join(map(str, options.seeds))}: chapter 4b's models and two others of each kind. "
        "Each figure is the mean over the seeds, with the least and the most."
    )
    yield ""
    yield (
        f"**Hidden in turn**, in {options.sentences} test sentences: percent of the right words "
        "that change without the state looked at, that of the second largest weight, that of the "
        "word translated or one at random; and for which the first cost the most probability."
    )
    yield ""
    yield from table("largest weight", HIDDEN, hidden)
    yield (
        "**Exchanged, the noun**: a feminine noun becomes masculine, and states of that sentence "
        "are carried over; percent of *la* that become *le*. *Random* is a word other than these."
    )
    yield ""
    yield from table("model", ARTICLES, articles)
    yield (
        "**Exchanged, the pronoun**: an object pronoun that French puts before the verb becomes "
        "*them*; percent that become *les*, by where the pronoun's largest weight lay. *Random* is "
        "none of the others."
    )
    yield ""
    yield from table("largest weight", PRONOUNS, pronouns)
    yield (
        f"**Other weights**, in {options.sentences} test sentences: percent of the right words "
        f"that change when their weights are permuted ({other_weights.PERMUTATIONS} times each); "
        "and that stay when the whole weight lies on the state looked at, on some other state (the "
        "best one; next to it, if all probabilities of the next word stay within a total variation "
        f"of {other_weights.NEAR}, too), on another at random, or on none. *Lost with none* are "
        "those that need some state."
    )
    yield ""
    yield from table("largest weight", REWEIGHED, reweighed)


def real_sentences(options: argparse.Namespace) -> Iterator[str]:
    """Write the section on sentences from Tatoeba, by the largest weight."""
    train, _, test = split_by_source(read_tatoeba(options.tatoeba, max_tokens=25))
    train, test = train[: options.pairs], test[: options.held_out]
    settings = argparse.Namespace(**{**vars(REAL), "epochs": options.epochs or REAL.epochs})
    hidden, reweighed = defaultdict(list), defaultdict(list)
    for kind in (*KINDS, translation.BRIDGE):
        for seed in options.seeds:
            translator = translation.fit(kind, train, seed, settings)
            words, weighed = (list(ask(translator, test)) for ask in (hide, other_weights.reweigh))
            for low, high in pairwise(BOUNDS):
                name = f"{kind}, {low} to {min(high, 1.0)}"
                for asked, columns, rows in (
                    (words, REAL_HIDDEN, hidden),
                    (weighed, REWEIGHED, reweighed),
                ):
                    inside = [word for word in asked if low <= word["weight"] < high]
                    rows[name].append(counted(inside, columns))
            print(f"Tatoeba: {kind}, seed {seed}: done", file=sys.stderr, flush=True)
    yield (
        f"{len(train):,} pairs of Tatoeba, {settings.epochs} epochs; words of {len(test):,} "
        "held-out translations that the model gets right, by their largest weight."
    )
    yield ""
    yield from table("hidden: largest weight", REAL_HIDDEN, hidden)
    yield from table("other weights: largest weight", REWEIGHED, reweighed)


def page(options: argparse.Namespace) -> Iterator[str]:
    """Write the page, line by line."""
    command = "python -m benchmarks.believing"
    if options.tatoeba:
        command += " --tatoeba eng-fra.tsv"
    yield f"<!-- Written by: {command} -->"
    yield ""
    yield (
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, "
        f"1 thread. Command: `{command}`. A state is hidden, and weights are changed, at the step "
        "of the word alone; the words that the decoder reads are the true ones."
    )
    yield ""
    yield from own_corpus(options)
    if options.tatoeba:
        yield from real_sentences(options)


def main() -> None:
    """Train, test, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tatoeba", type=Path, help="a file of real pairs, zipped or not")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--pairs", type=int, default=42_000, help="to train on")
    parser.add_argument("--held-out", type=int, help="of each set (default: all)")
    parser.add_argument("--sentences", type=int, default=500, help="to hide states of")
    parser.add_argument("--epochs", type=int, help="instead of the table's own (for a quick try)")
    parser.add_argument("--output", type=Path, default=translation.FOLDER / "believing.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print_and_write(page(options), options.output)


if __name__ == "__main__":
    main()
