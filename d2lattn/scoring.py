"""Scoring functions: masked softmax, additive attention and scaled dot-product attention.

Every function here takes queries, keys and values whose first axis is the batch. A length counts
the keys that a query may look at; the keys after it are padding.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lattn.masks import length_mask


def masked_softmax(X: Tensor, valid_lens: Tensor | None) -> Tensor:
    """Softmax over the last axis, among the first `valid_lens` keys only.

    A row with no valid key gets zeros, and passes zeros back. What a masked key scores makes no
    difference, be it infinite or not a number.

    Args:
        X: scores, shape (B, Q, K), or (B, H, Q, K) with heads, or (B, K) with one query each.
        valid_lens: integers from 0 to K: None (all keys are valid), shape (B,) (one length for all
            queries of a sequence) or (B, Q) (a length for each query; heads share it).

    Returns:
        The weights, a tensor of the shape and type of `X`; each row sums to 1 or is zero.

    Raises:
        ValueError: a shape, a type or a length does not fit.

    Source: d2l.ai section 11.3.2.1; the notes' listing 10.3.1.

    >>> masked_softmax(torch.zeros(2, 1, 4), torch.tensor([2, 4]))
    tensor([[[0.5000, 0.5000, 0.0000, 0.0000]],
    <BLANKLINE>
            [[0.2500, 0.2500, 0.2500, 0.2500]]])
    """
    if not 2 <= X.dim() <= 4:
        raise ValueError(
            f"X has shape {tuple(X.shape)}; it needs (B, K), (B, Q, K) or (B, H, Q, K)"
        )
    return _softmax_among(X, _valid_keys(valid_lens, X.shape, X.device))


def additive_scores(queries: Tensor, keys: Tensor, w_v: Tensor) -> Tensor:
    """Additive score w_v^T tanh(q + k) of every query with every key.

    Args:
        queries: projected queries W_q q, shape (B, Q, h); (B, H, Q, h) works too.
        keys: projected keys W_k k, shape (B, K, h) or (B, H, K, h).
        w_v: the vector that sums the features up, shape (h,).

    Returns:
        Scores of shape (B, Q, K) or (B, H, Q, K).

    Source: Bahdanau et al. 2014, appendix A.1.2; d2l.ai section 11.3.4.

    >>> additive_scores(torch.zeros(1, 1, 2), torch.tensor([[[0.0, 9.0]]]), torch.ones(2))
    tensor([[[1.0000]]])
    """
    # tanh in place: of the four-axis features, one tensor exists, the one that autograd keeps.
    features = queries.unsqueeze(-2) + keys.unsqueeze(-3)  # (B, Q, 1, h) + (B, 1, K, h)
    return features.tanh_() @ w_v  # (B, Q, K, h) x (h,) -> (B, Q, K)


class AdditiveAttention(nn.Module):
    """Attention by a small network: a(q, k) = w_v^T tanh(W_q q + W_k k).

    Queries and keys may differ in width. `forward` projects the keys each time; whoever asks about
    the same keys many times (a decoder, step by step) calls `project_keys` once and then `attend`.

    After a call `attention_weights` holds the weights before dropout, shape (B, Q, K), without
    their graph. Let n = B Q K h. Beside tensors of three axes, a forward pass holds n numbers, and
    so does its graph; the backward pass reaches 3 n.

    Keys and values need to be finite, masked ones too. A masked value that is infinite or not a
    number makes the output not a number; such a key leaves the output and spoils the gradients.
    (`masked_softmax` is less strict: it takes any masked score.)

    Args:
        key_size: width of a key.
        query_size: width of a query.
        num_hiddens: h, how many features a query and a key have in common.
        dropout: the share of weights that training sets to zero.

    Source: Bahdanau et al. 2014, appendix A.1.2; d2l.ai section 11.3.4; the notes' listing 10.3.2.

    >>> attention = AdditiveAttention(key_size=2, query_size=3, num_hiddens=8, dropout=0)
    >>> values = torch.tensor([[[2.0], [4.0], [9.0]]])
    >>> attention(torch.ones(1, 1, 3), torch.ones(1, 3, 2), values, torch.tensor([2]))
    tensor([[[3.]]], grad_fn=<UnsafeViewBackward0>)
    """

    def __init__(self, key_size: int, query_size: int, num_hiddens: int, dropout: float) -> None:
        super().__init__()
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False)
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)
        self.dropout = nn.Dropout(dropout)
        self._weights: Tensor | None = None

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None
    ) -> Tensor:
        """Average the values, weighted by how well their keys fit the queries.

        Args:
            queries: shape (B, Q, query_size); (B, H, Q, query_size) works too, here and below.
            keys: shape (B, K, key_size).
            values: shape (B, K, V).
            valid_lens: None, shape (B,) or (B, Q), as in `masked_softmax`.

        Returns:
            Shape (B, Q, V).

        Raises:
            ValueError: a shape, a type or a length does not fit.
        """
        _check_together(queries, "keys", keys, values)
        return self.attend(queries, self.project_keys(keys), values, valid_lens)

    def project_keys(self, keys: Tensor) -> Tensor:
        """W_k k, which no query changes: (B, K, key_size) -> (B, K, h)."""
        _check_width("keys", keys, "key_size", self.W_k.in_features)
        return self.W_k(keys)

    def attend(
        self,
        queries: Tensor,
        projected_keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
    ) -> Tensor:
        """Do what `forward` does, with keys from `project_keys`, shape (B, K, h)."""
        _check_width("queries", queries, "query_size", self.W_q.in_features)
        _check_width("projected_keys", projected_keys, "num_hiddens", self.w_v.in_features)
        _check_together(queries, "projected_keys", projected_keys, values)
        scores_shape = queries.shape[:-1] + projected_keys.shape[-2:-1]  # (B, Q, K)
        valid = _valid_keys(valid_lens, scores_shape, queries.device)
        scores = additive_scores(self.W_q(queries), projected_keys, self.w_v.weight[0])
        weights = _softmax_among(scores, valid)
        self._weights = weights.detach()
        return self.dropout(weights) @ values  # (B, Q, K) x (B, K, V) -> (B, Q, V)

    @property
    def attention_weights(self) -> Tensor:
        """Weights of the last call, shape (B, Q, K): rows are queries, columns are keys."""
        if self._weights is None:
            raise RuntimeError("attention_weights: there are none before the first forward pass")
        return self._weights


class DotProductAttention(nn.Module):
    """Attention by scaled dot products: a(q, k) = q^T k / sqrt(d), for queries and keys of width d.

    The forward pass is PyTorch's fused `scaled_dot_product_attention`, which never holds the whole
    (B, Q, K) matrix of weights. The module keeps its inputs, without their graph, and works the
    weights out when `attention_weights` is read: so read them before you change those inputs in
    place. They are the weights before dropout.

    Keys and values need to be finite, masked ones too. One that is infinite or not a number spoils
    output and gradients, while `attention_weights` still look right. (`masked_softmax` is less
    strict: it takes any masked score.)

    Values of another width than the queries, and dropout in training, take PyTorch's plain path,
    which does hold that matrix.

    Args:
        dropout: the share of weights that training sets to zero.

    Source: Vaswani et al. 2017, equation 1; d2l.ai section 11.3.3; the notes' listing 10.3.3.

    >>> attention = DotProductAttention(dropout=0)
    >>> values = torch.tensor([[[2.0], [4.0], [9.0]]])
    >>> attention(torch.ones(1, 1, 1), torch.ones(1, 3, 1), values, torch.tensor([2]))
    tensor([[[3.]]])
    >>> attention.attention_weights
    tensor([[[0.5000, 0.5000, 0.0000]]])
    """

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self._inputs: tuple[Tensor, Tensor, Tensor | None] | None = None

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None
    ) -> Tensor:
        """Average the values, weighted by how well their keys fit the queries.

        Args:
            queries: shape (B, Q, D) or (B, H, Q, D).
            keys: shape (B, K, D) or (B, H, K, D).
            values: shape (B, K, V) or (B, H, K, V).
            valid_lens: None, shape (B,) or (B, Q), as in `masked_softmax`; heads share it.

        Returns:
            Shape (B, Q, V) or (B, H, Q, V).

        Raises:
            ValueError: a shape, a type or a length does not fit.
        """
        _check_together(queries, "keys", keys, values)
        if keys.shape[-1] != queries.shape[-1]:
            raise ValueError(
                f"keys has shape {tuple(keys.shape)}; its width needs to be that of queries, "
                f"{queries.shape[-1]}, because queries has shape {tuple(queries.shape)}"
            )
        scores_shape = queries.shape[:-1] + keys.shape[-2:-1]  # (B, Q, K) or (B, H, Q, K)
        valid = _valid_keys(valid_lens, scores_shape, queries.device)
        self._inputs = queries.detach(), keys.detach(), valid
        dropout = self.dropout.p if self.training else 0.0
        if queries.dim() == 4:
            return F.scaled_dot_product_attention(queries, keys, values, valid, dropout)
        # The fused kernel wants an axis of heads: (B, Q, D) -> (B, 1, Q, D), and back.
        queries, keys, values = queries.unsqueeze(1), keys.unsqueeze(1), values.unsqueeze(1)
        if valid is not None:
            valid = valid.unsqueeze(1)
        return F.scaled_dot_product_attention(queries, keys, values, valid, dropout).squeeze(1)

    @property
    def attention_weights(self) -> Tensor:
        """Weights of the last call, (B, Q, K) or (B, H, Q, K): rows are queries, columns keys."""
        if self._inputs is None:
            raise RuntimeError("attention_weights: there are none before the first forward pass")
        queries, keys, valid = self._inputs
        # Like the fused kernel: scores of half-precision inputs are summed in single precision.
        exact = torch.promote_types(queries.dtype, torch.float32)
        scores = queries.to(exact) @ keys.to(exact).transpose(-2, -1)  # (B, Q, D) x (B, D, K)
        weights = _softmax_among(scores / math.sqrt(queries.shape[-1]), valid)
        return weights.to(queries.dtype)


def _softmax_among(scores: Tensor, valid: Tensor | None) -> Tensor:
    """Softmax over the keys where `valid` (it broadcasts to `scores`) is true; zeros elsewhere."""
    if valid is None:
        return F.softmax(scores, dim=-1)
    # Minus infinity, and not a large number, is what no valid score can fall below. A row of
    # nothing but minus infinity would make softmax divide 0 by 0, so an empty row is filled with
    # zeros first and emptied after, so that neither a weight nor a gradient is "not a number".
    empty = ~valid.any(dim=-1, keepdim=True)  # (B, Q, 1)
    fill = torch.where(empty, 0.0, -math.inf).to(scores.dtype)  # (B, Q, 1)
    weights = F.softmax(torch.where(valid, scores, fill), dim=-1)  # (B, Q, K)
    return weights.masked_fill(empty, 0.0)


def _valid_keys(
    valid_lens: Tensor | None, scores_shape: torch.Size, device: torch.device
) -> Tensor | None:
    return None if valid_lens is None else length_mask(valid_lens, scores_shape)


def _check_width(name: str, tensor: Tensor, size: str, width: int) -> None:
    if tensor.shape[-1:] != (width,):
        raise ValueError(
            f"{name} has shape {tuple(tensor.shape)}; its width needs to be {size} = {width}"
        )


def _check_together(queries: Tensor, keys_name: str, keys: Tensor, values: Tensor) -> None:
    if not 3 <= queries.dim() <= 4:
        raise ValueError(
            f"queries has shape {tuple(queries.shape)}; it needs (B, Q, D) or (B, H, Q, D)"
        )
    if keys.dim() != queries.dim() or keys.shape[:-2] != queries.shape[:-2]:
        raise ValueError(
            f"{keys_name} has shape {tuple(keys.shape)}; it needs the batch (and heads) of "
            f"queries, ({_axes(queries.shape[:-2])}, K, D), "
            f"because queries has shape {tuple(queries.shape)}"
        )
    if values.dim() != keys.dim() or values.shape[:-1] != keys.shape[:-1]:
        raise ValueError(
            f"values has shape {tuple(values.shape)}; it needs one row for each key, "
            f"({_axes(keys.shape[:-1])}, V), because {keys_name} has shape {tuple(keys.shape)}"
        )


def _axes(sizes: torch.Size) -> str:
    return ", ".join(str(size) for size in sizes)
