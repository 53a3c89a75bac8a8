"""Look ahead: what it keeps of PyTorch's numbers, and what a reader meets who changes a letter."""

from functools import cache

import pytest
import torch
from explorable_pages import all_shown, frame, tiny_decoder

from d2lattn.book.explorables import LookAhead

READS, SIGNS = [">", "d", "a", "b"], list("abcdefgh>.")


@cache
def computed() -> torch.Tensor:
    """An untrained decoder of chapter 7a's sizes, with its mask: (T, V, T)."""
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
    return page.get_by_role("button", name="Position").locator("b").all_inner_texts()


def place(page, k: int):
    return page.get_by_role("button", name=f"Position {k}")


def sign(page, name: str):
    return page.get_by_role("button", name=name, exact=True)


@pytest.mark.browser
def test_every_change_shows_pytorchs_numbers(visit):
    page = visit(figure().to_html())
    both = computed(), computed().roll(-1, dims=2)
    for at in range(4):
        place(page, at + 1).click()
        for to, name in [(0, "a"), (7, "h"), (8, "greater than"), (9, "full stop")]:
            sign(page, name).click()
            frame(page)
            assert letters(page) == [SIGNS[to] if k == at else one for k, one in enumerate(READS)]
            now = all_shown(page)
            for k, moved in enumerate(both):
                found = [now[f"moved-{k}-{one}"] for one in range(4)]
                assert found == pytest.approx(moved[at, to].tolist(), abs=5.1e-3)
            wanted = [[f"{x:.2f}" for x in moved[at, to].tolist()] for moved in both]
            assert numbers(page) == wanted
