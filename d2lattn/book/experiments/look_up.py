"""Chapter 3's experiment, and 3b's: find a value by a query that is written in another language.

Each example has eight keys of 16 entries and a number as the value of each. The query describes
one of the keys, or it is a wish of which one key has most; it is turned by a matrix that nobody
tells the network. The answer is that key's value. Several networks train side by side along a
leading axis S, each with its own start.
"""

import math
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from d2lattn.book.tables import read_tables

NUM_NETWORKS, NUM_KEYS, NUM_ENTRIES = 5, 8, 16
RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
MOMENTS = (20, 100, 200)
"""Steps after which errors are measured, if nobody says otherwise."""

Score = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
Task = Callable[[int, torch.Generator], "Examples"]


class Parameters(NamedTuple):
    """What a score learns; a score without hidden units leaves the last two alone."""

    W_q: Tensor
    W_k: Tensor
    w_v: Tensor
    bias: Tensor


class Examples(NamedTuple):
    """Queries (S, B, 1, 16), keys (S, B, 8, 16), values (S, B, 8), answers (S, B, 1)."""

    queries: Tensor
    keys: Tensor
    values: Tensor
    answers: Tensor


class Learned(NamedTuple):
    """What training gave: errors on the way, (T, S) each, and what was learned."""

    validation: Tensor
    test: Tensor
    parameters: Parameters


# Each score takes projected queries (S, B, Q, D) and keys (S, B, K, D), then w_v and the bias,
# (S, D) each, and gives (S, B, Q, K).


def dot(q: Tensor, k: Tensor, w_v: Tensor, bias: Tensor) -> Tensor:
    """Score by q^T k."""
    return q @ k.transpose(-2, -1)  # (S, B, Q, D) x (S, B, D, K) -> (S, B, Q, K)


def scaled_dot(q: Tensor, k: Tensor, w_v: Tensor, bias: Tensor) -> Tensor:
    """Score by q^T k / sqrt(D)."""
    return dot(q, k, w_v, bias) / math.sqrt(q.shape[-1])


def gaussian(q: Tensor, k: Tensor, w_v: Tensor, bias: Tensor) -> Tensor:
    """Score by -||q - k||^2 / 2, without the query's norm: softmax ignores it."""
    norms = k.square().sum(dim=-1).unsqueeze(-2)  # (S, B, K, D) -> (S, B, 1, K)
    return dot(q, k, w_v, bias) - norms / 2


def scaled_gaussian(q: Tensor, k: Tensor, w_v: Tensor, bias: Tensor) -> Tensor:
    """Score by -||q - k||^2 / (2 sqrt(D)), up to the query's norm."""
    return gaussian(q, k, w_v, bias) / math.sqrt(q.shape[-1])


def additive(q: Tensor, k: Tensor, w_v: Tensor, bias: Tensor) -> Tensor:
    """Score by w_v^T tanh(q + k), without a bias."""
    return additive_with_bias(q, k, w_v, torch.zeros_like(bias))


def additive_with_bias(q: Tensor, k: Tensor, w_v: Tensor, bias: Tensor) -> Tensor:
    """Score by w_v^T tanh(q + k + b)."""
    q = (q + bias[:, None, None]).unsqueeze(3)  # (S, 1, 1, D) + (S, B, Q, D) -> (S, B, Q, 1, D)
    features = torch.tanh(q + k.unsqueeze(2))  # + (S, B, 1, K, D) -> (S, B, Q, K, D)
    return torch.einsum("sbqkd,sd->sbqk", features, w_v)


def language() -> Tensor:
    """The basis in which queries are written, (16, 16): orthogonal, and the same for all."""
    entries = torch.randn(NUM_ENTRIES, NUM_ENTRIES, generator=torch.Generator().manual_seed(9))
    return torch.linalg.qr(entries).Q


