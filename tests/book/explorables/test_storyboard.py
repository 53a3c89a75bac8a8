"""The storyboard: what it accepts, its arithmetic beside PyTorch's, and a reader going through."""

import copy
import math
import re

import pytest
import torch
from explorable_pages import HOSTILE, STEPS, assert_words_are_text, frame, live, shown, story
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


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"scores": ...}, "no scores"),
        ({"scores": [[1, 2, 3, 4]] * 2}, "scores has 2"),
        ({"scores": [[1, 2, 3]] * 3}, "scores.0. has 3"),
        ({"scores": [[1, 2, 3, math.nan]] * 3}, "scores"),
        ({"scores": [[1, 2, 3, 4], [1], [2]]}, "lengths"),
        ({"values": [[1, 2]] * 3}, "values has 3"),
        ({"values": [[1]] * 4}, "states.0. has 2"),
        ({"values": "abc"}, "values"),
        ({"states": [[1, 2]] * 3}, "states has 3 entries and target and one more has 4"),
        ({"embeddings": [[1]] * 4}, "embeddings has 4"),
        ({"probabilities": [[0.25] * 4]}, "probabilities has 1"),
        ({"probabilities": [[0.5] * 2] * 3}, "probabilities.0. has 2"),
    ],
    ids=str,
)
def test_refuses_steps_that_do_not_fit(fields, words):
    source, target = ["the", "happy", "cow", "<eos>"], ["la", "vache", "<eos>"]
    with pytest.raises(ValueError, match=words):
        Storyboard(source, target, given(**fields), ["<eos>", "le", "la", "vache"])


@pytest.mark.parametrize("state", [{"word": 3}, {"word": -1}, {"picture": 0}, {"picture": 9}])
def test_refuses_places_that_are_not_there(state):
    ((name, value),) = state.items()
    with pytest.raises(ValueError, match=name):
        story(**state)
    with pytest.raises(ValueError, match=name):
        setattr(story(), name, value)


def test_refuses_sentences_too_long_for_a_phone():
    many = {
        "values": [[1]] * 17,
        "states": [[1]] * 2,
        "scores": [[0] * 17],
        "embeddings": [[1]],
        "probabilities": [[1]],
    }
    with pytest.raises(ValueError, match="source has 17 words"):
        Storyboard(["a"] * 17, ["a"], many, ["a"])


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
def test_sentences_name_the_words_and_numbers_of_the_step(visit):
    page = visit(story(word=1).to_html())
    scores = torch.tensor(STEPS["scores"][1])
    weights = scores.softmax(-1)
    context = weights @ torch.tensor(STEPS["values"])
    found = []
    for _ in PICTURES:
        found.append(said(page))
        page.get_by_role("button", name="Next").click()
        frame(page)
    read, ask, score, normalise, total, join, step, write = found
    assert "4 source tokens" in read
    assert "just written “la”; its next word will be “vache”" in read
    # The previous state asks, and the row belongs to the word that comes.
    assert ask.startswith("The state that wrote “la”, s₁, asks")
    assert "s₂, which will write “vache”, cannot ask" in ask
    assert "“cow” gets the highest, 3.00, “the” the next, 0.50" in score
    assert f"“cow” gets {weights[2]:.3f}" in normalise
    assert f"sum, {scores.exp().sum():.2f}." in normalise
    assert "belongs to “vache”, which is not written yet" in normalise
    assert f"{weights[2]:.4f} × 0.2500 + {weights[0]:.4f} × 0.5000" in total
    assert total.endswith(f"= {context[0]:.3f}.".replace("-", "−"))
    assert "(2 numbers)" in join
    assert "the vector of “la”, the last word (3)" in join
    assert "reads 5 numbers" in join
    assert "number 2 moves most: from −0.50 to 0.75" in step
    assert "“vache” is the likeliest, 0.750, and is written. Then s₂ asks, for “<eos>”" in write
    # The film went on, to the next word.
    assert said(page).startswith("The encoder")
    assert text(page, ".d2lx-words [aria-pressed='true']") == "<eos>"


