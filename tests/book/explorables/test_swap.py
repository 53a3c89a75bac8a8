"""Swap: what it keeps of PyTorch's numbers, and what a reader meets who exchanges states."""

import re
from functools import cache
from urllib.parse import quote

import pytest
import torch
from explorable_pages import HOSTILE, assert_words_are_text, frame, live, shown, swap

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


def said(page) -> str:
    return re.sub("[\u2068\u2069]", "", page.locator(".d2lx-said").inner_text())


def writes(page) -> list[str]:
    """The words right of the picture."""
    return page.locator(".d2lx-written span").all_inner_texts()


def column(page, j: int) -> dict:
    """The middle of a column in the first row."""
    box = page.locator("rect[data-value]").nth(j).bounding_box()
    return {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}


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
    page.get_by_role("button", name="Next column").click()
    frame(page)
    assert said(page) == "All states are the sentence’s own."


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": []}, "source"),
        ({"target": ["la", "vache", "unknown"]}, "unknown"),
        ({"target": ["la", "vache", "heureux"]}, "heureux"),
        ({"place": 4}, "place"),
        ({"rows": (0, 3)}, "rows"),
        ({"columns": (1, 0)}, "columns"),
        ({"word": 3}, "word"),
        ({"word": None, "place": None}, "word"),
    ],
)
def test_refuses_what_does_not_fit(change, message):
    good = {"source": ["the", "happy", "cow", "."], "target": ["la", "vache", "heureuse"]}
    sentence = {**good, "place": 2, "word": "dog", **change}
    vocabulary = ["le", "la", "vache", "chien", "heureuse", "heureux"]
    own = [[[0.9 * (k == i) for k in range(6)]] * 5 for i in (1, 2, 4)]
    saw = {"weights": [[0.25] * 4] * 3, "chances": own}
    Swap(
        [{**sentence, **good, "place": 2, "word": "dog", "rows": None, "columns": None}],
        {"a": [saw]},
        vocabulary,
    )
    with pytest.raises(ValueError, match=message):
        Swap([sentence], {"a": [saw]}, vocabulary)


def test_refuses_other_readers_and_places():
    with pytest.raises(ValueError, match="readers"):
        Swap([{}], {}, ["a"])
    with pytest.raises(ValueError, match="forwards has 0 entries"):
        Swap([{}], {"forwards": []}, ["a"])
    for state in ({"case": 2}, {"reader": 2}, {"column": 4}, {"case": 1, "column": 2}):
        with pytest.raises(ValueError, match=list(state)[-1]):
            swap(**{"column": -1} | state)


def test_its_words_name_each_turn():
    words = swap().words()
    assert "la → le, vache → chien, heureuse → heureux" in words
    assert words.count("<tr>") == 1 + 1 + 3  # its head, forwards, both ways
    assert swap(case=1, column=-1).words().count("<tr>") == 1 + 1 + 2


@pytest.mark.browser
def test_a_person_exchanges_by_mouse(visit):
    page = visit(swap(column=-1).to_html())
    assert writes(page) == ["la", "vache", "heureuse"]
    page.mouse.click(*column(page, 0).values())
    frame(page)
    assert said(page) == "The state at “the” comes from the other sentence: no word turns."
    page.mouse.click(*column(page, 2).values())
    frame(page)
    assert writes(page) == ["→ le", "→ chien", "→ heureux"]
    assert said(page) == (
        "The state at “cow” comes from the other sentence: “la” becomes “le”, “vache” becomes "
        "“chien” and “heureuse” becomes “heureux”."
    )
    assert [shown(page, f"{name}-0") for name in ("own-was", "own-is", "other-is")] == [
        0.875,
        0.125,
        0.75,
    ]
    # The picture stays that of the sentence as it is; the frame is on the column.
    frame_box, cell = page.locator("rect.d2lx-lent").bounding_box(), column(page, 2)
    assert frame_box["x"] < cell["x"] < frame_box["x"] + frame_box["width"]
    assert page.locator("[data-lent]").all_inner_texts() == ["dog"]
    page.get_by_role("button", name="both ways").click()
    frame(page)
    assert writes(page) == ["la", "→ chien", "heureuse"]
    # Its word, above it, does as well; once more, and it is put back.
    above = column(page, 0) | {"y": column(page, 0)["y"] - 30}
    for wanted in (["→ le", "vache", "heureuse"], ["la", "vache", "heureuse"]):
        page.mouse.click(*above.values())
        frame(page)
        assert writes(page) == wanted
    page.get_by_role("combobox").select_option(index=1)
    frame(page)
    assert writes(page) == ["vache", "heureuse"]
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert writes(page) == ["la", "vache", "heureuse"]


