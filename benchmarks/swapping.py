"""Chapter 4b's swap over all sentences: the state looked at, the word's own, one at random.

python -m benchmarks.swapping trains both translators from several seeds, carries single states over
from a sentence with another word, counts which French words turn, and reports in
reference/benchmarks/swapping.md.
"""

import argparse
import random
import sys
from collections.abc import Iterator, Sequence

import torch

from benchmarks import believing, exchanging, translation
from benchmarks.report import named, table, write_report
from d2lattn.corpus import Pair

COLUMNS = {
    "looks at own": "largest weight on its own state",
    "looked at": "state with the largest weight",
    "own": "its own state",
    "random": "a random one",
    "all": "all",
}
Asked = tuple[Pair, int, int, Pair, str]
"""A pair, a step, the place of its English word, the pair with another word, what that makes."""


def asked(pairs: Sequence[Pair]) -> dict[str, list[Asked]]:
    """Name the words that are asked: *la*, whose noun changes, and pronouns that become *them*."""
    articles = [
        (pair, step, own, exchanging.with_word(pair, noun, masculine), "le")
        for pair, step, own, noun in exchanging.articles(pairs)
        for masculine in [exchanging.masculine_like(pair.source[noun])]
    ]
    pronouns = [
        (pair, step, own, exchanging.with_word(pair, own, "them"), "les")
        for pair, step, own in exchanging.pronouns(pairs)
    ]
    return {"la": articles, "pronoun": pronouns}


def swapped(translator: translation.Translator, words: Sequence[Asked]) -> Iterator[believing.Word]:
    """Carry over one state at a time, at the word's step: whether it becomes what it should."""
    drawn = random.Random(0)
    for pair, step, own, other, wanted in words:
        _, rows = exchanging.exchanged(translator, pair, pair, [[]], step, since=0)
        look = rows[0].argmax().item()
        both = zip(pair.source, other.source, strict=True)
        changed = [place for place, (ours, theirs) in enumerate(both) if ours != theirs]
        places = range(len(pair.source) + 1)  # <eos> has a state, too
        control = drawn.choice([place for place in places if place not in (look, own, *changed)])
        choices = {
            "none": [],
            "looked at": [look],
            "own": [own],
            "random": [control],
            "all": places,
        }
        ((_, found),) = exchanging.written(
            translator, pair, other, choices, step, exchanging.WHEN[1:]
        )
        if found.pop("none") == pair.target[step]:
            turned = {name: word == wanted for name, word in found.items()}
            yield {"looks at own": look == own, **turned}


def results_of(options: argparse.Namespace) -> dict:
    """Train both translators with all seeds, and swap."""
    corpus = translation.corpus_for(options)
    settings = argparse.Namespace(
        **{**vars(believing.OWN), "epochs": options.epochs or believing.OWN.epochs}
    )
    questions = asked(corpus.test[: options.sentences])
    rows = []
    for kind in options.kinds:
        for seed in options.seeds:
            translator = translation.fit(kind, corpus.train, seed, settings)
            for name, words in questions.items():
                counts = believing.counted(list(swapped(translator, words)), COLUMNS)
                rows.append([f"{kind}, {name}, seed {seed}", *counts])
            print(f"{kind}, seed {seed}: done", file=sys.stderr, flush=True)
    columns = [("model, word, seed", ""), *named(["words", *COLUMNS.values()], ".0f")]
    tables = {"swapped": table(columns, rows)}
    return {"pairs": len(corpus.train), "epochs": settings.epochs, "tables": tables}


def main() -> None:
    """Train, swap and report."""
    parser = translation.training_parser(__doc__)
    parser.add_argument("--kinds", nargs="+", default=believing.KINDS, choices=believing.KINDS)
    parser.add_argument("--sentences", type=int, help="to ask (default: all)")
    parser.add_argument("--epochs", type=int, help="instead of 2 (for a quick try)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    write_report("swapping", "swapping", results_of(options), options.output)


if __name__ == "__main__":
    main()
