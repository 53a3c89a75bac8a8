"""Positions that are drawn in training, so that no place and no distance stays strange (7b, 8).

In use they give what `PositionalEncoding` and `RotaryPositions` give. Sources: Kiyono et al. 2021,
"SHAPE: Shifted Absolute Position Embedding for Transformers", for starts; Ruoss et al. 2023,
"Randomized Positional Encodings Boost Length Generalization of Transformers", for gaps.
"""

import torch
from torch import Tensor

from d2lattn.positional import PositionalEncoding, RotaryPositions

FARTHEST = 32  # where a sentence's places may begin
REACH = 40  # places that words with gaps between them may have


class RandomStarts(PositionalEncoding):
    """Waves of position which, in training, count each sequence from a random place.

    >>> encoding = RandomStarts(num_hiddens=2, dropout=0)
    >>> X = torch.zeros(3, 5, 2)
    >>> torch.equal(encoding.eval()(X), PositionalEncoding(2, 0)(X))
    True
    >>> places = encoding.draw(batch_size=3, length=5)
    >>> bool((places.diff(dim=1) == 1).all()), bool((places[:, 0] <= FARTHEST).all())
    (True, True)
    """

    def draw(self, batch_size: int, length: int) -> Tensor:
        """Draw the places of each sequence's words, (B, T)."""
        return torch.randint(FARTHEST + 1, (batch_size, 1)) + torch.arange(length)

    def forward(self, X: Tensor, start: int = 0) -> Tensor:
        """Add waves to (B, T, num_hiddens); in training, `start` says nothing."""
        if not self.training:
            return super().forward(X, start)
        places = self.draw(*X.shape[:2])  # (B, T)
        return self.dropout(X + self.P[0, places])  # (B, T, D) + (B, T, D)


class RandomPlaces(RandomStarts):
    """Waves of position which, in training, leave out places: words keep their order alone.

    The places of a sentence are drawn from the first so many, from as many as it has words (then
    nothing is left out) to `REACH`.

    >>> places = RandomPlaces(num_hiddens=2, dropout=0).draw(batch_size=3, length=5)
    >>> bool((places.diff(dim=1) >= 1).all()), bool((places < REACH).all())
    (True, True)
    """

    def draw(self, batch_size: int, length: int) -> Tensor:
        """Draw the places of each sequence's words, (B, T)."""
        return with_gaps(batch_size, length)


class RandomTurns(RotaryPositions):
    """Rotary positions which, in training, leave out places.

    A stack takes it twice: as `relative`, which turns, and as `pos_encoding`, which adds nothing
    but is called first, and draws the places of this pass for all layers.

    >>> turns = RandomTurns(head_dim=2)
    >>> X = torch.ones(3, 5, 8)  # of a stack: (B, T, D)
    >>> torch.equal(turns(X), X)
    True
    >>> places = turns.places
    >>> bool((places.diff(dim=1) >= 1).all()), bool((places < REACH).all())
    (True, True)
    """

    places: Tensor | None = None

    def forward(self, X: Tensor, start: int = 0) -> Tensor:
        """Draw places, (B, T), for vectors (B, T, D), which come back as they are."""
        self.places = with_gaps(*X.shape[:2]) if self.training else None
        return X

    def turn(self, X: Tensor, start: int = 0) -> Tensor:
        """Turn queries or keys, (B, H, T, head_dim); in training, `start` says nothing."""
        if self.places is None:
            return super().turn(X, start)
        angles = self.P[self.places].unsqueeze(1)  # (B, 1, T, head_dim)
        sin, cos = angles[..., 0::2], angles[..., 1::2]
        x, y = X[..., 0::2], X[..., 1::2]  # (B, H, T, head_dim / 2)
        return torch.stack((x * cos - y * sin, x * sin + y * cos), dim=-1).flatten(-2)


def with_gaps(batch_size: int, length: int) -> Tensor:
    """Draw places in order, (B, T), from the first so many: from `length`, no gap, to `REACH`."""
    reach = max(REACH, length)
    ends = torch.randint(length, reach + 1, (batch_size, 1))  # (B, 1)
    luck = torch.rand(batch_size, reach)  # whose is smallest, are the places
    luck = luck.masked_fill(torch.arange(reach) >= ends, 2.0)
    return luck.argsort(dim=1)[:, :length].sort(dim=1).values
