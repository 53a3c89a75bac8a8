"""Checks for chapter 2: Nadaraya-Watson kernel regression."""

from typing import Any

import torch
from torch import Tensor

from d2lattn.exercises.checking import Differs, call, check, number, same, several, tensor_like
from d2lattn.kernels import nadaraya_watson, others


def _near(found: Tensor, wanted: Tensor) -> bool:
    return torch.allclose(found, wanted, rtol=1e-3, atol=1e-4)


@check("2.1")
def check_gaussian_weights(answer: Any) -> str:
    """Check ``gaussian_weights(query, keys, bandwidth)``: the weights of one query, shape (K,)."""
    few, more = torch.tensor([0.0, 1.5, 4.0]), torch.tensor([-3.0, 0.5, -3.0, 2.0, -1.5])
    cases = [(1.0, few, 1.0), (1.0, few, 0.5), (1.0, few, 3.0), (-2.5, more, 2.0), (0.3, more, 0.7)]
    for place, keys, bandwidth in cases:
        query = torch.tensor(place)
        difference = query - keys
        score = -(difference**2) / (2 * bandwidth**2)
        wanted = torch.softmax(score, dim=0)
        found = tensor_like(call(answer, query, keys, bandwidth), wanted, "the weights")
        mistakes = [
            (torch.exp(score), "These are heights, not weights: divide by their sum."),
            (
                torch.softmax(-score, dim=0),
                "The farthest key weighs most. Which sign does the score need?",
            ),
            (torch.softmax(2 * score, dim=0), "The Gaussian has a 2 under the fraction: −u²/2."),
            (
                torch.softmax(-difference.abs() / bandwidth, dim=0),
                "The distance enters squared: −u²/2.",
            ),
            (
                torch.softmax(-(difference**2) / 2, dim=0),
                "The bandwidth changes nothing. Divide the difference by it first.",
            ),
            (
                torch.softmax(-(difference**2) / (2 * bandwidth), dim=0),
                "Divide by the bandwidth before you square, not after.",
            ),
            (
                torch.softmax(-((difference * bandwidth) ** 2) / 2, dim=0),
                "You multiply by the bandwidth: a wider one should look farther. Divide.",
            ),
        ]
        for mistake, hint in mistakes:
            if _near(found, mistake) and not _near(found, wanted):
                raise Differs(hint)
        same(found, wanted, "The weights are softmax(−u²/2) with u = (query − key) / bandwidth.")
    for place, keys, bandwidth in ((1000.0, few, 1.0), (-1000.0, more, 0.5)):
        found = tensor_like(call(answer, torch.tensor(place), keys, bandwidth), keys, "the weights")
        if found.isnan().any():
            raise Differs(
                f"Near the keys all is right, but a query at {place:g} gives NaN: every exp "
                "underflows to 0 and 0/0 follows. torch.softmax subtracts the largest score first."
            )
        if (found == 0).all():
            raise Differs(
                f"Near the keys all is right, but a query at {place:g} gives no key any weight: "
                "every exp underflows to 0. torch.softmax subtracts the largest score first."
            )
        wanted = torch.softmax(-(((place - keys) / bandwidth) ** 2) / 2, dim=0)
        hint = "Far away, too, the weights sum to 1, and the nearest key has nearly all."
        same(found, wanted, hint, f"for a query at {place:g}, the weight")
    return "right. These weights are softmax attention, whatever the bandwidth."


@check("2.2")
def check_by_hand(answer: Any) -> str:
    """Check the prediction by hand: keys 0, 1, 3, values 2, 4, 9, query 1, Epanechnikov, h = 2."""
    found = number(answer, "the prediction")
    if abs(found - 22 / 7) < 0.006:
        return "right: (0.75 · 2 + 1 · 4) / 1.75 = 22/7. The key at 3 is at the edge and weighs 0."
    for mistake, hint in [
        (10 / 3, "That is the triangular kernel, 1 − |u|. Epanechnikov's is 1 − u²."),
        (5.0, "That is the plain mean of all three values, or the boxcar kernel."),
        (5.5, "Divide by the sum of the heights, so that the weights sum to 1."),
        (4.125, "The constant 3/4 cancels only when you divide by the sum of the heights."),
        (
            4.0,
            "That is the value of the nearest key alone. How far is the key at 0, in bandwidths?",
        ),
    ]:
        if abs(found - mistake) < 0.006:
            raise Differs(hint)
    raise Differs(
        f"{found:.3f} is not the prediction. Write u = (1 − key) / 2 for each key, then 1 − u², "
        "then divide by the sum."
    )


