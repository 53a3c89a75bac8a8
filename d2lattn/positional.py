"""Positions: added to token vectors (chapter 6), or used only in the scores (chapter 8).

`PositionalEncoding` and similar classes add positions before the first layer. The others are an
option of self-attention, `relative`: `RotaryPositions` rotate queries and keys before they are
compared; `LinearBiases` lower each score in proportion to the distance of its key.

Wrong types raise TypeError; wrong shapes and sizes, and positions past the table, ValueError.

Sources: Vaswani et al. 2017, section 3.5; d2l.ai section 11.6.3; the notes' section 10.6.3; for
positions that are learned, Gehring et al. 2017, section 3.1, and Devlin et al. 2019; for rotations,
Su et al. 2024, section 3.4.2; for biases, Press et al. 2022, section 3.
"""

from numbers import Real

import torch
from torch import Tensor, nn

from d2lattn.checks import argument_error, check_floats, check_shapes, check_share, check_sizes


def sinusoids(max_len: int, num_hiddens: int, base: float = 10000.0) -> Tensor:
    """Sinusoids: p_{i, 2j} = sin(i / 10000^(2j/d)), p_{i, 2j+1} = cos(i / 10000^(2j/d)).

    The first two columns advance by one radian per position, later columns ever more slowly. An
    odd width ends with a sine.

    >>> sinusoids(max_len=3, num_hiddens=4)  # sin i, cos i, sin(i / 100), cos(i / 100)
    tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
            [ 0.8415,  0.5403,  0.0100,  0.9999],
            [ 0.9093, -0.4161,  0.0200,  0.9998]])

    Returns a row for each position from 0 on, (max_len, num_hiddens), in PyTorch's default dtype;
    `base`, 10000 above, sets the speed of the later columns.
    """
    check_sizes(max_len=max_len, num_hiddens=num_hiddens)
    if not isinstance(base, Real):
        raise argument_error(TypeError, "base", base, "a number")
    if not base > 0:
        raise argument_error(ValueError, "base", base, "to be above 0")
    i = torch.arange(max_len).unsqueeze(1)  # (T, 1)
    # In float64: a single-precision angle of 1000 radians is off by up to 3e-5.
    even = torch.arange(0, num_hiddens, 2, dtype=torch.float64)  # 2j, up to the width
    angles = i / base ** (even / num_hiddens)  # (T, 1) / (J,) -> (T, J)
    waves = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)  # (T, J, 2) -> (T, 2 J)
    return waves[:, :num_hiddens].to(torch.get_default_dtype())


def _rows(P: Tensor, X: Tensor, start: int) -> Tensor:
    """Return rows of a table, (max_len, D), for the steps of X, (..., T, D), from `start` on."""
    check_sizes(0, start=start)
    max_len, end = P.shape[0], start + X.shape[-2]
    if end > max_len:
        needs = f"to be {end} or more: X has {X.shape[-2]} steps from position {start} on"
        raise argument_error(ValueError, "max_len", max_len, needs)
    return P[start:end]


class _AddedPositions(nn.Module):
    """Add to each step of a sequence the row of its position in `P`, (1, max_len, num_hiddens)."""

    P: Tensor
    dropout: nn.Dropout

    def forward(self, X: Tensor, start: int = 0) -> Tensor:
        """Check, and add P[start] to the first step, P[start + 1] to the second, and so on."""
        check_floats(module=self.P, X=X)
        check_shapes(X=(X, "B", "T", self.P.shape[2]))
        return self.dropout(X + _rows(self.P[0], X, start))  # (B, T, D) + (T, D)


class PositionalEncoding(_AddedPositions):
    """Add the sinusoids of their positions to the steps of a sequence.

    >>> encoding = PositionalEncoding(num_hiddens=2, dropout=0)
    >>> encoding(torch.zeros(1, 2, 2))  # sin 0, cos 0, sin 1, cos 1
    tensor([[[0.0000, 1.0000],
             [0.8415, 0.5403]]])
    >>> encoding(torch.zeros(1, 1, 2), start=1)  # step by step: the second step alone
    tensor([[[0.8415, 0.5403]]])

    Takes sequences (B, T, num_hiddens) and the position of their first step, 0 unless decoding
    continues from there; returns a tensor of that shape. Dropout is the fraction of entries that
    are set to zero in training.

    The table `P`, (1, max_len, num_hiddens), is a buffer: it moves with the module, but is not in
    `state_dict`. (If the module was made on the meta device, copy `sinusoids` into it.)
    """

    def __init__(self, num_hiddens: int, dropout: float, max_len: int = 1000) -> None:
        super().__init__()
        self.dropout = nn.Dropout(check_share("dropout", dropout))
        self.register_buffer("P", sinusoids(max_len, num_hiddens).unsqueeze(0), persistent=False)


