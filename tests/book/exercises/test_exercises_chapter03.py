"""Each check of chapters 3 and 3b passes the right answer and knows each foreseen wrong one."""

import math

import pytest
import torch

from d2lattn.book.exercises import chapter03


def softmax_where(scores, valid):
    empty = ~valid.any(dim=-1, keepdim=True)
    scores = scores.masked_fill(~valid, -math.inf).masked_fill(empty, 0.0)
    return scores.softmax(dim=-1).masked_fill(empty, 0.0)


def additive_score(query, keys, W_q, W_k, w_v):
    return torch.tanh(W_q @ query + keys @ W_k.T) @ w_v


def softmax_backward(weights, gradient):
    return weights * (gradient - (weights * gradient).sum(dim=-1, keepdim=True))


def gaussian_scores(queries, keys, bandwidth):
    products = queries @ keys.transpose(1, 2)
    norms = queries.square().sum(-1).unsqueeze(2) + keys.square().sum(-1).unsqueeze(1)
    return (products - norms / 2) / bandwidth**2


def attention(queries, keys, values, valid):
    scores = queries @ keys.T / math.sqrt(keys.shape[1])
    return scores.masked_fill(~valid, -math.inf).softmax(dim=-1) @ values


def one_more(queries):
    return torch.cat([queries, torch.ones(len(queries), 1)], dim=1)


def large_number(scores, valid):
    empty = ~valid.any(dim=-1, keepdim=True)
    return scores.masked_fill(~valid, -1e6).softmax(dim=-1).masked_fill(empty, 0.0)


CHECKS = {
    chapter03.check_softmax_where: (softmax_where,),
    chapter03.check_additive_score: (additive_score,),
    chapter03.check_divisor: (30,),
    chapter03.check_softmax_backward: (softmax_backward,),
    chapter03.check_gaussian_scores: (gaussian_scores,),
    chapter03.check_slope: (2.02,),
    chapter03.check_size_among_equals: (lambda n: math.sqrt(n - 1) / n,),
    chapter03.check_repaired: (lambda *tensors: attention(*tensors),),
    chapter03.check_leak: ("B",),
    chapter03.check_box: (512, 8),
    chapter03.check_one_more: (lambda queries: one_more(queries),),
}


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda s, v: s.masked_fill(~v, 0.0).softmax(-1), "exp(0) = 1"),
        (lambda s, v: s.softmax(-1) * v, "no longer sum to 1"),
        (lambda s, v: softmax_where(s, ~v), "upside down"),
        (lambda s, v: s.masked_fill(~v, -math.inf).softmax(0), "wrong axis"),
        (lambda s, v: s.masked_fill(~v, -math.inf).softmax(1), "wrong axis"),
        (large_number, "minus infinity, not a large number"),
        (
            lambda s, v: softmax_where(s.where(v, torch.tensor(-1e30)), torch.ones_like(v)),
            "With scores of -3e+38 a masked key wins",
        ),
        (
            lambda s, v: s.masked_fill_(~v, -math.inf).softmax(-1).nan_to_num(0),
            "argument number 1",
        ),
        (lambda s, v: s.exp() * v / (s.exp() * v).sum(-1, keepdim=True), "valid keys vanish"),
        (lambda s, v: s.masked_fill(~v, -1e9).softmax(-1) * v, "valid keys vanish"),
        (lambda s, v: s.masked_fill(~v, -math.inf).softmax(-1), "NaN"),
        (
            lambda s, v: s.masked_fill(~v, torch.finfo(s.dtype).min).softmax(-1),
            "should be all zeros",
        ),
        (lambda s, v: softmax_where(s, v) * 2, "softmax over its valid keys"),
        (lambda s, v: s[0], "shape"),
    ],
)
def test_softmax_where_names_the_mistake(answer, hint):
    assert_hint(chapter03.check_softmax_where(answer), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda q, k, W_q, W_k, w: torch.tanh(W_q @ q - k @ W_k.T) @ w, "adds them"),
        (lambda q, k, W_q, W_k, w: torch.tanh(k @ W_k.T - W_q @ q) @ w, "adds them"),
        (lambda q, k, W_q, W_k, w: (W_q @ q + k @ W_k.T) @ w, "tangent is missing"),
        (lambda *a: additive_score(*a).softmax(-1), "before the softmax"),
        (
            lambda q, k, W_q, W_k, w: torch.tanh(W_q @ q) @ w + torch.tanh(k @ W_k.T) @ w,
            "one tanh of the sum",
        ),
        (lambda *a: additive_score(*a) + 1, "worked by hand"),
        (lambda *a: additive_score(*a).unsqueeze(0), "shape"),
        (lambda q, k, W_q, W_k, w: k @ W_k, "stopped with RuntimeError"),
        (
            lambda q, k, W_q, W_k, w: (
                additive_score(q, k[:3], W_q, W_k, w[:4])
                if len(k) == 3
                else additive_score(q, k, W_q, W_k, w)
            ),
            "With 3 keys and other widths, your function stopped",
        ),
        (
            lambda *a: torch.cat([additive_score(*a), torch.zeros(5)])[:5],
            "With 3 keys and other widths",
        ),
    ],
)
def test_additive_score_names_the_mistake(answer, hint):
    assert_hint(chapter03.check_additive_score(answer), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (5, "That is √d"),
        (25, "That is d."),
        (36, "variance of one product"),
        (6, "deviation of one product"),
        (900, "divides the deviation"),
        (150, "Variances add up"),
        (12.247, "are deviations"),
        (7, "First find the variance"),
    ],
)
def test_divisor_names_the_mistake(answer, hint):
    assert_hint(chapter03.check_divisor(answer), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda w, g: w * g, "diagonal alone"),
        (lambda w, g: w * (1 - w) * g, "moves the weights of all keys"),
        (lambda w, g: g - (w * g).sum(-1, keepdim=True), "factor α"),
        (lambda w, g: w * (g - (w * g).sum()), "whole batch"),
        (lambda w, g: w * (g - g.mean(-1, keepdim=True)), "not a plain mean"),
        (lambda w, g: -softmax_backward(w, g), "sign"),
        (lambda w, g: softmax_backward(w, g) + 1, "α ∘ g"),
        (lambda w, g: g[0], "shape"),
        (lambda w, g: softmax_backward(w, g).where(w > 1e-3, torch.tensor(0.0)), "With 64 keys"),
        (lambda w, g: with_a_matrix(w, g), "K × K matrix was built"),
    ],
)
def test_softmax_backward_names_the_mistake(answer, hint):
    assert_hint(chapter03.check_softmax_backward(answer), hint)


