"""Positions in the score, shared keys and values, windows: against their plain forms."""

import inspect
import math
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.autograd import gradcheck
from torch.nn import functional as F

import d2lattn as d2l
from d2lattn import masks, scoring
from d2lattn.book.translators import RECIPES, load_translator
from d2lattn.fused import fused_attention

DRAWN = settings(deadline=None, max_examples=40, derandomize=True)
SEEDS = st.integers(0, 2**16)
PLACES = st.integers(0, 400)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def close(found, expected, atol=1e-6):
    torch.testing.assert_close(found, expected, rtol=0, atol=atol)


def exact_rotary(head_dim, **options):
    """In double precision, as the tests of identities need it."""
    torch.set_default_dtype(torch.float64)
    rotary = d2l.RotaryPositions(head_dim, **options)
    torch.set_default_dtype(torch.float32)
    return rotary


# Rotary positions --------------------------------------------------------------------------------


@DRAWN
@given(
    st.integers(1, 6), st.integers(1, 8), PLACES, st.sampled_from([10000.0, 500_000, 2, 0.5]), SEEDS
)
def test_turning_is_multiplying_by_a_complex_number(pairs, steps, start, base, seed):
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
    close(exact_rotary(2 * pairs, base=base).turn(X, start), expected, atol=1e-12)
    assert torch.equal(X, before)


@DRAWN
@given(st.integers(1, 8), PLACES, PLACES, st.integers(0, 400), SEEDS)
def test_only_the_distance_counts(pairs, query_at, key_at, moved, seed):
    torch.manual_seed(seed)
    rotary = exact_rotary(2 * pairs)
    q, k = torch.randn(2, 1, 2 * pairs, dtype=torch.float64).unbind()
    here = rotary.turn(q, query_at) @ rotary.turn(k, key_at).mT
    there = rotary.turn(q, query_at + moved) @ rotary.turn(k, key_at + moved).mT
    close(there, here, atol=1e-10)
    close(rotary.turn(q, query_at).norm(), q.norm(), atol=1e-12)  # nobody shouts


def test_the_table_is_that_of_the_waves():
    assert torch.equal(d2l.RotaryPositions(6).P, d2l.sinusoids(1000, 6))
    assert torch.equal(d2l.RotaryPositions(6, base=50, max_len=9).P, d2l.sinusoids(9, 6, 50))
    rotary = d2l.RotaryPositions(6)
    assert list(rotary.state_dict()) == list(rotary.parameters()) == []
    assert [name for name, _ in rotary.named_buffers()] == ["P"]
    assert rotary.turn(torch.randn(1, 2, 3, 6).double()).dtype == torch.float64


def test_a_quarter_turn_by_hand():
    rotary = d2l.RotaryPositions(4, base=4)  # 1 radian a place, and 1/2
    turned = rotary.turn(torch.tensor([[[[1.0, 0, 0, 2]]]]), start=3)[0, 0, 0]
    expected = [math.cos(3), math.sin(3), -2 * math.sin(1.5), 2 * math.cos(1.5)]
    close(turned, torch.tensor(expected))


def test_past_the_table():
    rotary = d2l.RotaryPositions(2, max_len=6)
    assert rotary.turn(torch.ones(1, 1, 6, 2)).shape == (1, 1, 6, 2)
    assert rotary.turn(torch.ones(1, 1, 1, 2), 5).shape == (1, 1, 1, 2)
    message = r"^max_len is 6; it needs to be 7 or more: X has 3 steps from position 4 on$"
    with pytest.raises(ValueError, match=message):
        rotary.turn(torch.ones(1, 1, 3, 2), 4)
    with pytest.raises(ValueError, match=r"^start is -1; it needs to be 0 or more$"):
        rotary.turn(torch.ones(1, 1, 3, 2), -1)
    with pytest.raises(TypeError, match=r"^start has type float; it needs an integer$"):
        rotary.turn(torch.ones(1, 1, 3, 2), 1.0)
    with pytest.raises(ValueError, match=re.escape("X has shape (1, 3, 4); it needs (..., T, 2)")):
        rotary.turn(torch.ones(1, 3, 4))


