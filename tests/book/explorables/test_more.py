"""What a figure keeps folded until a reader asks for more."""

import pytest
from explorable_pages import EXAMPLES, frame

pytestmark = pytest.mark.browser

FOLDED = {
    *("CueMixer", "HeadAblation", "NadarayaWatsonBench", "PermuteAndEncode"),
    *("RunningSoftmax", "SaturationLab", "TurningClock", "WritersMemory"),
}


@pytest.mark.parametrize("name", sorted(FOLDED))
def test_more_opens_by_keys_and_reset_closes_nothing(visit, name):
    page = visit(EXAMPLES[name]().to_html(), folded=True)
    controls = (
        page.locator(".d2lx > .d2lx").locator("input, select, button").locator("visible=true")
    )
    few = controls.count()
    more = page.get_by_text("More", exact=True)
    more.press("Enter")
    frame(page)
    assert controls.count() > few
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert controls.count() > few
    more.press("Enter")
    frame(page)
    assert controls.count() == few
