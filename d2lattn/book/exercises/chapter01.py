"""Checks for the exercises of chapter 1, attention cues."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lattn.book.exercises.checking import (
    Function,
    WrongAnswer,
    call,
    check,
    compare,
    expect,
    judge_tensor,
    read_number,
    read_parts,
    read_tensor,
    recognise,
)
from d2lattn.book.exercises.choices import choice

# The three pairs that the chapter works by hand.
KEYS = torch.tensor([[0, 0], [0, 1], [1, 0]], dtype=torch.float32, device="cpu")
VALUES = torch.tensor([7, 14, 21], dtype=torch.float32, device="cpu")


def _attend(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return (keys @ query).softmax(dim=0) @ values  # (K,) x (K, V) -> (V,)


@check("1.1", right=(_attend,))
def check_attend(attend: Function) -> str:
    """Attention pooling of values that are vectors, by one query."""
    for num_keys, width in ((4, 3), (7, 2), (1, 5)):
        query, keys = torch.randn(width), torch.randn(num_keys, width)
        values = torch.randn(num_keys, 2)
        if num_keys == 7:
            keys[-1] = keys[0]  # two pairs may have the same key, and both count
        scores = keys @ query  # (K, D) x (D) -> (K)
        expected = _attend(query, keys, values)
        mistakes = [
            (values.mean(dim=0), "This is average pooling: it does not depend on the query."),
            (scores @ values, "You used the scores as weights. Normalise them first."),
            (scores @ values / scores.sum(), "Take exponentials first, then divide by their sum."),
            (scores.exp() @ values, "The exponentials are there, but they do not sum to 1 yet."),
            (values[scores.argmax()], "That is the best key's value alone. Average all values."),
            (_attend(query / width**0.5, keys, values), "Do not divide by √d before chapter 3."),
        ]
        hint = "Score = q·k, softmax over the keys, then weights times values."
        case = f"with {num_keys} keys of width {width}"
        compare(attend, (query, keys, values), expected, mistakes, hint, case=case)
        given = query, keys.flip(0), values.flip(0)
        compare(attend, given, expected, [], "The order must not matter.", case="in another order")
    return "compare, normalise, sum; and the order of the pairs does not matter."


@check("1.4", right=((-4, -4),), wrong=[(0, 0), (3, 0), (-1, -1), (-math.inf, 0)])
def check_query(query: Tensor) -> str:
    """A query that pools the chapter's three values to less than 8."""
    query = read_tensor(query, torch.zeros(2), "your query")
    if not query.isfinite().all():
        raise WrongAnswer("Use finite numbers: 0 times infinity, key 1's score, is not a number.")
    weights = (KEYS @ query).softmax(dim=0)  # (K, D) x (D) -> (K)
    output = (weights @ VALUES).item()
    if output >= 8:
        most = int(weights.argmax())
        hint = (
            "That is average pooling: this query prefers no key."
            if weights.max() - weights.min() < 1e-6
            else f"No weight is larger than that of key {most + 1}, {weights[most]:.2f}."
        )
        raise WrongAnswer(
            f"Your query's output is {output:.2f}. {hint} The value 7 belongs to key 1 = (0, 0), "
            "whose score is 0 for every query. How can 0 be by far the largest score?"
        )
    return f"the output is {output:.2f}: key 1 wins because the other two scores are negative."


def _with_salience(query: Tensor, keys: Tensor, salience: Tensor) -> tuple[Tensor, Tensor]:
    return torch.cat([query, torch.ones(1)]), torch.cat([keys, salience[:, None]], dim=1)


def _with_large_salience(query: Tensor, keys: Tensor, salience: Tensor) -> tuple[Tensor, Tensor]:
    return _with_salience(query, keys, salience.abs())


@check(
    "1.5",
    right=(_with_salience,),
    wrong=[
        _with_large_salience,
        lambda query, keys, salience: _with_salience(query, keys, 0 * salience),
        lambda query, keys, salience: _with_salience(query, keys, salience.square()),
    ],
)
def check_with_salience(with_salience: Function) -> str:
    """A longer query and longer keys whose dot product is q·k plus the salience of the key."""
    query, keys = torch.randn(3), torch.randn(5, 3)
    salience, wide = torch.rand(5), torch.tensor([-2.0, 0.0, 0.5, 7.0])
    strong = "with a query three times as strong"
    cases = (
        ("with five keys", query, keys, salience, "What must the query's new entry be?"),
        (strong, 3 * query, keys, salience, "The salience should not grow with the query."),
        ("with saliences from -2 to 7", query, keys[:4], wide, "Add each salience unchanged."),
    )
    for case, query, keys, salience, hint in cases:
        answer = call(with_salience, query, keys, salience, case=case)
        parts = read_parts(answer, 2, "Return two things: the longer query and the longer keys.")
        longer_query = read_tensor(parts[0], torch.zeros(4), "your query")
        longer_keys = read_tensor(parts[1], torch.zeros(len(keys), 4), "your keys")
        products = keys @ query  # (K, D) x (D) -> (K)
        mistakes = [
            (products, "The salience is lost: a new entry is 0."),
            (products + salience.square(), "The salience is squared: use it once, in the key."),
        ]
        scores = longer_keys @ longer_query  # (K, D + 1) x (D + 1) -> (K)
        judge_tensor(scores, products + salience, mistakes, hint, f"{case}, the score")
    return "each score is one dot product: beside a 1 in the query, the key has its salience."


