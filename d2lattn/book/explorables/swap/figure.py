"""Swap (chapter 4b): the state of a column comes from another sentence, and words change."""

from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import (
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

MOST_COLUMNS, MOST_ROWS, MOST_CASES, MOST_READERS = 9, 12, 3, 4  # for which a phone has room
Record = dict[str, Any]


class Swap(Explorable):
    """A translator's heatmap whose columns are exchanged, one at a time.

    The reader picks a column: the encoder's state there then comes from another sentence, which
    differs in one word, and each row shows which word is now the likeliest. All of it has been
    computed before: what is shown are the probabilities that `d2lattn.exchange_each_state` gives,
    to three decimals: a state is exchanged at a row's own step alone. The picture stays that of the
    sentence's own states.

    Args:
        sentences: mappings with source (S words) and target (T words), place and word (which word
            the other sentence has where), and, if not all is shown, columns and rows, each a first
            and a last place.
        readers: translators by name; for each sentence a mapping with weights (T rows of S or
            more) and chances (T, S + 1 or more, V): with nothing exchanged, then with each state.
        vocabulary: the V target words, by their numbers.
        **state: the traits.

    Traits that can be read, set and observed: case (a sentence), reader, and column, the place
    among the columns shown that is exchanged, −1 for none. data is what the figure has made of the
    arguments.

    Raises ValueError for other shapes, and for places that are not there.

    >>> sentence = {"source": ["the", "cow"], "target": ["la", "vache"], "place": 1, "word": "dog"}
    >>> saw = {"weights": [[0.25, 0.75], [0, 1]], "chances": [
    ...     [[0, 1, 0], [0, 1, 0], [0.75, 0.25, 0]], [[0, 0, 1], [0, 0, 1], [0, 0.125, 0.875]]]}
    >>> figure = Swap([sentence], {"forwards": [saw]}, ["le", "la", "vache"])
    >>> figure.effects(0, 0, 1)  # a word, how likely it was and is, and what takes its place
    [('la', 1.0, 0.25, 'le', 0.0, 0.75), ('vache', 1.0, 0.875, 'vache', 1.0, 0.875)]
    """

    module = "swap"

    data = traitlets.Dict().tag(sync=True)
    case = Int(0, min=0, max=MOST_CASES - 1).tag(sync=True)
    reader = Int(0, min=0, max=MOST_READERS - 1).tag(sync=True)
    column = Int(-1, min=-1, max=MOST_COLUMNS - 1).tag(sync=True)

    def __init__(
        self,
        sentences: Sequence[Mapping[str, Any]],
        readers: Mapping[str, Sequence[Mapping[str, Any]]],
        vocabulary: Any,
        **state: Any,
    ) -> None:
        """Keep of the probabilities what is shown."""
        check_count("readers", readers, MOST_READERS)
        check_count("sentences", sentences, MOST_CASES)
        check_same_length(sentences=sentences, **dict(readers))
        names, vocabulary = to_words("readers", list(readers)), to_words("vocabulary", vocabulary)
        cases = [
            _convert_case(f"sentences[{k}]", sentence, [r[k] for r in readers.values()], vocabulary)
            for k, sentence in enumerate(sentences)
        ]
        super().__init__(data={"readers": names, "cases": cases}, **state)

    def check(self, state: Record) -> None:
        """Raise ValueError for values that do not fit together."""
        data = state["data"]
        check_indices(state, case=len(data["cases"]), reader=len(data["readers"]))
        check_indices(state, column=len(data["cases"][state["case"]]["source"]))

    def effects(self, case: int, reader: int, column: int) -> list[tuple[Any, ...]]:
        """What a column does to each row shown: a word, its chances, and those of the likeliest."""
        shown = self.data["cases"][case]
        run = shown["readers"][reader]
        swapped = {row: rest for row, *rest in run["swaps"][column]} if column >= 0 else {}
        effects = []
        for row, (word, own) in enumerate(zip(shown["target"], run["own"], strict=True)):
            now, *likeliest = swapped.get(row, [own])
            effects.append((word, own, now, *(likeliest or (word, own, now))))
        return effects

    def fallback_html(self) -> str:
        """HTML for where no script runs."""
        lines = []
        case = self.data["cases"][self.case]
        for reader, name in enumerate(self.data["readers"]):
            for column, word in enumerate(case["source"]):
                effects = self.effects(self.case, reader, column)
                if turned := [f"{row[0]} → {row[3]}" for row in effects if row[0] != row[3]]:
                    lines.append((name, word, ", ".join(turned)))
        return paragraph(
            "Interactive figure: swap. In a translator's heatmap the state of one column comes "
            f"from another sentence, with “{case['word']}” for “{case['source'][case['place']]}”. "
            "Which words turn:"
        ) + table(["the encoder reads", "state exchanged", "words that turn"], lines)


def _span(name: str, ends: Any, count: int, most: int) -> range:
    """Places from the first to the last that are shown."""
    first, last = (0, count - 1) if ends is None else to_plain(ends)
    if not 0 <= first <= last < min(count, first + most):
        raise UnusableValue(f"{name} is {first} to {last}; at most {most} of {count} are shown")
    return range(first, last + 1)


def _convert_case(
    name: str, sentence: Mapping[str, Any], runs: Sequence[Any], vocabulary: list[str]
) -> Record:
    """One sentence as plain lists: what is shown of it, and what each translator did."""
    fields = get_fields(name, sentence, ("source", "target", "place", "word"))
    source, target = (to_words(f"{name}.{side}", fields[side]) for side in ("source", "target"))
    columns = _span(f"{name}.columns", sentence.get("columns"), len(source), MOST_COLUMNS)
    shown = _span(f"{name}.rows", sentence.get("rows"), len(target), MOST_ROWS)
    if fields["place"] not in columns:
        raise UnusableValue(f"{name}.place needs to be shown")
    if unknown := {target[row] for row in shown} - set(vocabulary):
        raise UnusableValue(f"{name}.target has {min(unknown)!r}; vocabulary has not")
    return {
        "source": [source[place] for place in columns],
        "target": [target[row] for row in shown],
        "cut": [columns[0] > 0, columns[-1] < len(source) - 1],
        "place": fields["place"] - columns[0],
        "word": fields["word"],
        "readers": [_convert_run(name, run, columns, shown, target, vocabulary) for run in runs],
    }


def _convert_run(
    name: str,
    run: Mapping[str, Any],
    columns: range,
    shown: range,
    target: list[str],
    vocabulary: list[str],
) -> Record:
    """What one translator did with a sentence: weights, and what each exchange changes."""
    weights = to_array(f"{name} weights", run["weights"], None, None)
    chances = [  # of each row shown (S + 1, V)
        to_array(f"{name} chances", run["chances"][row], None, len(vocabulary)) for row in shown
    ]
    words = [vocabulary.index(target[row]) for row in shown]
    for row, before, word in zip(shown, chances, words, strict=True):
        if before[0][word] < max(before[0]):
            raise UnusableValue(f"{name}: {target[row]!r} is not the word that is written there")
    return {
        "weights": [[round(weights[row][j], 3) for j in columns] for row in shown],
        "own": [round(rows[0][word], 3) for rows, word in zip(chances, words, strict=True)],
        "swaps": [
            [
                effect
                for row, (rows, word) in enumerate(zip(chances, words, strict=True))
                if (effect := _effect(row, rows[0], rows[1 + j], word, vocabulary))
            ]
            for j in columns
        ],
    }


def _effect(
    row: int, before: list[float], after: list[float], own: int, known: list[str]
) -> list[Any] | None:
    """Nothing, or a row and its word's chance; if it turns, the other word and its chances."""
    best = max(range(len(after)), key=after.__getitem__)
    if best != own:
        both = [round(chances[best], 3) for chances in (before, after)]
        return [row, round(after[own], 3), known[best], *both]
    return [row, round(after[own], 3)] if round(after[own], 3) != round(before[own], 3) else None
