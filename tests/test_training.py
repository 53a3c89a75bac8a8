import contextlib
import inspect
import math
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from d2lattn import training
from d2lattn.corpus import Batch
from d2lattn.decoding import greedy_decode
from d2lattn.seq2seq import EncoderDecoder, Seq2SeqAttentionDecoder, Seq2SeqDecoder, Seq2SeqEncoder
from d2lattn.training import (
    History,
    _seeded,
    decay_factor,
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


def test_the_loss_is_the_mean_over_valid_tokens_in_nats():
    torch.manual_seed(0)
    logits, targets = torch.randn(3, 4, 5), torch.randint(5, (3, 4))
    lengths = torch.tensor([4, 1, 0])
    total = 0.0
    for row, length in enumerate(lengths.tolist()):
        for step in range(length):
            total -= logits[row, step].log_softmax(-1)[targets[row, step]].item()
    assert masked_loss(logits, targets, lengths).item() == pytest.approx(total / 5, abs=1e-6)


def test_every_token_counts_whatever_its_number():
    for token in range(200):
        loss = masked_loss(torch.zeros(1, 1, 200), torch.tensor([[token]]), torch.tensor([1]))
        assert loss.item() == pytest.approx(math.log(200))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_loss_of_half_precision_is_summed_in_single(dtype):
    logits = torch.tensor([0.0, 10.0], dtype=dtype).expand(100, 100, 2)  # 10,000 tokens of 10 nats
    loss = masked_loss(logits, torch.zeros(100, 100, dtype=torch.long), torch.full((100,), 100))
    assert loss.item() == pytest.approx(10, abs=1e-3)


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
    with pytest.raises(ValueError, match="^" + message):
        masked_loss(
            torch.zeros(logits),
            torch.zeros(targets, dtype=torch.long),
            torch.ones(lengths, dtype=torch.long),
        )


@pytest.mark.parametrize("length", [4, -1])
def test_a_length_that_the_targets_do_not_have_is_told_so(length):
    logits, targets = torch.zeros(2, 3, 5), torch.zeros(2, 3, dtype=torch.long)
    with pytest.raises(ValueError, match=rf"^valid_lens\[1\] is {length}; it needs .* 0 to 3"):
        masked_loss(logits, targets, torch.tensor([3, length]))


@pytest.mark.parametrize("token", [5, -1, -100])
def test_a_valid_target_outside_of_the_vocabulary_is_told_so(token):
    logits, targets = torch.zeros(1, 3, 5), torch.tensor([[4, token, 0]])
    with pytest.raises(ValueError, match=rf"^targets\[0, 1\] is {token}; it needs .* 0 to 4$"):
        masked_loss(logits, targets, torch.tensor([2]))
    assert masked_loss(logits, targets, torch.tensor([1])).item() == pytest.approx(math.log(5))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"logits": torch.zeros(1, 2, 3).long()}, "logits has dtype torch.int64"),
        ({"logits": [[[0.0]]]}, "logits has type list"),
        ({"targets": torch.zeros(1, 2)}, "targets has dtype torch.float32"),
        ({"valid_lens": torch.tensor([True])}, "valid_lens has dtype torch.bool"),
        ({"valid_lens": torch.tensor([1.0])}, "valid_lens has dtype torch.float32"),
    ],
)
def test_types_that_do_not_fit_are_told_so(changed, message):
    fit = {
        "logits": torch.zeros(1, 2, 3),
        "targets": torch.zeros(1, 2, dtype=torch.long),
        "valid_lens": torch.tensor([2]),
    }
    with pytest.raises(TypeError, match="^" + message):
        masked_loss(**{**fit, **changed})


def test_one_token_alone_costs_nothing():
    nothing = masked_loss(torch.ones(1, 2, 1), torch.zeros(1, 2).long(), torch.tensor([1]))
    assert nothing == 0


def test_targets_may_be_shorter_integers():
    logits, targets = torch.randn(2, 3, 5), torch.randint(5, (2, 3))
    lengths = torch.tensor([3, 2])
    shorter = masked_loss(logits, targets.to(torch.int32), lengths.to(torch.int32))
    assert shorter == masked_loss(logits, targets, lengths)


