"""Each check of chapter 7 knows each foreseen wrong answer, and right ones of another form."""

import math
from fractions import Fraction
from itertools import product

import pytest
import torch

import d2lattn as d2l
from d2lattn.book.exercises import chapter07
from d2lattn.masks import causal_mask


def normed(axes=-1, correction=0, power=0.5):
    """Layer norm, right or along other axes, by D - 1 or without a root."""

    def layer_norm(X, gain, shift, eps):
        variance = X.var(dim=axes, keepdim=True, correction=correction)
        centred = X - X.mean(dim=axes, keepdim=True)
        return gain * centred / (variance + eps) ** power + shift

    return layer_norm


def residual(X, norm, f, norm_first):
    return X + f(norm(X)) if norm_first else norm(X + f(X))


def as_attention(X, W_1, b_1, W_2):
    return torch.relu(X @ W_1.T + b_1), W_2.T


def may_see(num_past, num_new):
    lengths = num_past + 1 + torch.arange(num_new)
    return lengths, torch.arange(num_past + num_new) < lengths[:, None]


def listing(restarts=False, top_left=False, forgets=False):
    """The listing of the workshop, with those of its three mistakes that are still in."""

    def step(X, keys, values, W_q, W_k, W_v):
        past = len(keys)
        places = d2l.sinusoids(past + len(X), X.shape[1])
        Z = X + (places[: len(X)] if restarts else places[past:])
        K, V = torch.cat((keys, Z @ W_k)), torch.cat((values, Z @ W_v))
        scores = Z @ W_q @ K.T / math.sqrt(Z.shape[1])
        later = torch.ones_like(scores).triu(1 if top_left else past + 1) > 0
        output = scores.masked_fill(later, -math.inf).softmax(dim=-1) @ V
        return (output, Z @ W_k, Z @ W_v) if forgets else (output, K, V)

    return step


def by_pytorch(X, gain, shift, eps):
    return torch.nn.functional.layer_norm(X, gain.shape, gain, shift, eps)


def attention_of_lists(X, W_1, b_1, W_2):
    weights, values = as_attention(X, W_1, b_1, W_2)
    return [weights.tolist(), values.double()]


def twice_as_heavy(X, W_1, b_1, W_2):
    weights, values = as_attention(X, W_1, b_1, W_2)
    return 2 * weights, values / 2


def newest_first(X, keys, values, *W):
    """The past kept in another order."""
    output, keys, values = listing()(X, keys.flip(0), values.flip(0), *W)
    return output, keys.flip(0), values.flip(0)


CHECKS = {
    chapter07.check_layer_norm: (normed(),),
    chapter07.check_residual: (residual,),
    chapter07.check_estimate: ((3072, 0.5, 24_576_000),),
    chapter07.check_as_attention: (as_attention,),
    chapter07.check_may_see: (may_see,),
    chapter07.check_step: (listing(),),
    chapter07.check_reorder: ("A",),
    chapter07.check_audit: ((False, True, True),),
    chapter07.check_reach: ((2, 0.3),),
}


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (chapter07.check_layer_norm, by_pytorch),
        (chapter07.check_layer_norm, lambda *a: normed()(*a).double()),
        (chapter07.check_layer_norm, lambda *a: normed()(*a).tolist()),
        (chapter07.check_estimate, [Fraction(3072), Fraction(1, 2), 24.6e6]),
        (chapter07.check_estimate, torch.tensor([3072, 0.5, 24.576e6], dtype=torch.float64)),
        (chapter07.check_as_attention, attention_of_lists),
        (chapter07.check_as_attention, twice_as_heavy),
        (chapter07.check_may_see, lambda p, t: ([*range(p + 1, p + t + 1)], causal_mask(t, p + t))),
        (chapter07.check_may_see, lambda p, t: [may_see(p, t)[0].tolist(), may_see(p, t)[1] * 1]),
        (chapter07.check_step, newest_first),
        (chapter07.check_step, lambda *a: list(listing()(*a))),
        (chapter07.check_reorder, " a"),
        (chapter07.check_audit, [False, True, True]),
        (chapter07.check_reach, (torch.tensor(2), torch.tensor(0.38))),
    ],
)
def test_other_right_answers_pass(check, answer):
    verdict = check(answer)
    assert verdict, verdict


