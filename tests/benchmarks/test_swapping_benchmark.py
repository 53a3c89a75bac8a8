"""The benchmark behind chapter 4b's figure: whom it asks, what it exchanges, and its page."""

from functools import cache

import pytest
import torch
from test_believing_benchmark import untrained

from benchmarks import exchanging, swapping, translation
from d2lattn.corpus import load_corpus


@cache
def questions():
    return swapping.asked(load_corpus(num_train=0, num_unseen=0, num_long=0).test)


def test_each_question_changes_one_word_and_knows_its_own():
    assert len(questions()["la"]) == 98
    assert len(questions()["pronoun"]) > 60
    for word, asked in questions().items():
        for pair, step, own, other, wanted in asked:
            both = zip(pair.source, other.source, strict=True)
            (changed,) = [s for s, (ours, theirs) in enumerate(both) if ours != theirs]
            assert (own, step) in pair.possible
            if word == "la":
                assert (pair.source[own], pair.target[step], wanted) == ("the", "la", "le")
                assert own < changed
            else:
                assert (own, other.source[own], wanted) == (changed, "them", "les")


def asked_where(monkeypatch, turning):
    """Let a word turn where a rule says so, with all the weight on place 0, and ask about *la*."""
    translator = untrained(translation.BOTH)

    def exchanged(_, pair, other, choices, step, since):
        assert since in (0, step)
        words = ["le" if turning(places, pair, other) else pair.target[step] for places in choices]
        ids = translator.target_vocab.encode(words)
        rows = torch.zeros(len(choices), len(pair.source) + 1)
        rows[:, 0] = 1
        return torch.nn.functional.one_hot(torch.tensor(ids), 999).float(), rows

    monkeypatch.setattr(exchanging, "exchanged", exchanged)
    asked = questions()["la"]
    return asked, list(swapping.swapped(translator, asked))


def test_the_state_looked_at_is_that_of_the_largest_weight(monkeypatch):
    asked, found = asked_where(monkeypatch, lambda places, *_: 0 in places)
    assert len(found) == len(asked)
    for (_, _, own, _, _), one in zip(asked, found, strict=True):
        assert one["looked at"]
        assert one["all"]
        assert not one["random"]
        assert one["own"] == one["looks at own"] == (own == 0)
    assert {one["own"] for one in found} == {True, False}


@pytest.mark.slow
def test_its_page_can_be_written(page_of):
    sizes = "--pairs", 300, "--sentences", 40, "--held-out", 60, "--epochs", 1
    text = page_of(swapping, "--seeds", 0, 1, *sizes)
    rows = [line.split("|")[1].strip() for line in text.splitlines() if "seed" in line[:60]]
    assert rows[1:] == [
        f"{kind}, {word}, seed {seed}"
        for kind in ("one-directional", "bidirectional")
        for seed in (0, 1)
        for word in ("la", "pronoun")
    ]