@pytest.mark.browser
def test_a_person_exchanges_by_keyboard_and_is_told_once(visit):
    page = visit(swap(column=-1, reader=1).to_html())
    page.evaluate(
        """() => { globalThis.heard = [];
          const status = document.querySelector('.d2lx-quiet');
          const observer = new MutationObserver(() => heard.push(status.textContent));
          observer.observe(status, { childList: true }); }"""
    )
    stage = page.get_by_role("application")
    stage.press("ArrowRight")
    page.wait_for_timeout(700)
    assert page.evaluate("heard.splice(0)") == [
        "French \u2068la\u2069, state at \u2068happy\u2069: 0.000"
    ]
    stage.press("Enter")
    page.wait_for_timeout(700)
    (heard,) = page.evaluate("heard.splice(0)")
    assert "“heureuse” becomes “heureux”" in heard
    assert "state at \u2068happy\u2069: 0.000, exchanged" in heard
    assert writes(page) == ["la", "vache", "→ heureux"]
    stage.press(" ")
    frame(page)
    assert writes(page) == ["la", "vache", "heureuse"]


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_person_exchanges_by_touch_on_a_phone(chromium, theme):
    from explorable_pages import document

    phone = chromium.new_page(viewport={"width": 360, "height": 740}, has_touch=True)
    phone.set_content(document(swap(column=-1).to_html(), theme=theme))
    phone.wait_for_selector(".d2lx-written span")
    phone.touchscreen.tap(*column(phone, 2).values())
    frame(phone)
    assert writes(phone) == ["→ le", "→ chien", "→ heureux"]
    # Beside the picture, and within the page.
    edges = phone.locator(".d2lx-written > div").evaluate_all(
        "es => es.map((e) => e.getBoundingClientRect()).map((b) => [b.left, b.right])"
    )
    right = phone.locator("rect.d2lx-axis").evaluate("e => e.getBoundingClientRect().right")
    assert all(right <= left and end <= 360 for left, end in edges)
    cells = phone.locator("rect[data-value]").evaluate_all(
        "es => es.map((e) => e.getBoundingClientRect().width)"
    )
    assert min(cells) >= 24
    phone.close()


@pytest.mark.browser
def test_begins_with_nothing_exchanged_and_only_what_the_page_asks_for(visit):
    page = visit(swap(column=-1, reader=1).to_html(), folded=True)
    assert said(page) == "All states are the sentence’s own."
    place = page.locator(".d2lx > .d2lx")
    buttons = place.get_by_role("button").locator("visible=true").all_inner_texts()
    assert buttons == ["forwards", "both ways", "Copy link"]
    assert not page.locator(".d2lx-cell").is_visible()
    # One sentence leaves nothing to choose.
    assert place.get_by_role("combobox").is_visible()
    assert visit(figure().to_html()).get_by_role("combobox").count() == 0


@pytest.mark.browser
def test_a_link_holds_what_is_exchanged_and_a_hostile_one_breaks_nothing(visit):
    body = swap().to_html()
    page = visit(body, hash="#d2lx.swap.reader=1&d2lx.swap.column=0")
    assert writes(page) == ["→ le", "vache", "heureuse"]
    # A column of the longer sentence, in the shorter one.
    page = visit(body, hash="#d2lx.swap.case=1&d2lx.swap.column=3")
    assert writes(page) == ["→ chien", "→ heureux"]
    for bad in ("9", "-2", "1.5", '"<img>"', "[0]"):
        link = "&".join(f"d2lx.swap.{name}={quote(bad)}" for name in ("case", "reader", "column"))
        page = visit(body, hash=f"#{link}")
        assert writes(page) == ["→ le", "→ chien", "→ heureux"]


@pytest.mark.browser
def test_hostile_words_are_text(visit):
    source, target = HOSTILE[:4], [HOSTILE[0], HOSTILE[3], HOSTILE[5]]
    vocabulary = [*target, *HOSTILE[1:3], HOSTILE[4]]
    chances = [
        [[0.6 * (k == (i if j < 3 else 3 + i)) for k in range(6)] for j in range(5)]
        for i in range(3)
    ]
    sentence = {"source": source, "target": target, "place": 1, "word": HOSTILE[5]}
    saw = [{"weights": [[0.25] * 4] * 3, "chances": chances}]
    page = visit(Swap([sentence], {HOSTILE[0]: saw}, vocabulary).to_html(), width=360)
    for _ in range(6):
        page.get_by_role("button", name="Next column").click()
        frame(page)
        assert_words_are_text(page)


@pytest.mark.browser
def test_live_host_sends_what_python_accepts_and_follows_it(visit):
    one, page = swap(), visit()
    live(page, one)
    page.get_by_role("button", name="both ways").click()
    page.get_by_text("More", exact=True).click()
    for _ in range(3):  # the last one, none, the first
        page.get_by_role("button", name="Next column").click()
    frame(page)
    for name, value in page.evaluate("sent").items():
        setattr(one, name, value)
    assert (one.case, one.reader, one.column) == (0, 1, 0)
    page.evaluate("() => { model.set('reader', 0); model.set('column', 2); }")
    frame(page)
    assert writes(page) == ["→ le", "→ chien", "→ heureux"]