# Biases ------------------------------------------------------------------------------------------


@DRAWN
@given(st.integers(1, 9), st.integers(1, 5), st.integers(1, 9), PLACES)
def test_the_bias_is_slope_times_distance(num_heads, num_queries, num_keys, start):
    found = d2l.LinearBiases(num_heads).bias(num_queries, num_keys, start)
    expected = [
        [
            [-(2 ** (-8 * (h + 1) / num_heads)) * abs(start + i - j) for j in range(num_keys)]
            for i in range(num_queries)
        ]
        for h in range(num_heads)
    ]
    torch.testing.assert_close(found, torch.tensor(expected))


def test_a_bias_with_places_left_out():
    biases = d2l.LinearBiases(4)
    whole = biases.bias(2, 9, start=7)
    assert torch.equal(biases.bias(2, 5, 7, num_first=2, gap=4), whole[..., [0, 1, 6, 7, 8]])
    assert torch.equal(biases.bias(2, 5, 7, gap=4), whole[..., 4:])  # none is kept unless asked


def test_nothing_is_taken_from_a_key_at_the_query_s_own_place():
    bias = d2l.LinearBiases(2).bias(3, 3)
    assert (bias == 0).tolist() == torch.eye(3).bool().expand(2, 3, 3).tolist()


def test_slopes_of_the_paper():
    assert d2l.LinearBiases(8).slopes.tolist() == [2.0**-h for h in range(1, 9)]
    biases = d2l.LinearBiases(8)
    assert list(biases.state_dict()) == list(biases.parameters()) == []


def test_slopes_are_rounded_once():
    for num_heads in range(1, 33):
        exact = [2.0 ** (-8 * h / num_heads) for h in range(1, num_heads + 1)]
        assert torch.equal(d2l.LinearBiases(num_heads).slopes, torch.tensor(exact))


# In attention: against its plain form ------------------------------------------------------------


