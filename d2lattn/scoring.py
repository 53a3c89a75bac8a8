"""Scoring functions: masked softmax, additive attention and scaled dot-product attention.

The first axis is the batch. What takes `valid_lens` counts and checks (see `masks`); what takes a
mask, true where a key is valid, computes and checks nothing.
"""

import math
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lattn.checks import check_floats, wrong
from d2lattn.masks import length_mask
from d2lattn.weights import Attends

GIVES_ZEROS = ("cpu",)
"""Devices whose kernels give zeros to a row without a key, and pass zeros back: CI asks the oldest
PyTorch allowed and the newest. (Apple's GPU gave NaN before 2.9: pytorch/pytorch#156707.)"""


def masked_softmax(X: Tensor, valid_lens: Tensor | None) -> Tensor:
    """Softmax over the last axis, among the first `valid_lens` keys only.

    A row with no valid key gets zeros, and passes zeros back. What a masked key scores makes no
    difference, be it infinite or not a number.

    >>> masked_softmax(torch.zeros(2, 1, 4), torch.tensor([2, 4]))
    tensor([[[0.5000, 0.5000, 0.0000, 0.0000]],
    <BLANKLINE>
            [[0.2500, 0.2500, 0.2500, 0.2500]]])

    Args:
        X: scores, shape (B, Q, K), or (B, H, Q, K) with heads, or (B, K) with one query each.
        valid_lens: integers from 0 to K: None (all keys are valid), shape (B,) (one length for all
            queries of a sequence) or (B, Q) (a length for each query; heads share it).

    Returns:
        The weights, a tensor of the shape and dtype of `X`; each row sums to 1 or is zero.

    Raises:
        TypeError: `X` is not a tensor of floating-point numbers, or the lengths not of integers.
        ValueError: a shape or a length does not fit.

    Source: d2l.ai section 11.3.2.1; the notes' listing 10.3.1.
    """
    check_floats(X=X)
    if not 2 <= X.dim() <= 4:
        raise wrong(ValueError, "X", X, "(B, K), (B, Q, K) or (B, H, Q, K)")
    return softmax_among(X, None if valid_lens is None else length_mask(valid_lens, X.shape))


