"""The storyboard: what it accepts, its arithmetic beside PyTorch's, and a reader going through."""

import copy
import re

import pytest
import torch
from explorable_pages import STEPS, frame, shown, story
from playwright.sync_api import expect

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


def given(**fields):
    found = copy.deepcopy(STEPS) | fields
    return {name: value for name, value in found.items() if value is not ...}


def text(page, place):
    return re.sub("[\u2068\u2069]", "", page.locator(place).inner_text())


def said(page):
    return text(page, ".d2lx-said")


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

    def same(name, wanted, digits=2, places=None, close=2e-4):
        wanted = wanted.tolist()
        for place in places or range(len(wanted)):
            value = shown(page, f"{name}-{place}")
            assert value == pytest.approx(wanted[place], abs=close), f"{name}-{place}"
            printed = page.locator(f"[data-name='{name}-{place}']").inner_text()
            assert float(printed.replace("−", "-")) == pytest.approx(value, abs=0.6 * 10**-digits)

    def onward():
        page.get_by_role("button", name="Next").click()
        frame(page)

    for t in source:
        same(f"value-{t}", steps.values[t, :6])
    onward()
    same("before", steps.states[word, :6])
    onward()
    same("score", steps.scores[word], 3)
    onward()
    same("weight", steps.weights[word], 3)
    powers = steps.scores[word].exp()
    for t in source:
        assert shown(page, f"power-{t}") == pytest.approx(powers[t].item(), rel=2e-4)
    assert shown(page, "total") == pytest.approx(powers.sum().item(), rel=2e-4)
    assert shown(page, "weights") == pytest.approx(1)
    onward()
    parts = steps.weights[word][:, None] * steps.values
    for t in source:
        same(f"part-{t}", parts[t, :6])
    same("context", steps.contexts[word, :6])
    onward()
    same("context", steps.contexts[word, :6])
    same("embedding", steps.embeddings[word, :6])
    onward()
    same("before", steps.states[word, :6])
    same("after", steps.states[word + 1, :6])
    same("change", (steps.states[word + 1] - steps.states[word])[:6])
    onward()
    row = steps.probabilities[word]
    names = board(steps).candidates[word]
    same("chance", row[[WORDS.index(name) for name in names]], 3)
    listed = sum(shown(page, f"chance-{j}") for j in range(5))
    assert shown(page, "rest") == pytest.approx(1 - listed)


@pytest.mark.browser
def test_keys_go_through_the_film_and_end_at_its_ends(visit):
    page = visit(story().to_html())
    now = page.locator(".d2lx-film .d2lx-now")
    stage = page.get_by_role("group", name="Drawing of the step")
    next_, back = (page.get_by_role("button", name=name) for name in ("Next", "Back"))
    stage.press("ArrowLeft")
    frame(page)
    assert now.inner_text() == "read"
    assert back.get_attribute("aria-disabled") == "true"
    for wanted in [*PICTURES[1:], "read", "ask"]:
        # Wherever the focus is, but in a control that has its own use for the key.
        (stage if wanted < "o" else next_).press("ArrowRight")
        frame(page)
        assert now.inner_text() == wanted
    assert text(page, ".d2lx-words .d2lx-now") == "vache"
    stage.press("ArrowDown")
    frame(page)
    assert text(page, ".d2lx-words .d2lx-now") == "<eos>"
    assert now.inner_text() == "ask"
    stage.press("ArrowDown")
    page.get_by_role("button", name="write", exact=True).press("Enter")
    frame(page)
    assert now.inner_text() == "write"
    assert said(page).endswith("The sentence ends.")
    assert next_.get_attribute("aria-disabled") == "true"
    next_.press("Enter")
    frame(page)
    assert now.inner_text() == "write"
    back.press("Enter")
    frame(page)
    assert now.inner_text() == "step"
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert now.inner_text() == "read"
    assert text(page, ".d2lx-words .d2lx-now") == "la"


@pytest.mark.browser
def test_without_the_film_a_word_is_chosen_and_has_one_drawing(visit):
    page = visit(story(word=1, film=False).to_html())
    weights = torch.tensor(STEPS["scores"][1]).softmax(-1)
    assert said(page) == f"Before it writes “vache”, it looks at “cow” {weights[2]:.2f}."
    assert page.locator(".d2lx-map text:not([data-number])").all_text_contents() == [
        *["the", "happy", "cow", "<eos>", "vache"]
    ]
    flows = page.locator("[data-flow]").evaluate_all(
        "es => es.map(e => parseFloat(e.style.strokeWidth))"
    )
    torch.testing.assert_close(torch.tensor(flows), 10 * weights, rtol=0, atol=0.01)
    assert not any(page.locator("[data-number]").all_text_contents())
    expect(page.locator(".d2lx-board")).to_be_hidden()

    def buttons():
        shown = page.locator("div:has(> .d2lx-fold) button").evaluate_all(
            "es => es.filter((e) => e.checkVisibility()).map((e) => e.textContent)"
        )
        assert page.locator(".d2lx-fold").is_visible() == ("read" not in shown)
        return shown

    assert buttons() == ["la", "vache", "<eos>", "Step by step"]  # which is folded on a page
    chosen = page.locator(".d2lx-words [aria-pressed='true']")
    assert chosen.inner_text() == "vache"
    page.get_by_role("button", name="la").click()
    frame(page)
    assert chosen.inner_text() == "la"
    assert said(page).startswith("Before it writes “la”")
    stage = page.get_by_role("group", name="Drawing of the look")
    for key, word in (("ArrowDown", "vache"), ("ArrowRight", "<eos>")):
        stage.press(key)
        frame(page)
        assert chosen.inner_text() == word
    # The film begins at its first picture, and the focus goes along, also back.
    page.get_by_role("button", name="Step by step").press("Enter")
    frame(page)
    assert page.evaluate("document.activeElement.textContent") == "read"
    assert said(page).startswith("The encoder has read")
    tools = ["Back", "Next", "Predict first", "Reset"]
    assert buttons() == ["la", "vache", "<eos>", *PICTURES, *tools]
    page.get_by_role("button", name="Reset").press("Enter")
    frame(page)
    assert page.evaluate("document.activeElement.textContent") == "Step by step"
    assert buttons() == ["la", "vache", "<eos>", "Step by step"]
    assert chosen.inner_text() == "vache"
