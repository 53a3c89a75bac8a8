"""States hidden or exchanged: one place changes, at one step, and nothing else does."""

import pytest
import torch

import d2lattn as d2l

SOURCE, OTHER = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[5, 6, 8, 2]])
TARGET = torch.tensor([[4, 3, 2]])
WORDS = d2l.shift_right(TARGET)


def gru(bidirectional=True):
    return d2l.EncoderDecoder(
        d2l.Seq2SeqEncoder(9, 3, 4, 2, dropout=0.5, bidirectional=bidirectional),
        d2l.Seq2SeqAttentionDecoder(7, 3, 4, 2, dropout=0.5, bridge=True),
    )


def transformer():
    sizes = 8, 16, 2, 2, 0.5
    return d2l.EncoderDecoder(d2l.TransformerEncoder(9, *sizes), d2l.TransformerDecoder(7, *sizes))


@pytest.fixture(params=[gru, lambda: gru(bidirectional=False), transformer])
def model(request):
    torch.manual_seed(1)
    return request.param()


def hide(model, source, other, target):
    return d2l.hide_each_state(model, source, target)


both_ways = pytest.mark.parametrize("change", [hide, d2l.exchange_each_state])


@both_ways
def test_first_row_is_the_unchanged_model(model, change):
    actual = change(model, SOURCE, OTHER, TARGET)
    rows = 6 if change is hide else 5  # nothing, each of four, and in hiding all
    assert actual.shape == (1, 3, rows, 7)
    assert not actual.requires_grad
    assert model.training
    logits, _ = model.eval()(SOURCE, WORDS)
    torch.testing.assert_close(actual[:, :, 0], logits.softmax(dim=-1))


@both_ways
def test_sentences_of_a_batch_do_not_affect_each_other(model, change):
    source, other = torch.cat((SOURCE, OTHER)), torch.tensor([[5, 6, 8, 2], [1, 6, 8, 2]])
    target = torch.tensor([[4, 3, 2], [6, 5, 2]])
    actual = change(model, source, other, target)
    for row in range(2):
        alone = change(model, source[[row]], other[[row]], target[[row]])
        torch.testing.assert_close(actual[[row]], alone)
    assert not torch.allclose(actual[0], actual[1])


@torch.no_grad()
def test_each_row_exchanges_one_state(model):
    (actual,) = d2l.exchange_each_state(model, SOURCE, OTHER, TARGET)
    model.eval()
    ours, theirs = model.encoder(SOURCE), model.encoder(OTHER)
    for place in range(4):
        if isinstance(ours, tuple):
            states, last = ours[0].clone(), ours[1]
            states[:, place] = theirs[0][:, place]
            mixed = states, last
        else:
            mixed = ours.clone()
            mixed[:, place] = theirs[:, place]
        for step in range(3):
            # The steps before on the sentence's own states, this one on the mixed ones.
            own, there = model.decoder.init_state(ours), model.decoder.init_state(mixed)
            if step:
                _, own = model.decoder(WORDS[:, :step], own)
                if isinstance(ours, tuple):
                    there = there._replace(hidden=own.hidden)
                else:
                    blocks = zip(there.blocks, own.blocks, strict=True)
                    kept = tuple(a._replace(past=b.past) for a, b in blocks)
                    there = own._replace(blocks=kept)
            logits, _ = model.decoder(WORDS[:, step : step + 1], there)
            torch.testing.assert_close(actual[step, 1 + place], logits[0, 0].softmax(dim=-1))


def without(state, place):
    """Cut one place of the source out of a state."""
    kept = [i for i in range(4) if i != place]
    if hasattr(state, "values"):
        keys = state.projected_keys[:, kept]
        return state._replace(values=state.values[:, kept], projected_keys=keys)
    blocks = [
        block._replace(source=tuple(each[:, :, kept] for each in block.source))
        for block in state.blocks
    ]
    return state._replace(blocks=tuple(blocks))


@torch.no_grad()
def test_hidden_state_is_cut_out_at_this_step_alone(model):
    (actual,) = d2l.hide_each_state(model, SOURCE, TARGET)
    model.eval()
    for place in range(4):
        state = model.decoder.init_state(model.encoder(SOURCE))
        for step, word in enumerate(WORDS.split(1, dim=1)):
            logits, _ = model.decoder(word, without(state, place))
            torch.testing.assert_close(actual[step, 1 + place], logits[0, 0].softmax(dim=-1))
            _, state = model.decoder(word, state)


def test_with_all_hidden_source_makes_no_difference():
    model = gru()
    model.decoder.bridge = False
    (first,) = d2l.hide_each_state(model, SOURCE, TARGET)
    (other,) = d2l.hide_each_state(model, torch.tensor([[1, 8, 3, 2]]), TARGET)
    torch.testing.assert_close(first[0, -1], other[0, -1])  # at the first step, from zeros
    assert not torch.allclose(first[0, 0], other[0, 0])


def test_wrong_arguments_raise():
    with pytest.raises(TypeError, match="source has type list; it needs a tensor of integers"):
        d2l.hide_each_state(None, [[1, 2]], TARGET)
    plain = d2l.EncoderDecoder(d2l.Seq2SeqEncoder(9, 3, 4, 1), d2l.Seq2SeqDecoder(7, 3, 4, 1))
    with pytest.raises(TypeError, match="AttentionState or a TransformerState"):
        d2l.hide_each_state(plain, SOURCE, TARGET)
    for change in (hide, d2l.exchange_each_state):
        for source, target, name in (
            (SOURCE[0], TARGET, "source"),
            (SOURCE, TARGET[0], "target"),
            (SOURCE, TARGET.repeat(2, 1), "target"),
        ):
            with pytest.raises(ValueError, match=name):
                change(gru(), source, OTHER, target)
    with pytest.raises(ValueError, match="other"):
        d2l.exchange_each_state(gru(), SOURCE, OTHER[:, :3], TARGET)
