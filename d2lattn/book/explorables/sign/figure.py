"""Which would you sign: attention pictures, each with the tests that tell whether it is true."""

from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import (
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


def convert_pictures(name: str, value: Any) -> list[Picture]:
    """Convert the pictures, each with what became of the word."""
    check_count(name, value, MOST)
    return [convert_picture(f"{name}[{k}]", picture) for k, picture in enumerate(value)]


class Sign(Explorable):
    """Pictures of attention that the reader signs or not, and can test by replacing a state.

    Each picture claims that the translator used its state at the darkest place of a row for a word.
    The reader may replace states of the encoder by those of another sentence, one at a time, and
    sees the word that the translator then predicts. After the answer, three verdicts are shown:
    *plausible*, a person would link the two words; *used*, replacing the state there turns the word
    into the other one; *needed*, hiding the state changes the word. An answer is right if the
    reader signs what is used, and nothing else.

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

    pictures = Converted(convert_pictures, []).tag(sync=True)
    lesson = traitlets.Unicode("").tag(sync=True)
    case = Int(0, min=0, max=MOST - 1).tag(sync=True)
    swaps = List(traitlets.Int(min=-1, max=LONGEST - 1)).tag(sync=True)
    answers = List(traitlets.Enum(ANSWERS)).tag(sync=True)

    def __init__(self, pictures: Sequence[Mapping[str, Any]] = (TINY,), **state: Any) -> None:
        """Begin with nothing exchanged and nothing signed."""
        # As many as there are pictures: a link may hold no more
        nothing = {"swaps": [-1] * len(pictures), "answers": [""] * len(pictures)}
        super().__init__(pictures=list(pictures), **(nothing | state))

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError for values that do not fit together."""
        size = len(state["pictures"])
        check_indices(state, case=size)
        for name in ("swaps", "answers"):
            if len(state[name]) not in (0, size):
                raise UnusableValue(f"{name} has {len(state[name])} entries; {size} are needed")
        for picture, swap in zip(state["pictures"], state["swaps"], strict=False):
            check_indices({"swaps": swap}, swaps=len(picture["source"]))

    def fallback_html(self) -> str:
        """HTML for where no script runs."""
        return paragraph(
            "Interactive figure: which of these attention pictures would you sign? Each claims "
            "that a translator used its state at one English word. Plausible: a person would link "
            "the two words. Used: the word becomes the other one if that state comes from a "
            "sentence that differs in the word that decides between the two. Needed: the word "
            "changes if that state is hidden."
        ) + table(
            ["sentence", "word", "largest weight at", *VERDICTS],
            [
                (
                    " ".join(picture["source"]),
                    picture["target"][picture["asked"]],
                    picture["source"][pointed(picture)],
                    *("yes" if verdict else "no" for verdict in verdicts(picture).values()),
                )
                for picture in self.pictures
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


def convert_picture(name: str, picture: Any) -> Picture:
    """Convert one picture to plain lists."""
    fields = get_fields(name, picture, TINY)
    source, target, other = (
        to_words(f"{name}.{side}", list(fields[side]), LONGEST)
        for side in ("source", "target", "other")
    )
    names = ("other", "exchanged", "hidden")
    check_same_length(source=source, **{field: fields[field] for field in names})
    check_count(f"{name}.gold", fields["gold"], len(source))
    check_indices({"asked": fields["asked"]}, asked=len(target))
    for place in fields["gold"]:
        check_indices({"gold": place}, gold=len(source))
    shape = len(target), len(source)
    return {
        "source": source,
        "target": target,
        "other": other,
        "weights": to_array(f"{name}.weights", fields["weights"], *shape, low=0, high=1),
        "asked": fields["asked"],
        "gold": list(fields["gold"]),
        "turned": fields["turned"],
        "made": fields["made"],
        **{
            field: [[word, float(probability)] for word, probability in fields[field]]
            for field in ("exchanged", "hidden")
        },
    }
