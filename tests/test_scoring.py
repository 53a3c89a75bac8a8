"""Attention scoring: rules 1, 6 and 8 of the package, against PyTorch and against plain loops."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import d2lattn as d2l
from benchmarks import measure
from d2lattn import fused, scoring

HALVES = [torch.float16, torch.bfloat16]
FLOATS = [torch.float32, *HALVES]
PREFIXES = settings(deadline=None, max_examples=60, derandomize=True)


pytestmark = pytest.mark.usefixtures("seeded")


def softmax_by_hand(scores, valid_lens):
    """The formula in float64, one row and one key at a time; scores (B, H, Q, K)."""
    weights = torch.zeros(scores.shape, dtype=torch.float64)
    for index in torch.cartesian_prod(*(torch.arange(size) for size in scores.shape[:-1])):
        batch, _, query = place = tuple(index.tolist())
        length = scores.shape[-1]
        if valid_lens is not None:
            length = int(valid_lens[batch] if valid_lens.dim() == 1 else valid_lens[batch, query])
        row = [float(score) for score in scores[place][:length]]
        powers = [math.exp(score - max(row)) for score in row]
        for key, power in enumerate(powers):
            weights[place][key] = power / sum(powers)
    return weights


@st.composite
def problems(draw):
    """Sizes, lengths (none, one a sequence, one a query) and how large the scores are."""
    batch, heads, queries, keys = (draw(st.integers(1, largest)) for largest in (3, 2, 4, 6))
    shape = draw(st.sampled_from([None, (batch,), (batch, queries)]))
    lens = None
    if shape is not None:
        count = math.prod(shape)
        drawn = draw(st.lists(st.integers(0, keys), min_size=count, max_size=count))
        lens = torch.tensor(drawn).reshape(shape)
    torch.manual_seed(draw(st.integers(0, 2**16)))
    magnitude = draw(st.sampled_from([0.0, 1e-3, 1.0, 30.0, 1e4, 1e6]))
    return (batch, heads, queries, keys), lens, magnitude


# masked_softmax ----------------------------------------------------------------------------------


@PREFIXES
@given(problems())
def test_masked_softmax_equals_formula(problem):
    shape, lens, magnitude = problem
    X = torch.randn(shape) * magnitude
    before = X.clone()
    weights, expected = d2l.masked_softmax(X, lens), softmax_by_hand(X, lens)
    torch.testing.assert_close(weights.double(), expected, rtol=0, atol=1e-6)
    assert weights[expected == 0].count_nonzero() == 0
    assert torch.equal(X, before)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("score", [0.0, 6e4, -6e4])
def test_masked_keys_never_win(dtype, score):
    """Not even over keys that score the least that the type can hold, or when they are not finite.

    A mask that adds or fills in a large negative number fails this. A row without a key gets
    weights and gradients of zero.
    """
    least = torch.finfo(dtype).min
    for hidden in (torch.finfo(dtype).max, math.inf, -math.inf, math.nan):
        X = torch.full((2, 2, 4), score, dtype=dtype)
        X[0, 1, :2] = least
        X[0, :, 2:] = X[1] = hidden
        X.requires_grad_()
        with torch.autograd.set_detect_anomaly(True):  # no step on the way back is NaN, either
            weights = d2l.masked_softmax(X, torch.tensor([2, 0]))
            weights[..., 0].sum().backward()
        assert weights.dtype == dtype
        assert weights.tolist() == [[[0.5, 0.5, 0, 0]] * 2, [[0, 0, 0, 0]] * 2]
        assert X.grad[0, :, 2:].count_nonzero() == X.grad[1].count_nonzero() == 0
        assert X.grad.isfinite().all()


@pytest.mark.parametrize(
    ("shape", "lens", "error", "message"),
    [
        ((2, 2, 3), [2, 4], ValueError, r"valid_lens\[1\] is 4; it needs to be from 0 to 3$"),
        ((2, 2, 3), [True, False], TypeError, "valid_lens has dtype torch.bool; it needs integers"),
        ((2, 3), [[1], [1]], ValueError, r"valid_lens .* needs \(B,\) = \(2,\)$"),
        ((3,), [1], ValueError, r"X has shape \(3,\); it needs \(B, K\), \(B, Q, K\) or .*"),
        ((1, 1, 1, 1, 1), [1], ValueError, r"X has shape \(1, 1, 1, 1, 1\); it needs \(B, K\), .*"),
    ],
)
def test_wrong_arguments_of_masked_softmax_raise(shape, lens, error, message):
    with pytest.raises(error, match="^" + message):
        d2l.masked_softmax(torch.ones(shape), torch.tensor(lens))


# DotProductAttention -----------------------------------------------------------------------------


@PREFIXES
@given(problems(), st.integers(1, 5))
def test_dot_product_attention_equals_loop(problem, width):
    (batch, heads, queries, keys), lens, magnitude = problem
    q = torch.randn(batch, heads, queries, width, dtype=torch.float64) * magnitude**0.5
    k = torch.randn(batch, heads, keys, width, dtype=torch.float64) * magnitude**0.5
    v = torch.randn(batch, heads, keys, width + 1, dtype=torch.float64)
    scores = torch.zeros(batch, heads, queries, keys, dtype=torch.float64)
    for b, h, i, j in torch.cartesian_prod(*(torch.arange(size) for size in scores.shape)):
        scores[b, h, i, j] = sum(q[b, h, i] * k[b, h, j]) / math.sqrt(width)
    weights = softmax_by_hand(scores, lens)
    output = torch.zeros(batch, heads, queries, width + 1, dtype=torch.float64)
    for key in range(keys):
        output += weights[..., key, None] * v[..., key, None, :]  # (B, H, Q, 1) x (B, H, 1, V)

    attention = d2l.DotProductAttention(0)
    before = [x.clone() for x in (q, k, v)]
    torch.testing.assert_close(attention(q, k, v, lens), output, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(attention.attention_weights, weights, rtol=0, atol=1e-6)
    assert all(torch.equal(x, y) for x, y in zip((q, k, v), before, strict=True))


def by_formula(q, k, v, mask=None):
    return scoring.softmax_among(scoring.dot_product_scores(q, k), mask) @ v


ATTENTIONS = {
    "additive": lambda: d2l.AdditiveAttention(3, 3, 4, 0),
    "dot product": lambda: d2l.DotProductAttention(0),
    "heads": lambda: d2l.MultiHeadAttention(3, 3, 3, 4, 2, 0),
    "additive heads": lambda: d2l.MultiHeadAttention(
        3, 3, 3, 4, 2, 0, attention=d2l.AdditiveAttention(2, 2, 4, 0)
    ),
}
every_attention = pytest.mark.parametrize("make", ATTENTIONS.values(), ids=ATTENTIONS)
plain_attentions = pytest.mark.parametrize("make", list(ATTENTIONS.values())[:2])


@every_attention
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("lens", [[0, 4], [[0, 1, 4], [2, 0, 0]]])
def test_fully_masked_row_is_zero_with_finite_gradients(make, dtype, lens):
    attention, lens = make().to(dtype), torch.tensor(lens)
    inputs = [torch.randn(2, rows, 3, dtype=dtype).requires_grad_() for rows in (3, 4, 4)]
    empty = (lens == 0).reshape(2, -1).expand(2, 3)
    output = attention(*inputs, lens)
    output.float().square().sum().backward()
    assert output.dtype == attention.attention_weights.dtype == dtype
    assert output[empty].count_nonzero() == 0
    assert output[~empty].all()
    for tensor in (*inputs, *attention.parameters()):
        assert tensor.grad.isfinite().all()
    assert inputs[0].grad[empty].count_nonzero() == 0
    sums = attention.attention_weights.float().sum(-1)  # (B, Q), or (B, H, Q) with heads
    expected = (~empty).float() if sums.dim() == 2 else (~empty).float()[:, None].expand(2, 2, 3)
    torch.testing.assert_close(sums, expected, rtol=0, atol=2e-2)


@every_attention
def test_wrong_lengths_raise_in_every_attention(make):
    X = torch.ones(2, 2, 3)
    with pytest.raises(ValueError, match=r"^valid_lens\[1\] is 4; it needs to be from 0 to 2$"):
        make()(X, X, X, torch.tensor([2, 4]))


@pytest.mark.parametrize("kernel", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION])
@pytest.mark.parametrize("dtype", [torch.float64, *FLOATS])
@pytest.mark.parametrize("keys", [3, 700])  # a part of a block, and more than one
def test_kernels_give_fully_masked_rows_zeros_and_zero_gradients(kernel, dtype, keys):
    """PyTorch does it from 2.5 on, the oldest that requirements.txt allows and CI runs."""
    attention = d2l.DotProductAttention(0)
    lens = torch.tensor([[0, 3], [keys, 0], [2, 3], [0, 0]])
    q, k, v = (torch.randn(4, 2, rows, 8, dtype=dtype) for rows in (2, keys, keys))
    inputs = [x.requires_grad_() for x in (q, k, v)]
    with sdpa_kernel(kernel), torch.autograd.set_detect_anomaly(True):
        output = attention(*inputs, lens)
        output.square().sum().backward()
    empty = (lens == 0).unsqueeze(1).expand(4, 2, 2)
    assert output[empty].count_nonzero() == 0
    assert q.grad[empty].count_nonzero() == 0
    exact = [x.detach().double().requires_grad_() for x in inputs]
    mask = torch.arange(keys) < lens[:, None, :, None]
    expected = by_formula(*exact, mask)
    expected.square().sum().backward()
    actual = [output, *(x.grad for x in inputs)]
    wanted = [expected, *(x.grad for x in exact)]
    tolerance = 5e-2 if dtype in HALVES else 1e-4
    for one, other in zip(actual, wanted, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=tolerance, atol=tolerance)


def apples(queries, keys, values, mask, dropout):
    """Attend as Apple's GPU did: softmax of a row of minus infinity was 0 / 0."""
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return F.dropout(F.softmax(scores, -1), dropout) @ values


