"""Kernel regression: properties, a slow loop, the notes' listing."""

import math
import re
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import d2lattn as d2l
from d2lattn.kernel_regression import (
    KERNELS,
    gaussian,
    leave_one_out,
    leave_one_out_error,
    nadaraya_watson,
)

each_kernel = pytest.mark.parametrize("name", KERNELS)
steady = settings(deadline=None, derandomize=True, max_examples=60)

numbers = st.floats(-10, 10, allow_nan=False, width=32)


@st.composite
def problems(draw, min_keys=1):
    """Draw queries, keys and values in float64, with a bandwidth."""
    count = draw(st.integers(min_keys, 8))
    row = st.lists(numbers, min_size=count, max_size=count)
    keys, values = draw(row), draw(row)
    queries = draw(st.lists(numbers, min_size=1, max_size=5))
    bandwidth = draw(st.floats(0.05, 20))
    return *(torch.tensor(v, dtype=torch.float64) for v in (queries, keys, values)), bandwidth


def slowly(queries, keys, values, bandwidth, kernel):
    """The formula, one number at a time: predictions, and weights."""
    predictions, weights = [], []
    for x in queries.tolist():
        heights = [
            kernel(torch.tensor((x - k) / bandwidth, dtype=torch.float64)).item()
            for k in keys.tolist()
        ]
        total = sum(heights)
        weighted = sum(h * v for h, v in zip(heights, values.tolist(), strict=True))
        predictions.append(weighted / total if total > 0 else math.nan)
        weights.append([h / total if total > 0 else 0.0 for h in heights])
    return [torch.tensor(one, dtype=torch.float64) for one in (predictions, weights)]


# Kernels


@each_kernel
def test_kernels_are_densities(name):
    u = torch.linspace(-12, 12, 240_001, dtype=torch.float64)
    heights = KERNELS[name](u)
    assert torch.trapezoid(heights, u).item() == pytest.approx(1, abs=1e-4)
    assert torch.equal(heights, heights.flip(0))
    assert (heights >= 0).all()
    assert (heights[120_000:].diff() <= 0).all(), "a kernel falls with the distance"


# nadaraya_watson: properties


@each_kernel
@given(problem=problems())
@steady
def test_equals_loop(name, problem):
    """Out of every key's reach, predictions are NaN and weights 0."""
    predictions, weights = nadaraya_watson(*problem, KERNELS[name])
    expected, expected_weights = slowly(*problem, KERNELS[name])
    # The loop's Gaussian underflows far from the keys, and a compact kernel's edge is a matter of
    # rounding: compare where the loop has a firm answer.
    queries, keys, _, bandwidth = problem
    u = (queries.unsqueeze(-1) - keys).abs() / bandwidth
    firm = (u.amin(dim=-1) < 30) & ((u - 1).abs() > 1e-9).all(dim=-1)
    torch.testing.assert_close(predictions[firm], expected[firm], equal_nan=True)
    torch.testing.assert_close(weights[firm], expected_weights[firm])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("distance", [0, 250, 330, 1000, 30_000])
def test_far_keys_get_exact_weights(distance, dtype):
    """Squares overflow from 256 on in float16, where the difference of two squares does not."""
    queries = torch.tensor([0.0, 0.5], dtype=dtype)
    keys = distance + torch.tensor([0.0, 0.5, 2.0, -64.0], dtype=dtype)
    values = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=dtype)
    actual = nadaraya_watson(queries, keys, values, 40.0)
    expected = nadaraya_watson(queries.double(), keys.double(), values.double(), 40.0)
    precision = 4 * torch.finfo(dtype).eps
    for one, other in zip(actual, expected, strict=True):
        assert one.dtype == dtype
        torch.testing.assert_close(one.double(), other, rtol=max(precision, 1e-4), atol=precision)


@each_kernel
@pytest.mark.parametrize("bandwidth", [0.4, 1e-30])
def test_batch_equals_its_rows(name, bandwidth):
    torch.manual_seed(1)
    queries, keys, values = torch.rand(3, 4), torch.rand(3, 6), torch.rand(3, 6)
    queries[:, 0] = keys[:, 0]
    queries[:, 1] = keys[:, 0] + 1e-3
    predictions, weights = nadaraya_watson(queries, keys, values, bandwidth, KERNELS[name])
    assert weights.shape == (3, 4, 6)
    for row in range(3):
        alone = nadaraya_watson(queries[row], keys[row], values[row], bandwidth, KERNELS[name])
        torch.testing.assert_close(predictions[row], alone[0], equal_nan=True)
        torch.testing.assert_close(weights[row], alone[1])


