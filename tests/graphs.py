"""What autograd keeps alive, for tests that hold on to no graph."""

import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


class Saved:
    """What autograd keeps in place of a tensor: it lives as long as the graph does."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


@contextmanager
def kept_by_the_graph() -> Iterator[weakref.WeakSet[Saved]]:
    """Give a set of what graphs built inside keep; it empties when they end."""
    kept: weakref.WeakSet[Saved] = weakref.WeakSet()

    def keep(tensor: Tensor) -> Saved:
        saved = Saved(tensor.detach())  # else it would keep the graph that keeps it
        kept.add(saved)
        return saved

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda saved: saved.tensor):
        yield kept
