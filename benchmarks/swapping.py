"""Chapter 4b's swap over all sentences: the state looked at, the word's own, one at random.

python -m benchmarks.swapping trains both translators from several seeds, carries single states over
from a sentence with another word, and counts which French words turn. It prints the table and
writes it to reference/benchmarks/swapping.md.
"""

import argparse
import platform
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from benchmarks import believing, exchanging, translation
from benchmarks.measure import print_and_write, processor
from d2lattn.corpus import Pair

COLUMNS = {
    "looks at own": "looks most at its own",
    "looked at": "state looked at",
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


def page(options: argparse.Namespace) -> Iterator[str]:
    """Write the page, line by line."""
    corpus = translation.corpus_for(options)
    settings = argparse.Namespace(
        **{**vars(believing.OWN), "epochs": options.epochs or believing.OWN.epochs}
    )
    command = "python -m benchmarks.swapping"
    yield f"<!-- Written by: {command} -->"
    yield ""
    yield (
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, "
        f"1 thread. Command: `{command}`. {len(corpus.train):,} pairs, {settings.epochs} epochs: "
        "chapter 4b's two translators, trained from other seeds, too. Words: all *la* of the test "
        "sentences whose noun, a later word, is exchanged for a masculine one, and all object "
        "pronouns before their verb, exchanged for *them*; those that are right with no state "
        "exchanged. Percent that become *le*, or *les*, when one state is carried over from the "
        "other sentence, at the word's own step. *Its own* is the state at English *the*, or at "
        "the pronoun; *a random one* is none of these, nor that of the word exchanged."
    )
    yield ""
    yield translation.row("reads, word, seed", "words", *COLUMNS.values())
    yield translation.rule(2 + len(COLUMNS))
    questions = asked(corpus.test[: options.sentences])
    for kind in options.kinds:
        for seed in options.seeds:
            translator = translation.fit(kind, corpus.train, seed, settings)
            for name, words in questions.items():
                size, *shares = believing.counted(list(swapped(translator, words)), COLUMNS)
                cells = ["–" if share is None else f"{share:.0f}" for share in shares]
                yield translation.row(f"{kind}, {name}, seed {seed}", f"{size:.0f}", *cells)
            print(f"{kind}, seed {seed}: done", file=sys.stderr, flush=True)


def main() -> None:
    """Train, swap, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", default=believing.KINDS, choices=believing.KINDS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--pairs", type=int, default=42_000, help="to train on")
    parser.add_argument("--held-out", type=int, help="of each set (default: all)")
    parser.add_argument("--sentences", type=int, help="to ask (default: all)")
    parser.add_argument("--epochs", type=int, help="instead of 2 (for a quick try)")
    parser.add_argument("--output", type=Path, default=translation.FOLDER / "swapping.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print_and_write(page(options), options.output)


if __name__ == "__main__":
    main()
