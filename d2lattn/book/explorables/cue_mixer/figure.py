"""Cue mixer (chapter 1): average pooling, salience, and weights that depend on a query."""

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

    The match is q·kᵢ, and a one-hot query takes one column of ``matches``.

    Traits:
        items: names of the things, n ≤ 20 strings.
        queries: the names of m ≤ 12 queries.
        matches: n rows of m numbers, q·kᵢ: how well each key matches each query.
        values: n numbers, the sensory inputs that are pooled.
        salience: n numbers from 0 to 4, added to the scores for every query.
        query: the number of the query, 0 … m − 1.
        strength: from 0 to 8, the length of the query.
        brief: show the choice of query and the values; fold everything else.
        alone: show the weights and the query; fold the values and everything else.

    Raises ValueError for numbers that are not finite, empty lists and lengths that do not fit.

    >>> mixer = CueMixer(strength=2)
    >>> mixer.strength
    2.0
    """

    module = "cue_mixer"

    items = Words(["newspaper", "paper", "coffee", "notebook", "book"], maxlen=20).tag(sync=True)
    queries = Words(["to read", "to drink", "to write on"], maxlen=12).tag(sync=True)
    matches = Matrix(
        [[0.6, 0.0, 0.2], [0.2, 0.0, 0.7], [0.0, 1.0, 0.0], [0.3, 0.0, 1.0], [1.0, 0.0, 0.1]]
    ).tag(sync=True)
    values = Floats([2.0, 3.0, 5.0, 4.0, 1.0]).tag(sync=True)
    salience = Floats([0.0, 0.0, 2.0, 0.0, 0.0]).tag(sync=True)
    query = Float(0, min=0).tag(sync=True)
    strength = Float(0, min=0, max=8).tag(sync=True)
    brief = Bool(False).tag(sync=True)
    alone = Bool(False).tag(sync=True)

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError for values that do not fit together."""
        names = ("items", "matches", "values", "salience")
        check_same_length(**{name: state[name] for name in names})
        check_same_length(**{"queries": state["queries"], "matches[0]": state["matches"][0]})
        if state["query"] not in range(len(state["queries"])):
            raise UnusableValue(f"query is {state['query']:g}; it numbers the queries from 0")
        to_array("salience", state["salience"], None, low=0, high=4)

    def fallback_html(self) -> str:
        """HTML for where no script runs."""
        rows = zip(self.items, self.salience, self.matches, self.values, strict=True)
        return paragraph(
            "Interactive figure: cue mixer. The weight of thing i is αᵢ = exp(strength · "
            "match + salience), divided by the sum of these over all things. Now the strength "
            f"is {self.strength:g} and the query is: {self.queries[int(self.query)][:60]}."
        ) + table(
            ["thing", "salience", "match", "value"],
            [(item, salience, key[int(self.query)], v) for item, salience, key, v in rows],
        )