def plainly(attention, X, mask, start=0):
    """What the options mean, without kernel and without tricks: weights and output."""
    heads, shared = attention.num_heads, attention.num_kv_heads
    q = attention.W_q(X).unflatten(-1, (heads, -1)).transpose(1, 2)
    k = attention.W_k(X).unflatten(-1, (shared, -1)).transpose(1, 2)
    v = attention.W_v(X).unflatten(-1, (shared, -1)).transpose(1, 2)
    k, v = (torch.cat([x[:, [h * shared // heads]] for h in range(heads)], dim=1) for x in (k, v))
    if isinstance(attention.relative, d2l.RotaryPositions):
        q, k = attention.relative.turn(q, start), attention.relative.turn(k, start)
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
    relative = {
        "none": lambda: None,
        "rotary": lambda: d2l.RotaryPositions(2 * pairs),
        "ALiBi": lambda: d2l.LinearBiases(heads),
    }[draw(st.sampled_from(["none", "rotary", "ALiBi"]))]()
    window = draw(st.sampled_from([None, 1, 2, 3]))
    torch.manual_seed(draw(SEEDS))
    width = 2 * pairs * heads
    attention = d2l.MultiHeadAttention(
        width,
        width,
        width,
        width,
        heads,
        0,
        draw(st.booleans()),
        num_kv_heads=shared,
        relative=relative,
        window=window,
        num_first=0 if window is None else draw(st.integers(0, 2)),
    )
    return attention, torch.randn(2, draw(st.integers(1, 6)), width)


@DRAWN
@given(attentions(), st.lists(st.integers(0, 6), min_size=2, max_size=2))
def test_attention_is_its_plain_form(problem, lens):
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


@DRAWN
@given(attentions(), st.integers(0, 5))
def test_queries_from_a_later_place_on(problem, start):
    """The last queries alone, told where they stand, get what they get among all."""
    attention, X = problem
    start = min(start, X.shape[1] - 1)
    whole = attention(X, X, X)
    weights = attention.attention_weights
    close(attention(X[:, start:], X, X, start=start), whole[:, start:], atol=2e-6)
    close(attention.attention_weights, weights[:, :, start:], atol=2e-6)


@pytest.mark.parametrize("shared", [1, 2, 4])
def test_the_kernel_shares_heads_as_pytorchs_does(shared):
    q = torch.randn(2, 4, 3, 8)
    k, v = torch.randn(2, 2, shared, 5, 8).unbind()
    mask = torch.rand(2, 1, 3, 5) > 0.4
    mask[..., 0] = True
    for given_mask in (None, mask):
        expected = F.scaled_dot_product_attention(q, k, v, given_mask, enable_gqa=True)
        close(fused_attention(q, k, v, given_mask), expected)
        repeated = (x.repeat_interleave(4 // shared, dim=1) for x in (k, v))
        close(expected, F.scaled_dot_product_attention(q, *repeated, given_mask))


def test_a_bias_without_an_axis_of_heads():
    """What is computed and the weights that are read both have it."""
    pooling, (q, k, v) = d2l.DotProductAttention(0), torch.randn(3, 2, 4, 5)
    bias = d2l.LinearBiases(1).bias(4, 4)  # (1, Q, K)
    mask = torch.ones(4, 4, dtype=torch.bool).tril()
    for seen in (None, mask):
        output = pooling.attend(q, k, v, seen, lambda: bias)
        close(output, pooling.attention_weights @ v)
        assert not torch.allclose(output, pooling.attend(q, k, v, seen))


@pytest.mark.parametrize("zeros", [("cpu",), ()])
def test_a_bias_leaves_rows_without_a_key_empty(monkeypatch, zeros):
    """Whether the device's kernel can do it, or we do it."""
    monkeypatch.setattr("d2lattn.fused.GIVES_ZEROS", zeros)
    q = torch.randn(2, 2, 3, 4, requires_grad=True)
    mask = torch.tensor([[True, True, False], [False, False, False]])[:, None, None]
    bias = d2l.LinearBiases(2).bias(3, 3)
    output = fused_attention(q, q, q, mask, bias=bias)
    assert output[1].count_nonzero() == 0
    close(output[0], fused_attention(q[:1], q[:1, :, :2], q[:1, :, :2], bias=bias[..., :2])[0])
    output.square().sum().backward()
    assert q.grad.isfinite().all()
    assert q.grad[1].count_nonzero() == 0


def test_gradients_by_differences():
    torch.set_default_dtype(torch.float64)
    try:
        for relative in (d2l.RotaryPositions(2), d2l.LinearBiases(4)):
            attention = d2l.MultiHeadAttention(
                8, 8, 8, 8, 4, 0, num_kv_heads=2, relative=relative, window=2, num_first=1
            )
            X = torch.randn(2, 4, 8, requires_grad=True)
            assert gradcheck(lambda X, a=attention: a(X, X, X, torch.tensor([4, 2])), [X])
    finally:
        torch.set_default_dtype(torch.float32)


def test_with_rotations_self_attention_sees_order():
    attention = d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0, relative=d2l.RotaryPositions(4))
    X = torch.randn(1, 5, 8)
    Y = X.flip(1)
    assert (attention(Y, Y, Y) - attention(X, X, X).flip(1)).abs().max() > 1e-3


def test_additive_attention_has_a_window_too():
    additive = d2l.AdditiveAttention(4, 4, 6, 0)
    attention = d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0, attention=additive, window=1)
    X = torch.randn(1, 5, 8)
    attention(X, X, X)
    close(attention.attention_weights, torch.eye(5).expand(1, 2, 5, 5))


def test_what_a_mask_becomes_later_changes_no_weights():
    attention = d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0, window=2)
    X, mask = torch.randn(1, 3, 8), torch.ones(1, 1, 3, 3, dtype=torch.bool)
    attention.attend(X, *attention.project(X, X), mask)
    mask.fill_(False)
    close(attention.attention_weights.sum(-1), torch.ones(1, 2, 3))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("relative", [lambda: d2l.RotaryPositions(4), lambda: d2l.LinearBiases(2)])
def test_half_precision(dtype, relative):
    attention = d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0, relative=relative(), num_kv_heads=1)
    X = torch.randn(2, 5, 8)
    expected = attention(X, X, X, torch.tensor([5, 0]))
    found = attention.to(dtype)(*[X.to(dtype)] * 3, torch.tensor([5, 0]))
    assert found.dtype == attention.attention_weights.dtype == dtype
    close(found.float(), expected, atol=3e-2)


@pytest.mark.parametrize("relative", ["none", "rotary", "ALiBi"])
def test_autocast_may_be_left_between_projecting_and_asking(relative):
    positions = {"none": None, "rotary": d2l.RotaryPositions(4), "ALiBi": d2l.LinearBiases(2)}
    options = {"relative": positions[relative], "num_kv_heads": 1}
    attention = d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0, **options)
    X = torch.randn(2, 5, 8)
    expected = attention(X, X, X)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        k, v = attention.project(X, X)
        inside = attention.attend(X, k, v)
    assert {x.dtype for x in (k, v, inside)} == {torch.bfloat16}
    close(inside.float(), expected, atol=3e-2)
    outside = attention.attend(X, k, v)
    assert outside.dtype == torch.float32
    close(outside, expected, atol=3e-2)


@pytest.mark.parametrize("relative", [lambda: d2l.RotaryPositions(4), lambda: d2l.LinearBiases(2)])
def test_layers_of_two_precisions_may_share_positions(relative):
    shared = relative()
    single = d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0, relative=shared)
    X = torch.randn(2, 5, 8)
    expected = single(X, X, X)
    d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0, relative=shared).double()
    close(single(X, X, X), expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    "relative",
    [
        d2l.RotaryPositions(4),
        pytest.param(d2l.LinearBiases(2), marks=pytest.mark.weekly),
    ],
    ids=["rotary", "biases"],
)
@pytest.mark.usefixtures("compiler")
def test_it_compiles_in_one_graph(relative):
    torch.compiler.reset()
    options = {"relative": relative, "window": 2, "num_first": 1, "num_kv_heads": 1}
    block = d2l.DecoderBlock(8, 16, 2, **options, cross_attention=False)
    step = torch.compile(block, backend="aot_eager", fullgraph=True)
    state = block.init_state()
    for X in torch.randn(2, 1, 3, 8).unbind():
        expected, after = block(X, state)
        weights = block.attention1.attention_weights
        found, state = step(X, state)
        close(found, expected, atol=1e-5)
        close(block.attention1.attention_weights, weights, atol=1e-5)
        close(state.past[0], after.past[0], atol=1e-5)


