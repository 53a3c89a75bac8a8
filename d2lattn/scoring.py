"""Scoring functions: masked softmax, additive attention and scaled dot-product attention.

Attention takes queries (B, Q, D), keys (B, K, D'), values (B, K, V) and `valid_lens` (see `masks`;
None: all keys are valid), and returns (B, Q, V). An axis of heads may follow the batch. Wrong
types raise TypeError, wrong shapes and lengths ValueError. Queries, keys and values must be finite,
even masked ones. In place of lengths, `mask` is true where a key is valid; it has the axes of the
scores, and any of them may be 1. `attend` takes keys that have already been projected and a mask
instead of lengths, and checks nothing; it calls the module, so hooks see both. Dropout is the
fraction of weights set to zero in training; `attention_weights` are those before dropout. Dot
products have second derivatives only where PyTorch's fused kernel has them: not on the CPU.

Sources: for additive attention, Bahdanau et al. 2015, appendix A.1.2; for dot products, Vaswani et
al. 2017, equation 1; d2l.ai section 11.3; the notes' listings 10.3.1 to 10.3.3.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lattn.checks import argument_error, check_floats, check_shapes, check_share, check_sizes
from d2lattn.fused import fused_attention
from d2lattn.masks import Mask, check_mask, length_mask, resolve_mask


class HasAttentionWeights:
    """Mixin that provides `attention_weights`; list it before `nn.Module`.

    At the end of `forward`, so that a failed call changes nothing, a module passes `_store_weights`
    a function that computes its weights from tensors without a graph. These, such as queries and
    keys, stay alive until the next pass. Each read computes a new tensor, which the reader may
    change. A module stores the weights of its last forward pass only, so threads that share a
    module share them. Before that pass, and in copies and pickles, there is no such attribute.
    A module of your own may assign weights instead; they are read as they are, with their graph.
    """

    _weights: Any = None

    @property
    def attention_weights(self) -> Tensor:
        """Weights of the last forward pass, before dropout: rows are queries, columns are keys."""
        return self._stored_weights()()

    @attention_weights.setter
    def attention_weights(self, weights: Tensor) -> None:
        self._store_weights(lambda: weights)

    def _store_weights(self, weights: Any) -> None:
        object.__setattr__(self, "_weights", weights)  # `nn.Module` would search its parameters

    def _stored_weights(self) -> Any:
        """Return what was passed to `_store_weights` last."""
        if self._weights is None:
            raise AttributeError("attention_weights: there are none before the first forward pass")
        return self._weights

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_weights"}


def masked_softmax(X: Tensor, valid_lens: Tensor | None) -> Tensor:
    """Softmax over the last axis, restricted to the first `valid_lens` keys.

    A row with no valid key gets weights and gradients of zero. Scores of masked keys have no
    effect, even if they are infinite or NaN.

    >>> masked_softmax(torch.zeros(2, 1, 4), torch.tensor([2, 4]))
    tensor([[[0.5000, 0.5000, 0.0000, 0.0000]],
    <BLANKLINE>
            [[0.2500, 0.2500, 0.2500, 0.2500]]])

    Takes scores (B, Q, K), or (B, H, Q, K) with heads, or (B, K) with one query each, and lengths
    as in `masks`, which heads share; returns weights of that shape and dtype.
    """
    check_floats(X=X)
    if not 2 <= X.dim() <= 4:
        raise argument_error(ValueError, "X", X, "(B, K), (B, Q, K) or (B, H, Q, K)")
    return softmax_among(X, None if valid_lens is None else length_mask(valid_lens, X.shape))


def softmax_among(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the keys that `mask` allows; rows without such a key are zero."""
    if mask is None:
        return F.softmax(scores, dim=-1)
    # A score of minus infinity gets a weight of 0. But in a row of only such
    # scores, the softmax would divide 0 by 0. So the scores of such rows are
    # set to 0 before it, and the weights after it: no NaN, forward or backward.
    empty = ~mask.any(dim=-1, keepdim=True)  # (B, Q, 1)
    scores = scores.masked_fill(~mask, -math.inf)  # (B, Q, K)
    weights = F.softmax(scores.masked_fill(empty, 0.0), dim=-1)
    return weights.masked_fill(empty, 0.0)


def validated_mask(
    valid_lens: Tensor | None, queries: Tensor, keys: Tensor, *heads: int, mask: Mask = None
) -> Mask:
    """Check a mask, or return a function that makes that of the lengths, so that none is stored."""
    if valid_lens is None and mask is None:
        return None
    shape = (*queries.shape[:-2], *heads, queries.shape[-2], keys.shape[-2])  # (B, [H,] Q, K)
    if valid_lens is None:
        check_mask(mask, shape)
        return mask
    if mask is not None:
        raise argument_error(TypeError, "mask", mask, "to be None beside valid_lens")
    return partial(length_mask, valid_lens, shape)


