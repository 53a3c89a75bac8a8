import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from d2lattn.seq2seq import (
    EncoderDecoder,
    Seq2SeqAttentionDecoder,
    Seq2SeqDecoder,
    Seq2SeqEncoder,
)
from d2lattn.training import masked_loss, shift_right

pytestmark = pytest.mark.usefixtures("one_thread")

SOURCE_VOCAB, TARGET_VOCAB = 11, 13


def build(decoder=Seq2SeqAttentionDecoder, *, bidirectional=False, num_layers=1, seed=0):
    torch.manual_seed(seed)
    encoder = Seq2SeqEncoder(SOURCE_VOCAB, 5, 8, num_layers, bidirectional=bidirectional)
    return EncoderDecoder(encoder, decoder(TARGET_VOCAB, 6, 8, num_layers)).eval()


def tokens(*shape, high, seed=0):
    return torch.randint(3, high, shape, generator=torch.Generator().manual_seed(seed))


every_model = pytest.mark.parametrize(
    ("decoder", "bidirectional", "num_layers"),
    [
        (decoder, bidirectional, num_layers)
        for decoder in (Seq2SeqDecoder, Seq2SeqAttentionDecoder)
        for bidirectional in (False, True)
        for num_layers in (1, 2)
    ],
)


@every_model
def test_step_by_step_equals_teacher_forcing(decoder, bidirectional, num_layers):
    model = build(decoder, bidirectional=bidirectional, num_layers=num_layers)
    source, target = tokens(3, 6, high=SOURCE_VOCAB), tokens(3, 7, high=TARGET_VOCAB)
    lengths = torch.tensor([6, 2, 4])
    whole, _ = model(source, target, lengths)
    state = model.decoder.init_state(model.encoder(source, lengths), lengths)
    steps = []
    for token in target.split(1, dim=1):
        logits, state = model.decoder(token, state)
        steps.append(logits)
    torch.testing.assert_close(torch.cat(steps, dim=1), whole, atol=1e-5, rtol=0)


