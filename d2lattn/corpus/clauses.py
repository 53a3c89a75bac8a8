"""Clauses and sentences: verbs, negation, pronouns that move, relatives, questions."""

from functools import cache
from typing import NamedTuple

from d2lattn.corpus.lexicon import Adjective, Verb, lexicon, suits
from d2lattn.corpus.phrases import (
    PERSON,
    PLACE,
    PRONOUNS,
    Draft,
    Phrase,
    after_preposition,
    coordinated,
    elidable,
    noun_phrase,
    prepositional,
    subject_pronoun,
)
from d2lattn.corpus.phrases import adjective as adjective_phrase
from d2lattn.corpus.words import Word

ANIMAL = frozenset({"animal"})
THING = frozenset({"thing"})
SURFACE = frozenset({"surface"})

HAVE = {(1, False): "ai", (2, False): "as", (3, False): "a", (1, True): "avons", (3, True): "ont"}
BE = {
    "present": {
        (1, False): ("am", "suis"),
        (2, False): ("are", "es"),
        (3, False): ("is", "est"),
        (1, True): ("are", "sommes"),
        (3, True): ("are", "sont"),
    },
    "past": {
        (1, False): ("was", "étais"),
        (2, False): ("were", "étais"),
        (3, False): ("was", "était"),
        (1, True): ("were", "étions"),
        (3, True): ("were", "étaient"),
    },
}


class Predicate(NamedTuple):
    """What is said of a subject. In an English question ``opening`` goes before the subject.

    ``antecedent`` is the object that a following *it* would mean, where it could mean one alone.
    """

    opening: list[Word]
    english: list[Word]
    french: list[Word]
    antecedent: Phrase | None = None


class Negation(NamedTuple):
    """The words of a negation: *not* after the auxiliary, or *never* before the verb."""

    english: list[Word]
    before_verb: list[Word]
    after_verb: list[Word]
    mark: int = 0


NO_NEGATION = Negation([], [], [])


def negation(draft: Draft, *, never: bool, helper: tuple[int, ...] = ()) -> Negation:
    """*ne … pas* around the verb; *does* has a possible share in it."""
    mark = draft.mark()
    draft.constructions.add("never" if never else "negation")
    return Negation(
        [Word("never" if never else "not", (mark,))],
        [elidable("ne", possible=(mark, *helper))],
        [Word("jamais" if never else "pas", (mark,), helper)],
        mark,
    )


def agreeing(participle: str, plural: bool, feminine: bool) -> str:
    """Make a participle agree.

    >>> agreeing("vu", True, True), agreeing("pris", True, False)
    ('vues', 'pris')
    """
    ending = "e" if feminine else ""
    return participle + ending + ("s" if plural and not (participle + ending).endswith("s") else "")


def verbs_for(subject: Phrase, tense: str, frames: tuple[str, ...]) -> list[Verb]:
    """List the verbs that may follow a subject in a tense."""
    return _verbs(subject.person == 3, "person" in subject.kinds, tense == "past", frames)


@cache
def _verbs(known_gender: bool, is_person: bool, past: bool, frames: tuple[str, ...]) -> list[Verb]:
    chosen = []
    for verb in lexicon().verbs:
        if verb.frame not in frames:
            continue
        if past and not verb.participle:
            continue
        if past and verb.auxiliary == "être" and not known_gender:
            continue  # English does not say whether I am he or she
        if not is_person and (
            verb.frame not in ("direct", "place", "none") or verb.kinds & {"thing", "text"}
        ):
            continue
        chosen.append(verb)
    return chosen


