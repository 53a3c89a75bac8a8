"""Carry states over from a sentence with another word, and see whether the French word turns.

Two cases, over all test sentences that have one: *la*, whose noun becomes masculine, and an object
pronoun, which becomes *them*. benchmarks/believing.py asks both of its models.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

import d2lattn as d2l
from benchmarks import translation
from d2lattn.corpus import Batch, Pair, batches
from d2lattn.corpus.lexicon import lexicon
from d2lattn.training import evaluating

ENGLISH_OBJECTS = "me", "you", "him", "her", "it", "us"
FRENCH_OBJECTS = "me", "m'", "te", "t'", "le", "la", "l'", "nous"
WHEN = "at all steps", "at this step"


@torch.no_grad()
def exchanged(
    translator: translation.Translator,
    pair: Pair,
    other: Pair,
    choices: Sequence[Sequence[int]],
    step: int,
    since: int,
) -> tuple[Tensor, Tensor]:
    """Predict the word of a step with some states from another sentence of the same length.

    The steps before `since` run on the sentence's own states, and so do their decoder states; from
    `since` on, the decoder attends to the exchanged ones. Gives probabilities, (N, V), a row for
    each choice of places, and the step's weights, (N, S). From the first step on (`since` is 0),
    any decoder will do, and its weights have its own axes.
    """
    model, vocabs = translator.model, (translator.source_vocab, translator.target_vocab)
    (ours,), (theirs,) = (list(batches([one], *vocabs, batch_size=1)) for one in (pair, other))
    lens, decoder = ours.source_valid_lens, model.decoder
    reads = d2l.shift_right(ours.target).expand(len(choices), -1)  # (N, T)
    with evaluating(model):
        own, last = model.encoder(ours.source, lens)  # (1, S, D)
        foreign, _ = model.encoder(theirs.source, lens)
        carried = torch.zeros(len(choices), own.shape[1], 1, dtype=torch.bool)  # (N, S, 1)
        for chosen, places in zip(carried, choices, strict=True):
            chosen[list(places)] = True
        values = torch.where(carried, foreign, own)  # (N, S, D)
        rows = torch.zeros(len(choices), dtype=torch.long)  # N times the one sentence
        state = decoder.init_state((values, last[:, rows]), lens[rows])
        if since:
            before = decoder.select_state(decoder.init_state((own, last), lens), rows)
            _, before = decoder(reads[:, :since], before)
            state = state._replace(hidden=before.hidden)
        logits, _ = decoder(reads[:, since : step + 1], state)
        return logits[:, -1].softmax(dim=-1), decoder.attention_weights[:, -1]


def written(
    translator: translation.Translator,
    pair: Pair,
    other: Pair,
    choices: dict[str, Sequence[int]],
    step: int,
    moments: Sequence[str],
) -> Iterator[tuple[str, dict[str, str]]]:
    """Give the likeliest word of a step with each choice of states exchanged, by since when."""
    for when in moments:
        since = 0 if when == WHEN[0] else step
        chances, _ = exchanged(translator, pair, other, list(choices.values()), step, since)
        words = translator.target_vocab.decode(chances.argmax(dim=-1).tolist())
        yield when, dict(zip(choices, words, strict=True))


def with_word(pair: Pair, place: int, word: str) -> Pair:
    """Give the same pair with another English word at a place."""
    return replace(pair, source=(*pair.source[:place], word, *pair.source[place + 1 :]))


def articles_turned(
    translator: translation.Translator, pairs: Sequence[Pair], moments: Sequence[str] = WHEN
) -> Iterator[dict[str, float | str]]:
    """Carry over a state from a sentence with a masculine noun: whether *la* becomes *le*."""
    drawn = random.Random(0)
    for pair, step, article, noun in articles(pairs):
        other = with_word(pair, noun, masculine_like(pair.source[noun]))
        places = range(len(pair.source) + 1)  # <eos> has a state, too
        control = drawn.choice([place for place in places if place not in (article, noun)])
        choices = {
            "none": [],
            "article": [article],
            "noun": [noun],
            "random": [control],
            "all": places,
        }
        for when, found in written(translator, pair, other, choices, step, moments):
            if found.pop("none") == "la":
                yield {"when": when, **{name: word == "le" for name, word in found.items()}}


def articles(pairs: Sequence[Pair]) -> Iterator[tuple[Pair, int, int, int]]:
    """Each *la* for a *the* whose noun comes later: its step, the places of *the* and the noun."""
    for pair in pairs:
        for step, word in enumerate(pair.target):
            own = [s for s, t in pair.possible if t == step]
            later = [s for s, t in pair.agreement if t == step]
            if word != "la" or len(own) != 1 or len(later) != 1:
                continue
            if own[0] < later[0] and pair.source[own[0]] == "the":
                yield pair, step, own[0], later[0]


def article_steps(batch: Batch) -> Tensor:
    """Mark the steps of a batch at which `articles` finds a *la*, (B, T)."""
    steps = torch.zeros_like(batch.target, dtype=torch.bool)
    for row, pair in zip(steps, batch.pairs, strict=True):
        for _, step, *_ in articles([pair]):
            row[step] = True
    return steps


def masculine_like(english: str) -> str:
    """Give a masculine noun that stands for the same kind of thing, and makes *le*, not *l'*."""
    nouns = lexicon().nouns
    kinds = next(noun.kinds for noun in nouns if noun.english[0] == english)
    masculine = [n for n in nouns if not n.feminine and n.french[0][0] not in "aeiouhéèêœ"]
    return max(masculine, key=lambda noun: len(noun.kinds & kinds)).english[0]


def pronouns_turned(
    translator: translation.Translator, pairs: Sequence[Pair]
) -> Iterator[dict[str, float | str]]:
    """Carry over states from a sentence with *them*: whether the pronoun becomes *les*."""
    drawn = random.Random(0)
    for pair, step, place in pronouns(pairs):
        other = with_word(pair, place, "them")
        _, rows = exchanged(translator, pair, pair, [[]], step, since=0)
        look = rows[0].argmax().item()
        before = [place - 2, place - 1]
        places = range(len(pair.source) + 1)
        control = drawn.choice([one for one in places if one not in (place, look, *before)])
        choices = {
            "none": [],
            "looked at": [look],
            "own": [place],
            "before": before,
            "random": [control],
            "all": places,
        }
        for when, found in written(translator, pair, other, choices, step, WHEN):
            if found.pop("none") == pair.target[step]:
                turned = {name: word == "les" for name, word in found.items()}
                looks = {"on it": look == place, "looks before": look in before}
                yield {"when": when, **looks, **turned}


def pronouns(pairs: Sequence[Pair]) -> Iterator[tuple[Pair, int, int]]:
    """Each direct object before its French verb: its step, and the place of the English pronoun.

    Left out is what *them* would not make *les*: *me*, *te* and *nous* can be indirect objects
    (*leur*), and *nous* can stand after a preposition (*eux*).
    """
    for pair in pairs:
        if "indirect pronoun" in pair.constructions:
            continue
        for place, step in sorted(pair.sure):
            if pair.source[place] not in ENGLISH_OBJECTS or place < 2:
                continue
            free = pair.target[step - 1] not in ("avec", "de", "d'")
            if pair.target[step] in FRENCH_OBJECTS and free:
                yield pair, step, place
