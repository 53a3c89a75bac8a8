"""Storyboard (chapter 4): one step of a translator with attention, as eight pictures."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import (
    Flag,
    Numbers,
    Rows,
    UnusableValue,
    Whole,
    Words,
    rows,
    same_length,
    words,
)

MOST = 16  # words of a sentence, for which a phone has room
ENTRIES = 6  # of each vector, for the same reason
LIKELY = 5  # words that are shown with their probabilities
PICTURES = ("read", "ask", "score", "normalise", "sum", "join", "step", "write")
FIELDS = ("values", "states", "scores", "embeddings", "probabilities")


class WordRows(Numbers):
    """A list of lists of words."""

    def validate(self, obj: Any, value: Any) -> list[list[str]]:
        """Check a new value."""
        if not isinstance(value, list) or not value:
            raise UnusableValue(f"{self.name} is not a list of lists of words")
        return [words(f"{self.name}[{i}]", row) for i, row in enumerate(value)]


class Storyboard(Explorable):
    """What Bahdanau's decoder does to write one word, in eight pictures.

    Read, ask, score, normalise, sum, join, step, write. The scores, the probabilities and the
    vectors are the model's; weights, context and change of state are computed from them in sight.
    Of each vector the first six entries are shown, of the vocabulary the five likeliest words.

    Args:
        source: 1 to 16 source tokens, <eos> included if the encoder read it.
        target: 1 to 16 target tokens.
        steps: what `d2lattn.attention_steps` gives, or a mapping of lists under the same names:
            values (S, D), states (T + 1, D), scores (T, S), embeddings (T, E),
            probabilities (T, V).
        vocabulary: the V target words, by their numbers.
        word: the target word that is written, from 0.
        picture: from 1 to 8.
        film: whether the pictures are shown. Without them a word is chosen and has one drawing, of
            where the decoder looked; a button under More opens the film at its first picture.

    Traits that can be read, set and observed: word, picture, film. The others (source, target,
    values, states, scores, embeddings, candidates, chances, widths) hold what is shown, to four
    decimals.

    Raises ValueError for other shapes and for numbers that are not finite.

    >>> board = Storyboard(["the", "cow"], ["la", "vache"], vocabulary=["la", "vache"], steps={
    ...     "values": [[0.5, 0], [0, 1]], "states": [[0, 0], [0.5, 0], [0, 1]],
    ...     "scores": [[1, 0], [0, 2]], "embeddings": [[0.25], [-0.25]],
    ...     "probabilities": [[0.75, 0.25], [0.125, 0.875]]}, word=1)
    >>> board.candidates[1], board.chances[1], board.widths
    (['vache', 'la'], [0.875, 0.125], [2.0, 1.0, 2.0])
    """

    module = "storyboard"

    source = Words([]).tag(sync=True)
    target = Words([]).tag(sync=True)
    values = Rows([]).tag(sync=True)
    states = Rows([]).tag(sync=True)
    scores = Rows([]).tag(sync=True)
    embeddings = Rows([]).tag(sync=True)
    candidates = WordRows([]).tag(sync=True)
    chances = Rows([]).tag(sync=True)
    widths = Numbers([]).tag(sync=True)
    word = Whole(0, low=0, high=MOST - 1).tag(sync=True)
    picture = Whole(1, low=1, high=len(PICTURES)).tag(sync=True)
    film = Flag(True).tag(sync=True)

    def __init__(self, source: Any, target: Any, steps: Any, vocabulary: Any, **state: Any) -> None:
        """Keep of the steps what is shown."""
        found = {name: rows(name, _field(steps, name)) for name in FIELDS}
        target, vocabulary = words("target", target), words("vocabulary", vocabulary)
        chances = found.pop("probabilities")
        same_length(target=target, probabilities=chances)
        same_length(**{"vocabulary": vocabulary, "probabilities[0]": chances[0]})
        likely = [_likely(row, vocabulary, one) for row, one in zip(chances, target, strict=True)]
        kept = {
            name: [[round(x, 4) for x in row[: None if name == "scores" else ENTRIES]] for row in m]
            for name, m in found.items()
        }
        super().__init__(
            source=source,
            target=target,
            candidates=[[vocabulary[i] for i in places] for places in likely],
            chances=[
                [round(row[i], 4) for i in places]
                for row, places in zip(chances, likely, strict=True)
            ],
            widths=[len(found["values"][0]), len(found["embeddings"][0]), len(vocabulary)],
            **kept,
            **state,
        )

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError for values that do not fit together."""
        source, target = state["source"], state["target"]
        for name in ("source", "target"):
            if len(state[name]) > MOST:
                raise UnusableValue(f"{name} has {len(state[name])} words; 1 to {MOST} are needed")
        same_length(source=source, values=state["values"])
        same_length(**{"source": source, "scores[0]": state["scores"][0]})
        for name in ("scores", "embeddings", "candidates", "chances"):
            same_length(**{"target": target, name: state[name]})
        same_length(**{"target and one more": [*target, ""], "states": state["states"]})
        same_length(**{"values[0]": state["values"][0], "states[0]": state["states"][0]})
        if state["word"] >= len(target):
            raise UnusableValue(f"word is {state['word']}; 0 … {len(target) - 1} is needed")

    def weights(self) -> list[list[float]]:
        """Softmax of the scores along the source: a row a target word."""
        powers = [[math.exp(x - max(row)) for x in row] for row in self.scores]
        return [[x / sum(row) for x in row] for row in powers]

    def words(self) -> str:
        """HTML for where no script runs."""
        looks = self.weights()
        return paragraph(
            "Interactive figure: storyboard. How a trained translator writes a word of “"
            f"{' '.join(self.target)}” for “{' '.join(self.source)}”: it reads, asks, scores, "
            "normalises, sums, joins, steps and writes. Before each word it looks most at:"
        ) + table(
            ["word", "looks at", "weight", "likeliest word", "probability"],
            [
                (one, self.source[row.index(max(row))], max(row), *likely)
                for one, row, *likely in zip(
                    self.target,
                    looks,
                    [names[0] for names in self.candidates],
                    [row[0] for row in self.chances],
                    strict=True,
                )
            ],
        )


def _field(steps: Any, name: str) -> Any:
    try:
        return steps[name] if isinstance(steps, Mapping) else getattr(steps, name)
    except (KeyError, AttributeError):
        raise UnusableValue(f"steps has no {name}; it needs {', '.join(FIELDS)}") from None


def _likely(chances: Sequence[float], vocabulary: Sequence[str], written: str) -> list[int]:
    """The places of the likeliest words, among them that of the word that is written.

    >>> _likely([0.1, 0.2, 0.3, 0.1, 0.1, 0.1, 0.05], "abcdefg", "g")
    [2, 1, 0, 3, 6]
    """
    places = sorted(range(len(chances)), key=lambda i: -chances[i])[:LIKELY]
    if written in vocabulary and vocabulary.index(written) not in places:
        places[-1] = vocabulary.index(written)
    return places
