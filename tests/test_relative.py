"""Positions in the score, shared keys and values, windows: against their plain forms."""

import math
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import d2lattn as d2l
from d2lattn import masks
from d2lattn.fused import fused_attention

pytestmark = pytest.mark.usefixtures("seeded")
DRAWN = settings(deadline=None, max_examples=40, derandomize=True)
SEEDS = st.integers(0, 2**16)
PLACES = st.integers(0, 400)


def close(actual, expected, atol=1e-6):
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


# Rotary positions --------------------------------------------------------------------------------


@pytest.mark.usefixtures("exact")
@DRAWN
@given(
    st.integers(1, 6), st.integers(1, 8), PLACES, st.sampled_from([10000.0, 500_000, 2, 0.5]), SEEDS
)
def test_rotation_equals_complex_multiplication(pairs, steps, start, base, seed):
    """A pair (x, y) is x + iy, and place m multiplies it by e^(i m base^(-2j/d))."""
    torch.manual_seed(seed)
    X = torch.randn(2, 3, steps, 2 * pairs, dtype=torch.float64)
    omega = float(base) ** (-torch.arange(pairs, dtype=torch.float64) / pairs)
    angles = torch.arange(start, start + steps)[:, None] * omega
    turned = torch.view_as_complex(X.unflatten(-1, (-1, 2))) * torch.polar(
        torch.ones_like(angles), angles
    )
    expected = torch.view_as_real(turned).flatten(-2)
    before = X.clone()
    close(d2l.RotaryPositions(2 * pairs, base=base).turn(X, start), expected, atol=1e-12)
    assert torch.equal(X, before)


def test_rotation_past_the_table_raises():
    rotary = d2l.RotaryPositions(2, max_len=6)
    assert rotary.turn(torch.ones(1, 1, 6, 2)).shape == (1, 1, 6, 2)
    assert rotary.turn(torch.ones(1, 1, 1, 2), 5).shape == (1, 1, 1, 2)
    message = r"^max_len is 6; it needs to be 7 or more: X has 3 steps from position 4 on$"
    with pytest.raises(ValueError, match=message):
        rotary.turn(torch.ones(1, 1, 3, 2), 4)
    with pytest.raises(ValueError, match=r"^start is -1; it needs to be 0 or more$"):
        rotary.turn(torch.ones(1, 1, 3, 2), -1)
    with pytest.raises(ValueError, match=re.escape("X has shape (1, 3, 4); it needs (..., T, 2)")):
        rotary.turn(torch.ones(1, 3, 4))


# Biases ------------------------------------------------------------------------------------------


@DRAWN
@given(st.integers(1, 9), st.integers(1, 5), st.integers(1, 9), PLACES)
def test_bias_equals_slope_times_distance(num_heads, num_queries, num_keys, start):
    actual = d2l.LinearBiases(num_heads).bias(num_queries, num_keys, start)
    expected = [
        [
            [-(2 ** (-8 * (h + 1) / num_heads)) * abs(start + i - j) for j in range(num_keys)]
            for i in range(num_queries)
        ]
        for h in range(num_heads)
    ]
    torch.testing.assert_close(actual, torch.tensor(expected))


# In attention: against its plain form ------------------------------------------------------------