def draw(batch: int, generator: torch.Generator) -> Examples:
    """Draw fresh examples for every network; the query is one of the keys, with noise.

    >>> draw(3, torch.Generator().manual_seed(0)).queries.shape
    torch.Size([5, 3, 1, 16])
    """
    keys = torch.randn(NUM_NETWORKS, batch, NUM_KEYS, NUM_ENTRIES, generator=generator)
    values = torch.randn(NUM_NETWORKS, batch, NUM_KEYS, generator=generator)
    noise = torch.randn(NUM_NETWORKS, batch, 1, NUM_ENTRIES, generator=generator)
    # Attention does not see places, so the key that is asked for may as well stand at place 0.
    queries = keys[:, :, :1] @ language() + noise / 2  # (S, B, 1, 16) x (16, 16)
    return Examples(queries, keys, values, values[:, :, :1])


def draw_wishes(batch: int, generator: torch.Generator) -> Examples:
    """Draw as `draw` does; the query says how much of each entry is wanted, and the most wins.

    >>> examples = draw_wishes(3, torch.Generator().manual_seed(0))
    >>> wishes = examples.queries @ language().T
    >>> most = (wishes @ examples.keys.transpose(-2, -1)).argmax(dim=-1)  # (S, B, 1)
    >>> torch.equal(examples.values.gather(-1, most), examples.answers)
    True
    """
    keys = torch.randn(NUM_NETWORKS, batch, NUM_KEYS, NUM_ENTRIES, generator=generator)
    values = torch.randn(NUM_NETWORKS, batch, NUM_KEYS, generator=generator)
    wishes = torch.randn(NUM_NETWORKS, batch, 1, NUM_ENTRIES, generator=generator)
    most = (wishes @ keys.transpose(-2, -1)).argmax(dim=-1)  # (S, B, 1, 8) -> (S, B, 1)
    return Examples(wishes @ language(), keys, values, values.gather(-1, most))


def start(num_networks: int, inputs: int, width: int) -> Parameters:
    """Random projections that keep the variance of entries; a w_v and a bias of that order."""
    generator = torch.Generator().manual_seed(8)
    W_q, W_k = torch.randn(2, num_networks, inputs, width, generator=generator) / math.sqrt(inputs)
    w_v = torch.randn(num_networks, width, generator=generator) / math.sqrt(width)
    bias = torch.randn(num_networks, width, generator=generator) / math.sqrt(inputs)
    return Parameters(*(tensor.requires_grad_() for tensor in (W_q, W_k, w_v, bias)))


