"""Valid lengths and masks: which steps of a sequence count, and to which keys a query may attend.

A length n means that the first n steps count; the rest is padding. Lengths are checked here and
turned into a boolean mask, true where a step counts, which all other code takes. They are integers
from 0 to K, shape (B,), or (B, Q) if each query has its own; others raise TypeError or ValueError.
Where entries cannot be read (see `check_range`), only types and shapes are checked.

Sources: Vaswani et al. 2017, section 3.2.3; zh.d2l.ai section 9.7.3; the notes' listing 10.3.1.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from d2lattn.checks import argument_error, check_integers, check_range

Mask = Tensor | Callable[[], Tensor] | None
"""True where a key is valid, or a function that makes such a mask when needed; None: all are."""


def resolve_mask(mask: Mask) -> Tensor | None:
    """Return the mask itself, computed now if it is a function."""
    return mask() if callable(mask) else mask


def length_mask(valid_lens: Tensor, shape: tuple[int, ...], name: str = "valid_lens") -> Tensor:
    """Return a boolean mask of valid steps, which broadcasts to `shape`.

    >>> length_mask(torch.tensor([1, 2]), (2, 3))
    tensor([[ True, False, False],
            [ True,  True, False]])

    `shape` is (B, K), or that of scores: (B, Q, K) or (B, H, Q, K). The mask has as many axes, of
    size 1 where queries or heads share a length. Errors call the lengths `name`.
    """
    check_lengths(valid_lens, shape, name)
    sequences, *queries = valid_lens.shape
    shared = [1] * (len(shape) - 1 - valid_lens.dim())
    lens = valid_lens.reshape(sequences, *shared, *queries, 1)  # (B, 1, 1) or (B, Q, 1)
    return torch.arange(shape[-1], device=valid_lens.device) < lens  # (B, 1, K) or (B, Q, K)


def check_lengths(
    valid_lens: Tensor, shape: tuple[int, ...], name: str = "valid_lens", shortest: int = 0
) -> None:
    """Raise what `length_mask` raises, and a ValueError for a length below `shortest`."""
    if isinstance(valid_lens, Tensor) and valid_lens.dtype is torch.bool:
        needs = "integers: of a padding mask, mask.sum(-1); other masks go to `attend`"
        raise argument_error(TypeError, name, valid_lens, needs)
    check_integers(name, valid_lens)
    shapes = [tuple(shape[:1])]  # one length for each sequence
    if len(shape) > 2:
        shapes.append((shape[0], shape[-2]))  # or one for each of its queries
    if tuple(valid_lens.shape) not in shapes:
        needs = f"(B,) = {shapes[0]}"
        if len(shapes) > 1:
            needs += f" or (B, Q) = {shapes[1]}"
        raise argument_error(ValueError, name, valid_lens, needs)
    check_range(name, valid_lens, shortest, shape[-1])


def check_mask(mask: Any, shape: tuple[int, ...]) -> None:
    """Raise unless a mask has as many axes as `shape`, each of that size or 1, and is boolean.

    >>> check_mask(torch.ones(2, 1, 3, 3), (2, 4, 3, 3))
    Traceback (most recent call last):
    TypeError: mask has dtype torch.float32; it needs booleans, true where a key is valid
    """
    if not isinstance(mask, Tensor) or mask.dtype is not torch.bool:
        raise argument_error(TypeError, "mask", mask, "booleans, true where a key is valid")
    fits = mask.dim() == len(shape)
    if not fits or any(has not in (1, size) for has, size in zip(mask.shape, shape, strict=True)):
        needs = f"{shape}, the shape of the scores, in which an axis may be 1"
        raise argument_error(ValueError, "mask", mask, needs)


def causal_mask(num_queries: int, num_keys: int, device: torch.device | None = None) -> Tensor:
    """Return a mask (Q, K): the last `num_queries` of `num_keys` steps attend to no later step.

    >>> causal_mask(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    everything = torch.ones(num_queries, num_keys, dtype=torch.bool, device=device)
    return everything.tril(num_keys - num_queries)


def window_mask(
    num_queries: int,
    num_keys: int,
    window: int,
    num_first: int = 0,
    start: int = 0,
    device: torch.device | None = None,
) -> Tensor:
    """Return a mask (Q, K): queries from `start` on attend to keys less than `window` away.

    >>> window_mask(3, 5, window=2, num_first=1, start=2)
    tensor([[ True,  True,  True,  True, False],
            [ True, False,  True,  True,  True],
            [ True, False, False,  True,  True]])

    Keys are at positions 0, 1, …; the window extends in both directions, and every query also
    attends to the first `num_first` keys.
    """
    i = torch.arange(start, start + num_queries, device=device).unsqueeze(1)  # (Q, 1)
    j = torch.arange(num_keys, device=device)  # (K,)
    return ((i - j).abs() < window) | (j < num_first)  # (Q, 1) - (K,) -> (Q, K)


def sequence_mask(X: Tensor, valid_len: Tensor, value: float = 0) -> Tensor:
    """Replace everything after the valid length of each sequence by `value`.

    >>> sequence_mask(torch.tensor([[1, 2, 3], [4, 5, 6]]), torch.tensor([1, 2]))
    tensor([[1, 0, 0],
            [4, 5, 0]])

    Takes sequences (B, K) or (B, K, ...) and lengths (B,); returns a new tensor of their shape.
    """
    if not isinstance(X, Tensor):
        raise argument_error(TypeError, "X", X, "a tensor")
    if X.dim() < 2:
        raise argument_error(ValueError, "X", X, "(B, K) or (B, K, ...)")
    mask = length_mask(valid_len, X.shape[:2], "valid_len")
    return X.masked_fill(~mask.reshape(mask.shape + (1,) * (X.dim() - 2)), value)  # (B, K, 1, ...)
