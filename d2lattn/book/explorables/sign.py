"""Which would you sign: attention pictures, each with the tests that tell whether it is true."""

from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import UnusableValue, Whole, one_number, rows, words

MOST, LONGEST = 9, 12
ANSWERS = ("", "yes", "no")
VERDICTS = ("plausible", "used", "needed")
TINY = {
    "source": ["the", "cat"],
    "target": ["la", "chatte"],
    "other": ["the", "dog"],
    "asked": 0,
    "weights": [[0.25, 0.75], [0, 1]],
    "gold": [0],
    "turned": "le",
    "exchanged": [["la", 0.9], ["le", 0.8]],
    "hidden": [["la", 0.9], ["la", 0.6]],
    "made": "Invented.",
}

Picture = dict[str, Any]


class Pictures(traitlets.TraitType[list[Picture], Any]):
    """The pictures, each with what became of the word."""

    def default(self, obj: Any = None) -> list[Picture]:
        """A list of its own for each explorable."""
        return [one_picture("pictures[0]", TINY)]

    def validate(self, obj: Any, value: Any) -> list[Picture]:
        """Check a new value."""
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
            raise UnusableValue(f"{self.name} is a {type(value).__name__}; a list is needed")
        if not 1 <= len(value) <= MOST:
            raise UnusableValue(f"{self.name} holds {len(value)}; 1 to {MOST} are needed")
        return [one_picture(f"{self.name}[{k}]", given) for k, given in enumerate(value)]


class Each(traitlets.TraitType[list[Any], Any]):
    """One small value for each picture, or an empty list for none."""

    def __init__(self, fits: Any, wanted: str) -> None:
        super().__init__()
        self.fits, self.wanted = fits, wanted

    def default(self, obj: Any = None) -> list[Any]:
        """A list of its own for each explorable."""
        return []

    def validate(self, obj: Any, value: Any) -> list[Any]:
        """Check a new value."""
        if not isinstance(value, list) or not all(self.fits(one) for one in value):
            raise UnusableValue(f"{self.name} is {str(value)[:40]!r}; a list of {self.wanted}")
        return value


def is_place(one: Any) -> bool:
    """Whether it is the place of a state, or -1 for none."""
    return isinstance(one, int) and not isinstance(one, bool) and -1 <= one < LONGEST


