"""What cannot be right is refused in words, in every module and decoder; what can be is taken."""

import math
from functools import partial
from inspect import Parameter, signature

import pytest
import torch

import d2lattn as d2l

TOKENS = torch.tensor([[3, 4], [5, 6]])
GRU = {"vocab_size": 9, "embed_size": 2, "num_hiddens": 2, "num_layers": 1}
BLOCK = {"num_hiddens": 2, "ffn_num_hiddens": 2, "num_heads": 1}
STACK = {"vocab_size": 9, **BLOCK, "num_layers": 1}
POSITIONS = {"num_hiddens": 2, "max_len": 5}
SIZES = {
    d2l.DotProductAttention: {},
    d2l.AdditiveAttention: {"key_size": 2, "query_size": 2, "num_hiddens": 2},
    d2l.MultiHeadAttention: {
        **{"key_size": 2, "query_size": 2, "value_size": 2},
        **{"num_hiddens": 2, "num_heads": 1},
    },
    d2l.PositionalEncoding: POSITIONS,
    d2l.LearnedPositionalEncoding: POSITIONS,
    d2l.RotaryPositions: {"head_dim": 2, "max_len": 5},
    d2l.LinearBiases: {"num_heads": 2},
    d2l.AddNorm: {},
    d2l.PositionWiseFFN: {"ffn_num_input": 2, "ffn_num_hiddens": 2, "ffn_num_outputs": 2},
    d2l.EncoderBlock: BLOCK,
    d2l.DecoderBlock: BLOCK,
    d2l.TransformerEncoder: STACK,
    d2l.TransformerDecoder: STACK,
    d2l.Seq2SeqEncoder: GRU,
    d2l.Seq2SeqDecoder: GRU,
    d2l.Seq2SeqAttentionDecoder: GRU,
}
every_class = pytest.mark.parametrize("kind", SIZES, ids=lambda kind: kind.__name__)


def other_arguments(kind):
    """The arguments that are no sizes."""
    arguments = {"normalized_shape": 2, "dropout": 0.5}
    return {name: arguments[name] for name in arguments if name in signature(kind).parameters}


@every_class
def test_sizes_are_integers_from_1(kind):
    others = other_arguments(kind)
    kind(**SIZES[kind], **others)
    for name in SIZES[kind]:
        with pytest.raises(ValueError, match=f"^{name} is 0; it needs to be 1 or more$"):
            kind(**SIZES[kind] | {name: 0}, **others)
        with pytest.raises(TypeError, match=f"^{name} has type float; it needs an integer$"):
            kind(**SIZES[kind] | {name: 2.0}, **others)


@pytest.mark.parametrize(
    "kind", [kind for kind in SIZES if "dropout" in signature(kind).parameters]
)
def test_dropout_is_a_share(kind):
    arguments = SIZES[kind] | other_arguments(kind)
    assert signature(kind).parameters["dropout"].default in (0, Parameter.empty)
    for share in (0, 0.25, 1.0):
        parts = kind(**arguments | {"dropout": share}).modules()
        shares = {part.p for part in parts if isinstance(part, torch.nn.Dropout)}
        assert share in shares <= {share, 0}  # attention inside a block has none
    for share in (math.nan, -0.5, 1.5):
        with pytest.raises(ValueError, match=r"^dropout is .*; it needs to be from 0 to 1$"):
            kind(**arguments | {"dropout": share})


ROWS = torch.ones(2, 2, 4)


def block_with_source():
    """A decoder's block, as a function of the vectors of both sides."""
    block = d2l.DecoderBlock(4, 4, 2)
    return lambda X, enc_outputs: block(X, block.init_state(enc_outputs))


@pytest.mark.parametrize(
    ("run", "inputs"),
    [
        (d2l.DotProductAttention(0), {"queries": ROWS, "keys": ROWS, "values": ROWS}),
        (d2l.AdditiveAttention(4, 4, 4, 0), {"queries": ROWS, "keys": ROWS, "values": ROWS}),
        (d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0), {"queries": ROWS, "keys": ROWS, "values": ROWS}),
        (d2l.NWKernelRegression(), {"queries": ROWS[0, 0, :2], "keys": ROWS[0], "values": ROWS[0]}),
        (
            partial(d2l.nadaraya_watson, bandwidth=1.0),
            {"queries": ROWS[0, 0], "keys": ROWS[0, 0], "values": ROWS[0, 0]},
        ),
        (
            partial(d2l.leave_one_out_error, bandwidth=1.0),
            {"keys": ROWS[0, 0], "values": ROWS[0, 0]},
        ),
        (d2l.AddNorm(4, 0), {"X": ROWS, "Y": ROWS}),
        (d2l.PositionWiseFFN(4, 4, 4), {"X": ROWS}),
        (d2l.EncoderBlock(4, 4, 2), {"X": ROWS}),
        (block_with_source(), {"X": ROWS, "enc_outputs": ROWS}),
    ],
)
def test_inputs_are_floats_of_one_dtype(run, inputs):
    run(**inputs)
    for name, value in inputs.items():
        with pytest.raises(TypeError, match=f"^{name} has dtype torch.int64; it needs a tensor of"):
            run(**inputs | {name: value.long()})
        if len(inputs) > 1:
            with pytest.raises(TypeError, match=r"has dtype torch.float\d\d; it needs torch.float"):
                run(**inputs | {name: value.double()})


def test_vectors_have_the_width_of_the_module():
    for run, inputs in (
        (d2l.AddNorm(4, 0), {"X": ROWS, "Y": ROWS}),
        (d2l.PositionWiseFFN(4, 4, 4), {"X": ROWS}),
        (d2l.EncoderBlock(4, 4, 2), {"X": ROWS}),
        (block_with_source(), {"X": ROWS, "enc_outputs": ROWS}),
    ):
        for name, value in inputs.items():
            with pytest.raises(ValueError, match=f"^{name} has shape"):
                run(**inputs | {name: value[..., :3]})


@pytest.mark.parametrize("start", [0.5, True, -1])
def test_start_is_an_integer_from_0(start):
    X = torch.zeros(1, 3, 4)
    for options in ({"window": 2}, {"relative": d2l.LinearBiases(2)}, {}):
        attention = d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0, **options)
        with pytest.raises((TypeError, ValueError), match=r"^start .*; it needs"):
            attention(X, X, X, start=start)


def test_only_key_gets_all_weight_however_far_in_float16():
    attention = d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0, relative=d2l.LinearBiases(2)).half()
    X = torch.ones(1, 1, 4, dtype=torch.float16)
    assert torch.equal(attention(X, X, X, start=10**7), attention(X, X, X))


def decoders():
    gru, transformer = (9, 3, 4, 1), (9, 4, 8, 2, 2)
    encoder = d2l.Seq2SeqEncoder(*gru)
    return {
        "plain": (encoder, d2l.Seq2SeqDecoder(*gru)),
        "Bahdanau": (encoder, d2l.Seq2SeqAttentionDecoder(*gru)),
        "Transformer": (d2l.TransformerEncoder(*transformer), d2l.TransformerDecoder(*transformer)),
    }


@pytest.mark.parametrize("which", decoders())
def test_state_of_another_batch_raises(which):
    encoder, decoder = decoders()[which]
    state = decoder.init_state(encoder(TOKENS))
    for X in (TOKENS[:1], TOKENS.repeat(2, 1)):
        message = "^X has shape .*; it needs 2 sequences, as many as the state has$"
        with pytest.raises(ValueError, match=message):
            decoder(X, state)
    assert len(decoder(TOKENS, state)[0]) == 2