def softmax_among(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the keys where `mask` is true, zeros elsewhere; it broadcasts."""
    if mask is None:
        return F.softmax(scores, dim=-1)
    # No valid score is below minus infinity. But softmax of nothing else is
    # 0 / 0, so rows without a key are filled with zeros first and emptied
    # after: NaN in neither direction.
    empty = ~mask.any(dim=-1, keepdim=True)  # (B, Q, 1)
    scores = scores.masked_fill(~mask, -math.inf)  # (B, Q, K)
    weights = F.softmax(scores.masked_fill(empty, 0.0), dim=-1)
    return weights.masked_fill(empty, 0.0)


def additive_scores(queries: Tensor, keys: Tensor, w_v: Tensor) -> Tensor:
    """Additive score w_v^T tanh(q + k) of every query with every key.

    >>> additive_scores(torch.zeros(1, 1, 2), torch.tensor([[[0.0, 9.0]]]), torch.ones(2))
    tensor([[[1.0000]]])

    Args:
        queries: projected queries W_q q, shape (B, Q, h); (B, H, Q, h) works too.
        keys: projected keys W_k k, shape (B, K, h) or (B, H, K, h).
        w_v: the vector that sums the features up, shape (h,).

    Returns:
        Scores of shape (B, Q, K) or (B, H, Q, K).

    Source: Bahdanau et al. 2015, appendix A.1.2; d2l.ai section 11.3.4.
    """
    # tanh in place: of the four-axis features, one tensor exists, the one that autograd keeps.
    features = queries.unsqueeze(-2) + keys.unsqueeze(-3)  # (B, Q, 1, h) + (B, 1, K, h)
    return features.tanh_() @ w_v  # (B, Q, K, h) x (h,) -> (B, Q, K)


class AdditiveAttention(Attends, nn.Module):
    """Attention by a small network: a(q, k) = w_v^T tanh(W_q q + W_k k).

    >>> attention = AdditiveAttention(key_size=2, query_size=3, num_hiddens=8, dropout=0)
    >>> values = torch.tensor([[[2.0], [4.0], [9.0]]])
    >>> attention(torch.ones(1, 1, 3), torch.ones(1, 3, 2), values, torch.tensor([2]))
    tensor([[[3.]]], grad_fn=<UnsafeViewBackward0>)

    Call it with queries (B, Q, query_size), keys (B, K, key_size), values (B, K, V) and
    `valid_lens` as in `masked_softmax`; it gives (B, Q, V). An axis of heads after the batch works
    too. Wrong types raise TypeError, wrong shapes and lengths ValueError. Keys and values need to
    be finite, masked ones too.

    With n = B Q K h, a forward pass holds n numbers beside tensors of three axes, and so does its
    graph; the backward pass reaches 3 n.

    Args:
        key_size: width of a key.
        query_size: width of a query.
        num_hiddens: h, how many features a query and a key have in common.
        dropout: the share of weights that training sets to zero.

    Source: Bahdanau et al. 2015, appendix A.1.2; d2l.ai section 11.3.4; the notes' listing 10.3.2.
    """

    def __init__(self, key_size: int, query_size: int, num_hiddens: int, dropout: float) -> None:
        super().__init__()
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False)
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None
    ) -> Tensor:
        """Check, project the keys and attend."""
        check_floats(module=self.w_v.weight, queries=queries, keys=keys, values=values)
        _check_shapes(queries, keys, values, self.W_q.in_features, self.W_k.in_features)
        mask = _mask(valid_lens, queries, keys)
        return self.attend(queries, self.project_keys(keys), values, mask)

    def project_keys(self, keys: Tensor) -> Tensor:
        """W_k k, the same for every query, so a decoder asks for it once: (B, K, h)."""
        return self.W_k(keys)

    def attend(
        self, queries: Tensor, projected_keys: Tensor, values: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Average the values by softmax(w_v^T tanh(W_q q + W_k k)), with keys projected already."""
        scores = additive_scores(self.W_q(queries), projected_keys, self.w_v.weight[0])
        weights = softmax_among(scores, mask)
        output = self.dropout(weights) @ values  # (B, Q, K) x (B, K, V) -> (B, Q, V)
        kept = weights.detach()
        self._keep(lambda: kept)
        return output


def dot_product_scores(queries: Tensor, keys: Tensor) -> Tensor:
    """Scaled dot product q^T k / sqrt(d) of every query with every key.

    >>> dot_product_scores(torch.tensor([[[1.0, 2, 3, 4]]]), torch.tensor([[[1.0, 1, 1, 1]]]))
    tensor([[[5.]]])
    """
    # (B, Q, D) x (B, D, K) -> (B, Q, K)
    return queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])


