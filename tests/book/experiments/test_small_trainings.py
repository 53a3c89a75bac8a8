"""The tasks and networks of the small trainings: cities, stacks and local attention."""

import pytest
import torch
from torch import nn

from d2lattn.book.experiments import cities, stacks
from d2lattn.book.experiments.local_attention import WIDTH, LocalAttention, TwoLayers


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_the_answer_is_the_difference_of_the_two_cities_that_are_named():
    queries, keys, values, answers = cities.questions(50, generator())
    first, second = queries[:, 0].unflatten(1, (2, 8)).unbind(1)  # (B, 8) each
    assert (first.sum(1) == 1).all()
    assert (second.sum(1) == 1).all()
    assert not (first * second).any()
    torch.testing.assert_close(((first - second) * values[..., 0]).sum(1), answers)
    assert torch.equal(keys[7], torch.eye(8))
    owned = cities.owned(50, generator())
    assert torch.equal(owned[2].sum(2, keepdim=True), values)


def test_errors_and_multipliers_are_those_of_a_model_that_is_right():
    class Right(nn.Module):
        def forward(self, queries, keys, values):
            first, second = queries.unflatten(-1, (2, 8)).unbind(2)  # (B, 1, 8) each
            return (first - second) @ keys @ values  # (B, 1, 8) x (B, 8, 8) x (B, 8, 1)

    assert cities.error(Right()) < 1e-10
    assert cities.multipliers(Right()).tolist() == [1, -1, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("name", cities.LOOKS)
def test_each_look_learns_with_all_that_it_has(name):
    torch.manual_seed(0)
    model, draw = cities.OneLook(**cities.LOOKS[name]), cities.draw_for(name)
    before = [weights.clone() for weights in model.parameters()]
    cities.fit(model, seed=0, num_steps=2, batch=8, rate=1e-2, draw=draw)
    moved = zip(before, model.parameters(), strict=True)
    assert all(not torch.equal(old, new) for old, new in moved)


def test_each_norm_is_what_it_is_called():
    X, Y = torch.randn(2, 3, 5, 4, generator=generator())
    assert torch.equal(stacks.NoNorm(4, 0)(X, Y), X + Y)
    assert torch.equal(stacks.Neither(4, 0)(X, Y), Y)
    by_position = stacks.NoResidual(4, 0)(X, Y)
    torch.testing.assert_close(by_position.mean(2), torch.zeros(3, 5), atol=1e-5, rtol=0)
    assert not torch.allclose(by_position, stacks.NoResidual(4, 0)(X, X))
    by_batch = stacks.BatchNorm(4, 0)(X, Y)
    torch.testing.assert_close(by_batch.mean((0, 1)), torch.zeros(4), atol=1e-5, rtol=0)


def test_each_norm_fits_into_a_block():
    X, lengths = torch.randn(2, 5, 32, generator=generator()), torch.tensor([5, 3])
    for kind in (stacks.BatchNorm, stacks.NoResidual, stacks.NoNorm, stacks.Neither):
        assert stacks.Stack(1, 32, kind=kind)(X, lengths).shape == X.shape


def test_a_word_hears_nothing_from_beyond_its_reach():
    torch.manual_seed(0)
    X, lengths = torch.randn(1, 9, WIDTH), torch.tensor([9])
    changed = X.clone()
    changed[0, 4] += 1
    for mix, reach in ((LocalAttention(1), 1), (LocalAttention(3), 3), (TwoLayers(2), 4)):
        moved = (mix(X, lengths) != mix(changed, lengths)).any(dim=2)[0]
        assert moved.tolist() == [abs(place - 4) <= reach for place in range(9)]
