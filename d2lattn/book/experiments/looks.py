"""Where two translators of chapter 4b attended, and the effects of hiding a state, as stored data.

`tools/store_looks.py` writes the file with the translators that come with the book.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from d2lattn.corpus.pairs import Pair, load_corpus

FILE = Path(__file__).with_name("looks.npz")
MODELS = ("one-directional", "bidirectional")
NUM_SENTENCES = 500


class Look(NamedTuple):
    """The weights and effects of one model for one sentence, with the true translation as input."""

    pair: Pair
    weights: Tensor
    """(T, S + 1): a row for each French word, a column for each English word, then <eos>."""
    log_chance: Tensor
    """(T, S + 3): log-probability of the true word; nothing hidden, each state, all of them."""
    right: Tensor
    """(T, S + 3): whether the true word was the likeliest, likewise."""


def load_looks() -> dict[str, list[Look]]:
    """Return the looks of both models at the first 500 test sentences, which are not training data.

    >>> looks = load_looks()["bidirectional"]
    >>> look = looks[0]
    >>> look.weights.shape == (len(look.pair.target), len(look.pair.source) + 1)
    True
    """
    corpus = load_corpus(num_train=0, num_valid=0, num_test=NUM_SENTENCES, num_unseen=0, num_long=0)
    found: dict[str, list[Look]] = {}
    with np.load(FILE) as stored:
        for name in MODELS:
            flat = {kind: torch.from_numpy(stored[f"{name} {kind}"]) for kind in KINDS}
            at = dict.fromkeys(KINDS, 0)
            found[name] = []
            for pair in corpus.test:
                parts = []
                for kind, more in KINDS.items():
                    shape = len(pair.target), len(pair.source) + more
                    size = shape[0] * shape[1]
                    parts.append(flat[kind][at[kind] : at[kind] + size].reshape(shape))
                    at[kind] += size
                weights, log_chance, right = parts
                found[name].append(Look(pair, weights.float(), log_chance.float(), right))
    return found


KINDS = {"weights": 1, "log_chance": 3, "right": 3}
"""What is stored of each sentence, and how many columns it has more than English words."""
