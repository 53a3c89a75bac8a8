"""Chapter 4b's tests of attention again, on three seeds, and on real sentences.

python benchmarks/believing.py trains both translators on the course's own corpus, hides and
exchanges their states, prints the tables and writes them to reference/benchmarks/believing.md.
With --tatoeba PATH, what has no gold links is measured on real sentences too.
"""

import argparse
import platform
import random
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import torch
import translation
from measure import print_and_write, processor

import d2lattn as d2l
from d2lattn.corpus import Pair, batches
from d2lattn.corpus.lexicon import lexicon
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
Word = dict[str, float]


def hide(translator: translation.Translator, pairs: Sequence[Pair]) -> Iterator[Word]:
    """Hide the states in turn at each word that is right with nothing hidden: what that did.

    Without gold links (a pair has none), what the word translates is not known.
    """
    model, vocab = translator.model, translator.target_vocab
    drawn = random.Random(0)
    for batch in batches(pairs, translator.source_vocab, vocab, batch_size=1, bucket=False):
        (pair,) = batch.pairs
        chances = d2l.hide_each_state(model, batch.source, batch.target)[:-1]  # (T, S + 2, V)
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


def exchange(translator: translation.Translator, pairs: Sequence[Pair]) -> Iterator[Word]:
    """Carry over a state from a sentence with a masculine noun: whether *la* becomes *le*."""
    model, vocab = translator.model, translator.target_vocab
    for pair, step, article, noun in articles(pairs):
        words = list(pair.source)
        words[noun] = masculine_like(words[noun])
        theirs = replace(pair, source=tuple(words))
        (one,), (other,) = (
            list(batches([p], translator.source_vocab, vocab, batch_size=1)) for p in (pair, theirs)
        )
        with evaluating(model), torch.no_grad():
            ours, last = model.encoder(one.source, one.source_valid_lens)
            foreign, _ = model.encoder(other.source, one.source_valid_lens)
            found = {}
            for name, place in (("none", None), ("article", article), ("noun", noun)):
                states = ours.clone()
                if place is not None:
                    states[:, place] = foreign[:, place]
                state = model.decoder.init_state((states, last), one.source_valid_lens)
                logits, _ = model.decoder(d2l.shift_right(one.target), state)
                (found[name],) = vocab.decode([logits[0, step].argmax().item()])
        if found["none"] == "la":
            yield {name: found[name] == "le" for name in ("article", "noun")}


def articles(pairs: Sequence[Pair]) -> Iterator[tuple[Pair, int, int, int]]:
    """Each *la* for a *the* whose noun comes later: its step, the places of *the* and the noun."""
    for pair in pairs:
        for step, word in enumerate(pair.target):
            own = [s for s, t in pair.possible if t == step]
            later = [s for s, t in pair.agreement if t == step]
            if word != "la" or len(own) != 1 or len(later) != 1:
                continue
            if own[0] < later[0] and pair.source[own[0]] == "the":
                yield pair, step, own[0], later[0]


def masculine_like(english: str) -> str:
    """Give a masculine noun that stands for the same kind of thing, and makes *le*, not *l'*."""
    nouns = lexicon().nouns
    kinds = next(noun.kinds for noun in nouns if noun.english[0] == english)
    masculine = [n for n in nouns if not n.feminine and n.french[0][0] not in "aeiouhéèêœ"]
    return max(masculine, key=lambda noun: len(noun.kinds & kinds)).english[0]


def share(words: Sequence[Word], key: str) -> float:
    """Give the percentage of words of which it is true."""
    return 100 * statistics.mean(word[key] for word in words) if words else float("nan")


def table(
    first: str, columns: Sequence[str], rows: dict[str, list[Sequence[float]]], digits: int = 0
) -> Iterator[str]:
    """Write a table from a list of values for each seed."""
    yield translation.row(first, *columns)
    yield translation.rule(1 + len(columns))
    for name, seeds in rows.items():
        cells = (translation.spread(values, digits) for values in zip(*seeds, strict=True))
        yield translation.row(name, *cells)
    yield ""


def own_corpus(options: argparse.Namespace) -> Iterator[str]:
    """Write the section on the course's own corpus."""
    corpus = translation.corpus_for(options)
    settings = argparse.Namespace(**{**vars(OWN), "epochs": options.epochs or OWN.epochs})
    hidden, exchanged = defaultdict(list), defaultdict(list)
    for kind in KINDS:
        for seed in options.seeds:
            translator = translation.fit(kind, corpus.train, seed, settings)
            words = list(hide(translator, corpus.test[: options.sentences]))
            for where, hit in (("on gold", True), ("elsewhere", False)):
                some = [word for word in words if word["on gold"] == hit]
                shares = [
                    share(some, key) for key in ("looked at", "second", "own", "random", "worst")
                ]
                hidden[f"{kind}, {where}"].append([len(some), *shares])
            done = list(exchange(translator, corpus.test))
            turned = [share(done, name) for name in ("article", "noun")]
            exchanged[kind].append([len(done), *turned])
            print(f"{kind}, seed {seed}: {turned}", file=sys.stderr, flush=True)
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
    columns = "words", "without the state looked at", "without the second", "without its own"
    more = "without a random one", "looked at cost most"
    yield from table("largest weight", (*columns, *more), hidden)
    yield "**Exchanged**: percent of *la* that become *le*."
    yield ""
    yield from table("model", ("sentences", "state at *the*", "state at the noun"), exchanged)


def real_sentences(options: argparse.Namespace) -> Iterator[str]:
    """Write the section on sentences from Tatoeba, by the largest weight."""
    train, _, test = split_by_source(read_tatoeba(options.tatoeba, max_tokens=25))
    settings = argparse.Namespace(**{**vars(REAL), "epochs": options.epochs or REAL.epochs})
    rows = defaultdict(list)
    for kind in (*KINDS, translation.BRIDGE):
        for seed in options.seeds:
            translator = translation.fit(kind, train[: options.pairs], seed, settings)
            words = list(hide(translator, test))
            for low, high in pairwise(BOUNDS):
                some = [word for word in words if low <= word["weight"] < high]
                keys = "looked at", "second", "random", "worst", "guess"
                rows[f"{kind}, {low} to {min(high, 1.0)}"].append(
                    [len(some), *(share(some, key) for key in keys)]
                )
    yield (
        f"{len(train):,} pairs of Tatoeba, {settings.epochs} epochs; words of {len(test):,} "
        "held-out translations that the model gets right, by their largest weight."
    )
    yield ""
    columns = "words", "without the state looked at", "without the second"
    more = "without a random one", "looked at cost most", "a guess would"
    yield from table("largest weight", (*columns, *more), rows)


def page(options: argparse.Namespace) -> Iterator[str]:
    """Write the page, line by line."""
    command = "python benchmarks/believing.py"
    if options.tatoeba:
        command += " --tatoeba eng-fra.tsv"
    yield f"<!-- Written by: {command} -->"
    yield ""
    yield (
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, "
        f"1 thread. Command: `{command}`. A state is hidden at one step, and exchanged at all of "
        "them; the words that the decoder reads are the true ones."
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
