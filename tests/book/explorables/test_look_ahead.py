"""Look ahead: what it keeps of PyTorch's numbers, and what a reader meets who changes a letter."""

from functools import cache

import pytest
import torch
from explorable_pages import (
    document,
    frame,
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
