"""What a decoder computes under teacher forcing: beside the formula, and with no trace left."""

from functools import partial
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from d2lattn.analysis.steps import attention_steps, teacher_forced_attention
from d2lattn.seq2seq import (
    EncoderDecoder,
    Seq2SeqAttentionDecoder,
    Seq2SeqDecoder,
    Seq2SeqEncoder,
)
from d2lattn.training import shift_right
from d2lattn.transformer import TransformerDecoder, TransformerEncoder

pytestmark = pytest.mark.usefixtures("one_thread")

VOCAB = 9
BATCH = SimpleNamespace(
    source=torch.tensor([[4, 5, 2]]),
    source_valid_lens=torch.tensor([3]),
    target=torch.tensor([[6, 2]]),
    target_valid_lens=torch.tensor([2]),
)


def build(decoder, seed):
    """A random model with weights large enough that its choices differ from each other."""
    torch.manual_seed(seed)
    model = EncoderDecoder(Seq2SeqEncoder(VOCAB, 4, 8, 1), decoder(VOCAB, 4, 8, 1))
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    return model


def test_decoder_without_attention_raises():
    model = build(Seq2SeqDecoder, 0)
    with pytest.raises(TypeError, match=r"^model.decoder has type Seq2SeqDecoder; it needs att"):
        teacher_forced_attention(model, BATCH)


def transformer():
    sizes = 8, 16, 2, 2
    return EncoderDecoder(TransformerEncoder(VOCAB, *sizes), TransformerDecoder(VOCAB, *sizes))


@pytest.mark.parametrize("model", [build(Seq2SeqAttentionDecoder, 2), transformer()])
@pytest.mark.parametrize("after_reading", [False, True])
def test_teacher_forced_attention_leaves_eos_out(model, after_reading):
    batch = SimpleNamespace(
        source=torch.randint(3, VOCAB, (2, 5)),
        source_valid_lens=torch.tensor([5, 3]),
        target=torch.tensor([[4, 5, 6, 2], [7, 2, 0, 0]]),
        target_valid_lens=torch.tensor([4, 2]),
    )
    first, second = teacher_forced_attention(model, batch, after_reading=after_reading)
    model.eval()(batch.source, shift_right(batch.target), batch.source_valid_lens)
    weights, start = model.decoder.attention_weights, int(after_reading)
    torch.testing.assert_close(first, weights[0, ..., start : start + 3, :4])
    torch.testing.assert_close(second, weights[1, ..., start : start + 1, :2])


@pytest.mark.parametrize("bridge", [True, False])
def test_attention_steps_equal_the_decoder(bridge):
    model = build(partial(Seq2SeqAttentionDecoder, bridge=bridge), 3)
    source, target = torch.tensor([[4, 5, 6, 2]]), torch.tensor([[7, 8, 2]])
    steps = attention_steps(model, source, target)
    decoder = model.eval().decoder
    outputs, hidden = model.encoder(source)
    logits, last = model(source, shift_right(target))
    close = torch.testing.assert_close
    close(steps.values, outputs[0])
    close(steps.weights, decoder.attention_weights[0])
    close(steps.probabilities, logits[0].softmax(dim=-1))
    close(steps.states[-1], last.hidden[-1, 0])
    close(steps.states[0], hidden[-1, 0] if bridge else torch.zeros(8))
    close(steps.scores.softmax(dim=-1), steps.weights)
    # By the formula, with step t' asking by the state before it.
    layers = decoder.attention
    for queried, scores in zip(steps.states, steps.scores, strict=False):
        features = torch.tanh(layers.W_q(queried) + layers.W_k(outputs[0]))
        close(features @ layers.w_v.weight[0], scores)
    close(steps.contexts, torch.einsum("ts,sd->td", steps.weights, outputs[0]))
    close(steps.embeddings, decoder.embedding(torch.tensor([1, 7, 8])))
    # Context and last word, joined, carry the GRU from each state to the next.
    joined = torch.cat((steps.contexts, steps.embeddings), dim=1)[:, None]
    _, reached = decoder.rnn(joined, steps.states[None, :-1].contiguous())
    close(reached[0], steps.states[1:])
    assert not any(tensor.requires_grad for tensor in steps)
