"""Hiding states from attention: what is hidden has no say, and nothing else changes."""

import pytest
import torch

import d2lattn as d2l


@pytest.fixture
def model():
    torch.manual_seed(1)
    return d2l.EncoderDecoder(
        d2l.Seq2SeqEncoder(9, 3, 4, 2, dropout=0.5, bidirectional=True),
        d2l.Seq2SeqAttentionDecoder(7, 3, 4, 2, dropout=0.5),
    )


SOURCE, TARGET = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[4, 3, 2]])


def chances(model, state, word):
    logits, state = model.decoder(word, state)
    return logits[0, 0].softmax(dim=-1), state


def test_row_0_is_the_model_as_it_is(model):
    found = d2l.hide_each_state(model, SOURCE, TARGET)
    assert found.shape == (3, 6, 7)
    logits, _ = model.eval()(SOURCE, d2l.shift_right(TARGET))
    torch.testing.assert_close(found[:, 0], logits[0].softmax(dim=-1))


def test_a_hidden_state_has_no_say_and_the_steps_before_saw_it(model):
    found = d2l.hide_each_state(model, SOURCE, TARGET)
    model.eval()
    values, last = model.encoder(SOURCE)
    for place in range(4):
        kept = [i for i in range(4) if i != place]
        state = model.decoder.init_state((values, last))
        for step, word in enumerate(d2l.shift_right(TARGET).split(1, dim=1)):
            # Cut out of the sentence at this step, and at no step before.
            shorter = state._replace(
                values=state.values[:, kept], projected_keys=state.projected_keys[:, kept]
            )
            wanted, _ = chances(model, shorter, word)
            torch.testing.assert_close(found[step, 1 + place], wanted)
            _, state = chances(model, state, word)


def test_with_all_hidden_the_source_makes_no_difference(model):
    bare = d2l.EncoderDecoder(model.encoder, model.decoder)
    bare.decoder.bridge = False
    first = d2l.hide_each_state(bare, SOURCE, TARGET)
    other = d2l.hide_each_state(bare, torch.tensor([[1, 8, 3, 2]]), TARGET)
    torch.testing.assert_close(first[0, -1], other[0, -1])  # at the first step, from zeros
    assert not torch.allclose(first[0, 0], other[0, 0])


def test_the_mode_of_the_model_comes_back(model):
    model.train()
    model.encoder.eval()
    d2l.hide_each_state(model, SOURCE, TARGET)
    assert model.training
    assert model.decoder.training
    assert not model.encoder.training


def test_wrong_arguments_are_named(model):
    two = SOURCE.repeat(2, 1)
    with pytest.raises(ValueError, match="source"):
        d2l.hide_each_state(model, two, TARGET)
    with pytest.raises(ValueError, match="target"):
        d2l.hide_each_state(model, SOURCE, TARGET[0])
    plain = d2l.EncoderDecoder(d2l.Seq2SeqEncoder(9, 3, 4, 1), d2l.Seq2SeqDecoder(7, 3, 4, 1))
    with pytest.raises(TypeError, match="AttentionState"):
        d2l.hide_each_state(plain, SOURCE, TARGET)