def additive_scores(queries: Tensor, keys: Tensor, w_v: Tensor) -> Tensor:
    """Additive score w_v^T tanh(q + k) of every query with every key.

    >>> additive_scores(torch.zeros(1, 1, 2), torch.tensor([[[0.0, 9.0]]]), torch.ones(2))
    tensor([[[1.0000]]])

    Takes projected queries W_q q, (B, Q, h), projected keys W_k k, (B, K, h), and w_v, (h,);
    returns scores (B, Q, K). There may be an axis of heads after the batch.
    """
    return _features(queries, keys) @ w_v  # (B, Q, K, h) x (h,) -> (B, Q, K)


def _features(queries: Tensor, keys: Tensor) -> Tensor:
    """Return tanh(q + k), (B, Q, K, h), the only tensor of four axes, which autograd keeps."""
    return (queries.unsqueeze(-2) + keys.unsqueeze(-3)).tanh_()  # (B, Q, 1, h) + (B, 1, K, h)


class AdditiveAttention(HasAttentionWeights, nn.Module):
    """Attention by a small network, h = num_hiddens: a(q, k) = w_v^T tanh(W_q q + W_k k).

    >>> attention = AdditiveAttention(key_size=2, query_size=3, num_hiddens=8, dropout=0)
    >>> values = torch.tensor([[[2.0], [4.0], [9.0]]])
    >>> attention(torch.ones(1, 1, 3), torch.ones(1, 3, 2), values, torch.tensor([2]))
    tensor([[[3.]]], grad_fn=<UnsafeViewBackward0>)

    With n = B Q K h, a forward pass and its graph store n numbers in addition to tensors of three
    axes; the backward pass stores up to 3 n.
    """

    def __init__(self, key_size: int, query_size: int, num_hiddens: int, dropout: float) -> None:
        super().__init__()
        check_sizes(key_size=key_size, query_size=query_size, num_hiddens=num_hiddens)
        self.key_size, self.query_size = key_size, query_size
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False)
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)
        self.dropout = nn.Dropout(check_share("dropout", dropout))

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Mask = None,
        projected: bool = False,
    ) -> Tensor:
        """Check the inputs and project the keys, unless they are `projected`, and attend."""
        if not projected:
            check_floats(self.w_v, queries=queries, keys=keys, values=values)
            _check_shapes(queries, keys, values, self.query_size, self.key_size)
            mask = validated_mask(valid_lens, queries, keys, mask=mask)
            keys = self.project_keys(keys)
        weights = softmax_among(self.scores(queries, keys), resolve_mask(mask))  # (B, Q, K)
        output = self.dropout(weights) @ values  # (B, Q, K) x (B, K, V) -> (B, Q, V)
        self._store_weights(partial(torch.clone, weights.detach()))
        return output

    def scores(self, queries: Tensor, projected_keys: Tensor) -> Tensor:
        """Return w_v^T tanh(W_q q + W_k k), (B, Q, K), with projected keys."""
        features = _features(self.W_q(queries), projected_keys)  # (B, Q, K, h)
        return self.w_v(features).squeeze(-1)  # (B, Q, K, h) -> (B, Q, K, 1) -> (B, Q, K)

    def project_keys(self, keys: Tensor) -> Tensor:
        """Return W_k k, (B, K, h): a decoder computes it once for all queries."""
        return self.W_k(keys)

    def attend(
        self, queries: Tensor, projected_keys: Tensor, values: Tensor, mask: Mask = None
    ) -> Tensor:
        """Average values by the weights softmax(w_v^T tanh(W_q q + W_k k)), with projected keys."""
        return self(queries, projected_keys, values, mask=mask, projected=True)


def dot_product_scores(queries: Tensor, keys: Tensor) -> Tensor:
    """Scaled dot product q^T k / sqrt(d) of every query with every key.

    >>> dot_product_scores(torch.tensor([[[1.0, 2, 3, 4]]]), torch.tensor([[[1.0, 1, 1, 1]]]))
    tensor([[[5.]]])
    """
    # (B, Q, D) x (B, D, K) -> (B, Q, K)
    return queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])


