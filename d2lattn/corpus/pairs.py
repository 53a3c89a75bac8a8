"""Sentence pairs and the splits of the corpus."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from d2lattn.checks import argument_error
from d2lattn.corpus.clauses import sentence
from d2lattn.corpus.phrases import Draft
from d2lattn.corpus.words import Links, links, spell_english, spell_french

SHORTEST, LONGEST = 3, 25
"""The lengths in tokens, on either side, of everything that :func:`generate` returns."""

LONGEST_IN_TRAINING = 18
"""No sentence of the training set is longer, on either side; all of ``long`` are."""

UNSEEN = (
    ("question", "relative"),
    ("genitive", "noun adjective"),
    ("past", "negated article"),
)
"""Constructions that training shows apart and never together in one sentence."""


@dataclass(frozen=True)
class Pair:
    """A sentence, its translation, and which words translate which.

    ``source`` and ``target`` are tokens. A link is (source index, target index). ``sure`` links
    are those that nobody doubts, ``possible`` has these and the debatable ones too: the two sets
    of Och and Ney (2003). ``agreement`` links, which neither holds, join a French word to the
    English word that decides its form and not its meaning: *le* or *la* to the noun, *l'* to the
    word whose vowel it meets. ``constructions`` names what the grammar used.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: Links = frozenset()
    possible: Links = frozenset()
    agreement: Links = frozenset()
    constructions: frozenset[str] = field(default=frozenset(), compare=False, repr=False)


@dataclass(frozen=True)
class Corpus:
    """The splits: no pair, and no source sentence, is in two of them.

    ``valid`` and ``test`` are like ``train``; ``unseen`` joins constructions that ``train`` shows
    apart; each sentence of ``long`` is longer than all of ``train``.
    """

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]
    unseen: list[Pair]
    long: list[Pair]


def draw(seed: int = 0) -> Iterator[Pair]:
    """Yield random pairs without end; some occur twice."""
    rng = Random(seed)
    while True:
        draft = Draft(rng, rng.random())
        built = sentence(draft)
        english, french = spell_english(built.english), spell_french(built.french)
        if not (SHORTEST <= len(english) <= LONGEST and SHORTEST <= len(french) <= LONGEST):
            continue
        if any(word.text == after.text for word, after in pairwise(french)):
            continue  # "qui travaille travaille": right, and read by everyone as a slip
        sure, possible, agreement = links(english, french)
        yield Pair(
            tuple(word.text for word in english),
            tuple(word.text for word in french),
            sure,
            possible,
            agreement,
            frozenset(draft.constructions),
        )


def distinct(seed: int = 0) -> Iterator[Pair]:
    """Yield pairs without end, each English sentence once."""
    seen: set[tuple[str, ...]] = set()
    for pair in draw(seed):
        if pair.source not in seen:
            seen.add(pair.source)
            yield pair


def generate(num_pairs: int, seed: int = 0) -> list[Pair]:
    """Generate distinct English-French pairs with gold alignments.

    A seed gives the same pairs on every machine, and a larger number begins with the smaller
    number's pairs.

    >>> pair = generate(1)[0]
    >>> len(pair.source) >= 3 and pair.sure <= pair.possible
    True
    """
    if num_pairs < 0:
        raise argument_error(ValueError, "num_pairs", num_pairs, "to be 0 or more")
    stream = distinct(seed)
    return [next(stream) for _ in range(num_pairs)]


def load_corpus(
    seed: int = 0,
    *,
    num_train: int = 20_000,
    num_valid: int = 1_000,
    num_test: int = 1_000,
    num_unseen: int = 1_000,
    num_long: int = 1_000,
) -> Corpus:
    """Generate the corpus of translations, split without overlap.

    >>> corpus = load_corpus(num_train=100, num_valid=10, num_test=10, num_unseen=10, num_long=10)
    >>> len(corpus.train), len(corpus.long)
    (100, 10)
    """
    sizes = {
        "test": num_test,
        "valid": num_valid,
        "train": num_train,
        "unseen": num_unseen,
        "long": num_long,
    }
    for name, size in sizes.items():
        if size < 0:
            raise argument_error(ValueError, f"num_{name}", size, "to be 0 or more")
    splits: dict[str, list[Pair]] = {name: [] for name in sizes}
    stream = distinct(seed)
    while any(len(splits[name]) < size for name, size in sizes.items()):
        pair = next(stream)
        if joins_unseen(pair):
            places = ["unseen"] if not is_long(pair) else []
        elif is_long(pair):
            places = ["long"] if is_long(pair, both=True) else []
        else:
            places = ["test", "valid", "train"]
        for name in places:
            if len(splits[name]) < sizes[name]:
                splits[name].append(pair)
                break
    return Corpus(**splits)


def joins_unseen(pair: Pair) -> bool:
    """Whether a pair joins constructions that training shows apart."""
    return any(pair.constructions.issuperset(together) for together in UNSEEN)


def is_long(pair: Pair, *, both: bool = False) -> bool:
    """Whether either side, or both, is longer than training's longest."""
    lengths = (len(pair.source), len(pair.target))
    return (min(lengths) if both else max(lengths)) > LONGEST_IN_TRAINING