@every_model
@settings(deadline=None, max_examples=6, derandomize=True)
@given(extra=st.integers(0, 5), junk=st.integers(0, SOURCE_VOCAB - 1), data=st.data())
def test_padding_changes_no_valid_output(decoder, bidirectional, num_layers, extra, junk, data):
    model = build(decoder, bidirectional=bidirectional, num_layers=num_layers)
    lengths = torch.tensor(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    batch_size = len(lengths)
    source = tokens(batch_size, 5, high=SOURCE_VOCAB, seed=1)
    target = tokens(batch_size, 3, high=TARGET_VOCAB, seed=2)
    padded = torch.cat((source, torch.full((batch_size, extra), junk)), dim=1)
    padded[torch.arange(5 + extra) >= lengths.unsqueeze(1)] = junk
    many, _ = model(padded, target, lengths)
    for row, length in enumerate(lengths.tolist()):
        alone, _ = model(source[row : row + 1, :length], target[row : row + 1])
        torch.testing.assert_close(many[row], alone[0], atol=1e-5, rtol=0)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_encoder_outputs_are_zero_at_padding_and_end_in_state(bidirectional):
    encoder = build(bidirectional=bidirectional).encoder
    outputs, state = encoder(tokens(2, 5, high=SOURCE_VOCAB), torch.tensor([5, 2]))
    assert outputs.shape == (2, 5, 8)
    assert state.shape == (1, 2, 8)
    assert (outputs[1, 2:] == 0).all()
    forward = 8 // (2 if bidirectional else 1)
    torch.testing.assert_close(state[0, 1, :forward], outputs[1, 1, :forward])
    if bidirectional:  # the backward half ends at the first token
        torch.testing.assert_close(state[0, 1, 4:], outputs[1, 0, 4:])


def test_bidirectional_halves_see_the_past_and_the_future():
    model = build(bidirectional=True)
    source = tokens(1, 5, high=SOURCE_VOCAB)
    changed = source.clone()
    changed[0, 2] = (source[0, 2] + 1) % SOURCE_VOCAB
    differs = (model.encoder(source)[0] != model.encoder(changed)[0])[0]  # (S, D)
    assert differs[:, :4].any(dim=1).tolist() == [False, False, True, True, True]
    assert differs[:, 4:].any(dim=1).tolist() == [True, True, True, False, False]


def test_first_query_is_top_layer_of_last_encoder_state():
    model = build(num_layers=2)
    outputs, hidden = model.encoder(tokens(1, 5, high=SOURCE_VOCAB))
    with torch.no_grad():
        model.decoder.attention(hidden[-1].unsqueeze(1), outputs, outputs, None)
    expected = model.decoder.attention.attention_weights
    model.decoder(torch.tensor([[1]]), model.decoder.init_state((outputs, hidden)))
    torch.testing.assert_close(model.decoder.attention_weights, expected)


def test_without_bridge_attention_is_the_only_source():
    torch.manual_seed(0)
    decoder = Seq2SeqAttentionDecoder(TARGET_VOCAB, 5, 8, 1, bridge=False)
    outputs, hidden = build().encoder(tokens(2, 5, high=SOURCE_VOCAB))
    target = tokens(2, 3, high=TARGET_VOCAB)
    logits, _ = decoder(target, decoder.init_state((outputs, hidden)))
    again, _ = decoder(target, decoder.init_state((outputs, 9 * hidden)))
    assert torch.equal(logits, again)
    changed, _ = decoder(target, decoder.init_state((outputs.flip(2), hidden)))
    assert not torch.equal(logits, changed)


def test_keys_are_projected_once_for_all_steps():
    model = build()
    calls = []
    model.decoder.attention.W_k.register_forward_hook(lambda *_: calls.append(1))
    source = tokens(2, 5, high=SOURCE_VOCAB)
    model(source, tokens(2, 9, high=TARGET_VOCAB))
    assert len(calls) == 1
    state = model.decoder.init_state(model.encoder(source))
    for token in tokens(2, 9, high=TARGET_VOCAB).split(1, dim=1):
        _, state = model.decoder(token, state)
    assert len(calls) == 2


@pytest.mark.parametrize("lengths", [None, torch.tensor([6, 2, 4])], ids=["full", "padded"])
@every_model
def test_selected_state_continues_selected_rows(decoder, bidirectional, num_layers, lengths):
    model = build(decoder, bidirectional=bidirectional, num_layers=num_layers)
    source, target = tokens(3, 6, high=SOURCE_VOCAB), tokens(3, 2, high=TARGET_VOCAB)
    rows = torch.tensor([2, 0, 0, 1])
    state = model.decoder.init_state(model.encoder(source, lengths), lengths)
    _, state = model.decoder(target, state)
    after, _ = model.decoder(target, state)
    selected, _ = model.decoder(target[rows], model.decoder.select_state(state, rows))
    torch.testing.assert_close(selected, after[rows], atol=1e-6, rtol=0)


@every_model
def test_every_parameter_learns(decoder, bidirectional, num_layers):
    model = build(decoder, bidirectional=bidirectional, num_layers=num_layers)
    target = tokens(3, 5, high=TARGET_VOCAB)
    lengths = torch.tensor([6, 2, 4])
    logits, _ = model(tokens(3, 6, high=SOURCE_VOCAB), shift_right(target), lengths)
    masked_loss(logits, target, torch.tensor([5, 1, 3])).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


ZEROS = torch.zeros(2, 3, dtype=torch.long)


@pytest.mark.parametrize(
    ("source", "lengths", "error", "message"),
    [
        (ZEROS - 1, None, ValueError, r"X\[0, 0\] is -1; it needs to be from 0 to 10$"),
        (ZEROS.float(), None, TypeError, "X has dtype torch.float32; it needs a tensor of integ"),
        (ZEROS[:, :0], None, ValueError, r"X has shape \(2, 0\); it needs \(B, T\), both above 0"),
        (ZEROS, [3], ValueError, r"valid_lens has shape \(1,\); it needs \(B,\) = \(2,\)$"),
        (ZEROS, [3, 0], ValueError, r"valid_lens\[1\] is 0; it needs to be from 1 to 3$"),
    ],
)
def test_wrong_source_raises(source, lengths, error, message):
    lengths = None if lengths is None else torch.tensor(lengths)
    with pytest.raises(error, match="^" + message):
        build().encoder(source, lengths)
