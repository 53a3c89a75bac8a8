"""Look ahead: what it keeps of PyTorch's numbers, and what a reader meets who changes a letter."""

from functools import cache
from urllib.parse import quote

import pytest
import torch
from explorable_pages import (
    HOSTILE,
    assert_words_are_text,
    contrast,
    document,
    frame,
    live,
    look_ahead,
    shown,
    tiny_decoder,
)

from d2lattn.book.explorables import LookAhead

READS, SIGNS = [">", "d", "a", "b"], list("abcdefgh>.")


@cache
def computed() -> torch.Tensor:
    """An untrained decoder of chapter 7's sizes, with its mask: (T, V, T)."""
    model = tiny_decoder().eval()
    row = torch.tensor([[SIGNS.index(one) for one in READS]])

    def scores(tokens: torch.Tensor) -> torch.Tensor:
        return model(tokens, model.init_state(None, None))[0][0].detach()

    found = torch.zeros(4, 10, 4)
    for place in range(4):
        for sign in range(10):
            changed = row.clone()
            changed[0, place] = sign
            found[place, sign] = (scores(changed) - scores(row)).abs().amax(dim=-1)
    return found


def figure(**state) -> LookAhead:
    # The other program is as if each place heard what the one behind it hears.
    masked = computed()
    return LookAhead(READS, SIGNS, {"masked": masked, "free": masked.roll(-1, dims=2)}, **state)


def numbers(page) -> list[list[str]]:
    """What stands below the places, a row for each program."""
    rows = page.locator(".d2lx-ahead tr").filter(has=page.locator("data"))
    return [row.locator("data").all_inner_texts() for row in rows.all()]


def letters(page) -> list[str]:
    return page.get_by_role("button", name="Place").locator("b").all_inner_texts()


def place(page, k: int):
    return page.get_by_role("button", name=f"Place {k}")


def sign(page, name: str):
    return page.get_by_role("button", name=name, exact=True)


def said(page) -> str:
    return page.locator(".d2lx-told").inner_text()


def test_keeps_pytorchs_numbers():
    found = figure()
    assert (found.place, found.sign) == (3, 1)
    masked = computed()
    for at in range(4):
        for to in range(10):
            one = figure(place=at, sign=to)
            moved = torch.tensor(one.moves("masked"))
            torch.testing.assert_close(moved, masked[at, to], rtol=0, atol=5.1e-3)
            # Nothing is 0 by rounding: what the mask hides, and what was not changed.
            assert (moved > 0).tolist() == [
                to != SIGNS.index(READS[at]) and k >= at for k in range(4)
            ]


GOOD = {"reads": ["a", "b"], "signs": ["a", "b"]}
MOVED = [[[0, 0], [2, 1]], [[0, 1.5], [0, 0]]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"reads": []}, "reads is"),
        ({"reads": ["a", "z"]}, "reads has 'z'"),
        ({"reads": ["a"] * 7}, "reads has 7 entries"),
        ({"signs": [str(k) for k in range(13)]}, "signs has 13 entries"),
        ({"moved": {}}, "moved needs to be a mapping"),
        ({"moved": {str(k): MOVED for k in range(4)}}, "moved needs to be a mapping"),
        ({"moved": {"one": MOVED[:1]}}, "an entry for each of 2 places"),
        ({"moved": {"one": [MOVED[0], [[0, 1]]]}}, r"\[1\] needs 2 rows of 2 numbers"),
        ({"moved": {"one": [MOVED[0], [[0, -1], [0, 0]]]}}, r"\[1\] needs numbers from 0"),
        ({"moved": {"one": [MOVED[0], [[0, 1], [0, 1]]]}}, "0 where its letter becomes itself"),
        ({"moved": {"one": [MOVED[0], [[0, float("nan")], [0, 0]]]}}, "finite"),
        ({"place": 2}, "place is 2"),
        ({"sign": 2}, "sign is 2"),
        ({"sign": -1}, "sign is -1"),
    ],
)
def test_refuses_what_does_not_fit(change, words):
    LookAhead(**GOOD, moved={"one": MOVED})
    with pytest.raises(ValueError, match=words):
        LookAhead(**({**GOOD, "moved": {"one": MOVED}} | change))


def test_without_scripts_a_change_at_each_place_is_told():
    words = look_ahead().words()
    assert words.count("<tr>") == 1 + 3 * 2  # its head, three places, two programs
    assert "<td>a → .</td><td>first program</td><td>0</td><td>0</td><td>3.32</td>" in words
    assert "<td>a → .</td><td>second program</td><td>3.3</td><td>3.31</td><td>3.32</td>" in words
    # With a sign chosen it is that one, without one the first that is not read.
    assert "<td>d → h</td>" in figure(sign=7).words()
    assert "<td>d → c</td>" in figure().words()


