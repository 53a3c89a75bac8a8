"""Entropy of attention weights, in nats."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import d2lattn as d2l


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 6), st.integers(1, 9), st.sampled_from([0.1, 1.0, 50.0, 1e4]))
def test_entropy_equals_formula(rows, keys, magnitude):
    torch.manual_seed(rows * keys)
    weights = torch.softmax(torch.randn(2, rows, keys, dtype=torch.float64) * magnitude, -1)
    entropy = d2l.attention_entropy(weights)
    assert entropy.shape == (2, rows)
    for row, actual in zip(weights.reshape(-1, keys).tolist(), entropy.reshape(-1), strict=True):
        assert float(actual) == pytest.approx(-sum(w * math.log(w) for w in row if w > 0))
    assert (entropy >= 0).all()
    assert (entropy <= math.log(keys) + 1e-12).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_zero_weight_has_finite_gradient(dtype):
    scores = torch.randn(2, 3, 4, dtype=dtype, requires_grad=True)
    entropy = d2l.attention_entropy(d2l.masked_softmax(scores, torch.tensor([0, 2])))
    entropy.sum().backward()
    assert entropy.dtype == dtype
    assert entropy[0].count_nonzero() == 0
    assert scores.grad.isfinite().all()
    assert scores.grad[1, :, :2].count_nonzero() > 0


def test_wrong_weights_raise():
    with pytest.raises(ValueError, match=r"^weights has shape \(\); it needs \(\.\.\., K\)$"):
        d2l.attention_entropy(torch.tensor(1.0))
    with pytest.raises(TypeError, match=r"^weights has dtype torch.int64; it needs a tensor of fl"):
        d2l.attention_entropy(torch.tensor([1, 0]))
