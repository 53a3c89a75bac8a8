"""Metrics of attention and of translation."""

import torch
from torch import Tensor


def attention_entropy(weights: Tensor) -> Tensor:
    """Entropy of each row of attention weights in nats, with 0 log 0 = 0.

    It is 0 when a row looks at one key alone (or at none) and log K when it looks at K keys alike.

    Args:
        weights: attention weights, shape (..., K), of a floating-point type.

    Returns:
        Shape (...).

    Raises:
        ValueError: the weights have no axis of keys, or are integers.

    >>> attention_entropy(torch.tensor([[1.0, 0.0], [0.5, 0.5]]))
    tensor([0.0000, 0.6931])
    """
    if weights.dim() == 0 or not weights.is_floating_point():
        raise ValueError(
            f"weights has shape {tuple(weights.shape)} and type {weights.dtype}; "
            "it needs (..., K) and a floating-point type"
        )
    # The logarithm is held above that of zero, so that a weight of 0 has a finite gradient.
    logs = weights.clamp_min(torch.finfo(weights.dtype).tiny).log()
    return (weights * -logs).sum(dim=-1)