def with_differences(queries, keys, bandwidth):
    difference = queries.unsqueeze(2) - keys.unsqueeze(1)
    return -difference.square().sum(-1) / (2 * bandwidth**2)


def with_a_matrix(weights, gradient):
    jacobian = torch.diag_embed(weights) - weights.unsqueeze(2) * weights.unsqueeze(1)
    return (jacobian @ gradient.unsqueeze(2)).squeeze(2)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda q, k, b: -gaussian_scores(q, k, b), "The sign"),
        (lambda q, k, b: gaussian_scores(q, k, math.sqrt(b)), "square of the bandwidth"),
        (lambda q, k, b: 2 * gaussian_scores(q, k, b), "1/2 is missing"),
        (lambda q, k, b: gaussian_scores(q, k, 1.0), "not used"),
        (lambda q, k, b: q @ k.transpose(1, 2) / b**2, "dot product alone"),
        (
            lambda q, k, b: (q @ k.transpose(1, 2) - k.square().sum(-1).unsqueeze(1) / 2) / b**2,
            "keep the query's norm",
        ),
        (
            lambda q, k, b: (q @ k.transpose(1, 2) - q.square().sum(-1).unsqueeze(2) / 2) / b**2,
            "key's norm is missing",
        ),
        (lambda q, k, b: gaussian_scores(q, k, b).exp(), "That is the kernel"),
        (lambda q, k, b: gaussian_scores(q, k, b).softmax(-1), "before the softmax"),
        (lambda q, k, b: gaussian_scores(q, k, b) + 1, "two norms"),
        (lambda q, k, b: gaussian_scores(q, k, 1.7), "With 32 keys"),
        (with_differences, "tensor of all differences"),
    ],
)
def test_gaussian_scores_names_the_mistake(answer, hint):
    assert_hint(chapter03.check_gaussian_scores(answer), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (1.0, "drawn once for each vector"),
        (1.0, "or to a deviation"),
        (0.5, "deviation of independent"),
        (-2.0, "The sign"),
        (3.0, "over many pairs"),
    ],
)
def test_slope_names_the_mistake(answer, hint):
    assert_hint(chapter03.check_slope(answer), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda n: 1 / n, "weight itself"),
        (lambda n: (n - 1) / n**2, "all entries"),
        (lambda n: math.sqrt(n) * (n - 1) / n**2, "diagonal alone"),
        (lambda n: math.sqrt(n - 1), "1/n"),
        (lambda n: math.sqrt(n - 1) / n**2, "For n = 2"),
        (lambda n: 0.5, "For n = 1"),
        (lambda n: torch.tensor([n, n]), "For n = 1"),
    ],
)
def test_size_among_equals_names_the_mistake(answer, hint):
    assert_hint(chapter03.check_size_among_equals(answer), hint)


