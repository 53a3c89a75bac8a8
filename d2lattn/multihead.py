"""Multi-head attention (chapter 5): several attentions side by side, each on its own projections.

The heads are an axis of the tensors, so all of them are computed at once.
"""

from torch import Tensor, nn

from d2lattn.checks import check_floats, check_sizes, wrong
from d2lattn.scoring import AdditiveAttention, DotProductAttention


def split_heads(X: Tensor, num_heads: int) -> Tensor:
    """Cut each row into as many pieces as there are heads; nothing is copied.

    >>> import torch
    >>> split_heads(torch.tensor([[[1, 2, 3, 4], [5, 6, 7, 8]]]), num_heads=2)
    tensor([[[[1, 2],
              [5, 6]],
    <BLANKLINE>
             [[3, 4],
              [7, 8]]]])
    """
    # (B, N, D) -> (B, N, H, D / H) -> (B, H, N, D / H)
    return X.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def join_heads(X: Tensor) -> Tensor:
    """Put the pieces of each row side by side again.

    >>> import torch
    >>> join_heads(torch.tensor([[[[1, 2], [5, 6]], [[3, 4], [7, 8]]]]))
    tensor([[[1, 2, 3, 4],
             [5, 6, 7, 8]]])
    """
    return X.transpose(1, 2).flatten(2)  # (B, H, N, D / H) -> (B, N, H, D / H) -> (B, N, D)


def transpose_qkv(X: Tensor, num_heads: int) -> Tensor:
    """Split the heads and count them as sequences of the batch, as the notes do.

    >>> import torch
    >>> transpose_qkv(torch.tensor([[[1, 2, 3, 4], [5, 6, 7, 8]]]), num_heads=2)
    tensor([[[1, 2],
             [5, 6]],
    <BLANKLINE>
            [[3, 4],
             [7, 8]]])

    Args:
        X: queries, keys or values, shape (B, N, D).
        num_heads: how many heads; H divides D.

    Returns:
        A tensor (B * H, N, D / H), in which the heads of the first sequence come first.

    Raises:
        TypeError: `X` is not a tensor.
        ValueError: its shape does not fit.

    Source: d2l.ai section 11.5.2; the notes' section 10.5.2.
    """
    _check_axes(X, "(B, N, D)")
    _check_heads("the width of X", X.shape[2], num_heads)
    return split_heads(X, num_heads).flatten(0, 1)  # (B, H, N, D / H) -> (B * H, N, D / H)


def transpose_output(X: Tensor, num_heads: int) -> Tensor:
    """Undo `transpose_qkv`.

    >>> import torch
    >>> transpose_output(torch.tensor([[[1, 2], [5, 6]], [[3, 4], [7, 8]]]), num_heads=2)
    tensor([[[1, 2, 3, 4],
             [5, 6, 7, 8]]])

    Args:
        X: the heads' outputs, shape (B * H, N, D / H).
        num_heads: how many heads, H.

    Returns:
        A tensor (B, N, D).

    Raises:
        TypeError: `X` is not a tensor.
        ValueError: its shape does not fit.

    Source: d2l.ai section 11.5.2; the notes' section 10.5.2.
    """
    _check_axes(X, "(B * H, N, D / H)")
    _check_heads("the first axis of X", X.shape[0], num_heads)
    return join_heads(X.unflatten(0, (-1, num_heads)))  # (B * H, N, D / H) -> (B, H, N, D / H)