def verbal(
    draft: Draft,
    subject: Phrase,
    tense: str,
    *,
    question: bool = False,
    frames: tuple[str, ...] = ("direct", "direct", "to", "about", "give", "place", "none"),
    gap: Phrase | None = None,
    resumed: Phrase | None = None,
    bare: bool = False,
) -> Predicate:
    """Say what a subject does.

    ``gap`` is a noun whose place as the object stays empty (a relative clause); ``resumed`` is a
    noun that *it* stands for; ``bare`` leaves out what the clause could do without.
    """
    modal = None
    if tense == "present" and resumed is None and draft.extra(0.2) and "person" in subject.kinds:
        modals = [verb for verb in lexicon().verbs if verb.frame == "modal"]
        modal = draft.pick(
            [verb for verb in modals if not (question and verb.english[0] == "must")]
        )
        draft.constructions.add("modal")
    target = gap or resumed
    choices = verbs_for(subject, tense, ("direct",) if target else frames)
    if target:
        choices = [verb for verb in choices if suits(target.kinds, verb.kinds)]
    verb = draft.pick(choices)
    if tense == "past":
        draft.constructions.add("past")
    person = (subject.person, subject.plural)
    third = person == (3, False)

    negated = never = False
    if not question and resumed is None:
        negated = draft.chance(0.2)
        never = not negated and draft.chance(0.07)
    adverb = None
    if not (negated or never or modal) and resumed is None and draft.extra(0.12):
        adverb = draft.pick((("often", "souvent"), ("always", "toujours")))

    # English, from the auxiliary to the verb
    mark = draft.mark()
    helpless = modal if modal and modal.english[0] in ("can", "must") else None
    helper = draft.mark() if (negated or question) and not helpless else 0
    helps = (helper,) if helper else ()
    opening: list[Word] = []
    if helper:
        text = "did" if tense == "past" else "does" if third else "do"
        opening.append(Word(text, (), helps))
    modal_mark = draft.mark() if modal else 0
    if helpless:
        opening.append(Word(helpless.english[0], (modal_mark,)))

    words = negation(draft, never=never, helper=helps) if negated or never else NO_NEGATION
    english = words.english[:] if negated or (never and not (helpless and question)) else []
    adverb_mark = draft.mark() if adverb else 0
    if adverb:
        english.append(Word(adverb[0], (adverb_mark,)))
        draft.constructions.add("adverb")

    def inflected(word: Verb) -> str:
        if helper:
            return word.english[0]
        if tense == "past":
            return word.english[2]
        return word.english[1 if third else 0]

    to_mark = draft.mark()
    if modal and not helpless:
        english += [Word(inflected(modal), (modal_mark,)), Word("to", (), (to_mark,))]
    english.append(Word(verb.english[0] if modal else inflected(verb), (mark,)))
    particle = draft.mark()
    if verb.particle:
        is_preposition = verb.frame in ("to", "about", "place")
        english.append(Word(verb.particle, (particle,), () if is_preposition else (mark,)))

    # the complements
    clitic: Word | None = None
    tail_english: list[Word] = []
    tail_french: list[Word] = []
    preceding = gap
    antecedent = None
    can_be_pronoun = bool(verb.kinds & {"any", "person"})
    pronouns = [
        key
        for key in PRONOUNS
        if (key[0] == 3 or key[0] != subject.person)
        and (tense == "present" or key[0] == 3 or verb.frame != "direct")
    ]
    ends_openly = False
    if resumed is not None:
        it = draft.mark()
        tail_english = [Word("it", (it,))]
        clitic = elidable("la" if resumed.feminine else "le", it)
        preceding = resumed
        draft.constructions |= {"object pronoun", "it"}
    elif gap is not None:
        pass
    elif verb.frame == "direct":
        if can_be_pronoun and draft.chance(0.3):
            key = draft.pick(pronouns)
            entry = PRONOUNS[key]
            pronoun = draft.mark()
            tail_english = [Word(entry[2], (pronoun,))]
            clitic = elidable(entry[3], pronoun)
            preceding = Phrase([], [], *key)
            draft.constructions.add("object pronoun")
        else:
            thing = object_phrase(draft, verb.kinds, negated=negated or never, bare=bare)
            tail_english, tail_french = thing.english, thing.french
            ends_openly = thing.has_gap
            alone = not (thing.plural or thing.has_gap or modal or negated or never)
            if "thing" in thing.kinds and alone:
                antecedent = thing
    elif verb.frame in ("to", "give"):
        given = Phrase([], [])
        if verb.frame == "give":
            given = noun_phrase(draft, verb.kinds, negated=negated or never, simple=bare)
        if draft.chance(0.4):
            key = draft.pick(pronouns)
            entry = PRONOUNS[key]
            pronoun = draft.mark()
            shares = (particle,) if verb.particle else ()
            clitic = elidable(entry[4], pronoun, possible=shares)
            tail_english = [Word(entry[2], (pronoun,)), *given.english]
            tail_french = given.french
            draft.constructions.add("indirect pronoun")
        else:
            person_phrase = noun_phrase(draft, PERSON, simple=bare)
            if verb.frame == "give":
                person_phrase = prepositional(draft, "to", "à", person_phrase)
            else:
                # "speaks to": the particle is already there; "answers": the verb holds it
                link = Word("à", (particle,)) if verb.particle else Word("à", (), (mark,))
                person_phrase = person_phrase._replace(french=[link, *person_phrase.french])
            tail_english = [*given.english, *person_phrase.english]
            tail_french = [*given.french, *person_phrase.french]
    elif verb.frame in ("about", "place"):
        if verb.frame == "about" and draft.chance(0.2):
            inner = after_preposition(draft)
        else:
            inner = noun_phrase(draft, verb.kinds, simple=bare)
        opener = "de" if verb.frame == "about" else "à"
        tail_english = inner.english
        tail_french = [elidable(opener, particle), *inner.french]

    if not (bare or ends_openly) and draft.extra(0.3):
        extra = adjunct(draft, tense)
        tail_english = [*tail_english, *extra.english]
        tail_french = [*tail_french, *extra.french]
        antecedent = None

    # French, around the verb
    shares = (particle,) if verb.particle and verb.frame == "direct" else ()
    before = words.before_verb
    after = words.after_verb
    if adverb:
        after = [*after, Word(adverb[1], (adverb_mark,))]
    clitics = [clitic] if clitic else []
    if modal:
        french = [
            *before,
            Word(modal.present[person], (modal_mark,), helps),
            *after,
            *clitics,
            Word(verb.infinitive, (mark,), (to_mark, *shares)),
        ]
    elif tense == "past":
        agrees = subject if verb.auxiliary == "être" else preceding
        if verb.frame != "direct" and verb.auxiliary == "avoir":
            agrees = None
        participle = verb.participle
        if agrees is not None:
            participle = agreeing(participle, agrees.plural, agrees.feminine)
        auxiliary = BE["present"][person][1] if verb.auxiliary == "être" else HAVE[person]
        french = [
            *before,
            *clitics,
            Word(auxiliary, (), (mark, *helps)),
            *after,
            Word(participle, (mark,), shares),
        ]
    else:
        french = [
            *before,
            *clitics,
            Word(verb.present[person], (mark,), (*helps, *shares)),
            *after,
        ]
    if not question:
        english, opening = [*opening, *english], []
    return Predicate(opening, [*english, *tail_english], [*french, *tail_french], antecedent)


