"""Chapter 4's task of memory: read 20 symbols, and name the first.

The first symbol is one of four, the others are noise. Both networks have a state of eight numbers.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

LENGTH, NUM_NAMES, NUM_SYMBOLS, NUM_HIDDENS = 20, 4, 8, 8
KINDS: dict[str, type[nn.RNN] | type[nn.GRU]] = {"plain": nn.RNN, "GRU": nn.GRU}


class FirstSymbol(nn.Module):
    """Reads symbols (B, T) one by one; from the last state, scores of what was first (B, 4)."""

    def __init__(self, kind: type[nn.RNN] | type[nn.GRU]) -> None:
        super().__init__()
        self.embed = nn.Embedding(NUM_SYMBOLS, NUM_HIDDENS)
        self.rnn = kind(NUM_HIDDENS, NUM_HIDDENS, batch_first=True)
        self.dense = nn.Linear(NUM_HIDDENS, NUM_NAMES)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T) -> (B, 4)."""
        scores: Tensor = self.dense(self.rnn(self.embed(x))[0][:, -1])
        return scores


def sequences(number: int, generator: torch.Generator) -> Tensor:
    """Draw sequences (B, 20): one of four symbols, then 19 of four others.

    >>> x = sequences(9, torch.Generator().manual_seed(0))
    >>> bool((x[:, 0] < 4).all()), bool((x[:, 1:] >= 4).all())
    (True, True)
    """
    x = torch.randint(NUM_NAMES, NUM_SYMBOLS, (number, LENGTH), generator=generator)
    x[:, 0] = torch.randint(0, NUM_NAMES, (number,), generator=generator)
    return x


def learn(name: str, seed: int, num_steps: int = 600) -> tuple[FirstSymbol, float]:
    """Train one of `KINDS` by Adam on 64 sequences a step; give it, and percent right of 1,000."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = FirstSymbol(KINDS[name])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(num_steps):
        x = sequences(64, generator)
        loss = F.cross_entropy(model(x), x[:, 0])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    with torch.no_grad():
        x = sequences(1000, generator)
        hits = (model(x).argmax(dim=-1) == x[:, 0]).double()
    return model, 100 * hits.mean().item()
