"""The thread: one sentence pair that goes through every chapter, and what each makes of it.

*the happy cow* becomes *la vache heureuse*. Before it writes a French word, a translator asks the
English words; each chapter answers by its own kind of attention.
"""

from collections.abc import Collection

import torch
from torch import Tensor

from d2lattn.book.plotting import show_heatmaps
from d2lattn.positional import sinusoids

ENGLISH = ("the", "happy", "cow")
FRENCH = ("la", "vache", "heureuse")
FEATURES = ("article", "noun", "adjective")

KEYS = torch.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
"""What each English word is, (K, D)."""

QUERIES = torch.tensor([[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
"""What each French word asks for, (Q, D): its own kind of word, and one more beside."""

LEARNED: dict[str, list[list[float]]] = {
    "4 learned": [[0.99, 0.00, 0.00], [0.01, 0.01, 0.94], [0.00, 0.99, 0.01]],
    "4b one way": [[0.32, 0.03, 0.52], [0.01, 0.01, 0.87], [0.01, 0.90, 0.01]],
    "5b head 1": [[0.10, 0.06, 0.01], [0.02, 0.17, 0.48], [0.01, 0.85, 0.00]],
    "5b head 2": [[0.04, 0.05, 0.91], [0.00, 0.00, 1.00], [0.00, 1.00, 0.00]],
    "5b head 3": [[1.00, 0.00, 0.00], [0.00, 0.01, 0.99], [0.00, 1.00, 0.00]],
    "5b head 4": [[0.98, 0.00, 0.00], [0.00, 0.01, 0.80], [0.00, 0.97, 0.00]],
    "7 cross": [[0.64, 0.01, 0.31], [0.06, 0.01, 0.91], [0.01, 0.95, 0.01]],
    "7 self, head 4": [[0.00, 0.00, 0.97], [0.05, 0.02, 0.54], [0.00, 0.00, 0.73]],
}
"""What trained models gave, by the label of their row; a test compares them with the models.

In the last row the French words' own English words ask: *the*, *cow* and *happy*.
"""


def by_match() -> Tensor:
    """Chapter 1: softmax(QKᵀ), the dot product of what is asked for and what is there.

    >>> [round(weight, 3) for weight in by_match()[1].tolist()]
    [0.016, 0.117, 0.867]
    """
    return (QUERIES @ KEYS.T).softmax(dim=-1)  # (Q, D) x (D, K) -> (Q, K)


def by_distance(bandwidth: float) -> Tensor:
    """Chapter 2: a Gaussian of the distance; at bandwidth 1 it is chapter 1's, for equal norms.

    >>> bool(torch.allclose(by_distance(1.0), by_match()))
    True
    """
    distances = torch.cdist(QUERIES, KEYS)  # (Q, D), (K, D) -> (Q, K)
    return (-(distances**2) / (2 * bandwidth**2)).softmax(dim=-1)


def by_coins(scaled: bool, width: int = 64) -> Tensor:
    """Chapter 3: a model that has learned nothing; each entry is tossed, +1 or −1."""
    generator = torch.Generator().manual_seed(203)
    # The walk tosses for one query and the three keys, so these come first.
    vache, *of_keys = 2.0 * torch.randint(2, (4, width), generator=generator) - 1
    la, heureuse = 2.0 * torch.randint(2, (2, width), generator=generator) - 1
    queries, keys = torch.stack((la, vache, heureuse)), torch.stack(of_keys)  # (Q, D), (K, D)
    scores = queries @ keys.T  # (Q, D) x (D, K) -> (Q, K)
    return (scores / width**0.5 if scaled else scores).softmax(dim=-1)


def by_order(positions: bool) -> Tensor:
    """Chapter 6: the same keys within *the happy cow and the old dog*, (3, 3) of (3, 7) weights.

    *dog* offers what *cow* offers, *old* what *happy* does. With positions, each word of the two
    languages has the waves of its own place added, in entries that were empty.
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
    found = {
        "1 match": by_match(),
        "2 bandwidth 2": by_distance(2.0),
        "3 width 64": by_coins(scaled=False),
        "3 scaled": by_coins(scaled=True),
    }
    found |= {label: torch.tensor(weights) for label, weights in LEARNED.items()}
    found |= {"6 no order": by_order(False), "6 positions": by_order(True)}
    return dict(sorted(found.items(), key=lambda row: _chapter(row[0])))  # and in their order


def show(upto: int | str, only: Collection[str] | None = None) -> None:
    """Draw the strip: a panel a French word, a row for each chapter so far, a column a key.

    Args:
        upto: the last chapter whose rows are drawn, such as 4 or "4b".
        only: the labels of those among them that are drawn, all if not given.

    Raises:
        ValueError: there is no row for that chapter yet, or none of a label.
    """
    found = rows()
    labels = [label for label in found if _chapter(label) <= str(upto)]
    if str(upto) not in map(_chapter, found):
        raise ValueError(f"upto is {upto}; there are rows for {', '.join(found)}")
    if only is not None:
        if unknown := [label for label in only if label not in labels]:
            raise ValueError(f"only has {unknown[0]!r}; there are {', '.join(labels)}")
        labels = [label for label in labels if label in only]
    panels = torch.stack([found[label] for label in labels], dim=1)  # (Q, R, K): one a French word
    show_heatmaps(
        panels[None],
        xlabel="",
        ylabel="",
        titles=FRENCH,
        figsize=(5.2, 1.3 + 0.36 * len(labels)),
        row_labels=labels,
        column_labels=ENGLISH,
        annotate=True,
    )


def _chapter(label: str) -> str:
    """The chapter that a row belongs to; "4" comes before "4b"."""
    return label.split()[0]


def as_html() -> str:
    """Write the whole strip as a table for a page, each weight as a bar and in hundredths.

    >>> as_html().count("<tr>") == 2 + len(rows())
    True
    """
    head = "".join(f'<th colspan="3" scope="colgroup">{french}</th>' for french in FRENCH)
    words = "".join(f'<th scope="col">{english}</th>' for english in ENGLISH * len(FRENCH))
    lines = [
        '<table class="thread">',
        "<caption>What a French word (above) gives to an English one, in hundredths; chapter by "
        "chapter.</caption>",
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
