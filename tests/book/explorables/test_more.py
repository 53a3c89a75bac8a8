"""What a figure shows before anybody has asked for more, and what opens the rest."""

import re

import pytest
from explorable_pages import EXAMPLES, frame

pytestmark = pytest.mark.browser

# What stands outside: at most so many things to press or to move, the points of a plot apart.
CONTROLS = {
    "CueMixer": ["The query asks for something", "How strongly the query speaks", "Reset"],
    "HeadAblation": ["Head 1", "Head 2", "Head 3", "Head 4", "Reset"],
    "NadarayaWatsonBench": ["Bandwidth h", "Reset"],
    "PermuteAndEncode": ["Add positions", "Reset"],
    "RunningSoftmax": ["Back", "Next tile (2 of 2)", "Reset"],
    "SaturationLab": ["Temperature", "Reset"],
    "TurningClock": ["Distance to the key", "Reset"],
    "WritersMemory": ["Heads that share a key", "Window", "Reset"],
}
# Words of which no page has told anything, or not yet.
UNTOLD = re.compile(r"nats|entropy|jacobian|‖J‖|frozen|gradients|salience|leave-one-out|Σ", re.I)

names = pytest.mark.parametrize("name", CONTROLS)


def controls(page) -> list[str]:
    """Names of what can be pressed or moved, but for the button that copies a link."""
    found = page.locator(".d2lx > .d2lx").locator("input, select, button").locator("visible=true")
    named = """e => e.getAttribute('aria-label')
      ?? (e.labels?.[0]?.querySelector('span') ?? e.labels?.[0] ?? e).textContent"""
    return [name for one in found.all() if (name := one.evaluate(named)) != "Copy link"]


@names
def test_a_figure_opens_with_what_its_page_asks(visit, name):
    page = visit(EXAMPLES[name]().to_html(), folded=True)
    assert controls(page) == CONTROLS[name]
    assert not UNTOLD.search(page.locator(".d2lx > .d2lx").inner_text())


@names
def test_more_opens_by_keys_and_reset_closes_nothing(visit, name):
    page = visit(EXAMPLES[name]().to_html(), folded=True)
    few = controls(page)
    more = page.get_by_text("More", exact=True)
    more.press("Enter")
    frame(page)
    assert set(controls(page)) > set(few)
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert set(controls(page)) > set(few)
    more.press("Enter")
    frame(page)
    assert controls(page) == few