@pytest.mark.browser
def test_every_change_shows_pytorchs_numbers(visit):
    page = visit(figure().to_html())
    both = computed(), computed().roll(-1, dims=2)
    for at in range(4):
        place(page, at + 1).click()
        for to, name in enumerate([*"abcdefgh", "greater than", "full stop"]):
            sign(page, name).click()
            frame(page)
            assert letters(page) == [SIGNS[to] if k == at else one for k, one in enumerate(READS)]
            for k, moved in enumerate(both):
                found = [shown(page, f"moved-{k}-{one}") for one in range(4)]
                assert found == pytest.approx(moved[at, to].tolist(), abs=5.1e-3)
            wanted = [[f"{x:.2f}" for x in moved[at, to].tolist()] for moved in both]
            assert numbers(page) == wanted


@pytest.mark.browser
def test_a_person_tells_the_programs_apart_by_mouse(visit):
    page = visit(look_ahead().to_html())
    # At first the last letter is chosen and nothing is changed, so that no answer is given away.
    assert letters(page) == [">", "d", "a"]
    assert numbers(page) == [["0.00"] * 3] * 2
    assert said(page) == "Nothing is changed, and no score moves."
    assert place(page, 3).get_attribute("aria-pressed") == "true"
    sign(page, "d").click()
    frame(page)
    assert letters(page) == [">", "d", "d"]
    assert page.locator(".d2lx-once").all_inner_texts() == ["", "", "was a"]
    assert numbers(page) == [["0.00", "0.00", "3.12"], ["3.10", "3.11", "3.12"]]
    assert said(page) == (
        "a becomes d. Places that move: first program 1 of 3, second program 3 of 3."
    )
    # Another letter: the one before is again what it was.
    place(page, 1).click()
    frame(page)
    assert letters(page) == [">", "d", "a"]
    assert numbers(page) == [["0.00"] * 3] * 2
    assert page.locator(".d2lx-ahead th").nth(1).inner_text() == "> becomes"
    # The first place tells nothing: no place stands before it.
    for name in ("a", "d", "full stop"):
        sign(page, name).click()
        frame(page)
        one, other = numbers(page)
        assert one == other
        assert "0.00" not in one
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert letters(page) == [">", "d", "a"]
    assert place(page, 3).get_attribute("aria-pressed") == "true"


@pytest.mark.browser
def test_a_person_changes_a_letter_by_keyboard_and_is_told_once(visit):
    page = visit(look_ahead().to_html())
    page.evaluate(
        """() => { globalThis.heard = [];
          const status = document.querySelector('.d2lx-quiet');
          const observer = new MutationObserver(() => heard.push(status.textContent));
          observer.observe(status, { childList: true }); }"""
    )
    focused = lambda: page.evaluate("document.activeElement.ariaLabel")  # noqa: E731
    page.keyboard.press("Tab")
    assert focused() == "Place 1: greater than"
    page.keyboard.press("ArrowRight")
    assert focused() == "Place 2: d"
    page.keyboard.press("Enter")
    page.wait_for_timeout(700)
    assert page.evaluate("heard.splice(0)") == [
        "Nothing is changed, and no score moves. d, place 2, is chosen."
    ]
    assert page.get_by_role("group", name="d becomes").is_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert focused() == "a"
    page.keyboard.press("ArrowLeft")  # round to the last one
    assert focused() == "full stop"
    page.keyboard.press(" ")
    page.wait_for_timeout(700)
    assert page.evaluate("heard.splice(0)") == [
        "d, place 2, becomes full stop. "
        "first program: greater than 0.00, full stop 2.31, a 2.32. "
        "second program: greater than 2.30, full stop 2.31, a 2.32."
    ]
    assert place(page, 2).get_attribute("aria-label") == "Place 2: full stop, was d"
    # What is the browser's own moves no focus.
    page.keyboard.press("Alt+ArrowLeft")
    assert focused() == "full stop"


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_person_changes_a_letter_by_touch_on_a_phone(chromium, theme):
    phone = chromium.new_page(viewport={"width": 360, "height": 640}, has_touch=True)
    phone.set_content(document(figure().to_html(), theme=theme))
    phone.wait_for_selector(".d2lx-told")
    place(phone, 2).tap()
    sign(phone, "h").tap()
    frame(phone)
    assert letters(phone) == [">", "h", "a", "b"]
    masked, free = numbers(phone)
    assert masked[0] == "0.00" != free[0]
    boxes = phone.locator(".d2lx-ahead button").evaluate_all(
        "all => all.map((e) => e.getBoundingClientRect()).map((b) => [b.width, b.height])"
    )
    assert min(map(min, boxes)) >= 24
    # No label is broken within a word, and cause and effect are in sight together.
    becomes = phone.locator(".d2lx-ahead th[scope]").nth(1)
    lines = becomes.evaluate("""e => { const r = document.createRange();
      r.selectNodeContents(e);
      return new Set([...r.getClientRects()].map((b) => b.top)).size; }""")
    assert lines <= 2
    table = phone.locator(".d2lx-ahead").bounding_box()
    assert table["height"] <= 480
    assert table["x"] + table["width"] <= 360
    phone.close()


