"""Positions: added to what stands there (chapter 6), or heard in the score alone (chapter 8).

What is added comes before the first layer: `PositionalEncoding` and its kin. What is heard in the
score is an option, `relative`, of each attention of a sequence to itself: `RotaryPositions` turn
queries and keys before they meet, `LinearBiases` take from a score the more the farther the key.

Wrong types raise TypeError, wrong shapes and sizes, and positions past a table, ValueError.

Sources: Vaswani et al. 2017, section 3.5; d2l.ai section 11.6.3; the notes' section 10.6.3; for
positions that are learned, Gehring et al. 2017, section 3.1, and Devlin et al. 2019; for rotations,
Su et al. 2024, section 3.4.2; for biases, Press et al. 2022, section 3.
"""

from numbers import Real

import torch
from torch import Tensor, nn

from d2lattn.checks import check_floats, check_shapes, check_share, check_sizes, wrong


def sinusoids(max_len: int, num_hiddens: int, base: float = 10000.0) -> Tensor:
    """Waves of position: p_{i, 2j} = sin(i / 10000^(2j/d)), p_{i, 2j+1} = cos(i / 10000^(2j/d)).

    The first two columns turn by one radian a step, the later ones ever more slowly. An odd width
    ends with a sine.

    >>> sinusoids(max_len=3, num_hiddens=4)  # sin i, cos i, sin(i / 100), cos(i / 100)
    tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
            [ 0.8415,  0.5403,  0.0100,  0.9999],
            [ 0.9093, -0.4161,  0.0200,  0.9998]])

    Gives those of positions i from 0 on, (max_len, num_hiddens), in PyTorch's default dtype.
    Another `base` than 10000 gives the later columns another speed.
    """
    check_sizes(max_len=max_len, num_hiddens=num_hiddens)
    if not isinstance(base, Real):
        raise wrong(TypeError, "base", base, "a number")
    if not base > 0:
        raise wrong(ValueError, "base", base, "to be above 0")
    i = torch.arange(max_len).unsqueeze(1)  # (T, 1)
    # In float64: a single-precision angle of 1000 radians is off by up to 3e-5.
    even = torch.arange(0, num_hiddens, 2, dtype=torch.float64)  # 2j, up to the width
    angles = i / base ** (even / num_hiddens)  # (T, 1) / (J,) -> (T, J)
    waves = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)  # (T, J, 2) -> (T, 2 J)
    return waves[:, :num_hiddens].to(torch.get_default_dtype())


def _rows(P: Tensor, X: Tensor, start: int) -> Tensor:
    """Give the rows of a table, (max_len, D), for the steps of X, (..., T, D), from `start` on."""
    if not isinstance(start, (int, torch.SymInt)):  # a SymInt is what the compiler counts with
        raise wrong(TypeError, "start", start, "an integer")
    if start < 0:
        raise wrong(ValueError, "start", start, "to be 0 or more")
    max_len, end = P.shape[0], start + X.shape[-2]
    if end > max_len:
        needs = f"to be {end} or more: X has {X.shape[-2]} steps from position {start} on"
        raise wrong(ValueError, "max_len", max_len, needs)
    return P[start:end]


class _AddsRows(nn.Module):
    """Add to each step of a sequence the row of its position in `P`, (1, max_len, num_hiddens)."""

    P: Tensor
    dropout: nn.Dropout

    def forward(self, X: Tensor, start: int = 0) -> Tensor:
        """Check, and add P[start] to the first step, P[start + 1] to the second, and so on."""
        check_floats(module=self.P, X=X)
        check_shapes(X=(X, "B", "T", self.P.shape[2]))
        return self.dropout(X + _rows(self.P[0], X, start))  # (B, T, D) + (T, D)


class PositionalEncoding(_AddsRows):
    """Add the sinusoids of their positions to the steps of a sequence.

    >>> encoding = PositionalEncoding(num_hiddens=2, dropout=0)
    >>> encoding(torch.zeros(1, 2, 2))  # sin 0, cos 0, sin 1, cos 1
    tensor([[[0.0000, 1.0000],
             [0.8415, 0.5403]]])
    >>> encoding(torch.zeros(1, 1, 2), start=1)  # step by step: the second step alone
    tensor([[[0.8415, 0.5403]]])

    Call it with sequences (B, T, num_hiddens) and the position of their first step, 0 unless
    decoding goes on from there; it gives a tensor of that shape. Dropout is the share of entries
    that training sets to zero.

    The table `P`, shape (1, max_len, num_hiddens), is a buffer: it moves with the module, and
    `state_dict` leaves it out, because it can be made again. (For a module that was made on the
    meta device, nobody does: copy `sinusoids` into it.)
    """

    def __init__(self, num_hiddens: int, dropout: float, max_len: int = 1000) -> None:
        super().__init__()
        self.dropout = nn.Dropout(check_share("dropout", dropout))
        self.register_buffer("P", sinusoids(max_len, num_hiddens).unsqueeze(0), persistent=False)


