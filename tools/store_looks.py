"""Hide each state of 4b's two translators in turn, and store where they looked and what changed.

usage: python -m tools.store_looks [FILE]   (ten seconds; d2lattn/book/experiments/looks.npz)

A page that needs all of it would wait ten seconds for it.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

import d2lattn as d2l
from d2lattn.book.experiments.looks import FILE, KINDS, MODELS, NUM_SENTENCES
from d2lattn.book.translators import Translator, load_translator
from d2lattn.corpus import Pair, batches, load_corpus


def looks(translator: Translator, pairs: Sequence[Pair]) -> dict[Pair, tuple[Tensor, ...]]:
    """Give of each pair what is stored, in the order of `KINDS`: (T, S + 1), (T, S + 3) twice."""
    model, source_vocab, target_vocab, _ = translator
    of_a_size: dict[tuple[int, int], list[Pair]] = defaultdict(list)
    for pair in pairs:
        of_a_size[len(pair.source), len(pair.target)].append(pair)
    found = {}
    for same in of_a_size.values():  # together they take half of the time
        (batch,) = batches(same, source_vocab, target_vocab, len(same), bucket=False)
        chances = d2l.hide_each_state(model, batch.source, batch.target)[:, :-1]
        d2l.teacher_forced_attention(model, batch)
        weights = model.decoder.attention_weights[:, :-1]  # (B, T, S + 1)
        words = batch.target[:, :-1, None, None]  # (B, T, 1, 1), without <eos>
        own = chances.gather(3, words.expand(*chances.shape[:3], 1))[..., 0]  # (B, T, S + 3)
        right = chances.argmax(dim=-1) == words[..., 0]  # (B, T, S + 3)
        rows = zip(weights.half(), own.log().half(), right, strict=True)
        found |= dict(zip(batch.pairs, rows, strict=True))
    return found


def arrays() -> Iterator[tuple[str, np.ndarray]]:
    """Give all that the file holds: of each model and kind the tables of all pairs, end to end."""
    pairs = load_corpus(num_train=0).test[:NUM_SENTENCES]
    for name in MODELS:
        found = looks(load_translator(name), pairs)
        for place, kind in enumerate(KINDS):
            tables = [found[pair][place].flatten() for pair in pairs]
            yield f"{name} {kind}", torch.cat(tables).numpy()


def main() -> None:
    """Write the file."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    torch.set_num_threads(1)
    np.savez_compressed(path, **dict(arrays()))
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
