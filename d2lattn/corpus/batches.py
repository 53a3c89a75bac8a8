"""From tokens to padded tensors: vocabulary and batches."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import torch

from d2lattn.checks import argument_error
from d2lattn.corpus.pairs import Pair

SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>")


class Vocabulary:
    """The words of some sentences, numbered: the special tokens, then the most frequent first.

    >>> vocabulary = Vocabulary([("the", "cat"), ("the", "dog")])
    >>> vocabulary.encode(("the", "dog", "owl"))
    [4, 6, 3]
    >>> vocabulary.decode([4, 6, 2, 0])
    ['the', 'dog', '<eos>', '<pad>']

    Args:
        sentences: sequences of tokens.
        min_freq: rarer words become ``<unk>``.

    Raises:
        TypeError: a sentence is a string, here or in :meth:`encode`.
        ValueError: ``min_freq`` is below 1, or :meth:`decode` meets an id outside the vocabulary.
    """

    pad, bos, eos, unk = range(4)

    def __init__(self, sentences: Iterable[Sequence[str]], min_freq: int = 1) -> None:
        if min_freq < 1:
            raise argument_error(ValueError, "min_freq", min_freq, "to be 1 or more")
        counts: Counter[str] = Counter()
        for sentence in sentences:
            counts.update(_tokens("a sentence", sentence))
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        words = [word for word, count in ranked if count >= min_freq and word not in SPECIALS]
        self.tokens: list[str] = [*SPECIALS, *words]
        self._ids = {token: number for number, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: str) -> bool:
        return token in self._ids

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """Return the id of each token; unknown tokens have that of ``<unk>``."""
        return [self._ids.get(token, self.unk) for token in _tokens("tokens", tokens)]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the token of each id."""
        tokens = []
        for place, number in enumerate(map(int, ids)):
            if not 0 <= number < len(self):
                raise argument_error(
                    ValueError, f"ids[{place}]", number, f"to be from 0 to {len(self) - 1}"
                )
            tokens.append(self.tokens[number])
        return tokens


def _tokens(name: str, sentence: Sequence[str]) -> Sequence[str]:
    """Return the tokens; a string would be a sequence of letters."""
    if isinstance(sentence, str):
        raise argument_error(TypeError, name, sentence, "a sequence of tokens")
    return sentence


class Batch(NamedTuple):
    """Padded sentences: ids (B, S) and (B, T), and how many of each row are valid, (B,).

    Both sides end in ``<eos>``, which the valid lengths count.
    """

    source: torch.Tensor
    source_valid_lens: torch.Tensor
    target: torch.Tensor
    target_valid_lens: torch.Tensor
    pairs: tuple[Pair, ...]


def pad(
    sentences: Sequence[Sequence[str]], vocabulary: Vocabulary
) -> tuple[torch.Tensor, torch.Tensor]:
    """Number tokens, add ``<eos>`` and pad: ids (B, T) and valid lengths (B,).

    >>> pad([("hi",), ("go", "on")], Vocabulary([("go", "hi", "on")]))[0].tolist()
    [[5, 2, 0], [4, 6, 2]]
    """
    rows = [[*vocabulary.encode(sentence), vocabulary.eos] for sentence in sentences]
    valid_lens = torch.tensor([len(row) for row in rows], dtype=torch.long)
    width = max((len(row) for row in rows), default=0)
    ids = [row + [vocabulary.pad] * (width - len(row)) for row in rows]
    return torch.tensor(ids, dtype=torch.long).reshape(len(rows), width), valid_lens


def batches(
    pairs: Sequence[Pair],
    source_vocab: Vocabulary,
    target_vocab: Vocabulary,
    batch_size: int,
    *,
    generator: torch.Generator | None = None,
    bucket: bool = True,
) -> Iterator[Batch]:
    """Yield all pairs once, in padded batches.

    Args:
        pairs: what to batch.
        source_vocab: numbers the source tokens.
        target_vocab: numbers the target tokens.
        batch_size: pairs a batch; the last one may be smaller.
        generator: shuffles; without it, the order is that of ``pairs`` (or of length).
        bucket: put sentences of like length together, so that little is padding. The order of
            the batches is still shuffled if there is a generator.

    Raises:
        ValueError: ``batch_size`` is below 1.
    """
    if batch_size < 1:
        raise argument_error(ValueError, "batch_size", batch_size, "to be 1 or more")
    order = (
        list(range(len(pairs)))
        if generator is None
        else torch.randperm(len(pairs), generator=generator).tolist()
    )
    if bucket:
        order.sort(key=lambda place: (len(pairs[place].source), len(pairs[place].target)))
    groups = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    if generator is not None:
        groups = [groups[place] for place in torch.randperm(len(groups), generator=generator)]
    for group in groups:
        chosen = tuple(pairs[place] for place in group)
        source, source_valid_lens = pad([pair.source for pair in chosen], source_vocab)
        target, target_valid_lens = pad([pair.target for pair in chosen], target_vocab)
        yield Batch(source, source_valid_lens, target, target_valid_lens, chosen)