def plainly(attention, X, mask):
    """What the options mean, without kernel and without tricks: weights and output."""
    heads, shared = attention.num_heads, attention.num_kv_heads
    q = attention.W_q(X).unflatten(-1, (heads, -1)).transpose(1, 2)
    k = attention.W_k(X).unflatten(-1, (shared, -1)).transpose(1, 2)
    v = attention.W_v(X).unflatten(-1, (shared, -1)).transpose(1, 2)
    k, v = (torch.cat([x[:, [h * shared // heads]] for h in range(heads)], dim=1) for x in (k, v))
    if isinstance(attention.relative, d2l.RotaryPositions):
        q, k = attention.relative.turn(q), attention.relative.turn(k)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if isinstance(attention.relative, d2l.LinearBiases):
        scores = scores + attention.relative.bias(X.shape[1], X.shape[1])
    if attention.window is not None:
        i = torch.arange(X.shape[1])
        near = (i[:, None] - i).abs() < attention.window
        mask = mask & (near | (i < attention.num_first))
    empty = ~mask.any(dim=-1, keepdim=True)
    weights = scores.masked_fill(~mask, -1e9).softmax(dim=-1).masked_fill(~mask | empty, 0)
    return weights, attention.W_o((weights @ v).transpose(1, 2).flatten(2))


@st.composite
def attentions(draw):
    """Heads, shared ones, positions and windows, all together."""
    shared, sharing, pairs = (draw(st.integers(1, 3)) for _ in range(3))
    heads = shared * sharing
    places = [None, d2l.RotaryPositions(2 * pairs), d2l.LinearBiases(heads)]
    window = draw(st.sampled_from([None, 1, 2, 3]))
    torch.manual_seed(draw(SEEDS))
    width = 2 * pairs * heads
    attention = d2l.MultiHeadAttention(
        *(width, width, width, width, heads, 0),
        draw(st.booleans()),
        num_kv_heads=shared,
        relative=draw(st.sampled_from(places)),
        window=window,
        num_first=0 if window is None else draw(st.integers(0, 2)),
    )
    return attention, torch.randn(2, draw(st.integers(1, 6)), width)


@DRAWN
@given(attentions(), st.lists(st.integers(0, 6), min_size=2, max_size=2))
def test_attention_equals_its_plain_form(problem, lens):
    attention, X = problem
    lens = torch.tensor(lens).clamp(max=X.shape[1])
    mask = masks.length_mask(lens, (2, 1, X.shape[1], X.shape[1])).expand(2, 1, X.shape[1], -1)
    weights, expected = plainly(attention, X, mask)
    close(attention(X, X, X, lens), expected, atol=2e-6)
    close(attention.attention_weights, weights, atol=2e-6)
    wanted = [X, *attention.parameters()]
    X.requires_grad_()
    back = torch.randn_like(expected)
    ours = torch.autograd.grad(attention(X, X, X, lens), wanted, back)
    theirs = torch.autograd.grad(
        plainly(attention, X, mask)[1], wanted, back, materialize_grads=True
    )
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("zeros", [("cpu",), ()])
def test_bias_leaves_fully_masked_rows_zero(monkeypatch, zeros):
    """Whether the device's kernel can do it, or we do it."""
    monkeypatch.setattr("d2lattn.fused.DEVICES_WITH_ZERO_ROWS", zeros)
    q = torch.randn(2, 2, 3, 4, requires_grad=True)
    mask = torch.tensor([[True, True, False], [False, False, False]])[:, None, None]
    bias = d2l.LinearBiases(2).bias(3, 3)
    output = fused_attention(q, q, q, mask, bias=bias)
    assert output[1].count_nonzero() == 0
    close(output[0], fused_attention(q[:1], q[:1, :, :2], q[:1, :, :2], bias=bias[..., :2])[0])
    output.square().sum().backward()
    assert q.grad.isfinite().all()
    assert q.grad[1].count_nonzero() == 0


def test_additive_attention_has_a_window_too():
    additive = d2l.AdditiveAttention(4, 4, 6, 0)
    attention = d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0, attention=additive, window=1)
    X = torch.randn(1, 5, 8)
    attention(X, X, X)
    close(attention.attention_weights, torch.eye(5).expand(1, 2, 5, 5))


def test_options_reach_every_attention_of_a_stack():
    options = {"num_kv_heads": 1, "window": 2, "num_first": 1, "relative": d2l.RotaryPositions(4)}
    for kind in (d2l.TransformerEncoder, d2l.TransformerDecoder):
        stack = kind(9, 8, 16, 2, 2, 0.25, bias=True, **options)
        assert isinstance(stack.pos_encoding, d2l.NoPositionalEncoding)
        assert stack.pos_encoding.dropout.p == 0.25
        for name, part in stack.named_modules():
            if isinstance(part, d2l.MultiHeadAttention):
                reached = {option: getattr(part, option) for option in options}
                crossing = {"window": None, "num_first": 0, "relative": None}
                assert reached == options | (crossing if "attention2" in name else {}), name
                assert part.W_k.bias.shape == part.W_v.bias.shape == (4,)
        given_one = d2l.PositionalEncoding(8, 0)
        assert kind(9, 8, 16, 2, 2, pos_encoding=given_one, **options).pos_encoding is given_one


# Errors ------------------------------------------------------------------------------------------


ADDITIVE = {"attention": d2l.AdditiveAttention(2, 2, 2, 0)}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_kv_heads": 3}, ValueError, "num_heads is 4; it needs to be a multiple of num_kv"),
        ({"window": 0}, ValueError, "window is 0; it needs to be 1 or more"),
        ({"num_first": 1}, ValueError, "num_first is 1; it needs to be 0 without a window"),
        ({"window": 2, "num_first": -1}, ValueError, "num_first is -1; it needs to be 0 or more"),
        ({"window": 2, "num_first": 1.0}, TypeError, "num_first has type float; it needs an int"),
        ({"relative": "rotary"}, TypeError, "relative has type str; it needs RotaryPositions or "),
        ({"relative": d2l.RotaryPositions(4)}, ValueError, "the head_dim of relative is 4; it"),
        ({"relative": d2l.LinearBiases(2)}, ValueError, "the num_heads of relative is 2; it needs"),
        ({**ADDITIVE, "num_kv_heads": 2}, TypeError, "attention has type AdditiveAttention; it"),
        ({**ADDITIVE, "relative": d2l.LinearBiases(4)}, TypeError, "attention has type Additive"),
    ],
)
def test_wrong_options_raise(options, error, message):
    with pytest.raises(error, match="^" + re.escape(message)):
        d2l.MultiHeadAttention(8, 8, 8, 8, 4, 0, **options)
