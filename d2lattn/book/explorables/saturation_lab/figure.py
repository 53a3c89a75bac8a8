"""Saturation lab (chapter 3): how the width affects scores, softmax and gradient."""

from typing import Any

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import Bool, Choice, Float, Floats, Int, to_array

NUM_KEYS, NUM_PAIRS, MOST = 16, 256, 512
SCORES = ("dot", "gaussian")


class SaturationLab(Explorable):
    """Scores a = q·k / (√d · temperature) of random vectors, their softmax and its Jacobian.

    All entries are drawn from a standard normal. One query meets 16 keys: that row of attention is
    shown. 256 more pairs give the histogram; its variance is shown next to d (or 1) / temperature².
    The size of the Jacobian J = diag(α) − α αᵀ is its Frobenius norm.

    Each trait can be read, set and observed.

    Traits:
        width: d, from 2 to 512.
        scaled: divide by √d or not.
        temperature: divides all scores, 0.125 to 64.
        valid_length: how many of the 16 keys count, 0 to 16.
        seed: which random numbers, 0 to 999999; a wider draw holds the narrower one.
        view: "softmax", or "field": the score of every key of two dimensions.
        score: in the field, dot or gaussian.
        query, key: in the field, two numbers each, from −2.5 to 2.5.

    Raises ValueError for anything else.

    >>> lab = SaturationLab(width=64, scaled=True)
    >>> lab.width, lab.scaled, lab.temperature
    (64, True, 1.0)
    """

    module = "saturation_lab"

    width = Int(64, min=2, max=MOST).tag(sync=True)
    scaled = Bool(False).tag(sync=True)
    temperature = Float(1, min=0.125, max=64).tag(sync=True)
    valid_length = Int(NUM_KEYS, min=0, max=NUM_KEYS).tag(sync=True)
    seed = Int(190, min=0, max=999999).tag(sync=True)
    view = Choice(("softmax", "field"), "softmax").tag(sync=True)
    score = Choice(SCORES, "dot").tag(sync=True)
    query = Floats([1.0, 0.5]).tag(sync=True)
    key = Floats([0.5, 1.5]).tag(sync=True)

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError for values that do not fit together."""
        for name in ("query", "key"):
            to_array(name, state[name], 2, low=-2.5, high=2.5)

    def vectors(self) -> tuple[list[float], list[list[float]]]:
        """The query (d,) and the keys (16, d) that the figure draws, as lists.

        >>> query, keys = SaturationLab(width=4).vectors()
        >>> len(query), len(keys), len(keys[0])
        (4, 16, 4)
        """
        query, *keys = normals(self.seed, 0, 1 + NUM_KEYS, self.width)
        return query, keys

    def pairs(self) -> tuple[list[list[float]], list[list[float]]]:
        """The queries and keys of the histogram, (256, d) each, as lists."""
        rows = normals(self.seed, 1 + NUM_KEYS, 2 * NUM_PAIRS, self.width)
        return rows[:NUM_PAIRS], rows[NUM_PAIRS:]

    def fallback_html(self) -> str:
        """HTML for where no script runs."""
        if self.view == "field":
            return self._field_html()
        undivided = self.width / self.temperature**2
        return paragraph(
            "Interactive figure: saturation lab. The weights of random keys: the softmax of the "
            "scores q·k / temperature, and of the same scores divided by √d."
        ) + table(
            ["width d", "temperature", "valid keys", "variance of the scores", "divided by √d"],
            [(self.width, self.temperature, self.valid_length, undivided, undivided / self.width)],
        )

    def _field_html(self) -> str:
        """The same for the field: its score, its query, and a key with its score."""
        pairs = list(zip(self.query, self.key, strict=True))
        if self.score == "dot":
            formula, score = "dot product q·k", sum(q * k for q, k in pairs)
        else:
            formula = "Gaussian score −‖q − k‖² / 2"
            score = -sum((q - k) ** 2 for q, k in pairs) / 2
        return paragraph(
            "Interactive figure: the score of every key. A star in a plane is the query q. "
            f"The shade of each point k is its {formula}."
        ) + table(
            ["query q", "one key k", "its score"],
            [(*(f"({x:g}, {y:g})" for x, y in (self.query, self.key)), float(score))],
        )


def normals(seed: int, start: int, count: int, width: int) -> list[list[float]]:
    """Standard normal vectors number ``start`` and following; the JavaScript draws the same.

    Each uniform number depends on the seed and its own place alone (the mixing steps of
    mulberry32, by Tommy Ettinger), so the first entries are the same for every width. Box and
    Muller make two normal numbers out of two uniform ones.
    """
    import numpy as np

    places = np.arange(start, start + count)[:, None] * MOST + np.arange((width + 1) // 2 * 2)
    state = (np.uint64(seed) * np.uint64(0x9E3779B1)) & np.uint64(0xFFFFFFFF)
    t = (places.astype(np.uint64) + np.uint64(1)) * np.uint64(0x6D2B79F5) + state
    t = t.astype(np.uint32)  # from here on modulo 2 ** 32
    t = (t ^ (t >> np.uint32(15))) * (t | np.uint32(1))
    t ^= t + (t ^ (t >> np.uint32(7))) * (t | np.uint32(61))
    uniform = (t ^ (t >> np.uint32(14))) / 2.0**32
    radius = np.sqrt(-2 * np.log(1 - uniform[:, ::2]))
    angle = 2 * np.pi * uniform[:, 1::2]
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return pairs.reshape(count, -1)[:, :width].tolist()
