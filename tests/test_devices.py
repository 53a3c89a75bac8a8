"""What a call makes by itself, it makes where its inputs or its parameters are.

Another default device stands for a second one: a tensor made there would not fit the others, and a
result made there would be nowhere.
"""

import pytest
import torch

import d2lattn as d2l
from d2lattn.masks import causal_mask, length_mask, window_mask

CPU = torch.device("cpu")
X, LENS = torch.randn(2, 4, 4), torch.tensor([1, 4])
TOKENS = torch.tensor([[3, 4, 5, 2], [6, 2, 0, 0]])
KEYS, VALUES = torch.rand(6), torch.rand(6)
GRU, STACK = (9, 3, 4, 1), (9, 4, 8, 2, 2)


def attending(attention):
    return lambda: (attention(X, X, X, LENS), attention.attention_weights)


def heads(**options):
    return attending(d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0, **options))


def transformer(**options):
    encoder, decoder = (
        kind(*STACK, **options) for kind in (d2l.TransformerEncoder, d2l.TransformerDecoder)
    )
    model = d2l.EncoderDecoder(encoder, decoder)

    def run():
        state = decoder.init_state(encoder(TOKENS, LENS), LENS)
        step, state = decoder(TOKENS[:, :1], state)
        steps, _ = decoder(TOKENS[:, 1:], state)
        scores, _ = model(TOKENS, TOKENS, LENS)
        return step, steps, scores, decoder.attention_weights, decoder.self_attention_weights

    return run


def searching(search, decoder, stack):
    encoder = d2l.Seq2SeqEncoder if stack is GRU else d2l.TransformerEncoder
    model = d2l.EncoderDecoder(encoder(*stack), decoder(*stack))
    return lambda: [
        (found.tokens, found.score, found.attention_weights)
        for found in search(model, TOKENS, LENS, max_len=4)
    ]


def biases():
    relative = d2l.LinearBiases(2)
    return lambda: relative.bias(2, 3, 1)


def regression():
    net = d2l.NWKernelRegression()
    return lambda: net(KEYS, d2l.leave_one_out(KEYS), d2l.leave_one_out(VALUES))


CASES = {  # each makes what it needs, and returns the call
    "length mask": lambda: lambda: length_mask(LENS, (2, 4)),
    "length mask of queries": lambda: lambda: length_mask(TOKENS.clamp(max=4), (2, 4, 4)),
    "causal mask": lambda: lambda: causal_mask(2, 3, CPU),
    "window mask": lambda: lambda: window_mask(2, 3, 1, device=CPU),
    "sequence mask": lambda: lambda: d2l.sequence_mask(X, LENS),
    "masked softmax": lambda: lambda: d2l.masked_softmax(X, LENS),
    "additive": lambda: attending(d2l.AdditiveAttention(4, 4, 4, 0)),
    "dot product": lambda: attending(d2l.DotProductAttention(0)),
    "heads": heads,
    "shared heads": lambda: heads(num_kv_heads=1, window=2, num_first=1),
    "rotary heads": lambda: heads(relative=d2l.RotaryPositions(2)),
    "biased heads": lambda: heads(relative=d2l.LinearBiases(2), window=2),
    "linear biases": biases,
    "GRU": lambda: searching(d2l.greedy_decode, d2l.Seq2SeqDecoder, GRU),
    "beam, GRU": lambda: searching(d2l.beam_search, d2l.Seq2SeqDecoder, GRU),
    "Bahdanau": lambda: searching(d2l.greedy_decode, d2l.Seq2SeqAttentionDecoder, GRU),
    "beam, Bahdanau": lambda: searching(d2l.beam_search, d2l.Seq2SeqAttentionDecoder, GRU),
    "Transformer": transformer,
    "Transformer, window": lambda: transformer(window=2, num_first=1),
    "Transformer, rotary": lambda: transformer(relative=d2l.RotaryPositions(2)),
    "Transformer, biased": lambda: transformer(relative=d2l.LinearBiases(2), window=2),
    "beam, Transformer": lambda: searching(d2l.beam_search, d2l.TransformerDecoder, STACK),
    "others": lambda: lambda: d2l.leave_one_out(KEYS),
    "one left out": lambda: lambda: d2l.leave_one_out_error(KEYS, VALUES, 0.3),
    "one left out, boxcar": lambda: lambda: d2l.leave_one_out_error(KEYS, VALUES, 1, d2l.boxcar),
    "regression": regression,
    "loss": lambda: lambda: d2l.masked_loss(X, TOKENS % 4, LENS),
    "shifted": lambda: lambda: d2l.shift_right(TOKENS),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_a_call_needs_is_made_where_its_inputs_are(case):
    run = case()
    expected = run()
    with torch.device("meta"):
        found = run()
    torch.testing.assert_close(found, expected, rtol=0, atol=0)  # and on the same device
