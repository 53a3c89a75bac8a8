"""The wording of errors, and what the checks let pass."""

import pytest
import torch

from d2lattn.checks import check_floats, check_integers, check_range, check_sizes, wrong


@pytest.mark.parametrize(
    ("error", "found", "message"),
    [
        (ValueError, torch.ones(2, 3), "x has shape (2, 3); it needs this"),
        (ValueError, 7, "x is 7; it needs this"),
        (TypeError, torch.ones(2), "x has dtype torch.float32; it needs this"),
        (TypeError, [1], "x has type list; it needs this"),
    ],
)
def test_one_wording(error, found, message):
    made = wrong(error, "x", found, "this")
    assert type(made) is error
    assert str(made) == message


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_floats_of_one_dtype_pass(dtype):
    check_floats(x=torch.ones(2, dtype=dtype), y=torch.ones(3, dtype=dtype))


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1.0], torch.ones(1), "x has type list; it needs a tensor of floating-point numbers"),
        (torch.ones(1), None, "y has type NoneType; it needs a tensor of floating-point numbers"),
        (torch.ones(1), torch.ones(1).int(), "y has dtype torch.int32; it needs a tensor of fl"),
        (torch.ones(1).bool(), torch.ones(1), "x has dtype torch.bool; it needs a tensor of fl"),
        (torch.ones(1) * 1j, torch.ones(1), "x has dtype torch.complex64; it needs a tensor of"),
        (
            torch.ones(1),
            torch.ones(1).double(),
            "y has dtype torch.float64; it needs torch.float32, the dtype of x",
        ),
    ],
)
def test_what_is_no_float_or_another_float_is_named(x, y, message):
    with pytest.raises(TypeError, match="^" + message):
        check_floats(x=x, y=y)


def test_autocast_may_mix_dtypes():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        check_floats(x=torch.ones(1), y=torch.ones(1).bfloat16())


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8])
def test_integers_pass(dtype):
    check_integers("x", torch.ones(2, dtype=dtype))


@pytest.mark.parametrize(
    ("found", "has"),
    [
        (torch.tensor([True]), "dtype torch.bool"),
        (torch.tensor([1.0]), "dtype torch.float32"),
        ([1], "type list"),
        (1, "type int"),
    ],
)
def test_what_is_no_integer_is_named(found, has):
    with pytest.raises(TypeError, match=f"^x has {has}; it needs a tensor of integers$"):
        check_integers("x", found)


def test_a_range_holds_both_ends_and_an_empty_tensor():
    check_range("x", torch.tensor([0, 5]), 0, 5)
    check_range("x", torch.tensor([200], dtype=torch.uint8), 0, 1000)
    check_range("x", torch.tensor([], dtype=torch.int64), 0, 5)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([0, 6, 7], r"x\[2\] is 7; it needs to be from 0 to 5"),
        ([9, -1], r"x\[1\] is -1; it needs to be from 0 to 5"),
        ([[0, 5], [0, 6]], r"x\[1, 1\] is 6; it needs to be from 0 to 5"),
    ],
)
def test_an_entry_out_of_range_is_named_with_its_place(found, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        check_range("x", torch.tensor(found), 0, 5)


def test_sizes_are_one_or_more():
    check_sizes(width=1, height=7)
    check_sizes()
    for size in (0, -3):
        with pytest.raises(ValueError, match=f"^height is {size}; it needs to be 1 or more$"):
            check_sizes(width=1, height=size)