@pytest.mark.parametrize("loud", [math.inf, -math.inf, math.nan])
def test_padding_that_is_not_finite_spoils_no_gradient(loud):
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


def test_the_loss_changes_neither_logits_nor_targets():
    logits, targets = torch.randn(1, 3, 5), torch.randint(5, (1, 3))
    before = logits.clone(), targets.clone()
    masked_loss(logits, targets, torch.tensor([1]))
    assert torch.equal(logits, before[0])
    assert torch.equal(targets, before[1])


def test_shifting_right_starts_with_bos_and_changes_nothing():
    targets = torch.tensor([[5, 6, 2], [7, 2, 0]])
    assert shift_right(targets).tolist() == [[1, 5, 6], [1, 7, 2]]
    assert shift_right(targets, bos=9).tolist() == [[9, 5, 6], [9, 7, 2]]
    assert targets.tolist() == [[5, 6, 2], [7, 2, 0]]


def test_the_loss_of_a_translation_counts_its_valid_tokens():
    model, (batch,) = build().eval(), reversals(64)
    loss, count = translation_loss(model, batch)
    logits, _ = model(batch.source, shift_right(batch.target), batch.source_valid_lens)
    assert loss == masked_loss(logits, batch.target, batch.target_valid_lens)
    assert count == batch.target_valid_lens.sum()
    assert isinstance(count, int)


def test_a_mean_of_nothing_is_told_so():
    with pytest.raises(ValueError, match=r"valid_lens is \[0\]; it needs a length above 0"):
        masked_loss(torch.zeros(1, 2, 3), torch.zeros(1, 2, dtype=torch.long), torch.tensor([0]))
    with pytest.raises(ValueError, match=r"^batches is empty; a mean needs at least one batch$"):
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


def test_mean_loss_learns_nothing_and_draws_nothing():
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


def test_evaluating_puts_every_submodule_back():
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


def test_blocks_of_evaluating_put_back_what_they_found():
    model = nn.Dropout()
    with evaluating(model):
        with evaluating(model):
            assert not model.training
        assert not model.training
        model.train()  # a reader's own choice
        with evaluating(model):
            assert not model.training
        assert model.training
    assert model.training
    with evaluating(model.eval()):
        pass
    assert not model.training
    assert not training._FOUND, "nothing is remembered"


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_evaluating_in_threads_lasts_until_the_last_has_left(order):
    """What enters and leaves is told here, where threads would leave it to chance."""
    model = nn.Sequential(nn.Dropout(), nn.Dropout().eval())
    blocks = [evaluating(part) for part in (model, model, model[0])]
    for block in blocks:
        block.__enter__()
    for number, place in enumerate(order):
        blocks[place].__exit__(None, None, None)
        inside = set(order[number + 1 :])
        assert model[0].training == (not inside)
        assert model.training == (not inside & {0, 1})
        assert not model[1].training
    assert not training._FOUND


def test_evaluating_in_two_threads_never_turns_dropout_on():
    model, seen = build(dropout=0.5).train(), []
    model.encoder.eval()
    before = modes(model)

    def evaluate():
        for _ in range(300):
            with evaluating(model):
                seen.append(any(modes(model)))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads take turns in the midst of everything
    try:
        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(evaluate) for _ in range(4)]:
                done.result()
    finally:
        sys.setswitchinterval(interval)
    assert len(seen) == 1200
    assert not any(seen)
    assert modes(model) == before


def test_mean_loss_leaves_every_mode_as_it_was():
    model = build().train()
    model.encoder.eval()
    before = modes(model)
    mean_loss(model, reversals(64))
    assert modes(model) == before

    def broken(model, batch):
        raise KeyError

    with pytest.raises(KeyError):
        mean_loss(model, reversals(64), broken)
    assert modes(model) == before


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