# Stacks ------------------------------------------------------------------------------------------


def test_stacks_add_nothing_when_scores_hear_positions():
    sizes = 9, 8, 16, 2, 2
    for kind in (d2l.TransformerEncoder, d2l.TransformerDecoder):
        rotary = d2l.RotaryPositions(4)
        stack = kind(*sizes, 0.25, relative=rotary)
        assert isinstance(stack.pos_encoding, d2l.NoPositionalEncoding)
        assert stack.pos_encoding.dropout.p == 0.25
        own = [getattr(b, "attention1", None) or b.attention for b in stack.blks]
        assert all(attention.relative is rotary for attention in own)
        given_one = d2l.PositionalEncoding(8, 0)
        assert kind(*sizes, relative=rotary, pos_encoding=given_one).pos_encoding is given_one
        assert isinstance(kind(*sizes).pos_encoding, d2l.PositionalEncoding)


def test_the_source_is_another_sequence():
    """Of the options, attention to it has shared heads alone."""
    options = {"relative": d2l.RotaryPositions(4), "window": 2, "num_first": 1, "num_kv_heads": 1}
    block = d2l.DecoderBlock(8, 16, 2, **options)
    own, other = block.attention1, block.attention2
    assert (own.window, own.num_first, own.num_kv_heads) == (2, 1, 1)
    assert own.relative is options["relative"]
    assert (other.relative, other.window, other.num_first, other.num_kv_heads) == (None, None, 0, 1)
    state = block.init_state(torch.ones(1, 5, 8))
    assert state.source[0].shape == (1, 1, 5, 4)  # half of what two heads would keep
    _, state = block(torch.ones(1, 3, 8), state)
    assert state.past[1].shape == (1, 1, 2, 4)  # of three steps, the first and the last


