"""Positional encodings (chapter 6): where a step stands, as a vector added to what stands there.

Wrong types raise TypeError, wrong shapes and sizes, and positions past the table, ValueError.

Sources: Vaswani et al. 2017, section 3.5; d2l.ai section 11.6.3; the notes' section 10.6.3; for
positions that are learned, Gehring et al. 2017, section 3.1, and Devlin et al. 2019.
"""

import torch
from torch import Tensor, nn

from d2lattn.checks import check_floats, check_shapes, check_share, check_sizes, wrong


def sinusoids(max_len: int, num_hiddens: int) -> Tensor:
    """Waves of position: p_{i, 2j} = sin(i / 10000^(2j/d)), p_{i, 2j+1} = cos(i / 10000^(2j/d)).

    The first two columns turn by one radian a step, the later ones ever more slowly. An odd width
    ends with a sine.

    >>> sinusoids(max_len=3, num_hiddens=4)  # sin i, cos i, sin(i / 100), cos(i / 100)
    tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
            [ 0.8415,  0.5403,  0.0100,  0.9999],
            [ 0.9093, -0.4161,  0.0200,  0.9998]])

    Gives those of positions i from 0 on, (max_len, num_hiddens), in PyTorch's default dtype.
    """
    check_sizes(max_len=max_len, num_hiddens=num_hiddens)
    i = torch.arange(max_len).unsqueeze(1)  # (T, 1)
    # In float64: a single-precision angle of 1000 radians is off by up to 3e-5.
    even = torch.arange(0, num_hiddens, 2, dtype=torch.float64)  # 2j, up to the width
    angles = i / 10000 ** (even / num_hiddens)  # (T, 1) / (J,) -> (T, J)
    waves = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)  # (T, J, 2) -> (T, 2 J)
    return waves[:, :num_hiddens].to(torch.get_default_dtype())


class _AddsRows(nn.Module):
    """Add to each step of a sequence the row of its position in `P`, (1, max_len, num_hiddens)."""

    P: Tensor
    dropout: nn.Dropout

    def forward(self, X: Tensor, start: int = 0) -> Tensor:
        """Check, and add P[start] to the first step, P[start + 1] to the second, and so on."""
        check_floats(module=self.P, X=X)
        if not isinstance(start, (int, torch.SymInt)):  # a SymInt is what the compiler counts with
            raise wrong(TypeError, "start", start, "an integer")
        _, max_len, width = self.P.shape
        check_shapes(X=(X, "B", "T", width))
        if start < 0:
            raise wrong(ValueError, "start", start, "to be 0 or more")
        end = start + X.shape[1]
        if end > max_len:
            needs = f"to be {end} or more: X has {X.shape[1]} steps from position {start} on"
            raise wrong(ValueError, "max_len", max_len, needs)
        return self.dropout(X + self.P[:, start:end])  # (B, T, D) + (1, T, D)


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
