"""Multi-head attention: against PyTorch's own, against a loop over heads, and by our rules."""

import inspect
import math
import re
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import d2lattn as d2l
from benchmarks.pytorch_layers import attention_as_pytorchs
from d2lattn import multihead

ROOT = Path(__file__).parents[1]
DRAWN = settings(deadline=None, max_examples=40, derandomize=True)
FLOATS = [torch.float32, torch.float16, torch.bfloat16]
LENS = [None, [4, 2], [[1, 2, 3], [4, 4, 1]]]  # of two sequences of four keys, three queries each


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def lengths(lens):
    return None if lens is None else torch.tensor(lens)


def every_pooling(num_heads=2, **kwargs):
    """By dot products and by additive attention: keys of 3, queries of 8, values of 5, width 8."""
    head_dim = 8 // num_heads
    additive = d2l.AdditiveAttention(head_dim, head_dim, 6, dropout=0)
    return [
        d2l.MultiHeadAttention(3, 8, 5, 8, num_heads, 0, **kwargs),
        d2l.MultiHeadAttention(3, 8, 5, 8, num_heads, 0, attention=additive, **kwargs),
    ]


def inputs(num_keys=4, **kwargs):
    shapes = [(2, 3, 8), (2, num_keys, 3), (2, num_keys, 5)]
    return [torch.randn(shape, **kwargs) for shape in shapes]


def pytorch_twin(ours):
    """`nn.MultiheadAttention` with the same weights."""
    widths = {"kdim": ours.W_k.in_features, "vdim": ours.W_v.in_features}
    has_bias = ours.W_o.bias is not None
    width, num_heads = ours.W_o.in_features, ours.num_heads
    twin = nn.MultiheadAttention(width, num_heads, bias=has_bias, batch_first=True, **widths)
    twin.load_state_dict(attention_as_pytorchs(ours, torch.Tensor.detach))
    return twin.to(ours.W_o.weight.dtype)


def pytorch_masks(lens, num_queries, num_keys, num_heads):
    """The same lengths as PyTorch wants them: true is hidden."""
    if lens is None:
        return {}
    hidden = torch.arange(num_keys) >= lens.unsqueeze(-1)
    if lens.dim() == 1:
        return {"key_padding_mask": hidden}
    return {"attn_mask": hidden.repeat_interleave(num_heads, dim=0)}  # (B * H, Q, K)


# Parity ------------------------------------------------------------------------------------------


@st.composite
def problems(draw):
    """Sizes, whether there is a bias, whether keys and values have widths of their own, lengths."""
    batch, queries, keys = (draw(st.integers(1, largest)) for largest in (3, 4, 5))
    num_heads, head_dim = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    width = num_heads * head_dim
    key_size, value_size = draw(
        st.one_of(st.just((width, width)), st.tuples(st.integers(1, 7), st.integers(1, 7)))
    )
    shape = draw(st.sampled_from([None, (batch,), (batch, queries)]))
    lens = None
    if shape is not None:
        count = math.prod(shape)
        drawn = draw(st.lists(st.integers(1, keys), min_size=count, max_size=count))
        lens = torch.tensor(drawn).reshape(shape)
    torch.manual_seed(draw(st.integers(0, 2**16)))
    ours = d2l.MultiHeadAttention(
        key_size, width, value_size, width, num_heads, 0, draw(st.booleans())
    )
    rows = (queries, width), (keys, key_size), (keys, value_size)
    return ours, [torch.randn(batch, *row) for row in rows], lens


@DRAWN
@given(problems())
def test_output_and_weights_equal_pytorchs(problem):
    ours, (q, k, v), lens = problem
    twin = pytorch_twin(ours)
    masks = pytorch_masks(lens, q.shape[1], k.shape[1], ours.num_heads)
    expected, weights = twin(q, k, v, average_attn_weights=False, **masks)
    before = [x.clone() for x in (q, k, v)]
    torch.testing.assert_close(ours(q, k, v, lens), expected, rtol=0, atol=1e-6)
    assert ours.attention_weights.shape == (len(q), ours.num_heads, q.shape[1], k.shape[1])
    torch.testing.assert_close(ours.attention_weights, weights, rtol=0, atol=1e-6)
    assert all(torch.equal(x, y) for x, y in zip((q, k, v), before, strict=True))


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("lens", [*LENS, [0, 3]])
@pytest.mark.parametrize("num_heads", [1, 2, 4])
def test_equals_loop_over_heads(which, lens, num_heads):
    """Each head with its own block of the matrices, no axis of heads anywhere; additive, too."""
    attention, lens = every_pooling(num_heads, bias=True)[which], lengths(lens)
    q, k, v = inputs()
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


# The notes' names --------------------------------------------------------------------------------