def _left_out(keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
    """Each value's prediction from all the others, (K,) and (K,) -> (K,)."""
    predictions, _ = nadaraya_watson(keys.unsqueeze(-1), others(keys), others(values), bandwidth)
    return predictions.squeeze(-1)  # (K, 1) -> (K,)


@check("2.3")
def check_left_out_predictions(answer: Any) -> str:
    """Check ``left_out_predictions(keys, values, bandwidth)``, shape (K,)."""
    few = torch.tensor([0.0, 0.4, 1.0, 2.5, 2.6]), torch.tensor([1.0, 3.0, -2.0, 5.0, 4.0])
    twice = torch.tensor([1.0, -1.0, 1.0]), torch.tensor([2.0, 7.0, 4.0])
    for (keys, values), bandwidth in ((few, 0.5), (few, 2.0), (twice, 1.5)):
        wanted = _left_out(keys, values, bandwidth)
        found = tensor_like(call(answer, keys, values, bandwidth), wanted, "the predictions")
        with_own, weights = nadaraya_watson(keys, keys, values, bandwidth)
        unscaled = with_own - weights.diagonal() * values
        if _near(found, with_own):
            raise Differs("Each point still sees its own value. Take the diagonal out.")
        if _near(found, unscaled):
            raise Differs(
                "The own weights are gone, but the rows no longer sum to 1. Mask the scores with "
                "−inf before the softmax."
            )
        same(found, wanted, "Each point is predicted from all the others, with weights that sum 1.")

    # Far from all others a point's own weight is 1 in floating point, and so far off that a
    # finite number in place of −inf is not low enough.
    apart, far = torch.tensor([0.0, 0.4, 30.0]), torch.tensor([0.0, 1e17])
    for keys, values in ((apart, torch.tensor([1.0, 3.0, -2.0])), (far, torch.tensor([5.0, 8.0]))):
        case = f"with a point at {keys[-1]:g}, far from all others, the prediction"
        wanted = _left_out(keys, values, 0.5)
        found = tensor_like(call(answer, keys, values, 0.5), wanted, "the predictions")
        if _near(found[-1], values[-1]):
            raise Differs(
                f"{case} there is its own value: its own score is low, but theirs are lower. "
                "Mask it with −inf, and not with a large negative number."
            )
        hint = (
            "What the others weigh is lost in rounding beside the own weight. Mask the scores with "
            "−inf before the softmax, in place of taking the own weight off after it."
        )
        same(found, wanted, hint, case)
    return "right. A mask before the softmax is how chapter 3 hides keys, too."


# Median over 40 samples of 50 points of the bandwidth with the least leave-one-out error, by noise.
TYPICAL_BANDWIDTHS = {0.25: 0.147, 0.5: 0.243, 1.0: 0.340}


@check("2.4")
def check_noise(answer: Any) -> str:
    """Check the experiment: typical best bandwidth at noise 0.25, 0.5 and 1.0."""
    hint = "Give three bandwidths, for noise 0.25, 0.5 and 1.0, in this order."
    found = [number(part, f"entry {i}") for i, part in enumerate(several(answer, 3, hint))]
    if found[0] > found[1] > found[2]:
        raise Differs(
            "Your bandwidths shrink with the noise. Are they in the order 0.25, 0.5, 1.0, and are "
            "they bandwidths and not w = 1 / bandwidth?"
        )
    if not found[0] < found[1] < found[2]:
        raise Differs("One sample is a matter of luck. Take the median over at least 20 samples.")
    for bandwidth, (noise, wanted) in zip(found, TYPICAL_BANDWIDTHS.items(), strict=True):
        if not 0.7 < bandwidth / wanted < 1.4:
            raise Differs(
                f"At noise {noise} your median is {bandwidth:.2f}; ours is {wanted:.2f}. Are there "
                "50 points a sample, and does the noise scale a standard normal?"
            )
    return "right. The more noise, the more neighbours a good average needs."


@check("2.5")
def check_better_key(answer: Any) -> str:
    """Check the least leave-one-out RMSE with log(income) as the key, in francs."""
    found = number(answer, "the error")
    # Measured with a grid of bandwidths from 0.02 to 0.6 on the natural logarithm of income.
    if abs(found - 111.51) < 0.35:
        return (
            "right. The same data, the same kernel, and a key in which a tenth more is a tenth "
            "more for everyone."
        )
    if abs(found - 119.52) < 0.35:
        raise Differs("That is the error with income itself as the key. Give log(income) as keys.")
    if abs(found - 111.51**2) < 120:
        raise Differs("That is the mean square. Take its root, so that the unit is francs.")
    if 0 < found < 1:
        raise Differs(
            f"{found:.3f} looks like an error in log(food), or a bandwidth. Only the key changes; "
            "the values stay in francs."
        )
    raise Differs(
        f"{found:.2f} is not the least error. Search bandwidths from 0.02 to 0.6: in "
        "logarithms 0.1 is about ten per cent of income."
    )


@check("2.6")
def check_bench(answer: Any) -> str:
    """Check the bench's best bandwidths, Gaussian then Epanechnikov, on its own twelve points."""
    hint = "Give two bandwidths: for the Gaussian, then for the Epanechnikov kernel."
    first, second = several(answer, 2, hint)
    gauss, epanech = number(first, "the first"), number(second, "the second")
    if 1.0 <= gauss <= 1.3 and 0.37 <= epanech <= 0.57:
        raise Differs("The two are in the other order: Gaussian first.")
    # Bandwidths whose leave-one-out error is within 3 % of the least.
    if not 0.37 <= gauss <= 0.57:
        raise Differs(
            f"With the Gaussian, {gauss:.2f} is not at the bottom. Watch the leave-one-out error "
            "fall and rise again; the points must be where they were (Reset)."
        )
    if not 1.0 <= epanech <= 1.3:
        raise Differs(
            f"With Epanechnikov's kernel, {epanech:.2f} is not at the bottom. Look farther: this "
            "kernel ends one bandwidth away, where the Gaussian still listens."
        )
    return (
        "right. The ratio is near √5 = 2.24: one bandwidth is one standard deviation of the "
        "Gaussian, and √5 of them of Epanechnikov's kernel."
    )
