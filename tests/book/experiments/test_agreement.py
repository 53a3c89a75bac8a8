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


def test_a_word_that_the_task_does_not_have_is_named():
    with pytest.raises(ValueError, match=r"sentences\[1\] .*'zebra'.* needs"):
        agreement.encode(["the cow", "the zebra"])


def reader(positions=None):
    torch.manual_seed(0)
    return agreement.Reader(agreement.SelfAttention(32), positions)


def test_accuracy_counts_only_articles_and_adjectives():
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


def test_padding_changes_no_answer():
    alone = agreement.encode(["the cow"])
    padded = agreement.encode(["the cow", OTHERS[0]])
    network = reader(d2l.PositionalEncoding(32, 0))
    short = network(alone.words, alone.lengths)[0]
    assert torch.allclose(network(padded.words, padded.lengths)[0, :2], short, atol=1e-5)


def test_without_positions_the_answers_are_those_of_a_bag():
    words, lengths, _ = agreement.encode(OTHERS)
    scores = reader()(words, lengths)
    happy = agreement.WORDS.index("happy")
    assert torch.allclose(*(scores[i][words[i] == happy] for i in (0, 1)), atol=1e-5)
    scores = reader(d2l.PositionalEncoding(32, 0))(words, lengths)
    assert not torch.allclose(*(scores[i][words[i] == happy] for i in (0, 1)), atol=1e-3)


@pytest.mark.slow
def test_task_is_learned_only_with_positions():
    unseen = agreement.encode(agreement.draw(300, seed=10**6, mixed=True))
    found = {}
    for name, positions in (("none", None), ("waves", d2l.PositionalEncoding(32, 0))):
        network = reader(positions)
        agreement.learn(network)
        found[name] = agreement.accuracy(network, unseen)
    assert 0.4 < found["none"] < 0.6
    assert found["waves"] > 0.9
