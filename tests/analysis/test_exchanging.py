"""Exchanging states: one place comes from the other sentence, and nothing else does."""

import pytest
import torch

import d2lattn as d2l

SOURCE, OTHER = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[5, 6, 8, 2]])
TARGET = torch.tensor([[4, 3, 2]])


def gru(bidirectional):
    torch.manual_seed(1)
    return d2l.EncoderDecoder(
        d2l.Seq2SeqEncoder(9, 3, 4, 2, dropout=0.5, bidirectional=bidirectional),
        d2l.Seq2SeqAttentionDecoder(7, 3, 4, 2, dropout=0.5, bridge=True),
    )


def transformer():
    torch.manual_seed(1)
    sizes = 8, 16, 2, 2, 0.5
    return d2l.EncoderDecoder(d2l.TransformerEncoder(9, *sizes), d2l.TransformerDecoder(7, *sizes))


@pytest.fixture(params=["forwards", "both ways", "transformer"])
def model(request):
    if request.param == "transformer":
        return transformer()
    return gru(request.param == "both ways")


def test_first_row_is_the_unchanged_model(model):
    actual = d2l.exchange_each_state(model, SOURCE, OTHER, TARGET)
    assert actual.shape == (1, 3, 5, 7)
    assert not actual.requires_grad
    assert model.training
    logits, _ = model.eval()(SOURCE, d2l.shift_right(TARGET))
    torch.testing.assert_close(actual[:, :, 0], logits.softmax(dim=-1))


@torch.no_grad()
def test_each_row_exchanges_one_state(model):
    (actual,) = d2l.exchange_each_state(model, SOURCE, OTHER, TARGET)
    model.eval()
    ours, theirs = model.encoder(SOURCE), model.encoder(OTHER)
    words = d2l.shift_right(TARGET)
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
                _, own = model.decoder(words[:, :step], own)
                if isinstance(ours, tuple):
                    there = there._replace(hidden=own.hidden)
                else:
                    blocks = zip(there.blocks, own.blocks, strict=True)
                    kept = tuple(a._replace(past=b.past) for a, b in blocks)
                    there = own._replace(blocks=kept)
            logits, _ = model.decoder(words[:, step : step + 1], there)
            torch.testing.assert_close(actual[step, 1 + place], logits[0, 0].softmax(dim=-1))


def test_sentences_of_a_batch_do_not_affect_each_other(model):
    source, other = torch.cat((SOURCE, OTHER)), torch.tensor([[5, 6, 8, 2], [1, 6, 8, 2]])
    target = torch.tensor([[4, 3, 2], [6, 5, 2]])
    actual = d2l.exchange_each_state(model, source, other, target)
    for row in range(2):
        alone = d2l.exchange_each_state(model, source[[row]], other[[row]], target[[row]])
        torch.testing.assert_close(actual[[row]], alone)
    assert not torch.allclose(actual[0], actual[1])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("source", (SOURCE[0], OTHER, TARGET)),
        ("other", (SOURCE, OTHER[:, :3], TARGET)),
        ("target", (SOURCE, OTHER, TARGET[0])),
        ("target", (SOURCE, OTHER, TARGET.repeat(2, 1))),
    ],
)
def test_wrong_shapes_raise(name, arguments):
    with pytest.raises(ValueError, match=name):
        d2l.exchange_each_state(gru(True), *arguments)