def adjunct(draft: Draft, tense: str) -> Phrase:
    """Say where, with whom or when it happens."""
    kind = draft.pick(("in", "near", "behind", "with", "on", "now"))
    draft.constructions.add("adjunct")
    if kind == "now":
        adverbs = [("here", "ici")]
        if tense == "present":
            adverbs.append(("now", "maintenant"))
        english, french = draft.pick(adverbs)
        mark = draft.mark()
        return Phrase([Word(english, (mark,))], [Word(french, (mark,))])
    if kind == "with":
        if draft.chance(0.3):
            return prepositional(draft, "with", "avec", after_preposition(draft))
        return prepositional(draft, "with", "avec", noun_phrase(draft, PERSON, simple=True))
    if kind == "on":
        english, french = draft.pick((("on", "sur"), ("under", "sous")))
        return prepositional(draft, english, french, noun_phrase(draft, SURFACE, simple=True))
    place = noun_phrase(draft, PLACE, simple=draft.chance(0.7))
    if kind == "in":
        return prepositional(draft, "in", "dans", place)
    if kind == "near":
        return prepositional(draft, "near", "près", place, further="de")
    return prepositional(draft, "behind", "derrière", place)


@cache
def adjectives_of(kinds: frozenset[str], known_gender: bool) -> list[Adjective]:
    """List the adjectives that may be said of something of some kinds."""
    return [
        word
        for word in lexicon().adjectives
        if kinds and suits(kinds, word.kinds) and (known_gender or word.has_one_gender)
    ]


