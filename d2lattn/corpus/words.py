"""Words that carry their alignment, and the last step of French spelling.

Each thing that a sentence says gets a *mark*, a number. The English word and the French word that
say it both carry the mark, wherever either language puts them: the links need no search, they are
the pairs of words with a mark in common.
"""

from itertools import pairwise
from typing import NamedTuple

from d2lattn.corpus.lexicon import lexicon

VOWELS = frozenset("aeiouyàâéèêëîïôûùœ")


class Word(NamedTuple):
    """One word of a sentence in the making.

    ``sure`` marks say that the word, and it alone, translates the mark's other bearer;
    ``possible`` marks say that it has a share in it. ``before_vowel`` is the word's other form,
    as ``l'`` for ``le``. ``role`` tells an article (``le`` in ``du``) from a pronoun.
    ``agrees`` marks what decides the word's form and not its meaning, as the noun does *le* or
    *la*.
    """

    text: str
    sure: tuple[int, ...] = ()
    possible: tuple[int, ...] = ()
    before_vowel: str = ""
    role: str = ""
    agrees: tuple[int, ...] = ()


def starts_with_vowel_sound(word: str) -> bool:
    """Whether French elides before a word: a vowel, or an *h* that is not *aspiré*.

    >>> [starts_with_vowel_sound(word) for word in ("ami", "homme", "hibou", "chat")]
    [True, True, False, False]
    """
    return word[0] in VOWELS or (word[0] == "h" and word not in lexicon().aspirated)


def spell_english(words: list[Word]) -> list[Word]:
    """Choose ``an`` before a vowel sound."""
    return [
        word._replace(text="an")
        if word.text == "a" and (after.text[0] in "aeiou" or after.text == "honest")
        else word
        for word, after in zip(words, [*words[1:], Word(".")], strict=True)
    ]


def spell_french(words: list[Word]) -> list[Word]:
    """Apply what happens where words meet: *de* + *des*, elision, contraction.

    >>> [word.text for word in spell_french([Word("de", (1,)), Word("le", (2,), role="article"),
    ...                                      Word("chat", (3,))])]
    ['du', 'chat']
    """
    return _contract(_elide(_drop_indefinite(words)))


def _share(first: Word, second: Word, text: str) -> Word:
    """One word in place of two: neither's partner is translated by it alone."""
    marks = first.sure + first.possible + second.sure + second.possible
    before_vowel = first.before_vowel if text == "de" else ""
    return Word(text, (), marks, before_vowel, agrees=first.agrees + second.agrees)


def _drop_indefinite(words: list[Word]) -> list[Word]:
    """*de* + *des* is *de*: ``parler de chats``."""
    spelled: list[Word] = []
    for word in words:
        if word.role == "indefinite" and spelled and spelled[-1].text == "de":
            spelled[-1] = _share(spelled[-1], word, "de")
        else:
            spelled.append(word)
    return spelled


def _elide(words: list[Word]) -> list[Word]:
    """``le`` + ``ami`` is ``l' ami``, ``ma`` + ``amie`` is ``mon amie``."""
    spelled = words[:]
    for place, (word, after) in enumerate(pairwise(words)):
        if not word.before_vowel:
            continue
        meets = after.text in ("il", "ils") if word.text == "si" else None
        if meets is None:
            meets = starts_with_vowel_sound(after.text)
        if meets:
            agrees = word.agrees + after.sure
            spelled[place] = word._replace(text=word.before_vowel, agrees=agrees)
    return spelled


CONTRACTIONS = {
    ("de", "le"): "du",
    ("de", "les"): "des",
    ("à", "le"): "au",
    ("à", "les"): "aux",
}


def _contract(words: list[Word]) -> list[Word]:
    """*de* + *le* is *du*, if *le* is the article and was not elided."""
    spelled: list[Word] = []
    for word in words:
        contracted = (
            word.role == "article" and spelled and CONTRACTIONS.get((spelled[-1].text, word.text))
        )
        if contracted:
            spelled[-1] = _share(spelled[-1], word, contracted)
        else:
            spelled.append(word)
    return spelled


Links = frozenset[tuple[int, int]]


def links(english: list[Word], french: list[Word]) -> tuple[Links, Links, Links]:
    """Read the sure, the possible and the agreement links between two sides off the marks.

    >>> sure, possible, _ = links([Word("not", (1,))], [Word("ne", (), (1,)), Word("pas", (1,))])
    >>> sorted(sure), sorted(possible)
    ([(0, 1)], [(0, 0), (0, 1)])
    """
    bearers: dict[int, list[tuple[int, bool]]] = {}  # of each mark: places, whether for sure
    for place, word in enumerate(english):
        for mark in word.sure:
            bearers.setdefault(mark, []).append((place, True))
        for mark in word.possible:
            bearers.setdefault(mark, []).append((place, False))
    sure: set[tuple[int, int]] = set()
    possible: set[tuple[int, int]] = set()
    agreement: set[tuple[int, int]] = set()
    for target, word in enumerate(french):
        for mark in word.sure:
            for source, is_sure in bearers.get(mark, ()):
                possible.add((source, target))
                if is_sure:
                    sure.add((source, target))
        for mark in word.possible:
            possible.update((source, target) for source, _ in bearers.get(mark, ()))
        for mark in word.agrees:
            agreement.update(
                (source, target) for source, is_sure in bearers.get(mark, ()) if is_sure
            )
    return frozenset(sure), frozenset(possible), frozenset(agreement - possible)
