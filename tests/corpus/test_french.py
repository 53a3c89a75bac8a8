"""The French, judged by rules written apart from the generator, and by other people's tables.

Nothing here reads the generator's lexicon, except to ask other dictionaries about its words.
Genders, onsets and plurals are written down again, by the rules of a school grammar.
"""

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from d2lattn.corpus import generate
from d2lattn.corpus.lexicon import lexicon

NUMBER = 20_000

pytestmark = pytest.mark.slow  # to make them alone takes seconds

WORDS = tomllib.loads(Path(__file__).with_name("french.toml").read_text("utf-8"))
FEMININE, MASCULINE = WORDS["feminine"].split(), WORDS["masculine"].split()
PARTICIPLES, MOVERS = WORDS["participles"].split(), WORDS["movers"].split()
ADJECTIVES, DETERMINERS, BEING = WORDS["adjectives"], WORDS["determiners"], WORDS["being"]


def plural(word):
    if word[-1] in "sxz":
        return word
    if word.endswith("al"):
        return word[:-2] + "aux"
    return word + ("x" if word.endswith("eau") or word == "hibou" else "s")


@cache
def forms():
    """Noun and adjective forms with the genders and numbers they may have."""
    nouns, adjectives = {}, {}

    def add(table, form, *tags):
        table.setdefault(form, set()).update(tags)

    for gender, words in (("m", MASCULINE), ("f", FEMININE)):
        for word in words:
            add(nouns, word, gender + "s")
            add(nouns, plural(word), gender + "p")
    for masculine, feminine in ADJECTIVES.items():
        add(adjectives, masculine, "ms")
        add(adjectives, feminine, "fs")
        add(adjectives, plural(feminine), "fp")
        if masculine not in ("bel", "nouvel", "vieil"):
            add(adjectives, plural(masculine), "mp")
    return nouns, adjectives


@cache
def sentences():
    return [pair.target for pair in generate(NUMBER, seed=2014)]


@cache
def texts():
    return [" ".join(sentence) for sentence in sentences()]


def fits(expected, tags):
    return any(all(w in ("?", t) for w, t in zip(expected, tag, strict=True)) for tag in tags)


def phrase_after(sentence, place):
    """The adjectives and the noun that follow a place, and where the noun is; or None."""
    nouns, adjectives = forms()
    seen = []
    while place < len(sentence):
        word = sentence[place]
        if word in nouns:
            return seen, word, place
        if word == "très":
            pass
        elif word in adjectives:
            seen.append(word)
        else:
            return None
        place += 1
    return None


def test_determiners_and_adjectives_agree_with_their_noun():
    nouns, adjectives = forms()
    checked = 0
    for sentence in sentences():
        for place, word in enumerate(sentence):
            expected = DETERMINERS.get(word)
            actual = expected and phrase_after(sentence, place + 1)
            if not actual:
                continue
            before, noun, noun_place = actual
            assert fits(expected, nouns[noun]), (word, noun, sentence)
            (tag, *_) = [tag for tag in nouns[noun] if fits(expected, [tag])]
            for adjective in before:
                assert tag in adjectives[adjective], (adjective, noun, sentence)
            after = noun_place + 1
            while sentence[after] == "très" or sentence[after] in adjectives:
                if sentence[after] != "très":
                    assert tag in adjectives[sentence[after]], (noun, sentence[after], sentence)
                after += 1
            checked += 1
    assert checked > NUMBER


def test_every_noun_has_a_determiner():
    nouns, adjectives = forms()
    for sentence in sentences():
        for place, word in enumerate(sentence):
            if word not in nouns:
                continue
            before = place - 1
            while sentence[before] in adjectives or sentence[before] == "très":
                before -= 1
            assert sentence[before] in DETERMINERS or sentence[before] in ("de", "d'"), sentence


PRONOUN_TAGS = {"il": "ms", "elle": "fs", "ils": "mp"}


def test_predicates_agree_with_pronoun_subjects():
    _, adjectives = forms()
    being = {form for both in BEING.values() for form in both.split()}
    checked = 0
    for sentence in sentences():
        for place, pronoun in enumerate(sentence):
            if pronoun not in BEING or sentence[place - 1] in ("avec", "de", "d'"):
                continue
            rest = [word for word in sentence[place + 1 :] if word not in ("ne", "n'", "pas")]
            rest = [word for word in rest if word not in ("jamais", "souvent", "toujours")]
            if not rest or rest[0] not in being:
                continue
            assert rest[0] in BEING[pronoun].split(), sentence
            said = next(word for word in rest[1:] if word not in ("très", "aussi"))
            tag = PRONOUN_TAGS.get(pronoun)
            if tag and said in adjectives:
                assert tag in adjectives[said], sentence
                checked += 1
            for mover in MOVERS:
                if re.fullmatch(mover + "e?s?", said):
                    ending = {"ms": "", "fs": "e", "mp": "s"}[tag]  # never with je, tu, nous
                    assert said == mover + ending, sentence
                    checked += 1
    assert checked > 300


