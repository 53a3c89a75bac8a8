"""Chapter 7: stacks of blocks with layer norm, batch norm or none, and with learning-rate warm-up.

The task is chapter 6's, in `agreement`: an article or an adjective finds the gender of its noun.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lattn.book.experiments import agreement
from d2lattn.positional import PositionalEncoding
from d2lattn.transformer import AddNorm, EncoderBlock

NUM_STEPS, HIGHEST, WIDTH = 100, 5e-3, 32


class BatchNorm(nn.Module):
    """Residual connection and batch norm over all positions, in place of `AddNorm`."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(width)

    def forward(self, X: Tensor, Y: Tensor) -> Tensor:
        """(B, T, D) twice -> (B, T, D)."""
        normed: Tensor = self.norm((X + Y).flatten(0, 1))
        return normed.unflatten(0, X.shape[:2])

    def before(self, X: Tensor) -> Tensor:
        """Return the input unchanged, because the norm comes after the sublayer."""
        return X


class NoResidual(AddNorm):
    """Layer norm of the sublayer's output, without the residual connection."""

    def forward(self, X: Tensor, Y: Tensor) -> Tensor:
        """(B, T, D) twice -> (B, T, D)."""
        normed: Tensor = self.ln(Y)
        return normed


class NoNorm(AddNorm):
    """Residual connection without a norm."""

    def forward(self, X: Tensor, Y: Tensor) -> Tensor:
        """(B, T, D) twice -> (B, T, D)."""
        return X + Y


class Neither(AddNorm):
    """Neither residual connection nor norm."""

    def forward(self, X: Tensor, Y: Tensor) -> Tensor:
        """(B, T, D) twice -> (B, T, D)."""
        return Y


class Stack(nn.Module):
    """A stack of encoder blocks with four heads: (B, T, D) and lengths (B,) -> (B, T, D).

    Args:
        num_blocks: how many.
        width: D; the networks inside are twice as wide.
        norm_first: pre-norm, with a norm at the end.
        kind: what stands in place of both `AddNorm` of a block.
    """

    def __init__(
        self,
        num_blocks: int,
        width: int,
        norm_first: bool = False,
        kind: Callable[[int, float], nn.Module] | None = None,
    ) -> None:
        super().__init__()
        self.blks = nn.ModuleList(
            EncoderBlock(width, 2 * width, 4, norm_first=norm_first) for _ in range(num_blocks)
        )
        self.ln = nn.LayerNorm(width) if norm_first else nn.Identity()
        if kind is not None:
            for block in self.blks:
                block.addnorm1, block.addnorm2 = kind(width, 0), kind(width, 0)

    def forward(self, X: Tensor, lengths: Tensor) -> Tensor:
        """Through all blocks."""
        for block in self.blks:
            X = block(X, lengths)
        found: Tensor = self.ln(X)
        return found


NORMS: dict[str, dict[str, Any]] = {
    "batch norm": {"kind": BatchNorm},
    "layer norm, post": {},
    "layer norm, pre": {"norm_first": True},
    "no residual": {"kind": NoResidual},
}
"""Page 7.3: the arguments of the stack of two blocks."""

RECIPES: dict[str, tuple[bool, int]] = {
    "post-norm": (False, 0),
    "post-norm, warm-up": (False, 30),
    "pre-norm": (True, 0),
}
"""Page 7.5: whether six blocks are pre-norm, and the number of warm-up steps."""


def reader(num_blocks: int, seed: int, **options: Any) -> agreement.Reader:
    """Make a reader with waves of position and a stack."""
    torch.manual_seed(seed)
    stack = Stack(num_blocks, WIDTH, **options)
    return agreement.Reader(stack, PositionalEncoding(WIDTH, 0), WIDTH)


def right(trained: nn.Module) -> float:
    """Percent of right genders in 500 sentences that are new."""
    held_out = agreement.encode(agreement.draw(500, 10**6))
    return 100 * agreement.accuracy(trained, held_out)


def fit_norm(name: str, seed: int) -> agreement.Reader:
    """Train two blocks with one of `NORMS`."""
    made = reader(2, seed, **NORMS[name])
    agreement.learn(made, NUM_STEPS, HIGHEST)
    return made


def rate(step: int, warm_up: int) -> float:
    """Return the learning rate of a step: linear warm-up, then linear decay to 0.

    >>> [round(rate(step, warm_up=30), 5) for step in (0, 29, 30, 65)]
    [0.00017, 0.005, 0.005, 0.0025]
    """
    if step < warm_up:
        return HIGHEST * (step + 1) / warm_up
    return HIGHEST * (NUM_STEPS - step) / (NUM_STEPS - warm_up)


@cache
def _batch(step: int) -> agreement.Sentences:
    return agreement.encode(agreement.draw(64, step))


def fit_recipe(name: str, seed: int) -> agreement.Reader:
    """Train six blocks by one of `RECIPES`."""
    norm_first, warm_up = RECIPES[name]
    made = reader(6, seed, norm_first=norm_first)
    optimizer = torch.optim.Adam(made.parameters())
    for step in range(NUM_STEPS):
        optimizer.param_groups[0]["lr"] = rate(step, warm_up)
        words, lengths, genders = _batch(step)
        scores = made(words, lengths).transpose(1, 2)  # (B, T, 2) -> (B, 2, T)
        loss = F.cross_entropy(scores, genders, ignore_index=agreement.NOT_ASKED)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return made
