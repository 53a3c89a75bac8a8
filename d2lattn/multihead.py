"""Multi-head attention (chapter 5): several attentions in parallel, each with its own projections.

The heads are an axis of the tensors, so all of them are computed at once. Errors: see `scoring`.
"""

from typing import Any

import torch
from torch import Tensor, nn

from d2lattn.checks import argument_error, check_floats, check_shapes, check_sizes
from d2lattn.masks import Mask, resolve_mask, window_mask
from d2lattn.positional import LinearBiases, RotaryPositions
from d2lattn.scoring import (
    AdditiveAttention,
    DotProductAttention,
    HasAttentionWeights,
    validated_mask,
)


def split_heads(X: Tensor, num_heads: int) -> Tensor:
    """Cut each row into as many pieces as there are heads; nothing is copied.

    >>> split_heads(torch.tensor([[[1, 2, 3, 4], [5, 6, 7, 8]]]), num_heads=2).tolist()
    [[[[1, 2], [5, 6]], [[3, 4], [7, 8]]]]
    """
    # (B, N, D) -> (B, N, H, D / H) -> (B, H, N, D / H)
    return X.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def merge_heads(X: Tensor) -> Tensor:
    """Concatenate the pieces of each row again.

    >>> merge_heads(torch.tensor([[[[1, 2], [5, 6]], [[3, 4], [7, 8]]]])).tolist()
    [[[1, 2, 3, 4], [5, 6, 7, 8]]]
    """
    return X.transpose(1, 2).flatten(2)  # (B, H, N, D / H) -> (B, N, H, D / H) -> (B, N, D)


def transpose_qkv(X: Tensor, num_heads: int) -> Tensor:
    """Split the heads and merge them into the batch axis, as the notes do in 10.5.2.

    >>> transpose_qkv(torch.tensor([[[1, 2, 3, 4], [5, 6, 7, 8]]]), num_heads=2).tolist()
    [[[1, 2], [5, 6]], [[3, 4], [7, 8]]]

    Takes queries, keys or values, (B, N, D), where H divides D; returns (B * H, N, D / H), in
    which the heads of the first sequence come first.
    """
    check_shapes(X=(X, "B", "N", "D"))
    _check_heads("the width of X", X.shape[2], num_heads)
    return split_heads(X, num_heads).flatten(0, 1)  # (B, H, N, D / H) -> (B * H, N, D / H)


def transpose_output(X: Tensor, num_heads: int) -> Tensor:
    """Undo `transpose_qkv`.

    >>> transpose_output(torch.tensor([[[1, 2], [5, 6]], [[3, 4], [7, 8]]]), num_heads=2).tolist()
    [[[1, 2, 3, 4], [5, 6, 7, 8]]]

    Takes the heads' outputs, (B * H, N, D / H); returns (B, N, D).
    """
    check_shapes(X=(X, "B * H", "N", "D / H"))
    _check_heads("the first axis of X", X.shape[0], num_heads)
    return merge_heads(X.unflatten(0, (-1, num_heads)))  # (B * H, N, D / H) -> (B, H, N, D / H)


