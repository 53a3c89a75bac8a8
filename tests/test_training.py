import math
import re

import pytest
import torch
from torch import nn

from d2lattn.corpus import Batch
from d2lattn.decoding import greedy_decode
from d2lattn.seq2seq import EncoderDecoder, Seq2SeqAttentionDecoder, Seq2SeqDecoder, Seq2SeqEncoder
from d2lattn.training import (
    evaluating,
    masked_loss,
    mean_loss,
    shift_right,
    train,
    translation_loss,
)

pytestmark = pytest.mark.usefixtures("one_thread")

VOCAB = 12


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


def test_loss_is_mean_over_valid_tokens_in_nats():
    torch.manual_seed(0)
    logits, targets = torch.randn(3, 4, 5), torch.randint(5, (3, 4))
    lengths = torch.tensor([4, 1, 0])
    total = 0.0
    for row, length in enumerate(lengths.tolist()):
        for step in range(length):
            total -= logits[row, step].log_softmax(-1)[targets[row, step]].item()
    assert masked_loss(logits, targets, lengths).item() == pytest.approx(total / 5, abs=1e-6)


def test_padding_changes_neither_loss_nor_gradient():
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
def test_wrong_shapes_raise(logits, targets, lengths, message):
    with pytest.raises(ValueError, match="^" + message):
        masked_loss(
            torch.zeros(logits),
            torch.zeros(targets, dtype=torch.long),
            torch.ones(lengths, dtype=torch.long),
        )


@pytest.mark.parametrize("loud", [math.inf, -math.inf, math.nan])
def test_infinite_padding_leaves_gradients_finite(loud):
    torch.manual_seed(0)
    logits, targets, lengths = torch.randn(2, 3, 5), torch.randint(5, (2, 3)), torch.tensor([3, 1])
    quiet = logits.clone().requires_grad_()
    logits[1, 1:, :2] = loud
    logits.requires_grad_()
    loss = masked_loss(logits, targets, lengths)
    assert loss == masked_loss(quiet, targets, lengths)
    loss.backward()
    masked_loss(quiet, targets, lengths).backward()
    assert torch.equal(logits.grad, quiet.grad)
    assert logits.grad.isfinite().all()


def test_shift_right_starts_with_bos():
    targets = torch.tensor([[5, 6, 2], [7, 2, 0]])
    assert shift_right(targets).tolist() == [[1, 5, 6], [1, 7, 2]]
    assert shift_right(targets, bos=9).tolist() == [[9, 5, 6], [9, 7, 2]]
    assert targets.tolist() == [[5, 6, 2], [7, 2, 0]]


def test_translation_loss_counts_valid_tokens():
    model, (batch,) = build().eval(), reversals(64)
    loss, count = translation_loss(model, batch)
    logits, _ = model(batch.source, shift_right(batch.target), batch.source_valid_lens)
    assert loss == masked_loss(logits, batch.target, batch.target_valid_lens)
    assert count == batch.target_valid_lens.sum()
    assert isinstance(count, int)


def test_mean_loss_weights_batches_by_tokens():
    model, batches = build(dropout=0.5).train(), reversals(128)
    whole = Batch(*(torch.cat(parts) for parts in list(zip(*batches, strict=True))[:4]), ())
    assert mean_loss(model, batches) == pytest.approx(mean_loss(model, [whole]), abs=1e-5)
    assert model.training  # as it was
    assert mean_loss(model, [whole]) == pytest.approx(
        translation_loss(model.eval(), whole)[0].item(), abs=1e-5
    )


def test_mean_loss_needs_no_gradient_and_no_random_numbers():
    model, batches = build(dropout=0.5).train(), reversals(64)
    before = torch.get_rng_state()
    requires = []

    def batch_loss(model, batch):
        loss, count = translation_loss(model, batch)
        requires.append(loss.requires_grad)
        return loss, count

    assert mean_loss(model, batches, batch_loss) == mean_loss(model, batches)
    assert requires == [False]
    assert torch.equal(torch.get_rng_state(), before)


def modes(model):
    return [module.training for module in model.modules()]


def test_evaluating_restores_every_submodule():
    model = build().train()
    model.encoder.eval()
    before = modes(model)
    with evaluating(model):
        assert not any(modes(model))
    assert modes(model) == before
    with pytest.raises(KeyError), evaluating(model):
        raise KeyError
    assert modes(model) == before
    assert model.training
    assert not model.encoder.rnn.training


def test_same_seed_gives_same_run_and_restores_generator():
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


def test_epoch_loss_is_mean_over_its_tokens(monkeypatch):
    losses = iter([(1.0, 1), (4.0, 3), (2.0, 2), (6.0, 2)])
    clock = iter([10.0, 12.0, 20.0, 28.0])
    monkeypatch.setattr("d2lattn.training.time.perf_counter", lambda: next(clock))

    def batch_loss(model, batch):
        loss, count = next(losses)
        return model.w * 0 + loss, count

    history = train(Recorder(), lambda _: [0, 0], num_epochs=2, batch_loss=batch_loss)
    assert history.loss == [(1 * 1 + 4 * 3) / 4, (2 * 2 + 6 * 2) / 4]
    assert history.tokens_per_second == [4 / 2, 4 / 8]


