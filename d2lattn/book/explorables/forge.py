"""Forge (chapter 4b): make a heatmap lie, and see which number notices."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from d2lattn.book.explorables.alignment_judge import cut, links, short_row
from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import (
    Flag,
    Made,
    Number,
    UnusableValue,
    Whole,
    one_number,
    plain,
    same_length,
    words,
)

BINS = 20
MOST_SHOWN = 8

Record = dict[str, Any]


class Forge(Explorable):
    """Two translators' heatmaps, which the reader forges.

    The picture is altered (another encoder, rows that carry the neighbour's label, weights left
    white, a colour scale that ends early, a picked sentence) while translation and BLEU stay.

    The evidence: the alignment error rate of the links from each row's largest weight, beside those
    of the diagonal and of random links (their mean), and how often the word changes when the state
    pointed at is hidden, beside the mean over all other words' states. <eos> is no source word.

    Traits:
        sentence, drawn, shift, threshold, darkest, gold: the forgery. drawn is the number of the
            translator; shift is −1, 0 or 1, as in `d2l.shift_links`; cells with less than the
            threshold are empty (a multiple of 0.05); darkest is the weight at which the ink
            is full; gold outlines the gold links.
        data: what the figure has made of the sentences.

    Raises ValueError for other shapes, weights outside 0 … 1, and links outside their sentence.

    >>> pair = {"source": ["a", "dog"], "target": ["un", "chien"], "sure": [(0, 0), (1, 1)],
    ...         "possible": [(0, 0), (1, 1)]}
    >>> saw = {"bleu": 100, "translations": ["un chien"], "changes": [[[1, 0], [0, 1]]]}
    >>> forge = Forge([pair], {"forwards": {**saw, "weights": [[[0.3, 0.7], [0.0, 1.0]]]},
    ...                        "both ways": {**saw, "weights": [[[0.9, 0.1], [0.0, 1.0]]]}})
    >>> forge.data["tallies"]["0 0"]["sure"], len(forge.data["tallies"])
    (2, 6)
    """

    module = "forge"

    data = Made().tag(sync=True)
    sentence = Whole(0, low=0, high=MOST_SHOWN - 1).tag(sync=True)
    drawn = Whole(0, low=0, high=1).tag(sync=True)
    shift = Whole(0, low=-1, high=1).tag(sync=True)
    threshold = Number(0.0, low=0, high=1 - 1 / BINS).tag(sync=True)
    darkest = Number(1.0, low=1 / BINS, high=1).tag(sync=True)
    gold = Flag(False).tag(sync=True)

    def __init__(
        self,
        sentences: Sequence[Any],
        translators: Mapping[str, Mapping[str, Any]],
        shown: Sequence[int] = (0,),
        **state: Any,
    ) -> None:
        """Count the evidence of all sentences, and keep those that are shown.

        Args:
            sentences: records or mappings with source (S words), target (T words), sure and
                possible, links [source, target].
            translators: two, by name. Each has bleu; translations, a string for each sentence;
                weights, for each sentence T rows of S; and changes, of the same shape: whether
                word t changes when state s alone is hidden.
            shown: the places of 1 to 8 sentences that can be looked at.
            **state: the traits.
        """
        data = _made(sentences, translators, [int(k) for k in shown])
        super().__init__(data=data, **state)

    def check(self, state: Record) -> None:
        """Raise ValueError for values that do not fit together."""
        count = len(state["data"]["sentences"])
        if state["sentence"] >= count:
            raise UnusableValue(f"sentence is {state['sentence']}; 0 … {count - 1} is needed")
        steps = state["threshold"] * BINS
        if abs(steps - round(steps)) > 1e-6:
            raise UnusableValue(f"threshold is {state['threshold']}; a multiple of 0.05 is needed")

    def words(self) -> str:
        """HTML for where no script runs."""
        names = " and ".join(one["name"] for one in self.data["translators"])
        return paragraph(
            f"Interactive figure: forge. Heatmaps of two trained translators ({names}) that can be "
            f"made to lie, and what notices: error rates over {self.data['size']} sentences, and "
            "whether a word changes when the state pointed at is hidden. The sentences:"
        ) + table(
            ["source", "target"],
            [(" ".join(one["source"]), " ".join(one["target"])) for one in self.data["sentences"]],
        )


def _made(
    given: Sequence[Any], translators: Mapping[str, Mapping[str, Any]], shown: list[int]
) -> Record:
    if not isinstance(translators, Mapping) or len(translators) != 2:
        raise UnusableValue("translators needs to be a mapping of two names")
    if not given or not 1 <= len(shown) <= MOST_SHOWN:
        raise UnusableValue(f"shown holds {len(shown)} places; 1 to {MOST_SHOWN} are needed")
    if bad := [k for k in shown if not 0 <= k < len(given)]:
        raise UnusableValue(f"shown holds {bad[0]}; 0 … {len(given) - 1} is needed")
    for name, one in translators.items():
        for field in ("bleu", "translations", "weights", "changes"):
            if field not in one:
                raise UnusableValue(f"translator {name!r} has no {field}")
        same_length(sentences=given, **{f: one[f] for f in ("translations", "weights", "changes")})
    models = list(translators.values())
    sentences = [_sentence(k, one, models) for k, one in enumerate(given)]
    tallies = {
        key(who, shift): tally(sentences, who, shift) for who in (0, 1) for shift in (-1, 0, 1)
    }
    return {
        "size": len(sentences),
        "translators": [
            {"name": words("translators", [name])[0], "bleu": one_number("bleu", one["bleu"])}
            for name, one in translators.items()
        ],
        "sentences": [
            _sent(sentences[k], [one["translations"][k] for one in models]) for k in shown
        ],
        "tallies": tallies,
    }


def _sent(one: Record, translations: Any) -> Record:
    """For JavaScript, shorter: rows as ``short_row`` has them, possible links less the sure."""
    return {name: one[name] for name in ("source", "target", "sure", "changes")} | {
        "weights": [[short_row(cut(row)) for row in rows] for rows in one["weights"]],
        "possible": [link for link in one["possible"] if link not in one["sure"]],
        "translations": words("translations", list(translations)),
    }


def _sentence(k: int, given: Any, models: Sequence[Mapping[str, Any]]) -> Record:
    """One sentence as plain lists, with what each translator did, or ValueError."""

    def field(name: str) -> Any:
        found = given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)
        if found is None:
            raise UnusableValue(f"sentences[{k}] has no {name}")
        return found

    one: Record = {
        side: words(f"sentences[{k}].{side}", list(field(side))) for side in ("source", "target")
    }
    shape = len(one["source"]), len(one["target"])
    for kind in ("sure", "possible"):
        one[kind] = links(f"sentences[{k}].{kind}", field(kind), shape)
    if extra := [link for link in one["sure"] if link not in one["possible"]]:
        raise UnusableValue(f"sentences[{k}].sure holds {extra[:3]}, which possible does not")
    one["gold"] = [
        tuple({i for i, place in one[kind] if place == t} for kind in ("sure", "possible"))
        for t in range(shape[1])
    ]
    one["weights"] = [_rows(f"weights[{k}]", model["weights"][k], shape) for model in models]
    one["tops"] = [[_top(row) for row in rows] for rows in one["weights"]]
    changes = [_rows(f"changes[{k}]", model["changes"][k], shape) for model in models]
    one["changes"] = [[[i for i, x in enumerate(row) if x] for row in rows] for rows in changes]
    return one


def _top(row: list[float]) -> tuple[int, float]:
    """The place of the largest weight, and the weight as it is shown."""
    short = cut(row)
    return short.index(max(short)), max(short)


def _rows(name: str, given: Any, shape: tuple[int, int]) -> list[list[float]]:
    rows = plain(given)
    num_source, num_target = shape
    if (
        not isinstance(rows, list)
        or len(rows) != num_target
        or not all(isinstance(row, list) and len(row) == num_source for row in rows)
    ):
        raise UnusableValue(f"{name} needs {num_target} rows of {num_source}, without <eos>")
    if not all(isinstance(x, int | float) and 0 <= x <= 1.001 for row in rows for x in row):
        raise UnusableValue(f"{name} needs numbers from 0 to 1")
    return rows


def key(drawn: int, shift: int) -> str:
    """The name of a tally."""
    return f"{drawn} {shift}"


def tally(sentences: Sequence[Record], drawn: int, shift: int) -> Record:
    """Counts that evidence is made of: links by weight, gold's own, and the baselines'.

    A bin holds the number of links, how many are sure and possible, how many words change when the
    state pointed at is hidden, and the mean of that over the other states.
    """
    bins = [[0.0] * 5 for _ in range(BINS)]
    num_words = num_sure = 0
    diagonal, uniform = [0, 0], [0.0, 0.0]
    for one in sentences:
        size, height = len(one["source"]), len(one["target"])
        for t in range(height):
            sure, possible = one["gold"][t]
            num_words, num_sure = num_words + 1, num_sure + len(sure)
            middle = (2 * t + 1) * size // (2 * height)
            for k, right in enumerate((sure, possible)):
                diagonal[k] += middle in right
                uniform[k] += len(right) / size
            if not 0 <= t - shift < height:
                continue
            top, weight = one["tops"][drawn][t - shift]
            changed = one["changes"][drawn][t]
            others = (len(changed) - (top in changed)) / (size - 1) if size > 1 else 0
            found = bins[min(BINS - 1, math.floor(weight * BINS + 1e-9))]
            for k, x in enumerate((1, top in sure, top in possible, top in changed, others)):
                found[k] += x
    return {
        "bins": [[*map(int, bin[:4]), round(bin[4], 3)] for bin in bins],
        "words": num_words,
        "sure": num_sure,
        "diagonal": diagonal,
        "uniform": [round(x, 3) for x in uniform],
    }