class MultiHeadAttention(HasAttentionWeights, nn.Module):
    """W_o [h_1; …; h_H], where head i is h_i = f(W_i^(q) q, W_i^(k) k, W_i^(v) v).

    `W_q`, `W_k` and `W_v` stack the matrices of all heads. The pooling f is the same for all. The
    input of `W_o` is the concatenated heads, so a hook there can read or replace a head's output.

    >>> attention = MultiHeadAttention(2, 2, 2, num_hiddens=2, num_heads=2, dropout=0)
    >>> for matrix in attention.parameters():
    ...     _ = nn.init.eye_(matrix)  # head 1 sees the first entries, head 2 the second
    >>> keys = torch.tensor([[[2.0, 0.0], [4.0, 1.0]]])
    >>> attention(torch.tensor([[[0.0, 1000.0]]]), keys, keys).tolist()
    [[[3.0, 1.0]]]
    >>> attention.attention_weights.tolist()
    [[[[0.5, 0.5]], [[0.0, 1.0]]]]

    It is called like every attention (see `scoring`), with lengths that all heads share, and
    returns (B, Q, num_hiddens). For a query with no valid key this is the bias of `W_o`, or zeros.

    D = num_hiddens, a multiple of H = num_heads, is the width of all heads together and of the
    output; `bias` states if the four projections have one. `attention` is the pooling f on heads
    of width D / H, by default `DotProductAttention(dropout)`. Another one, such as
    `AdditiveAttention(D / H, D / H, h, dropout)`, has a dropout of its own; a score of your own is
    a subclass of either with a different `forward`.

    More options; the first two are for dot products, the last two for self-attention:

    - `num_kv_heads`: G, a divisor of H; H / G heads share each of G heads of keys and values, or,
      if G is 1, all share one (Shazeer 2019; Ainslie et al. 2023).
    - `relative`: `RotaryPositions(D / H)` or `LinearBiases(H)`, which make scores depend on the
      distance of query and key. Keys are at positions 0, 1, …, and queries from `start` on.
    - `window`: a query attends to keys less than `window` positions away, before or after it, and
      to the first `num_first` keys (Beltagy et al. 2020; Xiao et al. 2024).

    >>> attention = MultiHeadAttention(4, 4, 4, 4, 2, 0, num_kv_heads=1, window=1, num_first=1)
    >>> attention.W_k.weight.shape
    torch.Size([2, 4])
    >>> X = torch.zeros(1, 3, 4)
    >>> _ = attention(X, X, X)
    >>> attention.attention_weights[0, 0].tolist()
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]

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
        num_kv_heads: int | None = None,
        relative: LinearBiases | RotaryPositions | None = None,
        window: int | None = None,
        num_first: int = 0,
    ) -> None:
        super().__init__()
        check_sizes(key_size=key_size, query_size=query_size, value_size=value_size)
        _check_heads("num_hiddens", num_hiddens, num_heads)
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        _check_heads("num_heads", num_heads, num_kv_heads, "num_kv_heads")
        _check_relative(relative, num_heads, num_hiddens // num_heads)
        _check_window(window, num_first)
        self.key_size, self.query_size, self.value_size = key_size, query_size, value_size
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.relative, self.window, self.num_first = relative, window, num_first
        self.attention: Any = DotProductAttention(dropout) if attention is None else attention
        sharing = num_heads // num_kv_heads
        _check_pooling(self.attention, num_hiddens // num_heads, relative, sharing)
        shared = num_hiddens // num_heads * num_kv_heads
        self.W_q = nn.Linear(query_size, num_hiddens, bias=bias)
        self.W_k = nn.Linear(key_size, shared, bias=bias)
        self.W_v = nn.Linear(value_size, shared, bias=bias)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=bias)

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Mask = None,
        start: int = 0,
        gap: int = 0,
        projected: bool = False,
    ) -> Tensor:
        """Check and project keys and values, unless they are `projected`, and attend.

        The first query is at position `start`. For `mask` and `gap`, see `attend`.
        """
        if not projected:
            check_floats(self.W_q, queries=queries, keys=keys, values=values)
            check_shapes(
                queries=(queries, "B", "Q", self.query_size),
                keys=(keys, "B", "K", self.key_size),
                values=(values, "B", "K", self.value_size),
            )
            check_sizes(0, start=start)
            mask = validated_mask(valid_lens, queries, keys, self.num_heads, mask=mask)
            keys, values = self.project(keys, values)
        q = split_heads(self.W_q(queries), self.num_heads)  # (B, Q, D) -> (B, H, Q, D / H)
        relative = self.relative
        if isinstance(relative, RotaryPositions):
            q = relative.turn(q, start)
        k, v = keys.to(q.dtype), values.to(q.dtype)  # autocast may have ended since
        if (window := self.window) is not None:
            # Keys inside the window are never dropped, so subtracting the gap is exact.
            mask = self._nearby(mask, window, q, k, start - gap)
        if isinstance(relative, LinearBiases):
            sizes, dtype = (q.shape[2], k.shape[2], start, self.num_first, gap), q.dtype
            least = torch.finfo(dtype).min  # float16 has no -70,000
            heads = self.attention.attend(
                q, k, v, mask, lambda: relative.bias(*sizes).to(dtype).clamp(min=least)
            )
        else:
            heads = self.attention.attend(q, k, v, mask)
        self._store_weights(self.attention._stored_weights())
        return self.W_o(merge_heads(heads))  # (B, H, Q, D / H) -> (B, Q, D)

    def project(self, keys: Tensor, values: Tensor, start: int = 0) -> tuple[Tensor, Tensor]:
        """Return the keys and values of the heads, (B, G, K, D / H) each, once for all queries.

        The first key is at position `start`; rotary positions rotate the keys here already.
        """
        k = split_heads(self.W_k(keys), self.num_kv_heads)  # (B, K, G D / H) -> (B, G, K, D / H)
        if isinstance(self.relative, RotaryPositions):
            k = self.relative.turn(k, start)
        k = self.attention.project_keys(k)  # additive pooling projects them again
        v = split_heads(self.W_v(values), self.num_kv_heads)  # (B, K, G D / H) -> (B, G, K, D / H)
        if torch.compiler.is_compiling():  # its cache on disk cannot hold views as results
            return k.clone(), v.clone()
        return k, v

    def keep(self, past: Tensor) -> Tensor:
        """Return those of past keys or values, (B, G, P, D / H), that later queries can reach."""
        n, length = self.num_first, past.shape[2]
        if self.window is None or length < n + self.window:  # one place is for the query itself
            return past
        return torch.cat((past[:, :, :n], past[:, :, length + 1 - self.window :]), dim=2)

    def attend(
        self, queries: Tensor, k: Tensor, v: Tensor, mask: Mask = None, start: int = 0, gap: int = 0
    ) -> Tensor:
        """Attend to keys and values from `project`; the weights are (B, H, Q, K).

        The first query is at position `start`, keys are at 0, 1, …, but `gap` positions are missing
        after the first `num_first` keys.
        """
        return self(queries, k, v, mask=mask, start=start, gap=gap, projected=True)

    def _nearby(self, mask: Mask, window: int, q: Tensor, k: Tensor, start: int) -> Mask:
        """Return a function that makes the part of a mask that lies in the window."""
        sizes, num_first, device = (q.shape[2], k.shape[2]), self.num_first, q.device

        def make_mask() -> Tensor:
            near = window_mask(*sizes, window, num_first, start, device)  # (Q, K)
            allowed = resolve_mask(mask)
            return near if allowed is None else near & allowed  # (Q, K) and (B, 1, Q, K)

        return make_mask


def _check_heads(name: str, size: int, num_heads: int, heads: str = "num_heads") -> None:
    """Raise ValueError unless `heads` divides the size."""
    check_sizes(**{name: size, heads: num_heads})
    if size % num_heads:
        raise argument_error(ValueError, name, size, f"to be a multiple of {heads}, {num_heads}")


def _check_pooling(attention: object, width: int, relative: object, sharing: int) -> None:
    """Raise unless `attention` fits heads of that width; dot products fit all."""
    if isinstance(attention, AdditiveAttention) and relative is None and sharing == 1:
        if (attention.query_size, attention.key_size) != (width, width):
            sizes = attention.query_size, attention.key_size
            raise argument_error(ValueError, "the sizes of attention", sizes, f"to be {width}")
    elif not isinstance(attention, DotProductAttention):
        needs = "DotProductAttention, a subclass, or, without num_kv_heads and relative, Additive"
        raise argument_error(TypeError, "attention", attention, f"{needs}Attention")


def _check_relative(relative: object, num_heads: int, head_dim: int) -> None:
    """Raise unless `relative`, if given, fits the heads."""
    if isinstance(relative, RotaryPositions):
        if (width := relative.P.shape[1]) != head_dim:
            raise argument_error(ValueError, "the head_dim of relative", width, f"to be {head_dim}")
    elif isinstance(relative, LinearBiases):
        if (count := len(relative.slopes)) != num_heads:
            raise argument_error(
                ValueError, "the num_heads of relative", count, f"to be {num_heads}"
            )
    elif relative is not None:
        raise argument_error(TypeError, "relative", relative, "RotaryPositions or LinearBiases")


def _check_window(window: int | None, num_first: int) -> None:
    """Raise unless `window`, if given, is 1 or more, and `num_first` 0 or more (0 without it)."""
    if window is not None:
        check_sizes(window=window)
    check_sizes(0, num_first=num_first)
    if num_first and window is None:
        raise argument_error(ValueError, "num_first", num_first, "to be 0 without a window")
