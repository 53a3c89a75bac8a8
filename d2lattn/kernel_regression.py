"""Nadaraya-Watson kernel regression (chapter 2): attention whose weights come from a kernel.

Arguments that are not floating-point tensors of one dtype raise TypeError; shapes that do not fit
and entries that are not finite raise ValueError.

Sources: Nadaraya, "On Estimating Regression" (1964); Watson, "Smooth Regression Analysis" (1964);
the study notes, section 10.2.
"""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from d2lattn.checks import argument_error, check_floats, check_shapes
from d2lattn.scoring import HasAttentionWeights

Kernel = Callable[[Tensor], Tensor]
"""Maps distances u, in bandwidths, to heights ≥ 0; those here are symmetric and integrate to 1. A
kernel that is nowhere 0 carries its logarithm, up to a constant, as ``kernel.log``, so that heights
too small for a float still get their share of the weights."""


def gaussian(u: Tensor) -> Tensor:
    """K(u) = exp(−u²/2) / √(2π): falls off quickly and never reaches 0.

    >>> [round(height, 4) for height in gaussian(torch.tensor([0.0, 1.0, 2.0])).tolist()]
    [0.3989, 0.242, 0.054]
    """
    return torch.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)


gaussian.log = lambda u: -(u**2) / 2  # type: ignore[attr-defined]


def boxcar(u: Tensor) -> Tensor:
    """K(u) = 1/2 for ``|u| ≤ 1``, else 0: all keys within one bandwidth have the same weight.

    >>> boxcar(torch.tensor([-1.5, -1.0, 0.0, 0.9])).tolist()
    [0.0, 0.5, 0.5, 0.5]
    """
    return (u.abs() <= 1).to(u.dtype) / 2


def epanechnikov(u: Tensor) -> Tensor:
    """K(u) = 3/4 · max(0, 1 − u²): a parabola, 0 beyond one bandwidth (Epanechnikov, 1969).

    >>> epanechnikov(torch.tensor([-2.0, 0.0, 0.5])).tolist()
    [0.0, 0.75, 0.5625]
    """
    return 3 / 4 * torch.clamp(1 - u**2, min=0)


def triangular(u: Tensor) -> Tensor:
    """K(u) = ``max(0, 1 − |u|)``: a triangle, which some courses call "Epanechnikov".

    >>> triangular(torch.tensor([-2.0, 0.0, 0.5])).tolist()
    [0.0, 1.0, 0.5]
    """
    return torch.clamp(1 - u.abs(), min=0)


KERNELS: dict[str, Kernel] = {k.__name__: k for k in (gaussian, boxcar, epanechnikov, triangular)}


def nadaraya_watson(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    bandwidth: float | Tensor,
    kernel: Kernel = gaussian,
) -> tuple[Tensor, Tensor]:
    """Average the values, each weighted by the kernel of its key's distance to the query.

    f(x) = Σᵢ α(x, xᵢ) yᵢ with α(x, xᵢ) = K(u) / Σⱼ K(uⱼ) and u = (x − xᵢ) / bandwidth.

    >>> keys, values = torch.tensor([0.0, 1.0, 3.0]), torch.tensor([2.0, 4.0, 9.0])
    >>> predictions, weights = nadaraya_watson(
    ...     torch.tensor([0.5, 9.0]), keys, values, bandwidth=1.0, kernel=boxcar)
    >>> predictions.tolist(), weights.tolist()
    ([3.0, nan], [[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])

    Takes points to predict at (Q,), points where the value is known (K,) and their values (K,), or
    batches of them, (B, Q) and (B, K). The bandwidth is one positive number in the units of the
    keys; a tensor may carry a gradient. Any positive number is allowed: a tiny one picks the
    nearest key, and its gradient is then 0.
    The kernel is a function of u that returns heights ≥ 0, such as those in `KERNELS`.

    Returns predictions (Q,) and weights (Q, K), or (B, Q) and (B, Q, K). With a kernel of finite
    reach a query may be out of reach of every key: its weights are then all 0 and its prediction is
    NaN, because "0" would be a prediction and there is none.
    """
    _check_data(queries=queries, keys=keys, values=values)
    batch = ("B",) if keys.dim() > 1 else ()
    check_shapes(
        keys=(keys, *batch, "K"), values=(values, *batch, "K"), queries=(queries, *batch, "Q")
    )
    _check_count("keys", keys, 1)
    # As in attention, half-precision distances and sums are computed in single precision.
    exact = torch.promote_types(keys.dtype, torch.float32)
    bandwidth = _convert_bandwidth(bandwidth, exact, keys.device)

    # (B, Q, 1) - (B, 1, K) -> (B, Q, K)
    differences = queries.unsqueeze(-1) - keys.to(exact).unsqueeze(-2)
    weights = _weights(kernel, differences / bandwidth, differences)  # (B, Q, K)
    # (B, Q, K) x (B, K, 1) -> (B, Q, 1) -> (B, Q)
    predictions = (weights @ values.to(exact).unsqueeze(-1)).squeeze(-1)
    out_of_reach = (weights == 0).all(dim=-1)
    predictions = predictions.masked_fill(out_of_reach, math.nan)
    return predictions.to(keys.dtype), weights.to(keys.dtype)