class LearnedPositionalEncoding(_AddsRows):
    """Add a learned vector for each position: `PositionalEncoding` with a table that is trained.

    A position that no training sequence reached keeps the small random vector it began with.

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
    """Add nothing: for stacks whose attention hears positions itself, or is to hear none.

    >>> NoPositionalEncoding(dropout=0)(torch.ones(1, 1, 2), start=5).tolist()
    [[[1.0, 1.0]]]
    """

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(check_share("dropout", dropout))

    def forward(self, X: Tensor, start: int = 0) -> Tensor:
        """Give X back, after dropout; its places make no difference."""
        return self.dropout(X)


class RotaryPositions(nn.Module):
    """Turn each pair of entries of queries and keys by an angle that grows with their position.

    The angles are those of `sinusoids`: position i turns pair j by i / base^(2j/d). A query at i
    and a key at k then score as if the key alone were turned, by the angle of k − i.

    >>> rotary = RotaryPositions(head_dim=2)
    >>> X = torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]])
    >>> rotary.turn(X)  # by 0 and by 1 radian
    tensor([[[[1.0000, 0.0000],
              [0.5403, 0.8415]]]])

    It is the option `relative` of `MultiHeadAttention` and of the stacks, whose layers may share
    one. The width of a head, `head_dim`, is even, and `max_len` is how many positions there are.
    The table `P` is a buffer like that of `PositionalEncoding`. Pairs are neighbours, as in Su et
    al.; where others pair the two halves of a head, the columns of W_q and W_k lie otherwise.
    """

    P: Tensor

    def __init__(self, head_dim: int, *, base: float = 10000.0, max_len: int = 1000) -> None:
        super().__init__()
        check_sizes(head_dim=head_dim)
        if head_dim % 2:
            raise wrong(ValueError, "head_dim", head_dim, "to be even: entries turn in pairs")
        self.register_buffer("P", sinusoids(max_len, head_dim, base), persistent=False)

    def turn(self, X: Tensor, start: int = 0) -> Tensor:
        """Turn what stands at `start` and after it, (B, H, T, head_dim)."""
        check_shapes(X=(X, "...", "T", self.P.shape[1]))
        # A pair (x, y) is the number x + iy, and to turn it by an angle is to multiply it by
        # cos + i sin. Such numbers want their two halves side by side, and none has half precision.
        dtype = torch.promote_types(X.dtype, torch.float32)
        sin, cos = _rows(self.P, X, start).to(dtype).unflatten(-1, (-1, 2)).unbind(-1)  # (T, D / 2)
        pairs = torch.view_as_complex(X.to(dtype).unflatten(-1, (-1, 2)).contiguous())
        turned = pairs * torch.complex(cos, sin)  # (B, H, T, D / 2) x (T, D / 2)
        return torch.view_as_real(turned).flatten(-2).to(X.dtype)  # -> (B, H, T, D)


class LinearBiases(nn.Module):
    """Take from each score the distance of its key, times a slope that each head has: ALiBi.

    Head h of H has the slope 2^(−8 h / H), h = 1, …, H.

    >>> biases = LinearBiases(num_heads=8)  # slopes 1/2, 1/4, …, 1/256
    >>> biases.bias(1, 2, start=2)[:2].tolist()  # of a query at place 2, keys at 0 and 1
    [[[-1.0, -0.5]], [[-0.5, -0.25]]]

    It is the option `relative` of `MultiHeadAttention` and of the stacks, whose layers may share
    one. Press et al. look backwards alone; here keys after the query are as far as those before.
    For a number of heads that is no power of two, their code has other slopes.
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
        """Give what is added to the scores, (H, Q, K), of queries from place `start` on.

        After the first `num_first` keys so many places are left out as `gap` says.
        """
        i = torch.arange(start, start + num_queries, device=self.slopes.device)
        j = torch.arange(num_keys, device=i.device)
        distance = (i.unsqueeze(1) - j - gap * (j >= num_first)).abs()  # (Q, 1) - (K,) -> (Q, K)
        return -self.slopes[:, None, None] * distance  # (H, 1, 1) x (Q, K) -> (H, Q, K)
