"""Permute and encode (chapter 6): attention ignores the order; positions encode it."""

from typing import Any

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import (
    Bool,
    Choice,
    Int,
    List,
    Matrix,
    UnusableValue,
    Words,
    check_indices,
    check_same_length,
)

MOST_TOKENS, MOST_ENTRIES, MOST_OUTPUTS, HANDS, FAR = 8, 16, 6, 8, 40

# The first four entries are left to the fast waves. The others: noun, verb, cow (above 0) or dog
# (below), article or adjective; not quite, so that no two words behave alike.
EMBEDDINGS = {
    "the": [0, 0, 0, 0, 0.1, -0.2, 0, 0.8],
    "happy": [0, 0, 0, 0, 0.2, 0.1, 0.5, 1.1],
    "cow": [0, 0, 0, 0, 1.2, 0.1, 0.8, 0],
    "saw": [0, 0, 0, 0, -0.1, 1.2, -0.3, 0.6],
    "dog": [0, 0, 0, 0, 1.1, 0.3, -0.8, 0.2],
}
TOKENS = ["the", "happy", "cow", "saw", "the", "dog"]
COW, DOG = 2, 5

# Articles, adjectives and verbs ask for nouns, nouns for verbs. The last two rows turn the fastest
# wave by one place: with positions, a query also asks for the word that follows.
W_Q = [
    [0, 0, 0, 0, 0.3, 0.7, 0.4, 0.8],
    [0, 0, 0, 0, 1.1, -0.2, 0.5, -0.4],
    [0.7, 1.1, 0, 0, 0, 0, 0, 0],
    [-1.1, 0.7, 0, 0, 0, 0, 0, 0],
]
W_K = [
    [0, 0, 0, 0, 1.5, -0.3, 0.2, -0.2],
    [0, 0, 0, 0, -0.3, 1.4, -0.2, 0.1],
    [1.6, 0, 0, 0, 0, 0, 0, 0],
    [0, 1.6, 0, 0, 0, 0, 0, 0],
]
W_V = [
    [0, 0, 0, 0, 0.7, -0.6, 0.1, 0.1],
    [0, 0, 0, 0, 0.1, 0.1, 0.9, -0.2],
    [0, 0, 0, 0, 0.2, -0.3, 0.2, 0.8],
]


def compact(rows: list[list[float]], widget: Any = None) -> list[list[float]]:
    """Rows as they are sent: whole numbers without a point.

    >>> compact([[0.0, 0.5]])
    [[0, 0.5]]
    """
    return [[int(x) if x.is_integer() else x for x in row] for row in rows]


class PermuteAndEncode(Explorable):
    """Self-attention over a sentence whose words the reader moves, and sinusoidal positions.

    In the first view, each output row stands beside the row that the same word gets in the first
    order. Without positions it is the same row; with them it changes, and by how much is shown:
    the length of the difference. The second view shows the encoding of 16 entries as a map and as
    8 hands that turn, p(i)·p(i + δ) over δ, and the hands at i, turned by ω δ, beside those at
    i + δ. Positions count from 0 and are encoded as in d2lattn.PositionalEncoding.

    Each trait can be read, set and observed.

    Traits:
        tokens: the sentence in its first order, at most 8 words. Other words than those here start
            in that order.
        embeddings: a row for each token, of at most 16 entries.
        W_q, W_k, W_v: (k, d), (k, d) and (m, d) with m at most 6, as the weight of torch.nn.Linear:
            q = W_q x. Scores are q·k / √k.
        order: order[place] is the number of the word that stands there.
        positions: add the encoding of its place to each embedding, or not.
        clock: the encoding is one hand in the last two entries, 2 long and 30° on at each place,
            and not the waves.
        word: the number of the word that is moved and asked about.
        view: "order" or "waves".
        position, offset: i and δ in the second view, 0 to 40.
        frequencies: which of the 8 hands are on, from fast to slow.

    Raises ValueError for anything else.

    >>> figure = PermuteAndEncode(positions=True)
    >>> [figure.tokens[number] for number in figure.order]
    ['the', 'happy', 'dog', 'saw', 'the', 'cow']
    """

    module = "permute_and_encode"

    tokens = Words(TOKENS, maxlen=MOST_TOKENS).tag(sync=True)
    embeddings = Matrix([EMBEDDINGS[word] for word in TOKENS], maxlen=MOST_TOKENS).tag(
        sync=True, to_json=compact
    )
    W_q = Matrix(W_Q, maxlen=MOST_ENTRIES).tag(sync=True, to_json=compact)
    W_k = Matrix(W_K, maxlen=MOST_ENTRIES).tag(sync=True, to_json=compact)
    W_v = Matrix(W_V, maxlen=MOST_OUTPUTS).tag(sync=True, to_json=compact)
    order = List(Int(), [0, 1, DOG, 3, 4, COW], maxlen=MOST_TOKENS).tag(sync=True)
    positions = Bool(False).tag(sync=True)
    clock = Bool(False).tag(sync=True)
    word = Int(COW, min=0, max=MOST_TOKENS - 1).tag(sync=True)
    view = Choice(("order", "waves"), "order").tag(sync=True)
    position = Int(10, min=0, max=FAR).tag(sync=True)
    offset = Int(3, min=0, max=FAR).tag(sync=True)
    frequencies = List(Bool(), [True] * HANDS, minlen=HANDS, maxlen=HANDS).tag(sync=True)

    def __init__(self, tokens: Any = None, **state: Any) -> None:
        if tokens is not None:
            state = {"tokens": tokens, "order": range(len(tokens)), "word": 0} | state
        super().__init__(**state)

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError for values that do not fit together."""
        check_same_length(**{name: state[name] for name in ("tokens", "embeddings", "order")})
        check_indices(state, word=len(state["tokens"]))
        if sorted(state["order"]) != list(range(len(state["tokens"]))):
            raise UnusableValue(f"order is {state['order']}; it needs each word's number once")
        width = len(state["embeddings"][0])
        if width > MOST_ENTRIES:
            raise UnusableValue(f"embeddings have {width} entries; {MOST_ENTRIES} are shown")
        for name in ("W_q", "W_k", "W_v"):
            check_same_length(
                **{"embeddings[0]": state["embeddings"][0], f"{name}[0]": state[name][0]}
            )
        check_same_length(W_q=state["W_q"], W_k=state["W_k"])

    def fallback_html(self) -> str:
        """HTML for where no script runs."""
        lowest = 0 if self.clock else 1
        rows = [
            (word, number + lowest, self.order.index(number) + lowest)
            for number, word in enumerate(self.tokens)
        ]
        return paragraph(
            "Interactive figure: words change places. Without positions, their outputs move with "
            "them unchanged; with positions they change. A second view shows the encoding."
        ) + table(["word", "first position", "position now"], rows)
