"""Chapter 1's checks: right answers pass, each foreseen slip gets its own hint."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
import torch

from d2lattn.book.exercises import chapter01


def attend(query, keys, values):
    return (keys @ query).softmax(dim=0) @ values


def with_salience(query, keys, salience):
    return torch.cat([query, torch.ones(1)]), torch.cat([keys, salience[:, None]], dim=1)


def look_up(queries, keys, values, temperature):
    return (-((queries[:, None] - keys) ** 2) / temperature).softmax(dim=1) @ values


def look_up_by(scores):
    """A look-up whose scores are a function of distance (Q, K) and temperature."""
    return lambda q, k, v, t: scores((q[:, None] - k).abs(), t).softmax(dim=1) @ v


def for_four_keys(query, keys, values):
    weights = torch.zeros(4)
    for place in range(4):
        weights[place] = keys[place] @ query
    return weights.softmax(dim=0) @ values


def first_four_keys(query, keys, values):
    return attend(query, keys[:4], values[:4])


def best_four_keys(query, keys, values):
    best = (keys @ query).topk(min(4, len(keys))).indices
    return attend(query, keys[best], values[best])


def one_value_a_key(query, keys, values):
    table = dict(zip(map(tuple, keys.tolist()), values, strict=True))
    return attend(query, torch.tensor(list(table)), torch.stack(list(table.values())))


MORE = [
    (chapter01.check_attend, [lambda q, k, v: ((k @ q).softmax(0)[:, None] * v).sum(0)]),
    (chapter01.check_query, [torch.tensor([-9.0, -3.0])]),
    (chapter01.check_query, [np.array([-9.0, -3.0])]),
    (chapter01.check_query, [(Fraction(-9, 2), -4)]),
    (
        chapter01.check_with_salience,  # the new place may stand first, and scales may be shared
        [
            lambda q, k, s: (
                torch.cat([2 * torch.ones(1), q]),
                torch.cat([s[:, None] / 2, k], dim=1),
            )
        ],
    ),
    (chapter01.check_last_weight, [Fraction(9, 13)]),
    (
        chapter01.check_look_up,
        [lambda q, k, v, t: torch.stack([look_up(x[None], k, v, t)[0] for x in q])],
    ),
    (chapter01.check_attention_matrices, ["d, a"]),
    (chapter01.check_noise, [torch.tensor(1.7)]),
]


CHECKS = {
    chapter01.check_last_weight: (9 / 13,),
    chapter01.check_look_up: (look_up,),
    chapter01.check_attention_matrices: ("AD",),
    chapter01.check_claims: (False, True),
    chapter01.check_attend: (attend,),
    chapter01.check_query: ((-4, -4),),
    chapter01.check_with_salience: (with_salience,),
    chapter01.check_overtaking: (2.1, 2.9),
    chapter01.check_noise: (1.6,),
}


@pytest.mark.parametrize(("check", "answers"), MORE)
def test_other_right_answers_pass(check, answers):
    verdict = check(*answers)
    assert verdict, verdict


@pytest.mark.parametrize(
    ("check", "answers", "hint"),
    [
        (chapter01.check_attend, [lambda q, k, v: v.mean(0)], "average pooling"),
        (chapter01.check_attend, [lambda q, k, v: (k @ q) @ v], "Step 2 is missing"),
        (chapter01.check_attend, [lambda q, k, v: (k @ q) / (k @ q).sum() @ v], "exponentials"),
        (chapter01.check_attend, [lambda q, k, v: (k @ q).exp() @ v], "do not sum to 1"),
        (chapter01.check_attend, [lambda q, k, v: v[(k @ q).argmax()]], "best key alone"),
        (
            chapter01.check_attend,
            [lambda q, k, v: (k @ q / math.sqrt(3)).softmax(0) @ v],
            "scaled by √d",
        ),
        (chapter01.check_attend, [lambda q, k, v: (k @ q).softmax(0)], r"shape \(4,\)"),
        (chapter01.check_attend, [lambda q, k, v: -attend(q, k, v)], "Score = q·k"),
        (chapter01.check_attend, [lambda q, k, v: k.no_such_thing], "stopped with AttributeError"),
        (chapter01.check_attend, [for_four_keys], "With 7 keys of width 2, your function stopped"),
        (chapter01.check_attend, [first_four_keys], "With 7 keys of width 2, your output"),
        (chapter01.check_attend, [best_four_keys], "With 7 keys of width 2, your output"),
        (chapter01.check_attend, [one_value_a_key], "two with the same key"),
        (chapter01.check_query, [["-4", "-4"]], "should be a tensor"),
        (chapter01.check_query, [b"zz"], "should be a tensor"),
        (chapter01.check_query, [[0, 0]], "average pooling: this query prefers no key"),
        (chapter01.check_query, [[3, 0]], "Key 3 has the largest weight"),
        (chapter01.check_query, [[-1, -1]], "How can 0 be the largest"),
        (chapter01.check_query, [[-math.inf, 0]], "finite"),
        (chapter01.check_query, [[-4, -4, -4]], r"shape \(3,\); \(2,\) is needed"),
        (
            chapter01.check_with_salience,
            [lambda q, k, s: (torch.cat([q, torch.zeros(1)]), with_salience(q, k, s)[1])],
            "counts for 0",
        ),
        (
            chapter01.check_with_salience,
            [lambda q, k, s: (torch.cat([q, s[:1]]), with_salience(q, k, s)[1])],
            "What must the query hold",
        ),
        (chapter01.check_with_salience, [lambda q, k, s: (q, k)], r"shape \(3,\); \(4,\)"),
        (chapter01.check_with_salience, [lambda q, k, s: q], "Return two things"),
        (
            chapter01.check_with_salience,
            [lambda q, k, s: (torch.cat([q, q.norm()[None]]), with_salience(q, k, s)[1])],
            "What must the query hold",
        ),
        *(
            (
                chapter01.check_with_salience,
                [lambda q, k, s, change=change: with_salience(q, k, change(s))],
                "A salience below 0",
            )
            for change in (torch.abs, torch.relu, lambda s: s.clamp(-9, 1))
        ),
        (chapter01.check_last_weight, [9], "Which share"),
        (chapter01.check_last_weight, [2 * math.log(3)], "This is the score"),
        (chapter01.check_last_weight, [2 / 3], "shares of the scores"),
        (chapter01.check_last_weight, [1 / 3], "nobody asks"),
        (chapter01.check_last_weight, [0.5], "what do they sum to"),
        (chapter01.check_last_weight, ["9/13"], "one number"),
        (chapter01.check_look_up, [look_up_by(lambda d, t: d**2 / t)], "a minus is missing"),
        (chapter01.check_look_up, [look_up_by(lambda d, t: -(d**2) * t)], "Divide by"),
        (chapter01.check_look_up, [look_up_by(lambda d, t: -(d**2))], "does not count yet"),
        (chapter01.check_look_up, [look_up_by(lambda d, t: -d / t)], "Square the distance"),
        (
            chapter01.check_look_up,
            [lambda q, k, v, t: look_up(k, q, v[:1], t)],
            "stopped with|shape",
        ),
        (chapter01.check_look_up, [lambda q, k, v, t: v.mean().expand(len(q))], "along a row"),
        (chapter01.check_attention_matrices, ["ABD"], "columns sum to 1"),
        (chapter01.check_attention_matrices, ["ACD"], "below 0"),
        (chapter01.check_attention_matrices, ["D"], "What about A"),
        (chapter01.check_attention_matrices, ["A"], "Is that forbidden"),
        (chapter01.check_attention_matrices, ["AX"], "'X' is none of them"),
        (chapter01.check_attention_matrices, [["A", "D"]], "one string"),
        (chapter01.check_claims, [True, True], "weights beside"),
        (chapter01.check_claims, [False, False], "largest weight on the left"),
        (chapter01.check_claims, [0, 1], "answer to the first claim should be True or False"),
        (chapter01.check_overtaking, [1.0, 3.0], "strength 1 and salience 2 the coffee"),
        (chapter01.check_overtaking, [2.0, 4.0], "strength 4 and salience 3 the book"),
        (chapter01.check_overtaking, ["two", 3.0], "one number"),
        (chapter01.check_overtaking, ["2", "3"], "one number"),
        (chapter01.check_noise, [b"1.6"], "one number"),
        (chapter01.check_noise, [1.0], "still has the smaller error"),
        (chapter01.check_noise, [2.5], "long been worse"),
        (chapter01.check_noise, [-1], "cannot be negative"),
        (chapter01.check_noise, [math.nan], "finite"),
    ],
)
def test_each_slip_gets_its_hint(check, answers, hint):
    verdict = check(*answers)
    assert not verdict
    assert verdict.sentence.startswith("not yet.")
    assert re.search(hint, verdict.sentence), verdict.sentence