def copular(
    draft: Draft, subject: Phrase, tense: str, *, question: bool = False, bare: bool = False
) -> Predicate:
    """Say how a subject is, or where."""
    english_form, french_form = BE[tense][subject.person, subject.plural]
    mark = draft.mark()
    negated = not question and draft.chance(0.2)
    words = negation(draft, never=False) if negated else NO_NEGATION
    draft.constructions.add("being")
    adjectives = adjectives_of(subject.kinds, subject.person == 3)
    if not adjectives or draft.chance(0.15):
        complement = prepositional(draft, "in", "dans", noun_phrase(draft, PLACE))
    else:
        word = draft.pick(adjectives)
        if not bare and draft.extra(0.25):
            complement = comparison(draft, word, subject)
        else:
            complement = adjective_phrase(draft, word, subject.plural, subject.feminine)
            if not bare and draft.extra(0.3):
                other = draft.pick([further for further in adjectives if further is not word])
                joined = adjective_phrase(draft, other, subject.plural, subject.feminine)
                joint = draft.mark()
                complement = Phrase(
                    [*complement.english, Word("and", (joint,)), *joined.english],
                    [*complement.french, Word("et", (joint,)), *joined.french],
                )
    opening = [Word(english_form, (mark,))]
    english = [*words.english, *complement.english]
    french = [
        *words.before_verb,
        Word(french_form, (mark,)),
        *words.after_verb,
        *complement.french,
    ]
    if not question:
        english, opening = [*opening, *english], []
    return Predicate(opening, english, french)


def comparison(draft: Draft, word: Adjective, subject: Phrase) -> Phrase:
    """*as sad as the boy*: the adjective agrees with the subject."""
    first, second = draft.mark(), draft.mark()
    compared = adjective_phrase(draft, word, subject.plural, subject.feminine)
    # Without "very".
    compared = compared._replace(english=compared.english[-1:], french=compared.french[-1:])
    other = noun_phrase(draft, subject.kinds & frozenset({"person", "animal", "thing", "place"}))
    draft.constructions.add("comparison")
    return Phrase(
        [Word("as", (first,)), *compared.english, Word("as", (second,)), *other.english],
        [Word("aussi", (first,)), *compared.french, elidable("que", second), *other.french],
    )


def object_phrase(draft: Draft, kinds: frozenset[str], *, negated: bool, bare: bool) -> Phrase:
    """Put an object: alone, joined with another, or with a relative clause."""
    if not (bare or negated):
        if draft.extra(0.12):
            return coordinated(draft, kinds)._replace(has_gap=True)
        if draft.extra(0.25):
            return with_relative(draft, noun_phrase(draft, kinds, simple=True))
    return noun_phrase(draft, kinds, negated=negated, simple=bare)


def with_relative(draft: Draft, head: Phrase) -> Phrase:
    """Add *who sings* or *that the girl sees* to a noun phrase."""
    mark = draft.mark()
    draft.constructions.add("relative")
    if "person" in head.kinds and draft.chance(0.6):
        statement = predicate(draft, head, any_tense(draft), bare=True)
        english = [Word("who", (mark,)), *statement.english]
        french = [Word("qui", (mark,)), *statement.french]
    else:
        subject = (
            subject_pronoun(draft) if draft.chance(0.5) else noun_phrase(draft, PERSON, simple=True)
        )
        # a participle that agrees across a clause is the hardest form here: not too many of them
        tense = "past" if draft.chance(0.25) else "present"
        statement = verbal(draft, subject, tense, gap=head, bare=True)
        draft.constructions.add("object relative")
        english = [Word("that", (mark,)), *subject.english, *statement.english]
        french = [elidable("que", mark), *subject.french, *statement.french]
    return head._replace(
        english=[*head.english, *english], french=[*head.french, *french], has_gap=True
    )


def predicate(
    draft: Draft, subject: Phrase, tense: str, *, question: bool = False, bare: bool = False
) -> Predicate:
    """Say something of a subject; what neither lives nor acts can only be."""
    if not subject.kinds & {"person", "animal"} or draft.chance(0.2):
        return copular(draft, subject, tense, question=question, bare=bare)
    return verbal(draft, subject, tense, question=question, bare=bare)


def subject_phrase(draft: Draft) -> Phrase:
    """Choose a subject: a pronoun, one noun phrase or two, perhaps with a relative clause."""
    if draft.chance(0.35):
        return subject_pronoun(draft)
    kinds = draft.pick((PERSON, PERSON, PERSON, PERSON, ANIMAL, THING, PLACE))
    if draft.extra(0.12):
        return coordinated(draft, kinds)
    if draft.extra(0.15):
        return with_relative(draft, noun_phrase(draft, kinds, simple=True))
    return noun_phrase(draft, kinds)