def test_the_seed_is_of_dropout_too():
    batches = reversals(128)  # in one order, whatever the seed

    def run(seed, dropout):
        return train(build(dropout=dropout), lambda _: batches, num_epochs=1, seed=seed).loss

    assert run(0, dropout=0.0) == run(1, dropout=0.0)
    assert run(0, dropout=0.3) != run(1, dropout=0.3)


def test_devices_that_do_not_hold_the_model_are_not_seeded(monkeypatch):
    seeded = []
    names = {torch.cuda: "manual_seed_all", torch.xpu: "manual_seed_all", torch.mps: "manual_seed"}
    for device, name in names.items():  # one function for all would confuse PyTorch's compiler
        monkeypatch.setattr(device, name, lambda seed: seeded.append(seed))
    train(Recorder(), lambda _: [torch.tensor(1.0)], num_epochs=1, batch_loss=push)
    assert seeded == []


@pytest.mark.parametrize(("device", "place"), [("cuda:1", 1), ("xpu:0", 0), ("mps", 2)])
def test_the_generator_of_the_model_s_device_is_seeded_and_put_back(monkeypatch, device, place):
    generators = [torch.Generator().manual_seed(5 + i) for i in range(3)]  # of nobody's devices
    module = SimpleNamespace(default_generators=generators[:2])
    monkeypatch.setattr(torch, "get_device_module", {torch.device(device): module}.get)
    monkeypatch.setattr(torch.mps, "_get_default_mps_generator", lambda: generators[2])
    parts = [SimpleNamespace(device=torch.device(name)) for name in (device, "cpu", device, "meta")]
    model = SimpleNamespace(parameters=lambda: parts)
    before = [generator.get_state() for generator in generators]
    with contextlib.suppress(KeyError), _seeded(3, model):
        for other in {0, 1, 2} - {place}:
            assert torch.equal(generators[other].get_state(), before[other])
        drawn = torch.rand(9, generator=generators[place])
        assert torch.equal(drawn, torch.rand(9, generator=torch.Generator().manual_seed(3)))
        assert torch.equal(drawn, torch.rand(9))
        raise KeyError
    for generator, state in zip(generators, before, strict=True):
        assert torch.equal(generator.get_state(), state)


def test_history_has_an_entry_for_each_epoch():
    batches = reversals(128)
    history = train(build(), lambda _: batches, num_epochs=3)
    assert isinstance(history, History)
    assert len(history.loss) == len(history.tokens_per_second) == 3
    assert all(math.isfinite(speed) and speed > 0 for speed in history.tokens_per_second)
    assert history.loss[0] > history.loss[-1]


def test_the_loss_of_an_epoch_is_the_mean_over_its_tokens(monkeypatch):
    losses = iter([(1.0, 1), (4.0, 3), (2.0, 2), (6.0, 2)])
    clock = iter([10.0, 12.0, 20.0, 28.0])
    monkeypatch.setattr("d2lattn.training.time.perf_counter", lambda: next(clock))

    def batch_loss(model, batch):
        loss, count = next(losses)
        return model.w * 0 + loss, count

    history = train(Recorder(), lambda _: [0, 0], num_epochs=2, batch_loss=batch_loss)
    assert history.loss == [(1 * 1 + 4 * 3) / 4, (2 * 2 + 6 * 2) / 4]
    assert history.tokens_per_second == [4 / 2, 4 / 8]


def test_training_stops_when_it_is_told_to_after_an_epoch():
    seen = []

    def after_epoch(history):
        seen.append(list(history.loss))
        return len(history.loss) == 2

    history = train(build(), lambda _: reversals(64), num_epochs=9, after_epoch=after_epoch)
    assert len(history.loss) == len(history.tokens_per_second) == 2
    assert seen == [history.loss[:1], history.loss]
    history = train(build(), lambda _: reversals(64), num_epochs=2, after_epoch=lambda _: None)
    assert len(history.loss) == 2


