"""Multi-head attention: against a loop over heads. For PyTorch's own, see `test_transformer`."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import d2lattn as d2l
from d2lattn import multihead

DRAWN = settings(deadline=None, max_examples=40, derandomize=True)
LENS = [None, [0, 3], [[1, 2, 3], [4, 4, 1]]]  # of two sequences of four keys, three queries each


pytestmark = pytest.mark.usefixtures("seeded")


def every_pooling(num_heads=2, **kwargs):
    """By dot products and by additive attention: keys of 3, queries of 8, values of 5, width 8."""
    head_dim = 8 // num_heads
    additive = d2l.AdditiveAttention(head_dim, head_dim, 6, dropout=0)
    return [
        d2l.MultiHeadAttention(3, 8, 5, 8, num_heads, 0, attention=pooling, **kwargs)
        for pooling in (None, additive)
    ]


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("lens", LENS)
@pytest.mark.parametrize("num_heads", [1, 2, 4])
def test_equals_loop_over_heads(which, lens, num_heads):
    """Each head with its own block of the matrices, no axis of heads anywhere; additive, too."""
    attention = every_pooling(num_heads, bias=True)[which]
    lens = None if lens is None else torch.tensor(lens)
    q, k, v = torch.randn(2, 3, 8), torch.randn(2, 4, 3), torch.randn(2, 4, 5)
    layers = attention.W_q, attention.W_k, attention.W_v
    blocks = zip(
        *(
            zip(layer.weight.chunk(num_heads), layer.bias.chunk(num_heads), strict=True)
            for layer in layers
        ),
        strict=True,
    )
    heads, weights = [], []
    for head in blocks:
        projected = (x @ weight.T + bias for x, (weight, bias) in zip((q, k, v), head, strict=True))
        heads.append(attention.attention(*projected, lens))
        weights.append(attention.attention.attention_weights)
    expected = torch.cat(heads, dim=-1) @ attention.W_o.weight.T + attention.W_o.bias
    torch.testing.assert_close(attention(q, k, v, lens), expected, rtol=0, atol=1e-6)
    torch.testing.assert_close(attention.attention_weights, torch.stack(weights, 1))


@DRAWN
@given(*(st.integers(1, 4) for _ in range(4)))
def test_joining_undoes_splitting(batch, length, num_heads, head_dim):
    X = torch.arange(batch * length * num_heads * head_dim)
    X = X.reshape(batch, length, num_heads * head_dim)
    split = multihead.split_heads(X, num_heads)
    assert split.shape == (batch, num_heads, length, head_dim)
    for head, piece in enumerate(X.split(head_dim, dim=-1)):
        assert torch.equal(split[:, head], piece)
    assert torch.equal(multihead.merge_heads(split), X)
    assert torch.equal(d2l.transpose_output(d2l.transpose_qkv(X, num_heads), num_heads), X)


def test_width_not_divisible_by_heads_raises():
    message = "^num_hiddens is 100; it needs to be a multiple of num_heads, 3$"
    with pytest.raises(ValueError, match=message):
        d2l.MultiHeadAttention(8, 8, 8, 100, 3, 0)


@pytest.mark.parametrize(
    ("queries", "keys", "values", "message"),
    [
        ((2, 3, 8, 8), (2, 4, 3), (2, 4, 5), "queries has shape (2, 3, 8, 8); it needs (B, Q, 8)"),
        ((2, 3, 8), (1, 4, 3), (1, 4, 5), "keys has shape (1, 4, 3); it needs (B, K, 3) = (2, K"),
        ((2, 3, 8), (2, 4, 3), (2, 3, 5), "values has shape (2, 3, 5); it needs (B, K, 5) = (2,"),
    ],
)
def test_wrong_shapes_raise(queries, keys, values, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        every_pooling()[0](*(torch.ones(shape) for shape in (queries, keys, values)))
