"""The benchmark behind chapter 5b: it counts what it says, and heads that are off are off."""

from pathlib import Path

import pytest
import torch

import d2lattn as d2l
from benchmarks import head_worth, heads
from d2lattn.corpus import Vocabulary, load_corpus

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def corpus():
    return load_corpus(num_train=200, num_unseen=0, num_long=0)


@pytest.fixture
def translator(corpus):
    """One that has learned nothing, with four heads."""
    vocabs = [Vocabulary(getattr(p, side) for p in corpus.train) for side in ("source", "target")]
    model = heads.build(4, tuple(map(len, vocabs)), seed=0)
    return heads.Translator(model, *vocabs, d2l.History(), 0.0)


def always(translator, word):
    """Let a translator write one word everywhere."""
    dense = translator.model.decoder.dense
    with torch.no_grad():
        dense.weight.zero_()
        dense.bias.zero_()
        dense.bias[translator.target_vocab.encode([word])] = 100.0


@pytest.mark.parametrize(
    ("word", "place"), [("la", 0), ("le", 1), ("les", 1), ("sa", 2), ("est-ce", 3), ("un", None)]
)
def test_wrong_words_and_chances_are_counted(corpus, translator, word, place):
    always(translator, word)
    pairs = corpus.test[:600]
    wrong, *chances = head_worth.told(translator, pairs)
    number = sum(len(pair.target) + 1 for pair in pairs)  # with the end
    right = sum(pair.target.count(word) for pair in pairs)
    assert right > 5
    assert wrong == pytest.approx(100 * (1 - right / number))
    assert chances == pytest.approx([float(place == each) for each in range(4)])


def test_what_a_head_brings_is_what_is_lost_without_it(corpus, translator):
    pairs, attention = corpus.test[:20], translator.model.decoder.heads
    outputs = {}

    def keep(name):
        found = outputs.setdefault(name, [])
        hook = attention.register_forward_hook(lambda *given: found.append(given[-1][0]))
        for pair in pairs:
            head_worth.chances(translator, [pair])
        hook.remove()
        return torch.cat(found)  # (N, D)

    every = keep("all")
    for head, length in enumerate(head_worth.brought(translator, pairs)):
        with d2l.without_heads(attention, [head]):
            less = keep(head)
        assert (every - less).norm(dim=-1).mean().item() == pytest.approx(length, rel=1e-4)


@pytest.mark.slow
def test_its_page_can_be_written(page_of):
    written = page_of(head_worth, "--seeds", 0, 1, 2, 3, 4, "--pairs", 64, "--held-out", 60)
    stored = (ROOT / "reference" / "benchmarks" / "head-worth.md").read_text(encoding="utf-8")
    names = [
        [line.split("|")[1] for line in text.splitlines() if line.startswith("|")]
        for text in (written, stored)
    ]
    assert names[0] == names[1]  # the stored table has the rows that the script makes
