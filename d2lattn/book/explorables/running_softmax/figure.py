"""Running softmax (chapter 9): keys are read in tiles, and three numbers are kept."""

from typing import Any

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import Bool, Floats, Int, UnusableValue, check_same_length

MOST, HIGH, FAR = 8, 5, 16


class RunningSoftmax(Explorable):
    """One query reads its keys once, in tiles, and keeps three numbers.

    These are the largest score so far, the sum of the powers of 2 with it subtracted, and the
    sum of the values weighted by these powers. The third divided by the second is the output.

    Each trait can be read, set and observed.

    Traits:
        scores: one for each key, at most 8: whole numbers from 0 to 5.
        values: one for each key.
        tile: how many keys are read at a time: 1, 2 or 4.
        step: how many tiles have been read; all, if there are fewer.
        running: whether the largest score so far is subtracted; if not, the sums are those of
            16-bit numbers, of which the largest is 65,504.
        shift: what is added to every score, 0 to 16.

    Raises ValueError for anything else.

    >>> figure = RunningSoftmax(tile=1, step=3)
    >>> figure.scores, figure.tile, figure.step
    ([1.0, 2.0, 3.0, 1.0], 1, 3)
    """

    module = "running_softmax"

    scores = Floats([1.0, 2.0, 3.0, 1.0], maxlen=MOST).tag(sync=True)
    values = Floats([1.0, 2.0, 3.0, 4.0], maxlen=MOST).tag(sync=True)
    tile = Int(2, min=1, max=4).tag(sync=True)
    step = Int(1, min=0, max=MOST).tag(sync=True)
    running = Bool(True).tag(sync=True)
    shift = Int(0, min=0, max=FAR).tag(sync=True)

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError for values that do not fit together."""
        check_same_length(scores=state["scores"], values=state["values"])
        if not all(score in range(HIGH + 1) for score in state["scores"]):
            raise UnusableValue(f"scores needs whole numbers from 0 to {HIGH}")
        if state["tile"] == 3:
            raise UnusableValue("tile is 3; 1, 2 or 4 is needed")

    def fallback_html(self) -> str:
        """HTML for where no script runs."""
        return paragraph(
            f"Interactive figure: a softmax that reads its keys once, {self.tile} at a time, and "
            "keeps three numbers: the largest score so far, the sum of the powers of 2 "
            "with it subtracted, and the sum of the values weighted by these powers."
        ) + table(
            ["key", "score", "value"],
            [
                (i, score + self.shift, value)
                for i, (score, value) in enumerate(zip(self.scores, self.values, strict=True), 1)
            ],
        )
