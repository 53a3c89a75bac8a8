"""Chapter 4b's tests of attention again, on three seeds, and on real sentences.

python -m benchmarks.believing trains both translators on the course's own corpus, hides and
exchanges their states, gives them other weights, and reports in
reference/benchmarks/believing.md.
With --tatoeba PATH, what has no gold links is measured on real sentences too.
"""

import argparse
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
from benchmarks.report import named, spread, table, write_report
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
# What is counted for each word, and the name of its column
HIDDEN = {
    "looked at": "without the largest",
    "second": "without the second largest",
    "own": "without its own",
    "random": "without a random one",
    "worst": "largest matters most",
}
REAL_HIDDEN = {key: name for key, name in HIDDEN.items() if key != "own"}
REAL_HIDDEN["guess"] = "by chance"
ARTICLES = {
    "article": "state at *the*",
    "noun": "state at the noun",
    "random": "a random one",
    "all": "all",
}
PRONOUNS = {
    "looked at": "the largest",
    "own": "state at the pronoun",
    "before": "both states before it",
    "looks before": "largest weight on one of these two",
    "random": "a random one",
    "all": "all",
}
REWEIGHED = {
    "permuted": "permuted: change",
    "looked at": "largest alone: same",
    "another": "another alone: same",
    "near": "with similar probabilities",
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


def own_corpus(options: argparse.Namespace) -> dict:
    """Test attention on the course's own corpus."""
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
                    counts = counted(others, PRONOUNS, {"when": when, "on it": hit})
                    pronouns[f"{kind}, {where}, {when}"].append(counts)
            print(f"{kind}, seed {seed}: done", file=sys.stderr, flush=True)
    return {
        "pairs": len(corpus.train),
        "epochs": settings.epochs,
        "seeds": options.seeds,
        "sentences": options.sentences,
        "permutations": other_weights.PERMUTATIONS,
        "near": other_weights.NEAR,
        "tatoeba": None,
        "tables": {
            "hidden": count_table("largest weight", HIDDEN, hidden),
            "articles": count_table("model", ARTICLES, articles),
            "pronouns": count_table("largest weight", PRONOUNS, pronouns),
            "reweighed": count_table("largest weight", REWEIGHED, reweighed),
        },
    }


def real_sentences(options: argparse.Namespace) -> dict:
    """Test attention on sentences from Tatoeba, by the largest weight."""
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
                for measured, columns, rows in (
                    (words, REAL_HIDDEN, hidden),
                    (weighed, REWEIGHED, reweighed),
                ):
                    inside = [word for word in measured if low <= word["weight"] < high]
                    rows[name].append(counted(inside, columns))
            print(f"Tatoeba: {kind}, seed {seed}: done", file=sys.stderr, flush=True)
    return {
        "tatoeba": {"pairs": len(train), "epochs": settings.epochs, "held_out": len(test)},
        "tables": {
            "real_hidden": count_table("hidden: largest weight", REAL_HIDDEN, hidden),
            "real_reweighed": count_table("other weights: largest weight", REWEIGHED, reweighed),
        },
    }


Rows = dict[str, list[list[float | None]]]


def count_table(first: str, columns: dict[str, str], rows: Rows) -> dict:
    """Put a table together from what was counted for each seed."""
    cells = []
    for name, seeds in rows.items():
        columns_of_seeds = zip(*seeds, strict=True)
        by_column = [[n for n in values if n is not None] for values in columns_of_seeds]
        cells.append([name, *(spread(values) if values else None for values in by_column)])
    return table([(first, ""), *named(["words", *columns.values()], ".0f")], cells)


def main() -> None:
    """Train, test and report."""
    parser = translation.training_parser(__doc__)
    parser.add_argument("--tatoeba", type=Path, help="a file of real pairs, zipped or not")
    parser.add_argument("--sentences", type=int, default=500, help="to hide states of")
    parser.add_argument("--epochs", type=int, help="instead of the table's own (for a quick try)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    results, command = own_corpus(options), "believing"
    if options.tatoeba:
        real = real_sentences(options)
        results |= {"tatoeba": real["tatoeba"], "tables": results["tables"] | real["tables"]}
        command += " --tatoeba eng-fra.tsv"
    write_report("believing", command, results, options.output)


if __name__ == "__main__":
    main()
