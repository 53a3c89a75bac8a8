"""Alignment judge (chapter 4): attention matrices beside gold word alignments."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import (
    Bool,
    Choice,
    Converted,
    Float,
    Int,
    UnusableValue,
    check_count,
    check_indices,
    check_same_length,
    get_fields,
    to_array,
    to_plain,
    to_words,
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


def convert_sentences(name: str, value: Any) -> list[dict[str, Any]]:
    """Convert one to twelve sentences, each with its attention matrix and its gold links."""
    check_count(name, value, MOST)
    return [convert_sentence(f"{name}[{i}]", sentence) for i, sentence in enumerate(value)]


def convert_marks(name: str, value: Any) -> list[list[list[int]]]:
    """Convert the links that the reader has marked in each sentence."""
    return [convert_links(f"{name}[{i}]", links) for i, links in enumerate(to_plain(value))]


def pack_sentences(sentences: list[dict[str, Any]], widget: Any) -> list[dict[str, Any]]:
    """For JavaScript, shorter: rows as ``short_row`` has them, possible links less the sure.

    A link (i, t) is the number t S + i, and words stand in one string, where none has a space.
    """
    short = []
    for sentence in sentences:
        fields = dict(sentence)
        num_source = len(sentence["source"])
        for name in ("source", "target"):
            if not any(re.search(r"\s", word) for word in sentence[name]):
                fields[name] = " ".join(sentence[name])
        possible = [link for link in sentence["possible"] if link not in sentence["sure"]]
        for name, links in (("sure", sentence["sure"]), ("possible", possible)):
            fields[name] = [t * num_source + i for i, t in links]
        fields["weights"] = [short_row(row) for row in sentence["weights"]]
        short.append(fields)
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
            T ≤ 40. A last source word "<eos>" is no word to the two baselines.
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

    sentences = Converted(convert_sentences, [TINY]).tag(sync=True, to_json=pack_sentences)
    sentence = Int(0, min=0, max=MOST - 1).tag(sync=True)
    rule = Choice(("argmax", "threshold"), "argmax").tag(sync=True)
    threshold = Float(0.3, min=0, max=1).tag(sync=True)
    shift = Int(0, min=-1, max=1).tag(sync=True)
    marking = Bool(False).tag(sync=True)
    marks = Converted(convert_marks, []).tag(sync=True)

    def __init__(self, sentences: Any, weights: Any = None, **state: Any) -> None:
        """Take sentences that hold their weights, or sentences and, beside them, matrices."""
        if weights is not None:
            sentences = list(sentences)
            check_same_length(sentences=sentences, weights=weights)
            pairs = zip(sentences, weights, strict=True)
            sentences = [_to_mapping(sentence) | {"weights": rows} for sentence, rows in pairs]
        super().__init__(sentences=sentences, **state)

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError for values that do not fit together."""
        sentences, marks = state["sentences"], state["marks"]
        check_indices(state, sentence=len(sentences))
        if marks:
            check_same_length(sentences=sentences, marks=marks)
        for i, (sentence, links) in enumerate(zip(sentences, marks, strict=False)):
            convert_links(f"marks[{i}]", links, (len(sentence["source"]), len(sentence["target"])))

    def fallback_html(self) -> str:
        """HTML for where no script runs."""
        return paragraph(
            "Interactive figure: alignment judge. The attention of trained translators, gold word "
            "alignments (sure and possible), and precision, recall and alignment error rate of "
            f"the links read off, for {len(self.sentences)} sentences; the first:"
        ) + table(
            ["source", "target"],
            [[" ".join(self.sentences[0][side]) for side in ("source", "target")]],
        )


def convert_sentence(name: str, sentence: Any) -> dict[str, Any]:
    """Convert a sentence to plain lists; its weights are cut short."""
    fields = get_fields(name, sentence, FIELDS)
    source, target = (to_words(f"{name}.{side}", fields[side], LONGEST) for side in FIELDS[:2])
    weights = to_array(
        f"{name}.weights", fields["weights"], len(target), len(source), low=0, high=1.001
    )
    if any(abs(sum(row) - 1) > 0.01 for row in weights):
        raise UnusableValue(f"{name}.weights needs rows that sum to 1")
    return {
        "source": source,
        "target": target,
        "weights": [cut(row) for row in weights],
        **convert_gold(name, fields, (len(source), len(target))),
    }


def _to_mapping(sentence: Any) -> dict[str, Any]:
    if isinstance(sentence, Mapping):
        return dict(sentence)
    names = [name for name in FIELDS if hasattr(sentence, name)]
    return get_fields("sentence", sentence, names)


def convert_gold(name: str, fields: Mapping[str, Any], shape: tuple[int, int]) -> dict[str, Any]:
    """Convert the sure and the possible links; each sure link has to be possible."""
    gold = {kind: convert_links(f"{name}.{kind}", fields[kind], shape) for kind in FIELDS[3:]}
    if extra := [link for link in gold["sure"] if link not in gold["possible"]]:
        raise UnusableValue(f"{name}.sure holds {extra[:3]}, which {name}.possible does not")
    return gold


def convert_links(
    name: str, links: Any, shape: tuple[float, float] = (math.inf, math.inf)
) -> list[list[int]]:
    """Convert links to [source, target], in order and each once."""
    unique = set()
    for link in to_plain(links):
        places = to_plain(link)
        if len(places) != 2 or not all(
            isinstance(place, int) and 0 <= place < limit
            for place, limit in zip(places, shape, strict=True)
        ):
            raise UnusableValue(f"{name} holds {str(places)[:40]}; [source, target] is needed")
        unique.add(tuple(places))
    return [list(link) for link in sorted(unique)]


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