@DRAWN
@given(st.sampled_from(["rotary", "ALiBi"]), st.integers(1, 30), SEEDS)
def test_where_a_text_begins_makes_no_difference(kind, start, seed):
    """A random start would change nothing: only distances are heard."""
    torch.manual_seed(seed)
    relative = d2l.RotaryPositions(4) if kind == "rotary" else d2l.LinearBiases(2)
    decoder = d2l.TransformerDecoder(9, 8, 16, 2, 2, relative=relative, cross_attention=False)
    X, state = torch.randint(9, (2, 6)), decoder.init_state()
    moved, _ = decoder(X, state._replace(position=start))
    close(moved, decoder(X, state)[0])
    attention = decoder.blks[0].attention1
    Z = torch.randn(1, 4, 8)
    keys = torch.cat([torch.zeros(1, start, 8), Z], dim=1)
    mask = (torch.arange(start + 4) >= start)[None, None, None]
    later = attention.attend(Z, *attention.project(keys, keys), mask, start)
    close(later, attention.attend(Z, *attention.project(Z, Z)), atol=2e-6)


@DRAWN
@given(
    st.sampled_from(["none", "rotary", "ALiBi"]),
    st.integers(1, 5),
    st.integers(0, 3),
    st.lists(st.integers(1, 4), min_size=1, max_size=6),
    SEEDS,
)
def test_a_cache_forgets_what_the_window_hides(kind, window, num_first, passes, seed):
    """However a text is cut into passes, nothing differs but what is kept."""
    torch.manual_seed(seed)
    relative = {
        "none": lambda: None,
        "rotary": lambda: d2l.RotaryPositions(4),
        "ALiBi": lambda: d2l.LinearBiases(4),
    }[kind]()
    options = {"relative": relative, "window": window, "num_first": num_first, "num_kv_heads": 2}
    decoder = d2l.TransformerDecoder(9, 16, 16, 4, 2, cross_attention=False, **options)
    X, state, done = torch.randint(9, (2, sum(passes))), decoder.init_state(), 0
    at_once, _ = decoder(X, state)  # with the mask alone
    weights = decoder.self_attention_weights
    for steps in passes:
        found, state = decoder(X[:, done : done + steps], state)
        close(found, at_once[:, done : done + steps], atol=5e-6)
        hidden = done - min(done, num_first + window - 1)  # of the places before this pass
        seen = [j for j in range(done + steps) if not num_first <= j < num_first + hidden]
        close(
            decoder.self_attention_weights,
            weights[..., done : done + steps, :][..., seen],
            atol=5e-6,
        )
        done += steps
        kept = min(done, num_first + window - 1)
        for block in state.blocks:
            assert block.past[0].shape == block.past[1].shape == (2, 2, kept, 4)
            assert block.past[0].untyped_storage().nbytes() == block.past[0].nbytes or kept == done
            assert block.gap == done - kept
    assert state.position == done


