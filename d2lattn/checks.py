"""One wording for wrong arguments: the name, what it has, and what it needs."""

import torch
from torch import Tensor

INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def wrong(error: type[Exception], name: str, found: object, needs: str) -> Exception:
    """Make the error to raise: TypeError for a type or dtype, ValueError for a shape or value.

    >>> wrong(ValueError, "keys", torch.ones(2, 3), "(B, K, D)")
    ValueError('keys has shape (2, 3); it needs (B, K, D)')
    >>> wrong(ValueError, "max_len", 0, "to be 1 or more")
    ValueError('max_len is 0; it needs to be 1 or more')
    >>> wrong(TypeError, "keys", torch.tensor([1]), "floating-point numbers")
    TypeError('keys has dtype torch.int64; it needs floating-point numbers')
    >>> wrong(TypeError, "keys", [1.0], "a tensor")
    TypeError('keys has type list; it needs a tensor')
    """
    if error is TypeError:
        kind = f"dtype {found.dtype}" if isinstance(found, Tensor) else f"type {_type(found)}"
        has = f"has {kind}"
    else:
        has = f"has shape {tuple(found.shape)}" if isinstance(found, Tensor) else f"is {found}"
    return error(f"{name} {has}; it needs {needs}")


def check_floats(**tensors: Tensor) -> None:
    """Make sure that all are floating-point tensors, and of one dtype (autocast may mix them).

    Raises:
        TypeError: one is not.
    """
    first_name, first = next(iter(tensors.items()))
    for name, found in tensors.items():
        if not isinstance(found, Tensor) or not found.is_floating_point():
            raise wrong(TypeError, name, found, "a tensor of floating-point numbers")
        if found.dtype != first.dtype and not torch.is_autocast_enabled(found.device.type):
            raise wrong(TypeError, name, found, f"{first.dtype}, the dtype of {first_name}")


def check_integers(name: str, found: Tensor) -> None:
    """Make sure that it is a tensor of integers; booleans are none.

    Raises:
        TypeError: it is not.
    """
    if not isinstance(found, Tensor) or found.dtype not in INTEGERS:
        raise wrong(TypeError, name, found, "a tensor of integers")


def check_range(name: str, found: Tensor, least: int, most: int) -> None:
    """Make sure that no entry of a tensor of integers is below `least` or above `most`.

    Raises:
        ValueError: one is; the message says which.

    >>> check_range("tokens", torch.tensor([[3, 7]]), 0, 6)
    Traceback (most recent call last):
    ValueError: tokens[0, 1] is 7; it needs to be from 0 to 6
    """
    if found.numel() == 0:
        return
    lowest, highest = found.aminmax()
    smallest, largest = lowest.item(), highest.item()
    if smallest < least or largest > most:
        entry = smallest if smallest < least else largest
        place = (found == entry).nonzero()[0].tolist()
        raise wrong(ValueError, f"{name}{place}", entry, f"to be from {least} to {most}")


def check_sizes(**sizes: int) -> None:
    """Make sure that each is 1 or more.

    Raises:
        ValueError: one is not.

    >>> check_sizes(num_hiddens=8, num_heads=0)
    Traceback (most recent call last):
    ValueError: num_heads is 0; it needs to be 1 or more
    """
    for name, size in sizes.items():
        if size < 1:
            raise wrong(ValueError, name, size, "to be 1 or more")


def _type(found: object) -> str:
    return type(found).__name__
