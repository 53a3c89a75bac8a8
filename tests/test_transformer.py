"""The Transformer: against PyTorch's own, step by step against at once, and by our rules."""

import copy
import math
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import d2lattn as d2l
from benchmarks.pytorch_layers import (
    compare_gradients,
    load,
    stack_as_pytorchs,
)

pytestmark = pytest.mark.usefixtures("one_thread", "seeded")

DRAWN = settings(deadline=None, max_examples=20, derandomize=True)
SOURCE_VOCAB, TARGET_VOCAB, WIDTH = 11, 13, 8
LENS = torch.tensor([5, 2, 3])  # of three sources of five tokens
ORDERS = pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])
FLOATS = pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])


def shake(model):
    """Move all parameters away from zeros and ones, at which a bias or a norm hides."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


RELATIVE = {
    None: lambda num_heads: None,
    "rotary": lambda num_heads: d2l.RotaryPositions(WIDTH // num_heads),
    "ALiBi": d2l.LinearBiases,
}


def build(num_layers=2, num_heads=2, seed=0, dropout=0, relative=None, window=None, **options):
    torch.manual_seed(seed)
    options["relative"] = RELATIVE[relative](num_heads)
    if window is not None:
        options["window"], options["num_first"] = window
    sizes = WIDTH, 6, num_heads, num_layers, dropout
    encoder = d2l.TransformerEncoder(SOURCE_VOCAB, *sizes, **options)
    decoder = d2l.TransformerDecoder(TARGET_VOCAB, *sizes, **options)
    return shake(d2l.EncoderDecoder(encoder, decoder))


def language_model(**options):
    torch.manual_seed(0)
    sizes = TARGET_VOCAB, WIDTH, 6, 2, 2
    return shake(d2l.TransformerDecoder(*sizes, cross_attention=False, **options))


def tokens(*shape, high=TARGET_VOCAB, seed=0):
    return torch.randint(3, high, shape, generator=torch.Generator().manual_seed(seed))


def sources(batch_size=3, length=5, seed=1):
    return tokens(batch_size, length, high=SOURCE_VOCAB, seed=seed)


def close(actual, expected, atol=1e-5):
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


def hidden(lens, num_keys):
    """The same lengths as PyTorch wants them: true is hidden."""
    return None if lens is None else torch.arange(num_keys) >= lens.unsqueeze(-1)


def gradient(parameter):
    return parameter.grad


# Parity ------------------------------------------------------------------------------------------


def pytorch_stacks(model, num_layers, num_heads, norm_first):
    """PyTorch's stacks with our weights; they begin behind the embedding, end before the scores."""
    sizes = {"d_model": WIDTH, "nhead": num_heads, "dim_feedforward": 6, "dropout": 0}
    options = {"batch_first": True, "norm_first": norm_first}
    last = nn.LayerNorm(WIDTH) if norm_first else None
    layer = nn.TransformerEncoderLayer(**sizes, **options)
    encoder = nn.TransformerEncoder(layer, num_layers, last, enable_nested_tensor=False)
    layer = nn.TransformerDecoderLayer(**sizes, **options)
    decoder = nn.TransformerDecoder(layer, num_layers, last)
    twins = copy.deepcopy(encoder).double(), copy.deepcopy(decoder).double()
    for twin, ours in zip(twins, (model.encoder, model.decoder), strict=True):
        load(twin, stack_as_pytorchs(ours, Tensor.detach))
    return twins


def embedded(stack, X):
    """Tokens as section 3.4 and 3.5 of the paper say: sqrt(D) times a row, plus the waves."""
    vectors = stack.embedding.weight[X] * math.sqrt(WIDTH)
    return vectors + d2l.sinusoids(X.shape[1], WIDTH).to(vectors)