@pytest.mark.parametrize("beam_size", [None, 3])
def test_what_is_written_is_what_an_untrimmed_cache_writes(monkeypatch, beam_size):
    encoder = d2l.TransformerEncoder(9, 8, 16, 2, 1)
    options = {"relative": d2l.RotaryPositions(4), "window": 3, "num_first": 1}
    model = d2l.EncoderDecoder(encoder, d2l.TransformerDecoder(9, 8, 16, 2, 2, **options))
    model.decoder.dense.bias.data[2] = -9.0  # nobody ends early
    source, lens = torch.randint(3, 9, (4, 5)), torch.tensor([5, 3, 4, 1])

    def written():
        if beam_size is None:
            return d2l.greedy_decode(model, source, lens, max_len=12)
        return d2l.beam_search(model, source, lens, max_len=12, beam_size=beam_size)

    trimmed = written()
    monkeypatch.setattr(d2l.MultiHeadAttention, "keep", lambda self, past: past)
    untrimmed = written()
    assert min(len(one.tokens) for one in trimmed) > 6
    for one, other in zip(trimmed, untrimmed, strict=True):
        assert one.tokens == other.tokens
        assert one.score == pytest.approx(other.score, abs=1e-4)


def test_without_a_window_nothing_is_forgotten():
    decoder = d2l.TransformerDecoder(9, 8, 16, 2, 1, cross_attention=False)
    _, state = decoder(torch.randint(9, (1, 7)), decoder.init_state())
    [block] = state.blocks
    assert block.past[0].shape == (1, 2, 7, 4)
    assert block.gap == 0
    past = torch.randn(1, 2, 7, 4)
    assert decoder.blks[0].attention1.keep(past) is past


@pytest.mark.parametrize("name", ["transformer", "four-heads"])
def test_what_is_shipped_still_loads(name):
    assert name in RECIPES
    model, source_vocab, _, _ = load_translator(name)
    source = torch.tensor([source_vocab.encode(["the", "cow", "sleeps", "."])])
    assert d2l.greedy_decode(model, source)[0].finished


def test_dropout_without_positions():
    encoding = d2l.NoPositionalEncoding(0.5)
    X = torch.ones(2, 30, 40)
    kept = (encoding(X) != 0).float().mean()
    assert 0.4 < kept < 0.6
    assert torch.equal(encoding.eval()(X, 7), X)
    assert torch.equal(encoding(X, start=3), X)


def test_lengths_of_values_of_shared_heads():
    attention = d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0, num_kv_heads=1)
    alone = d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0)
    with torch.no_grad():
        alone.W_v.weight.copy_(attention.W_v.weight.repeat(2, 1))
        alone.W_k.weight.copy_(attention.W_k.weight.repeat(2, 1))
        for name in ("W_q", "W_o"):
            getattr(alone, name).weight.copy_(getattr(attention, name).weight)
    X = torch.randn(2, 3, 4)
    close(d2l.value_lengths(attention, X), d2l.value_lengths(alone, X))
    close(attention(X, X, X), alone(X, X, X))
    close(d2l.head_contributions(attention, X), d2l.head_contributions(alone, X))


# Errors and signatures ---------------------------------------------------------------------------


def heads(**options):
    return d2l.MultiHeadAttention(8, 8, 8, 8, 4, 0, **options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_kv_heads": 3}, ValueError, "num_heads is 4; it needs to be a multiple of num_kv"),
        ({"num_kv_heads": 0}, ValueError, "num_kv_heads is 0; it needs to be 1 or more"),
        ({"num_kv_heads": 2.0}, TypeError, "num_kv_heads has type float; it needs an integer"),
        ({"window": 0}, ValueError, "window is 0; it needs to be 1 or more"),
        ({"window": 1.5}, TypeError, "window has type float; it needs an integer"),
        ({"num_first": 1}, ValueError, "num_first is 1; it needs to be 0 without a window"),
        ({"window": 2, "num_first": -1}, ValueError, "num_first is -1; it needs to be 0 or more"),
        ({"window": 2, "num_first": 1.0}, TypeError, "num_first has type float; it needs an int"),
        ({"relative": "rotary"}, TypeError, "relative has type str; it needs RotaryPositions or "),
        (
            {"relative": d2l.RotaryPositions(4)},
            ValueError,
            "the head_dim of relative is 4; it needs to be 2",
        ),
        (
            {"relative": d2l.LinearBiases(2)},
            ValueError,
            "the num_heads of relative is 2; it needs to be 4",
        ),
        (
            {"attention": d2l.AdditiveAttention(2, 2, 2, 0), "num_kv_heads": 2},
            TypeError,
            "attention has type AdditiveAttention; it needs to be a DotProductAttention beside",
        ),
        (
            {"attention": d2l.AdditiveAttention(2, 2, 2, 0), "relative": d2l.LinearBiases(4)},
            TypeError,
            "attention has type AdditiveAttention; it needs to be a DotProductAttention beside",
        ),
    ],
)
def test_what_cannot_be_is_refused(options, error, message):
    with pytest.raises(error, match="^" + re.escape(message)):
        heads(**options)


