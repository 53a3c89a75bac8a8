"""The benchmark behind chapter 4b: whom it asks, what it changes, and its page."""

import argparse
from functools import cache

import pytest
import torch

import d2lattn as d2l
from benchmarks import believing, exchanging, other_weights, translation
from d2lattn.corpus import Vocabulary, batches, load_corpus

KINDS = translation.FORWARD, translation.BOTH


@cache
def corpus():
    return load_corpus(num_train=300, num_unseen=0, num_long=0)


def untrained(kind, pairs=None):
    pairs = pairs or corpus().train
    vocabs = [Vocabulary(getattr(pair, side) for pair in pairs) for side in ("source", "target")]
    options = argparse.Namespace(encoder_dropout=0.0, dropout=0.1)
    model = translation.build(kind, *vocabs, seed=0, options=options).eval()
    with torch.no_grad():
        model.decoder.attention.w_v.weight.mul_(20)  # so that some weights are large, some small
        model.decoder.dense.weight.mul_(5)
        model.encoder.embedding.weight.mul_(20)  # and states differ
    return translation.Translator(model, *vocabs, history=None, seconds=0.0)


def batch_of(translator, pair):
    (batch,) = batches([pair], translator.source_vocab, translator.target_vocab, batch_size=1)
    return batch


@torch.no_grad()
def chances(translator, source, target):
    logits, _ = translator.model(source, d2l.shift_right(target))
    return logits[0].softmax(dim=-1)  # (T, V)


def test_it_asks_about_articles_whose_noun_comes_later():
    found = list(exchanging.articles(corpus().test))
    assert len(found) == 98
    for pair, step, article, noun in found:
        assert pair.target[step] == "la"
        assert pair.source[article] == "the"
        assert article < noun
        assert (noun, step) in pair.agreement


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("since", [0, 3])
def test_nothing_exchanged_is_the_plain_model(kind, since):
    translator, (pair, *others) = untrained(kind), corpus().train
    other = next(one for one in others if len(one.source) == len(pair.source))
    batch = batch_of(translator, pair)
    found, rows = exchanging.exchanged(translator, pair, other, [[], []], 3, since)
    plain = chances(translator, batch.source, batch.target)[3]
    torch.testing.assert_close(found, plain.expand(2, -1))
    torch.testing.assert_close(rows[0], translator.model.decoder.attention_weights[0, 3])


def test_exchanged_at_one_step_the_steps_before_are_the_true_ones():
    translator, (pair, *others) = untrained(translation.BOTH), corpus().train
    other = next(one for one in others if len(one.source) == len(pair.source))
    model, places = translator.model, range(len(pair.source) + 1)
    ours, theirs = batch_of(translator, pair), batch_of(translator, other)
    reads, lens = d2l.shift_right(ours.target), ours.source_valid_lens
    with torch.no_grad():
        _, before = model.decoder(
            reads[:, :3], model.decoder.init_state(model.encoder(ours.source))
        )
        foreign = model.decoder.init_state(model.encoder(theirs.source), lens)
        logits, _ = model.decoder(reads[:, 3:4], foreign._replace(hidden=before.hidden))
    alone, _ = exchanging.exchanged(translator, pair, other, [places], 3, since=3)
    torch.testing.assert_close(alone, logits[:, 0].softmax(dim=-1))
    always, _ = exchanging.exchanged(translator, pair, other, [places], 3, since=0)
    assert (always - alone).abs().max() > 1e-3
    for since in (0, 1):  # at the first step, that is the same
        first, _ = exchanging.exchanged(translator, pair, other, [places], since, since)
        expected = chances(translator, theirs.source, ours.target)[0]
        assert torch.allclose(first[0], expected, atol=1e-6) == (since == 0)


def written_by(monkeypatch, translator, words, column):
    """Let the translator write what a rule makes of (pair, other, places, step)."""

    def exchanged(_, pair, other, choices, step, since):
        assert since in (0, step)
        ids = translator.target_vocab.encode([words(pair, other, c, step) for c in choices])
        rows = torch.zeros(len(choices), len(pair.source) + 1)
        rows[:, column(pair, other)] = 1
        return torch.nn.functional.one_hot(torch.tensor(ids), 999).float(), rows

    monkeypatch.setattr(exchanging, "exchanged", exchanged)


