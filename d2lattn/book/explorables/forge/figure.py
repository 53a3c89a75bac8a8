"""Forge (chapter 4b): make a heatmap misleading, and see which number reveals it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from d2lattn.book.explorables.alignment_judge.figure import convert_gold, cut, short_row
from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import (
    Bool,
    Float,
    Int,
    UnusableValue,
    check_count,
    check_indices,
    check_same_length,
    get_fields,
    to_array,
    to_words,
)

BINS = 20
MOST_SHOWN = 8

Record = dict[str, Any]


class Forge(Explorable):
    """Heatmaps of two translators, which the reader forges.

    The picture is altered (another encoder, rows that carry the neighbour's label, weights left
    white, a colour scale that ends early, a picked sentence) while translation and BLEU stay.

    The evidence: the alignment error rate of the links from the largest weights, next to the rates
    of the diagonal and of random links (their mean), and how often the word changes if the state
    with the largest weight is hidden, next to the mean over the states at other words (not <eos>).

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

    data = traitlets.Dict().tag(sync=True)
    sentence = Int(0, min=0, max=MOST_SHOWN - 1).tag(sync=True)
    drawn = Int(0, min=0, max=1).tag(sync=True)
    shift = Int(0, min=-1, max=1).tag(sync=True)
    threshold = Float(0.0, min=0, max=1 - 1 / BINS).tag(sync=True)
    darkest = Float(1.0, min=1 / BINS, max=1).tag(sync=True)
    gold = Bool(False).tag(sync=True)

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
        data = _gather(sentences, translators, [int(k) for k in shown])
        super().__init__(data=data, **state)

    def check(self, state: Record) -> None:
        """Raise ValueError for values that do not fit together."""
        check_indices(state, sentence=len(state["data"]["sentences"]))
        steps = state["threshold"] * BINS
        if abs(steps - round(steps)) > 1e-6:
            raise UnusableValue(f"threshold is {state['threshold']}; a multiple of 0.05 is needed")

    def fallback_html(self) -> str:
        """HTML for where no script runs."""
        names = " and ".join(translator["name"] for translator in self.data["translators"])
        return paragraph(
            f"Interactive figure: forge. Heatmaps of two trained translators ({names}) that can be "
            f"made to lie, and what notices: error rates over {self.data['size']} sentences, and "
            "whether a word changes when the state pointed at is hidden. The sentences:"
        ) + table(
            ["source", "target"],
            [[" ".join(s[side]) for side in ("source", "target")] for s in self.data["sentences"]],
        )


def _gather(
    records: Sequence[Any], translators: Mapping[str, Mapping[str, Any]], shown: list[int]
) -> Record:
    """The evidence of all sentences, and the sentences that are shown."""
    if not isinstance(translators, Mapping) or len(translators) != 2:
        raise UnusableValue("translators needs to be a mapping of two names")
    check_count("shown", shown, MOST_SHOWN)
    for k in shown:
        check_indices({"shown": k}, shown=len(records))
    names = ("translations", "weights", "changes")
    models = [get_fields(name, model, (*names, "bleu")) for name, model in translators.items()]
    for model in models:
        check_same_length(sentences=records, **{name: model[name] for name in names})
    sentences = [_convert_sentence(k, record, models) for k, record in enumerate(records)]
    return {
        "size": len(sentences),
        "translators": [
            {"name": name, "bleu": to_array("bleu", [model["bleu"]], 1)[0]}
            for name, model in zip(translators, models, strict=True)
        ],
        "sentences": [
            _shorten(sentences[k], [model["translations"][k] for model in models]) for k in shown
        ],
        "tallies": {
            key(who, shift): tally(sentences, who, shift) for who in (0, 1) for shift in (-1, 0, 1)
        },
    }


def _shorten(sentence: Record, translations: list[str]) -> Record:
    """For JavaScript, shorter: rows as ``short_row`` has them, possible links less the sure."""
    return {name: sentence[name] for name in ("source", "target", "sure", "changes")} | {
        "weights": [[short_row(cut(row)) for row in rows] for rows in sentence["weights"]],
        "possible": [link for link in sentence["possible"] if link not in sentence["sure"]],
        "translations": to_words("translations", translations),
    }


def _convert_sentence(k: int, record: Any, models: Sequence[Mapping[str, Any]]) -> Record:
    """One sentence as plain lists, with what each translator did."""
    name = f"sentences[{k}]"
    fields = get_fields(name, record, ("source", "target", "sure", "possible"))
    source = to_words(f"{name}.source", list(fields["source"]))
    target = to_words(f"{name}.target", list(fields["target"]))
    gold = convert_gold(name, fields, (len(source), len(target)))
    weights, changes = (
        [
            to_array(f"{field}[{k}]", model[field][k], len(target), len(source), low=0, high=1.001)
            for model in models
        ]
        for field in ("weights", "changes")
    )
    return {
        "source": source,
        "target": target,
        **gold,
        "gold": [
            tuple({i for i, place in gold[kind] if place == t} for kind in ("sure", "possible"))
            for t in range(len(target))
        ],
        "weights": weights,
        "tops": [[_top(row) for row in rows] for rows in weights],
        "changes": [[[i for i, x in enumerate(row) if x] for row in rows] for rows in changes],
    }


def _top(row: list[float]) -> tuple[int, float]:
    """The place of the largest weight, and the weight as it is shown."""
    short = cut(row)
    return short.index(max(short)), max(short)


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
    for sentence in sentences:
        size, height = len(sentence["source"]), len(sentence["target"])
        for t in range(height):
            sure, possible = sentence["gold"][t]
            num_words, num_sure = num_words + 1, num_sure + len(sure)
            middle = (2 * t + 1) * size // (2 * height)
            for k, right in enumerate((sure, possible)):
                diagonal[k] += middle in right
                uniform[k] += len(right) / size
            if not 0 <= t - shift < height:
                continue
            top, weight = sentence["tops"][drawn][t - shift]
            changed = sentence["changes"][drawn][t]
            rest = (len(changed) - (top in changed)) / (size - 1) if size > 1 else 0
            counts = bins[min(BINS - 1, math.floor(weight * BINS + 1e-9))]
            for k, x in enumerate((1, top in sure, top in possible, top in changed, rest)):
                counts[k] += x
    return {
        "bins": [[*map(int, bin[:4]), round(bin[4], 3)] for bin in bins],
        "words": num_words,
        "sure": num_sure,
        "diagonal": diagonal,
        "uniform": [round(x, 3) for x in uniform],
    }
