"""Chapter 6: self-attention restricted to near positions, and the accuracy that it reaches.

Each module takes words (B, T, 32) and lengths (B,) and returns (B, T, 32), so that it can be the
`mix` of an `agreement.Reader`.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from d2lattn.book.experiments import agreement
from d2lattn.masks import sequence_mask
from d2lattn.positional import PositionalEncoding

WIDTH = 32


class LocalAttention(nn.Module):
    """Self-attention to at most r positions on each side; padding is set to zero first."""

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


class TwoLayers(nn.Module):
    """Two layers with a residual connection around the first."""

    def __init__(self, r: int) -> None:
        super().__init__()
        self.first, self.second = LocalAttention(r), LocalAttention(r)

    def forward(self, X: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        output: Tensor = self.second(X + self.first(X, lengths), lengths)
        return output


def one_head() -> agreement.SelfAttention:
    """One head in which each word attends to all words."""
    return agreement.SelfAttention(WIDTH)


def waves() -> PositionalEncoding:
    """Sinusoidal positional encoding, which is added."""
    return PositionalEncoding(WIDTH, 0)


Make = Callable[[], nn.Module]

REACHES: dict[str, Make] = {
    "r = 1": lambda: LocalAttention(1),
    "r = 2": lambda: LocalAttention(2),
    "r = 3": lambda: LocalAttention(3),
    "twice r = 2": lambda: TwoLayers(2),
    "all words": one_head,
}
"""Page 6.4: how many positions away a word may attend."""


def learn(mix: Make, positions: Make | None, seed: int, num_steps: int = 250) -> agreement.Reader:
    """Train a reader."""
    torch.manual_seed(seed)
    reader = agreement.Reader(mix(), positions() if positions else None)
    agreement.learn(reader, num_steps)
    return reader


def right(reader: nn.Module) -> float:
    """Percent of right genders in 1,000 sentences that have one noun of each gender."""
    unseen = agreement.encode(agreement.draw(1000, seed=10**6, mixed=True))
    return 100 * agreement.accuracy(reader, unseen)
