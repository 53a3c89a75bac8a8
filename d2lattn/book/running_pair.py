"""One sentence pair that goes through all chapters, and the attention weights of each chapter.

*the happy cow* becomes *la vache heureuse*. Before a translator writes a French word, that word's
query attends to the English words; each chapter does so with its own kind of attention.

``python -m d2lattn.book.running_pair > images/the-thread.html`` writes the table on the last page.
"""

import torch
from torch import Tensor

from d2lattn.positional import sinusoids

ENGLISH = ("the", "happy", "cow")
FRENCH = ("la", "vache", "heureuse")

KEYS = torch.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
"""The kind of each English word, (K, D): article, noun, adjective."""

QUERIES = torch.tensor([[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
"""The kinds that each French word looks for, (Q, D): its own and, more weakly, another."""

LEARNED: dict[str, list[list[float]]] = {
    "4 learned": [[0.99, 0.00, 0.00], [0.01, 0.01, 0.94], [0.00, 0.99, 0.01]],
    "4b one way": [[0.32, 0.03, 0.52], [0.01, 0.01, 0.87], [0.01, 0.90, 0.01]],
    "5b head 1": [[0.10, 0.06, 0.01], [0.02, 0.17, 0.48], [0.01, 0.85, 0.00]],
    "5b head 2": [[0.04, 0.05, 0.91], [0.00, 0.00, 1.00], [0.00, 1.00, 0.00]],
    "5b head 3": [[1.00, 0.00, 0.00], [0.00, 0.01, 0.99], [0.00, 1.00, 0.00]],
    "5b head 4": [[0.98, 0.00, 0.00], [0.00, 0.01, 0.80], [0.00, 0.97, 0.00]],
}
LEARNED_BY_TRANSFORMER: dict[str, list[list[float]]] = {
    "7 cross": [[0.64, 0.01, 0.31], [0.06, 0.01, 0.91], [0.01, 0.95, 0.01]],
    "7 self, head 4": [[0.00, 0.00, 0.97], [0.05, 0.02, 0.54], [0.00, 0.00, 0.73]],
}
"""Weights of trained models, by the label of their row; a test compares them with the models.

In the last row the queries are those of the English words *the*, *cow* and *happy*.
"""


def by_match() -> Tensor:
    """Chapter 1: softmax(QKᵀ).

    >>> [round(weight, 3) for weight in by_match()[1].tolist()]
    [0.016, 0.117, 0.867]
    """
    return (QUERIES @ KEYS.T).softmax(dim=-1)  # (Q, D) x (D, K) -> (Q, K)


def by_distance(bandwidth: float) -> Tensor:
    """Chapter 2: a Gaussian of the distance; at bandwidth 1, chapter 1's weights (equal norms).

    >>> bool(torch.allclose(by_distance(1.0), by_match()))
    True
    """
    distances = torch.cdist(QUERIES, KEYS)  # (Q, D), (K, D) -> (Q, K)
    return (-(distances**2) / (2 * bandwidth**2)).softmax(dim=-1)


def by_coins(scaled: bool, width: int = 64) -> Tensor:
    """Chapter 3: an untrained model, whose entries are random signs, +1 or −1."""
    generator = torch.Generator().manual_seed(203)
    # The walk draws one query and the three keys, so these come first.
    vache, *of_keys = 2.0 * torch.randint(2, (4, width), generator=generator) - 1
    la, heureuse = 2.0 * torch.randint(2, (2, width), generator=generator) - 1
    queries, keys = torch.stack((la, vache, heureuse)), torch.stack(of_keys)  # (Q, D), (K, D)
    scores = queries @ keys.T  # (Q, D) x (D, K) -> (Q, K)
    return (scores / width**0.5 if scaled else scores).softmax(dim=-1)


def by_order(positions: bool) -> Tensor:
    """Chapter 6: the same keys within *the happy cow and the old dog*, (3, 3) of (3, 7) weights.

    *dog* has the key of *cow*, and *old* that of *happy*. With positions, the sinusoidal encoding
    of its position is added to each word of both languages, in entries that were zero.
    """
    the, happy, cow = KEYS
    keys = torch.stack((the, happy, cow, torch.zeros(3), the, happy, cow))  # (7, D)
    scores = QUERIES @ keys.T  # (Q, D) x (D, 7) -> (Q, 7)
    if positions:
        waves = sinusoids(len(keys), num_hiddens=16)  # (7, 16)
        scores = scores + waves[: len(QUERIES)] @ waves.T  # (Q, 16) x (16, 7) -> (Q, 7)
    return scores.softmax(dim=-1)[:, : len(ENGLISH)]


def rows() -> dict[str, Tensor]:
    """Every chapter's weights, (Q, K), by the label of its row in the strip."""
    return {
        "1 match": by_match(),
        "2 bandwidth 2": by_distance(2.0),
        "3 width 64": by_coins(scaled=False),
        "3 scaled": by_coins(scaled=True),
        **{label: torch.tensor(weights) for label, weights in LEARNED.items()},
        "6 no order": by_order(False),
        "6 positions": by_order(True),
        **{label: torch.tensor(weights) for label, weights in LEARNED_BY_TRANSFORMER.items()},
    }


def as_html() -> str:
    """Return all rows as an HTML table, each weight as a bar and in hundredths.

    >>> as_html().count("<tr>") == 2 + len(rows())
    True
    """
    head = "".join(f'<th colspan="3" scope="colgroup">{french}</th>' for french in FRENCH)
    words = "".join(f'<th scope="col">{english}</th>' for english in ENGLISH * len(FRENCH))
    lines = [
        '<table class="thread">',
        "<caption>The weights that each French word (above) gives to the English words, in "
        "hundredths. Each label begins with the number of its chapter.</caption>",
        f"<thead><tr><td></td>{head}</tr>",
        f"<tr><td></td>{words}</tr></thead>",
        "<tbody>",
    ]
    for label, weights in rows().items():
        cells = "".join(
            f'<td style="--w:{weight:.2f}">{100 * weight:.0f}</td>'
            for weight in weights.flatten().tolist()
        )
        lines.append(f'<tr><th scope="row">{label}</th>{cells}</tr>')
    return "\n".join([*lines, "</tbody>", "</table>", ""])


if __name__ == "__main__":
    print(as_html(), end="")