def dot_product_attention(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Give softmax(q k^T / sqrt(d)) v, as it is written: what `DotProductAttention` computes.

    >>> values = torch.tensor([[[2.0], [4.0]]])
    >>> dot_product_attention(torch.ones(1, 1, 1), torch.ones(1, 2, 1), values)
    tensor([[[3.]]])

    Source: Vaswani et al. 2017, equation 1.
    """
    scores = dot_product_scores(queries, keys)  # (B, Q, K)
    weights = softmax_among(scores, mask)
    return weights @ values  # (B, Q, K) x (B, K, V) -> (B, Q, V)


class DotProductAttention(Attends, nn.Module):
    """Attention by scaled dot products: a(q, k) = q^T k / sqrt(d), for queries and keys of width d.

    It is `dot_product_attention` by PyTorch's fused kernel, which gives the same without ever
    holding the (B, Q, K) matrix of weights.

    >>> attention = DotProductAttention(dropout=0)
    >>> values = torch.tensor([[[2.0], [4.0], [9.0]]])
    >>> attention(torch.ones(1, 1, 1), torch.ones(1, 3, 1), values, torch.tensor([2]))
    tensor([[[3.]]])
    >>> attention.attention_weights
    tensor([[[0.5000, 0.5000, 0.0000]]])

    Call it with queries (B, Q, D), keys (B, K, D), values (B, K, V) and `valid_lens` as in
    `masked_softmax`; it gives (B, Q, V). An axis of heads after the batch works too. Wrong types
    raise TypeError, wrong shapes and lengths ValueError. Queries, keys and values need to be
    finite, masked ones too.

    The weights are worked out from queries and keys when they are read: so read them before you
    change those in place. Values of another width than the queries, and dropout in training, take
    PyTorch's plain path, which does hold the matrix.

    Args:
        dropout: the share of weights that training sets to zero.

    Source: Vaswani et al. 2017, equation 1; d2l.ai section 11.3.3; the notes' listing 10.3.3.
    """

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None
    ) -> Tensor:
        """Check and attend."""
        check_floats(queries=queries, keys=keys, values=values)
        _check_shapes(queries, keys, values)
        output = self.attend(queries, keys, values, _mask(valid_lens, queries, keys))
        if valid_lens is not None and valid_lens.dim() > 1:
            # The mask is K times as large as a length for each query: so these are kept instead.
            lens = valid_lens.clone()
            self._keep(partial(_weights_by_lengths, queries.detach(), keys.detach(), lens))
        return output

    def project_keys(self, keys: Tensor) -> Tensor:
        """Give the keys as they are: unlike `AdditiveAttention`, a dot product needs no more."""
        return keys

    def attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Call the kernel, and keep what the weights can be worked out from.

        The mask, true where a key is valid, broadcasts to the scores: (Q, K) will do.
        """
        layer = self.dropout  # asked for once: `nn.Module` searches for it
        dropout = layer.p if layer.training else 0.0
        output = _fused_attention(queries, keys, values, mask, dropout)
        self._keep(partial(_dot_product_weights, queries.detach(), keys.detach(), mask))
        return output


def _weights_by_lengths(queries: Tensor, keys: Tensor, valid_lens: Tensor | None) -> Tensor:
    return _dot_product_weights(queries, keys, _mask(valid_lens, queries, keys))


def _dot_product_weights(queries: Tensor, keys: Tensor, mask: Tensor | None) -> Tensor:
    # Like the fused kernel: scores of half-precision inputs are summed in single precision.
    exact = torch.promote_types(queries.dtype, torch.float32)
    scores = dot_product_scores(queries.to(exact), keys.to(exact))  # (B, Q, K)
    return softmax_among(scores, mask).to(queries.dtype)


def _fused_attention(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, dropout: float
) -> Tensor:
    """Call the kernel in such a way that a row without a key gives 0, and passes 0 back."""
    if mask is None or mask.device.type in GIVES_ZEROS or mask.any(dim=-1).all():
        return _kernel(queries, keys, values, mask, dropout)
    # Others may give NaN. So these rows look everywhere, and their output is emptied after.
    empty = ~mask.any(dim=-1, keepdim=True)  # (B, Q, 1)
    output = _kernel(queries, keys, values, mask | empty, dropout)
    return output.masked_fill(empty, 0.0)


def _kernel(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, dropout: float
) -> Tensor:
    if queries.dim() == 4:
        return F.scaled_dot_product_attention(queries, keys, values, mask, dropout)
    # The kernel wants an axis of heads: (B, Q, D) -> (B, 1, Q, D), and back.
    queries, keys, values = queries.unsqueeze(1), keys.unsqueeze(1), values.unsqueeze(1)
    mask = None if mask is None else mask.unsqueeze(-3)  # a mask (Q, K) becomes (1, Q, K)
    return F.scaled_dot_product_attention(queries, keys, values, mask, dropout).squeeze(1)


def _mask(valid_lens: Tensor | None, queries: Tensor, keys: Tensor) -> Tensor | None:
    if valid_lens is None:
        return None
    return length_mask(valid_lens, (*queries.shape[:-1], keys.shape[-2]))  # of scores, (B, Q, K)


def _check_shapes(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    query_size: int | None = None,
    key_size: int | None = None,
) -> None:
    """Raise a ValueError unless all fit; without sizes, keys need to be as wide as queries."""
    if not 3 <= queries.dim() <= 4 or queries.shape[-1] != (query_size or queries.shape[-1]):
        width = query_size or "D"
        raise wrong(ValueError, "queries", queries, f"(B, Q, {width}) or (B, H, Q, {width})")
    *batch, _, width = queries.shape  # (B,) or (B, H)
    needed = (*batch, *keys.shape[-2:-1], key_size or width)
    if keys.shape != needed:
        axes = _axes(*batch, "K", key_size or width)
        raise wrong(ValueError, "keys", keys, f"{axes} beside queries of {_axes(*queries.shape)}")
    if values.shape[:-1] != keys.shape[:-1]:
        needs = f"{_axes(*keys.shape[:-1], 'V')}, a row for each key"
        raise wrong(ValueError, "values", values, needs)


def _axes(*sizes: int | str) -> str:
    return f"({', '.join(map(str, sizes))})"