def by_the_mean_square(X, gain, shift, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    return gain * centred / (X.square().mean(dim=-1, keepdim=True) + eps).sqrt() + shift


def eps_outside(X, gain, shift, eps):
    centred = X - X.mean(dim=-1, keepdim=True)
    return gain * centred / (X.std(dim=-1, keepdim=True, correction=0) + eps) + shift


def lengths_of(change):
    return lambda past, new: (change(may_see(past, new)[0], past), may_see(past, new)[1])


def mask_of(change):
    return lambda past, new: (may_see(past, new)[0], change(may_see(past, new)[1] * 1.0, past))


def weights_of(weigh):
    return lambda X, W_1, b_1, W_2: (weigh(X @ W_1.T, b_1), W_2.T)


def added(X, norm, f, norm_first):
    return X + f(X)


HINTS = [
    (chapter07.check_layer_norm, normed((0, 1)), "batch normalisation"),
    (chapter07.check_layer_norm, normed((0, 1), 1), "batch normalisation"),
    (chapter07.check_layer_norm, normed(0), "sentences of the batch"),
    (chapter07.check_layer_norm, normed(1), "positions of a sentence"),
    (chapter07.check_layer_norm, normed((1, 2)), "a sentence as a whole"),
    (chapter07.check_layer_norm, normed((0, 1, 2)), "the batch as a whole"),
    (chapter07.check_layer_norm, normed(correction=1), "not by D - 1"),
    (chapter07.check_layer_norm, normed(power=1), "root of the variance"),
    (chapter07.check_layer_norm, normed(power=0), "divide by the spread"),
    (chapter07.check_layer_norm, by_the_mean_square, "subtract the mean's square"),
    (chapter07.check_layer_norm, eps_outside, "under the root"),
    (chapter07.check_layer_norm, lambda X, g, s, eps: by_pytorch(X, g, s, 0), "Where is eps"),
    (
        chapter07.check_layer_norm,
        lambda X, g, s, eps: g * by_pytorch(X, torch.ones_like(g), s, eps),
        "shift comes last",
    ),
    (
        chapter07.check_layer_norm,
        lambda X, g, s, eps: by_pytorch(X, torch.ones_like(g), s, eps),
        "gain is missing",
    ),
    (
        chapter07.check_layer_norm,
        lambda X, g, s, eps: by_pytorch(X, g, 0 * s, eps),
        "shift is missing",
    ),
    (
        chapter07.check_layer_norm,
        lambda X, g, s, eps: by_pytorch(X, torch.ones_like(g), 0 * s, eps),
        "Gain and shift",
    ),
    (chapter07.check_layer_norm, lambda *a: normed()(*a)[0], "shape"),
    (chapter07.check_layer_norm, lambda X, g, s, eps: by_pytorch(X, g, s, 1e-5), "not always 1e-5"),
    (chapter07.check_layer_norm, lambda *a: -normed()(*a), "along the last axis"),
    (chapter07.check_residual, lambda X, n, f, first: residual(X, n, f, not first), "after the"),
    (chapter07.check_residual, lambda X, n, f, first: residual(X, n, f, False), "the sum stays"),
    (chapter07.check_residual, added, "sum is not normed"),
    (chapter07.check_residual, lambda X, n, f, first: n(f(X)), "False: what went in is lost"),
    (chapter07.check_residual, lambda X, n, f, first: X + n(f(X)), "norm the sum"),
    (chapter07.check_residual, lambda X, n, f, first: n(X) + f(X), "what passes by"),
    (chapter07.check_residual, lambda X, n, f, first: n(X + f(n(X))), "f gets X itself"),
    (chapter07.check_residual, lambda X, n, f, first: n(X), "one plus"),
    *(
        (
            chapter07.check_residual,
            lambda X, n, f, first, pre=pre: pre(X, n, f) if first else n(X + f(X)),
            f"With norm_first = True: {hint}",
        )
        for pre, hint in (
            (lambda X, n, f: f(n(X)), "What went in is lost"),
            (lambda X, n, f: n(X) + f(n(X)), "What passes by is X itself"),
            (lambda X, n, f: n(X + f(n(X))), "You norm the sum as well"),
            (lambda X, n, f: X + n(f(X)), "You norm what the sublayer gives"),
            (lambda X, n, f: X + f(X), "Nothing is normed"),
        )
    ),
    (chapter07.check_estimate, (512, 0.5, 24_576_000), "width itself"),
    (chapter07.check_estimate, (1024, 0.5, 24_576_000), "projections alone"),
    (chapter07.check_estimate, (2048, 0.5, 24_576_000), "network alone"),
    (chapter07.check_estimate, (6144, 0.5, 24_576_000), "scores alone"),
    (chapter07.check_estimate, (1536, 0.5, 24_576_000), "the network has two"),
    (chapter07.check_estimate, (12 * 512**2, 0.5, 24_576_000), "to attend"),
    (chapter07.check_estimate, (100, 0.5, 24_576_000), "a word's 12"),
    (chapter07.check_estimate, (3072, 1 / 3, 24_576_000), "encoder block's"),
    (chapter07.check_estimate, (3072, 50, 24_576_000), "from 0 to 1"),
    (chapter07.check_estimate, (3072, 0.7, 24_576_000), "two attentions"),
    (chapter07.check_estimate, (3072, 0.5, 6_144_000), "how many numbers"),
    (chapter07.check_estimate, (3072, 0.5, 12_288_000), "Both are kept"),
    (chapter07.check_estimate, (3072, 0.5, 4_096_000), "one block"),
    (chapter07.check_estimate, (3072, 0.5, 196_608_000), "share of the width"),
    (chapter07.check_estimate, (3072, 0.5, 3_072_000), "one head"),
    (chapter07.check_estimate, (3072, 0.5, 24.6), "In bytes"),
    (chapter07.check_estimate, (3072, 0.5, 1e6), "words × width"),
    (chapter07.check_estimate, (3072, 0.5), "three numbers"),
    (chapter07.check_as_attention, weights_of(lambda s, b: s + b), "those below 0"),
    (chapter07.check_as_attention, weights_of(lambda s, b: (s + b).softmax(-1)), "relu there"),
    (
        chapter07.check_as_attention,
        weights_of(lambda s, b: (s + b).relu().softmax(-1)),
        "and that is it",
    ),
    (
        chapter07.check_as_attention,
        weights_of(lambda s, b: torch.nn.functional.normalize((s + b).relu(), p=1, dim=-1)),
        "need not sum to 1",
    ),
    (chapter07.check_as_attention, weights_of(lambda s, b: s.relu()), "b_1 is missing"),
    (chapter07.check_as_attention, weights_of(lambda s, b: s.relu() + b), "before the relu"),
    (chapter07.check_as_attention, weights_of(lambda s, b: (s - b).relu()), "Weight j is"),
    (chapter07.check_as_attention, lambda *a: (as_attention(*a)[0], a[1]), "they are the keys"),
    (chapter07.check_as_attention, lambda *a: (as_attention(*a)[0], a[3]), "the values, has shape"),
    (chapter07.check_as_attention, lambda *a: (as_attention(*a)[0], -a[3].T), "column j of W_2"),
    (
        chapter07.check_as_attention,
        lambda *a: tuple(-part for part in as_attention(*a)),
        "below 0",
    ),
    (chapter07.check_as_attention, lambda *a: as_attention(*a)[0], "two tensors"),
    (chapter07.check_may_see, lengths_of(lambda n, p: n - 1), "see itself too"),
    (chapter07.check_may_see, lengths_of(lambda n, p: n - p), "with 3 words kept and 2 new: The"),
    (chapter07.check_may_see, lengths_of(lambda n, p: n.flip(0)), "other way round"),
    (chapter07.check_may_see, lengths_of(lambda n, p: n * 0 + p + len(n)), "Every word sees all"),
    (chapter07.check_may_see, lengths_of(lambda n, p: n + 1), "P + 1 words"),
    (chapter07.check_may_see, mask_of(lambda m, p: 1 - m), "turn it round"),
    (chapter07.check_may_see, mask_of(lambda m, p: m.tril(p - 1)), "see itself"),
    (chapter07.check_may_see, mask_of(lambda m, p: m.tril()), "shift it by P"),
    (chapter07.check_may_see, mask_of(lambda m, p: m * 0 + 1), "also those after it"),
    (chapter07.check_may_see, mask_of(lambda m, p: (1 - m).tril(-9) + m.T), "not before"),
    (chapter07.check_may_see, mask_of(lambda m, p: m.log()), "booleans"),
    (chapter07.check_may_see, mask_of(lambda m, p: m), "are added to scores: use bool"),
    (chapter07.check_may_see, mask_of(lambda m, p: m.numpy()), "use bool"),
    (chapter07.check_may_see, mask_of(lambda m, p: m[:, p:]), "the mask, has shape"),
    (chapter07.check_may_see, mask_of(lambda m, p: 2 * m), "times true"),
    (chapter07.check_may_see, lambda p, t: may_see(p, t)[1], "two tensors"),
    (chapter07.check_step, lambda *a: listing()(*a)[0], "three tensors"),
    (chapter07.check_step, lambda X, *a: (listing()(X, *a)[0], 1, 2), "your keys should be"),
    (chapter07.check_step, lambda X, *a: (X, *listing()(X, *a)[1:]), "All words in one call"),
    (chapter07.check_step, lambda X, *a: listing()(X[:1], *a), "in call 1 of 4, your output"),
    (chapter07.check_reorder, "B", "belongs to its key"),
    (chapter07.check_reorder, "c", "same parent"),
    (chapter07.check_reorder, "D", "one letter"),
    (chapter07.check_audit, (True, True, True), "statement 1"),
    (chapter07.check_audit, (False, False, True), "statement 2"),
    (chapter07.check_audit, (False, True, False), "statement 3"),
    (chapter07.check_audit, (False, 1, 1), "answer to statement 2 should be True or False"),
    (chapter07.check_reach, (1, 0.3), "stands on the note"),
    (chapter07.check_reach, (4, 0.3), "two layers"),
    (chapter07.check_reach, (3, 0.3), "Train one layer"),
    (chapter07.check_reach, (2, 30), "from 0 to 1"),
    (chapter07.check_reach, (2, 1.0), "right at two steps"),
    (chapter07.check_reach, (2, 0.1), "new notes"),
]


@pytest.mark.parametrize(("check", "answer", "hint"), HINTS)
def test_a_foreseen_mistake_is_named(check, answer, hint):
    verdict = check(answer)
    assert not verdict
    assert hint.lower() in verdict.sentence.lower(), verdict.sentence


@pytest.mark.parametrize("wrong", list(product((False, True), repeat=3))[1:])
def test_step_counts_the_mistakes_that_are_left(wrong):
    sentence = chapter07.check_step(listing(*wrong)).sentence
    done = ("go on where", "see the words", "of all words")
    for said, still_in in zip(done, wrong, strict=True):
        assert (said in sentence) == (not still_in), sentence
    assert ("One is left" in sentence) == (sum(wrong) == 1)
    assert ("Two are left" in sentence) == (sum(wrong) == 2)
    assert ("All three" in sentence) == all(wrong)
