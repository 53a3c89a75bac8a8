"""Head ablation bench (chapter 5b): heads switched off, beside their weights and contributions."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from d2lattn.book.explorables.alignment_judge.figure import cut, short_row
from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import (
    Choice,
    Converted,
    Int,
    List,
    UnusableValue,
    check_count,
    check_indices,
    check_same_length,
    get_fields,
    to_array,
    to_words,
)

FEWEST_HEADS, MOST_HEADS = 2, 6  # a phone has room for six rows, and 2^6 losses are embedded
MOST_EXAMPLES = 4
LONGEST = 16
KINDS = ("zero", "mean")
FIELDS = ("queries", "keys", "weights", "lengths")

Example = dict[str, Any]


def convert_examples(name: str, value: Any) -> list[Example]:
    """Convert one to four inputs, with what each head did with them."""
    check_count(name, value, MOST_EXAMPLES)
    return [_convert_example(i, example) for i, example in enumerate(value)]


def convert_losses(name: str, value: Any) -> dict[str, list[float]]:
    """Convert the losses with every subset of the heads, for each kind of ablation."""
    if not isinstance(value, Mapping) or not value or set(value) - set(KINDS):
        raise UnusableValue(f"{name} needs to be a mapping of zero, mean or both")
    return {
        kind: [float(f"{x:.6g}") for x in to_array(kind, value[kind], None, low=0)]
        for kind in KINDS
        if kind in value
    }


def pack_examples(examples: list[Example], widget: Any) -> list[Example]:
    """For JavaScript, shorter: rows of weights as ``short_row`` has them."""
    return [
        example | {"weights": [[short_row(row) for row in head] for head in example["weights"]]}
        for example in examples
    ]


class HeadAblation(Explorable):
    """Heads of a trained attention, switched on and off; weight beside contribution.

    The loss of every subset of the heads is given, so switching computes nothing. For each head the
    figure shows its weights, their contributions (weight times the length of the vector that
    arrives from the value: the norm of that part of the output), and how much the head lowers the
    loss: with all others on, alone, and on average over all orders of switching heads on
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
    >>> bench.worth()  # with all others on, alone, on average
    [(1.0, 3.0, 2.0), (4.0, 6.0, 5.0)]
    """

    module = "head_ablation"

    examples = Converted(convert_examples, []).tag(sync=True, to_json=pack_examples)
    losses = Converted(convert_losses, {}).tag(sync=True)
    measure = traitlets.Unicode("loss").tag(sync=True)
    on = List(traitlets.Bool()).tag(sync=True)
    head = Int(0, min=0, max=MOST_HEADS - 1).tag(sync=True)
    view = Choice(("weights", "contributions"), "weights").tag(sync=True)
    example = Int(0, min=0, max=MOST_EXAMPLES - 1).tag(sync=True)
    instead = Choice(KINDS, "zero").tag(sync=True)

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
        for i, example in enumerate(examples):
            check_same_length(**{"on": state["on"], f"examples[{i}].weights": example["weights"]})
        for kind, values in losses.items():
            to_array(kind, values, 2**num_heads)
        if state["instead"] not in losses:
            raise UnusableValue(f"instead is {state['instead']!r}; losses has not")
        check_indices(state, head=num_heads, example=len(examples))

    def worth(self) -> list[tuple[float, float, float]]:
        """How much each head lowers the loss: with all others on, alone, on average."""
        losses = self.losses[self.instead]
        return [
            (losses[-1 - 2**h] - losses[-1], losses[0] - losses[2**h], share)
            for h, share in enumerate(_shares(losses))
        ]

    def fallback_html(self) -> str:
        """HTML for where no script runs."""
        off = {"zero": "zeros", "mean": "its mean"}[self.instead]
        losses = self.losses[self.instead]
        return paragraph(
            f"Interactive figure: head ablation bench. {self.measure} of a trained layer: "
            f"{losses[-1]:.3g} with all {len(self.on)} heads and {losses[0]:.3g} with none; the "
            f"output of a head that is off is {off}. By how much each head lowers it:"
        ) + table(
            ["head", "with all others on", "alone", "on average"],
            [(h + 1, *worth) for h, worth in enumerate(self.worth())],
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


def _convert_example(i: int, example: Mapping[str, Any]) -> Example:
    """Convert an input to plain lists."""
    name = f"examples[{i}]"
    fields = get_fields(name, example, FIELDS)
    queries, keys = (to_words(f"{name}.{side}", fields[side], LONGEST) for side in FIELDS[:2])
    num_heads = len(fields["weights"])
    if not FEWEST_HEADS <= num_heads <= MOST_HEADS:
        raise UnusableValue(f"{name}.weights needs {FEWEST_HEADS} to {MOST_HEADS} heads, (H, Q, K)")
    shape = num_heads, len(queries), len(keys)
    weights = to_array(f"{name}.weights", fields["weights"], *shape, low=0, high=1.001)
    lengths = to_array(f"{name}.lengths", fields["lengths"], num_heads, len(keys), low=0)
    return {
        "name": str(example.get("name", f"Example {i + 1}")),
        "queries": queries,
        "keys": keys,
        "weights": [[cut(row) for row in head] for head in weights],
        "lengths": [[float(f"{x:.6g}") for x in row] for row in lengths],
    }
