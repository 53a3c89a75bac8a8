"""Nadaraya-Watson kernel regression (chapter 2): attention whose weights come from a kernel.

Sources: Nadaraya, "On Estimating Regression" (1964); Watson, "Smooth Regression Analysis" (1964);
the study notes, section 10.2.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

Kernel = Callable[[Tensor], Tensor]


def gaussian(u: Tensor) -> Tensor:
    """K(u) = exp(−u²/2) / √(2π): falls off quickly and never reaches 0.

    Like every kernel here it is symmetric and integrates to 1; attention weights K / ΣK do not
    depend on the constant in front.

    >>> [round(height, 4) for height in gaussian(torch.tensor([0.0, 1.0, 2.0])).tolist()]
    [0.3989, 0.242, 0.054]
    """
    return torch.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)


def boxcar(u: Tensor) -> Tensor:
    """K(u) = 1/2 for |u| ≤ 1, else 0: all keys within one bandwidth count the same.

    >>> boxcar(torch.tensor([-1.5, -1.0, 0.0, 0.9])).tolist()
    [0.0, 0.5, 0.5, 0.5]
    """
    return (u.abs() <= 1).to(u.dtype) / 2


def epanechnikov(u: Tensor) -> Tensor:
    """K(u) = 3/4 · max(0, 1 − u²): a parabola, 0 from one bandwidth on (Epanechnikov, 1969).

    >>> epanechnikov(torch.tensor([-2.0, 0.0, 0.5])).tolist()
    [0.0, 0.75, 0.5625]
    """
    return 3 / 4 * torch.clamp(1 - u**2, min=0)


def triangular(u: Tensor) -> Tensor:
    """K(u) = max(0, 1 − |u|): a tent, which some courses call "Epanechnikov".

    >>> triangular(torch.tensor([-2.0, 0.0, 0.5])).tolist()
    [0.0, 1.0, 0.5]
    """
    return torch.clamp(1 - u.abs(), min=0)


KERNELS: dict[str, Kernel] = {
    "gaussian": gaussian,
    "boxcar": boxcar,
    "epanechnikov": epanechnikov,
    "triangular": triangular,
}


def nadaraya_watson(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    bandwidth: float | Tensor,
    kernel: Kernel = gaussian,
) -> tuple[Tensor, Tensor]:
    """Average the values, each weighted by the kernel of its key's distance to the query.

    f(x) = Σᵢ α(x, xᵢ) yᵢ with α(x, xᵢ) = K(u) / Σⱼ K(uⱼ) and u = (x − xᵢ) / bandwidth.

    Args:
        queries: points to predict at, shape (Q,), or (B, Q) for batches.
        keys: points where the value is known, shape (K,) or (B, K).
        values: their values, the shape of keys.
        bandwidth: one positive number in the units of the keys; a tensor may carry a gradient.
        kernel: a function of u that gives heights ≥ 0, such as those in ``KERNELS``.

    Returns:
        predictions, shape (Q,) or (B, Q), and weights, shape (Q, K) or (B, Q, K).
        With a kernel of finite reach a query may be out of reach of every key: its weights are
        then all 0 and its prediction is NaN, because "0" would be a prediction and there is none.

    Raises:
        TypeError: an argument that is not a tensor of floating-point numbers.
        ValueError: shapes that do not fit, entries or a bandwidth that are NaN or infinite, a
            bandwidth ≤ 0, or a kernel that gives negative or non-finite heights.

    >>> keys, values = torch.tensor([0.0, 1.0, 3.0]), torch.tensor([2.0, 4.0, 9.0])
    >>> predictions, weights = nadaraya_watson(
    ...     torch.tensor([0.5, 9.0]), keys, values, bandwidth=1.0, kernel=boxcar)
    >>> predictions.tolist(), weights.tolist()
    ([3.0, nan], [[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])
    """
    _check_data(queries=queries, keys=keys, values=values)
    _check_shapes(queries, keys, values)
    bandwidth = _checked_bandwidth(bandwidth, keys)

    differences = queries.unsqueeze(-1) - keys.unsqueeze(-2)  # (B, Q, 1) - (B, 1, K) -> (B, Q, K)
    if kernel is gaussian:
        weights = _gaussian_weights(differences, bandwidth)
    else:
        heights = kernel(differences / bandwidth)
        if not (torch.isfinite(heights) & (heights >= 0)).all():
            raise ValueError("kernel gave negative or non-finite heights; heights ≥ 0 are needed")
        totals = heights.sum(dim=-1, keepdim=True)  # (B, Q, 1)
        weights = heights / totals.masked_fill(totals == 0, 1.0)

    # (B, Q, K) x (B, K, 1) -> (B, Q, 1) -> (B, Q)
    predictions = (weights @ values.unsqueeze(-1)).squeeze(-1)
    out_of_reach = (weights == 0).all(dim=-1)
    return predictions.masked_fill(out_of_reach, math.nan), weights


def others(points: Tensor) -> Tensor:
    """Give each point the list of all the other points: (K,) -> (K, K − 1).

    >>> others(torch.tensor([1.0, 2.0, 3.0])).tolist()
    [[2.0, 3.0], [1.0, 3.0], [1.0, 2.0]]
    """
    if points.dim() != 1 or len(points) < 2:
        raise ValueError(
            f"points has shape {tuple(points.shape)}; (K,) with K of at least 2 is needed"
        )
    count = len(points)
    not_own = ~torch.eye(count, dtype=torch.bool, device=points.device)  # (K, K)
    return points.expand(count, count)[not_own].reshape(count, count - 1)  # (K, K) -> (K, K - 1)


def leave_one_out_error(
    keys: Tensor, values: Tensor, bandwidth: float | Tensor, kernel: Kernel = gaussian
) -> Tensor:
    """Mean squared error when each value is predicted from all the others.

    Args:
        keys: shape (K,), at least two.
        values: shape (K,).
        bandwidth: one positive number.
        kernel: as in :func:`nadaraya_watson`.

    Returns:
        One number, in squared units of the values. It is infinite when some key is out of reach of
        all others: such a bandwidth predicts nothing there, and must not win a search.

    Raises:
        TypeError, ValueError: as :func:`nadaraya_watson` does, and for fewer than two keys.

    >>> leave_one_out_error(
    ...     torch.tensor([0.0, 1.0, 2.0]), torch.tensor([1.0, 2.0, 4.0]), 1.0, boxcar).item()
    1.75
    """
    _check_data(keys=keys, values=values)
    if keys.dim() != 1 or len(keys) < 2:
        raise ValueError(f"keys has shape {tuple(keys.shape)}; (K,) with K of at least 2 is needed")
    if values.shape != keys.shape:
        raise ValueError(f"values has shape {tuple(values.shape)}; {tuple(keys.shape)} is needed")
    # A batch of K problems with one query each: (K, 1), (K, K - 1), (K, K - 1) -> (K, 1)
    predictions, _ = nadaraya_watson(
        keys.unsqueeze(-1), others(keys), others(values), bandwidth, kernel
    )
    squared = (predictions.squeeze(-1) - values) ** 2  # (K,)
    return squared.masked_fill(squared.isnan(), math.inf).mean()


class NWKernelRegression(nn.Module):
    """Nadaraya-Watson regression with a learnable width: softmax(−((x − xᵢ) w)² / 2).

    ``w`` is one number, 1 / bandwidth. Each query has a row of keys of its own, so that a training
    point can be predicted without its own key (see :func:`others`).

    Shapes: queries (Q,), keys (Q, K), values (Q, K) -> predictions (Q,). After a forward pass
    ``attention_weights`` is (Q, K), each row sums to 1, and it holds no autograd graph.

    Raises ``ValueError`` for shapes that do not fit.

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
        self.attention_weights: Tensor | None = None

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Predict one value for each query from its own row of keys."""
        if queries.dim() != 1:
            raise ValueError(f"queries has shape {tuple(queries.shape)}; (n_queries,) is needed")
        if keys.dim() != 2 or keys.shape[0] != len(queries) or keys.shape[1] == 0:
            raise ValueError(
                f"keys has shape {tuple(keys.shape)}; ({len(queries)}, n_keys) is needed, "
                "a row of keys for each query"
            )
        if values.shape != keys.shape:
            raise ValueError(
                f"values has shape {tuple(values.shape)}; {tuple(keys.shape)} is needed"
            )
        differences = queries.unsqueeze(-1) - keys  # (Q, 1) - (Q, K) -> (Q, K)
        weights = torch.softmax(-((differences * self.w) ** 2) / 2, dim=-1)
        self.attention_weights = weights.detach()
        # (Q, 1, K) x (Q, K, 1) -> (Q, 1, 1) -> (Q,)
        return torch.bmm(weights.unsqueeze(1), values.unsqueeze(-1)).reshape(-1)


def _gaussian_weights(differences: Tensor, bandwidth: Tensor) -> Tensor:
    """softmax(−u²/2): the constants cancel, and no bandwidth is too small.

    The nearest key is subtracted before the division, so its score is exactly 0 even where u² of
    every key would overflow.
    """
    squared = differences**2
    beyond_nearest = squared - squared.amin(dim=-1, keepdim=True).detach()
    return torch.softmax(-beyond_nearest / bandwidth / bandwidth / 2, dim=-1)


def _check_data(**arguments: Tensor) -> None:
    for name, found in arguments.items():
        if not isinstance(found, Tensor) or not found.is_floating_point():
            kind = f"dtype {found.dtype}" if isinstance(found, Tensor) else type(found).__name__
            raise TypeError(f"{name} is {kind}; a floating-point tensor is needed")
        if not torch.isfinite(found).all():
            place = (~torch.isfinite(found)).nonzero()[0].tolist()
            raise ValueError(
                f"{name}{place} is {found[tuple(place)].item()}; finite numbers are needed"
            )


def _check_shapes(queries: Tensor, keys: Tensor, values: Tensor) -> None:
    if keys.dim() == 0 or keys.shape[-1] == 0:
        raise ValueError(f"keys has shape {tuple(keys.shape)}; (K,) or (B, K), K ≥ 1, is needed")
    if values.shape != keys.shape:
        raise ValueError(
            f"values has shape {tuple(values.shape)}; {tuple(keys.shape)} is needed, as keys has"
        )
    if queries.dim() == 0 or queries.shape[:-1] != keys.shape[:-1]:
        needed = "(" + "".join(f"{size}, " for size in keys.shape[:-1]) + "Q)"
        needed = "(Q,)" if keys.dim() == 1 else needed
        raise ValueError(
            f"queries has shape {tuple(queries.shape)}; {needed} is needed "
            f"beside keys of shape {tuple(keys.shape)}"
        )


def _checked_bandwidth(bandwidth: float | Tensor, keys: Tensor) -> Tensor:
    shape = tuple(bandwidth.shape) if isinstance(bandwidth, Tensor) else ()
    if math.prod(shape) != 1:
        raise ValueError(f"bandwidth has shape {shape}; one number is needed")
    converted = torch.as_tensor(bandwidth, dtype=keys.dtype, device=keys.device).reshape(())
    # Checked after conversion: 1e-300 is positive as a Python float and 0 in float32.
    if not (torch.isfinite(converted) and converted > 0):
        raise ValueError(
            f"bandwidth is {float(bandwidth)}; a positive finite number in {keys.dtype} is needed"
        )
    return converted
