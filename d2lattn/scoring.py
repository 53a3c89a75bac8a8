"""Scoring functions: masked softmax, additive attention and scaled dot-product attention.

Attention is called with queries (B, Q, D), keys (B, K, D'), values (B, K, V) and `valid_lens` (see
`masks`; None: all keys are valid), and gives (B, Q, V). An axis of heads after the batch works too.
Wrong types raise TypeError, wrong shapes and lengths ValueError. Queries, keys and values need to
be finite, masked ones too. What takes a mask in place of lengths checks nothing. Dropout is the
share of weights that training sets to zero; `attention_weights` are those before it.

Sources: for additive attention, Bahdanau et al. 2015, appendix A.1.2; for dot products, Vaswani et
al. 2017, equation 1; d2l.ai section 11.3; the notes' listings 10.3.1 to 10.3.3.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import local
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lattn.checks import check_floats, check_shapes, check_share, check_sizes, wrong
from d2lattn.fused import fused_attention
from d2lattn.masks import Mask, length_mask, made, unchanging


class _Own(local):
    """What a thread's own passes keep, while there are blocks of `own_weights` that read it."""

    def __init__(self) -> None:
        self.blocks, self.weights = 0, dict[object, Any]()


_own = _Own()


@contextmanager
def own_weights() -> Iterator[None]:
    """Make `attention_weights`, inside, those of this thread's own passes.

    Outside, a module has one place for what it last looked at, and any thread may overwrite it.
    """
    _own.blocks += 1
    try:
        yield
    finally:
        _own.blocks -= 1  # counted, since blocks need not end in the order they began in
        if not _own.blocks:
            _own.weights.clear()


class NoWeights(RuntimeError):
    """There is nothing to read: no pass yet, or no source to look at."""


class Attends:
    """Comes before `nn.Module` among the bases of what has `attention_weights`: one contract.

    At the end of `forward`, so that a call that fails changes nothing, a module tells `_keep` how
    its weights are worked out, from tensors without a graph. Who never reads them pays for a copy
    of lengths or mask alone. What is read is the reader's own: to change it changes nothing else.
    What a caller changes after the call (lengths, a mask, queries) changes no weights either; where
    these can no longer be told, or there was no call, reading raises a RuntimeError. Copies and
    files of a module start without: tensors of `torch.func`, for one, cannot be stored.
    """

    _weights: Any = None

    @property
    def attention_weights(self) -> Tensor:
        """Weights of the last call, before dropout: rows are queries, columns are keys."""
        return self._last()()

    def _keep(self, weights: Any) -> None:
        object.__setattr__(self, "_weights", weights)  # `nn.Module` would search its parameters
        if not torch.compiler.is_compiling() and _own.blocks:
            _own.weights[self] = weights

    def _last(self) -> Any:
        """Give what `_keep` was told last."""
        weights = self._weights
        if not torch.compiler.is_compiling():
            weights = _own.weights.get(self, weights)
        if weights is None:
            raise NoWeights("attention_weights: there are none before the first forward pass")
        return weights

    def __getstate__(self) -> dict[str, Any]:
        return {name: kept for name, kept in self.__dict__.items() if name != "_weights"}