@pytest.mark.parametrize("per_query", [False, True])
@pytest.mark.parametrize("kernel", [F.scaled_dot_product_attention, apples])
def test_fully_masked_rows_are_zero_on_other_devices(per_query, kernel, monkeypatch):
    attention = d2l.DotProductAttention(0)
    lens = torch.tensor([[0, 3], [3, 0], [2, 3]] if per_query else [0, 3, 0])
    mask = torch.arange(3) < lens.reshape(3, 1, -1, 1)  # (3, 1, 1 or 2, 3)
    empty = ~mask.any(-1).expand(3, 2, 2)
    inputs = [torch.randn(3, 2, rows, 4).requires_grad_() for rows in (2, 3, 3)]
    expected = by_formula(*inputs, mask)
    wanted = [expected, *torch.autograd.grad(expected.square().sum(), inputs)]
    monkeypatch.setattr(fused, "DEVICES_WITH_ZERO_ROWS", ())
    monkeypatch.setattr(F, "scaled_dot_product_attention", kernel)
    with torch.autograd.set_detect_anomaly(True):
        output = attention(*inputs, lens)
        actual = [output, *torch.autograd.grad(output.square().sum(), inputs)]
    assert empty.any()
    for one, other in zip(actual[:2], wanted[:2], strict=True):  # the output, and the queries'
        assert one[empty].count_nonzero() == other[empty].count_nonzero() == 0
    for one, other in zip(actual, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


# Dropout, train and eval -------------------------------------------------------------------------


@plain_attentions
@pytest.mark.parametrize("heads", [(), (2,)])
def test_dropout_changes_output_in_training_but_not_weights(make, heads):
    attention = make()
    attention.dropout.p = 0.5
    q, k = torch.randn(1, *heads, 50, 3), torch.randn(1, *heads, 40, 3)
    v = torch.ones(1, *heads, 40, 3)
    lens = torch.tensor([30])
    ones = attention.eval()(q, k, v, lens)
    torch.testing.assert_close(ones, torch.ones(1, *heads, 50, 3))
    weights = attention.attention_weights
    thinned = attention.train()(q, k, v, lens).detach()
    assert thinned.std() > 0.01
    assert thinned.mean() == pytest.approx(1, abs=0.1)  # what is left is scaled up
    torch.testing.assert_close(attention.attention_weights, weights)


# AdditiveAttention -------------------------------------------------------------------------------


@PREFIXES
@given(problems(), st.integers(1, 4))
def test_additive_attention_equals_loop(problem, num_hiddens):
    (batch, heads, queries, keys), lens, magnitude = problem
    q = torch.randn(batch, heads, queries, 2, dtype=torch.float64) * magnitude
    k = torch.randn(batch, heads, keys, 5, dtype=torch.float64) * magnitude
    v = torch.randn(batch, heads, keys, 3, dtype=torch.float64)
    attention = d2l.AdditiveAttention(5, 2, num_hiddens, dropout=0).double()
    with torch.no_grad():
        attention.w_v.weight.mul_(1 + magnitude)  # tanh stays below 1, so w_v makes scores large
    scores = torch.zeros(batch, heads, queries, keys, dtype=torch.float64)
    for b, h, i, j in torch.cartesian_prod(*(torch.arange(size) for size in scores.shape)):
        features = attention.W_q.weight @ q[b, h, i] + attention.W_k.weight @ k[b, h, j]
        scores[b, h, i, j] = attention.w_v.weight[0] @ features.tanh()
    scores = scores.detach()
    weights = softmax_by_hand(scores, lens)
    before = [x.clone() for x in (q, k, v)]
    output = attention(q, k, v, lens)
    torch.testing.assert_close(attention.attention_weights, weights, rtol=0, atol=1e-6)
    torch.testing.assert_close(output, weights @ v, rtol=0, atol=1e-6)
    assert all(torch.equal(x, y) for x, y in zip((q, k, v), before, strict=True))
    one_head = attention(q[:, 0], k[:, 0], v[:, 0], lens)
    torch.testing.assert_close(one_head, output[:, 0])


@pytest.mark.parametrize("shape", [(2, 512, 8), (1, 2, 512, 8)])
def test_dot_product_attention_never_allocates_weights(shape):
    attention = d2l.DotProductAttention(0)
    q = torch.randn(shape, requires_grad=True)
    lens = torch.tensor([100, 512][: shape[0]])
    weights = 4 * 2 * 512 * 512  # bytes
    assert measure.peak_memory(lambda: attention(q, q, q, lens)) < weights / 4
    assert measure.peak_memory(lambda: attention.attention_weights) > weights


@plain_attentions
@pytest.mark.parametrize(
    ("queries", "keys", "values", "message"),
    [
        ((2, 3), (2, 4, 3), (2, 4, 3), r"queries has shape \(2, 3\); it needs \(B, Q, [D3]\)$"),
        ((2, 5, 2, 3), (2, 1, 4, 3), (2, 1, 4, 3), r"keys has shape .* \(2, 5, K, 3\)"),
        ((2, 2, 3), (2, 2, 4), (2, 2, 4), r"keys has shape \(2, 2, 4\); .* = \(2, K, 3\)$"),
        ((2, 2, 3), (2, 4, 3), (2, 5, 3), r"values has shape \(2, 5, 3\); .* = \(2, 4, V\)$"),
    ],
)
def test_wrong_shapes_raise(make, queries, keys, values, message):
    with pytest.raises(ValueError, match="^" + message):
        make()(*(torch.ones(shape) for shape in (queries, keys, values)))
