"""Positional encodings: the formula, the rotation that hides in it, and the package's rules."""

import math
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import d2lattn as d2l

pytestmark = pytest.mark.usefixtures("seeded")
DRAWN = settings(deadline=None, max_examples=60, derandomize=True)
BOTH = [d2l.PositionalEncoding, d2l.LearnedPositionalEncoding]


def formula(i, column, width):
    """One entry, in float64."""
    angle = i / 10000 ** (2 * (column // 2) / width)
    return math.cos(angle) if column % 2 else math.sin(angle)


# The formula -------------------------------------------------------------------------------------


@DRAWN
@given(st.integers(1, 40), st.integers(1, 33))
def test_sinusoids_equal_formula(max_len, width):
    expected = [[formula(i, j, width) for j in range(width)] for i in range(max_len)]
    actual = d2l.sinusoids(max_len, width)
    assert actual.dtype == torch.float32
    torch.testing.assert_close(actual, torch.tensor(expected), rtol=0, atol=1e-7)


# The modules -------------------------------------------------------------------------------------


@DRAWN
@given(st.sampled_from(BOTH), st.integers(1, 9), st.integers(0, 12), st.integers(0, 12))
def test_each_step_adds_its_row(kind, width, start, length):
    encoding = kind(width, 0.0, max_len=24)
    X = torch.randn(3, length, width)
    before = X.clone()
    output = encoding(X, start)
    for step in range(length):
        torch.testing.assert_close(output[:, step], X[:, step] + encoding.P[0, start + step])
    assert torch.equal(X, before)
    assert output.shape == X.shape


@pytest.mark.parametrize("kind", BOTH)
def test_dropout_acts_on_the_sum_in_training(kind):
    encoding = kind(50, 0.5, 40)
    X = torch.full((2, 40, 50), 5.0)
    output = encoding(X)
    kept = output != 0
    assert 0.4 < kept.float().mean() < 0.6
    calm = encoding.eval()(X)
    torch.testing.assert_close(output[kept], 2 * calm[kept])
    torch.testing.assert_close(calm, X + encoding.P)
    assert torch.equal(encoding(X), calm)


@pytest.mark.parametrize("kind", BOTH)
def test_table_moves_with_module(kind):
    encoding = kind(4, 0, 10)
    assert encoding.double()(torch.zeros(1, 2, 4, dtype=torch.float64)).dtype == torch.float64
    for dtype in (torch.float16, torch.bfloat16):
        assert encoding.to(dtype)(torch.zeros(1, 2, 4, dtype=dtype)).dtype == dtype
    moved = encoding.float().to("meta")  # it stands for another device
    assert moved(torch.empty(1, 2, 4, device="meta")).is_meta


# Errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BOTH)
def test_positions_past_the_table_raise(kind):
    encoding = kind(4, 0, max_len=6)
    assert encoding(torch.zeros(1, 1, 4), start=5).shape == (1, 1, 4)
    for length, start, needed in ((3, 4, 7), (2, 100, 102)):
        message = (
            f"max_len is 6; it needs to be {needed} or more: "
            f"X has {length} steps from position {start} on"
        )
        with pytest.raises(ValueError, match=f"^{message}$"):
            encoding(torch.zeros(1, length, 4), start)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 5)])
def test_wrong_shapes_raise(kind, shape):
    message = re.escape(f"X has shape {shape}; it needs (B, T, 4)")
    with pytest.raises(ValueError, match=f"^{message}$"):
        kind(4, 0, 10)(torch.zeros(shape))


def test_wrong_dtype_and_base_raise():
    with pytest.raises(TypeError, match="X has dtype"):
        d2l.PositionalEncoding(4, 0)(torch.zeros(1, 2, 4, dtype=torch.float64))
    with pytest.raises(ValueError, match="base is 0;"):
        d2l.sinusoids(3, 4, base=0)
