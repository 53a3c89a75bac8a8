"""Multi-head attention: against PyTorch's own, against a loop over heads, and by our rules."""

import copy
import gc
import inspect
import io
import math
import pickle
import re
from pathlib import Path

import pytest
import torch
from graphs import kept_by_the_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.autograd import gradcheck

import d2lattn as d2l
from benchmarks import measure
from benchmarks.pytorch_layers import attention_as_pytorchs, compare_gradients
from d2lattn import multihead
from d2lattn.masks import length_mask

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
def test_it_is_pytorchs_own(problem):
    ours, (q, k, v), lens = problem
    twin = pytorch_twin(ours)
    masks = pytorch_masks(lens, q.shape[1], k.shape[1], ours.num_heads)
    expected, weights = twin(q, k, v, average_attn_weights=False, **masks)
    before = [x.clone() for x in (q, k, v)]
    torch.testing.assert_close(ours(q, k, v, lens), expected, rtol=0, atol=1e-6)
    assert ours.attention_weights.shape == (len(q), ours.num_heads, q.shape[1], k.shape[1])
    torch.testing.assert_close(ours.attention_weights, weights, rtol=0, atol=1e-6)
    assert all(torch.equal(x, y) for x, y in zip((q, k, v), before, strict=True))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("lens", LENS)
def test_gradients_are_pytorchs_own(bias, lens):
    ours = every_pooling(bias=bias)[0].double()
    twin, lens = pytorch_twin(ours), lengths(lens)
    ours_in = inputs(dtype=torch.float64, requires_grad=True)
    twin_in = [x.detach().clone().requires_grad_() for x in ours_in]
    ours(*ours_in, lens).square().sum().backward()
    twin(*twin_in, **pytorch_masks(lens, 3, 4, 2))[0].square().sum().backward()
    for mine, other in zip(ours_in, twin_in, strict=True):
        torch.testing.assert_close(mine.grad, other.grad)
    compare_gradients(twin, attention_as_pytorchs(ours, lambda parameter: parameter.grad))


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("lens", [None, [4, 0], [[1, 2, 0], [0, 4, 3]]])
def test_gradients_by_differences(which, lens):
    attention = every_pooling()[which].double()
    tensors = inputs(dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda q, k, v: attention(q, k, v, lengths(lens)), tensors)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("lens", [*LENS, [0, 3]])
@pytest.mark.parametrize("num_heads", [1, 2, 4])
def test_it_is_a_loop_over_heads(which, lens, num_heads):
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


def test_two_heads_by_hand():
    """Head 1 reads the first halves, head 2 the second; W_o swaps them and doubles one."""
    attention = d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0)
    with torch.no_grad():
        for layer in (attention.W_q, attention.W_k, attention.W_v):
            nn.init.eye_(layer.weight)
        attention.W_o.weight.copy_(
            torch.tensor([[0.0, 0, 1, 0], [0, 0, 0, 1], [2, 0, 0, 0], [0, 2, 0, 0]])
        )
    log3 = math.log(3.0) * math.sqrt(2)  # heads are 2 wide: the score is divided by the root of 2
    queries = torch.tensor([[[1.0, 0, 0, 1]]])
    keys = torch.tensor([[[log3, 0, 0, 0], [0.0, 0, 0, log3]]])
    values = torch.tensor([[[4.0, 0, 0, 40], [0.0, 8, 80, 0]]])
    # head 1: 3/4 (4, 0) + 1/4 (0, 8) = (3, 2); head 2: 1/4 (0, 40) + 3/4 (80, 0) = (60, 10)
    assert attention(queries, keys, values)[0, 0].tolist() == pytest.approx([60, 10, 6, 4])
    weights = torch.tensor([[[[0.75, 0.25]], [[0.25, 0.75]]]])
    torch.testing.assert_close(attention.attention_weights, weights)


# The notes' names --------------------------------------------------------------------------------


def test_what_the_notes_say_in_10_5_and_10_6():
    num_hiddens, num_heads, batch_size = 100, 5, 2
    attention = d2l.MultiHeadAttention(
        num_hiddens, num_hiddens, num_hiddens, num_hiddens, num_heads, 0.5
    )
    attention.eval()
    X, Y = torch.ones(batch_size, 4, num_hiddens), torch.ones(batch_size, 6, num_hiddens)
    assert attention(X, Y, Y, torch.tensor([3, 2])).shape == (batch_size, 4, num_hiddens)
    assert attention(X, X, X, torch.tensor([[1, 2, 3, 4]] * 2)).shape == X.shape

    heads = d2l.transpose_qkv(Y, num_heads)
    assert heads.shape == (batch_size * num_heads, 6, num_hiddens / num_heads)
    assert d2l.transpose_output(heads, num_heads).shape == Y.shape


