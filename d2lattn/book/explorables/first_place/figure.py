"""First place (chapter 7b): a short sentence whose first word is at a later position."""

from collections.abc import Mapping, Sequence
from typing import Any

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import (
    Converted,
    Int,
    Matrix,
    UnusableValue,
    Words,
    check_indices,
    check_same_length,
    to_words,
)
from d2lattn.book.wrong_words import wrong_words

MOST = 64


def convert_sentences(name: str, value: Any) -> list[list[str]]:
    """Convert what each translator writes for each first position: lists of sentences."""
    return [to_words(f"{name}[{i}]", row) for i, row in enumerate(value)]


class FirstPlace(Explorable):
    """The output of translators if the first word of both sentences is at a later position.

    Args:
        source: the English words.
        wanted: the words of the correct translation.
        written: for each translator by its name, the sentence it writes for each first position.
        bleu: for each translator by its name, BLEU of many sentences for each first position.
        place: the first position that is shown, from 0.

    Traits that can be read, set and observed: place. The others hold what is shown; `wrong` has a
    1 for each wrong word of each sentence.

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
    written = Converted(convert_sentences, []).tag(sync=True)
    wrong = Converted(convert_sentences, []).tag(sync=True)
    bleu = Matrix([]).tag(sync=True)
    place = Int(0, min=0, max=MOST).tag(sync=True)

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
            [
                "".join(str(int(is_wrong)) for is_wrong in wrong_words(sentence.split(), wanted))
                for sentence in row
            ]
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
        count = len(state["bleu"][0])
        for written, bleu in zip(state["written"], state["bleu"], strict=True):
            check_same_length(written=written, bleu=bleu)
        check_indices(state, place=count)

    def fallback_html(self) -> str:
        """HTML for where no script runs."""
        first, last = 0, len(self.bleu[0]) - 1
        return paragraph(
            f"Interactive figure: “{' '.join(self.source)}” with its first word at the positions "
            f"{first} to {last}."
        ) + table(
            ["translator", "first position", "writes", "BLEU of many sentences"],
            [
                (name, place, self.written[k][place], self.bleu[k][place])
                for k, name in enumerate(self.names)
                for place in sorted({first, last // 2, last})
            ],
        )
