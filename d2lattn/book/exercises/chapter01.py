"""Checks for the exercises of chapter 1, attention cues."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from d2lattn.book.exercises.checking import (
    Differs,
    call,
    check,
    number,
    recognise,
    same,
    tensor_like,
    truth,
)

# The three pairs that the chapter works by hand.
KEYS = torch.tensor([[0, 0], [0, 1], [1, 0]], dtype=torch.float32, device="cpu")
VALUES = torch.tensor([7, 14, 21], dtype=torch.float32, device="cpu")


def _attend(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return (keys @ query).softmax(dim=0) @ values  # (K,) x (K, V) -> (V,)


@check("1.5", right=(_attend,))
def check_attend(attend: Callable[[Tensor, Tensor, Tensor], Tensor]) -> str:
    """Attention pooling of values that are vectors, by one query."""
    generator = torch.Generator().manual_seed(11)
    query, keys = torch.randn(3, generator=generator), torch.randn(4, 3, generator=generator)
    values = torch.randn(4, 2, generator=generator)
    scores = keys @ query  # (K, D) x (D) -> (K)
    expected = _attend(query, keys, values)
    result = tensor_like(call(attend, query, keys, values), expected, "your output")

    recognise(
        result,
        [
            (
                values.mean(dim=0),
                "This is average pooling: your output does not depend on the query.",
            ),
            (scores @ values, "The scores went in as weights. Step 2 is missing: normalise them."),
            (
                scores / scores.sum() @ values,
                "You divided scores by their sum; take their exponentials first (softmax).",
            ),
            (scores.exp() @ values, "The exponentials are there, but they do not sum to 1 yet."),
            (
                values[scores.argmax()],
                "This is the value of the best key alone. Every value gets its weight.",
            ),
            (
                (scores / math.sqrt(3)).softmax(dim=0) @ values,
                "You scaled by √d. That is chapter 3's idea; here the score is q·k itself.",
            ),
        ],
    )
    same(
        result, expected, "Score = q·k, softmax over the keys, then weights times values.", "output"
    )

    shuffled = torch.tensor([2, 0, 3, 1])
    again = tensor_like(call(attend, query, keys[shuffled], values[shuffled]), expected, "output")
    same(
        again, expected, "The order of the pairs must not matter.", "for shuffled pairs, the output"
    )

    for num_keys, width in ((7, 2), (1, 5)):
        query = torch.randn(width, generator=generator)
        keys = torch.randn(num_keys, width, generator=generator)
        values = torch.randn(num_keys, 3, generator=generator)
        keys[-1] = keys[0]  # two pairs may have the same key, and both count
        expected = _attend(query, keys, values)
        case = f"with {num_keys} keys of width {width}"
        result = call(attend, query, keys, values, case=case)
        hint = "Take the sizes from the arguments; each pair counts, also two with the same key."
        same(result, expected, hint, f"{case}, your output")
    return "compare, normalise, sum; and the order of the pairs does not matter."


@check("1.3", right=((-4, -4),), wrong=[(0, 0), (3, 0), (-1, -1), (-math.inf, 0)])
def check_query(query: Tensor) -> str:
    """A query that pools the chapter's three values to less than 8."""
    query = tensor_like(query, torch.zeros(2), "your query")
    if not query.isfinite().all():
        raise Differs("Use finite numbers: a softmax of infinities is not a number.")
    weights = (KEYS @ query).softmax(dim=0)  # (K, D) x (D) -> (K)
    output = (weights @ VALUES).item()
    if output >= 8:
        most = int(weights.argmax())
        hint = (
            "That is average pooling: this query prefers no key."
            if weights.max() - weights.min() < 1e-6
            else f"Key {most + 1} has the largest weight, {weights[most]:.2f}."
        )
        raise Differs(
            f"Your query pools {output:.2f}. {hint} The value 7 belongs to key 1 = (0, 0), whose "
            "score is 0 whatever you ask. How can 0 be the largest score?"
        )
    return f"it pools {output:.2f}: key 1 wins because your query dislikes the two others."


def _with_salience(query: Tensor, keys: Tensor, salience: Tensor) -> tuple[Tensor, Tensor]:
    return torch.cat([query, torch.ones(1)]), torch.cat([keys, salience[:, None]], dim=1)


