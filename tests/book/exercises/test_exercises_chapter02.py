"""Chapter 2's checks: right answers pass, foreseen mistakes get their own hint, nothing raises."""

from fractions import Fraction

import numpy as np
import pytest
import torch

import d2lattn as d2l
from d2lattn.book.exercises import chapter02

INF = float("inf")


def weights_with(score):
    return lambda query, keys, bandwidth: torch.softmax(score(query - keys, bandwidth), dim=-1)


def features_with(score):
    return lambda query, keys, values, h: score(query - keys, h).softmax(dim=0) @ values


def with_own_key(keys, values, bandwidth):
    return d2l.nadaraya_watson(keys, keys, values, bandwidth)[0]


def zeroed_diagonal(keys, values, bandwidth):
    weights = d2l.nadaraya_watson(keys, keys, values, bandwidth)[1]
    return weights.clone().fill_diagonal_(0) @ values


def underflowing(query, keys, bandwidth):
    heights = torch.exp(-(((query - keys) / bandwidth) ** 2) / 2)
    return heights / heights.sum()


def own_score(number):
    def answer(keys, values, bandwidth):
        scores = -(((keys.unsqueeze(1) - keys) / bandwidth) ** 2) / 2
        return torch.softmax(scores.fill_diagonal_(number), dim=-1) @ values

    return answer


def subtracting_the_diagonal(keys, values, bandwidth):
    predictions, weights = d2l.nadaraya_watson(keys, keys, values, bandwidth)
    own = weights.diagonal()
    return (predictions - own * values) / (1 - own)


def dividing_what_is_left(keys, values, bandwidth):
    weights = d2l.nadaraya_watson(keys, keys, values, bandwidth)[1].fill_diagonal_(0)
    return weights @ values / weights.sum(dim=-1)


def other_values(keys, values, bandwidth):
    """Leave out every key that is at the query's place, so a second one there as well."""
    scores = -(((keys.unsqueeze(1) - keys) / bandwidth) ** 2) / 2
    return torch.softmax(scores.masked_fill(scores == 0, -INF), dim=-1) @ values


def far_away(instead):
    """Weights that are right near the keys."""

    def answer(query, keys, bandwidth):
        heights = torch.exp(-(((query - keys) / bandwidth) ** 2) / 2)
        return instead(heights, heights / heights.sum())

    return answer


two_features = chapter02.check_two_features

MORE = [
    (chapter02.check_by_hand, 3.14),
    (chapter02.check_by_hand, Fraction(22, 7)),
    (chapter02.check_noise, np.array([0.15, 0.24, 0.33])),
    (chapter02.check_noise, torch.tensor([0.15, 0.24, 0.33])),
    (chapter02.check_noise, [Fraction(15, 100), Fraction(24, 100), np.float32(0.33)]),
    (chapter02.check_bench, np.array([0.45, 1.1])),
    (chapter02.check_rank_key, torch.tensor(111.29)),
    (chapter02.check_temperature, Fraction(8, 25)),
]