def test_listing_of_the_notes_runs():
    notes = sorted((ROOT.parent / "shared" / "notes").glob("004*.txt"))
    if not notes:
        pytest.skip("the study notes are not beside this checkout")
    section = notes[0].read_text(encoding="utf-8")
    section = section[section.index("### 10.6.1.") : section.index("### 10.6.2.")]
    (listing,) = re.findall(r"```py\n(.*?)```", section, flags=re.DOTALL)
    names = {"d2l": d2l}
    exec(listing, names)
    attention = names["attention"]
    assert (attention.num_heads, attention.W_o.in_features, attention.training) == (5, 100, False)
    assert attention.attention.dropout.p == 0.5


@DRAWN
@given(*(st.integers(1, 4) for _ in range(4)))
def test_joining_undoes_splitting(batch, length, num_heads, head_dim):
    X = torch.arange(batch * length * num_heads * head_dim)
    X = X.reshape(batch, length, num_heads * head_dim)
    split = multihead.split_heads(X, num_heads)
    assert split.shape == (batch, num_heads, length, head_dim)
    assert split.data_ptr() == X.data_ptr()  # a view
    for head, piece in enumerate(X.split(head_dim, dim=-1)):
        assert torch.equal(split[:, head], piece)
    assert torch.equal(d2l.transpose_qkv(X, num_heads), torch.cat(list(split)))
    assert torch.equal(multihead.merge_heads(split), X)
    assert torch.equal(d2l.transpose_output(torch.cat(list(split)), num_heads), X)


def test_signature_and_parameters():
    arguments = inspect.signature(d2l.MultiHeadAttention).parameters
    notes = ["key_size", "query_size", "value_size", "num_hiddens", "num_heads", "dropout", "bias"]
    ours = ["attention", "num_kv_heads", "relative", "window", "num_first"]
    assert list(arguments) == [*notes, *ours]
    assert all(arguments[name].kind is inspect.Parameter.KEYWORD_ONLY for name in ours)
    attention = d2l.MultiHeadAttention(3, 4, 5, 8, 2, 0.25)
    assert attention.attention.dropout.p == 0.25
    widths = {"W_q.weight": (8, 4), "W_k.weight": (8, 3), "W_v.weight": (8, 5)}
    widths["W_o.weight"] = (8, 8)
    assert {name: tuple(p.shape) for name, p in attention.state_dict().items()} == widths
    with_bias = d2l.MultiHeadAttention(3, 4, 5, 8, 2, 0.25, True)
    biases = {name.replace("weight", "bias"): (8,) for name in widths}
    actual = {name: tuple(p.shape) for name, p in with_bias.state_dict().items()}
    assert actual == widths | biases


# Rules of behaviour ------------------------------------------------------------------------------


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("lens", [[0, 4], [[0, 1, 4], [2, 0, 0]]])
def test_fully_masked_row_is_zero_with_finite_gradients(which, dtype, lens):
    attention, lens = every_pooling()[which].to(dtype), torch.tensor(lens)
    tensors = [x.to(dtype).requires_grad_() for x in inputs()]
    empty = (lens == 0).reshape(2, -1).expand(2, 3)
    output = attention(*tensors, lens)
    output.float().square().sum().backward()
    assert output.dtype == attention.attention_weights.dtype == dtype
    assert output[empty].count_nonzero() == 0
    assert output[~empty].count_nonzero() == output[~empty].numel()
    for tensor in (*tensors, *attention.parameters()):
        assert tensor.grad.isfinite().all()
    assert tensors[0].grad[empty].count_nonzero() == 0
    sums = attention.attention_weights.float().sum(-1)  # (B, H, Q)
    expected = (~empty).float().unsqueeze(1).expand(2, 2, 3)
    torch.testing.assert_close(sums, expected, rtol=0, atol=2e-2)


# Errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("num_hiddens", "num_heads", "message"),
    [
        (100, 3, "num_hiddens is 100; it needs to be a multiple of num_heads, 3"),
        (0, 4, "num_hiddens is 0; it needs to be 1 or more"),
        (8, 0, "num_heads is 0; it needs to be 1 or more"),
    ],
)
def test_width_not_divisible_by_heads_raises(num_hiddens, num_heads, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        d2l.MultiHeadAttention(8, 8, 8, num_hiddens, num_heads, 0)


SHAPE_ERRORS = [
    (
        (2, 2, 8, 8),
        (2, 2, 8, 3),
        (2, 2, 8, 5),
        "queries has shape (2, 2, 8, 8); it needs (B, Q, 8)",
    ),
    ((2, 3, 8), (1, 4, 3), (1, 4, 5), "keys has shape (1, 4, 3); it needs (B, K, 3) = (2, K, 3)"),
    ((2, 3, 8), (2, 4, 3), (2, 3, 5), "values has shape (2, 3, 5); it needs (B, K, 5) = (2, 4, 5)"),
]


@pytest.mark.parametrize(("queries", "keys", "values", "message"), SHAPE_ERRORS)
def test_wrong_shapes_raise(queries, keys, values, message):
    tensors = [torch.ones(shape) for shape in (queries, keys, values)]
    for attention in every_pooling():
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            attention(*tensors)
