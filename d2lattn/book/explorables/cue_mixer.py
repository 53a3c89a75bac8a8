"""Cue mixer (chapter 1): from uniform pooling through salience to a query that selects."""

from typing import Any

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import (
    Bool,
    Float,
    Floats,
    Matrix,
    UnusableValue,
    Words,
    check_same_length,
    to_array,
)


class CueMixer(Explorable):
    """Weights α = softmax(strength · match + salience) over a few things on a desk.

    ``match`` is the column of ``matches`` that the query asks for: q·kᵢ with a one-hot query.

    Traits:
        items: what lies there, n ≤ 20 strings.
        asks: what the query may ask for, m ≤ 12 strings.
        matches: n rows of m numbers, q·kᵢ: how far each thing fits each question.
        values: n numbers, the sensory inputs that are pooled.
        salience: n numbers from 0 to 4, how far each thing stands out by itself.
        ask: the number of the question, 0 … m − 1.
        strength: from 0 to 8, how strongly the query speaks.
        brief: what the query asks for and the values alone; all else is folded.
        alone: the shares and the query alone; the values and all else are folded.

    Raises ValueError for numbers that are not finite, empty lists and lengths that do not fit.

    >>> mixer = CueMixer(strength=2)
    >>> mixer.strength
    2.0
    """

    module = "cue_mixer"

    items = Words(["newspaper", "paper", "coffee", "notebook", "book"], maxlen=20).tag(sync=True)
    asks = Words(["to read", "to drink", "to write on"], maxlen=12).tag(sync=True)
    matches = Matrix(
        [[0.6, 0.0, 0.2], [0.2, 0.0, 0.7], [0.0, 1.0, 0.0], [0.3, 0.0, 1.0], [1.0, 0.0, 0.1]]
    ).tag(sync=True)
    values = Floats([2.0, 3.0, 5.0, 4.0, 1.0]).tag(sync=True)
    salience = Floats([0.0, 0.0, 2.0, 0.0, 0.0]).tag(sync=True)
    ask = Float(0, min=0).tag(sync=True)
    strength = Float(0, min=0, max=8).tag(sync=True)
    brief = Bool(False).tag(sync=True)
    alone = Bool(False).tag(sync=True)

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError for values that do not fit together."""
        names = ("items", "matches", "values", "salience")
        check_same_length(**{name: state[name] for name in names})
        check_same_length(**{"asks": state["asks"], "matches[0]": state["matches"][0]})
        if state["ask"] not in range(len(state["asks"])):
            raise UnusableValue(f"ask is {state['ask']:g}; it numbers the questions from 0")
        to_array("salience", state["salience"], None, low=0, high=4)

    def words(self) -> str:
        """HTML for where no script runs."""
        rows = zip(self.items, self.salience, self.matches, self.values, strict=True)
        return paragraph(
            "Interactive figure: cue mixer. The weight of thing i is αᵢ = exp(strength · "
            "match + salience), divided by the sum of these over all things. Now the strength "
            f"is {self.strength:g} and the query asks: {self.asks[int(self.ask)][:60]}."
        ) + table(
            ["thing", "salience", "match", "value"],
            [(item, salience, key[int(self.ask)], v) for item, salience, key, v in rows],
        )
