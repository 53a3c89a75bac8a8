"""Head ablation bench (chapter 5b): heads switched off, and what weight and contribution say."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from d2lattn.book.explorables.alignment_judge import cut, short_row
from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import (
    OneOf,
    UnusableValue,
    Whole,
    numbers,
    plain,
    rows,
    same_length,
    words,
)

FEWEST_HEADS, MOST_HEADS = 2, 6  # a phone has room for six rows, and 2^6 losses are embedded
MOST_EXAMPLES = 4
LONGEST = 16
KINDS = ("zero", "mean")
FIELDS = ("queries", "keys", "weights", "lengths")

Example = dict[str, Any]


class Examples(traitlets.TraitType[list[Example], Any]):
    """One to four inputs, with what each head did with them."""

    def default(self, obj: Any = None) -> list[Example]:
        """None: there is no figure without."""
        return []

    def validate(self, obj: Any, value: Any) -> list[Example]:
        """Check a new value."""
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
            raise UnusableValue(f"{self.name} is a {type(value).__name__}; a list is needed")
        if not 1 <= len(value) <= MOST_EXAMPLES:
            raise UnusableValue(f"{self.name} holds {len(value)}; 1 to {MOST_EXAMPLES} are needed")
        return [_example(i, given) for i, given in enumerate(value)]


class Losses(traitlets.TraitType[dict[str, list[float]], Any]):
    """For each kind of ablation the loss with every subset of the heads."""

    def default(self, obj: Any = None) -> dict[str, list[float]]:
        """None: there is no figure without."""
        return {}

    def validate(self, obj: Any, value: Any) -> dict[str, list[float]]:
        """Check a new value."""
        if not isinstance(value, Mapping) or not value or set(value) - set(KINDS):
            raise UnusableValue(f"{self.name} needs to be a mapping of zero, mean or both")
        found = {kind: numbers(kind, value[kind]) for kind in KINDS if kind in value}
        counts = [2**n for n in range(FEWEST_HEADS, MOST_HEADS + 1)]
        for kind, losses in found.items():
            if len(losses) not in counts:
                raise UnusableValue(
                    f"{kind} has {len(losses)} losses; a loss for each subset of "
                    f"{FEWEST_HEADS} to {MOST_HEADS} heads is needed: one of {counts}"
                )
            if min(losses) < 0:
                raise UnusableValue(f"{kind} has the loss {min(losses)}; 0 or more is needed")
        return {kind: [float(f"{x:.6g}") for x in losses] for kind, losses in found.items()}


class Flags(traitlets.TraitType[list[bool], Any]):
    """A list of True or False."""

    def default(self, obj: Any = None) -> list[bool]:
        """A list of its own for each explorable."""
        return []

    def validate(self, obj: Any, value: Any) -> list[bool]:
        """Check a new value."""
        value = plain(value)
        if not isinstance(value, list) or not all(isinstance(one, bool) for one in value):
            raise UnusableValue(
                f"{self.name} is {str(value)[:40]}; a list of True or False is needed"
            )
        return value


class Measure(traitlets.TraitType[str, Any]):
    """The name of what is measured."""

    def validate(self, obj: Any, value: Any) -> str:
        """Check a new value."""
        return words(self.name, [value])[0]


def _packed(examples: list[Example], widget: Any) -> list[Example]:
    """For JavaScript, shorter: rows of weights as ``short_row`` has them."""
    return [
        one | {"weights": [[short_row(row) for row in head] for head in one["weights"]]}
        for one in examples
    ]


class HeadAblation(Explorable):
    """Heads of a trained attention, switched on and off; weight beside contribution.

    The loss of every subset of the heads is given, so switching computes nothing. For each head the
    figure shows its weights, what they contribute (weight times the length of what the head makes
    of the value: the norm of that part of the output), and how much the head lowers the loss:
    beside all others, alone, and on average over all orders in which heads can be switched on
    (its Shapley value; over all heads these sum to what all of them save together).

    Args:
        examples: 1 to 4 inputs that can be looked at, each a mapping of queries (Q ≤ 16 words),
            keys (K ≤ 16 words), weights (H, Q, K), lengths (H, K) as `d2lattn.value_lengths` gives
            them, and, if there are several, name. H is from 2 to 6.
        losses: a mapping of "zero" or "mean" or both, for heads that give 0 or their mean when they
            are off. Each is 2^H numbers from 0 on, smaller being better, in the order of
            `d2lattn.every_subset`: head h is on where bit h of the place is set.
        measure: what the losses are, in words.
        on: for each head, whether it is on; all are at first.
        head, view: the map that is shown large: of which head, from 0; "weights" or
            "contributions".
        example: the input, from 0.
        instead: "zero" or "mean"; at first the first of these that is given.

    Each trait can be read, set and observed. Weights are kept to four decimals, losses and lengths
    to six digits.

    Raises ValueError for other shapes, weights outside 0 … 1, and losses or lengths below 0.

    >>> one = {"queries": ["q"], "keys": ["a", "b"], "weights": [[[0.5, 0.5]], [[0, 1]]],
    ...        "lengths": [[2, 1], [0, 3]]}
    >>> bench = HeadAblation([one], {"zero": [8, 5, 2, 1]}, measure="error")
    >>> bench.worth()  # beside all others, alone, on average
    [(1.0, 3.0, 2.0), (4.0, 6.0, 5.0)]
    """

    module = "head_ablation"

    examples = Examples().tag(sync=True, to_json=_packed)
    losses = Losses().tag(sync=True)
    measure = Measure("loss").tag(sync=True)
    on = Flags().tag(sync=True)
    head = Whole(0, low=0, high=MOST_HEADS - 1).tag(sync=True)
    view = OneOf(("weights", "contributions"), "weights").tag(sync=True)
    example = Whole(0, low=0, high=MOST_EXAMPLES - 1).tag(sync=True)
    instead = OneOf(KINDS, "zero").tag(sync=True)

    def __init__(self, examples: Any, losses: Any, measure: str = "loss", **state: Any) -> None:
        """Start with all heads on, and with a kind of ablation that is given."""
        traits = type(self).class_traits()
        examples = traits["examples"].validate(self, examples)
        losses = traits["losses"].validate(self, losses)
        start = {"on": [True] * len(examples[0]["weights"]), "instead": next(iter(losses))}
        super().__init__(examples=examples, losses=losses, measure=measure, **(start | state))

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError for values that do not fit together."""
        examples, losses = state["examples"], state["losses"]
        num_heads = len(state["on"])
        for i, one in enumerate(examples):
            same_length(**{"on": state["on"], f"examples[{i}].weights": one["weights"]})
        for kind, found in losses.items():
            if len(found) != 2**num_heads:
                raise UnusableValue(
                    f"{kind} has {len(found)} losses; {num_heads} heads need {2**num_heads}"
                )
        if state["instead"] not in losses:
            raise UnusableValue(
                f"instead is {state['instead']!r}; losses has {' and '.join(losses)} only"
            )
        for name, count in (("head", num_heads), ("example", len(examples))):
            if state[name] >= count:
                raise UnusableValue(f"{name} is {state[name]}; 0 … {count - 1} is needed")

    def worth(self) -> list[tuple[float, float, float]]:
        """For each head, how much it lowers the loss: beside all others, alone, on average."""
        losses = self.losses[self.instead]
        return [
            (losses[-1 - 2**h] - losses[-1], losses[0] - losses[2**h], share)
            for h, share in enumerate(_shares(losses))
        ]

    def words(self) -> str:
        """HTML for where no script runs."""
        off = {"zero": "zeros", "mean": "its mean"}[self.instead]
        losses = self.losses[self.instead]
        return paragraph(
            f"Interactive figure: head ablation bench. {self.measure} of a trained attention, "
            f"{losses[-1]:.3g} with all {len(self.on)} heads and {losses[0]:.3g} with none; a head "
            f"that is off gives {off}. By how much a head lowers it:"
        ) + table(
            ["head", "beside all others", "alone", "on average"],
            [(h + 1, *found) for h, found in enumerate(self.worth())],
        )