@pytest.mark.browser
@pytest.mark.parametrize("look", [{}, {"forced_colors": "active"}, {"media": "print"}], ids=str)
def test_bars_are_as_long_as_scores_move_and_are_seen(visit, look):
    moved = [[[0, 0, 0], [4, 2, 1]], [[0, 8, 3], [0, 0, 0]], [[0, 0, 1], [0, 0, 0]]]
    page = visit(LookAhead("abb", "ab", {"one": moved}, place=0, sign=1).to_html())
    bars = page.locator(".d2lx-rise i")
    full = page.locator(".d2lx-rise").first.evaluate("e => e.clientHeight")
    heights = [bar.bounding_box()["height"] for bar in bars.all()]
    # Of the largest change that there is, so that one sees how large this is.
    assert heights == pytest.approx([full * x / 8 for x in (4, 2, 1)], abs=0.1)
    assert full >= 48
    place(page, 2).click()
    sign(page, "a").click()
    frame(page)
    page.emulate_media(**look)
    assert all(page.locator(".d2lx-ahead b").nth(k).is_visible() for k in range(3))
    heights = [bar.bounding_box()["height"] for bar in bars.all()]
    assert heights == pytest.approx([full * x / 8 for x in (0, 8, 3)], abs=0.1)
    pair = bars.nth(1).evaluate(
        """e => [e, e.closest('td')].map((x) => getComputedStyle(x).backgroundColor)"""
    )
    paper = bars.nth(1).evaluate("e => getComputedStyle(e.closest('.d2lx')).backgroundColor")
    pair = [one if one != "rgba(0, 0, 0, 0)" else paper for one in pair]
    assert contrast(page, *pair) >= 3


@pytest.mark.browser
def test_a_score_that_hardly_moves_is_seen_to_move(visit):
    figure = LookAhead(
        "ab", "ab", {"one": [[[0, 0], [2, 0.01]], [[0, 90], [0, 0]]]}, place=0, sign=1
    )
    page = visit(figure.to_html())
    heights = [bar.bounding_box()["height"] for bar in page.locator(".d2lx-rise i").all()]
    assert min(heights) == 3
    assert numbers(page) == [["2.00", "0.01"]]


@pytest.mark.browser
def test_a_link_holds_the_change_and_a_hostile_one_breaks_nothing(visit):
    body = look_ahead().to_html()
    page = visit(body, hash="#d2lx.look_ahead.place=1&d2lx.look_ahead.sign=3")
    assert letters(page) == [">", ".", "a"]
    for bad in ("9", "-2", "1.5", '"<img>"', "[0]"):
        link = "&".join(f"d2lx.look_ahead.{name}={quote(bad)}" for name in ("place", "sign"))
        page = visit(body, hash=f"#{link}", again=True)
        assert letters(page) == [">", "d", "a"]
        assert numbers(page) == [["0.00"] * 3] * 2


@pytest.mark.browser
def test_hostile_words_are_text(visit):
    reads, signs = HOSTILE[:4], HOSTILE
    moved = [[[0.0 if k == at else 1.0] * 4 for k in range(6)] for at in range(4)]
    body = LookAhead(reads, signs, {HOSTILE[0]: moved, HOSTILE[5]: moved}).to_html()
    page = visit(body, width=360)
    for k in range(1, 5):
        place(page, k).click()
        page.locator(".d2lx-signs button").nth(5).click()
        frame(page)
        assert_words_are_text(page)


@pytest.mark.browser
def test_live_host_sends_what_python_accepts_and_follows_it(visit):
    one, page = look_ahead(), visit()
    live(page, one)
    place(page, 2).click()
    sign(page, "full stop").click()
    frame(page)
    for name, value in page.evaluate("sent").items():
        setattr(one, name, value)
    assert (one.place, one.sign) == (1, 3)
    assert one.moves("first program") == [0, 2.31, 2.32]
    page.evaluate("model.set('place', 2)")
    frame(page)
    assert letters(page) == [">", "d", "."]
    page.evaluate("model.set('sign', 1)")
    frame(page)
    assert letters(page) == [">", "d", "d"]
