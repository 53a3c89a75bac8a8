"""The wording of errors, and what the checks let pass."""

import re

import pytest
import torch
from torch import nn

from d2lattn.checks import (
    check_floats,
    check_range,
    check_shapes,
)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (torch.ones(1), None, "y has type NoneType; it needs a tensor of floating-point numbers"),
        (torch.ones(1), torch.ones(1).int(), "y has dtype torch.int32; it needs a tensor of fl"),
        (
            torch.ones(1),
            torch.ones(1).double(),
            "y has dtype torch.float64; it needs torch.float32, the dtype of x",
        ),
    ],
)
def test_wrong_dtype_raises(x, y, message):
    with pytest.raises(TypeError, match=r"^" + message):
        check_floats(x=x, y=y)


def test_range_includes_both_ends():
    check_range("x", torch.tensor([0, 5]), 0, 5)
    check_range("x", torch.tensor([200], dtype=torch.uint8), 0, 1000)
    check_range("x", torch.tensor([], dtype=torch.int64), 0, 5)


@pytest.mark.parametrize(
    ("actual", "message"),
    [
        ([7], r"x\[0\] is 7; it needs to be from 0 to 5"),
        ([9, -1], r"x\[1\] is -1; it needs to be from 0 to 5"),
        ([[0, 5], [0, 6]], r"x\[1, 1\] is 6; it needs to be from 0 to 5"),
    ],
)
def test_entry_out_of_range_is_named_with_its_place(actual, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        check_range("x", torch.tensor(actual), 0, 5)


def test_dtype_of_the_layer_is_required():
    layer, x = nn.Linear(2, 2), torch.ones(2)
    check_floats(layer, x=x)
    with pytest.raises(TypeError, match=r"^x has dtype torch.float64; it needs torch.float32, the"):
        check_floats(layer, x=x.double())
    quantized = nn.Module()
    quantized.weight = torch.ones(2, dtype=torch.int8)
    for without in (nn.Module(), quantized):  # then the tensors are compared with one another
        check_floats(without, x=x.double(), y=x.double())
        with pytest.raises(TypeError, match=r"^y has .* it needs torch.float64, the dtype of x$"):
            check_floats(without, x=x.double(), y=x)


# check_shapes ------------------------------------------------------------------------------------


def test_equal_letters_match_equal_sizes():
    x, y = torch.ones(2, 3, 4), torch.ones(2, 5, 4)
    check_shapes(x=(x, "B", "Q", "D"), y=(y, "B", "K", "D"))
    check_shapes(x=(x, 2, 3, 4), y=(y, 2, "K", 4))
    check_shapes(x=(x, "...", 4), y=(y, "...", "K", 4))
    check_shapes(x=(x[0, 0], "...", 4), y=(y, "B", "K", 4))


@pytest.mark.parametrize(
    ("y", "axes", "message"),
    [
        ((2, 3, 9), ("B", "K", "D"), "y has shape (2, 3, 9); it needs (B, K, D) = (2, K, 4)"),
        ((2, 9, 4), ("B", "Q", "V"), "y has shape (2, 9, 4); it needs (B, Q, V) = (2, 3, V)"),
        ((7,), (8,), "y has shape (7,); it needs (8,)"),
        ((2, 7), ("...", 8), "y has shape (2, 7); it needs (..., 8)"),
        ((8,), ("...", 8, 8), "y has shape (8,); it needs (..., 8, 8)"),
        ((2, 3), ("N", "N"), "y has shape (2, 3); it needs (N, N)"),
    ],
)
def test_wrong_axes_are_named(y, axes, message):
    with pytest.raises(ValueError, match=r"^" + re.escape(message) + "$"):
        check_shapes(x=(torch.ones(2, 3, 4), "B", "Q", "D"), y=(torch.ones(y), *axes))
