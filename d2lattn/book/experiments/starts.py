"""Positions that are drawn in training, so that no place and no distance stays strange (7b).

Both give in use what `PositionalEncoding` gives. Sources: Kiyono et al. 2021, "SHAPE: Shifted
Absolute Position Embedding for Transformers", for starts; Ruoss et al. 2023, "Randomized Positional
Encodings Boost Length Generalization of Transformers", for places with gaps between them.
"""

import torch
from torch import Tensor

from d2lattn.positional import PositionalEncoding

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
        reach = max(REACH, length)
        ends = torch.randint(length, reach + 1, (batch_size, 1))  # (B, 1)
        luck = torch.rand(batch_size, reach)  # whose is smallest, are the places
        luck = luck.masked_fill(torch.arange(reach) >= ends, 2.0)
        return luck.argsort(dim=1)[:, :length].sort(dim=1).values
