"""The words of the miniature corpus, from the tables in ``lexicon.toml``."""

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

TABLES: dict[str, str] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)


class Noun(NamedTuple):
    """A noun: English and French (singular, plural), the French gender, what it stands for."""

    english: tuple[str, str]
    french: tuple[str, str]
    feminine: bool
    kinds: frozenset[str]


class Adjective(NamedTuple):
    """An adjective: French by (plural, feminine), and its form before a vowel where it has one."""

    english: str
    french: tuple[tuple[str, str], tuple[str, str]]
    before_vowel: str
    after_noun: bool
    kinds: frozenset[str]

    @property
    def has_one_gender(self) -> bool:
        """Whether the feminine looks like the masculine, so that ``I`` and ``you`` may have it."""
        return self.french[0][0] == self.french[0][1]


class Verb(NamedTuple):
    """A verb: English base, third person and past; French present by person, participle."""

    english: tuple[str, str, str]
    particle: str
    frame: str
    infinitive: str
    present: dict[tuple[int, bool], str]
    participle: str
    auxiliary: str
    kinds: frozenset[str]


class Determiner(NamedTuple):
    """A determiner: French by (plural, feminine), and the feminine's form before a vowel."""

    english: str
    french: tuple[tuple[str, str], tuple[str, str]]
    feminine_before_vowel: str


class Lexicon(NamedTuple):
    """All tables, parsed."""

    nouns: tuple[Noun, ...]
    adjectives: tuple[Adjective, ...]
    verbs: tuple[Verb, ...]
    singular_determiners: tuple[Determiner, ...]
    plural_determiners: tuple[Determiner, ...]
    aspirated: frozenset[str]


def suits(word_kinds: frozenset[str], wanted: frozenset[str]) -> bool:
    """Whether a word of some kinds may stand where some kinds are wanted."""
    return "any" in wanted or not word_kinds.isdisjoint(wanted)


def _rows(table: str) -> list[list[list[str]]]:
    """Split a table into rows of columns of words; a dash becomes the empty string."""
    return [
        [["" if word == "-" else word for word in column.split()] for column in line.split("|")]
        for line in TABLES[table].strip().splitlines()
    ]


@cache
def lexicon() -> Lexicon:
    """Parse the tables once.

    >>> lexicon().nouns[3].french
    ('femme', 'femmes')
    """
    plain = str.maketrans("", "", "*")
    aspirated = frozenset(
        word[1:] for row in _rows("nouns") for word in row[1] if word.startswith("*")
    )
    nouns = tuple(
        Noun(
            (english[0], english[1]),
            (french[0].translate(plain), french[1].translate(plain)),
            gender == ["f"],
            frozenset(kinds),
        )
        for english, french, gender, kinds in _rows("nouns")
    )
    adjectives = tuple(
        Adjective(
            english[0],
            ((french[0], french[1]), (french[2], french[3])),
            french[4],
            place == ["after"],
            frozenset(kinds),
        )
        for english, french, place, kinds in _rows("adjectives")
    )
    persons = ((1, False), (2, False), (3, False), (1, True), (3, True))
    verbs = tuple(
        Verb(
            (english[0], english[1], english[2]),
            english[3],
            frame[0],
            french[0],
            dict(zip(persons, french[1:6], strict=True)),
            french[6],
            french[7],
            frozenset(kinds),
        )
        for english, frame, french, kinds in _rows("verbs")
    )
    determiners: dict[str, list[Determiner]] = {"singular": [], "plural": []}
    for number, english, french, before_vowel in _rows("determiners"):
        row = Determiner(
            english[0], ((french[0], french[1]), (french[2], french[3])), before_vowel[0]
        )
        for chosen in determiners if number == ["any"] else number:
            determiners[chosen].append(row)
    return Lexicon(
        nouns,
        adjectives,
        verbs,
        tuple(determiners["singular"]),
        tuple(determiners["plural"]),
        aspirated,
    )