def test_watching_other_data_changes_nothing():
    batches, other = reversals(128), reversals(64, generator=torch.Generator().manual_seed(2))
    model, watched, losses = build(dropout=0.3), build(dropout=0.3), []
    history = train(model, lambda _: batches, num_epochs=3)
    again = train(
        watched,
        lambda _: batches,
        num_epochs=3,
        after_epoch=lambda _: losses.append(mean_loss(watched, other)),
    )
    assert history.loss == again.loss
    assert len(losses) == 3
    assert losses[-1] == mean_loss(watched, other)
    for a, b in zip(model.parameters(), watched.parameters(), strict=True):
        assert torch.equal(a, b)


def test_the_loader_shuffles_by_the_seed_and_anew_in_each_epoch():
    def orders(**seed):
        drawn = []

        def loader(generator):
            drawn.append(torch.randperm(100, generator=generator).tolist())
            return [torch.tensor(1.0)]

        train(Recorder(), loader, num_epochs=2, batch_loss=push, **seed)
        return drawn

    first, second = orders()
    assert first != second
    assert orders(seed=0) == [first, second]
    assert orders(seed=1)[0] != first


def test_shuffling_takes_nothing_from_dropout_s_draws():
    def run(draws):
        def loader(generator):
            torch.rand(draws, generator=generator)
            return batches

        return train(build(dropout=0.3), loader, num_epochs=2).loss

    batches = reversals(64)
    assert run(0) == run(9)


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


def test_the_gradients_of_all_parameters_are_clipped_together(gradients):
    train(
        nn.ParameterList([torch.zeros(()), torch.zeros(())]),
        lambda _: [torch.tensor([30.0, 40.0])],
        num_epochs=1,
        clip_norm=2.0,
        batch_loss=lambda model, batch: (model[0] * batch[0] + model[1] * batch[1], 1),
    )
    assert gradients == pytest.approx([1.2, 1.6], rel=1e-4)


def rates_of(monkeypatch, **options):
    rates = []
    step = torch.optim.Adam.step

    def recorded(self, *args, **kwargs):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(torch.optim.Adam, "step", recorded)
        loader = lambda _: [torch.tensor(1.0)] * 4  # noqa: E731
        train(Recorder(), loader, num_epochs=2, batch_loss=push, **options)
    return rates


def test_the_learning_rate_falls_in_the_last_share(monkeypatch):
    falling = [1, 1, 1, 1, 1, 0.75, 0.5, 0.25]
    assert rates_of(monkeypatch, learning_rate=1.0) == pytest.approx(falling)
    assert rates_of(monkeypatch, learning_rate=1.0, decay_share=0.5) == pytest.approx(falling)
    assert rates_of(monkeypatch, learning_rate=1.0, decay_share=0.0) == [1.0] * 8
    all_the_way = [1 - step / 8 for step in range(8)]
    assert rates_of(monkeypatch, learning_rate=1.0, decay_share=1) == pytest.approx(all_the_way)


def test_the_learning_rate_starts_at_three_thousandths(monkeypatch):
    assert rates_of(monkeypatch)[0] == 3e-3


@pytest.mark.parametrize(
    ("done", "share", "factor"),
    [(0, 0.5, 1), (0.5, 0.5, 1), (0.75, 0.5, 0.5), (1, 0.5, 0), (0.25, 1, 0.75), (1, 0, 1)],
)
def test_what_is_left_of_the_learning_rate(done, share, factor):
    assert decay_factor(done, share) == pytest.approx(factor)


def test_what_train_does_unless_told_otherwise():
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(train).parameters.items()
        if parameter.default is not parameter.empty
    }
    assert defaults == {
        "learning_rate": 3e-3,
        "decay_share": 0.5,
        "clip_norm": 1.0,
        "seed": 0,
        "batch_loss": translation_loss,
        "after_epoch": None,
        "progress": False,
    }


def test_training_that_makes_no_sense_is_told_so():
    with pytest.raises(ValueError, match=r"^loader gave no batch; training needs at least one$"):
        train(build(), lambda _: [], num_epochs=1)


