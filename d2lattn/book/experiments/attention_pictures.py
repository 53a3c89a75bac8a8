"""Five attention pictures of flawless translations, true and untrue, with what tests each.

The page *Which would you sign?* shows them. All weights and words are those of the translators that
come with the book.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from d2lattn.analysis.hiding import hide_each_state
from d2lattn.analysis.steps import teacher_forced_attention
from d2lattn.book.translators import load_translator
from d2lattn.corpus import Pair, batches, load_corpus
from d2lattn.seq2seq import EncoderDecoder
from d2lattn.training import evaluating, shift_right

ONE_WAY, BOTH_WAYS = "one-directional", "bidirectional"


class Case(NamedTuple):
    """What a picture is made of."""

    translator: str
    """Which of the translators wrote the sentence."""
    sentence: str
    word: str
    """The French word in question."""
    instead: tuple[str, str]
    """An English word of it, and what it becomes in the sentence that states come from."""
    made: str
    drawn: str = ""
    """Whose weights are drawn, if not those of the translator."""


_DATA = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
CASES = tuple(Case(**{**case, "instead": tuple(case["instead"])}) for case in _DATA["cases"])
LESSON: str = _DATA["lesson"]


def five_pictures() -> list[dict[str, Any]]:
    """Compute the pictures, in the form that the explorable `Sign` takes.

    Raises:
        AssertionError: a translator makes a mistake, so that the picture is of another sentence.
    """
    corpus = load_corpus(num_train=0, num_valid=0, num_unseen=0, num_long=0)
    pairs = {" ".join(pair.source): pair for pair in corpus.test}
    return [picture(case, pairs[case.sentence]) for case in CASES]


@torch.no_grad()
def picture(case: Case, pair: Pair) -> dict[str, Any]:
    """Compute one of them."""
    model, source_vocab, target_vocab, _ = load_translator(case.translator)
    old, new = case.instead
    other = tuple(new if word == old else word for word in pair.source)
    batch, changed = (
        next(batches([Pair(source, pair.target)], source_vocab, target_vocab, batch_size=1))
        for source in (pair.source, other)
    )
    step = pair.target.index(case.word)
    chances = exchange_throughout(model, batch.source, changed.source, batch.target)
    # A translator whose likeliest word is right at each step writes it so by itself, too.
    assert torch.equal(chances[0].argmax(dim=-1), batch.target[0])
    hidden = hide_each_state(model, batch.source, batch.target)[0, step]  # (S + 3, V)
    painter = load_translator(case.drawn or case.translator).model
    (weights,) = teacher_forced_attention(painter, batch)  # (T, S), without <eos>

    def written(chances: Tensor) -> list[tuple[str, float]]:
        """The likeliest words, and their probabilities."""
        found, best = chances.max(dim=-1)
        words = target_vocab.decode([int(place) for place in best])
        return [(word, round(float(x), 3)) for word, x in zip(words, found, strict=True)]

    size = len(pair.source)
    return {
        "source": list(pair.source),
        "target": list(pair.target),
        "other": list(other),
        "asked": step,
        "weights": [[round(x, 3) for x in row] for row in weights.tolist()],
        "gold": sorted(place for place, t in pair.possible if t == step),
        "turned": written(chances[-1:, step])[0][0],
        "exchanged": written(chances[1 : size + 1, step]),
        "hidden": written(hidden[1 : size + 1]),
        "made": case.made,
    }


@torch.no_grad()
def exchange_throughout(
    model: EncoderDecoder, source: Tensor, other: Tensor, target: Tensor
) -> Tensor:
    """Predict the words (T,) with no state exchanged, with each, with all: (S + 2, T, V).

    In place of a state stands, at all steps, the one that the encoder has there for the other
    sentence. The decoder starts from zeros, so it learns of the source by attention alone.
    """
    with evaluating(model):
        (own, last), (foreign, _) = model.encoder(source), model.encoder(other)
        size = own.shape[1]
        exchanged = torch.zeros(size + 2, size, 1, dtype=torch.bool)
        exchanged[1:-1, :, 0].fill_diagonal_(True)
        exchanged[-1] = True
        values = torch.where(exchanged, foreign, own)  # (S + 2, S, D)
        state = model.decoder.init_state((values, last.expand(-1, len(values), -1).contiguous()))
        logits, _ = model.decoder(shift_right(target).expand(len(values), -1), state)
    return logits.softmax(dim=-1)