class Sign(Explorable):
    """Pictures of attention that the reader signs or does not, and can test by an exchange.

    Each picture claims that the translator used its state at the darkest place of a row for a word.
    The reader may exchange the states of the encoder for another sentence's, one at a time, and
    sees the word that the translator writes then. Once they have signed or not, three verdicts
    stand there: *plausible*, the place is one that a person would link; *used*, exchanging the
    state there turns the word; *needed*, hiding it changes the word. Who signs what is used, and
    nothing else, is right.

    Traits:
        pictures: 1 to 9, each a mapping with source and other (S words each, the sentence and the
            one that states come from), target (T words), asked (the place of the word in question),
            weights (T rows of S, what is drawn), gold (the source places that a person would link
            it to), turned (what the word becomes with all states exchanged), exchanged and hidden
            (S pairs of a word and its probability, with that state exchanged or hidden), made (how
            the picture came about). S and T ≤ 12.
        lesson: what the reader takes away, shown with the score.
        case: the picture that is shown, from 0.
        swaps: for each picture the place of the state that is exchanged, or -1.
        answers: for each picture "yes" (signed), "no" or "".

    Raises ValueError for other shapes, weights outside 0 … 1 and places outside the sentence.

    >>> sign = Sign()
    >>> sign.swaps, sign.answers, verdicts(sign.pictures[0])
    ([-1], [''], {'plausible': False, 'used': True, 'needed': False})
    """

    module = "sign"

    pictures = Pictures().tag(sync=True)
    lesson = traitlets.Unicode("").tag(sync=True)
    case = Whole(0, low=0, high=MOST - 1).tag(sync=True)
    swaps = Each(is_place, f"places, or -1, below {LONGEST}").tag(sync=True)
    answers = Each(ANSWERS.__contains__, "'', 'yes' or 'no'").tag(sync=True)

    def __init__(self, pictures: Sequence[Mapping[str, Any]] = (TINY,), **state: Any) -> None:
        """Begin with nothing exchanged and nothing signed."""
        # As many as there are pictures: a link may hold no more
        nothing = {"swaps": [-1] * len(pictures), "answers": [""] * len(pictures)}
        super().__init__(pictures=list(pictures), **(nothing | state))

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError for values that do not fit together."""
        size = len(state["pictures"])
        if state["case"] >= size:
            raise UnusableValue(f"case is {state['case']}; 0 … {size - 1} is needed")
        for name in ("swaps", "answers"):
            if len(state[name]) not in (0, size):
                raise UnusableValue(f"{name} has {len(state[name])} entries; {size} are needed")
        for k, (one, swap) in enumerate(zip(state["pictures"], state["swaps"], strict=False)):
            if swap >= len(one["source"]):
                last = len(one["source"]) - 1
                raise UnusableValue(f"swaps[{k}] is {swap}; -1 … {last} is needed")

    def words(self) -> str:
        """HTML for where no script runs."""
        return paragraph(
            "Interactive figure: which of these attention pictures would you sign? Each says where "
            "a translator looked for a word. Plausible: a person would link the two. Read: with "
            "that state from elsewhere, it turns. Needed: without that state, it changes."
        ) + table(
            ["sentence", "word", "looked at", *VERDICTS],
            [
                (
                    " ".join(one["source"]),
                    one["target"][one["asked"]],
                    one["source"][pointed(one)],
                    *("yes" if yes else "no" for yes in verdicts(one).values()),
                )
                for one in self.pictures
            ],
        )


def pointed(picture: Picture) -> int:
    """Give the place where the picture points for the word in question."""
    row = picture["weights"][picture["asked"]]
    return row.index(max(row))


def verdicts(picture: Picture) -> dict[str, bool]:
    """Tell whether a picture is plausible, used and needed."""
    at = pointed(picture)
    return {
        "plausible": at in picture["gold"],
        "used": picture["exchanged"][at][0] == picture["turned"],
        "needed": picture["hidden"][at][0] != picture["target"][picture["asked"]],
    }


def one_picture(name: str, given: Any) -> Picture:
    """One picture as plain lists, or ValueError."""
    if not isinstance(given, Mapping):
        raise UnusableValue(f"{name} is a {type(given).__name__}; a mapping is needed")
    if missing := sorted(TINY.keys() - given.keys()):
        raise UnusableValue(f"{name} has no {', '.join(missing)}")
    one: Picture = {
        side: words(f"{name}.{side}", list(given[side])) for side in ("source", "target", "other")
    }
    size, height = len(one["source"]), len(one["target"])
    if len(one["other"]) != size or max(size, height) > LONGEST:
        raise UnusableValue(f"{name}: source and other need as many words, at most {LONGEST}")
    one["weights"] = rows(f"{name}.weights", given["weights"])
    if len(one["weights"]) != height or len(one["weights"][0]) != size:
        raise UnusableValue(f"{name}.weights needs {height} rows of {size}")
    if not all(0 <= x <= 1 for row in one["weights"] for x in row):
        raise UnusableValue(f"{name}.weights needs numbers from 0 to 1")
    one["asked"] = _place(f"{name}.asked", given["asked"], height)
    one["gold"] = [_place(f"{name}.gold", place, size) for place in given["gold"]]
    if not one["gold"]:
        raise UnusableValue(f"{name}.gold is empty; a place is needed")
    for field in ("turned", "made"):
        one[field] = words(f"{name}.{field}", [given[field]])[0]
    for field in ("exchanged", "hidden"):
        if len(given[field]) != size:
            raise UnusableValue(f"{name}.{field} has {len(given[field])} entries; {size} needed")
        one[field] = [
            [words(f"{name}.{field}", [word])[0], one_number(f"{name}.{field}", chance)]
            for word, chance in given[field]
        ]
    return one


def _place(name: str, given: Any, size: int) -> int:
    """A place in a sentence, or ValueError."""
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given < size:
        raise UnusableValue(f"{name} is {given!r}; a place from 0 to {size - 1} is needed")
    return given
