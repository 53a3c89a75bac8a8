"""Marks of wrong words: as few as can be."""

import itertools

import pytest

from d2lattn.book.wrong_words import mark, wrong_words


def test_it_marks_as_few_words_as_any_choice_could():
    wanted = list("abcab")
    for written in itertools.product("abc", repeat=4):
        right = max(
            k
            for k in range(5)
            for kept in itertools.combinations(range(4), k)
            if is_within([written[i] for i in kept], wanted)
        )
        found = wrong_words(written, wanted)
        assert found.count(False) == right
        kept = [word for word, bad in zip(written, found, strict=True) if not bad]
        assert is_within(kept, wanted)


def is_within(words, sentence):
    """Whether the words stand in the sentence in this order."""
    rest = iter(sentence)
    return all(word in rest for word in words)


@pytest.mark.parametrize(
    ("written", "wanted", "marked"),
    [
        ("a b c", "a b c", "a b c"),
        ("", "a b", "[...]"),
        ("a x c", "a b c", "a [x] c"),
        ("a c", "a b c", "a [...] c"),
        ("x a", "a", "[x] a"),
        ("a x", "a", "a [x]"),
    ],
)
def test_mark_brackets_wrong_words(written, wanted, marked):
    assert mark(written, wanted) == marked
