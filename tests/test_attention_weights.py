"""The contract of `attention_weights`: on the smallest module that keeps it, and on all others."""

import copy
import pickle

import pytest
import torch
from torch import nn

import d2lattn as d2l
from d2lattn.scoring import HasAttentionWeights


class Even(HasAttentionWeights, nn.Module):
    reads = 0

    def forward(self, num_keys):
        self._store_weights(lambda: self.compute(num_keys))

    def compute(self, num_keys):
        self.reads += 1
        return torch.full((1, num_keys), 1 / num_keys)


def test_weights_are_those_of_the_last_pass_and_computed_when_read():
    module = Even()
    assert not hasattr(module, "attention_weights")
    module(2)
    module(4)
    assert module.reads == 0
    assert module.attention_weights.tolist() == [[0.25] * 4]
    module.attention_weights = own = torch.ones(1, 1, requires_grad=True)
    assert module.attention_weights is own  # assigned ones keep their graph


@pytest.mark.parametrize(
    ("attention", "error", "message"),
    [
        (nn.Linear(4, 4), TypeError, "attention has type Linear; it needs DotProductAttention"),
        (d2l.AdditiveAttention(4, 4, 6, 0), ValueError, r"the sizes of attention is \(4, 4\)"),
    ],
)
def test_pooling_that_does_not_fit_is_refused_at_construction(attention, error, message):
    with pytest.raises(error, match=f"^{message}"):
        d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0, attention=attention)


def models():
    sizes, gru = (9, 4, 8, 2, 2), (9, 3, 4, 1)
    return {
        "Transformer": (d2l.TransformerEncoder(*sizes), d2l.TransformerDecoder(*sizes)),
        "Bahdanau": (d2l.Seq2SeqEncoder(*gru), d2l.Seq2SeqAttentionDecoder(*gru)),
    }


@pytest.mark.parametrize("which", models())
def test_hooks_on_every_part_of_a_model_fire(which):
    """Blocks call their attention, and it its parts, but for the dropout of the fused kernel."""
    model, called = d2l.EncoderDecoder(*models()[which]), set()
    for name, part in model.named_modules():
        part.register_forward_hook(lambda *_, name=name: called.add(name))
    tokens = torch.tensor([[3, 4]])
    model(tokens, tokens)
    never = {name for name, _ in model.named_modules()} - called
    assert all(name.endswith((".blks", "attention.dropout")) for name in never), never


def test_modules_that_share_an_attention_have_their_own_weights():
    pooling, X = d2l.DotProductAttention(0), torch.randn(1, 3, 4)
    first, second = (d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0, attention=pooling) for _ in range(2))
    first(X, X, X)
    weights = first.attention_weights
    second(X, X, X)
    assert torch.equal(first.attention_weights, weights)
    assert not torch.equal(second.attention_weights, weights)


def test_returned_weights_are_a_copy_without_a_graph():
    X = torch.randn(1, 3, 4, requires_grad=True)
    for attention in (d2l.DotProductAttention(0), d2l.AdditiveAttention(4, 4, 6, 0)):
        attention(X, X, X)
        expected = attention.attention_weights
        assert not expected.requires_grad
        attention.attention_weights.zero_()
        assert torch.equal(attention.attention_weights, expected)
        assert expected.sum() > 0


def test_weights_cannot_be_read_after_keys_changed_in_place():
    attention, keys = d2l.DotProductAttention(0), torch.randn(1, 3, 4)
    attention(torch.randn(1, 2, 4), keys, keys)
    keys.zero_()
    with pytest.raises(RuntimeError, match="keys was changed in place"):
        _ = attention.attention_weights


def test_copies_and_pickles_have_no_weights():
    attention, X = d2l.AdditiveAttention(4, 4, 6, 0), torch.randn(1, 3, 4)
    attention(X, X, X)
    for copied in (copy.deepcopy(attention), pickle.loads(pickle.dumps(attention))):
        assert not hasattr(copied, "attention_weights")
        assert torch.equal(copied(X, X, X), attention(X, X, X))