def masked_softmax(X: Tensor, valid_lens: Tensor | None) -> Tensor:
    """Softmax over the last axis, among the first `valid_lens` keys only.

    A row with no valid key gets zeros, and passes zeros back. What a masked key scores makes no
    difference, be it infinite or not a number.

    >>> masked_softmax(torch.zeros(2, 1, 4), torch.tensor([2, 4]))
    tensor([[[0.5000, 0.5000, 0.0000, 0.0000]],
    <BLANKLINE>
            [[0.2500, 0.2500, 0.2500, 0.2500]]])

    Takes scores (B, Q, K), or (B, H, Q, K) with heads, or (B, K) with one query each, and lengths
    as in `masks`, which heads share; gives weights of that shape and dtype.
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


def mask_of(valid_lens: Tensor | None, queries: Tensor, keys: Tensor, *heads: int) -> Mask:
    """Say how to make the mask of the scores; lengths are copied, because they may change."""
    if valid_lens is None:
        return None
    lens = valid_lens.clone() if isinstance(valid_lens, Tensor) else valid_lens
    shape = (*queries.shape[:-2], *heads, queries.shape[-2], keys.shape[-2])  # (B, [H,] Q, K)
    return lambda: length_mask(lens, shape)


def additive_scores(queries: Tensor, keys: Tensor, w_v: Tensor) -> Tensor:
    """Additive score w_v^T tanh(q + k) of every query with every key.

    >>> additive_scores(torch.zeros(1, 1, 2), torch.tensor([[[0.0, 9.0]]]), torch.ones(2))
    tensor([[[1.0000]]])

    Takes projected queries W_q q, (B, Q, h), projected keys W_k k, (B, K, h), and the vector that
    sums the features up, (h,); gives scores (B, Q, K). Heads after the batch work too.
    """
    # tanh in place: of the four-axis features, one tensor exists, the one that autograd keeps.
    features = queries.unsqueeze(-2) + keys.unsqueeze(-3)  # (B, Q, 1, h) + (B, 1, K, h)
    return features.tanh_() @ w_v  # (B, Q, K, h) x (h,) -> (B, Q, K)


class AdditiveAttention(Attends, nn.Module):
    """Attention by a small network, of h = num_hiddens: a(q, k) = w_v^T tanh(W_q q + W_k k).

    >>> attention = AdditiveAttention(key_size=2, query_size=3, num_hiddens=8, dropout=0)
    >>> values = torch.tensor([[[2.0], [4.0], [9.0]]])
    >>> attention(torch.ones(1, 1, 3), torch.ones(1, 3, 2), values, torch.tensor([2]))
    tensor([[[3.]]], grad_fn=<UnsafeViewBackward0>)

    With n = B Q K h, a forward pass holds n numbers beside tensors of three axes, and so does its
    graph; the backward pass reaches 3 n.
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
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None
    ) -> Tensor:
        """Check, project the keys and attend."""
        check_floats(self.w_v, queries=queries, keys=keys, values=values)
        _check_shapes(queries, keys, values, self.query_size, self.key_size)
        mask = mask_of(valid_lens, queries, keys)
        return self.attend(queries, self.project_keys(keys), values, mask)

    def project_keys(self, keys: Tensor) -> Tensor:
        """W_k k, the same for every query, so a decoder asks for it once: (B, K, h)."""
        return self.W_k(keys)

    def attend(
        self, queries: Tensor, projected_keys: Tensor, values: Tensor, mask: Mask = None
    ) -> Tensor:
        """Average the values by softmax(w_v^T tanh(W_q q + W_k k)), with keys projected already."""
        scores = additive_scores(self.W_q(queries), projected_keys, self.w_v.weight[0])
        weights = softmax_among(scores, made(mask))
        output = self.dropout(weights) @ values  # (B, Q, K) x (B, K, V) -> (B, Q, V)
        self._keep(partial(torch.clone, weights.detach()))
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
    """
    scores = dot_product_scores(queries, keys)  # (B, Q, K)
    weights = softmax_among(scores, mask)
    return weights @ values  # (B, Q, K) x (B, K, V) -> (B, Q, V)


def share_heads(X: Tensor, num_heads: int) -> Tensor:
    """Give each of H query heads the keys (or values) that its group shares, (B, H, K, D).

    >>> share_heads(torch.tensor([[[[5]], [[7]]]]), num_heads=4).flatten().tolist()
    [5, 5, 7, 7]
    """
    return X.repeat_interleave(num_heads // X.shape[1], dim=1)  # (B, G, K, D) -> (B, H, K, D)


class DotProductAttention(Attends, nn.Module):
    """Attention by scaled dot products: a(q, k) = q^T k / sqrt(d), for queries and keys of width d.

    It is `dot_product_attention` by PyTorch's kernel, `fused_attention`, which gives the same,
    as a rule without holding the (B, Q, K) matrix of weights.

    >>> attention = DotProductAttention(dropout=0)
    >>> values = torch.tensor([[[2.0], [4.0], [9.0]]])
    >>> attention(torch.ones(1, 1, 1), torch.ones(1, 3, 1), values, torch.tensor([2]))
    tensor([[[3.]]])
    >>> attention.attention_weights
    tensor([[[0.5000, 0.5000, 0.0000]]])

    The weights are worked out from queries and keys when they are read: so read them before you
    change those in place. After it, reading raises a RuntimeError (but not for tensors made in
    inference mode, which do not count their changes).
    """

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(check_share("dropout", dropout))

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None
    ) -> Tensor:
        """Check and attend."""
        check_floats(queries=queries, keys=keys, values=values)
        if not (queries.shape == keys.shape == values.shape and 3 <= queries.dim() <= 4):
            _check_shapes(queries, keys, values)  # where all are alike, nothing is wrong
        return self.attend(queries, keys, values, mask_of(valid_lens, queries, keys))

    def project_keys(self, keys: Tensor) -> Tensor:
        """Give the keys as they are: unlike `AdditiveAttention`, a dot product needs no more."""
        return keys

    def attend(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Mask = None,
        bias: Callable[[], Tensor] | None = None,
    ) -> Tensor:
        """Average the values by softmax(q^T k / sqrt(d)); a mask (Q, K) will do, it broadcasts.

        Heads of queries (B, H, Q, D) may share keys and values (B, G, K, D), where G divides H; a
        bias, given as what makes it, is added to their scores, (H, Q, K).
        """
        layer = self.dropout  # asked for once: `nn.Module` searches for it
        dropout = layer.p if layer.training else 0.0
        output = fused_attention(queries, keys, values, made(mask), dropout, made(bias))
        self._keep(_DotProductWeights(queries, keys, mask, bias))
        return output


class _DotProductWeights:
    """Weights that are worked out when they are read, from tensors that nobody has copied."""

    def __init__(
        self, queries: Tensor, keys: Tensor, mask: Mask, bias: Callable[[], Tensor] | None
    ) -> None:
        self.queries, self.keys, self.bias = queries.detach(), keys.detach(), bias
        self.mask = unchanging(mask)
        self.versions: dict[str, int] = {}
        if torch.compiler.is_compiling():
            # The compiler cannot give both a tensor, as a decoder's state does, and a view of it.
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
        # Like the fused kernel: scores of half-precision inputs are summed in single precision.
        exact = torch.promote_types(self.queries.dtype, torch.float32)
        queries, keys = self.queries.to(exact), self.keys.to(exact)
        if keys.dim() == 4:
            keys = share_heads(keys, queries.shape[1])  # (B, G, K, D) -> (B, H, K, D)
        scores = dot_product_scores(queries, keys)  # (B, Q, K)
        if (bias := made(self.bias)) is not None:
            scores = scores + bias  # (B, H, Q, K) + (H, Q, K)
        return softmax_among(scores, made(self.mask)).to(self.queries.dtype)


def _check_shapes(
    queries: Tensor, keys: Tensor, values: Tensor, query_size: Any = "D", key_size: Any = "D"
) -> None:
    batch = ("B", "H") if queries.dim() > 3 else ("B",)
    check_shapes(
        queries=(queries, *batch, "Q", query_size),
        keys=(keys, *batch, "K", key_size),
        values=(values, *batch, "K", "V"),
    )