@pytest.mark.browser
def test_the_first_word_and_a_word_that_is_not_the_likeliest(visit):
    first = visit(story(picture=2).to_html())
    assert "s₀, the state before the first word, asks" in said(first)
    assert "all zeros" in said(first)
    steps = given(probabilities=[[0, 0.6, 0.4, 0], *STEPS["probabilities"][1:]])
    words = ["<eos>", "le", "la", "vache"]
    odd = Storyboard(["the", "happy", "cow", "."], ["la", "x", "."], steps, words, picture=8)
    page = visit(odd.to_html())
    assert "“le” is the likeliest, 0.600; “la”, which stands in this sentence, has 0.400" in said(
        page
    )
    page.locator(".d2lx-words button").nth(1).click()
    frame(page)
    assert "“x”, which stands in this sentence, has next to nothing" in said(page)


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
def test_the_drawing_lights_its_part_and_weighs_its_lines(visit):
    page = visit(story(word=1).to_html())
    lit = page.locator(".d2lx-map text.d2lx-lit")
    ahead = page.locator(".d2lx-map text.d2lx-ahead")
    wanted = [
        ["the", "happy", "cow", "<eos>", "la"],
        ["asks", "s₁"],
        [],
        [],
        ["c₂"],
        ["la", "[c₂; y]"],
        ["GRU", "s₂"],
        ["vache"],
    ]
    for picture, words in enumerate(wanted, 1):
        assert lit.all_text_contents() == words
        assert bool(ahead.count()) == (picture < 8)
        assert page.locator("[data-state]").first.is_visible() == (picture >= 4)
        page.get_by_role("button", name="Next").click()
        frame(page)
    page.locator(".d2lx-words button").nth(1).click()
    page.get_by_role("button", name="write", exact=True).press("Enter")
    frame(page)
    numbers = page.locator("[data-number]")
    weights = torch.tensor(STEPS["scores"][1]).softmax(-1)
    assert numbers.all_text_contents() == [f"{weight:.2f}" for weight in weights]
    page.locator(".d2lx-film").get_by_text("score").click()
    frame(page)
    assert numbers.all_text_contents() == ["0.5", "0.0", "3.0", "−2.0"]
    flows = page.locator("[data-flow]").evaluate_all(
        "es => es.map(e => parseFloat(e.style.strokeWidth))"
    )
    weights = torch.tensor(STEPS["scores"][1]).softmax(-1)
    torch.testing.assert_close(torch.tensor(flows), 10 * weights, rtol=0, atol=0.01)


@pytest.mark.browser
def test_words_and_pictures_are_chosen_by_mouse_and_by_touch(visit, chromium):
    body = story().to_html()
    page = visit(body)
    page.locator(".d2lx-words").get_by_text("vache").click()
    page.locator(".d2lx-film").get_by_text("normalise").click()
    frame(page)
    assert "belongs to “vache”" in said(page)
    phone = chromium.new_page(viewport={"width": 360, "height": 740}, has_touch=True)
    phone.set_content(body)
    phone.locator(".d2lx-words").get_by_text("vache").tap()
    phone.get_by_role("button", name="Next").tap()
    frame(phone)
    assert "The state that wrote “la”" in said(phone)
    targets = phone.locator(".d2lx button:visible")
    for box in [one.bounding_box() for one in targets.all()]:
        assert box["height"] >= 24
        assert box["width"] >= 24
    phone.close()


@pytest.mark.browser
def test_one_announcement_a_key_press(visit):
    page = visit(story(word=1).to_html())
    page.evaluate(
        """() => { globalThis.heard = [];
          const status = document.querySelector('.d2lx-quiet');
          const observer = new MutationObserver(() => heard.push(status.textContent));
          observer.observe(status, { childList: true }); }"""
    )
    page.get_by_role("group", name="Drawing of the step").press("ArrowRight")
    page.wait_for_timeout(700)
    (heard,) = page.evaluate("heard")
    assert re.sub("[\u2068\u2069]", "", heard) == f"2 of 8. {said(page)}"


