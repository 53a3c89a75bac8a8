import math

import pytest
import torch
from torch import nn

from d2lattn.corpus import Batch
from d2lattn.decoding import greedy_decode
from d2lattn.seq2seq import EncoderDecoder, Seq2SeqAttentionDecoder, Seq2SeqDecoder, Seq2SeqEncoder
from d2lattn.training import History, masked_loss, mean_loss, shift_right, train, translation_loss

VOCAB = 12


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Tensors this small are slower in two threads, and much slower on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def reversals(num_pairs, batch_size=64, generator=None, longest=6):
    """Batches of a small task: write the source backwards."""
    generator = generator or torch.Generator().manual_seed(1)
    batches = []
    for _ in range(num_pairs // batch_size):
        lengths = torch.randint(1, longest + 1, (batch_size, 1), generator=generator)
        words = torch.randint(4, VOCAB, (batch_size, longest + 1), generator=generator)
        place = torch.arange(longest + 1)
        ending = torch.where(place == lengths, 2, 0)  # (B, T): <eos>, then padding
        source = torch.where(place < lengths, words, ending)
        backwards = words.gather(1, (lengths - 1 - place).clamp(min=0))
        target = torch.where(place < lengths, backwards, ending)
        lengths = lengths.flatten()
        batches.append(Batch(source, lengths + 1, target, lengths + 1, ()))
    return batches


def build(decoder=Seq2SeqAttentionDecoder, dropout=0.0, num_hiddens=16):
    torch.manual_seed(0)
    encoder = Seq2SeqEncoder(VOCAB, 16, num_hiddens, 1, dropout, bidirectional=True)
    return EncoderDecoder(encoder, decoder(VOCAB, 16, num_hiddens, 1, dropout))


def test_the_loss_is_the_mean_over_valid_tokens_in_nats():
    torch.manual_seed(0)
    logits, targets = torch.randn(3, 4, 5), torch.randint(5, (3, 4))
    lengths = torch.tensor([4, 1, 0])
    total = 0.0
    for row, length in enumerate(lengths.tolist()):
        for step in range(length):
            total -= logits[row, step].log_softmax(-1)[targets[row, step]].item()
    assert masked_loss(logits, targets, lengths).item() == pytest.approx(total / 5, abs=1e-6)


def test_padding_does_not_change_the_loss_or_its_gradient():
    torch.manual_seed(0)
    logits, targets, lengths = torch.randn(2, 3, 5), torch.randint(5, (2, 3)), torch.tensor([3, 2])
    longer = torch.cat((logits, torch.full((2, 4, 5), 1e4)), dim=1).requires_grad_()
    padded = torch.cat((targets, torch.zeros(2, 4, dtype=torch.long)), dim=1)
    loss = masked_loss(longer, padded, lengths)
    torch.testing.assert_close(loss, masked_loss(logits, targets, lengths))
    loss.backward()
    assert (longer.grad[:, 3:] == 0).all()
    assert (longer.grad[1, 2] == 0).all()


@pytest.mark.parametrize(
    ("logits", "targets", "lengths", "message"),
    [
        ((2, 5), (2, 3), (2,), r"logits has shape \(2, 5\); it needs \(B, T, V\)"),
        ((2, 3, 5), (2, 4), (2,), r"targets has shape \(2, 4\); it needs \(B, T\) = \(2, 3\)"),
        ((2, 3, 5), (2, 3), (3,), r"valid_lens has shape \(3,\); it needs \(B,\) = \(2,\)"),
    ],
)
def test_shapes_that_do_not_fit_are_told_so(logits, targets, lengths, message):
    with pytest.raises(ValueError, match=message):
        masked_loss(
            torch.zeros(logits),
            torch.zeros(targets, dtype=torch.long),
            torch.ones(lengths, dtype=torch.long),
        )


def test_a_mean_of_nothing_is_told_so():
    with pytest.raises(ValueError, match="valid_lens holds zeros only"):
        masked_loss(torch.zeros(1, 2, 3), torch.zeros(1, 2, dtype=torch.long), torch.tensor([0]))
    with pytest.raises(ValueError, match="batches is empty"):
        mean_loss(build(), [])


def test_the_decoder_never_sees_the_token_that_it_predicts():
    model, (batch,) = build().eval(), reversals(64)
    changed = batch.target.clone()
    changed[:, 3] = 5
    before, _ = model(batch.source, shift_right(batch.target), batch.source_valid_lens)
    after, _ = model(batch.source, shift_right(changed), batch.source_valid_lens)
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.equal(before[:, 4:], after[:, 4:])


def test_mean_loss_weighs_batches_by_their_tokens():
    model, batches = build(dropout=0.5).train(), reversals(128)
    whole = Batch(*(torch.cat(parts) for parts in list(zip(*batches, strict=True))[:4]), ())
    assert mean_loss(model, batches) == pytest.approx(mean_loss(model, [whole]), abs=1e-5)
    assert model.training  # as it was
    assert mean_loss(model, [whole]) == pytest.approx(
        translation_loss(model.eval(), whole)[0].item(), abs=1e-5
    )


def test_one_seed_gives_one_run_and_leaves_other_generators_alone():
    def run(seed):
        model = build(dropout=0.3)
        torch.seed()  # wherever the caller's own generator stands
        before = torch.get_rng_state()
        history = train(model, lambda g: reversals(128, generator=g), num_epochs=2, seed=seed)
        assert torch.equal(torch.get_rng_state(), before)
        return history.loss, [p.detach().clone() for p in model.parameters()]

    (loss, weights), (again, same), (other, _) = run(0), run(0), run(1)
    assert loss == again
    assert all(torch.equal(a, b) for a, b in zip(weights, same, strict=True))
    assert loss != other


def test_history_has_an_entry_for_each_epoch():
    batches = reversals(128)
    history = train(
        build(), lambda _: batches, num_epochs=3, validate=lambda m: mean_loss(m, batches)
    )
    assert isinstance(history, History)
    assert len(history.loss) == len(history.validation) == len(history.tokens_per_second) == 3
    assert all(math.isfinite(speed) and speed > 0 for speed in history.tokens_per_second)
    assert history.loss[0] > history.loss[-1]


@pytest.mark.parametrize("watch", ["loss", "validation"])
def test_training_stops_at_its_target(watch):
    validate = (lambda _: 0.5) if watch == "validation" else None
    history = train(
        build(), lambda _: reversals(64), num_epochs=9, target_loss=99.0, validate=validate
    )
    assert len(history.loss) == 1


class Recorder(nn.Module):
    """One parameter, whose gradient is what the batch says."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(()))


def push(model, batch):
    return model.w * batch, 1


def test_gradients_are_clipped(monkeypatch):
    norms = []
    step = torch.optim.Adam.step

    def recorded(self, *args, **kwargs):
        norms.append(abs(self.param_groups[0]["params"][0].grad.item()))
        return step(self, *args, **kwargs)

    monkeypatch.setattr(torch.optim.Adam, "step", recorded)
    batches = [torch.tensor(50.0), torch.tensor(0.1)]
    train(Recorder(), lambda _: batches, num_epochs=1, clip_norm=2.0, batch_loss=push)
    assert norms == pytest.approx([2.0, 0.1], rel=1e-4)


def test_the_learning_rate_falls_in_the_last_share(monkeypatch):
    rates = []
    step = torch.optim.Adam.step

    def recorded(self, *args, **kwargs):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args, **kwargs)

    monkeypatch.setattr(torch.optim.Adam, "step", recorded)
    for share in (0.5, 0.0):
        train(
            Recorder(),
            lambda _: [torch.tensor(1.0)] * 4,
            num_epochs=2,
            learning_rate=1.0,
            decay_share=share,
            batch_loss=push,
        )
    assert rates[:8] == pytest.approx([1, 1, 1, 1, 1, 0.75, 0.5, 0.25])
    assert rates[8:] == [1.0] * 8


def test_training_that_cannot_go_on_says_why():
    with pytest.raises(ValueError, match="loader gave no batch"):
        train(build(), lambda _: [], num_epochs=1)
    with pytest.raises(ValueError, match="num_epochs is 0"):
        train(build(), lambda _: reversals(64), num_epochs=0)
    with pytest.raises(ValueError, match=r"decay_share is 1.5"):
        train(build(), lambda _: reversals(64), num_epochs=1, decay_share=1.5)
    with pytest.raises(FloatingPointError, match="loss is nan in epoch 1, step 1; a learning_rate"):
        train(Recorder(), lambda _: [torch.tensor(math.nan)], num_epochs=1, batch_loss=push)


def test_the_progress_bar_shows_only_when_asked_for(capfd):
    batches = reversals(64)
    train(build(), lambda _: batches, num_epochs=1)
    out, err = capfd.readouterr()
    assert out == err == ""
    train(build(), lambda _: batches, num_epochs=1, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "1.0/1 epochs" in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("decoder", "floor"), [(Seq2SeqAttentionDecoder, 0.95), (Seq2SeqDecoder, 0.3)]
)
def test_a_small_model_learns_to_write_backwards(decoder, floor):
    model = build(decoder, num_hiddens=32)
    history = train(
        model,
        lambda generator: reversals(6400, generator=generator),
        num_epochs=4,
        learning_rate=1e-2,
        target_loss=0.01,
    )
    assert history.loss[-1] < history.loss[0]
    (batch,) = reversals(256, batch_size=256, generator=torch.Generator().manual_seed(9))
    found = greedy_decode(model, batch.source, batch.source_valid_lens, max_len=10)
    right = [
        hypothesis.tokens == target[: length - 1]
        for hypothesis, target, length in zip(
            found, batch.target.tolist(), batch.target_valid_lens.tolist(), strict=True
        )
    ]
    assert sum(right) / len(right) >= floor