@check("1.8", right=(1.7,), wrong=[-1, 1.6, 1.8])
def check_noise(noise: float) -> str:
    """Noise above which the nearest key is worse than average pooling (1.67 in 400,000 trials)."""
    result = read_number(noise, "the noise")
    if result < 0:
        raise WrongAnswer("Noise is a standard deviation: it cannot be negative.")
    if result < 1.65:
        raise WrongAnswer(
            f"At {result:g}, the nearest key still has the smaller error. Try more noise."
        )
    if result > 1.75:
        raise WrongAnswer(
            f"The nearest key already has the larger error below {result:g}. Try less noise."
        )
    return (
        "at 1.7, the value of the nearest key has a larger error than the average. Attention at "
        "the best temperature cannot do worse than the average: its weights can become equal."
    )


def _softmax(scores: Tensor) -> Tensor:
    powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


@check(
    "1.2",
    right=(_softmax,),
    wrong=[lambda scores: _softmax((scores - scores.max()).exp().log())],
)
def check_softmax(softmax: Function) -> str:
    """Softmax along the last axis, for scores of any size."""
    scores = torch.randn(2, 2, 3)
    powers = scores.exp()
    result = read_tensor(call(softmax, scores), scores, "your weights")
    mistakes = [
        (powers, "These are the exponentials. Divide each by the sum of its row."),
        (powers / powers.sum(), "You divided by the sum of all entries, not by that of each row."),
        (
            scores / scores.sum(dim=-1, keepdim=True),
            "You divided the scores themselves by their sum. Take exponentials first.",
        ),
        (scores.softmax(dim=-2), "The columns add up to 1. Sum along the last axis."),
    ]
    recognise(result, mistakes)
    expect(result, scores.softmax(dim=-1), "Each row is exp(score) over its sum.", "your weights")
    large = scores + torch.tensor([[1000.0], [-1000.0]])  # in each (2, 3)
    case = "with rows of scores near 1000 and near -1000"
    hint = "Subtract the largest score of each row first: this does not change the weights."
    expect(call(softmax, large, case=case), large.softmax(dim=-1), hint, f"{case}, yours")
    return "the same as torch.softmax, even for large scores."


def _attend_all(queries: Tensor, keys: Tensor, values: Tensor, temperature: float) -> Tensor:
    scores = queries @ keys.T / temperature  # (Q, D) x (D, K) -> (Q, K)
    return scores.softmax(dim=-1) @ values  # (Q, K) x (K, V) -> (Q, V)


@check("1.3", right=(_attend_all,))
def check_attend_all(attend: Function) -> str:
    """Attention of many queries at a temperature, as PyTorch computes it."""
    for num_queries, num_keys, temperature in ((4, 3, 2.0), (1, 6, 0.5), (3, 1, 9.0)):
        queries = torch.randn(num_queries, 2)
        keys = torch.randn(num_keys, 2)
        values = torch.randn(num_keys, 5)
        scores = queries @ keys.T  # (Q, D) x (D, K) -> (Q, K)
        expected = F.scaled_dot_product_attention(queries, keys, values, scale=1 / temperature)
        case = f"with {num_queries} queries and {num_keys} keys"
        mistakes = [
            ((scores * temperature).softmax(dim=-1), "Divide by the temperature."),
            (scores.softmax(dim=-1), "The temperature is not used yet."),
            ((scores / temperature).softmax(dim=0), "The softmax runs along the keys, in a row."),
            (scores / temperature, "These are scores times values. The softmax is missing."),
        ]
        hint = "Scores are queries @ keys.T, a row for each query and a column for each key."
        given = queries, keys, values, temperature
        compare(
            attend,
            given,
            expected,
            [(weights @ values, hint) for weights, hint in mistakes],
            hint,
            "your answer",
            case=case,
        )
    return "the same as F.scaled_dot_product_attention with scale=1 / temperature."


check_attention_matrices = choice("1.6")


check_claims = choice("1.7")