def clause(draft: Draft, tense: str, *, bare: bool = False) -> Phrase:
    """Put a statement in both languages."""
    subject = noun_phrase(draft, PERSON, simple=True) if bare else subject_phrase(draft)
    statement = predicate(draft, subject, tense, bare=bare)
    english = [*subject.english, *statement.english]
    french = [*subject.french, *statement.french]
    if statement.antecedent is not None and draft.chance(0.5):
        mark = draft.mark()
        again = verbal(draft, subject, tense, resumed=statement.antecedent)
        english += [Word("and", (mark,)), *again.english]
        french += [Word("et", (mark,)), *again.french]
    return Phrase(english, french)


def any_tense(draft: Draft) -> str:
    """Choose a tense."""
    return draft.pick(("present", "past"))


def joined_clauses(draft: Draft) -> Phrase:
    """Join two statements by *and*, *but*, *because*, *when* or *if*."""
    english, french, further = draft.pick(
        (
            ("and", "et", ""),
            ("but", "mais", ""),
            ("because", "parce", "que"),
            ("when", "quand", ""),
            ("if", "si", ""),
        )
    )
    tense = "present" if english == "if" else any_tense(draft)
    first = clause(draft, tense)
    second = clause(draft, tense if english in ("when", "if") else any_tense(draft))
    mark = draft.mark()
    joint = [elidable(french, mark)]
    if further:
        joint.append(elidable(further, possible=(mark,)))
    joint_english = [Word(english, (mark,))]
    if english == "but":
        comma = draft.mark()
        joint_english.insert(0, Word(",", (comma,)))
        joint.insert(0, Word(",", (comma,)))
    draft.constructions.add("two clauses")
    return Phrase(
        [*first.english, *joint_english, *second.english],
        [*first.french, *joint, *second.french],
    )


def reported(draft: Draft) -> Phrase:
    """Say what somebody thinks, says or knows."""
    subject = subject_pronoun(draft) if draft.chance(0.5) else noun_phrase(draft, PERSON)
    verb = draft.pick(verbs_for(subject, "present", ("clause",)))
    mark, that = draft.mark(), draft.mark()
    person = (subject.person, subject.plural)
    inner = joined_clauses(draft) if draft.extra(0.1) else clause(draft, any_tense(draft))
    draft.constructions.add("reported")
    return Phrase(
        [
            *subject.english,
            Word(verb.english[1 if person == (3, False) else 0], (mark,)),
            Word("that", (that,)),
            *inner.english,
        ],
        [
            *subject.french,
            Word(verb.present[person], (mark,)),
            elidable("que", that),
            *inner.french,
        ],
    )


def question(draft: Draft) -> Phrase:
    """Ask whether, why or when (*est-ce que*), or who."""
    draft.constructions.add("question")
    tense = any_tense(draft)
    kind = draft.pick(("whether", "whether", "why", "when", "who"))
    if kind == "who":
        mark = draft.mark()
        who = Phrase([Word("who", (mark,))], [Word("qui", (mark,))])
        statement = predicate(draft, who, tense)
        return Phrase([*who.english, *statement.english], [*who.french, *statement.french])
    subject = subject_phrase(draft)
    statement = predicate(draft, subject, tense, question=True)
    shares = tuple(mark for word in statement.opening for mark in word.sure + word.possible)
    english = [*statement.opening, *subject.english, *statement.english]
    french = [
        Word("est-ce", (), shares),
        elidable("que", possible=shares),
        *subject.french,
        *statement.french,
    ]
    if kind != "whether":
        mark = draft.mark()
        text = {"why": "pourquoi", "when": "quand"}[kind]
        english = [Word(kind, (mark,)), *english]
        french = [Word(text, (mark,)), *french]
    return Phrase(english, french)


def sentence(draft: Draft) -> Phrase:
    """Put a whole sentence, full stop or question mark included."""
    kind = draft.rng.random()
    rich = draft.richness
    end = "."
    if kind < 0.06:
        whole, end = question(draft), "?"
    elif kind < 0.06 + 0.5 * rich:
        whole = joined_clauses(draft)
    elif kind < 0.06 + 0.7 * rich:
        whole = reported(draft)
    elif draft.extra(0.08):
        mark = draft.mark()
        whole = clause(draft, "past")
        whole = Phrase(
            [Word("yesterday", (mark,)), *whole.english], [Word("hier", (mark,)), *whole.french]
        )
    else:
        whole = clause(draft, any_tense(draft))
    mark = draft.mark()
    return Phrase([*whole.english, Word(end, (mark,))], [*whole.french, Word(end, (mark,))])