def repeat_heads(X: Tensor, num_heads: int) -> Tensor:
    """Give each of H query heads the keys (or values) that its group shares, (B, H, K, D).

    >>> repeat_heads(torch.tensor([[[[5]], [[7]]]]), num_heads=4).flatten().tolist()
    [5, 5, 7, 7]
    """
    return X.repeat_interleave(num_heads // X.shape[1], dim=1)  # (B, G, K, D) -> (B, H, K, D)


class DotProductAttention(HasAttentionWeights, nn.Module):
    """Attention by scaled dot products: a(q, k) = q^T k / sqrt(d), for queries and keys of width d.

    PyTorch's kernel computes it (see `fused_attention`), as a rule without holding the (B, Q, K)
    matrix of weights.

    >>> attention = DotProductAttention(dropout=0)
    >>> values = torch.tensor([[[2.0], [4.0], [9.0]]])
    >>> attention(torch.ones(1, 1, 1), torch.ones(1, 3, 1), values, torch.tensor([2]))
    tensor([[[3.]]])
    >>> attention.attention_weights
    tensor([[[0.5000, 0.5000, 0.0000]]])

    The weights are computed when they are read, from the queries, keys and lengths of the last
    pass, so read them before you change one of these in place. If queries or keys have changed,
    reading raises RuntimeError, except in inference mode, where tensors do not count changes.
    The kernel drops weights itself: `dropout` only stores the rate, and hooks on it never fire.
    """

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(check_share("dropout", dropout))

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Mask = None,
        bias: Callable[[], Tensor] | None = None,
        projected: bool = False,
    ) -> Tensor:
        """Check the inputs, unless the keys are `projected`, and attend."""
        if not projected:
            check_floats(queries=queries, keys=keys, values=values)
            if not (queries.shape == keys.shape == values.shape and 3 <= queries.dim() <= 4):
                _check_shapes(queries, keys, values)  # skipped, for speed, where all shapes agree
            mask = validated_mask(valid_lens, queries, keys, mask=mask)
        layer = self.dropout  # looked up once: `nn.Module` searches for it
        dropout = layer.p if layer.training else 0.0
        output = fused_attention(
            queries, keys, values, resolve_mask(mask), dropout, resolve_mask(bias)
        )
        self._store_weights(_DotProductWeights(queries, keys, mask, bias))
        return output

    def project_keys(self, keys: Tensor) -> Tensor:
        """Return the keys unchanged: unlike `AdditiveAttention`, this class has no projections."""
        return keys

    def attend(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Mask = None,
        bias: Callable[[], Tensor] | None = None,
    ) -> Tensor:
        """Average values by weights softmax(q^T k / sqrt(d)); the mask broadcasts to the scores.

        Heads of queries (B, H, Q, D) may share keys and values (B, G, K, D), where G divides H; the
        bias, given as a function that returns (H, Q, K), is added to the scores.
        """
        return self(queries, keys, values, mask=mask, bias=bias, projected=True)


class _DotProductWeights:
    """Weights that are computed when they are read, from queries and keys that were not copied."""

    def __init__(
        self, queries: Tensor, keys: Tensor, mask: Mask, bias: Callable[[], Tensor] | None
    ) -> None:
        self.queries, self.keys = queries.detach(), keys.detach()
        self.mask, self.bias = mask, bias
        self.versions: dict[str, int] = {}
        if torch.compiler.is_compiling():
            # A compiled graph cannot return both a tensor, say of a decoder's state, and its view.
            self.queries, self.keys = self.queries.clone(), self.keys.clone()
        elif not (queries.is_inference() or keys.is_inference()):
            self.versions = {"queries": queries._version, "keys": keys._version}

    def __call__(self) -> Tensor:
        for name, version in self.versions.items():
            if getattr(self, name)._version != version:
                raise RuntimeError(
                    f"attention_weights: {name} was changed in place after the pass; "
                    "read the weights before that, or hand in a copy"
                )
        # Like the fused kernel, sum scores of half-precision inputs in single precision.
        exact = torch.promote_types(self.queries.dtype, torch.float32)
        queries, keys = self.queries.to(exact), self.keys.to(exact)
        if keys.dim() == 4:
            keys = repeat_heads(keys, queries.shape[1])  # (B, G, K, D) -> (B, H, K, D)
        scores = dot_product_scores(queries, keys)  # (B, Q, K)
        if (bias := resolve_mask(self.bias)) is not None:
            scores = scores + bias  # (B, H, Q, K) + (H, Q, K)
        return softmax_among(scores, resolve_mask(self.mask)).to(self.queries.dtype)


def _check_shapes(
    queries: Tensor, keys: Tensor, values: Tensor, query_size: Any = "D", key_size: Any = "D"
) -> None:
    batch = ("B", "H") if queries.dim() > 3 else ("B",)
    check_shapes(
        queries=(queries, *batch, "Q", query_size),
        keys=(keys, *batch, "K", key_size),
        values=(values, *batch, "K", "V"),
    )