def _with_large_salience(query: Tensor, keys: Tensor, salience: Tensor) -> tuple[Tensor, Tensor]:
    return _with_salience(query, keys, salience.abs())


@check(
    "1.4",
    right=(_with_salience,),
    wrong=[
        _with_large_salience,
        lambda query, keys, salience: _with_salience(query, keys, 0 * salience),
        lambda query, keys, salience: _with_salience(query, keys, salience.square()),
    ],
)
def check_with_salience(
    with_salience: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]],
) -> str:
    """A longer query and longer keys whose dot product is q·k plus the salience of the key."""

    def scores_of(query: Tensor, keys: Tensor, salience: Tensor, case: str = "") -> Tensor:
        answer = call(with_salience, query, keys, salience, case=case)
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise Differs("Return two things: the longer query and the longer keys.")
        num_keys, width = keys.shape
        longer_query = tensor_like(answer[0], torch.zeros(width + 1), "your query")
        longer_keys = tensor_like(answer[1], torch.zeros(num_keys, width + 1), "your keys")
        return longer_keys @ longer_query  # (K, D + 1) x (D + 1) -> (K)

    generator = torch.Generator().manual_seed(13)
    query, keys = torch.randn(3, generator=generator), torch.randn(5, 3, generator=generator)
    salience = torch.rand(5, generator=generator)
    scores = scores_of(query, keys, salience)
    recognise(
        scores,
        [
            (
                keys @ query,
                "The salience is lost: its number in the query is 0, so it counts for 0.",
            ),
            (
                keys @ query + salience.square(),
                "The salience is squared: it belongs to the key alone.",
            ),
        ],
    )
    same(scores, keys @ query + salience, "What must the query hold in the new place?", "score")

    same(
        scores_of(3 * query, keys, salience),
        3 * (keys @ query) + salience,
        "The salience should not grow when the query speaks louder.",
        "with a query three times as strong, the score",
    )

    query, keys = torch.randn(2, generator=generator), torch.randn(4, 2, generator=generator)
    salience = torch.tensor([-2.0, 0.0, 0.5, 7.0])
    case = "with saliences from -2 to 7"
    same(
        scores_of(query, keys, salience, case),
        keys @ query + salience,
        "A salience below 0, which makes a thing easy to miss, or above 1 counts as it is.",
        f"{case}, the score",
    )
    return "salience is a part of the key, and the query reads it whatever it asks."


@check("1.8", right=(2.0, 3.0), wrong=[(1.0, 3.0), (2.0, 4.0)])
def check_overtaking(strength_at_2: float, strength_at_3: float) -> str:
    """Strength at which the book overtakes the coffee, for salience 2 and salience 3."""
    for salience, answer in ((2.0, strength_at_2), (3.0, strength_at_3)):
        result = number(answer, f"the strength for salience {salience:g}")
        if abs(result - salience) > 0.11:  # one step of the slider, and rounding
            side = "coffee" if result < salience else "book"
            raise Differs(
                f"At strength {result:g} and salience {salience:g} the {side} has the larger "
                "weight. Two weights are equal where their scores are: solve "
                "strength × 1.0 + 0 = strength × 0.0 + salience."
            )
    return (
        "equal scores give equal weights: strength × 1 = salience. A louder thing needs a "
        "stronger will, in proportion."
    )


@check("1.9", right=(1.7,), wrong=[-1, 1.0, 2.5])
def check_noise(noise: float) -> str:
    """Noise from which the nearest key is worse than average pooling, in the chapter's task."""
    result = number(noise, "the noise")
    if result < 0:
        raise Differs("Noise is a standard deviation: it cannot be negative.")
    low, high = 1.55, 1.85
    if result < low:
        raise Differs(
            f"At noise {result:g} the nearest key still has the smaller error. Go on to more noise."
        )
    if result > high:
        raise Differs(
            f"At noise {result:g} the nearest key has long been worse than the average. "
            "Try less noise, in steps of 0.1."
        )
    return (
        f"from about {result:g} on, a confident wrong look-up costs more than no look-up. "
        "Soft weights never fall that low: they can fade to the average."
    )


