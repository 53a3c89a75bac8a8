import math
import re

import pytest
import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from d2lattn.corpus import Batch
from d2lattn.decoding import greedy_decode
from d2lattn.seq2seq import EncoderDecoder, Seq2SeqAttentionDecoder, Seq2SeqDecoder, Seq2SeqEncoder
from d2lattn.training import (
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


@pytest.mark.parametrize("loud", [1e4, math.inf, -math.inf, math.nan])
def test_padding_changes_neither_loss_nor_gradient(loud):
    torch.manual_seed(0)
    logits, targets, lengths = torch.randn(2, 3, 5), torch.randint(5, (2, 3)), torch.tensor([3, 1])
    quiet = logits.clone().requires_grad_()
    logits[1, 1:, :2] = loud
    longer = torch.cat((logits, torch.full((2, 4, 5), loud)), dim=1).requires_grad_()
    padded = torch.cat((targets, torch.full((2, 4), 99)), dim=1)
    loss, expected = masked_loss(longer, padded, lengths), masked_loss(quiet, targets, lengths)
    assert loss == expected
    loss.backward()
    expected.backward()
    assert torch.equal(longer.grad[:, :3], quiet.grad)
    assert longer.grad[:, 3:].count_nonzero() == longer.grad[1, 1:].count_nonzero() == 0


@pytest.mark.parametrize(
    ("targets", "lengths", "message"),
    [
        ([[4, 5]], [2], r"targets\[0, 1\] is 5; it needs to be from 0 to 4"),
        ([[4, -1]], [2], r"targets\[0, 1\] is -1; it needs to be from 0 to 4"),
        ([[4, 1, 2]], [2], r"targets has shape \(1, 3\); it needs \(B, T\) = \(1, 2\)"),
        ([[4, 1]], [3], r"valid_lens\[0\] is 3; it needs to be from 0 to 2"),
        ([[4, 1]], [0], r"valid_lens is \[0\]; it needs a length above 0 for a mean"),
    ],
)
def test_wrong_targets_raise(targets, lengths, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        masked_loss(torch.zeros(1, 2, 5), torch.tensor(targets), torch.tensor(lengths))


def test_translation_loss_counts_valid_tokens():
    model, (batch,) = build().eval(), reversals(64)
    loss, count = translation_loss(model, batch)
    logits, _ = model(batch.source, shift_right(batch.target), batch.source_valid_lens)
    assert loss == masked_loss(logits, batch.target, batch.target_valid_lens)
    assert count == batch.target_valid_lens.sum()
    assert isinstance(count, int)


def test_mean_loss_is_without_dropout_and_gradients():
    model, batches = build(dropout=0.5).train(), reversals(128)
    whole = Batch(*(torch.cat(parts) for parts in list(zip(*batches, strict=True))[:4]), ())
    before, requires = torch.get_rng_state(), []

    def batch_loss(model, batch):
        loss, count = translation_loss(model, batch)
        requires.append(loss.requires_grad)
        return loss, count

    actual = mean_loss(model, batches, batch_loss)
    assert model.training  # as it was
    assert requires == [False, False]
    assert torch.equal(torch.get_rng_state(), before)
    expected, _ = translation_loss(model.eval(), whole)
    assert actual == pytest.approx(expected.item(), abs=1e-5)


def modes(model):
    return [module.training for module in model.modules()]


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


class Number(nn.Module):
    """One parameter, whose gradient is what the batch says."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(()))


def push(model, gradient):
    return model.w * gradient, 1


def train_number(*gradients, num_epochs=1, **options):
    """Train a number with these gradients; return what Adam got, with its rates."""
    model, steps = Number(), []

    def record(optimizer, *_):
        steps.append((model.w.grad.item(), optimizer.param_groups[0]["lr"]))

    hook = register_optimizer_step_pre_hook(record)
    try:
        train(model, lambda _: gradients, num_epochs=num_epochs, batch_loss=push, **options)
    finally:
        hook.remove()
    return steps


def test_gradients_are_clipped():
    (longer, rate), (shorter, _) = train_number(50, 0.1, clip_norm=2.0)
    assert (longer, shorter) == pytest.approx((2.0, 0.1), rel=1e-4)
    assert rate == 3e-3  # if nothing is said


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1, 1, 1, 1, 1, 0.75, 0.5, 0.25]),  # half of them, if nothing is said
        ({"decay_share": 0.0}, [1] * 8),
        ({"decay_share": 1}, [1 - step / 8 for step in range(8)]),
    ],
)
def test_learning_rate_falls_in_the_last_share(options, expected):
    steps = train_number(1, 1, 1, 1, num_epochs=2, learning_rate=1.0, **options)
    assert [rate for _, rate in steps] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("loss_of", "message"),
    [
        (lambda w: w * math.nan, "the loss is nan in epoch 1, step 1; a smaller .* may help"),
        (lambda w: w * -math.inf, "the loss is -inf in epoch 1, step 1; a smaller .*"),
        (lambda w: (w - 1).sqrt(), "the loss is 0 in epoch 1, step 1, but its gradient .* inf; .*"),
    ],
)
def test_infinite_loss_or_gradient_raises_and_changes_no_weight(loss_of, message):
    model = Number()
    with pytest.raises(FloatingPointError, match=f"^{message}$"):
        train(model, lambda _: [0], num_epochs=1, batch_loss=lambda m, _: (loss_of(m.w), 1))
    assert model.w == 1


def test_wrong_arguments_of_train_raise():
    with pytest.raises(ValueError, match=r"^loader gave no batch; training needs at least one$"):
        train_number()
    for options, name in (
        ({"num_epochs": 0}, "num_epochs"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"learning_rate": math.inf}, "learning_rate"),
        ({"clip_norm": 0.0}, "clip_norm"),
        ({"decay_share": 1.5}, "decay_share"),
    ):
        with pytest.raises(ValueError, match=f"^{name} is "):
            train_number(1, **options)


def test_epoch_loss_is_mean_over_its_tokens(monkeypatch):
    losses = iter([(1.0, 1), (4.0, 3), (2.0, 2), (6.0, 2)])
    clock = iter([10.0, 12.0, 20.0, 28.0])
    monkeypatch.setattr("d2lattn.training.time.perf_counter", lambda: next(clock))

    def batch_loss(model, batch):
        loss, count = next(losses)
        return model.w * 0 + loss, count

    history = train(Number(), lambda _: [0, 0], num_epochs=2, batch_loss=batch_loss)
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
