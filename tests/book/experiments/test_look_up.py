"""The look-up of chapter 3: its task, its scores and its training."""

import math
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

import d2lattn as d2l
from d2lattn.book.experiments import look_up

ROOT = Path(__file__).parents[3]
SCORES = (
    look_up.dot,
    look_up.scaled_dot,
    look_up.gaussian,
    look_up.scaled_gaussian,
    look_up.additive,
    look_up.additive_with_bias,
)


@pytest.fixture
def projected():
    """q (S, B, Q, D), k (S, B, K, D), w_v and a bias (S, D)."""
    generator = torch.Generator().manual_seed(0)
    shapes = ((2, 3, 4, 6), (2, 3, 5, 6), (2, 6), (2, 6))
    return [torch.randn(shape, generator=generator) for shape in shapes]


def test_each_score_is_its_formula(projected):
    q, k, w_v, bias = (tensor[1] for tensor in projected)  # the second network
    w, b = w_v, bias
    formulas = (
        lambda x, y: x @ y,
        lambda x, y: x @ y / math.sqrt(6),
        lambda x, y: x @ y - y @ y / 2,
        lambda x, y: (x @ y - y @ y / 2) / math.sqrt(6),
        lambda x, y: w @ torch.tanh(x + y),
        lambda x, y: w @ torch.tanh(x + y + b),
    )
    for score, formula in zip(SCORES, formulas, strict=True):
        found = score(*projected)
        assert found.shape == (2, 3, 4, 5)
        wanted = formula(q[2, 3], k[2, 1])
        assert found[1, 2, 3, 1] == pytest.approx(wanted.item(), abs=1e-5), score.__name__


def test_attend_agrees_with_the_package():
    generator = torch.Generator().manual_seed(1)
    queries, keys = (
        torch.randn(1, 2, 3, 4, generator=generator),
        torch.randn(1, 2, 5, 4, generator=generator),
    )
    values = torch.randn(1, 2, 5, generator=generator)
    parameters = look_up.start(1, 4, 7)
    allowed = torch.arange(5) < 3
    answers, weights = look_up.attend(
        look_up.scaled_dot, parameters, queries, keys, values, allowed
    )
    attention = d2l.DotProductAttention(dropout=0)
    wanted = attention(
        queries[0] @ parameters.W_q[0],
        keys[0] @ parameters.W_k[0],
        F.pad(values[0].unsqueeze(-1), (0, 6)),
        torch.tensor([3, 3]),
    )
    assert torch.allclose(answers[0], wanted[..., 0], atol=1e-6)
    assert torch.allclose(weights[0], attention.attention_weights, atol=1e-6)


def test_a_query_is_near_its_own_key_in_the_other_language():
    examples = look_up.unseen("validation")
    language = torch.randn(16, 16, generator=torch.Generator().manual_seed(9))
    turn = torch.linalg.qr(language).Q
    distances = torch.cdist(examples.queries, examples.keys @ turn)
    assert (distances.argmin(dim=-1) == 0).float().mean() > 0.99
    assert torch.equal(examples.answers, examples.values[:, :, :1])


def test_rates_are_chosen_and_reported_on_different_examples():
    validation, test = look_up.unseen("validation"), look_up.unseen("test")
    assert not torch.equal(validation.keys, test.keys)
    run = look_up.learn(look_up.scaled_dot, 32, 0.01, (0, 20, 40))
    assert run.test.shape == run.validation.shape == (3, 5)
    answers, _ = look_up.attend(look_up.scaled_dot, run.parameters, *test[:3])
    assert look_up.error(answers, test.answers).mean() < run.test[0].mean() / 2
    # what is measured on the way changes nothing
    again = look_up.learn(look_up.scaled_dot, 32, 0.01, (40,))
    assert torch.equal(again.test[-1], run.test[-1])


def test_the_book_has_all_that_was_searched():
    search = look_up.read_search(ROOT / "reference" / "benchmarks" / "looking-up.md")
    wanted = [(name, moment) for moment in look_up.MOMENTS for name in look_up.SEARCHED]
    assert list(search) == wanted
    for name, best in search.items():
        assert best.rate in look_up.RATES, name
        assert best.test.shape == (5,), name


def test_a_wish_is_for_the_key_with_the_largest_product():
    examples = look_up.unseen("test", look_up.draw_wishes)
    assert not torch.equal(examples.keys, look_up.unseen("validation", look_up.draw_wishes).keys)
    wishes = examples.queries @ look_up.language().T
    products = wishes @ examples.keys.transpose(-2, -1)  # (S, B, 1, K)
    most = F.one_hot(products.argmax(dim=-1), 8)  # (S, B, 1, K)
    assert torch.equal((most * examples.values.unsqueeze(2)).sum(dim=-1), examples.answers)
    # both signs turned, the same key has most; and it is not always the nearest one
    distances = torch.cdist(wishes, examples.keys)
    assert 0.2 < (distances.argmin(dim=-1) == products.argmax(dim=-1)).float().mean() < 0.9