def changed_place(pair, other):
    (place,) = [s for s, (a, b) in enumerate(zip(pair.source, other.source, strict=True)) if a != b]
    return place


def test_an_article_turns_with_the_state_that_carries_the_gender(monkeypatch):
    translator = untrained(translation.BOTH)

    def rule(pair, other, places, step):
        return "le" if changed_place(pair, other) in places else "la"

    written_by(monkeypatch, translator, rule, changed_place)
    found = list(exchanging.articles_turned(translator, corpus().test[:200]))
    assert {one["when"] for one in found} == set(exchanging.WHEN)
    assert len(found) > 20
    for one in found:
        turned = [one[key] for key in ("article", "noun", "random", "all")]
        assert turned == [False, True, False, True]


@pytest.mark.parametrize("kind", [*KINDS, translation.BRIDGE])
def test_weights_as_they_are_or_none_or_one_alone(kind):
    translator, (pair, *_) = untrained(kind), corpus().train
    batch, model = batch_of(translator, pair), translator.model
    with torch.no_grad():
        values, hidden, rows = other_weights.steps(model, batch)
        none, alone = torch.zeros_like(rows), torch.eye(rows.shape[1])[1].expand_as(rows)
        found = other_weights.with_weights(
            model.decoder,
            d2l.shift_right(batch.target)[0, :-1],
            hidden,
            values,
            torch.stack((rows, none, alone), dim=1),
        )
    in_turn = d2l.hide_each_state(model, batch.source, batch.target)[0, :-1]
    torch.testing.assert_close(found[:, 0], in_turn[:, 0])
    torch.testing.assert_close(found[:, 1], in_turn[:, -1])
    torch.testing.assert_close(found[:, 2], alone_at_each_step(model, batch)[:, 1])


@torch.no_grad()
def alone_at_each_step(model, batch):
    """Probabilities (T, S, V) with all states hidden but one: the steps before as they were."""
    num_states, found = batch.source.shape[1], []
    state = model.decoder.init_state(model.encoder(batch.source, batch.source_valid_lens))
    for word in d2l.shift_right(batch.target)[:, :-1].split(1, dim=1):
        masks = torch.eye(num_states, dtype=torch.bool)
        every = [model.decoder(word, state._replace(mask=mask.view(1, 1, -1))) for mask in masks]
        found.append(torch.cat([logits[:, 0] for logits, _ in every]).softmax(dim=-1))
        _, state = model.decoder(word, state)
    return torch.stack(found)


def itself(translator, source, num_words=6):
    """Give the pair that the model itself would write, so that each word is right."""
    target = []
    for _ in range(num_words):
        one = corpus().train[0].__class__(source, (*target, "."))
        batch = batch_of(translator, one)
        best = chances(translator, batch.source, batch.target)[len(target)].argmax().item()
        target += translator.target_vocab.decode([best])
    return corpus().train[0].__class__(source, tuple(target), possible=frozenset({(0, 0)}))


@pytest.mark.slow
def test_its_page_can_be_written(page_of):
    sizes = "--pairs", 800, "--sentences", 10, "--held-out", 60, "--epochs", 1
    text = page_of(believing, "--seeds", 0, *sizes)
    hidden, noun, pronoun, weights = text.split("\n**")[1:]
    rows = [line.split("|") for line in hidden.splitlines() if line.startswith("| one-directional")]
    assert [row[1].strip() for row in rows] == [
        "one-directional, on gold",
        "one-directional, elsewhere",
    ]
    assert sum(int(row[2]) for row in rows) > 5  # words that were right, and hidden from
    assert noun.count("\n| ") == 1 + 4
    assert pronoun.count("\n| ") == 1 + 8
    assert weights.count("\n| ") == 1 + 8
