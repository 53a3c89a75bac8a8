"""Chapter 6's task: its sentences, its answers and its network."""

import pytest
import torch
from torch import nn

import d2lattn as d2l
from d2lattn.book.experiments import agreement

OTHERS = ("the happy cow and the old dog", "the old cow and the happy dog")


def test_the_same_words_have_other_answers():
    words, lengths, genders = agreement.encode(OTHERS)
    assert words[0].sort().values.equal(words[1].sort().values)
    assert lengths.tolist() == [7, 7]
    # the happy cow and the old dog: only articles and adjectives are asked
    assert genders.tolist() == [[1, 1, -1, -1, 0, 0, -1]] * 2
    happy = agreement.WORDS.index("happy")
    assert [genders[i][words[i] == happy].item() for i in (0, 1)] == [1, 0]


def test_padding_is_told_apart_and_not_asked():
    words, lengths, genders = agreement.encode(["the cow", OTHERS[0]])
    assert words[0, 2:].eq(0).all()
    assert genders[0, 2:].eq(agreement.NOT_ASKED).all()
    assert lengths.tolist() == [2, 7]
    assert 0 not in words[1]


def test_sentences_are_as_drawn():
    sentences = agreement.draw(300, seed=1, phrases=3)
    assert sentences == agreement.draw(300, seed=1, phrases=3)
    assert sentences != agreement.draw(300, seed=2, phrases=3)
    kinds = set()
    for sentence in sentences:
        genders = []
        for phrase in sentence.split(" and "):
            the, *adjectives, noun = phrase.split()
            assert the == "the"
            assert set(adjectives) <= set(agreement.ADJECTIVES)
            assert len(set(adjectives)) == len(adjectives) <= 2
            genders.append(agreement.FEMININE[noun])
        assert len(genders) == 3
        kinds.add(tuple(genders))
    assert len(kinds) == 8


def reader(positions=None):
    torch.manual_seed(0)
    return agreement.Reader(agreement.SelfAttention(32), positions)


def test_accuracy_is_measured_without_dropout_and_leaves_it_as_it_was():
    sentences = agreement.encode(agreement.draw(40, seed=2))
    network = reader(nn.Dropout(0.9))
    network.mix.eval()
    expected = agreement.accuracy(network.eval(), sentences)
    network.train()
    network.mix.eval()
    assert {agreement.accuracy(network, sentences) for _ in range(5)} == {expected}
    assert [network.training, network.positions.training, network.mix.training] == [1, 1, 0]


def test_accuracy_counts_what_is_asked():
    sentences = agreement.encode(OTHERS)

    class Always(nn.Module):
        def __init__(self, feminine):
            super().__init__()
            self.scores = torch.tensor([1.0 - feminine, feminine])

        def forward(self, words, lengths):
            return self.scores.expand(*words.shape, 2)

    for feminine in (0.0, 1.0):
        assert agreement.accuracy(Always(feminine), sentences) == 0.5
    assert agreement.accuracy(Always(1.0), agreement.encode(["the cow and the old cow"] * 2)) == 1.0


def test_without_positions_the_answers_are_those_of_a_bag():
    words, lengths, _ = agreement.encode(OTHERS)
    scores = reader()(words, lengths)
    happy = agreement.WORDS.index("happy")
    assert torch.allclose(*(scores[i][words[i] == happy] for i in (0, 1)), atol=1e-5)
    scores = reader(d2l.PositionalEncoding(32, 0))(words, lengths)
    assert not torch.allclose(*(scores[i][words[i] == happy] for i in (0, 1)), atol=1e-3)


@pytest.mark.slow
def test_positions_decide_what_can_be_learned():
    unseen = agreement.encode(agreement.draw(300, seed=10**6, mixed=True))
    found = {}
    for name, positions in (("none", None), ("waves", d2l.PositionalEncoding(32, 0))):
        network = reader(positions)
        agreement.learn(network)
        found[name] = agreement.accuracy(network, unseen)
    assert 0.4 < found["none"] < 0.6
    assert found["waves"] > 0.9
