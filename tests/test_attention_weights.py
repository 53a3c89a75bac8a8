"""The contract of `attention_weights`: on the smallest module that keeps it, and on all others."""

import pytest
import torch
from torch import nn

import d2lattn as d2l
from d2lattn.scoring import HasAttentionWeights


class Even(HasAttentionWeights, nn.Module):
    reads = 0

    def forward(self, num_keys):
        self._weights = lambda: self.work_out(num_keys)

    def work_out(self, num_keys):
        self.reads += 1
        return torch.full((1, num_keys), 1 / num_keys)


def test_weights_are_of_the_last_call_and_cost_nothing_unless_read():
    module = Even()
    module(2)
    module(4)
    assert module.reads == 0
    assert module.attention_weights.tolist() == [[0.25] * 4]


def test_there_are_none_before_the_first_call():
    with pytest.raises(RuntimeError, match=r"^attention_weights: there are none before the first"):
        _ = Even().attention_weights


# What is changed later changes nothing ------------------------------------------------------------


def additive():
    return d2l.AdditiveAttention(4, 4, 6, dropout=0)


# Layers and threads that share --------------------------------------------------------------------


def test_heads_that_share_a_pooling_keep_their_own_weights():
    pooling, X = d2l.DotProductAttention(0), torch.randn(1, 3, 4)
    one, other = (d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0, attention=pooling) for _ in range(2))
    one(X, X, X)
    before = one.attention_weights
    other(X, X, X)
    assert torch.equal(one.attention_weights, before)
    assert not torch.equal(other.attention_weights, before)
