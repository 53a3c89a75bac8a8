"""The pattern of an English sentence of the corpus: its words replaced by their kinds.

Two sentences have the same pattern if one becomes the other by exchanging words of one kind and
number. A sentence that a model writes is taken to be well formed if training had its pattern.
"""

from collections.abc import Sequence
from functools import cache

from d2lattn.corpus.lexicon import lexicon

_ALIKE = (
    "a an this every",
    "these two three many some all",
    "the my your our their",
    "he she",
    "i you we they",
    "him them us me",
)


@cache
def _kinds() -> dict[str, str]:
    """Map each word that can be exchanged to its kind."""
    kinds = {adjective.english: "adjective" for adjective in lexicon().adjectives}
    for noun in lexicon().nouns:
        kinds |= {word: f"noun {number}" for number, word in enumerate(noun.english)}
    for verb in lexicon().verbs:
        if verb.frame != "modal":
            forms = enumerate(verb.english)
            kinds |= {word: f"{verb.frame} {verb.particle} {i}" for i, word in forms if word}
    for words in _ALIKE:
        kinds |= dict.fromkeys(words.split(), words)
    return kinds


def sentence_pattern(sentence: Sequence[str]) -> tuple[str, ...]:
    """Replace each word of an English sentence by its kind, where it has one.

    >>> sentence_pattern("my boys sleep .".split()) == sentence_pattern("our cows arrive .".split())
    True
    >>> sentence_pattern("my boys sleep .".split()) == sentence_pattern("my boy sleep .".split())
    False
    """
    return tuple(_kinds().get(word, word) for word in sentence)