WRONG = [
    (chapter02.check_gaussian_weights, lambda q, k, h: torch.exp(-(((q - k) / h) ** 2) / 2), "sum"),
    (chapter02.check_gaussian_weights, weights_with(lambda d, h: (d / h) ** 2 / 2), "sign"),
    (chapter02.check_gaussian_weights, weights_with(lambda d, h: -((d / h) ** 2)), "a 2 under"),
    (chapter02.check_gaussian_weights, weights_with(lambda d, h: -(d / h).abs()), "squared"),
    (chapter02.check_gaussian_weights, weights_with(lambda d, h: -(d**2) / 2), "changes nothing"),
    (chapter02.check_gaussian_weights, weights_with(lambda d, h: -(d**2) / h / 2), "before you"),
    (chapter02.check_gaussian_weights, weights_with(lambda d, h: -((d * h) ** 2) / 2), "multiply"),
    (chapter02.check_gaussian_weights, underflowing, "NaN"),
    (chapter02.check_gaussian_weights, far_away(lambda _, w: w.nan_to_num(0)), "any weight"),
    (chapter02.check_gaussian_weights, far_away(lambda h, _: h / (h.sum() + 1e-9)), "any weight"),
    (chapter02.check_gaussian_weights, far_away(lambda _, w: w.nan_to_num(99)), "Far away, too"),
    (chapter02.check_gaussian_weights, far_away(lambda _, w: w.nan_to_num(INF)), "Far away, too"),
    (chapter02.check_gaussian_weights, far_away(lambda _, w: w.nan_to_num(1 / 3)), "Far away, too"),
    (
        chapter02.check_gaussian_weights,
        lambda q, k, h: weights_with(lambda d, h: -((d / h) ** 2) / 2)(q, k[:3], h),
        "shape (3,); (5,) is needed",
    ),
    (chapter02.check_gaussian_weights, lambda q, k, h: k.sub_(q).div_(h), "argument number 2"),
    (chapter02.check_gaussian_weights, lambda q, k, h: torch.ones(3) / 3, "softmax"),
    (chapter02.check_gaussian_weights, lambda q, k, h: torch.ones(1, 3) / 3, "shape (1, 3)"),
    (chapter02.check_by_hand, 10 / 3, "triangular"),
    (chapter02.check_by_hand, 5, "mean"),
    (chapter02.check_by_hand, 5.5, "sum of the heights"),
    (chapter02.check_by_hand, 4.125, "3/4 cancels"),
    (chapter02.check_by_hand, 4, "nearest key"),
    (chapter02.check_by_hand, 7.7, "Write u"),
    (chapter02.check_left_out_predictions, with_own_key, "own value"),
    (chapter02.check_left_out_predictions, zeroed_diagonal, "no longer sum to 1"),
    (chapter02.check_left_out_predictions, lambda k, v, h: v, "from all the others"),
    (chapter02.check_left_out_predictions, own_score(-100.0), "30, far from all others"),
    (chapter02.check_left_out_predictions, own_score(-1e30), "not with a large negative number"),
    (chapter02.check_left_out_predictions, subtracting_the_diagonal, "lost in rounding"),
    (chapter02.check_left_out_predictions, dividing_what_is_left, "lost in rounding"),
    (chapter02.check_left_out_predictions, other_values, "from all the others"),
    (chapter02.check_by_hand, "3.143", "one number"),
    (chapter02.check_noise, ("0.15", "0.24", "0.33"), "one number"),
    (chapter02.check_noise, "abc", "three bandwidths"),
    (chapter02.check_noise, b"abc", "three bandwidths"),
    (chapter02.check_noise, 0.3, "three bandwidths"),
    (chapter02.check_noise, (0.3, 0.2, 0.1), "shrink"),
    (chapter02.check_noise, (0.15, 0.3, 0.2), "median"),
    (chapter02.check_noise, (0.5, 0.6, 0.7), "0.25"),
    (chapter02.check_rank_key, 119.52, "income itself"),
    (chapter02.check_rank_key, 111.51, "log(income)"),
    (chapter02.check_rank_key, 12385.0, "root"),
    (chapter02.check_rank_key, 5.25, "a bandwidth"),
    (chapter02.check_rank_key, 150, "search bandwidths"),
    (chapter02.check_temperature, 0.16, "has a 2"),
    (chapter02.check_temperature, 0.8, "Square the bandwidth"),
    (chapter02.check_temperature, 2.5, "w = 1/h"),
    (chapter02.check_temperature, 0.4, "bandwidth itself"),
    (chapter02.check_temperature, 1 / 0.32, "multiply"),
    (chapter02.check_temperature, 7, "solve for"),
    (two_features, features_with(lambda d, h: -(d / h).abs().sum(1) / 2), "Square"),
    (
        two_features,
        features_with(lambda d, h: -((d / h).sum(1) ** 2) / 2),
        "cancel",
    ),
    (two_features, features_with(lambda d, h: -((d / h) ** 2).mean(1) / 2), "mean"),
    (two_features, features_with(lambda d, h: -((d / h) ** 2).sum(1)), "a 2 below"),
    (
        two_features,
        features_with(lambda d, h: -(d**2).sum(1) / 2),
        "change nothing",
    ),
    (
        two_features,
        features_with(lambda d, h: -(d**2 / h).sum(1) / 2),
        "before you",
    ),
    (
        two_features,
        features_with(lambda d, h: -(d / h).norm(dim=1) / 2),
        "distance",
    ),
    (two_features, lambda q, k, v, h: v.mean(), "The score of a key"),
    (two_features, lambda q, k, v, h: v, "shape (4,)"),
    (chapter02.check_audit, 0.0, "too good"),
    (chapter02.check_audit, 0.026, "too good"),
    (chapter02.check_audit, 0.3849**0.5, "root"),
    (chapter02.check_audit, 0.3115, "copies still stand"),
    (chapter02.check_audit, 1.0, "left out"),
    (chapter02.check_bench, 0.4, "two bandwidths"),
    (chapter02.check_bench, (1.1, 0.45), "other order"),
    (chapter02.check_bench, (0.8, 1.1), "Gaussian"),
    (chapter02.check_bench, (0.45, 0.5), "farther"),
]


def masked(keys, values, bandwidth):
    scores = -((((keys.unsqueeze(1) - keys) / bandwidth) ** 2) / 2).fill_diagonal_(INF)
    return torch.softmax(scores, dim=-1) @ values


CHECKS = {
    chapter02.check_gaussian_weights: (weights_with(lambda d, h: -((d / h) ** 2) / 2),),
    chapter02.check_by_hand: (22 / 7,),
    chapter02.check_left_out_predictions: (masked,),
    chapter02.check_noise: ((0.15, 0.24, 0.33),),
    chapter02.check_rank_key: (111.3,),
    chapter02.check_temperature: (0.32,),
    two_features: (features_with(lambda d, h: -((d / h) ** 2).sum(dim=1) / 2),),
    chapter02.check_audit: (0.385,),
    chapter02.check_bench: ((0.45, 1.1),),
}


@pytest.mark.parametrize(("check", "answer"), MORE)
def test_other_right_answers_pass(check, answer):
    verdict = check(answer)
    assert verdict, verdict


@pytest.mark.parametrize(("check", "answer", "hint"), WRONG)
def test_each_mistake_has_its_hint(check, answer, hint):
    verdict = check(answer)
    assert not verdict
    assert hint in verdict.sentence
