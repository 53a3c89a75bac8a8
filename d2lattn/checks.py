"""Checks of arguments and packages; their errors say what there is and what is needed.

A check raises TypeError for a wrong type or dtype, ValueError for a wrong shape or value.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import torch
from torch import Tensor, nn

INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def argument_error(error: type[Exception], name: str, value: Any, needs: str) -> Exception:
    """Make the error to raise.

    >>> argument_error(ValueError, "keys", torch.ones(2, 3), "(B, K, D)")
    ValueError('keys has shape (2, 3); it needs (B, K, D)')
    >>> argument_error(ValueError, "max_len", 0, "to be 1 or more")
    ValueError('max_len is 0; it needs to be 1 or more')
    >>> argument_error(TypeError, "keys", [1.0], "a tensor")
    TypeError('keys has type list; it needs a tensor')
    """
    is_tensor = isinstance(value, Tensor)
    if error is TypeError:
        has = f"has dtype {value.dtype}" if is_tensor else f"has type {type(value).__name__}"
    else:
        has = f"has shape {tuple(value.shape)}" if is_tensor else f"is {value}"
    return error(f"{name} {has}; it needs {needs}")


def check_shapes(**arguments: tuple[Any, ...]) -> None:
    """Check the axes of tensors: a number is a size, a letter the same size throughout.

    Axes after "..." are the last ones.

    >>> queries, keys = torch.ones(2, 3, 8), torch.ones(5, 4, 8)
    >>> check_shapes(queries=(queries, "B", "Q", "D"), keys=(keys, 5, "K", "D"))
    >>> check_shapes(queries=(queries, "B", "Q", 8), keys=(keys, "B", "K", 8))
    Traceback (most recent call last):
    ValueError: keys has shape (5, 4, 8); it needs (B, K, 8) = (2, K, 8)
    """
    sizes: dict[str, Any] = {}  # of the letters so far
    for name, (tensor, *axes) in arguments.items():
        if not isinstance(tensor, Tensor):
            raise argument_error(TypeError, name, tensor, "a tensor")
        # A size of an exported program may be symbolic, and is then no key of a dictionary.
        needed = [sizes.get(axis, axis) if isinstance(axis, str) else axis for axis in axes]
        shape, expected = tuple(tensor.shape), axes
        if axes[0] == "...":
            expected = axes[1:]
            shape = shape[-len(expected) :]
        fits = len(shape) == len(expected)
        for axis, size in zip(expected, shape, strict=False):
            if isinstance(axis, str):
                axis = sizes.setdefault(axis, size)
            if size != axis:
                fits = False
        if not fits:
            needs = _format_axes(axes)
            if needed != axes:
                needs += f" = {_format_axes(needed)}"
            raise argument_error(ValueError, name, tensor, needs)


def check_floats(layer: nn.Module | None = None, /, **tensors: Any) -> None:
    """Check that all are floating-point tensors of one dtype, that of the layer's weight.

    Autocast may mix dtypes. A layer without a floating-point weight (quantized, say) is ignored.
    """
    first_name, first = "module", getattr(layer, "weight", None)
    if not isinstance(first, Tensor) or not first.is_floating_point():
        first_name, first = next(iter(tensors.items()))
    for name, value in tensors.items():
        if not isinstance(value, Tensor) or not value.is_floating_point():
            raise argument_error(TypeError, name, value, "a tensor of floating-point numbers")
        if value.dtype != first.dtype and not _is_autocast(value.device.type):
            raise argument_error(
                TypeError, name, value, f"{first.dtype}, the dtype of {first_name}"
            )


def check_integers(name: str, value: Tensor) -> None:
    """Check that it is a tensor of integers; booleans do not count."""
    if not isinstance(value, Tensor) or value.dtype not in INTEGERS:
        raise argument_error(TypeError, name, value, "a tensor of integers")


def check_range(name: str, value: Tensor, least: int, most: int) -> None:
    """Check that every entry of a tensor of integers is from `least` to `most`.

    Where entries cannot be read (in `torch.compile`, `torch.export` and `torch.vmap`, and on the
    meta device), nothing is checked.

    >>> check_range("tokens", torch.tensor([[3, 7]]), 0, 6)
    Traceback (most recent call last):
    ValueError: tokens[0, 1] is 7; it needs to be from 0 to 6
    """
    if torch.compiler.is_compiling() or value.numel() == 0:
        return
    try:
        smallest, largest = (end.item() for end in value.aminmax())
    except RuntimeError:
        return
    for entry in (smallest, largest):
        if not least <= entry <= most:
            place = (value == entry).nonzero()[0].tolist()
            raise argument_error(
                ValueError, f"{name}{place}", entry, f"to be from {least} to {most}"
            )


def check_sizes(least: int = 1, /, **sizes: int) -> None:
    """Check that each is an integer from `least` up; booleans do not count.

    >>> check_sizes(num_hiddens=8, num_heads=0)
    Traceback (most recent call last):
    ValueError: num_heads is 0; it needs to be 1 or more
    """
    for name, size in sizes.items():
        # A SymInt is the compiler's integer.
        if not isinstance(size, Integral | torch.SymInt) or isinstance(size, bool):
            raise argument_error(TypeError, name, size, "an integer")
        if size < least:
            raise argument_error(ValueError, name, size, f"to be {least} or more")


def check_share(name: str, share: float) -> float:
    """Return `share` if it is a number from 0 to 1.

    >>> check_share("dropout", float("nan"))
    Traceback (most recent call last):
    ValueError: dropout is nan; it needs to be from 0 to 1
    """
    if not isinstance(share, Real):
        raise argument_error(TypeError, name, share, "a number")
    if not 0 <= share <= 1:
        raise argument_error(ValueError, name, share, "to be from 0 to 1")
    return share


@contextmanager
def optional_import(what: str) -> Iterator[None]:
    """If an import in this block fails, name the package that `what` needs in one line.

    >>> with optional_import("d2l.bleu"):
    ...     import a_package_that_is_not_here
    Traceback (most recent call last):
    ModuleNotFoundError: d2l.bleu needs a_package_that_is_not_here; install what the book needs: \
pip install '.[book]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        raise ModuleNotFoundError(
            f"{what} needs {package}; install what the book needs: pip install '.[book]'"
        ) from None


def _is_autocast(device: str) -> bool:
    available = torch.amp.autocast_mode.is_autocast_available(device)  # not on "meta"
    return available and torch.is_autocast_enabled(device)


def _format_axes(axes: list[Any]) -> str:
    if len(axes) == 1:
        return f"({axes[0]},)"
    return f"({', '.join(map(str, axes))})"