@DRAWN
@given(
    st.fixed_dictionaries(
        {
            "num_layers": st.integers(1, 2),
            "num_heads": st.sampled_from([1, 2, 4]),
            "norm_first": st.booleans(),
        }
    ),
    st.booleans(),
    st.one_of(st.none(), st.lists(st.integers(1, 5), min_size=3, max_size=3)),
    st.integers(1, 4),
    st.integers(0, 2**16),
)
def test_stacks_equal_pytorchs_with_gradients(options, bias, lens, length, seed):
    """In double precision, where another formula could not hide in the rounding.

    Lengths are from 1: of a row that sees nothing, PyTorch makes NaN.
    """
    model = build(**options, bias=bias, seed=seed).double()
    encoder, decoder = pytorch_stacks(model, **options)
    source, target = sources(), tokens(3, length)
    lens = None if lens is None else torch.tensor(lens)
    hides = hidden(lens, 5)
    causal = nn.Transformer.generate_square_subsequent_mask(length, dtype=torch.float64)
    other = copy.deepcopy(model)  # its embeddings and its last layer serve the twins

    memory = encoder(embedded(other.encoder, source), src_key_padding_mask=hides)
    encoded = model.encoder(source, lens)
    seen = slice(None) if lens is None else ~hides
    close(encoded[seen], memory[seen], atol=1e-9)

    expected = other.decoder.dense(
        decoder(embedded(other.decoder, target), memory, causal, memory_key_padding_mask=hides)
    )
    logits, _ = model(source, target, lens)
    close(logits, expected, atol=1e-9)

    upstream = torch.randn_like(logits)
    logits.backward(upstream)
    expected.backward(upstream)
    for twin, ours, theirs in (
        (encoder, model.encoder, other.encoder),
        (decoder, model.decoder, other.decoder),
    ):
        compare_gradients(twin, stack_as_pytorchs(ours, gradient), rtol=1e-9, atol=1e-9)
        close(ours.embedding.weight.grad, theirs.embedding.weight.grad, atol=1e-9)
    close(model.decoder.dense.weight.grad, other.decoder.dense.weight.grad, atol=1e-9)


# Step by step ------------------------------------------------------------------------------------


models = st.fixed_dictionaries(
    {
        "num_layers": st.integers(1, 3),
        "num_heads": st.sampled_from([1, 2, 4]),
        "norm_first": st.booleans(),
        "bias": st.booleans(),
        "seed": st.integers(0, 2**16),
        "relative": st.sampled_from([None, "rotary", "ALiBi"]),
        "num_kv_heads": st.sampled_from([None, 1]),
        "window": st.sampled_from([None, None, (1, 1), (2, 0), (3, 1)]),  # and the first ones
    }
)


@DRAWN
@given(models, st.lists(st.integers(0, 5), min_size=1, max_size=4), st.integers(1, 8), st.data())
def test_decoding_in_chunks_equals_one_pass(options, lens, length, data):
    """However a text is cut, nothing differs but the steps that are kept: those still in sight."""
    model, lens = build(**options).eval(), torch.tensor(lens)
    source, target = sources(len(lens)), tokens(len(lens), length)
    whole, last = model(source, target, lens)
    weights, own_weights = model.decoder.attention_weights, model.decoder.self_attention_weights
    state, done = model.decoder.init_state(model.encoder(source, lens), lens), 0
    window, num_first = options["window"] or (length, 0)
    while done < length:
        gap = state.blocks[0].gap  # what is behind the window by then has gone
        rows = slice(done, data.draw(st.integers(done + 1, length)))
        logits, state = model.decoder(target[:, rows], state)
        close(logits, whole[:, rows])
        close(model.decoder.attention_weights, weights[..., rows, :])
        kept = [j for j in range(rows.stop) if not num_first <= j < num_first + gap]
        close(model.decoder.self_attention_weights, own_weights[..., rows, kept])
        done = state.position
        assert done == rows.stop
        in_sight = min(done, num_first + window - 1) if options["window"] else done
        for block in state.blocks:
            assert block.past[0].shape[2] == block.past[1].shape[2] == in_sight == done - block.gap
            assert block.past[0].untyped_storage().nbytes() == block.past[0].nbytes or not block.gap
    for kept, at_once in zip(state.blocks, last.blocks, strict=True):
        for actual, expected in zip(kept.past, at_once.past, strict=True):
            close(actual, expected)


