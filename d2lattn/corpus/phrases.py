"""Noun phrases: both languages built side by side, agreement and alignment included."""

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import NamedTuple, TypeVar

from d2lattn.corpus.lexicon import Adjective, Determiner, Noun, lexicon, suits
from d2lattn.corpus.words import Word

T = TypeVar("T")

PERSON = frozenset({"person"})
PLACE = frozenset({"place"})


class Draft:
    """A sentence in the making: the dice, how rich it may grow, and what it has used so far.

    Of :class:`random.Random` only ``random()`` is called: it alone is promised to give the same
    numbers in every Python.
    """

    def __init__(self, rng: Random, richness: float = 0.5) -> None:
        self.rng = rng
        self.richness = richness
        self.constructions: set[str] = set()
        self._marks = 0

    def mark(self) -> int:
        """Return a number that is unique in this sentence."""
        self._marks += 1
        return self._marks

    def chance(self, probability: float) -> bool:
        """Return true with this probability."""
        return self.rng.random() < probability

    def extra(self, probability: float) -> bool:
        """Return true with this probability, scaled by richness, for an optional part."""
        return self.rng.random() < 2 * probability * self.richness

    def pick(self, choices: Sequence[T]) -> T:
        """Choose one of the choices."""
        return choices[int(self.rng.random() * len(choices))]


class Phrase(NamedTuple):
    """A phrase in both languages, with the person, number and gender that others agree with."""

    english: list[Word]
    french: list[Word]
    person: int = 3
    plural: bool = False
    feminine: bool = False
    kinds: frozenset[str] = PERSON
    noun: Noun | None = None
    has_gap: bool = False


# English | subject, direct object, indirect object, after a preposition (in both languages)
PRONOUNS = {
    (1, False, False): ("i", "je", "me", "me", "me", "moi"),
    (2, False, False): ("you", "tu", "you", "te", "te", "toi"),
    (3, False, False): ("he", "il", "him", "le", "lui", "lui"),
    (3, False, True): ("she", "elle", "her", "la", "lui", "elle"),
    (1, True, False): ("we", "nous", "us", "nous", "nous", "nous"),
    (3, True, False): ("they", "ils", "them", "les", "leur", "eux"),
}
ELIDED = {"je": "j'", "me": "m'", "te": "t'", "le": "l'", "la": "l'", "de": "d'"}
ELIDED |= {"que": "qu'", "ne": "n'", "si": "s'"}


def elidable(text: str, *marks: int, possible: tuple[int, ...] = ()) -> Word:
    """Make a French word that loses its vowel before another, if it is one that does."""
    return Word(text, marks, possible, ELIDED.get(text, ""))


def adjective(
    draft: Draft, word: Adjective, plural: bool, feminine: bool, *, noun_follows: bool = False
) -> Phrase:
    """Put an adjective in both languages, sometimes with *very* before it."""
    mark = draft.mark()
    liaison = word.before_vowel if noun_follows and not plural and not feminine else ""
    english = [Word(word.english, (mark,))]
    french = [Word(word.french[plural][feminine], (mark,), (), liaison)]
    if draft.extra(0.12):
        very = draft.mark()
        english.insert(0, Word("very", (very,)))
        french.insert(0, Word("très", (very,)))
    return Phrase(english, french)


def determiner(
    draft: Draft, word: Determiner, plural: bool, feminine: bool, *, adjective_follows: bool
) -> Phrase:
    """Put a determiner in both languages."""
    mark = draft.mark()
    english = [Word(word.english, (mark,))]
    text = word.french[plural][feminine]
    if word.english == "many":
        return Phrase(
            [Word("many", (mark,))],
            [Word("beaucoup", (mark,)), elidable("de", possible=(mark,))],
        )
    if word.english == "all":
        article = draft.mark()
        return Phrase(
            [*english, Word("the", (article,))],
            [Word(text, (mark,)), Word("les", (article,), (), "", "article")],
        )
    if word.english == "some" and adjective_follows:
        return Phrase(english, [Word("de", (mark,), (), "d'", "indefinite")])
    role = {"the": "article", "some": "indefinite"}.get(word.english, "")
    before_vowel = ELIDED.get(text, "") if word.english == "the" else ""
    if text == "ce":
        before_vowel = "cet"
    elif feminine and not plural:
        before_vowel = before_vowel or word.feminine_before_vowel
    return Phrase(english, [Word(text, (mark,), (), before_vowel, role)])


def agreeing_with(mark: int, words: list[Word]) -> list[Word]:
    """Note that a noun decides the form of its determiner or adjective: not of *très*, *de*."""
    fixed = ("très", "de", "beaucoup", "chaque", "deux", "trois")
    return [
        word if word.text in fixed else Word(*word[:5], (mark,))  # `_replace` takes twice the time
        for word in words
    ]


def negated_indefinite(draft: Draft, plural: bool) -> Phrase:
    """*a* or *any* after a negation: *de*, whatever follows."""
    mark = draft.mark()
    return Phrase(
        [Word("any" if plural else "a", (mark,))], [Word("de", (mark,), (), "d'", "indefinite")]
    )


