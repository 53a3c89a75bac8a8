"""Which would you sign: what it accepts, its verdicts, and a visitor's minute with it."""

import re

import pytest
from explorable_pages import PICTURES, frame, sign
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from d2lattn.book.explorables import Sign
from d2lattn.book.explorables.sign import pointed, verdicts

few = settings(
    deadline=None,
    max_examples=12,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def test_the_verdicts_are_those_of_the_definitions():
    assert verdicts(PICTURES[0]) == {"plausible": False, "used": True, "needed": True}
    assert verdicts(PICTURES[1]) == {"plausible": True, "used": False, "needed": False}


def told(page) -> str:
    return page.locator("[data-name='told']").inner_text()


def shown(page) -> dict[str, bool]:
    return {
        name: page.locator(f"[data-name='{name}']").inner_text().endswith("yes")
        for name in ("plausible", "used", "needed")
    }


def press(page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()
    frame(page)


@st.composite
def pictures(draw):
    """A sentence of some words, with any weights and any words that its states turn it into."""
    size, height = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    asked = draw(st.integers(0, height - 1))
    weights = st.lists(st.integers(0, 20), min_size=size, max_size=size)
    word = st.tuples(
        st.sampled_from([f"t{asked}", "turned", "third"]), st.sampled_from([0.5, 0.625, 0.999])
    )
    words = st.lists(word.map(list), min_size=size, max_size=size)
    return {
        "source": [f"s{i}" for i in range(size)],
        "target": [f"t{i}" for i in range(height)],
        "other": [f"o{i}" for i in range(size)],
        "asked": asked,
        "weights": [[x / 20 for x in draw(weights)] for _ in range(height)],
        "gold": sorted(draw(st.sets(st.integers(0, size - 1), min_size=1))),
        "turned": "turned",
        "exchanged": draw(words),
        "hidden": draw(words),
        "made": "Drawn at random.",
    }


@pytest.mark.browser
@given(pictures(), st.booleans())
@few
def test_the_page_judges_as_python_does(visit, picture, signs):
    page = visit(Sign([picture]).to_html(), again=True)
    lines = page.locator(".d2lx-asked")
    row = picture["weights"][picture["asked"]]
    for line in lines.all():
        place = int(line.get_attribute("data-link").split()[0])
        assert float(line.get_attribute("stroke-width")) == pytest.approx(
            max(0.7, 15 * row[place]), abs=0.006
        )
    assert lines.count() == sum(x > 0 for x in row)
    for place, (word, chance) in enumerate(picture["exchanged"]):
        states = page.locator(".d2lx-states button")
        states.nth(place).click()
        frame(page)
        result = page.locator("[data-name='tried']").inner_text()
        assert f"({chance:.3f})" in result
        assert ("becomes" in result) == (word != picture["target"][picture["asked"]])
    press(page, "I sign" if signs else "I don’t")
    found = verdicts(picture)
    assert shown(page) == found
    assert ("you were right" in told(page)) == (signs == found["used"])
    place = pointed(picture)
    assert f"the state at s{place} was " in told(page)
    assert ("was not used" in told(page)) == (not found["used"])


@pytest.mark.browser
def test_a_minute_by_keyboard_alone(visit):
    page = visit(sign().to_html())

    def to(name):
        """Tab to what is called so."""
        for _ in range(20):
            page.keyboard.press("Tab")
            text = page.evaluate("document.activeElement.innerText || ''")
            if re.fullmatch(name, text.strip(), re.DOTALL):
                return
        pytest.fail(f"no key leads to {name}")

    to("cat.*")
    page.keyboard.press("Space")
    frame(page)
    assert page.locator(".d2lx-asks ins").inner_text() == "la"
    assert page.get_by_role("button", pressed=True).inner_text().startswith("⇄ cow") or (
        page.get_by_role("button", pressed=True).locator(".d2lx-word").inner_text() == "cow"
    )
    page.keyboard.press("Space")
    frame(page)
    assert page.locator(".d2lx-asks ins").count() == 0
    to("I don’t")
    page.keyboard.press("Enter")
    frame(page)
    # The buttons are gone: the focus is on what they led to, and a held key goes no further.
    assert page.evaluate("document.activeElement.dataset.name") == "told"
    assert told(page) == "You did not sign, and you were wrong: the state at cat was used."
    # What was not tested is tested now, in sight.
    assert page.locator(".d2lx-asks ins").inner_text() == "la"
    to("Next picture")
    page.keyboard.press("Enter")
    frame(page)
    assert "chantent" in page.evaluate("document.activeElement.innerText")
    to("I don’t")
    page.keyboard.press("Enter")
    to("Your score")
    page.keyboard.press("Enter")
    frame(page)
    assert page.evaluate("document.activeElement.innerText") == "You were right about 1 of 2."
    cells = [row.split() for row in page.locator("tbody tr").all_inner_texts()]
    assert [row[-6:] for row in cells] == [
        ["✗", "no", "✓", "yes", "✓", "yes"],
        ["✓", "yes", "✗", "no", "✗", "no"],
    ]