@DRAWN
@given(models, st.lists(st.integers(0, 2), min_size=1, max_size=5), st.integers(1, 4), st.data())
def test_selected_state_continues_selected_rows(options, rows, steps, data):
    """Rows of a state may be repeated, permuted and left out, between any two steps."""
    model, rows = build(**options).eval(), torch.tensor(rows)
    lens = data.draw(st.sampled_from([None, LENS]))
    source, start, rest = sources(), tokens(3, steps), tokens(len(rows), 2, seed=2)
    state = model.decoder.init_state(model.encoder(source, lens), lens)
    _, state = model.decoder(start, state)
    chosen = model.decoder.select_state(state, rows)
    logits, chosen = model.decoder(rest, chosen)
    together = torch.cat((start[rows], rest), dim=1)
    whole, _ = model(source[rows], together, None if lens is None else lens[rows])
    close(logits, whole[:, steps:])
    assert chosen.position == steps + 2


def tensors_of(state):
    """All that a decoder's state keeps."""
    for block in state.blocks:
        yield from (*block.past, *(block.source or ()))
        if block.source_mask is not None:
            yield block.source_mask


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("steps", [0, 1])  # after one step there is room for more
def test_forward_leaves_its_state_unchanged(mode, steps):
    """Whatever goes on from a state leaves it as it is, so that another can go on from it."""
    model = build().eval()
    with mode():
        _, state = model(sources(), tokens(3, 2), LENS)
        for _ in range(steps):
            _, state = model.decoder(tokens(3, 1, seed=4), state)
        before = [kept.clone() for kept in tensors_of(state)]
        one, after_one = model.decoder(tokens(3, 2, seed=5), state)
        kept = [kept.clone() for kept in tensors_of(after_one)]
        other, after_other = model.decoder(tokens(3, 1, seed=6), state)
        model.decoder(tokens(3, 1, seed=7), after_other)
        assert all(map(torch.equal, tensors_of(after_one), kept))
        again, _ = model.decoder(tokens(3, 2, seed=5), state)
        assert torch.equal(one, again)
        assert not torch.allclose(one[:, :1], other)
        assert all(map(torch.equal, tensors_of(state), before))
        assert state.position == 2 + steps


@pytest.mark.skipif(not hasattr(torch.compiler, "set_stance"), reason="PyTorch below 2.6")
def test_step_can_be_exported():
    decoder = language_model().eval()
    with torch.no_grad():
        _, state = decoder(tokens(2, 3), decoder.init_state())
        _, state = decoder(tokens(2, 1), state)
        expected, _ = decoder(tokens(2, 1, seed=2), state)
        program = torch.export.export(decoder, (tokens(2, 1, seed=2), state))
        actual, _ = program.module()(tokens(2, 1, seed=2), state)
    close(actual, expected)


# Who sees what -----------------------------------------------------------------------------------


@DRAWN
@given(models, st.lists(st.integers(0, 5), min_size=1, max_size=4), st.integers(0, 4), st.data())
def test_padding_changes_no_valid_output(options, lens, extra, data):
    """Neither how much of it there is, nor what stands in it, nor the rest of the batch."""
    model, lens = build(**options).eval(), torch.tensor(lens)
    source, target = sources(len(lens)), tokens(len(lens), 3)
    encoded, (logits, _) = model.encoder(source, lens), model(source, target, lens)
    junk = data.draw(st.integers(0, SOURCE_VOCAB - 1))
    padded = torch.full((len(lens), 5 + extra), junk)
    padded[:, :5] = torch.where(hidden(lens, 5), junk, source)
    close(model.encoder(padded, lens)[:, :5][~hidden(lens, 5)], encoded[~hidden(lens, 5)])
    close(model(padded, target, lens)[0], logits)
    for row, length in enumerate(lens.tolist()):
        if length:
            alone = source[row : row + 1, :length]
            close(model(alone, target[row : row + 1])[0][0], logits[row])


# The pieces --------------------------------------------------------------------------------------


@ORDERS
def test_add_norm_drops_sublayer_output_in_training(norm_first):
    add_norm = d2l.AddNorm(50, 0.3, norm_first=norm_first)
    X, Y = torch.randn(2, 50), torch.randn(2, 50)
    torch.manual_seed(1)
    dropped = nn.functional.dropout(Y, 0.3)
    for mode, added in ((add_norm.train, dropped), (add_norm.eval, Y)):
        mode()
        torch.manual_seed(1)
        close(add_norm(X, Y), X + added if norm_first else add_norm.ln(X + added))