@pytest.mark.parametrize(
    ("option", "wrong", "needs"),
    [
        ("num_epochs", (0, -3), "to be 1 or more"),
        ("learning_rate", (0, -1e-3, math.nan, math.inf), "to be above 0 and finite"),
        ("decay_share", (-0.1, 1.5, math.nan), "to be from 0 to 1"),
        ("clip_norm", (-1, 0, math.nan), "to be above 0 (math.inf: no clipping)"),
    ],
)
def test_numbers_that_make_no_sense_are_told_so(option, wrong, needs):
    for number in wrong:
        model = Recorder()
        with pytest.raises(
            ValueError, match="^" + re.escape(f"{option} is {number}; it needs {needs}")
        ):
            train(
                model,
                lambda _: [torch.tensor(1.0)],
                batch_loss=push,
                **{"num_epochs": 1, option: number},
            )
        assert model.w == 0


def test_gradients_need_not_be_clipped(gradients):
    train(
        Recorder(),
        lambda _: [torch.tensor(50.0)],
        num_epochs=1,
        clip_norm=math.inf,
        batch_loss=push,
    )
    assert gradients == [50.0]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_ends_training_and_changes_no_weight(bad):
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


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_ends_training_and_changes_no_weight(bad):
    model, epochs = Recorder(), []

    class Spoil(torch.autograd.Function):
        @staticmethod
        def forward(ctx, w):
            return w + 2.5

        @staticmethod
        def backward(ctx, grad):
            return grad * bad

    def batch_loss(model, batch):
        return (Spoil.apply(model.w) if len(epochs) == 2 else model.w * 0), 1

    with pytest.raises(FloatingPointError) as raised:
        train(
            model,
            lambda _: epochs.append(1) or [0],
            num_epochs=3,
            batch_loss=batch_loss,
        )
    assert model.w == 0
    assert str(raised.value) == (
        f"the loss is 2.5 in epoch 2, step 1, but its gradient has length {bad}; "
        "torch.autograd.set_detect_anomaly(True) names the operation that this comes from, "
        "for instance the logarithm or the root of 0"
    )


@pytest.mark.parametrize("mode", [True, False])
def test_training_leaves_the_model_in_eval_mode_and_after_an_error_as_it_was(mode):
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


def test_an_error_leaves_the_generator_where_it_was():
    before = torch.get_rng_state()
    with pytest.raises(FloatingPointError):
        train(Recorder(), lambda _: [torch.tensor(math.nan)], num_epochs=1, batch_loss=push)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_progress_bar_shows_only_when_asked_for(capfd):
    batches = reversals(128)
    train(build(), lambda _: batches, num_epochs=1)
    out, err = capfd.readouterr()
    assert out == err == ""
    train(build(), lambda _: batches, num_epochs=1, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "1.0/1 epochs" in err
    assert re.search(r", loss \d\.\d{3}$", err.strip().splitlines()[-1])


WITHOUT = """
import sys
for name in {missing}:
    sys.modules[name] = None
import torch
import d2lattn as d2l

def train(**options):
    loss = lambda model, batch: (model(batch).square().mean(), 1)
    loader = lambda generator: [torch.ones(2, 1)]
    d2l.train(torch.nn.Linear(1, 1), loader, num_epochs=1, batch_loss=loss, **options)

train()
for ask in (
    lambda: train(progress=True),
    lambda: d2l.bleu(["a"], ["a"]),
    lambda: d2l.chrf(["a"], ["a"]),
    lambda: d2l.show_heatmaps,
):
    try:
        ask()
    except ModuleNotFoundError as error:
        print(error)
"""


@pytest.mark.slow
def test_what_is_asked_for_and_missing_is_named_in_one_line():
    missing = ["tqdm", "sacrebleu", "matplotlib", "ipywidgets", "anywidget"]
    script = WITHOUT.format(missing=missing)
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    needed = {
        "progress=True": "tqdm",
        "d2l.bleu": "sacrebleu",
        "d2l.chrf": "sacrebleu",
        "d2l.show_heatmaps": "matplotlib",
    }
    assert [line.split("; ") for line in run.stdout.splitlines()] == [
        [f"{what} needs {package}", "install what the book needs: pip install '.[book]'"]
        for what, package in needed.items()
    ]


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
        after_epoch=lambda history: history.loss[-1] <= 0.01,
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
