"""The storyboard: what it accepts, its arithmetic beside PyTorch's, and a reader going through."""

import re

import pytest
import torch
from explorable_pages import all_shown, frame

from d2lattn.analysis.steps import attention_steps
from d2lattn.book.explorables import Storyboard
from d2lattn.seq2seq import EncoderDecoder, Seq2SeqAttentionDecoder, Seq2SeqEncoder

ENGLISH = ["the", "happy", "cow", "sleeps", "<eos>"]
FRENCH = ["la", "vache", "heureuse", "dort", "<eos>"]
WORDS = ["<pad>", "<bos>", "<eos>", *FRENCH[:4], "chat", "le"]


@pytest.fixture(scope="module")
def steps():
    """Of a model with weights large enough for attention to choose."""
    torch.manual_seed(1)
    model = EncoderDecoder(
        Seq2SeqEncoder(9, 8, 12, 1, bidirectional=True),
        Seq2SeqAttentionDecoder(9, 8, 12, 1, bridge=False),
    )
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return attention_steps(model, torch.tensor([[4, 5, 6, 7, 2]]), torch.tensor([[3, 4, 5, 6, 2]]))


def board(steps, **state):
    return Storyboard(ENGLISH, FRENCH, steps, WORDS, **state)


@pytest.mark.browser
@pytest.mark.parametrize("word", range(5))
def test_every_picture_shows_pytorchs_numbers(visit, steps, word):
    page = visit(board(steps, word=word).to_html())
    source = range(len(ENGLISH))
    now = all_shown(page)

    def same(name, wanted):
        for place, number in enumerate(wanted.tolist()):
            assert now[f"{name}-{place}"] == pytest.approx(number, abs=2e-4), f"{name}-{place}"

    def onward():
        page.get_by_role("button", name="Next").click()
        frame(page)
        assert not re.search("undefined|NaN|none", page.locator(".d2lx > .d2lx").inner_text())
        return all_shown(page)

    for t in source:
        same(f"value-{t}", steps.values[t, :6])
    now = onward()
    same("before", steps.states[word, :6])
    now = onward()
    same("score", steps.scores[word])
    now = onward()
    same("weight", steps.weights[word])
    powers = steps.scores[word].exp()
    for t in source:
        assert now[f"power-{t}"] == pytest.approx(powers[t].item(), rel=2e-4)
    assert now["total"] == pytest.approx(powers.sum().item(), rel=2e-4)
    assert now["weights"] == pytest.approx(1)
    now = onward()
    parts = steps.weights[word][:, None] * steps.values
    for t in source:
        same(f"part-{t}", parts[t, :6])
    same("context", steps.contexts[word, :6])
    now = onward()
    same("context", steps.contexts[word, :6])
    same("embedding", steps.embeddings[word, :6])
    now = onward()
    same("before", steps.states[word, :6])
    same("after", steps.states[word + 1, :6])
    same("change", (steps.states[word + 1] - steps.states[word])[:6])
    now = onward()
    row = steps.probabilities[word]
    names = board(steps).candidates[word]
    same("chance", row[[WORDS.index(name) for name in names]])
    listed = sum(now[f"chance-{j}"] for j in range(5))
    assert now["rest"] == pytest.approx(1 - listed)
