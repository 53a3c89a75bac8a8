"""Each check of chapters 5 and 5b passes the right answer and knows each foreseen wrong one."""

import math

import pytest
import torch

from d2lattn.book.exercises import chapter05


def join(x):
    return x.transpose(1, 2).flatten(2)


def split(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def padded_heads(q, k, v, valid):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(~valid[:, None, None], -math.inf).softmax(dim=-1)
    return weights, join(weights @ v)


def contributions(weights, values, W_o):
    blocks = W_o.T.unflatten(0, (len(values), -1))
    return weights * (values @ blocks).norm(dim=-1).unsqueeze(1)


def mean_brought(brought, valid):
    return brought.transpose(1, 2)[valid].mean(dim=0)  # (B, Q, H, D) -> (N, H, D)


def look(at, xs, ys, bandwidth):
    return (-((at - xs) ** 2) / (2 * bandwidth**2)).softmax(dim=0) @ ys


def slope(x, xs, ys, bandwidth, delta):
    above, below = look(x + delta, xs, ys, bandwidth), look(x - delta, xs, ys, bandwidth)
    return (above - below) / (2 * delta)


def without_mask(q, k, v, valid):
    return padded_heads(q, k, v, torch.ones_like(valid))


def masked_after(q, k, v, valid):
    weights, _ = without_mask(q, k, v, valid)
    weights = weights * valid[:, None, None]
    return weights, join(weights @ v)


def whole_width(q, k, v, valid):
    return padded_heads(q / math.sqrt(q.shape[1]), k, v, valid)


def unscaled(q, k, v, valid):
    return padded_heads(q * math.sqrt(q.shape[-1]), k, v, valid)


def filled(score):
    def padded_heads(q, k, v, valid):
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        weights = scores.masked_fill(~valid[:, None, None], score).softmax(dim=-1)
        return weights, join(weights @ v)

    return padded_heads


def last_alone(q, k, v, valid):
    valid = valid.clone()
    valid[:, :-1] = True
    return padded_heads(q, k, v, valid)


def as_in_the_first(q, k, v, valid):
    return padded_heads(q, k, v, valid[:1].expand_as(valid))


def mixed(q, k, v, valid):
    weights, output = padded_heads(q, k, v, valid)
    return weights, (weights @ v).reshape(output.shape)


def broken(cut=split, scale=None, dim=-1, last=join):
    def attention(queries, keys, values, num_heads):
        q, k, v = (cut(x, num_heads) for x in (queries, keys, values))
        root = math.sqrt(scale or q.shape[-1])
        output = (q @ k.mT / root).softmax(dim=dim) @ v
        return last(output) if last else output.reshape(queries.shape)

    return attention


def reshaped(x, num_heads):
    return x.reshape(x.shape[0], num_heads, x.shape[1], -1)


def not_projected(weights, values, W_o):
    return weights * values.norm(dim=-1).unsqueeze(1)


def lengths_only(weights, values, W_o):
    return contributions(torch.ones_like(weights), values, W_o)


def squared(weights, values, W_o):
    return contributions(weights, values, W_o) ** 2


def half_squared(weights, values, W_o):
    return weights * lengths_only(weights, values, W_o) ** 2


HINTS = [
    (chapter05.check_join, lambda x: x.reshape(2, 4, 6), "three positions of one head"),
    (chapter05.check_join, lambda x: x.flatten(1, 2), "below one another"),
    (chapter05.check_join, lambda x: x.transpose(1, 2), "four axes are left"),
    (chapter05.check_join, lambda x: x.permute(0, 2, 3, 1).flatten(2), "entry by entry"),
    (chapter05.check_join, lambda x: x.sum(dim=1), "not added up"),
    (chapter05.check_join, lambda x: x.mean(dim=1), "not averaged"),
    (chapter05.check_join, lambda x: x.transpose(1, 2).reshape(2, 4, 6), "with 5 heads"),
    (chapter05.check_padded_heads, without_mask, "padding takes part"),
    (chapter05.check_padded_heads, masked_after, "no longer sum to 1"),
    (chapter05.check_padded_heads, whole_width, "in its own"),
    (chapter05.check_padded_heads, unscaled, "not scaled"),
    (chapter05.check_padded_heads, filled(-15), "below any"),
    (chapter05.check_padded_heads, filled(-60), "below any"),
    (chapter05.check_padded_heads, last_alone, "does not have"),
    (chapter05.check_padded_heads, as_in_the_first, "does not have"),
    (chapter05.check_padded_heads, mixed, "heads and rows mixed"),
    (chapter05.check_padded_heads, lambda *a: padded_heads(*a)[0][:1], "two tensors"),
    (chapter05.check_estimate, (3 * 512**2, 64, 80_000), "after the join"),
    (chapter05.check_estimate, (8 * 4 * 512**2, 64, 80_000), "share of the width"),
    (chapter05.check_estimate, (4 * 512 * 64, 64, 80_000), "one head's share"),
    (chapter05.check_estimate, (5, 64, 80_000), "four matrices"),
    (chapter05.check_estimate, (4 * 512**2, 512, 80_000), "width that it sums over"),
    (chapter05.check_estimate, (4 * 512**2, 8, 80_000), "width that it sums over"),
    (chapter05.check_estimate, (4 * 512**2, 63, 80_000), "share 512"),
    (chapter05.check_estimate, (4 * 512**2, 64, 10_000), "one head"),
    (chapter05.check_estimate, (4 * 512**2, 64, 800), "row for each query"),
    (chapter05.check_contributions, not_projected, "inside the head"),
    (chapter05.check_contributions, lengths_only, "times the weight"),
    (chapter05.check_contributions, lambda weights, values, W_o: weights, "are the weights"),
    (chapter05.check_contributions, squared, "take the root"),
    (chapter05.check_contributions, half_squared, "before the weight"),
    (chapter05.check_repaired, broken(scale=8), "whole width"),
    (chapter05.check_repaired, broken(dim=-2), "along the queries"),
    (chapter05.check_repaired, broken(last=None), "join still mixes"),
    (chapter05.check_repaired, broken(cut=reshaped), "still a reshape"),
    (chapter05.check_repaired, broken(reshaped, 8, -2, None), "each line"),
    (chapter05.check_one_look, "AC", "look at D again"),
    (chapter05.check_one_look, {"A", "B", "C", "D", "E"}, "look at B again"),
    (chapter05.check_one_look, "CDE", "look at A again"),
    (chapter05.check_one_look, "AX", "from A to E"),
    (chapter05.check_slope, lambda *a: -slope(*a), "sign"),
    (chapter05.check_slope, lambda *a: slope(*a) * 2 * a[-1], "over which distance"),
    (chapter05.check_slope, lambda *a: slope(*a) * 2, "2 delta apart"),
    (
        chapter05.check_slope,
        lambda x, xs, ys, h, d: (look(x + d, xs, ys, h) - look(x, xs, ys, h)) / d,
        "both sides",
    ),
    (
        chapter05.check_slope,
        lambda x, xs, ys, h, d: (look(x + d, xs, ys, h) + look(x - d, xs, ys, h)) / 2,
        "subtract",
    ),
    (chapter05.check_mean_brought, lambda b, valid: b.mean(dim=(0, 2)), "takes part"),
    (
        chapter05.check_mean_brought,
        lambda b, valid: (b * valid[:, None, :, None]).mean(dim=(0, 2)),
        "counts as 0",
    ),
    (
        chapter05.check_mean_brought,
        lambda b, valid: torch.stack(
            [one[:, ok].mean(dim=1) for one, ok in zip(b, valid, strict=True)]
        ).mean(dim=0),
        "short sentence",
    ),
    (chapter05.check_mean_brought, lambda *a: mean_brought(*a).mean(dim=0), "all heads"),
    (chapter05.check_mean_brought, lambda b, v: mean_brought(b, v) * v.sum(), "how many"),
    (chapter05.check_tests, "ADCB", "question 1"),
    (chapter05.check_tests, "DBCA", "question 2"),
    (chapter05.check_tests, "D, A, B, C", "question 3"),
    (chapter05.check_tests, "DACC", "question 4"),
    (chapter05.check_tests, "DAC", "four letters"),
    (chapter05.check_tests, "DACX", "from A to D"),
    (chapter05.check_audit, (True, True, False), "statement 1"),
    (chapter05.check_audit, (False, False, False), "statement 2"),
    (chapter05.check_audit, (False, True, True), "statement 3"),
    (chapter05.check_audit, (False, 1, 0), "answer to statement 2 should be True or False"),
    (chapter05.check_three_cities, (3, 2.0), "same sign"),
    (chapter05.check_three_cities, (1, 2.0), "both signs"),
    (chapter05.check_three_cities, (5, 2.0), "count the signs"),
    (chapter05.check_three_cities, (2, 4.0), "better look"),
    (chapter05.check_three_cities, (2, 6.0), "learned anything"),
    (chapter05.check_three_cities, (2, 3.0), "train longer"),
]


def repaired(queries, keys, values, num_heads):
    q, k, v = (split(x, num_heads) for x in (queries, keys, values))
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(dim=-1)
    return join(weights @ v)


CHECKS = {
    chapter05.check_join: (join,),
    chapter05.check_padded_heads: (padded_heads,),
    chapter05.check_estimate: ((1_048_576, 64, 80_000),),
    chapter05.check_contributions: (contributions,),
    chapter05.check_repaired: (repaired,),
    chapter05.check_one_look: ("ACDE",),
    chapter05.check_slope: (slope,),
    chapter05.check_mean_brought: (mean_brought,),
    chapter05.check_tests: ("DACB",),
    chapter05.check_audit: ((False, True, False),),
    chapter05.check_three_cities: ((2, 2.02),),
}


@pytest.mark.parametrize(("check", "answer", "hint"), HINTS)
def test_a_foreseen_mistake_is_named(check, answer, hint):
    verdict = check(answer)
    assert not verdict
    assert hint.lower() in verdict.sentence.lower(), verdict.sentence