def broken(scale=False, axis=False, mask=False):
    """The listing of the workshop, with those of its three mistakes that are still in."""

    def attend(queries, keys, values, valid):
        scores = queries @ keys.T / math.sqrt(len(keys) if scale else keys.shape[1])
        if not mask:
            scores = scores.masked_fill(~valid, -math.inf)
        return (scores.softmax(dim=0 if axis else 1) * valid) @ values

    return attend


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (broken(scale=True, axis=True, mask=True), "All three"),
        (broken(axis=True, mask=True), "The scale is right now"),
        (broken(scale=True, mask=True), "The axis is right now"),
        (broken(scale=True, axis=True), "The mask is right now"),
        (broken(mask=True), "One is left: what happens to the sum"),
        (broken(axis=True), "The mask is right now"),
        (broken(scale=True), "One is left: by which number"),
        (lambda q, k, v, valid: attention(q, k, v, torch.ones_like(valid)), "mask is gone"),
        (lambda *tensors: attention(*tensors) + 1, "six lines"),
        (lambda q, k, v, valid: attention(q, k, v, valid)[0], "shape"),
    ],
)
def test_repaired_names_the_mistakes_that_are_left(answer, hint):
    assert_hint(chapter03.check_repaired(answer), hint)


@pytest.mark.parametrize(
    ("box", "sheet", "hint"),
    [
        (64, 8, "one sentence pair"),
        (128, 8, "counts numbers"),
        (8, 512, "the sheet of scores"),
        (0.5, 8, "in GiB"),
        (1024, 8, "8 bytes a number"),
        (536.87, 8, "millions of bytes"),
        (1, 8, "needs h numbers"),
        (100, 8, "Multiply B, Q, K"),
        (512, 1, "The box is right. That sheet"),
        (512, 2, "and the sheet is 2"),
    ],
)
def test_box_names_the_mistake(box, sheet, hint):
    assert_hint(chapter03.check_box(box, sheet), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda q: q, "shape"),
        (lambda q: torch.cat([q, torch.ones(1, q.shape[1])]), "shape"),
        (lambda q: torch.cat([torch.ones(len(q), 1), q], dim=1), "at the end"),
        (lambda q: one_more(2 * q), "should stay as it is"),
        (lambda q: torch.cat([q, torch.zeros(len(q), 1)], dim=1), "the mirror stays whole"),
        (lambda q: torch.cat([q, q[:, :1]], dim=1), "same for all queries"),
        (lambda q: torch.cat([q, q.sum().expand(len(q), 1)], dim=1), "still a mirror"),
        (lambda q: one_more(q) if len(q) == 3 else q, "shape"),
    ],
)
def test_one_more_names_the_mistake(answer, hint):
    assert_hint(chapter03.check_one_more(answer), hint)


def assert_hint(verdict, hint):
    assert not verdict
    assert hint in verdict.sentence, verdict.sentence
