"""Chapter 5's experiment: how much warmer is one city than another? Eight cities, a look or two.

A city has a name, a 1 among zeros, and a temperature, drawn anew for each question. A question is
two names, end to end, and the answer is the difference of their temperatures. Knowing nothing
costs 2, the variance of the answer.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from d2lattn.multihead import MultiHeadAttention
from d2lattn.training import evaluating

NUM_CITIES = 8

Questions = tuple[Tensor, Tensor, Tensor, Tensor]
Draw = Callable[[int, torch.Generator], Questions]


def questions(count: int, generator: torch.Generator) -> Questions:
    """Draw queries (B, 1, 16), keys (B, 8, 8), values (B, 8, 1) and answers (B,).

    >>> queries, keys, values, answers = questions(1, torch.Generator().manual_seed(0))
    >>> first, second = queries[0, 0].unflatten(0, (2, 8))  # names
    >>> torch.equal((first - second) @ values[0, :, 0], answers[0])
    True
    """
    temps = torch.randn(count, NUM_CITIES, 1, generator=generator)
    first = torch.randint(NUM_CITIES, (count,), generator=generator)
    apart = torch.randint(1, NUM_CITIES, (count,), generator=generator)
    second = (first + apart) % NUM_CITIES
    names, row = torch.eye(NUM_CITIES), torch.arange(count)
    queries = torch.cat((names[first], names[second]), dim=-1)[:, None]
    answers = temps[row, first, 0] - temps[row, second, 0]
    return queries, names.expand(count, NUM_CITIES, NUM_CITIES), temps, answers


def questions_with_owners(count: int, generator: torch.Generator) -> Questions:
    """Draw questions whose values (B, 8, 8) also name their city: zeros except at its index."""
    queries, keys, temps, answers = questions(count, generator)
    return queries, keys, temps * torch.eye(NUM_CITIES), answers


def heads(num_heads: int, width: int) -> MultiHeadAttention:
    """Make heads that share a width; the first number of their output is the answer."""
    return MultiHeadAttention(8, 16, 1, width, num_heads, dropout=0)


class OneLook(nn.Module):
    """Heads of total width 16; a network after them also gets the question."""

    def __init__(
        self,
        value_size: int = 1,
        num_heads: int = 1,
        network: bool = False,
        softmax: bool = True,
    ) -> None:
        super().__init__()
        sizes = 8, 16, value_size, 16  # keys, queries, values, heads together
        self.heads = MultiHeadAttention(*sizes, num_heads, dropout=0)
        self.softmax = softmax
        first, second = nn.Linear(32, 64), nn.Linear(64, 64)
        layers = first, nn.ReLU(), second, nn.ReLU(), nn.Linear(64, 1)
        self.behind = nn.Sequential(*layers) if network else None

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Answer queries (B, 1, 16) from keys (B, 8, 8) and values (B, 8, V)."""
        if self.softmax:
            y = self.heads(queries, keys, values)  # (B, 1, 16)
        else:
            W = self.heads
            scores = W.W_q(queries) @ W.W_k(keys).mT  # (B, 1, 8)
            y = W.W_o(scores @ W.W_v(values))
        if self.behind is not None:
            y = self.behind(torch.cat((y, queries), dim=-1))  # (B, 1, 32)
        return y


def fit(
    model: nn.Module,
    seed: int,
    num_steps: int,
    batch: int,
    rate: float,
    end: float = 0.05,
    draw: Draw = questions,
) -> nn.Module:
    """Train by Adam on fresh questions; the rate falls to a share `end` of itself."""
    generator = torch.Generator().manual_seed(100 + seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, end, num_steps)
    for _ in range(num_steps):
        *inputs, answers = draw(batch, generator)
        loss = (model(*inputs)[:, 0, 0] - answers).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model


@torch.no_grad()
def error(model: nn.Module, draw: Draw = questions) -> float:
    """Mean squared error on 20,000 questions that are the same for all."""
    *inputs, answers = draw(20_000, torch.Generator().manual_seed(9_999))
    with evaluating(model):
        return (model(*inputs)[:, 0, 0] - answers).square().mean().item()


@torch.no_grad()
def multipliers(model: nn.Module) -> Tensor:
    """What each city's temperature is multiplied by in city 0 minus city 1, (8,)."""
    names = torch.eye(NUM_CITIES)
    asked = names[:2].flatten().expand(NUM_CITIES, 1, 2 * NUM_CITIES)
    one_warm = names[:, :, None]  # in case i, city i alone has 1
    with evaluating(model):
        return model(asked, names.expand(NUM_CITIES, NUM_CITIES, NUM_CITIES), one_warm)[:, 0, 0]


LAYERS = {"1 head of 16": (1, 16), "1 head of 64": (1, 64), "2 heads of 8": (2, 16)}
"""The walk: the number of heads, and their total width."""

SHARES = ((2, 1), (2, 2), (2, 4), (2, 8), (4, 4), (8, 2), (16, 1))
"""Page 5.3: the number of heads, and the width of each."""

LOOKS: dict[str, dict[str, Any]] = {
    "one head": {},
    "one head and a network": {"network": True},
    "values show their city": {"value_size": 8},
    "both of these": {"value_size": 8, "network": True},
    "no softmax": {"softmax": False},
    "two heads": {"num_heads": 2},
}
"""Page 5.2: the arguments of each variant of `OneLook`."""


def fit_layer(name: str, seed: int) -> nn.Module:
    """Train one of `LAYERS`."""
    torch.manual_seed(seed)
    return fit(heads(*LAYERS[name]), seed, num_steps=400, batch=128, rate=2e-2)


def fit_share(num_heads: int, width: int, seed: int) -> nn.Module:
    """Train heads of this width."""
    torch.manual_seed(seed)
    model = heads(num_heads, num_heads * width)
    return fit(model, seed, num_steps=800, batch=64, rate=1e-2)


def draw_for(name: str) -> Draw:
    """Return the function that draws the questions for one of `LOOKS`."""
    return questions_with_owners if LOOKS[name].get("value_size") == NUM_CITIES else questions


def fit_look(name: str, seed: int) -> nn.Module:
    """Train one of `LOOKS`."""
    torch.manual_seed(seed)
    model, draw = OneLook(**LOOKS[name]), draw_for(name)
    return fit(model, seed, num_steps=1200, batch=128, rate=5e-3, end=0.02, draw=draw)
