"""Swap: what it keeps of PyTorch's numbers, and what a reader meets who exchanges states."""

from functools import cache

import pytest
import torch
from explorable_pages import frame, shown

import d2lattn as d2l
from d2lattn.book.explorables import Swap

SOURCE, OTHER = ["the", "happy", "cow", "saw", "her"], ["the", "happy", "dog", "saw", "her"]
VOCABULARY = ["<eos>", "le", "la", "vache", "chien", "heureuse", "heureux"]


@cache
def computed():
    """What an untrained translator makes of a sentence: what it writes, and PyTorch's numbers."""
    torch.manual_seed(3)
    model = d2l.EncoderDecoder(
        d2l.Seq2SeqEncoder(9, 8, 12, 1, bidirectional=True),
        d2l.Seq2SeqAttentionDecoder(len(VOCABULARY), 8, 12, 1),
    ).eval()
    with torch.no_grad():
        model.encoder.embedding.weight.mul_(20)  # so that states differ,
        model.decoder.attention.w_v.weight.mul_(20)  # weights are large,
        model.decoder.dense.weight.mul_(5)  # and exchanging some turns a word
    ours, other = torch.tensor([[3, 4, 5, 6, 7]]), torch.tensor([[3, 4, 8, 6, 7]])
    target = torch.zeros(1, 4, dtype=torch.long)
    for step in range(4):  # what the model itself would write
        chances = d2l.exchange_each_state(model, ours, other, target)
        target[0, step] = chances[0, step, 0].argmax()
    chances = d2l.exchange_each_state(model, ours, other, target)[0]
    with torch.no_grad():
        model(ours, d2l.shift_right(target))
    return target[0].tolist(), model.decoder.attention_weights[0], chances


def figure(**state) -> Swap:
    target, weights, chances = computed()
    words = [VOCABULARY[token] for token in target]
    sentence = {"source": SOURCE, "target": words, "place": 2, "word": "dog"}
    saw = {"weights": weights, "chances": chances}
    return Swap([sentence], {"both ways": [saw]}, VOCABULARY, **state)


def writes(page) -> list[str]:
    """The words right of the picture."""
    return page.locator(".d2lx-written span").all_inner_texts()


def test_keeps_pytorchs_numbers_and_every_turn():
    target, weights, chances = computed()
    kept = figure()
    turned = 0
    for j in range(-1, len(SOURCE)):
        for row, found in enumerate(kept.effects(0, 0, j)):
            word, was, now, other, other_was, other_now = found
            before, after = chances[row, 0], chances[row, 1 + j]
            best = after.argmax().item()
            assert (word, other) == (VOCABULARY[target[row]], VOCABULARY[best])
            wanted = before[target[row]], after[target[row]], before[best], after[best]
            found = torch.tensor([was, now, other_was, other_now])
            torch.testing.assert_close(found, torch.stack(wanted), rtol=0, atol=5.1e-4)
            turned += word != other
    assert 0 < turned < 4 * len(SOURCE)
    shown_weights = torch.tensor(kept.data["cases"][0]["readers"][0]["weights"])
    torch.testing.assert_close(shown_weights, weights[:, : len(SOURCE)], rtol=0, atol=5.1e-4)


@pytest.mark.browser
def test_every_column_shows_pytorchs_numbers(visit):
    target, _, chances = computed()
    page = visit(figure().to_html())
    for j in range(len(SOURCE)):
        page.get_by_role("button", name="Next column").click()
        frame(page)
        best = chances[:, 1 + j].argmax(dim=-1).tolist()
        turns = [a != b for a, b in zip(best, target, strict=True)]
        wanted = [f"{'→ ' * turn}{VOCABULARY[b]}" for turn, b in zip(turns, best, strict=True)]
        assert writes(page) == wanted
        for row, turn in enumerate(turns):
            after = chances[row, 1 + j]
            likeliest = f"{'other' if turn else 'own'}-is-{row}"
            assert shown(page, likeliest) == pytest.approx(after.max().item(), abs=5.1e-4)
            was, now = (chances[row, k, target[row]].item() for k in (0, 1 + j))
            assert shown(page, f"own-was-{row}") == pytest.approx(was, abs=5.1e-4)
            assert shown(page, f"own-is-{row}") == pytest.approx(now, abs=5.1e-4)