@cache
def nouns_for(kinds: frozenset[str], other_than: Noun | None = None) -> list[Noun]:
    """List the nouns of some kinds but one."""
    nouns = lexicon().nouns
    return [noun for noun in nouns if suits(noun.kinds, kinds) and noun is not other_than]


@cache
def adjectives_for(kinds: frozenset[str], after_noun: bool) -> list[Adjective]:
    """List the adjectives that suit a noun, of those that stand before it or after it."""
    words = lexicon().adjectives
    return [word for word in words if word.after_noun == after_noun and suits(kinds, word.kinds)]


def noun_phrase(
    draft: Draft,
    kinds: frozenset[str],
    *,
    negated: bool = False,
    simple: bool = False,
    plural: bool | None = None,
    other_than: Noun | None = None,
) -> Phrase:
    """Put determiner, adjectives, noun and owner in both languages.

    ``negated`` turns *a* into *de* as after *ne … pas*; ``simple`` leaves out owner and second
    adjective; ``plural`` fixes the number;
    ``other_than`` is a noun to avoid.
    """
    words = lexicon()
    noun: Noun = draft.pick(nouns_for(kinds, other_than))
    plural = draft.chance(0.35) if plural is None else plural
    feminine = noun.feminine
    mark = draft.mark()

    before = after = None
    if draft.extra(0.25):
        before = draft.pick(adjectives_for(noun.kinds, False))
    if draft.extra(0.25) and not (simple and before):
        after = draft.pick(adjectives_for(noun.kinds, True))
    nothing = Phrase([], [])
    before_words = after_words = nothing
    if before:
        before_words = adjective(draft, before, plural, feminine, noun_follows=True)
        draft.constructions.add("adjective noun")
    if after:
        after_words = adjective(draft, after, plural, feminine)
        draft.constructions.add("noun adjective")

    english = [
        *before_words.english,
        *after_words.english,
        Word(noun.english[plural], (mark,)),
    ]
    french = [
        *agreeing_with(mark, before_words.french),
        Word(noun.french[plural], (mark,)),
        *agreeing_with(mark, after_words.french),
    ]

    if not simple and draft.extra(0.12):
        owner = noun_phrase(draft, PERSON, simple=True, plural=False)
        draft.constructions.add("genitive")
        owns = draft.mark()
        text = "les" if plural else "la" if feminine else "le"
        english = [*owner.english, Word("'s", (owns,)), *english]
        french = [
            Word(text, (), (owns,), ELIDED.get(text, ""), "article", (mark,)),
            *french,
            Word("de", (owns,), (), "d'"),
            *owner.french,
        ]
        return Phrase(english, french, 3, plural, feminine, noun.kinds, noun=noun)

    choices = words.plural_determiners if plural else words.singular_determiners
    chosen = choices[0] if draft.chance(0.35) else draft.pick(choices)
    if draft.chance(0.5 if negated else 0.2):
        chosen = choices[1]  # "a" or "some"
    if negated and chosen.english in ("a", "some"):
        opening = negated_indefinite(draft, plural)
        draft.constructions.add("negated article")
    else:
        opening = determiner(
            draft, chosen, plural, feminine, adjective_follows=bool(before) and plural
        )
    return Phrase(
        [*opening.english, *english],
        [*agreeing_with(mark, opening.french), *french],
        3,
        plural,
        feminine,
        noun.kinds,
        noun=noun,
    )


def coordinated(draft: Draft, kinds: frozenset[str]) -> Phrase:
    """Join two noun phrases: plural, and feminine only if both are."""
    first = noun_phrase(draft, kinds, simple=True)
    second = noun_phrase(draft, kinds, simple=True, other_than=first.noun)
    mark = draft.mark()
    draft.constructions.add("coordination")
    return Phrase(
        [*first.english, Word("and", (mark,)), *second.english],
        [*first.french, Word("et", (mark,)), *second.french],
        3,
        True,
        first.feminine and second.feminine,
        first.kinds & second.kinds,
    )


def subject_pronoun(draft: Draft, *, third: bool = False) -> Phrase:
    """*I* … *they*; ``third`` keeps to the third person, whose gender is known."""
    person, plural, feminine = draft.pick([key for key in PRONOUNS if key[0] == 3 or not third])
    english, french, *_ = PRONOUNS[person, plural, feminine]
    mark = draft.mark()
    return Phrase(
        [Word(english, (mark,))],
        [elidable(french, mark)],
        person,
        plural,
        feminine,
        PERSON,
    )


def prepositional(
    draft: Draft, english: str, french: str, inner: Phrase, *, further: str = ""
) -> Phrase:
    """Put a preposition before a phrase; ``further`` is its second French word, as *près de*."""
    mark = draft.mark()
    opening = [Word(french, (mark,), (), ELIDED.get(french, ""))]
    if further:
        opening.append(elidable(further, possible=(mark,)))
    return inner._replace(
        english=[Word(english, (mark,)), *inner.english], french=[*opening, *inner.french]
    )


def after_preposition(draft: Draft) -> Phrase:
    """Choose a pronoun as it stands after a preposition: *me* is *moi*, *them* is *eux*."""
    person, plural, feminine = draft.pick(list(PRONOUNS))
    mark = draft.mark()
    entry = PRONOUNS[person, plural, feminine]
    return Phrase([Word(entry[2], (mark,))], [Word(entry[5], (mark,))])
