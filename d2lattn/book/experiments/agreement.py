"""Chapter 6's experiment: a word must find its noun, and only the order of words says which.

French gives an article and an adjective the gender of their noun: *la*, *heureuse*, *le* and
*vieux* for *the happy cow and the old dog*, but *la*, *vieille*, *le* and *heureux* for *the old
cow and the happy dog*, which has the same words. In English the noun follows both of them.
"""

import random
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lattn.checks import argument_error
from d2lattn.corpus.lexicon import lexicon
from d2lattn.scoring import DotProductAttention
from d2lattn.training import evaluating

FEMININE = {noun.english[0]: noun.feminine for noun in lexicon().nouns}
ADJECTIVES = [adjective.english for adjective in lexicon().adjectives]
WORDS = ["<pad>", "the", "and", *ADJECTIVES, *FEMININE]
NOT_ASKED = -1


class Sentences(NamedTuple):
    """Words (B, T) with padding behind, how many count (B,), the gender each must find (B, T)."""

    words: Tensor
    lengths: Tensor
    genders: Tensor


def encode(sentences: Sequence[str]) -> Sentences:
    """Number the words. Articles and adjectives must find 1 if their noun is feminine, else 0.

    >>> encode(["the cow and the old dog"]).genders
    tensor([[ 1, -1, -1,  0,  0, -1]])

    Raises:
        ValueError: a word is none of `WORDS`, a sentence has none, or there is no sentence.
    """
    if not sentences:
        raise ValueError("sentences is empty; a batch needs at least one")
    number = {word: index for index, word in enumerate(WORDS)}
    words, genders = [], []
    for row, sentence in enumerate(map(str.split, sentences)):
        if not sentence:
            raise argument_error(
                ValueError, f"sentences[{row}]", repr(sentences[row]), "to have a word"
            )
        if unknown := set(sentence) - number.keys():
            name = f"a word of sentences[{row}]"
            raise argument_error(ValueError, name, repr(min(unknown)), "to be one of WORDS")
        found, gender = [NOT_ASKED] * len(sentence), NOT_ASKED
        for place, word in reversed(list(enumerate(sentence))):
            if word in FEMININE:
                gender = int(FEMININE[word])  # of all words before it, up to the next noun
            elif word != "and":
                found[place] = gender
        words.append([number[word] for word in sentence])
        genders.append(found)
    lengths = torch.tensor([len(row) for row in words])
    return Sentences(_padded(words, 0), lengths, _padded(genders, NOT_ASKED))


def _padded(rows: list[list[int]], padding: int) -> Tensor:
    """One tensor of all rows: a tensor of each, padded by PyTorch, takes twice as long."""
    longest = max(map(len, rows))
    return torch.tensor([row + [padding] * (longest - len(row)) for row in rows])


def draw(count: int, seed: int, phrases: int = 2, mixed: bool = False) -> list[str]:
    """Draw sentences of noun phrases with up to two adjectives each, joined by *and*.

    >>> draw(2, seed=6)
    ['the girl and the city', 'the white story and the interesting red hotel']

    Args:
        count: how many sentences.
        seed: the same seed gives the same sentences.
        phrases: how many noun phrases each has.
        mixed: genders take turns in a sentence, in place of being drawn.
    """
    dice = random.Random(seed)
    of_gender = [[n for n, feminine in FEMININE.items() if feminine == g] for g in (False, True)]

    def phrase(gender: int) -> str:
        adjectives = dice.sample(ADJECTIVES, dice.randrange(3))
        return " ".join(("the", *adjectives, dice.choice(of_gender[gender])))

    sentences = []
    for _ in range(count):
        first = dice.randrange(2)
        genders = [(first + i) % 2 if mixed else dice.randrange(2) for i in range(phrases)]
        sentences.append(" and ".join(map(phrase, genders)))
    return sentences


class SelfAttention(nn.Module):
    """One head of self-attention: words (B, T, D) ask one another, (B, T, D)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.attention = DotProductAttention(dropout=0)

    def forward(self, X: Tensor, lengths: Tensor) -> Tensor:
        """Project, and attend to the words that are no padding."""
        return self.attention(self.W_q(X), self.W_k(X), self.W_v(X), lengths)


class Reader(nn.Module):
    """Finds the gender of each word: (B, T) and lengths (B,) -> scores (B, T, 2).

    Args:
        mix: what lets words know of one another: (B, T, D) and lengths (B,) -> (B, T, D).
        positions: what adds an encoding to (B, T, D); without it, places are not told.
        width: D.
    """

    def __init__(self, mix: nn.Module, positions: nn.Module | None, width: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(WORDS), width)
        self.positions = positions or nn.Identity()
        self.mix = mix
        self.gender = nn.Linear(width, 2)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Embed, place, mix, and read the gender off."""
        X = self.positions(self.embedding(words))  # (B, T) -> (B, T, D)
        scores: Tensor = self.gender(self.mix(X, lengths))  # (B, T, D) -> (B, T, 2)
        return scores


@cache
def _batch(step: int) -> Sentences:
    """Give what every network sees at that step: to draw it takes longer than to learn from it."""
    return encode(draw(128, seed=step))


def learn(reader: nn.Module, num_steps: int = 250, rate: float = 0.01) -> None:
    """Train by Adam, the rate falling to 0, on 128 fresh sentences of two phrases a step."""
    optimizer = torch.optim.Adam(reader.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, num_steps)
    for step in range(num_steps):
        words, lengths, genders = _batch(step)
        scores = reader(words, lengths).transpose(1, 2)  # (B, T, 2) -> (B, 2, T)
        loss = F.cross_entropy(scores, genders, ignore_index=NOT_ASKED)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


def accuracy(reader: nn.Module, sentences: Sentences) -> float:
    """Which share of the articles and adjectives gets its gender right, from 0 to 1."""
    with torch.no_grad(), evaluating(reader):
        found = reader(sentences.words, sentences.lengths).argmax(dim=-1)  # (B, T)
    asked = sentences.genders != NOT_ASKED
    return (found == sentences.genders)[asked].double().mean().item()