def _weights(kernel: Kernel, u: Tensor, differences: Tensor) -> Tensor:
    """K(u) / ΣK(u) over the last axis, the keys; zeros where every key is out of reach."""
    log: Kernel | None = getattr(kernel, "log", None)
    if log is not None:  # K / ΣK = exp(log K) / Σexp(log K)
        scores = log(u)
        # Where even the nearest key's score overflows to -inf, the nearest keys share the weight.
        underflows = scores.isneginf().all(dim=-1, keepdim=True)
        distances = differences.abs()
        nearest = distances == distances.amin(dim=-1, keepdim=True)
        return torch.softmax(scores.masked_fill(underflows & nearest, 0.0), dim=-1)
    heights = kernel(u)
    if heights.shape != u.shape:
        raise argument_error(
            ValueError, "what kernel gives", heights, f"the shape of u, {tuple(u.shape)}"
        )
    if not (torch.isfinite(heights) & (heights >= 0)).all():
        raise ValueError("kernel gave negative or non-finite heights; it needs to give heights ≥ 0")
    totals = heights.sum(dim=-1, keepdim=True)  # (B, Q, 1)
    return heights / totals.masked_fill(totals == 0, 1.0)


def leave_one_out(points: Tensor) -> Tensor:
    """List all the other points for each point: (K,) -> (K, K − 1).

    >>> leave_one_out(torch.tensor([1.0, 2.0, 3.0])).tolist()
    [[2.0, 3.0], [1.0, 3.0], [1.0, 2.0]]
    """
    check_shapes(points=(points, "K"))
    _check_count("points", points, 2)
    count = len(points)
    itself = torch.eye(count, dtype=torch.bool, device=points.device)
    return points.expand(count, count)[~itself].view(count, -1)  # (K, K) -> (K, K - 1)


def leave_one_out_error(
    keys: Tensor, values: Tensor, bandwidth: float | Tensor, kernel: Kernel = gaussian
) -> Tensor:
    """Mean squared error when each value is predicted from all the others.

    >>> leave_one_out_error(
    ...     torch.tensor([0.0, 1.0, 2.0]), torch.tensor([1.0, 2.0, 4.0]), 1.0, boxcar).item()
    1.75

    Takes keys and values (K,), K ≥ 2, and the rest as `nadaraya_watson` does. Returns one number,
    in squared units of the values. It is infinite if some key is out of reach of all others: with
    such a bandwidth, nothing is predicted there, so a search must not choose it.
    """
    _check_data(keys=keys, values=values)
    check_shapes(keys=(keys, "K"), values=(values, "K"))
    _check_count("keys", keys, 2)
    # A batch of K problems with one query each: (K, 1), (K, K - 1), (K, K - 1) -> (K, 1)
    predictions, _ = nadaraya_watson(
        keys.unsqueeze(-1), leave_one_out(keys), leave_one_out(values), bandwidth, kernel
    )
    squared = (predictions.squeeze(-1) - values) ** 2  # (K,)
    return squared.masked_fill(squared.isnan(), math.inf).mean()


class NWKernelRegression(HasAttentionWeights, nn.Module):
    """Nadaraya-Watson regression with a learnable bandwidth: softmax(−((x − xᵢ) w)² / 2).

    ``w`` is one number, 1 / bandwidth. Each query has its own row of keys, so that a training
    point can be predicted without its own key (see :func:`leave_one_out`).

    >>> net = NWKernelRegression()
    >>> _ = nn.init.ones_(net.w)
    >>> net(torch.tensor([0.5]), torch.tensor([[0.0, 1.0]]), torch.tensor([[2.0, 4.0]])).item()
    3.0
    >>> net.attention_weights.tolist()
    [[0.5, 0.5]]
    """

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.rand(1))

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Predict (Q,) for queries (Q,), each from its row of keys and of values, (Q, K) both."""
        check_floats(module=self.w, queries=queries, keys=keys, values=values)
        check_shapes(queries=(queries, "Q"), keys=(keys, "Q", "K"), values=(values, "Q", "K"))
        _check_count("keys", keys, 1)
        differences = queries.unsqueeze(-1) - keys  # (Q, 1) - (Q, K) -> (Q, K)
        weights = _weights(gaussian, differences * self.w, differences)
        self._store_weights(partial(torch.clone, weights.detach()))
        # (Q, 1, K) x (Q, K, 1) -> (Q, 1, 1) -> (Q,)
        return torch.bmm(weights.unsqueeze(1), values.unsqueeze(-1)).reshape(-1)


def _check_data(**arguments: Tensor) -> None:
    check_floats(**arguments)
    for name, points in arguments.items():
        if not torch.isfinite(points).all():
            place = (~torch.isfinite(points)).nonzero()[0].tolist()
            raise argument_error(
                ValueError, f"{name}{place}", points[tuple(place)].item(), "to be finite"
            )


def _check_count(name: str, points: Tensor, least: int) -> None:
    if points.shape[-1] < least:
        raise argument_error(ValueError, name, points, f"K ≥ {least}")


def _convert_bandwidth(
    bandwidth: float | Tensor, dtype: torch.dtype, device: torch.device
) -> Tensor:
    try:
        converted = torch.as_tensor(bandwidth, dtype=dtype, device=device)
    except (TypeError, ValueError):
        raise argument_error(TypeError, "bandwidth", bandwidth, "a number") from None
    if converted.numel() != 1:
        raise argument_error(ValueError, "bandwidth", converted, "one number")
    # Checked after conversion: 1e-300 is positive as a Python float and 0 in float32.
    if not 0 < converted < math.inf:
        needs = f"to be positive and finite in {dtype}"
        raise argument_error(ValueError, "bandwidth", float(bandwidth), needs)
    return converted.reshape(())