def test_participles_with_avoir_agree_with_a_preceding_object_only():
    having = {"ai", "as", "a", "avons", "ont"}
    agreed = plain = 0
    for sentence in sentences():
        for place, word in enumerate(sentence):
            stem = next((p for p in PARTICIPLES if re.fullmatch(p + "e?s?", word)), None)
            if stem is None or not set(sentence[max(0, place - 3) : place]) & having:
                continue
            auxiliary = max(i for i in range(place) if sentence[i] in having)
            clitic = sentence[auxiliary - 1]
            if clitic == "les":
                assert word.endswith("s"), sentence
                agreed += 1
            elif clitic == "l'":
                assert word in (stem, stem + "e"), sentence
                agreed += 1
            elif not {"que", "qu'"} & set(sentence[:auxiliary]):
                assert word == stem, sentence
                plain += 1
            # With which noun it agrees after "que" is the matter of the gold pairs.
    assert agreed > 300
    assert plain > 1000


OWN = sorted(set(DETERMINERS) - {"du", "au", "des", "aux"})


def test_joined_nouns_are_feminine_only_if_both_are():
    nouns, adjectives = forms()
    words = "|".join(sorted(nouns))
    told = "|".join(sorted(adjectives))
    pattern = re.compile(
        rf"^(?:{'|'.join(OWN)}) (?:(?:{told}|très) )*({words}) (?:(?:{told}|très) )*et "
        rf"(?:{'|'.join(OWN)}) (?:(?:{told}|très) )*({words}) (?:(?:{told}|très) )*"
        rf"(?:sont|étaient) (?:très |aussi )?({told}) "
    )
    checked = 0
    for text in texts():
        actual = pattern.match(text)
        if actual:
            genders = {tag[0] for noun in actual.groups()[:2] for tag in nouns[noun]}
            assert ("fp" if genders == {"f"} else "mp") in adjectives[actual[3]], text
            checked += 1
    assert checked > 50


def test_it_takes_the_gender_of_its_antecedent():
    nouns, adjectives = forms()
    words, told = "|".join(sorted(nouns)), "|".join(sorted(adjectives))
    pattern = re.compile(
        rf"(\S+) (?:{'|'.join(OWN)}) (?:(?:{told}|très) )*({words}) (?:(?:{told}|très) )*et "
        rf"(?:(le|la) (?!(?:(?:{told}|très) )*(?:{words})\b)|l' (?:ai|as|a|avons|ont) (\w+) )"
    )
    checked = 0
    for text in texts():
        for before, noun, pronoun, participle in pattern.findall(text):
            if before in ("de", "d'"):
                continue  # the owner of what "it" is
            (gender,) = {tag[0] for tag in nouns[noun]}
            if pronoun:
                assert pronoun == ("la" if gender == "f" else "le"), text
            elif not {participle, participle[:-1], participle[:-2]} & set(PARTICIPLES):
                continue  # "et l' a": has it
            else:
                assert participle in PARTICIPLES or participle[:-1] in PARTICIPLES, text
                assert (participle not in PARTICIPLES) == (gender == "f"), text
            checked += 1
    assert checked > 100


# --- other people's tables -----------------------------------------------------------------------


def test_verb_forms_equal_those_of_verbiste():
    """Verbiste's tables, as the mlconjug3 package carries them."""
    verbiste = pytest.importorskip("mlconjug3.PyVerbiste").Verbiste(language="fr")
    place = {(1, False): 0, (2, False): 1, (3, False): 2, (1, True): 3, (3, True): 5}
    for verb in lexicon().verbs:
        info = verbiste.get_verb_info(verb.infinitive)
        assert info is not None, verb.infinitive
        moods = verbiste.get_conjug_info(info.template)
        present = dict(moods["Indicatif"]["Présent"])
        for person, form in verb.present.items():
            assert form == info.root + present[place[person]], verb
        if verb.participle:
            past = dict(moods["Participe"]["Participe Passé"])
            assert verb.participle == info.root + past[0], verb
    for tense, name in (("present", "Présent"), ("past", "Imparfait")):
        from d2lattn.corpus.clauses import BE

        info = verbiste.get_verb_info("être")
        endings = dict(verbiste.get_conjug_info(info.template)["Indicatif"][name])
        for person, (_, form) in BE[tense].items():
            assert form == info.root + endings[place[person]]