@check("1.1", right=(9 / 13,))
def check_last_weight(weight: float) -> str:
    """The third weight of the worked example: scores 0, ln 3 and 2 ln 3."""
    result = number(weight, "the weight")
    recognise(
        result,
        (
            (9.0, "9 is the exponential of the score. Which share of all exponentials is it?"),
            (2 * math.log(3), "This is the score. Take its exponential, then its share."),
            (2 / 3, "These are shares of the scores themselves; take exponentials first."),
            (1 / 3, "A third is the share that each key gets when nobody asks for anything."),
        ),
        rtol=1e-3,
        atol=0,
    )
    if abs(result - 9 / 13) > 1e-3:
        raise Differs(
            f"{result:g} is not it. The exponentials are 1, 3 and 9; what do they sum to?"
        )
    return "9/13, and the three weights together make 1."


def _look_up(queries: Tensor, keys: Tensor, values: Tensor, temperature: float) -> Tensor:
    squared = (queries[:, None] - keys) ** 2  # (Q, 1) - (K,) -> (Q, K)
    return (-squared / temperature).softmax(dim=1) @ values  # (Q, K) x (K,) -> (Q,)


@check("1.2", right=(_look_up,))
def check_look_up(look_up: Callable[[Tensor, Tensor, Tensor, float], Tensor]) -> str:
    """A soft look-up by distance for many queries at once."""
    generator = torch.Generator().manual_seed(12)
    for num_queries, num_keys, temperature in ((4, 3, 2.0), (1, 6, 0.5), (3, 1, 9.0)):
        queries = 3 * torch.randn(num_queries, generator=generator)
        keys = 3 * torch.randn(num_keys, generator=generator)
        values = torch.randn(num_keys, generator=generator)
        expected = _look_up(queries, keys, values, temperature)
        case = f"with {num_queries} queries and {num_keys} keys"
        result = call(look_up, queries, keys, values, temperature, case=case)
        result = tensor_like(result, expected, f"{case}, your answer")
        squared = (queries[:, None] - keys) ** 2
        mistakes = (
            (squared / temperature, "The far keys win: a minus is missing."),
            (-squared * temperature, "Divide by the temperature."),
            (-squared, "The temperature does not count yet."),
            (-squared.sqrt() / temperature, "Square the distance."),
        )
        recognise(result, [(s.softmax(dim=1) @ values, hint) for s, hint in mistakes], expected)
        hint = "Scores have a row a query and a column a key; the softmax runs along a row."
        same(result, expected, hint, f"{case}, your answer")
    return "near keys count most, and the temperature says how near is near."


@check("1.6", right=("AD",), wrong=["ABD", "ACD", "D", "A", "AX"])
def check_attention_matrices(names: str) -> str:
    """Which of the workshop's four matrices can be attention weights: A and D."""
    if not isinstance(names, str):
        raise Differs(f"Name them in one string, such as 'AB'; this is {type(names).__name__}.")
    chosen = set(names.upper()) - set(" ,")
    if unknown := sorted(chosen - set("ABCD")):
        raise Differs(f"There are A, B, C and D; {unknown[0]!r} is none of them.")
    if "B" in chosen:
        raise Differs(
            "Look at B again: its columns sum to 1. Along which way does the softmax run?"
        )
    if "C" in chosen:
        raise Differs("C has a weight below 0, and an exponential is never negative.")
    if "A" not in chosen:
        raise Differs("There may be other numbers of queries than of keys. What about A?")
    if "D" not in chosen:
        raise Differs("D may look dull: every query looks everywhere alike. Is that forbidden?")
    return "rows that share out 1, none below 0; the shape is free, and so are the columns."


@check("1.7", right=(False, True), wrong=[(True, True), (False, False)])
def check_claims(first: bool, second: bool) -> str:
    """Which of two captions the workshop's matrices support: not the first, but the second."""
    claims = [
        truth(answer, f"your answer to the {which} claim")
        for which, answer in (("first", first), ("second", second))
    ]
    if claims[0]:
        raise Differs(
            "The first claim rests on the dark cells on the right. Print their weights beside "
            "1/6, which is what a query gives each key when it does not choose at all."
        )
    if not claims[1]:
        raise Differs(
            "Print each row's largest weight on the left and where it stands. Is it above 3/6?"
        )
    return "a colour says nothing until you know what number it stands for."
