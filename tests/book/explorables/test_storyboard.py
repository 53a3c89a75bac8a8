"""The storyboard: what it accepts, its arithmetic beside PyTorch's, and a reader going through."""

import re

import pytest
import torch
from explorable_pages import STEPS, all_shown, frame, story

from d2lattn.analysis.steps import attention_steps
from d2lattn.book.explorables import Storyboard
from d2lattn.seq2seq import EncoderDecoder, Seq2SeqAttentionDecoder, Seq2SeqEncoder

PICTURES = ["read", "ask", "score", "normalise", "sum", "join", "step", "write"]
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


def text(page, place):
    return re.sub("[\u2068\u2069]", "", page.locator(place).inner_text())


def test_keeps_what_is_shown_and_what_the_target_word_got(steps):
    kept = board(steps)
    assert kept.widths == [12, 8, 9]
    assert {len(row) for row in kept.values + kept.states + kept.embeddings} == {6}
    torch.testing.assert_close(torch.tensor(kept.weights()), steps.weights, rtol=0, atol=1e-4)
    for names, chances, row, one in zip(
        kept.candidates, kept.chances, steps.probabilities, FRENCH, strict=True
    ):
        assert one in names
        assert len(names) == 5
        assert names[0] == WORDS[row.argmax()]
        for name, chance in zip(names, chances, strict=True):
            assert chance == pytest.approx(row[WORDS.index(name)].item(), abs=1e-4)
    assert "0.9" in story().words()


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


@pytest.mark.browser
def test_keys_go_through_the_film_and_on_to_the_next_word(visit):
    page = visit(story().to_html())
    stage = page.get_by_role("group", name="Drawing of the step")
    now = lambda: page.locator("[aria-current=step], .d2lx-film .d2lx-now").inner_text()  # noqa: E731
    stage.press("ArrowLeft")  # there is none before the first
    frame(page)
    assert now() == "read"
    for expected in [*PICTURES[1:], "read", "ask"]:
        stage.press("ArrowRight")
        frame(page)
        assert now() == expected
    assert text(page, ".d2lx-words .d2lx-now") == "vache"
    stage.press("ArrowDown")
    page.get_by_role("button", name="write", exact=True).press("Enter")
    page.get_by_role("button", name="Next").press("Enter")  # there is none after the last
    frame(page)
    assert text(page, ".d2lx-words .d2lx-now") == "<eos>"
    assert now() == "write"
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert now() == "read"


@pytest.mark.browser
def test_without_the_film_a_word_is_chosen_and_has_one_drawing(visit):
    page = visit(story(word=1, film=False).to_html())
    weights = torch.tensor(STEPS["scores"][1]).softmax(-1)
    assert f"“cow” {weights[2]:.2f}" in text(page, ".d2lx-said")
    page.get_by_role("button", name="la").click()
    frame(page)
    weights = torch.tensor(STEPS["scores"][0]).double().softmax(-1)
    assert f"“the” {weights[0]:.2f}" in text(page, ".d2lx-said")
    page.get_by_role("button", name="Step by step").press("Enter")
    frame(page)
    assert page.get_by_role("group", name="Drawing of the step").is_visible()
