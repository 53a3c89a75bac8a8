"""The stored looks fit the corpus, and are attention."""

import pytest
import torch

from d2lattn.book.experiments.looks import MODELS, NUM_SENTENCES, load_looks
from d2lattn.corpus import load_corpus
from tools import store_looks


def test_they_belong_to_the_first_test_sentences_of_the_whole_corpus():
    test = load_corpus(num_train=500, num_long=0, num_unseen=0).test
    looks = load_looks()
    assert tuple(looks) == MODELS
    for found in looks.values():
        assert [look.pair for look in found] == test[:NUM_SENTENCES]


@pytest.mark.slow
def test_some_are_what_the_translators_that_come_with_the_book_give():
    pairs = load_corpus(num_train=0).test[:30]
    for name, stored in load_looks().items():
        found = store_looks.looks(store_looks.load_translator(name), pairs)
        for look in stored[:30]:
            weights, log_chance, right = found[look.pair]
            assert torch.equal(look.weights, weights.float())
            assert torch.equal(look.log_chance, log_chance.float())
            assert torch.equal(look.right, right)
