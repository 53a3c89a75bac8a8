"""Storyboard (chapter 4): one step of a translator with attention, as eight pictures."""

import math
from collections.abc import Sequence
from typing import Any

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import (
    Bool,
    Floats,
    Int,
    List,
    Matrix,
    Words,
    check_indices,
    check_same_length,
    get_fields,
    to_array,
    to_words,
)

MOST = 16  # words of a sentence, for which a phone has room
ENTRIES = 6  # of each vector, for the same reason
LIKELY = 5  # words that are shown with their probabilities
PICTURES = ("read", "query", "score", "normalise", "sum", "join", "step", "write")
FIELDS = ("values", "states", "scores", "embeddings", "probabilities")


class Storyboard(Explorable):
    """What Bahdanau's decoder does to write one word, in eight pictures.

    Read, query, score, normalise, sum, join, step, write. The scores, the probabilities and the
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
            its weights; a button under More opens the film at its first picture.

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

    source = Words(maxlen=MOST).tag(sync=True)
    target = Words(maxlen=MOST).tag(sync=True)
    values = Matrix([]).tag(sync=True)
    states = Matrix([]).tag(sync=True)
    scores = Matrix([]).tag(sync=True)
    embeddings = Matrix([]).tag(sync=True)
    candidates = List(Words()).tag(sync=True)
    chances = Matrix([]).tag(sync=True)
    widths = Floats([]).tag(sync=True)
    word = Int(0, min=0, max=MOST - 1).tag(sync=True)
    picture = Int(1, min=1, max=len(PICTURES)).tag(sync=True)
    film = Bool(True).tag(sync=True)

    def __init__(self, source: Any, target: Any, steps: Any, vocabulary: Any, **state: Any) -> None:
        """Keep of the steps what is shown."""
        source, target = to_words("source", source, MOST), to_words("target", target, MOST)
        fields = get_fields("steps", steps, FIELDS)
        sizes = {  # of each matrix: how many rows, and how long they are
            "values": (len(source), None),
            "states": (len(target) + 1, None),
            "scores": (len(target), len(source)),
            "embeddings": (len(target), None),
            "probabilities": (len(target), len(vocabulary)),
        }
        matrices = {name: to_array(name, fields[name], *size) for name, size in sizes.items()}
        check_same_length(
            **{"values[0]": matrices["values"][0], "states[0]": matrices["states"][0]}
        )
        chances = matrices.pop("probabilities")
        likely = [_likely(row, vocabulary, word) for row, word in zip(chances, target, strict=True)]
        shortened = {
            name: [[round(x, 4) for x in row[: None if name == "scores" else ENTRIES]] for row in m]
            for name, m in matrices.items()
        }
        super().__init__(
            source=source,
            target=target,
            candidates=[[vocabulary[i] for i in places] for places in likely],
            chances=[
                [round(row[i], 4) for i in places]
                for row, places in zip(chances, likely, strict=True)
            ],
            widths=[len(matrices["values"][0]), len(matrices["embeddings"][0]), len(vocabulary)],
            **shortened,
            **state,
        )

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError for values that do not fit together."""
        check_indices(state, word=len(state["target"]))

    def weights(self) -> list[list[float]]:
        """Softmax of the scores along the source: a row a target word."""
        powers = [[math.exp(x - max(row)) for x in row] for row in self.scores]
        return [[x / sum(row) for x in row] for row in powers]

    def fallback_html(self) -> str:
        """HTML for where no script runs."""
        return paragraph(
            "Interactive figure: storyboard. How a trained translator writes a word of “"
            f"{' '.join(self.target)}” for “{' '.join(self.source)}”, in eight pictures. The "
            "largest attention weight for each word:"
        ) + table(
            ["word", "largest weight at", "weight", "likeliest word", "probability"],
            [
                (word, self.source[row.index(max(row))], max(row), names[0], chances[0])
                for word, row, names, chances in zip(
                    self.target, self.weights(), self.candidates, self.chances, strict=True
                )
            ],
        )


def _likely(chances: Sequence[float], vocabulary: Sequence[str], written: str) -> list[int]:
    """The places of the likeliest words, among them that of the word that is written.

    >>> _likely([0.1, 0.2, 0.3, 0.1, 0.1, 0.1, 0.05], "abcdefg", "g")
    [2, 1, 0, 3, 6]
    """
    places = sorted(range(len(chances)), key=lambda i: -chances[i])[:LIKELY]
    if written in vocabulary and vocabulary.index(written) not in places:
        places[-1] = vocabulary.index(written)
    return places
