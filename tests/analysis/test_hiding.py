"""Hiding states from attention: a hidden state has no effect, and nothing else changes."""

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


def test_first_row_is_the_unchanged_model(either):
    actual = d2l.hide_each_state(either, SOURCE, TARGET)
    assert actual.shape == (1, 3, 6, 7)
    assert not actual.requires_grad
    logits, _ = either.eval()(SOURCE, d2l.shift_right(TARGET))
    torch.testing.assert_close(actual[:, :, 0], logits.softmax(dim=-1))


def test_hidden_state_is_cut_out_at_this_step_alone(model):
    (actual,) = d2l.hide_each_state(model, SOURCE, TARGET)
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
            expected, _ = chances(model, shorter, word)
            torch.testing.assert_close(actual[step, 1 + place], expected)
            _, state = chances(model, state, word)


def test_transformer_hides_state_in_every_layer(transformer):
    (actual,) = d2l.hide_each_state(transformer, SOURCE, TARGET)
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
            expected, _ = chances(transformer, state._replace(blocks=tuple(blocks)), word)
            torch.testing.assert_close(actual[step, 1 + place], expected)
            _, state = chances(transformer, state, word)


def test_sentences_of_a_batch_do_not_affect_each_other(either):
    source, target = torch.cat((SOURCE, SOURCE.flip(1))), torch.cat((TARGET, TARGET.flip(1)))
    together = d2l.hide_each_state(either, source, target)
    for row in range(2):
        alone = d2l.hide_each_state(either, source[[row]], target[[row]])
        torch.testing.assert_close(together[[row]], alone)


def test_with_all_hidden_source_makes_no_difference(model):
    bare = d2l.EncoderDecoder(model.encoder, model.decoder)
    bare.decoder.bridge = False
    (first,) = d2l.hide_each_state(bare, SOURCE, TARGET)
    (other,) = d2l.hide_each_state(bare, torch.tensor([[1, 8, 3, 2]]), TARGET)
    torch.testing.assert_close(first[0, -1], other[0, -1])  # at the first step, from zeros
    assert not torch.allclose(first[0, 0], other[0, 0])


def test_wrong_arguments_raise(model):
    with pytest.raises(TypeError, match="source has type list; it needs a tensor of integers"):
        d2l.hide_each_state(None, [[1, 2]], TARGET)
    for source, target in ((SOURCE[0], TARGET), (SOURCE, TARGET[0]), (SOURCE.repeat(2, 1), TARGET)):
        with pytest.raises(ValueError, match="has shape"):
            d2l.hide_each_state(model, source, target)
    plain = d2l.EncoderDecoder(d2l.Seq2SeqEncoder(9, 3, 4, 1), d2l.Seq2SeqDecoder(7, 3, 4, 1))
    with pytest.raises(TypeError, match="AttentionState or a TransformerState"):
        d2l.hide_each_state(plain, SOURCE, TARGET)
