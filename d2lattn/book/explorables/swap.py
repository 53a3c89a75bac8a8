"""Swap (chapter 4b): a column's state comes from another sentence, and words turn."""

from collections.abc import Mapping, Sequence
from typing import Any

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import (
    Made,
    UnusableValue,
    Whole,
    plain,
    rows,
    same_length,
    words,
)

MOST_COLUMNS, MOST_ROWS, MOST_CASES = 9, 12, 3  # for which a phone has room
Record = dict[str, Any]


class Swap(Explorable):
    """A translator's heatmap whose columns are exchanged, one at a time.

    The reader picks a column: the encoder's state there then comes from another sentence, which
    differs in one word, and each row tells which word is the likeliest now. All of it has been
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

    data = Made().tag(sync=True)
    case = Whole(0, low=0, high=MOST_CASES - 1).tag(sync=True)
    reader = Whole(0, low=0, high=3).tag(sync=True)
    column = Whole(-1, low=-1, high=MOST_COLUMNS - 1).tag(sync=True)

    def __init__(
        self,
        sentences: Sequence[Mapping[str, Any]],
        readers: Mapping[str, Sequence[Mapping[str, Any]]],
        vocabulary: Any,
        **state: Any,
    ) -> None:
        """Keep of the probabilities what is shown."""
        if not isinstance(readers, Mapping) or not 1 <= len(readers) <= 4:
            raise UnusableValue("readers needs to be a mapping of 1 to 4 names")
        if not 1 <= len(sentences) <= MOST_CASES:
            raise UnusableValue(
                f"there are {len(sentences)} sentences; 1 to {MOST_CASES} are needed"
            )
        same_length(sentences=sentences, **dict(readers))
        names, known = words("readers", list(readers)), words("vocabulary", vocabulary)
        cases = [
            _case(f"sentences[{k}]", one, [saw[k] for saw in readers.values()], known)
            for k, one in enumerate(sentences)
        ]
        super().__init__(data={"readers": names, "cases": cases}, **state)

    def check(self, state: Record) -> None:
        """Raise ValueError for values that do not fit together."""
        data = state["data"]
        counts = {"case": len(data["cases"]), "reader": len(data["readers"])}
        if state["case"] < counts["case"]:
            counts["column"] = len(data["cases"][state["case"]]["source"])
        for name, count in counts.items():
            if state[name] >= count:
                raise UnusableValue(f"{name} is {state[name]}; 0 … {count - 1} is needed")

    def effects(self, case: int, reader: int, column: int) -> list[tuple[Any, ...]]:
        """What a column does to each row shown: a word, its chances, and those of the likeliest."""
        one = self.data["cases"][case]
        saw = one["readers"][reader]
        swapped = {row: rest for row, *rest in saw["swaps"][column]} if column >= 0 else {}
        found = []
        for row, (word, own) in enumerate(zip(one["target"], saw["own"], strict=True)):
            now, *other = swapped.get(row, [own])
            found.append((word, own, now, *(other or (word, own, now))))
        return found

    def words(self) -> str:
        """HTML for where no script runs."""
        lines = []
        one = self.data["cases"][self.case]
        for reader, name in enumerate(self.data["readers"]):
            for column, word in enumerate(one["source"]):
                effects = self.effects(self.case, reader, column)
                if turned := [
                    f"{found[0]} → {found[3]}" for found in effects if found[0] != found[3]
                ]:
                    lines.append((name, word, ", ".join(turned)))
        return paragraph(
            "Interactive figure: swap. In a translator's heatmap the state of one column comes "
            f"from another sentence, with “{one['word']}” for “{one['source'][one['place']]}”. "
            "Which words turn:"
        ) + table(["the encoder reads", "state exchanged", "words that turn"], lines)


def _span(name: str, given: Any, count: int, most: int) -> range:
    """Places from the first to the last that are shown."""
    first, last = (0, count - 1) if given is None else plain(given)
    if not 0 <= first <= last < count:
        raise UnusableValue(f"{name} is {first}, {last}; 0 … {count - 1} is needed")
    if last - first >= most:
        raise UnusableValue(f"{name} shows {last - first + 1} places; {most} at most are needed")
    return range(first, last + 1)


def _case(name: str, given: Mapping[str, Any], saw: Sequence[Any], known: list[str]) -> Record:
    """One sentence as plain lists: what is shown of it, and what each translator did."""
    if missing := [f for f in ("source", "target", "place", "word") if f not in given]:
        raise UnusableValue(f"{name} has no {missing[0]}")
    source, target = (words(f"{name}.{side}", given[side]) for side in ("source", "target"))
    (word,) = words(f"{name}.word", [given["word"]])
    columns = _span(f"{name}.columns", given.get("columns"), len(source), MOST_COLUMNS)
    shown = _span(f"{name}.rows", given.get("rows"), len(target), MOST_ROWS)
    if given["place"] not in columns:
        raise UnusableValue(f"{name}: place needs to be shown")
    if unknown := [target[row] for row in shown if target[row] not in known]:
        raise UnusableValue(f"{name}.target has {unknown[0]!r}; vocabulary has not")
    return {
        "source": [source[place] for place in columns],
        "target": [target[row] for row in shown],
        "cut": [columns[0] > 0, columns[-1] < len(source) - 1],
        "place": given["place"] - columns[0],
        "word": word,
        "readers": [_saw(name, one, len(target), columns, shown, target, known) for one in saw],
    }


def _saw(
    name: str,
    saw: Mapping[str, Any],
    height: int,
    columns: range,
    shown: range,
    target: list[str],
    known: list[str],
) -> Record:
    weights = rows(f"{name} weights", saw["weights"])
    chances = plain(saw["chances"])
    if len(weights) < height or len(chances) < height or len(weights[0]) <= columns[-1]:
        raise UnusableValue(f"{name} weights and chances need a row for each of {height} words")
    found = [rows(f"{name} chances", chances[row]) for row in shown]  # each (S + 1, V)
    if len(found[0]) < columns[-1] + 2 or len(found[0][0]) != len(known):
        raise UnusableValue(f"{name} chances need a row for none and each state, of {len(known)}")
    ids = [known.index(target[row]) for row in shown]
    for row, one, own in zip(shown, found, ids, strict=True):
        if one[0][own] < max(one[0]):
            raise UnusableValue(f"{name}: {target[row]!r} is not the word that is written there")
    return {
        "weights": [[round(weights[row][j], 3) for j in columns] for row in shown],
        "own": [round(one[0][i], 3) for one, i in zip(found, ids, strict=True)],
        "swaps": [
            [
                effect
                for row, (one, i) in enumerate(zip(found, ids, strict=True))
                if (effect := _effect(row, one[0], one[1 + j], i, known))
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
