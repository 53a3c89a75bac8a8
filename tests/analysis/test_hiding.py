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


@pytest.fixture
def transformer():
    torch.manual_seed(1)
    sizes = 8, 16, 2, 2, 0.5
    return d2l.EncoderDecoder(d2l.TransformerEncoder(9, *sizes), d2l.TransformerDecoder(7, *sizes))


@pytest.fixture(params=["model", "transformer"])
def either(request):
    return request.getfixturevalue(request.param)


SOURCE, TARGET = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[4, 3, 2]])


def chances(model, state, word):
    logits, state = model.decoder(word, state)
    return logits[0, 0].softmax(dim=-1), state


def test_row_0_is_the_model_as_it_is(either):
    found = d2l.hide_each_state(either, SOURCE, TARGET)
    assert found.shape == (1, 3, 6, 7)
    assert not found.requires_grad
    logits, _ = either.eval()(SOURCE, d2l.shift_right(TARGET))
    torch.testing.assert_close(found[:, :, 0], logits.softmax(dim=-1))


def test_a_hidden_state_has_no_say_and_the_steps_before_saw_it(model):
    (found,) = d2l.hide_each_state(model, SOURCE, TARGET)
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


def test_a_transformer_s_hidden_state_has_no_say_in_any_layer(transformer):
    (found,) = d2l.hide_each_state(transformer, SOURCE, TARGET)
    transformer.eval()
    values = transformer.encoder(SOURCE)
    for place in range(4):
        kept = [i for i in range(4) if i != place]
        state = transformer.decoder.init_state(values)
        for step, word in enumerate(d2l.shift_right(TARGET).split(1, dim=1)):
            blocks = [
                block._replace(source=tuple(each[:, :, kept] for each in block.source))
                for block in state.blocks
            ]
            wanted, _ = chances(transformer, state._replace(blocks=tuple(blocks)), word)
            torch.testing.assert_close(found[step, 1 + place], wanted)
            _, state = chances(transformer, state, word)


def test_with_all_hidden_the_source_makes_no_difference(model):
    bare = d2l.EncoderDecoder(model.encoder, model.decoder)
    bare.decoder.bridge = False
    (first,) = d2l.hide_each_state(bare, SOURCE, TARGET)
    (other,) = d2l.hide_each_state(bare, torch.tensor([[1, 8, 3, 2]]), TARGET)
    torch.testing.assert_close(first[0, -1], other[0, -1])  # at the first step, from zeros
    assert not torch.allclose(first[0, 0], other[0, 0])


def test_wrong_arguments_are_named(model):
    with pytest.raises(TypeError, match="source has type list; it needs a tensor of integers"):
        d2l.hide_each_state(None, [[1, 2]], torch.ones(1, 2, dtype=torch.long))
    with pytest.raises(TypeError, match=r"target has dtype torch\.float32"):
        d2l.hide_each_state(None, torch.ones(1, 2, dtype=torch.long), torch.ones(1, 2))
    with pytest.raises(ValueError, match=r"source has shape \(4,\); it needs \(B, S\)"):
        d2l.hide_each_state(model, SOURCE[0], TARGET)
    with pytest.raises(ValueError, match=r"target has shape \(3,\)"):
        d2l.hide_each_state(model, SOURCE, TARGET[0])
    with pytest.raises(ValueError, match=r"target has .* where B is 2"):
        d2l.hide_each_state(model, SOURCE.repeat(2, 1), TARGET)
    plain = d2l.EncoderDecoder(d2l.Seq2SeqEncoder(9, 3, 4, 1), d2l.Seq2SeqDecoder(7, 3, 4, 1))
    with pytest.raises(TypeError, match="AttentionState or a TransformerState"):
        d2l.hide_each_state(plain, SOURCE, TARGET)
