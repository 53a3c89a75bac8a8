"""The one sentence that goes through all chapters."""

import math

import pytest
import torch

from d2lattn import teacher_forced_attention
from d2lattn.book import running_pair
from d2lattn.book.translators import load_translator
from d2lattn.corpus import batches, load_corpus
from d2lattn.positional import sinusoids
from d2lattn.training import shift_right

LA, VACHE, HEUREUSE = range(3)


def test_chapter_1_by_hand():
    total = 1 + math.exp(2) + math.exp(4)
    by_hand = torch.tensor([1, math.exp(2), math.exp(4)]) / total  # the, happy, cow
    torch.testing.assert_close(running_pair.by_match()[VACHE], by_hand)
    # the strongest match is the word's own translation
    assert running_pair.by_match().argmax(dim=1).tolist() == [0, 2, 1]


def test_a_wider_bandwidth_smooths_and_one_changes_nothing():
    torch.testing.assert_close(running_pair.by_distance(1.0), running_pair.by_match())
    # cow is 1 away from vache's query, happy √5, the 3: e^(-1/8), e^(-5/8), e^(-9/8)
    heights = torch.tensor([math.exp(-9 / 8), math.exp(-5 / 8), math.exp(-1 / 8)])
    torch.testing.assert_close(running_pair.by_distance(2.0)[VACHE], heights / heights.sum())


def test_without_order_words_of_a_kind_share_and_waves_find_the_near_one():
    lost, found = running_pair.by_order(positions=False), running_pair.by_order(positions=True)
    # vache scores 2 · 2 with cow and dog, 2 with happy and old, 0 with the rest
    assert lost[VACHE, 2].item() == pytest.approx(
        math.exp(4) / (2 * (math.exp(4) + math.exp(2)) + 3)
    )
    assert lost.argmax(dim=1).tolist() == [0, 2, 1]
    # dog, five places from vache, has lost what cow, one place away, has won
    waves = sinusoids(7, num_hiddens=16)
    dog = found[VACHE, 2] * (waves[0] @ waves[5] - waves[0] @ waves[1]).exp()
    assert f"{found[VACHE, 2]:.2f} {dog:.2f}" == "0.65 0.17"
    gained = found.gather(1, lost.argmax(dim=1, keepdim=True)) / lost.amax(dim=1, keepdim=True)
    assert (gained > 1.5).all()
    # by hand: heureuse, at place 2, and happy, at place 1, have p·p = cos 1 + cos 0.32 + ...
    waves = sum(math.cos(10000 ** (-2 * j / 16)) for j in range(8))
    far = sum(math.cos(2 * 10000 ** (-2 * j / 16)) for j in range(8))
    ratio = found[HEUREUSE, 1] / found[HEUREUSE, 0]
    assert ratio.item() == pytest.approx(math.exp(4 + waves - far), rel=1e-4)


def test_stored_rows_are_the_weights_of_the_translators():
    english = "his old dogs and the happy cow often saw her here ."
    (pair,) = (p for p in load_corpus(num_train=0).test if " ".join(p.source) == english)
    columns = [pair.source.index(word) for word in running_pair.ENGLISH]
    rows = [pair.target.index(word) for word in running_pair.FRENCH]
    models = {}
    for name in ("four-heads", "transformer"):
        model, *vocabs, _ = load_translator(name)
        (batch,) = batches([pair], *vocabs, 1)
        with torch.no_grad():
            model(batch.source, shift_right(batch.target), batch.source_valid_lens)
        models[name] = model
    heads = models["four-heads"].decoder.heads.attention_weights[0]  # (H, T, S)
    expected = {f"5b head {i}": weights for i, weights in enumerate(heads, start=1)}
    cross = models["transformer"].decoder.attention_weights[0]  # (layers, H, T, S)
    expected["7 cross"] = cross.mean(dim=(0, 1))
    for name, label in (("bidirectional", "4 learned"), ("one-directional", "4b one way")):
        model, *vocabs, _ = load_translator(name)
        (batch,) = batches([pair], *vocabs, 1)
        (expected[label],) = teacher_forced_attention(model, batch)  # (T, S)
    learned = running_pair.LEARNED | running_pair.LEARNED_BY_TRANSFORMER
    for label, weights in expected.items():
        stored = torch.tensor(learned[label]).to(weights)
        torch.testing.assert_close(stored, weights[rows][:, columns], atol=0.0051, rtol=0)
    noun_head = models["transformer"].encoder.attention_weights[0, 1, 3]  # (S, S)
    asking = [columns[place] for place in (0, 2, 1)]  # the, cow and happy ask
    stored = torch.tensor(learned["7 self, head 4"]).to(noun_head)
    torch.testing.assert_close(stored, noun_head[asking][:, columns], atol=0.0051, rtol=0)