def test_after_epoch_can_stop_training():
    seen = []

    def after_epoch(history):
        seen.append(list(history.loss))
        return len(history.loss) == 2

    history = train(build(), lambda _: reversals(64), num_epochs=9, after_epoch=after_epoch)
    assert len(history.loss) == len(history.tokens_per_second) == 2
    assert seen == [history.loss[:1], history.loss]
    history = train(build(), lambda _: reversals(64), num_epochs=2, after_epoch=lambda _: None)
    assert len(history.loss) == 2


class Recorder(nn.Module):
    """One parameter, whose gradient is what the batch says."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(()))


def push(model, batch):
    return model.w * batch, 1


@pytest.fixture
def gradients(monkeypatch) -> list[float]:
    """What Adam is given for each parameter, a number, at each step."""
    given = []
    step = torch.optim.Adam.step

    def recorded(self, *args, **kwargs):
        given.extend(p.grad.item() for p in self.param_groups[0]["params"])
        return step(self, *args, **kwargs)

    monkeypatch.setattr(torch.optim.Adam, "step", recorded)
    return given


def test_gradients_are_clipped(gradients):
    batches = [torch.tensor(50.0), torch.tensor(0.1)]
    train(Recorder(), lambda _: batches, num_epochs=1, clip_norm=2.0, batch_loss=push)
    assert gradients == pytest.approx([2.0, 0.1], rel=1e-4)


def rates_of(monkeypatch, **options):
    rates = []
    step = torch.optim.Adam.step

    def recorded(self, *args, **kwargs):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(torch.optim.Adam, "step", recorded)
        batches = [torch.tensor(1.0)] * 4
        train(Recorder(), lambda _: batches, num_epochs=2, batch_loss=push, **options)
    return rates


def test_learning_rate_falls_in_the_last_share(monkeypatch):
    falling = [1, 1, 1, 1, 1, 0.75, 0.5, 0.25]
    assert rates_of(monkeypatch, learning_rate=1.0) == pytest.approx(falling)
    assert rates_of(monkeypatch, learning_rate=1.0, decay_share=0.5) == pytest.approx(falling)
    assert rates_of(monkeypatch, learning_rate=1.0, decay_share=0.0) == [1.0] * 8
    all_the_way = [1 - step / 8 for step in range(8)]
    assert rates_of(monkeypatch, learning_rate=1.0, decay_share=1) == pytest.approx(all_the_way)


def test_empty_loader_raises():
    with pytest.raises(ValueError, match=r"^loader gave no batch; training needs at least one$"):
        train(build(), lambda _: [], num_epochs=1)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_infinite_loss_raises_and_changes_no_weight(bad):
    model = Recorder()
    with torch.no_grad():
        model.w += 1.0
    with pytest.raises(
        FloatingPointError,
        match=f"^the loss is {bad} in epoch 1, step 2; a smaller learning_rate may help$",
    ):
        train(
            model,
            lambda _: [torch.tensor(0.0), torch.tensor(bad)],
            num_epochs=1,
            batch_loss=push,
        )
    assert model.w == 1.0


@pytest.mark.parametrize("mode", [True, False])
def test_train_ends_in_eval_mode_and_restores_modes_after_error(mode):
    model, while_it_learned = build().train(mode), []
    model.encoder.train(not mode)
    before = modes(model)

    def batch_loss(model, batch):
        while_it_learned.append(all(modes(model)))
        if len(while_it_learned) == 3:
            raise KeyError
        return translation_loss(model, batch)

    def after_epoch(history):
        model.eval()  # a reader's own way of evaluating

    with pytest.raises(KeyError):
        train(
            model,
            lambda _: reversals(64),
            num_epochs=3,
            batch_loss=batch_loss,
            after_epoch=after_epoch,
        )
    assert while_it_learned == [True] * 3
    assert modes(model) == before
    train(model, lambda _: reversals(64), num_epochs=1)
    assert not any(modes(model))


def test_progress_bar_is_optional(capfd):
    batches = reversals(128)
    train(build(), lambda _: batches, num_epochs=1)
    out, err = capfd.readouterr()
    assert out == err == ""
    train(build(), lambda _: batches, num_epochs=1, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "1.0/1 epochs" in err
    assert re.search(r", loss \d\.\d{3}$", err.strip().splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("decoder", "floor"), [(Seq2SeqAttentionDecoder, 0.95), (Seq2SeqDecoder, 0.3)]
)
def test_small_model_learns_to_reverse(decoder, floor):
    model = build(decoder, num_hiddens=32)
    history = train(
        model,
        lambda generator: reversals(6400, generator=generator),
        num_epochs=4,
        learning_rate=1e-2,
        after_epoch=lambda history: history.loss[-1] <= 0.01,
    )
    assert history.loss[-1] < history.loss[0]
    (batch,) = reversals(256, batch_size=256, generator=torch.Generator().manual_seed(9))
    actual = greedy_decode(model, batch.source, batch.source_valid_lens, max_len=10)
    right = [
        hypothesis.tokens == target[: length - 1]
        for hypothesis, target, length in zip(
            actual, batch.target.tolist(), batch.target_valid_lens.tolist(), strict=True
        )
    ]
    assert sum(right) / len(right) >= floor
