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
    ):
        with pytest.raises(ValueError, match=f"^{name} is 0; it needs to be 1 or more$"):
            make()


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