def test_the_notes_listing_runs():
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


def test_the_heads_as_sequences_of_the_batch():
    """With the notes' shapes and lengths repeated for each head, the output is the same."""
    attention = every_pooling()[0]
    q, k, v = inputs()
    lens = torch.tensor([4, 2])
    projected = (
        d2l.transpose_qkv(layer(x), 2)
        for layer, x in ((attention.W_q, q), (attention.W_k, k), (attention.W_v, v))
    )
    heads = d2l.DotProductAttention(0)(*projected, lens.repeat_interleave(2))
    output = attention.W_o(d2l.transpose_output(heads, 2))
    torch.testing.assert_close(output, attention(q, k, v, lens))


@DRAWN
@given(*(st.integers(1, 4) for _ in range(4)))
def test_splitting_and_joining(batch, length, num_heads, head_dim):
    X = torch.arange(batch * length * num_heads * head_dim)
    X = X.reshape(batch, length, num_heads * head_dim)
    split = multihead.split_heads(X, num_heads)
    assert split.shape == (batch, num_heads, length, head_dim)
    assert split.data_ptr() == X.data_ptr()  # a view
    for head, piece in enumerate(X.split(head_dim, dim=-1)):
        assert torch.equal(split[:, head], piece)
    assert torch.equal(d2l.transpose_qkv(X, num_heads), torch.cat(list(split)))
    assert torch.equal(multihead.join_heads(split), X)
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
    found = {name: tuple(p.shape) for name, p in with_bias.state_dict().items()}
    assert found == widths | biases


def test_the_pooling_is_the_one_that_is_given():
    additive = d2l.AdditiveAttention(4, 4, 6, dropout=0)
    assert d2l.MultiHeadAttention(3, 8, 5, 8, 2, 0, attention=additive).attention is additive


# Rules of behaviour ------------------------------------------------------------------------------


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("lens", [[0, 4], [[0, 1, 4], [2, 0, 0]]])
def test_nothing_to_look_at_gives_zero_and_finite_gradients(which, dtype, lens):
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


def test_of_nothing_the_bias_is_left():
    attention = every_pooling(bias=True)[0]
    output = attention(*inputs(), torch.tensor([0, 4]))
    torch.testing.assert_close(output[0], attention.W_o.bias.expand(3, 8))


@pytest.mark.parametrize("which", [0, 1])
def test_padding_changes_nothing(which):
    attention = every_pooling()[which]
    q, k, v = inputs()
    lens = torch.tensor([4, 2])
    long_k, long_v = (torch.cat([x, torch.full_like(x, 1e4)], dim=1) for x in (k, v))
    short = attention(q, k, v, lens)
    torch.testing.assert_close(attention(q, long_k, long_v, lens), short, rtol=0, atol=1e-6)
    assert attention.attention_weights[..., 4:].count_nonzero() == 0


@pytest.mark.parametrize("which", [0, 1])
def test_causal_lengths_hide_what_comes_after_in_training_too(which):
    attention = every_pooling()[which]
    q, k, v = inputs(num_keys=3)
    lens = torch.tensor([[1, 2, 3]] * 2)
    trained = attention.train()(q, k, v, lens)
    torch.testing.assert_close(attention.eval()(q, k, v, lens), trained)
    assert attention.attention_weights.triu(1).count_nonzero() == 0
    for step in range(3):  # what a step gives, it gives without those after it
        alone = attention(q[:, step : step + 1], k[:, : step + 1], v[:, : step + 1])
        torch.testing.assert_close(alone, trained[:, step : step + 1], rtol=0, atol=1e-6)


@DRAWN
@given(st.data(), st.integers(0, 1))
def test_self_attention_does_not_see_order(data, which):
    """Equivariance: the same rows in another order give the same outputs in that order."""
    torch.manual_seed(0)
    pooling = d2l.AdditiveAttention(4, 4, 6, 0) if which else None
    attention = d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0, attention=pooling)
    length = data.draw(st.integers(1, 7))
    order = data.draw(st.permutations(range(length)))
    X = torch.randn(2, length, 8)
    output, weights = attention(X, X, X), attention.attention_weights
    shuffled = X[:, order]
    torch.testing.assert_close(attention(shuffled, shuffled, shuffled), output[:, order])
    torch.testing.assert_close(attention.attention_weights, weights[:, :, order][..., order])