def _shares(losses: Sequence[float]) -> list[float]:
    """What each head saves, on average over all orders in which heads are switched on.

    >>> _shares([8, 5, 2, 1])
    [2.0, 5.0]
    """
    num_heads = (len(losses) - 1).bit_length()
    shares = [0.0] * num_heads
    # In an order, the heads before are a subset; each size of it is as likely, and each subset of
    # a size is.
    for before, loss in enumerate(losses):
        size = before.bit_count()
        for head in range(num_heads):
            if not before >> head & 1:
                chance = 1 / num_heads / math.comb(num_heads - 1, size)
                shares[head] += chance * (loss - losses[before | 1 << head])
    return shares


def _example(i: int, given: Any) -> Example:
    """An input as plain lists, or ValueError naming what was found."""
    name = f"examples[{i}]"
    if not isinstance(given, Mapping):
        raise UnusableValue(f"{name} is a {type(given).__name__}; a mapping is needed")
    if missing := [field for field in FIELDS if field not in given]:
        raise UnusableValue(f"{name} has no {missing[0]}; it needs {', '.join(FIELDS)}")
    queries, keys = (words(f"{name}.{side}", plain(given[side])) for side in ("queries", "keys"))
    for side, found in (("queries", queries), ("keys", keys)):
        if len(found) > LONGEST:
            raise UnusableValue(
                f"{name}.{side} has {len(found)} words; {LONGEST} at most are drawn"
            )
    heads = plain(given["weights"])
    if not isinstance(heads, list) or not FEWEST_HEADS <= len(heads) <= MOST_HEADS:
        raise UnusableValue(f"{name}.weights needs {FEWEST_HEADS} to {MOST_HEADS} heads, (H, Q, K)")
    weights = [rows(f"{name}.weights[{h}]", head) for h, head in enumerate(heads)]
    lengths = rows(f"{name}.lengths", given["lengths"])
    pairs: list[dict[str, Sequence[Any]]] = [
        {f"{name}.weights": weights, f"{name}.lengths": lengths},
        {f"{name}.keys": keys, f"{name}.lengths[0]": lengths[0]},
    ]
    for h, head in enumerate(weights):
        pairs.append({f"{name}.queries": queries, f"{name}.weights[{h}]": head})
        pairs.append({f"{name}.keys": keys, f"{name}.weights[{h}][0]": head[0]})
    for pair in pairs:
        same_length(**pair)
    for h, head in enumerate(weights):
        if not all(0 <= x <= 1.001 for row in head for x in row):
            raise UnusableValue(f"{name}.weights[{h}] needs weights from 0 to 1")
    if min(min(row) for row in lengths) < 0:
        raise UnusableValue(f"{name}.lengths needs numbers from 0 on")
    return {
        "name": words(f"{name}.name", [given.get("name", f"Example {i + 1}")])[0],
        "queries": queries,
        "keys": keys,
        "weights": [[cut(row) for row in head] for head in weights],
        "lengths": [[float(f"{x:.6g}") for x in row] for row in lengths],
    }
