"""Checks for chapter 2: Nadaraya-Watson kernel regression."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from d2lattn.book.exercises.checking import (
    Function,
    WrongAnswer,
    agrees,
    call,
    check,
    compare,
    expect,
    judge_number,
    read_number,
    read_parts,
    read_tensor,
    recognise,
)
from d2lattn.book.exercises.choices import choice
from d2lattn.kernel_regression import leave_one_out, nadaraya_watson

# Three digits recognise a mistake. `expect` decides more strictly whether an answer is right.
_near = partial(agrees, rtol=1e-3, atol=1e-4)


def _gaussian_weights(query: Tensor, keys: Tensor, bandwidth: float) -> Tensor:
    return torch.softmax(-(((query - keys) / bandwidth) ** 2) / 2, dim=0)


def _underflowing(query: Tensor, keys: Tensor, bandwidth: float) -> Tensor:
    heights = torch.exp(-(((query - keys) / bandwidth) ** 2) / 2)
    return heights / heights.sum()


@check("2.4", right=(_gaussian_weights,), wrong=[_underflowing])
def check_gaussian_weights(answer: Any) -> str:
    """Check ``gaussian_weights(query, keys, bandwidth)``: the weights of one query, shape (K,)."""
    few, more = torch.tensor([0.0, 1.5, 4.0]), torch.tensor([-3.0, 0.5, -3.0, 2.0, -1.5])
    cases = [(1.0, few, 1.0), (1.0, few, 0.5), (1.0, few, 3.0), (-2.5, more, 2.0), (0.3, more, 0.7)]
    for place, keys, bandwidth in cases:
        query = torch.tensor(place)
        difference = query - keys
        score = -(difference**2) / (2 * bandwidth**2)
        expected = _gaussian_weights(query, keys, bandwidth)
        mistakes = [
            (torch.exp(score), "These are heights, not weights: divide by their sum."),
            (torch.softmax(-score, dim=0), "The farthest key has the most weight: check the sign."),
            (torch.softmax(2 * score, dim=0), "The Gaussian's exponent has a factor ½: −u²/2."),
            (torch.softmax(-(difference**2) / 2, dim=0), "Divide the difference by the bandwidth."),
        ]
        hint = "The weights are softmax(−u²/2) with u = (query − key) / bandwidth."
        given = query, keys, bandwidth
        compare(answer, given, expected, mistakes, hint, "the weights", rtol=1e-3, atol=1e-4)
    for place, keys, bandwidth in ((1000.0, few, 1.0), (-1000.0, more, 0.5)):
        given = torch.tensor(place), keys, bandwidth
        result = read_tensor(call(answer, *given), keys, "the weights")
        if result.isnan().any() or (result == 0).all():
            raise WrongAnswer(
                f"Near the keys, your weights are right, but for a query at {place:g} the sum of "
                "your heights is 0, because each exponential underflows. torch.softmax "
                "subtracts the largest score first."
            )
        expected = _gaussian_weights(torch.tensor(place), keys, bandwidth)
        hint = "Far away, too, the weights sum to 1; the nearest keys have nearly all the weight."
        expect(result, expected, hint, f"for a query at {place:g}, the weight")
    return "right. These weights are softmax attention, whatever the bandwidth."


check_by_hand = choice("2.2")


def _left_out(keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
    """Each value's prediction from all the others, (K,) and (K,) -> (K,)."""
    predictions, _ = nadaraya_watson(
        keys.unsqueeze(-1), leave_one_out(keys), leave_one_out(values), bandwidth
    )
    return predictions.squeeze(-1)  # (K, 1) -> (K,)


