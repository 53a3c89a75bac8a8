"""PyTorch's fused kernel for attention, which as a rule never holds the matrix of weights."""

import torch
from torch import Tensor
from torch.nn import functional as F

DEVICES_WITH_ZERO_ROWS = ("cpu",)
"""Devices whose kernels give a row without a key zeros, and zero gradients; CI tests the oldest and
the newest PyTorch allowed. (Apple's GPU gave NaN before 2.9: pytorch/pytorch#156707.)"""


def fused_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None = None,
    dropout: float = 0.0,
    bias: Tensor | None = None,
) -> Tensor:
    """Return softmax(q k^T / sqrt(d) + bias) v, without checking anything.

    >>> import torch
    >>> values = torch.tensor([[[2.0], [4.0]]])
    >>> fused_attention(torch.ones(1, 1, 1), torch.ones(1, 2, 1), values)
    tensor([[[3.]]])

    The mask broadcasts to the scores, and a row may be without a key; `dropout` is the share of
    weights set to zero. Dropout on the CPU, or values of another width than the queries, take
    PyTorch's plain path, which does hold the matrix. Keys and values may have fewer heads than
    queries, which then share them. The bias is (H, Q, K); without an axis of heads, H is 1.
    """
    if queries.dim() == 3:
        # The kernel needs an axis of heads: (B, Q, D) -> (B, 1, Q, D), and back.
        queries, keys, values = queries.unsqueeze(1), keys.unsqueeze(1), values.unsqueeze(1)
        mask = None if mask is None else mask.unsqueeze(-3)  # a mask (Q, K) becomes (1, Q, K)
        return fused_attention(queries, keys, values, mask, dropout, bias).squeeze(1)
    shared = {"enable_gqa": True} if keys.shape[1] < queries.shape[1] else {}

    empty = None
    if mask is not None and mask.device.type not in DEVICES_WITH_ZERO_ROWS:
        # Others may give NaN. So these rows see all keys, and their output is set to zero after.
        empty = ~mask.any(dim=-1, keepdim=True)  # (B, H, Q, 1)
        mask = mask | empty
    if bias is not None:  # the kernel takes one mask; one of numbers is added to scores
        mask = bias[None] if mask is None else torch.where(mask, bias, -torch.inf)
    output = F.scaled_dot_product_attention(queries, keys, values, mask, dropout, **shared)
    return output if empty is None else output.masked_fill(empty, 0.0)