@pytest.mark.parametrize("which", [0, 1])
def test_weights_are_before_dropout_and_dropout_is_in_training_alone(which):
    attention = every_pooling()[which]
    attention.attention.dropout.p = 0.5
    tensors = inputs()
    calm = attention.eval()(*tensors)
    assert torch.equal(attention(*tensors), calm)
    weights = attention.attention_weights
    assert not torch.allclose(attention.train()(*tensors), calm)
    torch.testing.assert_close(attention.attention_weights, weights)


def test_all_dropout_leaves_nothing():
    attention = d2l.MultiHeadAttention(8, 8, 8, 8, 2, 1.0)
    X = torch.randn(2, 3, 8)
    assert attention(X, X, X).count_nonzero() == 0
    assert attention.eval()(X, X, X).count_nonzero() > 0


@pytest.mark.parametrize("which", [0, 1])
def test_weights_are_of_the_last_call_that_succeeded(which):
    attention = every_pooling()[which]
    with pytest.raises(RuntimeError, match=r"^attention_weights: there are none before the first"):
        _ = attention.attention_weights
    q, k, v = inputs()
    lens = torch.tensor([4, 2])
    attention(q, k, v, lens)
    first = attention.attention_weights
    for wrong in ((q, k, v, torch.tensor([9, 9])), (q, k, k, lens), (q, v, v, lens)):
        with pytest.raises(ValueError, match="needs"):
            attention(*wrong)
        assert torch.equal(attention.attention_weights, first)
    attention(q, k, v)
    assert not torch.equal(attention.attention_weights, first)


@pytest.mark.parametrize("which", [0, 1])
def test_weights_hold_no_graph(which):
    attention = every_pooling()[which]
    with kept_by_the_graph() as kept:
        output = attention(*inputs(), torch.tensor([4, 2]))
    assert not attention.attention_weights.requires_grad
    assert len(kept) > 0
    del output
    gc.collect()
    assert len(kept) == 0
    assert not attention.attention_weights.requires_grad


@pytest.mark.parametrize("which", [0, 1])
def test_copies_and_files(which):
    attention, tensors = every_pooling()[which], inputs()
    output = attention(*tensors)
    buffer = io.BytesIO()
    torch.save(attention, buffer)
    buffer.seek(0)
    loaded = torch.load(buffer, weights_only=False)
    for twin in (copy.deepcopy(attention), pickle.loads(pickle.dumps(attention)), loaded):
        with pytest.raises(RuntimeError, match="there are none"):  # what it looked at stays behind
            _ = twin.attention_weights
        assert torch.equal(twin(*tensors), output)


@pytest.mark.parametrize("which", [0, 1])
def test_autocast_mixes_what_it_likes(which):
    attention = every_pooling()[which]
    q, k, v = inputs()
    expected = attention(q, k, v)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = attention(q, k.bfloat16(), v)
        torch.testing.assert_close(output.float(), expected, rtol=0.05, atol=0.05)


def test_a_hook_at_the_last_projection_silences_a_head():
    """What the class promises to an ablation: the joined heads go into W_o, in their order."""
    attention, tensors = every_pooling()[0], inputs()
    full = attention(*tensors)
    outputs = []
    for head in range(2):
        keep = torch.zeros(8).index_fill(0, torch.arange(4) + 4 * head, 1)
        handle = attention.W_o.register_forward_pre_hook(lambda _, args, keep=keep: args[0] * keep)
        outputs.append(attention(*tensors))
        handle.remove()
    torch.testing.assert_close(sum(outputs), full)  # without a bias, contributions add up
    assert not torch.allclose(outputs[0], outputs[1])


@pytest.mark.slow
def test_memory_grows_with_the_length_and_not_with_its_square():
    attention = d2l.MultiHeadAttention(32, 32, 32, 32, 4, 0)
    peaks = {}
    for length in (1024, 2048):  # below, the kernel's blocks grow too
        X = torch.randn(1, length, 32, requires_grad=True)

        def both(X=X):
            return torch.autograd.grad(attention(X, X, X).sum(), X)

        peaks[length] = measure.peak_memory(both)
    weights = 4 * 4 * 2048**2  # bytes
    assert peaks[2048] < 2.1 * peaks[1024]
    assert peaks[2048] < weights / 8
    assert measure.peak_memory(lambda: attention.attention_weights) > weights


# Errors ------------------------------------------------------------------------------------------