def attend(
    score: Score,
    parameters: Parameters,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    allowed: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Project, score, normalise and sum.

    Args:
        score: one of this module's scores.
        parameters: from `start`.
        queries: shape (S, B, Q, inputs).
        keys: shape (S, B, K, inputs).
        values: one number a key, shape (S, B, K).
        allowed: booleans that broadcast to (S, B, Q, K), true where a query may look.

    Returns:
        Answers of shape (S, B, Q) and weights of shape (S, B, Q, K).
    """
    q = torch.einsum("sbqi,sid->sbqd", queries, parameters.W_q)
    k = torch.einsum("sbki,sid->sbkd", keys, parameters.W_k)
    scores = score(q, k, parameters.w_v, parameters.bias)
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -math.inf)
    weights = scores.softmax(dim=-1)
    return (weights @ values.unsqueeze(-1)).squeeze(-1), weights  # (S, B, Q, K) x (S, B, K, 1)


def error(answers: Tensor, wanted: Tensor) -> Tensor:
    """Mean squared error of each network: (S, B, Q) twice -> (S,)."""
    return (answers - wanted).square().mean(dim=(1, 2))


def unseen(purpose: str, task: Task = draw) -> Examples:
    """Draw 1,000 examples a network for choosing a rate ("validation") or for reporting ("test").

    >>> examples = unseen("test")
    >>> average = examples.values.mean(dim=-1, keepdim=True)
    >>> print(f"{error(average, examples.answers).mean():.1f}")  # in expectation 7/8
    0.9
    """
    seed = {"validation": 10, "test": 14}[purpose]
    return task(1000, torch.Generator().manual_seed(seed))


def learn(
    score: Score, width: int, rate: float, moments: Sequence[int] = MOMENTS, task: Task = draw
) -> Learned:
    """Train by Adam on 64 fresh examples a step, and measure on unseen ones after some steps.

    Args:
        score: one of this module's scores.
        width: of projected queries and keys.
        rate: of learning.
        moments: after how many steps errors are measured; the last one ends the training.
        task: what draws examples.
    """
    validation, test = unseen("validation", task), unseen("test", task)
    generator = torch.Generator().manual_seed(11)
    parameters = start(NUM_NETWORKS, NUM_ENTRIES, width)
    optimizer = torch.optim.Adam(parameters, lr=rate)

    @torch.no_grad()
    def measured(part: Examples) -> Tensor:
        # 100 at a time take half the time or less: the projected keys of 1,000 would be 40 MB.
        few = zip(*(tensor.split(100, dim=1) for tensor in part[:3]), strict=True)
        said = [attend(score, parameters, *some)[0] for some in few]
        return error(torch.cat(said, dim=1), part.answers)

    choosing, telling = [], []
    for step in range(moments[-1] + 1):
        if step > 0:
            *seen, wanted = task(64, generator)
            loss = error(attend(score, parameters, *seen)[0], wanted).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if step in moments:
            choosing.append(measured(validation))
            telling.append(measured(test))
    return Learned(torch.stack(choosing), torch.stack(telling), parameters)


def over(divisor: float) -> Score:
    """Score by q^T k over a number."""
    return lambda q, k, w_v, bias: dot(q, k, w_v, bias) / divisor


SEARCHED: dict[str, tuple[Task, Score, int]] = {
    "description, dot, 16": (draw, dot, 16),
    "description, dot, 64": (draw, dot, 64),
    "description, dot, 256": (draw, dot, 256),
    "description, scaled dot, 16": (draw, scaled_dot, 16),
    "description, scaled dot, 64": (draw, scaled_dot, 64),
    "description, scaled dot, 256": (draw, scaled_dot, 256),
    "description, dot over d, 64": (draw, over(64), 64),
    "description, dot over d, 256": (draw, over(256), 256),
    "description, Gaussian, 256": (draw, gaussian, 256),
    "description, scaled Gaussian, 64": (draw, scaled_gaussian, 64),
    "description, scaled Gaussian, 256": (draw, scaled_gaussian, 256),
    "description, additive, 64": (draw, additive, 64),
    "description, additive with a bias, 64": (draw, additive_with_bias, 64),
    "description, additive with a bias, 256": (draw, additive_with_bias, 256),
    "wish, scaled dot, 64": (draw_wishes, scaled_dot, 64),
    "wish, scaled Gaussian, 64": (draw_wishes, scaled_gaussian, 64),
    "wish, additive, 64": (draw_wishes, additive, 64),
    "wish, additive with a bias, 64": (draw_wishes, additive_with_bias, 64),
    "wish, additive with a bias, 256": (draw_wishes, additive_with_bias, 256),
}
"""What benchmarks/looking_up.py trains at every rate: task, score and width."""


class Best(NamedTuple):
    """The best of the rates for a number of steps, and the networks' errors at it, (S,)."""

    rate: float
    test: Tensor


def read_search(page: str | os.PathLike[str]) -> dict[tuple[str, int], Best]:
    """Read from the benchmark's page the best rate of each of SEARCHED, after each of MOMENTS.

    Which one is best, validation examples have said. So each score is told of at its best, and
    no error that is reported has chosen its rate.
    """
    tables = read_tables(page)[1::2]  # of each pair, the second has the chosen rates
    return {
        (name, moment): Best(float(rate), torch.tensor([float(error) for error in errors]))
        for moment, table in zip(MOMENTS, tables, strict=True)
        for name, (rate, _, *errors) in table.items()
    }
