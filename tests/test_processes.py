"""Work side by side: the same results, in processes that leave this one as it is."""

import os
import sys

import pytest
import torch
from torch import nn

import d2lattn as d2l
from d2lattn.processes import side_by_side

CHANGED = []
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not fork")


def change(number):
    CHANGED.append(number)
    torch.rand(number)
    return os.getpid(), len(CHANGED)


def trained(rate):
    torch.manual_seed(1)
    model = nn.Linear(2, 1)
    batches = [torch.ones(4, 2)] * 20
    d2l.train(
        model,
        lambda generator: batches,
        num_epochs=2,
        learning_rate=rate,
        batch_loss=lambda model, batch: ((model(batch) - 3).square().mean(), len(batch)),
    )
    return model


def refuse(number):
    raise ZeroDivisionError(f"not {number}")


def test_results_come_in_the_order_asked_for():
    assert side_by_side(abs, range(-5, 3)) == [5, 4, 3, 2, 1, 0, 1, 2]
    assert side_by_side(abs, []) == []


@ON_LINUX
def test_each_has_a_process_that_leaves_this_one_as_it_is():
    before = torch.get_rng_state()
    found = side_by_side(change, [1, 2, 3])
    assert os.getpid() not in {process for process, _ in found}
    assert CHANGED == []
    assert torch.equal(torch.get_rng_state(), before)


def test_models_are_those_that_are_trained_one_after_the_other(one_thread):
    rates = 0.1, 0.01
    for beside, alone in zip(side_by_side(trained, rates), map(trained, rates), strict=True):
        assert torch.equal(beside.weight, alone.weight)
        assert not beside.training
        assert beside.weight.requires_grad


def threads(_):
    return torch.get_num_threads()


@ON_LINUX
def test_a_process_waits_for_no_thread_that_it_has_not():
    """A fork has none of the threads that this process computed with."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert side_by_side(threads, [1, 2]) == [1, 1]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def train_in_place(model):
    with torch.no_grad():
        model.weight.add_(1)
    return model


@ON_LINUX
def test_a_model_that_goes_in_is_not_the_one_that_comes_out():
    models = nn.Linear(2, 1), nn.Linear(2, 1)
    before = [model.weight.clone() for model in models]
    for model, old, new in zip(models, before, side_by_side(train_in_place, models), strict=True):
        assert torch.equal(model.weight, old)
        assert torch.equal(new.weight, old + 1)


def many(number):
    return [torch.tensor(i + number) for i in range(2000)]


@ON_LINUX
def test_thousands_of_tensors_are_no_thousands_of_open_files():
    assert all(len(found) == 2000 for found in side_by_side(many, [1, 2]))


@pytest.mark.parametrize("platform", ["linux", "win32"])
def test_an_error_is_told_as_it_is(monkeypatch, platform):
    monkeypatch.setattr(sys, "platform", platform if platform != "linux" else sys.platform)
    with pytest.raises(ZeroDivisionError, match="not 7"):
        side_by_side(refuse, [7, 8])


def test_elsewhere_call_follows_call(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(sys.modules[__name__], "CHANGED", [])
    assert side_by_side(change, [1, 2]) == [(os.getpid(), 1), (os.getpid(), 2)]


@ON_LINUX
def test_so_it_does_where_one_processor_may_be_used(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "CHANGED", [])
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(usable)})
    try:
        assert side_by_side(change, [1, 2]) == [(os.getpid(), 1), (os.getpid(), 2)]
    finally:
        os.sched_setaffinity(0, usable)