def _large_number(keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
    scores = -(((keys.unsqueeze(1) - keys) / bandwidth) ** 2) / 2
    return torch.softmax(scores.fill_diagonal_(-100.0), dim=-1) @ values


def _taken_off_afterwards(keys: Tensor, values: Tensor, bandwidth: float) -> Tensor:
    weights = nadaraya_watson(keys, keys, values, bandwidth)[1].fill_diagonal_(0)
    return weights @ values / weights.sum(dim=-1)


@check("2.1", right=(_left_out,), wrong=[_large_number, _taken_off_afterwards])
def check_left_out_predictions(answer: Any) -> str:
    """Check ``left_out_predictions(keys, values, bandwidth)``, shape (K,)."""
    few = torch.tensor([0.0, 0.4, 1.0, 2.5, 2.6]), torch.tensor([1.0, 3.0, -2.0, 5.0, 4.0])
    twice = torch.tensor([1.0, -1.0, 1.0]), torch.tensor([2.0, 7.0, 4.0])
    for (keys, values), bandwidth in ((few, 0.5), (few, 2.0), (twice, 1.5)):
        expected = _left_out(keys, values, bandwidth)
        with_own, weights = nadaraya_watson(keys, keys, values, bandwidth)
        unscaled = with_own - weights.diagonal() * values
        mistakes = [
            (with_own, "Each point still sees its own value. Mask the diagonal."),
            (
                unscaled,
                "No point sees itself, but the rows no longer sum to 1. Mask the scores with −inf "
                "before the softmax.",
            ),
        ]
        hint = "Each point is predicted from all the others, with weights that sum to 1."
        given = keys, values, bandwidth
        compare(answer, given, expected, mistakes, hint, "the predictions", rtol=1e-3, atol=1e-4)

    # Far from all others a point's own weight is 1 in floating point, and so far off that a
    # finite number in place of −inf is not low enough.
    apart, far = torch.tensor([0.0, 0.4, 30.0]), torch.tensor([0.0, 1e17])
    for keys, values in ((apart, torch.tensor([1.0, 3.0, -2.0])), (far, torch.tensor([5.0, 8.0]))):
        case = f"with a point at {keys[-1]:g}, far from all others, the prediction"
        expected = _left_out(keys, values, 0.5)
        result = read_tensor(call(answer, keys, values, 0.5), expected, "the predictions")
        if _near(result[-1], values[-1]):
            raise WrongAnswer(
                f"{case} there is the point's own value: its own score is low, but the scores of "
                "the others are lower. Mask its own score with −inf, not with a large number."
            )
        hint = (
            "So far off, the weights of the others are rounded to 0 before they are divided. Mask "
            "the scores with −inf before the softmax; do not remove the point's own weight later."
        )
        expect(result, expected, hint, case)
    return "right. Chapter 3 hides keys in the same way, with a mask applied before the softmax."


# Median over 40 samples of 50 points of the bandwidth with the least leave-one-out error, by noise.
TYPICAL_BANDWIDTHS = {0.25: 0.147, 0.5: 0.243, 1.0: 0.340}


@check(
    "2.7",
    right=((0.15, 0.24, 0.33),),
    wrong=[((0.3, 0.2, 0.1),), ((0.15, 0.3, 0.2),), ((0.5, 0.6, 0.7),)],
)
def check_noise(answer: Any) -> str:
    """Check the experiment: typical best bandwidth at noise 0.25, 0.5 and 1.0."""
    hint = "Give three bandwidths, for noise 0.25, 0.5 and 1.0, in this order."
    result = [read_number(part, f"entry {i}") for i, part in enumerate(read_parts(answer, 3, hint))]
    if result[0] > result[1] > result[2]:
        raise WrongAnswer(
            "Your bandwidths shrink as the noise grows. Are they in the order 0.25, 0.5, 1.0, and "
            "are they bandwidths and not w = 1 / bandwidth?"
        )
    if not result[0] <= result[1] <= result[2]:
        raise WrongAnswer(
            "The best bandwidth of a sample depends on chance. Take the median of more samples."
        )
    for bandwidth, (noise, expected) in zip(result, TYPICAL_BANDWIDTHS.items(), strict=True):
        if not 0.7 < bandwidth / expected < 1.4:
            raise WrongAnswer(
                f"At noise {noise}, your median is {bandwidth:.2f}; ours is {expected:.2f}. Are "
                "there 50 points in each sample, and is a standard normal multiplied by the noise?"
            )
    return "right. The more noise there is, the more neighbours the average needs."


def _learned_w(
    keys: Tensor,
    values: Tensor,
    w: float,
    rate: float,
    steps: int,
    own: float = -torch.inf,
    power: int = 1,
    kept: float = 0.0,
    count: int = 1,
) -> Tensor:
    """Train w = 1/h; the last four are for mistakes: own score, w as h, old gradients, no mean."""
    parameter, total = torch.tensor(w, requires_grad=True), torch.zeros(())
    for _ in range(steps):
        u = (keys.unsqueeze(1) - keys) * parameter**power  # (K, 1) - (K,) -> (K, K)
        scores = (-(u**2) / 2).masked_fill(torch.eye(len(keys), dtype=torch.bool), own)
        loss = (scores.softmax(dim=-1) @ values - values).square().mean() * count
        (gradient,) = torch.autograd.grad(loss, parameter)
        total = gradient + kept * total
        parameter = (parameter - rate * total).detach().requires_grad_()
    return parameter.detach()


@check("2.8", right=(_learned_w,))
def check_learned_w(learn_w: Function) -> str:
    """Kernel regression whose w is learned by gradient descent, each point left out of its keys."""
    keys = torch.linspace(0, 5, 12)
    values = keys.sin() + torch.randn(12) / 4
    given = keys, values, 1.0, 0.5, 3
    result = read_number(call(learn_w, *given), "your w")
    mistakes = [
        (_learned_w(*given, own=0.0), "Each point sees itself. Leave it out of its own keys."),
        (_learned_w(*given, power=-1), "You divide by w. But w is 1/h: multiply distances by it."),
        (_learned_w(*given, kept=1.0), "Gradients add up from step to step: call zero_grad()."),
        (_learned_w(*given, count=12), "The loss is the mean of the squares, not their sum."),
        (_learned_w(*given[:3], -0.5, 3), "The loss rises: subtract rate times the gradient."),
        (1.0, "Your w does not change. Does each step update w?"),
    ]
    expected = _learned_w(*given)
    recognise(result, mistakes, expected, rtol=1e-3)
    hint = "Use the walk's model, its mean squared error and plain gradient descent."
    if not agrees(torch.tensor(result), expected, rtol=1e-3):
        raise WrongAnswer(f"Your w is {result:.4f}; {expected:.4f} is right. {hint}")
    return "forward, loss, gradient, step: every training loop in this course has these parts."


@check("2.6", right=((0.45, 1.1),), wrong=[((1.1, 0.45),), ((0.8, 1.1),), ((0.45, 0.5),)])
def check_bench(answer: Any) -> str:
    """Check the bench's best bandwidths, Gaussian then Epanechnikov, on its own twelve points."""
    hint = "Give two bandwidths: first for the Gaussian, then for the Epanechnikov kernel."
    first, second = read_parts(answer, 2, hint)
    gauss, epanech = read_number(first, "the first"), read_number(second, "the second")
    if 1.0 <= gauss <= 1.3 and 0.37 <= epanech <= 0.57:
        raise WrongAnswer("Give the two in the other order: Gaussian first.")
    # Bandwidths whose leave-one-out error is at most 8 % above the least.
    if not 0.37 <= gauss <= 0.57:
        raise WrongAnswer(
            f"With the Gaussian, {gauss:.2f} is not the minimum. Watch the leave-one-out error "
            "fall and rise again; the points must be where they were (Reset)."
        )
    if not 1.0 <= epanech <= 1.3:
        raise WrongAnswer(
            f"With Epanechnikov's kernel, {epanech:.2f} is not the minimum. Try all bandwidths: "
            "this kernel is 0 beyond one bandwidth, where the Gaussian still has weight."
        )
    return (
        "right. For the same spread, Epanechnikov's kernel needs √5 = 2.24 times the bandwidth: "
        "one bandwidth is one standard deviation of the Gaussian and √5 standard deviations of "
        "Epanechnikov's kernel. With many points, the ratio of the best bandwidths is 2.21; with "
        "these twelve, it is 2.4."
    )


check_temperature = choice("2.3")


def _predict(query: Tensor, keys: Tensor, values: Tensor, bandwidths: Tensor) -> Tensor:
    u = (query - keys) / bandwidths  # (D,) - (K, D) -> (K, D)
    return (-(u**2).sum(dim=1) / 2).softmax(dim=0) @ values  # (K,) x (K,) -> ()


@check("2.5", right=(_predict,))
def check_two_features(answer: Any) -> str:
    """Check ``predict(query, keys, values, bandwidths)``: (D,), (K, D), (K,), (D,) -> a number."""
    for num_keys, widths in ((4, (0.6, 3.0)), (6, (2.0, 0.5)), (5, (2.0, 0.3, 1.0))):
        bandwidths = torch.tensor(widths)
        keys = torch.randn(num_keys, len(widths))
        query, values = keys.mean(dim=0), 10 * torch.rand(num_keys)
        u = (query - keys) / bandwidths  # (D,) - (K, D) -> (K, D)

        def pooled(scores: Tensor, values: Tensor = values) -> Tensor:
            return scores.softmax(dim=0) @ values  # (K,) x (K,) -> ()

        expected = _predict(query, keys, values, bandwidths)
        mistakes = [
            (pooled(-u.abs().sum(dim=1) / 2), "Square each u before you add them."),
            (pooled(-(u.sum(dim=1) ** 2) / 2), "Square each u first; opposite signs cancel here."),
            (pooled(-(u**2).sum(dim=1)), "The Gaussian's exponent has a factor ½: −½ Σ u²."),
            (pooled(-((query - keys) ** 2).sum(dim=1) / 2), "Divide by the bandwidths first."),
        ]
        hint = "The score of a key is −½ of the sum of its u² over the features."
        given = query, keys, values, bandwidths
        compare(answer, given, expected, mistakes, hint, "the prediction", rtol=1e-3, atol=1e-4)
    return "right. A feature with a very large bandwidth no longer matters."


def suspicious_sample() -> tuple[Tensor, Tensor]:
    """The file of exercise 2.9: keys and values, (K,) each, in the order of the keys."""
    generator = torch.Generator().manual_seed(16)
    keys = 5 * torch.rand(40, generator=generator)
    noise = 0.5 * torch.randn(40, generator=generator)
    values = 2 * torch.sin(keys) + keys**0.8 + noise
    twice = torch.arange(40).repeat(2)
    order = keys[twice].sort(stable=True).indices
    return keys[twice][order], values[twice][order]


# Least leave-one-out error of the file with one row of each pair, and of the whole file at the
# same bandwidth; the least of the whole file from bandwidth 0.02 up. Grid in steps of 0.01.
HONEST, COPIES_SEEN, STILL_DOUBLE = 0.3849, 0.3115, 0.0260


@check("2.9", right=(0.385,))
def check_audit(answer: Any) -> str:
    """Check the honest least leave-one-out error of the suspicious sample."""
    report = "That is too good to be true, like the error in the report. Print the first rows."
    mistakes = {
        0.0: report,
        STILL_DOUBLE: report,
        HONEST**0.5: "That is the root. Give the mean squared error, as leave_one_out_error does.",
        COPIES_SEEN: "Your bandwidth is right, but the copies are still among the keys when the "
        "error is measured. Keep one row of each pair.",
    }
    hint = (
        "{:.3f} is wrong. Which key equals a point that is left out? Keep one row of each pair, "
        "and search for the best bandwidth from 0.02 up again."
    )
    judge_number(answer, HONEST, mistakes, hint, "the error", rtol=0, atol=0.004)
    return (
        "right. Every point was entered twice, so each still had its copy among the keys. "
        "Remove duplicates before you leave points out."
    )