def test_one_head_of_width_one():
    attention = d2l.MultiHeadAttention(1, 1, 1, 1, 1, 0)
    X = torch.ones(1, 1, 1)
    assert attention(X, X, X).shape == d2l.transpose_output(d2l.transpose_qkv(X, 1), 1).shape


@pytest.mark.parametrize(
    ("num_hiddens", "num_heads", "message"),
    [
        (
            100,
            3,
            "num_hiddens is 100; it needs to be a multiple of num_heads, 3",
        ),
        (
            101,
            3,
            "num_hiddens is 101; it needs to be a multiple of num_heads, 3",
        ),
        (3, 4, "num_hiddens is 3; it needs to be a multiple of num_heads, 4"),
        (0, 4, "num_hiddens is 0; it needs to be 1 or more"),
        (8, 0, "num_heads is 0; it needs to be 1 or more"),
        (8, -2, "num_heads is -2; it needs to be 1 or more"),
    ],
)
def test_widths_that_heads_cannot_share(num_hiddens, num_heads, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        d2l.MultiHeadAttention(8, 8, 8, num_hiddens, num_heads, 0)


@pytest.mark.parametrize("name", ["key_size", "query_size", "value_size"])
def test_inputs_have_a_width(name):
    sizes = {"key_size": 3, "query_size": 8, "value_size": 5, name: 0}
    with pytest.raises(ValueError, match=f"^{name} is 0; it needs to be 1 or more$"):
        d2l.MultiHeadAttention(**sizes, num_hiddens=8, num_heads=2, dropout=0)


TRANSPOSE_ERRORS = [
    (d2l.transpose_qkv, [[1]], TypeError, r"X has type list; it needs a tensor"),
    (
        d2l.transpose_qkv,
        torch.ones(4, 6),
        ValueError,
        r"X has shape \(4, 6\); it needs \(B, N, D\)",
    ),
    (
        d2l.transpose_qkv,
        torch.ones(8, 4, 5, 8),
        ValueError,
        r"X has shape \(8, 4, 5, 8\); it needs \(B, N, D\)",
    ),
    (
        d2l.transpose_qkv,
        torch.ones(4, 4, 6),
        ValueError,
        "the width of X is 6; it needs to be a multiple of num_heads, 4",
    ),
    (
        d2l.transpose_qkv,
        torch.ones(4, 4, 0),
        ValueError,
        "the width of X is 0; it needs to be 1 or more",
    ),
    (d2l.transpose_output, [[1]], TypeError, r"X has type list; it needs a tensor"),
    (
        d2l.transpose_output,
        torch.ones(4, 6),
        ValueError,
        r"X has shape \(4, 6\); it needs \(B \* H, N, D / H\)",
    ),
    (
        d2l.transpose_output,
        torch.ones(6, 4, 4),
        ValueError,
        "the first axis of X is 6; it needs to be a multiple of num_heads, 4",
    ),
]


@pytest.mark.parametrize(("function", "X", "error", "message"), TRANSPOSE_ERRORS)
def test_what_cannot_be_transposed(function, X, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        function(X, 4)


SHAPE_ERRORS = [
    ((3, 8), (2, 4, 3), (2, 4, 5), r"queries has shape \(3, 8\); it needs \(B, Q, 8\)"),
    ((2, 3, 7), (2, 4, 3), (2, 4, 5), r"queries has shape \(2, 3, 7\); it needs \(B, Q, 8\)"),
    (
        (2, 2, 8, 8),
        (2, 2, 8, 3),
        (2, 2, 8, 5),
        r"queries has shape \(2, 2, 8, 8\); it needs \(B, Q, 8\)",
    ),
    *(
        (
            (2, 3, 8),
            keys,
            (2, 4, 5),
            rf"keys has shape {re.escape(str(keys))}; "
            r"it needs \(B, K, 3\) = \(2, K, 3\)",
        )
        for keys in [(2, 3), (1, 4, 3), (3, 4, 3), (2, 4, 2), (2, 4, 4), (2, 4, 3, 3)]
    ),
    *(
        (
            (2, 3, 8),
            (2, 4, 3),
            values,
            rf"values has shape {re.escape(str(values))}; "
            r"it needs \(B, K, 5\) = \(2, 4, 5\)",
        )
        for values in [(2, 5), (1, 4, 5), (2, 3, 5), (2, 4, 4), (2, 4, 5, 5)]
    ),
]


@pytest.mark.parametrize(("queries", "keys", "values", "message"), SHAPE_ERRORS)
def test_wrong_shapes_are_named(queries, keys, values, message):
    tensors = [torch.ones(shape) for shape in (queries, keys, values)]
    for attention in every_pooling():
        with pytest.raises(ValueError, match=f"^{message}$"):
            attention(*tensors)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(
    ("lens", "error", "message"),
    [
        ([[1], [2]], ValueError, r"valid_lens has shape \(2, 1\); .* or \(B, Q\) = \(2, 3\)$"),
        ([1, 5], ValueError, r"valid_lens\[1\] is 5; it needs to be from 0 to 4$"),
        ([1.0, 2.0], TypeError, r"valid_lens has dtype torch.float32; it needs a tensor of int"),
    ],
)
def test_wrong_lengths_are_named(which, lens, error, message):
    with pytest.raises(error, match="^" + message):
        every_pooling()[which](*inputs(), torch.tensor(lens))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_wrong_types_are_named(place):
    name = ("queries", "keys", "values")[place]
    for change, message in (
        (torch.Tensor.double, "dtype torch.float64; it needs torch.float32, the dtype of module"),
        (torch.Tensor.long, "dtype torch.int64; it needs a tensor of floating-point numbers"),
        (torch.Tensor.tolist, "type list; it needs a tensor of floating-point numbers"),
    ):
        tensors = inputs()
        tensors[place] = change(tensors[place])
        with pytest.raises(TypeError, match=f"^{name} has {message}$"):
            every_pooling()[0](*tensors)


def test_no_keys_and_no_sequences():
    attention = every_pooling()[0]
    output = attention(torch.ones(2, 3, 8), torch.ones(2, 0, 3), torch.ones(2, 0, 5))
    assert torch.equal(output, torch.zeros(2, 3, 8))
    assert attention.attention_weights.shape == (2, 2, 3, 0)
    nothing = attention(torch.ones(0, 3, 8), torch.ones(0, 4, 3), torch.ones(0, 4, 5))
    assert nothing.shape == (0, 3, 8)


# What a decoder calls ----------------------------------------------------------------------------


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("lens", [*LENS, [0, 3]])
def test_project_and_attend_are_a_call_in_two_steps(which, lens):
    attention, (q, k, v) = every_pooling(bias=True)[which], inputs()
    expected = attention(q, k, v, lengths(lens))
    weights = attention.attention_weights
    keys, values = attention.project(k, v)
    assert keys.shape[:3] == values.shape[:3] == (2, 2, 4)  # (B, H, K, ...)
    mask = None if lens is None else length_mask(lengths(lens), (2, 2, 3, 4))
    torch.testing.assert_close(attention.attend(q, keys, values, mask), expected)
    torch.testing.assert_close(attention.attention_weights, weights)
    step = None if mask is None else mask.expand(2, 1, 3, 4)[:, :, 1:2]
    alone = attention.attend(q[:, 1:2], keys, values, step)  # what is projected serves any query
    torch.testing.assert_close(alone, expected[:, 1:2])


@pytest.mark.parametrize("which", [0, 1])
def test_a_mask_may_have_holes(which):
    attention, (q, k, v) = every_pooling()[which], inputs()
    left = torch.tensor([0, 2, 3])
    mask = torch.zeros(4, dtype=torch.bool).index_fill(0, left, True).expand(3, 4)  # (Q, K)
    output = attention.attend(q, *attention.project(k, v), mask)
    weights = attention.attention_weights
    torch.testing.assert_close(output, attention(q, k[:, left], v[:, left]))
    torch.testing.assert_close(weights[..., left], attention.attention_weights)
    assert weights[..., 1].count_nonzero() == 0


def test_keys_are_projected_once_for_all_steps():
    """By additive pooling too, which has a projection of its own."""
    attention, (q, k, v) = every_pooling()[1], inputs()
    projections = []
    for layer in (attention.W_k, attention.attention.W_k):
        layer.register_forward_hook(lambda layer, *_: projections.append(layer))
    expected = attention(q, k, v)
    keys, values = attention.project(k, v)
    steps = [attention.attend(step, keys, values) for step in q.split(1, dim=1)]
    assert projections == 2 * [attention.W_k, attention.attention.W_k]
    torch.testing.assert_close(torch.cat(steps, dim=1), expected)


def test_projected_values_are_the_heads_shares():
    attention, (_, k, v) = every_pooling(bias=True)[0], inputs()
    keys, values = attention.project(k, v)
    assert torch.equal(multihead.join_heads(keys), attention.W_k(k))
    assert torch.equal(multihead.join_heads(values), attention.W_v(v))