@pytest.mark.browser
def test_predicting_hides_the_weights_until_a_guess(visit):
    # Numbers that nothing else in the figure has.
    scores = [[3.11, 0.13, -1.17, -3.19], [0.61, 0.17, 3.33, -2.22], STEPS["scores"][2]]
    source, target = ["the", "happy", "cow", "<eos>"], ["la", "vache", "<eos>"]
    figure = Storyboard(
        source, target, given(scores=scores), ["<eos>", "le", "la", "vache"], word=1, picture=5
    )
    page = visit(figure.to_html())
    now = page.locator(".d2lx-film .d2lx-now")
    page.get_by_role("button", name="Predict first").click()
    frame(page)
    assert now.inner_text() == "ask"
    assert "before it writes “vache”" in text(page, ".d2lx-guess legend")
    reveal = page.get_by_role("button", name="Reveal")
    assert reveal.is_disabled()
    weights = [f"{x:.2f}" for x in torch.tensor(scores[1]).softmax(-1).tolist()]
    told = [*weights, "3.33", "0.61", "−2.22"]

    def hidden():
        frame(page)
        assert now.inner_text() in ("read", "ask")
        everything = page.inner_text("main") + page.locator(".d2lx-quiet").text_content()
        assert not any(number in everything for number in told)
        assert page.locator("[data-name^=weight], [data-name^=score]").count() == 0
        assert not page.locator("[data-state], [data-flow]").locator("visible=true").count()

    hidden()
    page.get_by_role("button", name="Next").press("Enter")
    hidden()
    page.get_by_role("button", name="write", exact=True).press("Enter")
    hidden()
    page.locator(".d2lx-film").get_by_text("write").click(force=True)
    hidden()
    page.get_by_role("group", name="Drawing of the step").press("ArrowRight")
    hidden()
    page.get_by_role("radio", name="the").press("ArrowRight")
    assert page.get_by_role("radio", name="happy").is_checked()
    reveal.click()
    frame(page)
    assert now.inner_text() == "normalise"
    verdict = text(page, ".d2lx-verdict")
    assert verdict == (
        f"You said “happy”, which gets {weights[1]} of the weight. Most, {weights[2]}, is on “cow”."
    )
    # Of another word it would be untrue.
    page.get_by_role("group", name="Drawing of the step").press("ArrowUp")
    frame(page)
    assert text(page, ".d2lx-verdict") == ""
    page.get_by_role("button", name="Predict first").click()
    page.get_by_role("radio", name="the").check()
    page.get_by_role("button", name="Reveal").click()
    frame(page)
    assert text(page, ".d2lx-verdict").startswith(
        "You said “the”, and there it looks most: 0.94 of"
    )


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_picture_fits_a_phone(visit, theme):
    steps = given(
        values=[[-0.99] * 6] * 4,
        states=[[-0.99] * 6] * 4,
        embeddings=[[-2.99] * 64] * 3,
        scores=[[9.99, -9.99, -8.88, 9]] * 3,
    )
    long = ["internationalisation"] * 4
    figure = Storyboard(long, long[:3], steps, ["a", "b", "c", "d"])
    page = visit(figure.to_html(), width=360, theme=theme)
    for _ in PICTURES:
        over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(over) <= 0
        assert page.evaluate(
            """() => [...document.querySelectorAll('.d2lx-board data')].every((e) => {
              const [inner, outer] = [e, e.parentElement].map((x) => x.getBoundingClientRect());
              return inner.left >= outer.left - 0.5 && outer.right <= innerWidth;
            })"""
        ), said(page)
        page.get_by_role("button", name="Next").click()
        frame(page)


@pytest.mark.browser
def test_hostile_words_are_text(visit):
    source = [HOSTILE[place] for place in (0, 1, 3, 5)]
    words = ["<eos>", *source[:3]]
    page = visit(Storyboard(source, source[:3], STEPS, words).to_html(), width=360)
    for _ in range(24):
        page.get_by_role("button", name="Next").press("Enter")
        frame(page)
        assert_words_are_text(page)
    assert "<img src=…" in page.locator(".d2lx-map").text_content()
    assert "<img src=x" in page.locator(".d2lx-words").text_content()


@pytest.mark.browser
def test_live_host_sends_what_python_accepts_and_follows_it(visit):
    figure, page = story(), visit()
    live(page, figure)
    page.get_by_role("button", name="Next").click()
    page.locator(".d2lx-words button").nth(2).click()
    frame(page)
    for name, value in page.evaluate("sent").items():
        setattr(figure, name, value)
    assert (figure.word, figure.picture) == (2, 2)
    page.evaluate("() => { model.set('word', 1); model.set('picture', 4); }")
    frame(page)
    assert "belongs to “vache”" in said(page)


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


def test_the_film_is_shown_or_not():
    with pytest.raises(ValueError, match="film"):
        story(film=1)