class LearnedPositionalEncoding(_AddedPositions):
    """Add a learned vector for each position: `PositionalEncoding` with a trained table.

    A position that no training sequence reached keeps its small random initial vector.

    >>> encoding = LearnedPositionalEncoding(num_hiddens=2, dropout=0, max_len=3)
    >>> _ = encoding.P.data.copy_(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    >>> encoding(torch.full((1, 2, 2), 10.0), start=1).tolist()
    [[[13.0, 14.0], [15.0, 16.0]]]
    """

    def __init__(self, num_hiddens: int, dropout: float, max_len: int = 1000) -> None:
        super().__init__()
        check_sizes(max_len=max_len, num_hiddens=num_hiddens)
        self.dropout = nn.Dropout(check_share("dropout", dropout))
        self.P = nn.Parameter(torch.randn(1, max_len, num_hiddens) * 0.02)  # as Devlin et al. do


class NoPositionalEncoding(nn.Module):
    """Add nothing: for stacks whose attention uses positions itself, or that use none.

    >>> NoPositionalEncoding(dropout=0)(torch.ones(1, 1, 2), start=5).tolist()
    [[[1.0, 1.0]]]
    """

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(check_share("dropout", dropout))

    def forward(self, X: Tensor, start: int = 0) -> Tensor:
        """Return X after dropout; `start` has no effect."""
        return self.dropout(X)


class RotaryPositions(nn.Module):
    """RoPE: rotate each pair of entries of queries and keys by an angle that grows with position.

    The angles are those of `sinusoids`: position i rotates pair j by i / base^(2j/d). The score of
    a query at i and a key at k is the same as if only the key were rotated, by the angle of k − i.

    >>> rotary = RotaryPositions(head_dim=2)
    >>> X = torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]])
    >>> rotary.turn(X)  # by 0 and by 1 radian
    tensor([[[[1.0000, 0.0000],
              [0.5403, 0.8415]]]])

    Pass it as `relative` to `MultiHeadAttention` or to a stack, whose layers may share one. The
    width of a head, `head_dim`, must be even; `max_len` is the number of positions. The table `P`
    is a buffer as in `PositionalEncoding`. Pairs are neighbouring entries, as in Su et al.; where
    others pair the two halves of a head, the outputs of W_q and W_k are in another order.
    """

    P: Tensor

    def __init__(self, head_dim: int, *, base: float = 10000.0, max_len: int = 1000) -> None:
        super().__init__()
        check_sizes(head_dim=head_dim)
        if head_dim % 2:
            raise argument_error(
                ValueError, "head_dim", head_dim, "to be even: entries turn in pairs"
            )
        self.register_buffer("P", sinusoids(max_len, head_dim, base), persistent=False)

    def turn(self, X: Tensor, start: int = 0) -> Tensor:
        """Rotate queries or keys, (B, H, T, head_dim); the first is at position `start`."""
        check_floats(X=X)
        check_shapes(X=(X, "...", "T", self.P.shape[1]))
        # A pair (x, y) is the number x + iy, and to turn it by an angle is to multiply it by
        # cos + i sin. Its halves must be contiguous; complex32, of half precision, is experimental.
        dtype = torch.promote_types(X.dtype, torch.float32)
        sin, cos = _rows(self.P, X, start).to(dtype).unflatten(-1, (-1, 2)).unbind(-1)  # (T, D / 2)
        pairs = torch.view_as_complex(X.to(dtype).unflatten(-1, (-1, 2)).contiguous())
        turned = pairs * torch.complex(cos, sin)  # (B, H, T, D / 2) x (T, D / 2)
        return torch.view_as_real(turned).flatten(-2).to(X.dtype)  # -> (B, H, T, D)


class LinearBiases(nn.Module):
    """ALiBi: add −slope × distance to each score; each head has its own slope.

    Head h of H has the slope 2^(−8 h / H), h = 1, …, H.

    >>> biases = LinearBiases(num_heads=8)  # slopes 1/2, 1/4, …, 1/256
    >>> biases.bias(1, 2, start=2)[:2].tolist()  # of a query at position 2, keys at 0 and 1
    [[[-1.0, -0.5]], [[-0.5, -0.25]]]

    Pass it as `relative` to `MultiHeadAttention` or to a stack, whose layers may share one. Press
    et al. only attend backwards; here, distances in both directions count. If the number of heads
    is not a power of two, their code has other slopes.
    """

    slopes: Tensor

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        check_sizes(num_heads=num_heads)
        powers = -8 * torch.arange(1, num_heads + 1, dtype=torch.float64) / num_heads
        slopes = (2.0**powers).to(torch.get_default_dtype())
        self.register_buffer("slopes", slopes, persistent=False)

    def bias(
        self, num_queries: int, num_keys: int, start: int = 0, num_first: int = 0, gap: int = 0
    ) -> Tensor:
        """Return what is added to the scores, (H, Q, K), of queries from position `start` on.

        `gap` positions are missing after the first `num_first` keys.
        """
        i = torch.arange(start, start + num_queries, device=self.slopes.device)
        j = torch.arange(num_keys, device=i.device)
        distance = (i.unsqueeze(1) - j - gap * (j >= num_first)).abs()  # (Q, 1) - (K,) -> (Q, K)
        return -self.slopes[:, None, None] * distance  # (H, 1, 1) x (Q, K) -> (H, Q, K)
