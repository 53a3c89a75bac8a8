"""Chapter 7a's small task: read a word, then write it backwards: b a d > d a b .

A word of n letters makes 2 n + 2 tokens. Only what comes after ">" is asked for: the letters from
last to first, then ".", so a decoder has to find out where the word ends and where it begins.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lattn.checks import argument_error
from d2lattn.decoding import greedy_steps
from d2lattn.training import evaluating
from d2lattn.transformer import TransformerDecoder

LETTERS = "abcdefgh"
TOKENS = [*LETTERS, ">", "."]
ARROW, STOP = len(LETTERS), len(LETTERS) + 1
LENGTHS = (3, 4, 5, 6)
"""Of the words in training, in letters."""


def encode(words: Sequence[str]) -> Tensor:
    """Number the tokens of words of one length, and of what is to be written, (B, 2 n + 2).

    >>> encode(["bad"])  # b a d > d a b .
    tensor([[1, 0, 3, 8, 3, 0, 1, 9]])

    Raises:
        ValueError: a word is empty, has other letters or another length, or there is none.
    """
    for place, word in enumerate(words or [""]):
        if not word or set(word) - set(LETTERS) or len(word) != len(words[0]):
            needs = f"letters of {LETTERS}, as many as the other words"
            raise argument_error(ValueError, f"words[{place}]", repr(word), needs)
    return complete(torch.tensor([[LETTERS.index(letter) for letter in word] for word in words]))


def complete(letters: Tensor) -> Tensor:
    """Put ">", the letters backwards and "." behind letters (B, n): (B, 2 n + 2)."""
    arrow, stop = (torch.full_like(letters[:, :1], token) for token in (ARROW, STOP))  # (B, 1)
    return torch.cat((letters, arrow, letters.flip(1), stop), dim=1)


def draw(count: int, length: int, generator: torch.Generator) -> Tensor:
    """Draw random words of that many letters, with what is to be written, (B, 2 n + 2)."""
    return complete(torch.randint(len(LETTERS), (count, length), generator=generator))


def batches(
    generator: torch.Generator, num_steps: int = 150, batch_size: int = 64
) -> Iterator[Tensor]:
    """Draw one epoch: in each batch all words have one length, so nothing is padding.

    >>> [batch.shape[1] for batch in batches(torch.Generator().manual_seed(0), num_steps=3)]
    [8, 14, 10]
    """
    for choice in torch.randint(len(LENGTHS), (num_steps,), generator=generator):
        yield draw(batch_size, LENGTHS[choice], generator)


def reversal_loss(decoder: TransformerDecoder, batch: Tensor) -> tuple[Tensor, int]:
    """Loss of what comes after ">", and how many tokens that is; every step reads the truth."""
    logits, _ = decoder(batch[:, :-1], decoder.init_state())  # (B, T, V)
    arrow = batch.shape[1] // 2 - 1
    asked, answers = logits[:, arrow:], batch[:, arrow + 1 :]  # (B, n + 1, V), (B, n + 1)
    return F.cross_entropy(asked.flatten(0, 1), answers.flatten()), answers.numel()


@torch.no_grad()
def write(decoder: TransformerDecoder, letters: Tensor) -> Tensor:
    """Read words (B, n) and write n + 1 tokens (B, n + 1), the likeliest at every step."""
    arrow = torch.full_like(letters[:, :1], ARROW)
    with evaluating(decoder):
        steps = greedy_steps(decoder, decoder.init_state(), torch.cat((letters, arrow), dim=1))
        return torch.cat([token for token, _ in islice(steps, letters.shape[1] + 1)], dim=1)


def reverse(decoder: TransformerDecoder, word: str) -> str:
    """Write one word backwards, up to the first "."; a word is as `encode` takes it."""
    [written] = write(decoder, encode([word])[:, : len(word)]).tolist()
    return "".join(TOKENS[token] for token in written).split(".")[0]


def accuracy(decoder: TransformerDecoder, length: int, count: int = 500, seed: int = 9) -> float:
    """Which share of unseen words of this length is written without a mistake, from 0 to 1."""
    words = draw(count, length, torch.Generator().manual_seed(seed))
    written = write(decoder, words[:, :length])
    return (written == words[:, length + 1 :]).all(dim=1).double().mean().item()
