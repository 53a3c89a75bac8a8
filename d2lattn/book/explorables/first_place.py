"""First place (chapter 7b): a sentence whose places are counted from further and further on."""

from collections.abc import Mapping, Sequence
from typing import Any

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import Numbers, Rows, UnusableValue, Whole, Words, words
from d2lattn.book.wrong_words import wrong_words

MOST = 64


class Sentences(Numbers):
    """For each translator, what it writes from each place on: lists of sentences."""

    def validate(self, obj: Any, value: Any) -> list[list[str]]:
        """Check a new value."""
        if not isinstance(value, list) or not value:
            raise UnusableValue(f"{self.name} is not a list of lists of sentences")
        return [words(f"{self.name}[{i}]", row) for i, row in enumerate(value)]


class FirstPlace(Explorable):
    """What translators write if the first word of both sentences stands at another place.

    Args:
        source: the English words.
        wanted: the French words that are right.
        written: of each translator by its name, the sentence it writes for each first place from 0.
        bleu: of each translator by its name, BLEU of many sentences for each first place.
        place: the first place that is shown, from 0.

    Traits that can be read, set and observed: place. The others hold what is shown; in `wrong`
    stands, for each sentence, a 1 for each word that is wrong.

    Raises ValueError if the lists do not fit together.

    >>> figure = FirstPlace(["the", "cow"], ["la", "vache"], {"ours": ["la vache", "la la"]},
    ...     {"ours": [100.0, 50.0]}, place=1)
    >>> figure.place, figure.wrong
    (1, [['00', '01']])
    """

    module = "first_place"

    source = Words([]).tag(sync=True)
    wanted = Words([]).tag(sync=True)
    names = Words([]).tag(sync=True)
    written = Sentences([]).tag(sync=True)
    wrong = Sentences([]).tag(sync=True)
    bleu = Rows([]).tag(sync=True)
    place = Whole(0, low=0, high=MOST).tag(sync=True)

    def __init__(
        self,
        source: Sequence[str],
        wanted: Sequence[str],
        written: Mapping[str, Sequence[str]],
        bleu: Mapping[str, Sequence[float]],
        **state: Any,
    ) -> None:
        if list(written) != list(bleu):
            raise UnusableValue(f"bleu is of {', '.join(bleu)}, written of {', '.join(written)}")
        wanted = list(wanted)
        marks = [
            ["".join(str(int(bad)) for bad in wrong_words(one.split(), wanted)) for one in row]
            for row in written.values()
        ]
        super().__init__(
            source=list(source),
            wanted=wanted,
            names=list(written),
            written=[list(row) for row in written.values()],
            wrong=marks,
            bleu=[[round(value, 1) for value in row] for row in bleu.values()],
            **state,
        )

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError for values that do not fit together."""
        count = len(state["bleu"][0]) if state["bleu"] else 0
        for name in ("written", "wrong", "bleu"):
            lengths = [len(row) for row in state[name]]
            if lengths != [count] * len(state["names"]):
                raise UnusableValue(
                    f"{name} has rows of {lengths}; for {len(state['names'])} translators, "
                    f"{count} first places each are needed"
                )
        if state["place"] >= max(count, 1):
            raise UnusableValue(f"place is {state['place']}; there are {count}, from 0")

    def words(self) -> str:
        """HTML for where no script runs."""
        first, last = 0, len(self.bleu[0]) - 1
        return paragraph(
            f"Interactive figure: “{' '.join(self.source)}” with its places counted from "
            f"{first} to {last}."
        ) + table(
            ["translator", "first place", "writes", "BLEU of many sentences"],
            [
                (name, place, self.written[k][place], self.bleu[k][place])
                for k, name in enumerate(self.names)
                for place in sorted({first, last // 2, last})
            ],
        )
