"""Alignment judge (chapter 4): attention matrices beside gold word alignments."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import traitlets

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import (
    Flag,
    Number,
    OneOf,
    UnusableValue,
    Whole,
    plain,
    same_length,
    words,
)

MOST, LONGEST = 12, 40
FIELDS = ("source", "target", "weights", "sure", "possible")
TINY = {
    "source": ["the", "cat"],
    "target": ["le", "chat"],
    "weights": [[1, 0], [0, 1]],
    "sure": [[0, 0], [1, 1]],
    "possible": [[0, 0], [1, 1]],
}


class Sentences(traitlets.TraitType[list[dict[str, Any]], Any]):
    """One to twelve sentences, each with its attention matrix and its gold links."""

    def default(self, obj: Any = None) -> list[dict[str, Any]]:
        """A list of its own for each explorable."""
        return [dict(TINY)]

    def validate(self, obj: Any, value: Any) -> list[dict[str, Any]]:
        """Check a new value."""
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
            raise UnusableValue(f"{self.name} is a {type(value).__name__}; a list is needed")
        if not 1 <= len(value) <= MOST:
            raise UnusableValue(f"{self.name} holds {len(value)}; 1 to {MOST} are needed")
        return [one_sentence(f"{self.name}[{i}]", given) for i, given in enumerate(value)]


class Marks(traitlets.TraitType[list[Any], Any]):
    """For each sentence the links that the reader has marked."""

    def default(self, obj: Any = None) -> list[Any]:
        """A list of its own for each explorable."""
        return []

    def validate(self, obj: Any, value: Any) -> list[list[list[int]]]:
        """Check a new value."""
        value = plain(value)
        if not isinstance(value, list):
            raise UnusableValue(f"{self.name} is a {type(value).__name__}; a list is needed")
        return [links(f"{self.name}[{i}]", given, None) for i, given in enumerate(value)]


def packed(sentences: list[dict[str, Any]], widget: Any) -> list[dict[str, Any]]:
    """For JavaScript, shorter: rows as ``short_row`` has them, possible links less the sure.

    A link (i, t) is the number t S + i, and words stand in one string, where none has a space.
    """
    short = []
    for one in sentences:
        found = {name: value for name, value in one.items() if name != "model" or value}
        num_source = len(one["source"])
        for name in ("source", "target"):
            if not any(re.search(r"\s", word) for word in one[name]):
                found[name] = " ".join(one[name])
        possible = [link for link in one["possible"] if link not in one["sure"]]
        for name, links in (("sure", one["sure"]), ("possible", possible)):
            found[name] = [t * num_source + i for i, t in links]
        found["weights"] = [short_row(row) for row in one["weights"]]
        short.append(found)
    return short


def short_row(row: Sequence[float]) -> list[float] | dict[str, float]:
    """Weights in ten-thousandths; by their places without the zeros where that is shorter.

    >>> short_row([0.9, 0.0999, 0.0001]), short_row([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    ([9000, 999, 1], {'6': 10000})
    """
    times = [round(x * 10**4, 6) for x in row]
    full = [int(x) if x.is_integer() else x for x in times]
    sparse = {str(i): x for i, x in enumerate(full) if x}
    return sparse if len(str(sparse)) < len(str(full)) else full


class AlignmentJudge(Explorable):
    """Links read off an attention matrix, judged by gold links, beside two baselines.

    With A the links read off, S the sure and P the possible ones: precision ``|A ∩ P| / |A|``,
    recall ``|A ∩ S| / |S|``, error rate ``1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)``, as in Och and
    Ney 2003. The diagonal links each target word to the source word at the same share of the
    sentence; "uniform" is what links drawn at random score on average.

    Each trait can be read, set and observed.

    Traits:
        sentences: 1 to 12, each a mapping or a record with source (S strings), target (T strings),
            weights (T rows of S), sure and possible (links [source place, target place]), S and
            T ≤ 40; and, where several models are judged, model: the name of the one whose weights
            these are. Scores are summed up model by model. A last source word "<eos>" is no word
            to the two baselines.
        sentence: the number of the one that is shown, from 0.
        rule: "argmax" (the source word of the largest weight) or "threshold".
        threshold: from 0 to 1; words whose weight is at least this are linked.
        shift: −1, 0 or 1: to the target word before or after, as `d2l.shift_links`.
        marking: True hides gold, the model's links and all scores until the reader reveals them.
        marks: the reader's own links, one list for each sentence, or [].

    Weights are cut (not rounded) to four decimals to keep the page small, so that no threshold of
    up to four decimals decides otherwise; a row in which this would move the largest weight keeps
    more of them.

    Raises ValueError for other shapes, weights outside 0 … 1 or rows that do not sum to 1, links
    outside the sentence, and sure links that are not possible.

    >>> judge = AlignmentJudge([{"source": ["a", "dog"], "target": ["un", "chien"],
    ...     "weights": [[0.9, 0.1], [0.25, 0.75]], "sure": {(0, 0), (1, 1)},
    ...     "possible": {(0, 0), (1, 1)}}], rule="threshold", threshold=0.2)
    >>> judge.sentences[0]["sure"], judge.threshold
    ([[0, 0], [1, 1]], 0.2)
    """

    module = "alignment_judge"

    sentences = Sentences().tag(sync=True, to_json=packed)
    sentence = Whole(0, low=0, high=MOST - 1).tag(sync=True)
    rule = OneOf(("argmax", "threshold"), "argmax").tag(sync=True)
    threshold = Number(0.3, low=0, high=1).tag(sync=True)
    shift = Whole(0, low=-1, high=1).tag(sync=True)
    marking = Flag(False).tag(sync=True)
    marks = Marks().tag(sync=True)

    def __init__(
        self, sentences: Any, weights: Any = None, *, models: Any = None, **state: Any
    ) -> None:
        """Take sentences that hold their weights, or sentences and, beside them, matrices.

        ``models`` names for each sentence the model whose weights it has.
        """
        for name, values in (("weights", weights), ("model", models)):
            if values is None:
                continue
            sentences = list(sentences)
            same_length(**{"sentences": sentences, name: values})
            sentences = [
                {field: _field(one, field) for field in (*FIELDS, "model") if _has(one, field)}
                | {name: value}
                for one, value in zip(sentences, values, strict=True)
            ]
        super().__init__(sentences=sentences, **state)

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError for values that do not fit together."""
        sentences, marks = state["sentences"], state["marks"]
        if state["sentence"] >= len(sentences):
            raise UnusableValue(
                f"sentence is {state['sentence']}; 0 … {len(sentences) - 1} is needed"
            )
        if marks:
            same_length(sentences=sentences, marks=marks)
        for i, (one, marked) in enumerate(zip(sentences, marks, strict=False)):
            links(f"marks[{i}]", marked, (len(one["source"]), len(one["target"])))

    def words(self) -> str:
        """HTML for where no script runs."""
        return paragraph(
            "Interactive figure: alignment judge. The attention of a trained translator, gold word "
            "alignments (sure and possible), and precision, recall and alignment error rate of "
            f"the links read off, for {len(self.sentences)} sentences; the first:"
        ) + table(
            ["source", "target"],
            [(" ".join(one["source"]), " ".join(one["target"])) for one in self.sentences[:1]],
        )


def one_sentence(name: str, given: Any) -> dict[str, Any]:
    """A sentence as plain lists, or ValueError naming what was found."""
    found = {field: _field(given, field) for field in FIELDS}
    source, target = (words(f"{name}.{side}", found[side]) for side in ("source", "target"))
    shape = len(source), len(target)
    sure, possible = (links(f"{name}.{kind}", found[kind], shape) for kind in ("sure", "possible"))
    if extra := [link for link in sure if link not in possible]:
        raise UnusableValue(f"{name}.sure holds {extra[:3]}, which {name}.possible does not")
    for side, number in zip(("source", "target"), shape, strict=True):
        if number > LONGEST:
            raise UnusableValue(f"{name}.{side} has {number} words; {LONGEST} at most can be read")
    weights = matrix(f"{name}.weights", found["weights"], shape)
    model = _field(given, "model") if _has(given, "model") else ""
    if not isinstance(model, str):
        raise UnusableValue(f"{name}.model is {str(model)[:40]}; a name is needed")
    whole = dict(zip(FIELDS, (source, target, weights, sure, possible), strict=True))
    return whole | {"model": model}


def _has(given: Any, name: str) -> bool:
    return name in given if isinstance(given, Mapping) else hasattr(given, name)


def _field(given: Any, name: str) -> Any:
    try:
        return given[name] if isinstance(given, Mapping) else getattr(given, name)
    except (KeyError, AttributeError):
        raise UnusableValue(f"a sentence has no {name}; it needs {', '.join(FIELDS)}") from None


def links(name: str, given: Any, shape: tuple[int, int] | None) -> list[list[int]]:
    """Links [source, target] in order, each once, or ValueError naming what was found."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(plain(given), Iterable):
        raise UnusableValue(f"{name} is a {type(given).__name__}; links [source, target] needed")
    found = set()
    for link in plain(given):
        pair = plain(link)
        whole = isinstance(pair, list) and all(type(place) is int for place in pair)
        if not whole or len(pair) != 2:
            raise UnusableValue(f"{name} holds {str(pair)[:40]}; a link is [source, target]")
        limits = shape or (math.inf, math.inf)
        if not all(0 <= place < limit for place, limit in zip(pair, limits, strict=True)):
            raise UnusableValue(
                f"{name} holds {pair}; there are {limits[0]} source and {limits[1]} target words"
            )
        found.add(tuple(pair))
    return [list(link) for link in sorted(found)]


def matrix(name: str, given: Any, shape: tuple[int, int]) -> list[list[float]]:
    """T rows of S weights, cut short, or ValueError naming what was found."""
    rows = plain(given)
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise UnusableValue(f"{name} is a {type(given).__name__}; rows of numbers are needed")
    columns, height = shape
    if len(rows) != height or any(len(row) != columns for row in rows):
        lengths = sorted({len(row) for row in rows})
        raise UnusableValue(
            f"{name} has {len(rows)} rows of {lengths}; {height} rows (target words) of {columns} "
            "(source words) are needed"
        )
    for i, row in enumerate(rows):
        real = all(isinstance(x, int | float) and not isinstance(x, bool) for x in row)
        if not real or not all(0 <= x <= 1.001 for x in row):
            raise UnusableValue(f"{name}[{i}] needs weights from 0 to 1; it is {str(row)[:60]}")
        if abs(sum(row) - 1) > 0.01:
            raise UnusableValue(f"{name}[{i}] sums to {sum(row):.4g}; rows of weights sum to 1")
    return [cut(row) for row in rows]


def cut(row: Sequence[float]) -> list[float]:
    """A row of weights with four decimals, or as many more as the largest needs to stay so.

    >>> cut([0.12349, 0.87651]), cut([0.50001, 0.49999]), cut([0.0, 1.0])
    ([0.1234, 0.8765], [0.5, 0.4999], [0.0, 1.0])
    >>> cut([0.499951, 0.499959, 0.00009])
    [0.499951, 0.499959, 9e-05]
    """
    for decimals in (4, 6, 8, 10):
        # A float32 lies up to 6e-8 beside the number that it stands for.
        short = [math.floor(x * 10**decimals + 10 ** (decimals - 7)) / 10**decimals for x in row]
        if short.index(max(short)) == row.index(max(row)):
            return short
    return list(row)
