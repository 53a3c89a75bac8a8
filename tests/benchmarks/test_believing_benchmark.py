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


@pytest.mark.parametrize(
    ("feminine", "masculine"),
    [("cow", "dog"), ("queen", "boy"), ("story", "book"), ("city", "garden"), ("table", "boat")],
)
def test_another_noun_stands_for_the_same_kind_of_thing(feminine, masculine):
    assert exchanging.masculine_like(feminine) == masculine


def test_it_asks_about_direct_objects_before_their_verb():
    asked = {
        " ".join(pair.source): (pair.source[place], pair.target[step])
        for pair, step, place in exchanging.pronouns(corpus().test)
    }
    assert len(asked) > 60
    assert asked["you always listened to her ."] == ("her", "l'")
    assert asked["our hero finds him ."] == ("him", "le")
    assert asked["the owls listen to me behind a strange hotel ."] == ("me", "m'")
    every = [" ".join(pair.source) for pair in corpus().test]
    for other in (
        "some interesting children do not answer us .",
        "who did not look for them here ?",
    ):
        assert other in every  # *nous*, for *leur*; and what is *them* already
        assert other not in asked


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


def test_all_exchanged_at_all_steps_is_the_model_that_reads_the_other_sentence():
    translator, (pair, *others) = untrained(translation.BOTH), corpus().train
    other = next(one for one in others if len(one.source) == len(pair.source))
    ours, theirs = batch_of(translator, pair), batch_of(translator, other)
    places = range(len(pair.source) + 1)
    found, _ = exchanging.exchanged(translator, pair, other, [places], 3, 0)
    torch.testing.assert_close(found[0], chances(translator, theirs.source, ours.target)[3])


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


def test_each_choice_carries_its_own_states():
    translator, (pair, *_) = untrained(translation.FORWARD), corpus().train
    word = next(word for word in translator.source_vocab.tokens if word not in pair.source[2:3])
    other = exchanging.with_word(pair, 2, word)
    assert other.source[2] == word
    assert other.source[:2] + other.source[3:] == pair.source[:2] + pair.source[3:]
    choices = [[], [0, 1], [2], [2, 3]]
    together, _ = exchanging.exchanged(translator, pair, other, choices, 2, 2)
    for row, places in zip(together, choices, strict=True):
        (alone,), _ = exchanging.exchanged(translator, pair, other, [places], 2, 2)
        torch.testing.assert_close(row, alone)
    assert torch.equal(together[0], together[1])  # read forwards: not changed yet
    assert not torch.allclose(together[0], together[2])
    assert not torch.allclose(together[2], together[3])


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


def test_a_pronoun_turns_with_the_word_before_it(monkeypatch):
    translator = untrained(translation.BOTH)

    def rule(pair, other, places, step):
        if places and pair.source[0] == "you":
            return "les"  # whatever was carried over
        if pair != other and changed_place(pair, other) - 1 in places:
            return "les"
        return pair.target[step]

    def beside(pair, other):
        asked = exchanging.pronouns(corpus().test)
        return next(place for one, _, place in asked if one == pair) - 1

    written_by(monkeypatch, translator, rule, beside)
    pairs = [pair for pair in corpus().test if "l'" in pair.target]
    found = list(exchanging.pronouns_turned(translator, pairs))
    plain = [one for one in found if not one["random"]]
    assert len(found) > len(plain) > 20
    for one in found:
        assert not one["on it"]
        assert one["looks before"]
        assert one["looked at"]
        assert one["before"]
        assert one["all"]
    assert not any(one["own"] for one in plain)
    written_by(monkeypatch, translator, lambda *_: "les", beside)
    assert not list(exchanging.pronouns_turned(translator, pairs))  # it was wrong to begin with


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


def test_other_weights_find_what_each_state_alone_would_write(monkeypatch):
    monkeypatch.setattr(other_weights, "NEAR", 0.16)  # untrained models are sensitive
    translator = untrained(translation.BOTH)
    pairs = [itself(translator, pair.source) for pair in corpus().train[:20]]
    found = iter(list(other_weights.reweigh(translator, pairs)))
    seen = set()
    for pair in pairs:
        batch = batch_of(translator, pair)
        alone = alone_at_each_step(translator.model, batch)  # (T, S, V)
        (in_turn,) = d2l.hide_each_state(translator.model, batch.source, batch.target)
        d2l.teacher_forced_attention(translator.model, batch)
        rows = translator.model.decoder.attention_weights[0]
        for step, token in enumerate(batch.target[0, :-1].tolist()):
            if token == translator.target_vocab.unk:
                continue
            word, look = next(found), rows[step].argmax().item()
            same = (alone[step].argmax(dim=-1) == token).tolist()
            near = (alone[step] - in_turn[step, 0]).abs().sum(dim=-1) / 2 < other_weights.NEAR
            assert word["looked at"] == same.pop(look)
            assert word["another"] == any(same)
            assert word["random"] in same
            assert word["near"] == any(near.tolist()[:look] + near.tolist()[look + 1 :])
            assert word["nothing"] == (in_turn[step, -1].argmax().item() == token)
            assert word["weight"] == pytest.approx(rows[step, look].item())
            assert word["on gold"] == ((look, step) in pair.possible)
            seen |= {(key, word[key]) for key in ("looked at", "another", "near", "random")}
            seen.add(("permuted", word["permuted"] > 0))
    assert next(found, None) is None
    assert len(seen) == 10  # each was true of some words and not of others


def test_a_permutation_of_equal_weights_changes_nothing():
    translator = untrained(translation.BOTH)
    pairs = [itself(translator, pair.source) for pair in corpus().train[:5]]
    assert any(word["permuted"] for word in other_weights.reweigh(translator, pairs))
    with torch.no_grad():
        translator.model.decoder.attention.w_v.weight.zero_()
    pairs = [itself(translator, pair.source) for pair in corpus().train[:5]]
    words = list(other_weights.reweigh(translator, pairs))
    assert words
    assert not any(word["permuted"] for word in words)


def test_a_table_counts_and_leaves_out_seeds_without_words():
    words = [{"where": "on", "right": True}, {"where": "on", "right": False}]
    columns = {"right": "are right"}
    assert believing.counted(words, columns, {"where": "on"}) == [2, 50.0]
    assert believing.counted(words, columns, {"where": "off"}) == [0, None]
    rows = {"some": [[2, 50.0], [0, None], [4, 100.0]], "never": [[0, None]]}
    head, _, some, never, _ = believing.table("which", columns, rows)
    assert head == "| which | words | are right |"
    assert some == "| some | 2 (0–4) | 75 (50–100) |"
    assert never == "| never | 0 | – |"


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
