"""Look ahead (chapter 7): a letter that decoders read changes, and their scores may move."""

from collections.abc import Mapping, Sequence
from typing import Any

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import Made, UnusableValue, Whole, plain, rows, words

MOST_PLACES, MOST_SIGNS, MOST_PROGRAMS = 6, 12, 3  # for which a phone has room


class LookAhead(Explorable):
    """The test for a causal mask: change one letter, and see at which places scores move.

    The reader picks a letter that the decoders read and gives it another sign; below each place
    stands how far its scores have moved, for each program. All of it has been computed before.

    Args:
        reads: what the decoders read, T signs.
        signs: the V signs that a letter may become.
        moved: of each program by its name, (T, V, T): with the letter at the first place changed
            into the second's sign, the largest change of any score at the third. It is kept to two
            decimals, and is 0 where a letter becomes itself.
        **state: the traits.

    Traits that can be read, set and observed: place, which letter is changed, at first the last;
    sign, what it becomes, at first itself. data is what the figure has made of the arguments.

    Raises ValueError for other shapes, for signs that are not there, and for negative changes.

    >>> masked = [[[0, 0], [2, 1]], [[0, 1.5], [0, 0]]]
    >>> figure = LookAhead("ab", "ab", {"with a mask": masked})
    >>> figure.place, figure.sign, figure.moves("with a mask")
    (1, 1, [0.0, 0.0])
    >>> figure.sign = 0
    >>> figure.moves("with a mask")
    [0.0, 1.5]
    """

    module = "look_ahead"

    data = Made().tag(sync=True)
    place = Whole(0, low=0, high=MOST_PLACES - 1).tag(sync=True)
    sign = Whole(0, low=0, high=MOST_SIGNS - 1).tag(sync=True)

    def __init__(
        self, reads: Sequence[str], signs: Sequence[str], moved: Mapping[str, Any], **state: Any
    ) -> None:
        reads, signs = words("reads", list(reads)), words("signs", list(signs))
        for name, found, most in (("reads", reads, MOST_PLACES), ("signs", signs, MOST_SIGNS)):
            if len(found) > most:
                raise UnusableValue(f"{name} has {len(found)} entries; {most} at most are needed")
        if unknown := [one for one in reads if one not in signs]:
            raise UnusableValue(f"reads has {unknown[0]!r}; signs has not")
        if not isinstance(moved, Mapping) or not 1 <= len(moved) <= MOST_PROGRAMS:
            raise UnusableValue(f"moved needs to be a mapping of 1 to {MOST_PROGRAMS} names")
        own = [signs.index(one) for one in reads]
        programs = [
            {"name": name, "moved": _moved(f"moved[{name!r}]", moved[name], own, len(signs))}
            for name in words("moved", list(moved))
        ]
        place = state.get("place", len(reads) - 1)
        if "sign" not in state and place in range(len(reads)):
            state["sign"] = own[place]
        data = {"reads": reads, "signs": signs, "programs": programs}
        super().__init__(data=data, **{"place": place, **state})

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError for values that do not fit together."""
        for name, many in (("place", "reads"), ("sign", "signs")):
            if state[name] >= len(state["data"][many]):
                count = len(state["data"][many])
                raise UnusableValue(f"{name} is {state[name]}; 0 … {count - 1} is needed")

    def moves(self, program: str) -> list[float]:
        """How far a program's scores have moved at each place."""
        found = {one["name"]: one["moved"] for one in self.data["programs"]}
        return found[program][self.place][self.sign]

    def words(self) -> str:
        """HTML for where no script runs: each place changed, into the sign now or a new one."""
        reads, signs = self.data["reads"], self.data["signs"]
        now = signs[self.sign]
        new = now if now not in reads else next((s for s in signs if s not in reads), signs[0])
        lines = [
            (f"{letter} → {new}", one["name"], *one["moved"][place][signs.index(new)])
            for place, letter in enumerate(reads)
            for one in self.data["programs"]
        ]
        return paragraph(
            f"Interactive figure: the decoder reads {' '.join(reads)}. One letter is changed; at "
            "each place, how far the score moves that moves most:"
        ) + table(["change", "program", *reads], lines)


def _moved(name: str, given: Any, own: list[int], num_signs: int) -> list[list[list[float]]]:
    """(T, V, T) as lists, to two decimals."""
    found = plain(given)
    if not isinstance(found, list) or len(found) != len(own):
        raise UnusableValue(f"{name} needs an entry for each of {len(own)} places")
    kept = [rows(f"{name}[{place}]", one) for place, one in enumerate(found)]
    for place, one in enumerate(kept):
        if (len(one), len(one[0])) != (num_signs, len(own)):
            raise UnusableValue(f"{name}[{place}] needs {num_signs} rows of {len(own)} numbers")
        if min(min(row) for row in one) < 0 or max(one[own[place]]) >= 0.005:
            raise UnusableValue(
                f"{name}[{place}] needs numbers from 0, and 0 where its letter becomes itself"
            )
    return [[[round(x, 2) for x in row] for row in one] for one in kept]
