"""Which would you sign: what it accepts, its verdicts, and a visitor's minute with it."""

import pytest
from explorable_pages import frame
from few_examples import few
from hypothesis import given
from hypothesis import strategies as st

from d2lattn.book.explorables import Sign
from d2lattn.book.explorables.sign.figure import pointed, verdicts

# The first points at "cat", which turns the word and is needed; the second at "sings", which a
# person would link to the word, and where it was not read.
OVERLOOKED = {
    "target": ["le", "chat", "rouge"],
    "asked": 0,
    "weights": [[0.3, 0.05, 0.65], [0, 0.2, 0.8], [0, 1, 0]],
    "gold": [0],
    "turned": "la",
    "exchanged": [["le", 0.9], ["le", 0.95], ["la", 0.85]],
    "hidden": [["le", 0.9], ["le", 0.97], ["les", 0.55]],
}
PLAUSIBLE = {
    "target": ["elle", "chante", "."],
    "asked": 1,
    "weights": [[0.75, 0.25], [0.125, 0.875], [0.5, 0.5]],
    "gold": [1],
    "turned": "chantent",
    "exchanged": [["chantent", 0.6], ["chante", 0.75]],
    "hidden": [["chante", 0.9], ["chante", 0.5]],
}


def test_the_verdicts_are_those_of_the_definitions():
    assert verdicts(OVERLOOKED) == {"plausible": False, "used": True, "needed": True}
    assert verdicts(PLAUSIBLE) == {"plausible": True, "used": False, "needed": False}


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