# Encoder alone, decoder alone --------------------------------------------------------------------


def test_decoder_without_source_equals_causal_encoder():
    decoder = language_model()
    encoder = d2l.TransformerEncoder(TARGET_VOCAB, WIDTH, 6, 2, 2)
    names = {"attention1": "attention", "addnorm3": "addnorm2"}
    weights = {
        re.sub("attention1|addnorm3", lambda actual: names[actual[0]], name): value
        for name, value in decoder.state_dict().items()
        if not name.startswith("dense.")
    }
    encoder.load_state_dict(weights)  # all of them: there is no attention to a source
    target = tokens(2, 5)
    logits, state = decoder(target, decoder.init_state())
    causal = torch.arange(1, 6).expand(2, 5)
    close(logits, decoder.dense(encoder(target, causal)))
    close(decoder.self_attention_weights, encoder.attention_weights)
    assert [block.source for block in state.blocks] == [None, None]


def test_decoder_alone_has_no_weights_over_a_source():
    alone = language_model()
    alone(tokens(1, 2), alone.init_state())
    assert not hasattr(alone, "attention_weights")
    assert hasattr(alone, "self_attention_weights")


@pytest.mark.parametrize(
    ("mask", "error"),
    [
        (torch.ones(2, 1, 1, 2), TypeError),
        (torch.ones(2, 2, 2, dtype=torch.bool), ValueError),
        (torch.ones(2, 3, 2, 2, dtype=torch.bool), ValueError),
    ],
)
def test_block_rejects_ambiguous_masks(mask, error):
    block, X = d2l.EncoderBlock(WIDTH, 6, 2), torch.randn(2, 2, WIDTH)
    with pytest.raises(error, match=r"^mask has"):
        block(X, mask=mask)
    lens = torch.tensor([1, 2])
    close(block(X, mask=~hidden(lens, 2)[:, None, None]), block(X, lens))


@FLOATS
def test_fully_masked_rows_give_finite_outputs_and_gradients(dtype):
    model, lens = build(bias=True).to(dtype), torch.tensor([5, 0, 3])
    logits, _ = model(sources(), tokens(3, 4), lens)
    assert logits.dtype == model.decoder.attention_weights.dtype == dtype
    logits.float().square().mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.isfinite().all(), name
    assert model.decoder.attention_weights[1].count_nonzero() == 0
    assert model.encoder.attention_weights[1].count_nonzero() == 0
    alone = language_model(bias=True).to(dtype)
    assert alone(tokens(1, 4), alone.init_state())[0].isfinite().all()


# Errors ------------------------------------------------------------------------------------------


def test_wrong_tokens_raise():
    encoder = d2l.TransformerEncoder(11, WIDTH, 6, 2, 1, max_len=8)
    decoder = d2l.TransformerDecoder(11, WIDTH, 6, 2, 1, cross_attention=False, max_len=8)
    for X, message in (
        (tokens(1, 2) + 11, r"X\[0, 0\] is \d+; it needs to be from 0 to 10"),
        (tokens(1, 9, high=11), "max_len is 8; it needs to be 9 or more: X has 9 .*"),
    ):
        with pytest.raises(ValueError, match=f"^{message}$"):
            encoder(X)
        with pytest.raises(ValueError, match=f"^{message}$"):
            decoder(X, decoder.init_state())


def test_state_of_another_decoder_raises():
    with_source, alone = build().decoder, language_model()
    state = with_source.init_state(torch.ones(2, 5, WIDTH))
    message = (
        "^state.source has type {}; it needs keys and values as init_state gives them, or None"
    )
    with pytest.raises(TypeError, match=message.format("NoneType")):
        with_source(tokens(2, 1), alone.init_state())
    with pytest.raises(TypeError, match=message.format("tuple")):
        alone(tokens(2, 1), state)
    taller = build(num_layers=3).decoder
    with pytest.raises(ValueError, match=r"^the number of block states is 2; it needs to be 3"):
        taller(tokens(2, 1), state)
