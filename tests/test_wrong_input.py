"""What cannot be right is refused in words, in every module and decoder; what can be is taken."""

import math

import pytest
import torch

import d2lattn as d2l

TOKENS = torch.tensor([[3, 4], [5, 6]])
DROPPING = {
    "additive": lambda share: d2l.AdditiveAttention(2, 2, 2, share),
    "dot": d2l.DotProductAttention,
    "heads": lambda share: d2l.MultiHeadAttention(2, 2, 2, 2, 1, share),
    "waves": lambda share: d2l.PositionalEncoding(2, share),
    "learned": lambda share: d2l.LearnedPositionalEncoding(2, share),
    "add norm": lambda share: d2l.AddNorm(2, share),
    "encoder block": lambda share: d2l.EncoderBlock(2, 2, 1, share),
    "decoder block": lambda share: d2l.DecoderBlock(2, 2, 1, share),
    "encoder": lambda share: d2l.TransformerEncoder(9, 2, 2, 1, 1, share),
    "decoder": lambda share: d2l.TransformerDecoder(9, 2, 2, 1, 1, share),
    "GRU encoder": lambda share: d2l.Seq2SeqEncoder(9, 2, 2, 1, share),
    "GRU decoder": lambda share: d2l.Seq2SeqDecoder(9, 2, 2, 1, share),
    "Bahdanau": lambda share: d2l.Seq2SeqAttentionDecoder(9, 2, 2, 1, share),
}


@pytest.mark.parametrize("make", DROPPING.values(), ids=DROPPING)
def test_dropout_outside_0_to_1_raises(make):
    for share in (0, 0.5, 1.0):
        make(share)
    for share in (math.nan, -0.5, 1.5):
        with pytest.raises(ValueError, match=r"^dropout is .*; it needs to be from 0 to 1$"):
            make(share)
    with pytest.raises(TypeError, match=r"^dropout has type str; it needs a number$"):
        make("0.5")


def test_float_sizes_raise():
    for make in (
        lambda: d2l.MultiHeadAttention(4, 4, 4, 4, 2.0, 0),
        lambda: d2l.MultiHeadAttention(4, 4, 4, 4.0, 2, 0),
        lambda: d2l.PositionalEncoding(4, 0, 2.5),
        lambda: d2l.LearnedPositionalEncoding(4, 0, 2.5),
        lambda: d2l.TransformerEncoder(9, 4, 8, 2, 1.0),
        lambda: d2l.TransformerDecoder(9.0, 4, 8, 2, 1),
        lambda: d2l.PositionWiseFFN(4, 8.0, 4),
        lambda: d2l.Seq2SeqEncoder(9, 3, 4.0, 1),
        lambda: d2l.Seq2SeqDecoder(9.0, 3, 4, 1),
    ):
        with pytest.raises(TypeError, match=r"has type float; it needs an integer$"):
            make()


def test_sizes_below_one_raise():
    for make, name in (
        (lambda: d2l.LearnedPositionalEncoding(0, 0), "num_hiddens"),
        (lambda: d2l.RotaryPositions(0), "head_dim"),
        (lambda: d2l.TransformerEncoder(0, 2, 2, 1, 1), "vocab_size"),
        (lambda: d2l.TransformerDecoder(9, 2, 0, 1, 1), "ffn_num_hiddens"),
        (lambda: d2l.TransformerDecoder(9, 2, 2, 0, 1), "num_heads"),
        (lambda: d2l.TransformerEncoder(9, 2, 2, 1, 0), "num_layers"),
    ):
        with pytest.raises(ValueError, match=f"^{name} is 0; it needs to be 1 or more$"):
            make()


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


def test_integer_sublayer_output_raises():
    X = torch.ones(2, 2)
    with pytest.raises(TypeError, match=r"^Y has dtype torch\.int64"):
        d2l.AddNorm(2, 0)(X, X.long())


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


# Positions that are handed in ---------------------------------------------------------------------


def test_pos_encoding_can_be_passed():
    learned = d2l.LearnedPositionalEncoding(4, 0, 7)
    encoder = d2l.TransformerEncoder(9, 4, 8, 2, 1, pos_encoding=learned)
    decoder = d2l.TransformerDecoder(9, 4, 8, 2, 1, pos_encoding=learned)
    assert encoder.pos_encoding is decoder.pos_encoding is learned
    before = encoder(TOKENS)
    state = decoder.init_state(before)
    whole, _ = decoder(TOKENS, state)
    _, state = decoder(TOKENS[:, :1], state)
    step, _ = decoder(TOKENS[:, 1:], state)  # the position goes on
    torch.testing.assert_close(step, whole[:, 1:], rtol=0, atol=1e-5)
    whole.sum().backward()
    assert learned.P.grad[0, :2].abs().sum() > 0
    with torch.no_grad():
        learned.P[0, 1] += 1
    assert torch.equal(encoder(TOKENS)[:, :0], before[:, :0])
    assert not torch.allclose(encoder(TOKENS), before)