# Leaving one out


@each_kernel
@given(problem=problems(min_keys=2))
@steady
def test_leave_one_out_error_equals_loop_over_points(name, problem):
    _, keys, values, bandwidth = problem
    squared = []
    for i in range(len(keys)):
        rest = torch.arange(len(keys)) != i
        predicted, _ = nadaraya_watson(
            keys[i : i + 1], keys[rest], values[rest], bandwidth, KERNELS[name]
        )
        squared.append(((predicted - values[i]) ** 2).item())
    expected = math.inf if any(math.isnan(s) for s in squared) else sum(squared) / len(squared)
    actual = leave_one_out_error(keys, values, bandwidth, KERNELS[name]).item()
    assert actual == pytest.approx(expected, rel=1e-9, abs=1e-9)


# Errors

X, Y = torch.tensor([0.0, 1.0, 2.0]), torch.tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize("bandwidth", [0, -1.0, math.nan, math.inf, 1e-300, torch.tensor(0.0)])
def test_wrong_bandwidth_raises(bandwidth):
    for attempt in (
        lambda: nadaraya_watson(X, X, Y, bandwidth),
        lambda: leave_one_out_error(X, Y, bandwidth),
    ):
        actual = re.escape(str(float(bandwidth)))
        with pytest.raises(ValueError, match=f"bandwidth is {actual}; it needs to be positive"):
            attempt()


predict = partial(nadaraya_watson, bandwidth=1.0)


@pytest.mark.parametrize(
    ("run", "shapes", "message"),
    [
        (predict, [3, 3, 2], r"values has shape \(2,\); it needs \(K,\) = \(3,\)"),
        (predict, [(1, 3), 3, 3], r"queries has shape \(1, 3\); it needs \(Q,\)"),
        (predict, [3, 0, 0], r"keys has shape \(0,\); it needs K ≥ 1"),
        (partial(leave_one_out_error, bandwidth=1.0), [1, 1], r"keys .* it needs K ≥ 2"),
        (partial(leave_one_out_error, bandwidth=1.0), [3, 2], r"values has shape \(2,\)"),
        (leave_one_out, [1], r"points has shape \(1,\); it needs K ≥ 2"),
        (d2l.NWKernelRegression(), [2, (3, 3), (3, 3)], r"keys .* \(Q, K\) = \(2, K\)"),
        (d2l.NWKernelRegression(), [2, (2, 0), (2, 0)], r"keys .* it needs K ≥ 1"),
    ],
)
def test_wrong_shapes_raise(run, shapes, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        run(*(torch.ones(shape) for shape in shapes))


def test_values_and_heights_are_finite():
    with pytest.raises(ValueError, match=r"^values\[1\] is nan; it needs to be finite$"):
        nadaraya_watson(X, X, torch.tensor([1.0, math.nan, 2.0]), 1.0)
    for height in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match=r"^kernel gave negative or non-finite heights"):
            nadaraya_watson(X, X, Y, 1.0, lambda u, height=height: u * 0 + height)
    with pytest.raises(
        ValueError, match=r"^what kernel gives has shape \(3,\); it needs the shape"
    ):
        nadaraya_watson(X, X, Y, 1.0, lambda u: u[0])


# The module


def test_module_equals_gaussian_with_bandwidth_one_over_w():
    torch.manual_seed(0)
    queries, keys, values = torch.rand(5), torch.rand(7), torch.rand(7)
    net = d2l.NWKernelRegression()
    nn.init.constant_(net.w, 2.5)
    predictions = net(queries, keys.expand(5, 7), values.expand(5, 7))
    expected, weights = nadaraya_watson(queries, keys, values, 1 / 2.5, gaussian)
    torch.testing.assert_close(predictions, expected)
    torch.testing.assert_close(net.attention_weights, weights)
    assert not net.attention_weights.requires_grad
    predictions.sum().backward()
    assert net.w.grad.isfinite()
    assert net.w.grad != 0
