"""Look ahead (chapter 7a): replace a letter that decoders read, and see which scores change."""

from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import (
    Int,
    UnusableValue,
    check_count,
    check_indices,
    to_array,
    to_words,
)

MOST_PLACES, MOST_SIGNS, MOST_PROGRAMS = 6, 12, 3  # for which a phone has room


class LookAhead(Explorable):
    """The test for a causal mask: replace one letter, and see at which positions scores change.

    The reader picks a letter that the decoders read and replaces it; the largest change of a score
    at each position is shown below it, for each program. All changes were computed before.

    Args:
        reads: what the decoders read, T letters.
        signs: the V letters that may replace one.
        moved: for each program by its name, (T, V, T): with the letter at the first position
            replaced by the second, the largest change of any score at the third. It is kept to two
            decimals, and is 0 where a letter replaces itself.
        **state: the traits.

    Traits that can be read, set and observed: place, the position that changes, at first the last;
    sign, the letter there, at first the same. data holds the arguments.

    Raises ValueError for other shapes, unknown letters and negative changes.

    >>> masked = [[[0, 0], [2, 1]], [[0, 1.5], [0, 0]]]
    >>> figure = LookAhead("ab", "ab", {"with a mask": masked})
    >>> figure.place, figure.sign, figure.moves("with a mask")
    (1, 1, [0.0, 0.0])
    >>> figure.sign = 0
    >>> figure.moves("with a mask")
    [0.0, 1.5]
    """

    module = "look_ahead"

    data = traitlets.Dict().tag(sync=True)
    place = Int(0, min=0, max=MOST_PLACES - 1).tag(sync=True)
    sign = Int(0, min=0, max=MOST_SIGNS - 1).tag(sync=True)

    def __init__(
        self, reads: Sequence[str], signs: Sequence[str], moved: Mapping[str, Any], **state: Any
    ) -> None:
        reads = to_words("reads", list(reads), MOST_PLACES)
        signs = to_words("signs", list(signs), MOST_SIGNS)
        if unknown := set(reads) - set(signs):
            raise UnusableValue(f"reads has {min(unknown)!r}; signs has not")
        check_count("moved", moved, MOST_PROGRAMS)
        own = [signs.index(letter) for letter in reads]
        programs = [
            {"name": name, "moved": _convert_moved(f"moved[{name!r}]", moves, own, len(signs))}
            for name, moves in moved.items()
        ]
        place = state.get("place", len(reads) - 1)
        if "sign" not in state and place in range(len(reads)):
            state["sign"] = own[place]
        data = {"reads": reads, "signs": signs, "programs": programs}
        super().__init__(data=data, **{"place": place, **state})

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError for values that do not fit together."""
        data = state["data"]
        check_indices(state, place=len(data["reads"]), sign=len(data["signs"]))

    def moves(self, program: str) -> list[float]:
        """The largest change of any score of a program, at each position."""
        moved = {item["name"]: item["moved"] for item in self.data["programs"]}
        return moved[program][self.place][self.sign]

    def fallback_html(self) -> str:
        """HTML for where no script runs: a letter replaced at each position."""
        reads, signs = self.data["reads"], self.data["signs"]
        now = signs[self.sign]
        new = now if now not in reads else next((s for s in signs if s not in reads), signs[0])
        lines = [
            (f"{letter} → {new}", program["name"], *program["moved"][place][signs.index(new)])
            for place, letter in enumerate(reads)
            for program in self.data["programs"]
        ]
        return paragraph(
            f"Interactive figure: the decoder reads {' '.join(reads)}. One letter is replaced. "
            "The largest change in any logit at each position:"
        ) + table(["change", "program", *reads], lines)


def _convert_moved(
    name: str, moved: Any, own: list[int], num_signs: int
) -> list[list[list[float]]]:
    """(T, V, T) as lists, to two decimals."""
    moved = to_array(name, moved, len(own), num_signs, len(own), low=0)
    for place, sign in enumerate(own):
        if max(moved[place][sign]) >= 0.005:
            raise UnusableValue(f"{name}[{place}] needs 0 where its letter becomes itself")
    return [[[round(x, 2) for x in row] for row in rows] for rows in moved]
