"""Chapter 7's experiment: a Transformer writes words backwards; another has forgotten the mask.

The walk shows all of this in its own cells, and a hidden one there compares them with what stands
here. A word has three to six letters from a to h; ">" starts the answer, "." ends it.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lattn import bare

TOKENS = "abcdefgh>."
ARROW, STOP = 8, 9
SIZES = 24, 48, 2  # width, of the network inside, heads


class Forgetful(bare.DecoderBlock):
    """A decoder's block without the causal mask."""

    def forward(self, X: Tensor, encoded: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """(B, T, D), (B, S, D) -> (B, T, D)."""
        X = self.addnorm1(X, self.attention1(X, X, X))  # no `causal`
        X = self.addnorm2(X, self.attention2(X, encoded, encoded, source_mask))
        read: Tensor = self.addnorm3(X, self.ffn(X))
        return read


def task(letters: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Give what the encoder reads, what the decoder reads, and the answer, (B, N + 1) each.

    >>> for row in task(torch.tensor([[1, 0, 3]])):
    ...     print("".join(TOKENS[token] for token in row[0]))
    bad.
    >dab
    dab.
    """
    start = torch.full_like(letters[:, :1], ARROW)
    source = torch.cat((letters, start + 1), dim=1)  # (B, N + 1)
    answer = torch.cat((letters.flip(1), start + 1), dim=1)
    return source, torch.cat((start, answer[:, :-1]), dim=1), answer


def build(seed: int, forgetful: bool = False) -> bare.Transformer:
    """Make a model of two blocks on either side."""
    torch.manual_seed(seed)
    model = bare.Transformer(10, 10, 2, *SIZES)
    if forgetful:
        model.decoder = bare.BlockStack(10, Forgetful, 2, *SIZES)  # as large
    return model


def loss_of(model: bare.Transformer, letters: Tensor) -> Tensor:
    """Give the mean loss of a letter, by the natural logarithm."""
    source, target, answer = task(letters)
    return F.cross_entropy(model(source, target).mT, answer)


def learn(model: bare.Transformer, num_steps: int = 300) -> None:
    """Train by Adam on 64 random words a step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.008)
    for step in range(num_steps):
        loss = loss_of(model, torch.randint(8, (64, 3 + step % 4)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def judged(seed: int, forgetful: bool, num_steps: int = 300) -> tuple[float, float, float]:
    """Train, and ask for 2,000 new words of six letters.

    Returns:
        The loss, the loss of the same weights with the mask put in, and percent written right.
    """
    model = build(seed, forgetful)
    with torch.enable_grad():
        learn(model, num_steps)
    masked = build(0)
    masked.load_state_dict(model.state_dict())
    new = torch.randint(8, (2000, 6), generator=torch.Generator().manual_seed(7))
    source, _, answer = task(new)
    rows = bare.greedy_decode(model, source, None, answer.shape[1], ARROW, STOP)
    written = F.pad(rows, (0, answer.shape[1] - rows.shape[1]), value=-1)
    share = (written == answer).all(dim=1).double().mean()
    return loss_of(model, new).item(), loss_of(masked, new).item(), 100 * share.item()