class MultiHeadAttention(nn.Module):
    """W_o [h_1; …; h_H], where head i is h_i = f(W_i^(q) q, W_i^(k) k, W_i^(v) v).

    The matrices of all heads lie below one another in `W_q`, `W_k` and `W_v`. The pooling f is the
    same for all. What `W_o` takes is the heads side by side, so a hook there can see a head's
    contribution, or silence it.

    >>> import torch
    >>> attention = MultiHeadAttention(2, 2, 2, num_hiddens=2, num_heads=2, dropout=0)
    >>> for matrix in attention.parameters():
    ...     _ = nn.init.eye_(matrix)  # head 1 sees the first entries, head 2 the second
    >>> keys = torch.tensor([[[2.0, 0.0], [4.0, 1.0]]])
    >>> attention(torch.tensor([[[0.0, 1000.0]]]), keys, keys).tolist()
    [[[3.0, 1.0]]]
    >>> attention.attention_weights
    tensor([[[[0.5000, 0.5000]],
    <BLANKLINE>
             [[0.0000, 1.0000]]]])

    Call it with queries (B, Q, query_size), keys (B, K, key_size), values (B, K, value_size) and
    `valid_lens` as in `masked_softmax`, which all heads share; it gives (B, Q, num_hiddens). Wrong
    types raise TypeError, wrong shapes and lengths ValueError. A query with no valid key gets zeros
    from every head, and so at most the bias of `W_o`.

    Args:
        key_size: width of a key.
        query_size: width of a query.
        value_size: width of a value.
        num_hiddens: D, the width of all heads together and of the output; a multiple of num_heads.
        num_heads: how many heads, H.
        dropout: the share of weights that training sets to zero.
        bias: whether the four projections add one.
        attention: the pooling f on heads of width D / H, in place of `DotProductAttention(dropout)`
            (then its own dropout counts): `AdditiveAttention(D / H, D / H, any, dropout)` is one.

    Source: Vaswani et al. 2017, section 3.2.2; d2l.ai section 11.5; the notes' section 10.5.
    """

    def __init__(
        self,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        num_heads: int,
        dropout: float,
        bias: bool = False,
        *,
        attention: AdditiveAttention | DotProductAttention | None = None,
    ) -> None:
        super().__init__()
        _check_heads("num_hiddens", num_hiddens, num_heads)
        self.num_heads = num_heads
        self.attention = DotProductAttention(dropout) if attention is None else attention
        self.W_q = nn.Linear(query_size, num_hiddens, bias=bias)
        self.W_k = nn.Linear(key_size, num_hiddens, bias=bias)
        self.W_v = nn.Linear(value_size, num_hiddens, bias=bias)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=bias)

    @property
    def attention_weights(self) -> Tensor:
        """Weights of each head in the last call, before dropout, shape (B, H, Q, K).

        Raises:
            RuntimeError: there was no call.
        """
        return self.attention.attention_weights

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None
    ) -> Tensor:
        """Check, project, split, attend, join and project."""
        check_floats(module=self.W_q.weight, queries=queries, keys=keys, values=values)
        self._check_shapes(queries, keys, values)
        q = split_heads(self.W_q(queries), self.num_heads)  # (B, Q, D) -> (B, H, Q, D / H)
        k, v = self.project(keys, values)  # (B, K, D) -> (B, H, K, D / H) each
        heads = self.attention(q, k, v, valid_lens)  # (B, H, Q, D / H)
        return self.W_o(join_heads(heads))  # (B, H, Q, D / H) -> (B, Q, D)

    def project(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Give each head its keys and values, the same for every query, (B, H, K, D / H) each."""
        k = split_heads(self.W_k(keys), self.num_heads)  # (B, K, D) -> (B, H, K, D / H)
        v = split_heads(self.W_v(values), self.num_heads)  # (B, K, D) -> (B, H, K, D / H)
        return k, v

    def attend(self, queries: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        """Do the rest of `forward` with keys and values that `project` gave."""
        q = split_heads(self.W_q(queries), self.num_heads)  # (B, Q, D) -> (B, H, Q, D / H)
        heads = self.attention.attend(q, self.attention.project_keys(k), v, mask)
        return self.W_o(join_heads(heads))  # (B, H, Q, D / H) -> (B, Q, D)

    def _check_shapes(self, queries: Tensor, keys: Tensor, values: Tensor) -> None:
        width = self.W_q.in_features
        if queries.dim() != 3 or queries.shape[2] != width:
            raise wrong(ValueError, "queries", queries, f"(B, Q, {width})")
        batch, width = queries.shape[0], self.W_k.in_features
        if keys.dim() != 3 or keys.shape[0] != batch or keys.shape[2] != width:
            needs = f"({batch}, K, {width}) beside queries of {tuple(queries.shape)}"
            raise wrong(ValueError, "keys", keys, needs)
        needed = (*keys.shape[:2], self.W_v.in_features)
        if values.shape != needed:
            raise wrong(ValueError, "values", values, f"{needed}, a row for each key")


def _check_axes(X: Tensor, needs: str) -> None:
    if not isinstance(X, Tensor):
        raise wrong(TypeError, "X", X, "a tensor")
    if X.dim() != 3:
        raise wrong(ValueError, "X", X, needs)


def _check_heads(name: str, size: int, num_heads: int) -> None:
    """Raise a ValueError, which says what would do, unless the heads get equal shares."""
    check_sizes(num_heads=num_heads)
    if size < 1 or size % num_heads:
        below = size // num_heads * num_heads
        would_do = " or ".join(str(fits) for fits in (below, below + num_heads) if fits > 0)
        needs = f"to be a multiple of num_heads, {num_heads}: {would_do} would do"
        raise wrong(ValueError, name, size, needs)
