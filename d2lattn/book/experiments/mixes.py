"""How far a word of chapter 6's sentences may look, and what each network gets right.

A mix takes words (B, T, 32) and lengths (B,), and gives each word something of the others, as
`agreement.Reader` wants it.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from d2lattn.book.experiments import agreement
from d2lattn.masks import sequence_mask
from d2lattn.positional import PositionalEncoding

WIDTH = 32


class Nearby(nn.Module):
    """Self-attention to r places each side; padding is too far or brings nothing."""

    def __init__(self, r: int) -> None:
        super().__init__()
        self.r = r
        self.projections = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))

    def forward(self, X: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        X = sequence_mask(X, lengths)
        queries, keys, values = (project(X) for project in self.projections)
        places = torch.arange(X.shape[1])
        far = (places[:, None] - places).abs() > self.r  # (T, T)
        scores = queries @ keys.mT / math.sqrt(WIDTH)  # (B, T, D) x (B, D, T)
        weights: Tensor = scores.masked_fill(far, -math.inf).softmax(dim=-1)
        return weights @ values  # (B, T, T) x (B, T, D) -> (B, T, D)


class Two(nn.Module):
    """Two layers; what a word knew already is added to what it hears."""

    def __init__(self, r: int) -> None:
        super().__init__()
        self.first, self.second = Nearby(r), Nearby(r)

    def forward(self, X: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        heard: Tensor = self.second(X + self.first(X, lengths), lengths)
        return heard


def one_head() -> agreement.SelfAttention:
    """All words ask all words."""
    return agreement.SelfAttention(WIDTH)


def waves() -> PositionalEncoding:
    """Sinusoids, to be added."""
    return PositionalEncoding(WIDTH, 0)


Make = Callable[[], nn.Module]

REACHES: dict[str, Make] = {
    "r = 1": lambda: Nearby(1),
    "r = 2": lambda: Nearby(2),
    "r = 3": lambda: Nearby(3),
    "twice r = 2": lambda: Two(2),
    "all words": one_head,
}
"""Page 6.4's: how far a word may look."""


def learn(mix: Make, positions: Make | None, seed: int, num_steps: int = 250) -> agreement.Reader:
    """Train a reader."""
    torch.manual_seed(seed)
    reader = agreement.Reader(mix(), positions() if positions else None)
    agreement.learn(reader, num_steps)
    return reader


def right(reader: nn.Module) -> float:
    """Percent of right genders in 1,000 sentences that have one noun of either."""
    unseen = agreement.encode(agreement.draw(1000, seed=10**6, mixed=True))
    return 100 * agreement.accuracy(reader, unseen)