def test_positions_refuse_what_cannot_be():
    with pytest.raises(ValueError, match=r"^head_dim is 3; it needs to be even: entries turn in "):
        d2l.RotaryPositions(3)
    with pytest.raises(ValueError, match=r"^head_dim is 0; it needs to be 1 or more$"):
        d2l.RotaryPositions(0)
    with pytest.raises(ValueError, match=r"^max_len is 0; it needs to be 1 or more$"):
        d2l.RotaryPositions(2, max_len=0)
    with pytest.raises(ValueError, match=r"^base is 0; it needs to be above 0$"):
        d2l.RotaryPositions(2, base=0)
    with pytest.raises(ValueError, match=r"^base is nan; it needs to be above 0$"):
        d2l.sinusoids(2, 2, math.nan)
    with pytest.raises(TypeError, match=r"^base has type str; it needs a number$"):
        d2l.RotaryPositions(2, base="10")
    with pytest.raises(ValueError, match=r"^num_heads is 0; it needs to be 1 or more$"):
        d2l.LinearBiases(0)
    with pytest.raises(ValueError, match=r"^dropout is 2; it needs to be from 0 to 1$"):
        d2l.NoPositionalEncoding(2)


def test_signatures():
    for kind, names in (
        (d2l.RotaryPositions, ["head_dim", "base", "max_len"]),
        (d2l.LinearBiases, ["num_heads"]),
        (d2l.NoPositionalEncoding, ["dropout"]),
        (masks.window_mask, ["num_queries", "num_keys", "window", "num_first", "start", "device"]),
    ):
        assert list(inspect.signature(kind).parameters) == names
    assert heads().num_kv_heads == 4
    assert (heads().relative, heads().window, heads().num_first) == (None, None, 0)
    assert (
        heads(num_kv_heads=1).W_k.weight.shape == heads(num_kv_heads=1).W_v.weight.shape == (2, 8)
    )


def test_a_window_by_hand():
    seen = masks.window_mask(2, 5, window=2, num_first=1, start=3)
    assert seen.int().tolist() == [[1, 0, 1, 1, 1], [1, 0, 0, 1, 1]]
    assert masks.window_mask(2, 2, 1).int().tolist() == [[1, 0], [0, 1]]


def test_heads_that_share():
    X = torch.arange(4.0).reshape(1, 2, 2, 1)
    assert scoring.share_heads(X, 4)[0, :, :, 0].tolist() == [[0, 1], [0, 1], [2, 3], [2, 3]]
    assert isinstance(heads(), nn.Module)


def test_half_precision_turns_in_full_and_pairs_may_lie_anywhere():
    rotary, wide = d2l.RotaryPositions(8), torch.randn(1, 2, 5, 9)
    halves = wide[..., :8].bfloat16()
    assert torch.equal(rotary.turn(halves), rotary.turn(halves.float()).bfloat16())
    for X in (wide[..., 1:], wide.repeat_interleave(2, dim=-1)[..., 1:17:2]):
        assert torch.equal(
            rotary.turn(X), rotary.turn(X.clone(memory_format=torch.contiguous_format))
        )
