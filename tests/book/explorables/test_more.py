"""What a figure shows before anybody has asked for more, and what opens the rest."""

import re

import pytest
from explorable_pages import EXAMPLES, frame

from d2lattn.book.explorables import CueMixer, SaturationLab

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
# A trait that is moved inside alone, and a value for it; one that is moved outside.
INSIDE = {
    "CueMixer": ("salience=[0,0,4,0,0]", "strength=2"),
    "HeadAblation": ("head=2", "on=[false,true,true,true]"),
    "NadarayaWatsonBench": ('kernel="boxcar"', "bandwidth=2"),
    "PermuteAndEncode": ('view="waves"', "positions=true"),
    "RunningSoftmax": ("shift=12", "scores=[1,2,5,1]"),
    "SaturationLab": ("width=256", "temperature=2"),
    "TurningClock": ("place=5", "distance=2"),
    "WritersMemory": ("layers=2", "window=4"),
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


@names
def test_a_link_opens_what_it_is_about_and_nothing_else(visit, name):
    figure = EXAMPLES[name]()
    stem = f"#d2lx.{figure.module}."
    inside, outside = INSIDE[name]
    page = visit(figure.to_html(), folded=True, hash=stem + outside)
    fold = page.locator(".d2lx-fold")
    assert fold.get_attribute("open") is None
    # Followed in the same page.
    page.evaluate(f"location.hash = '{stem}{inside}'")
    page.wait_for_timeout(100)
    frame(page)
    assert fold.get_attribute("open") is not None
    assert (
        visit(figure.to_html(), folded=True, hash=stem + inside)
        .locator(".d2lx-fold")
        .get_attribute("open")
        is not None
    )
    # What the reader has closed stays closed when all goes back to where it was.
    page.get_by_text("More", exact=True).click()
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert fold.get_attribute("open") is None


def test_a_tap_on_a_small_map_asks_for_the_large_one(visit):
    page = visit(EXAMPLES["HeadAblation"]().to_html(), folded=True)
    small = page.get_by_role("img", name="weights of head 2")
    assert not small.is_visible()
    page.get_by_text("More", exact=True).click()
    small.click()
    frame(page)
    assert page.get_by_role("application").is_visible()
    assert page.get_by_text("Head 2: weights").is_visible()


def test_the_plane_of_scores_stands_alone(visit):
    page = visit(SaturationLab(view="field", score="gaussian").to_html(), folded=True)
    assert controls(page) == ["Score"]
    assert not page.get_by_role("button", name="Copy link").is_visible()
    assert not page.get_by_role("slider", name="Key").is_visible()
    assert not page.get_by_text("Score of the key").is_visible()
    assert not page.locator(".d2lx-note:visible").count()
    for word in ("largest weight", "Variance", "gradients", "Your guess: the variance"):
        whole = page.locator(".d2lx > .d2lx").evaluate(
            "e => [...e.querySelectorAll(':not(style):not([hidden] *):not([hidden])')]"
            ".flatMap((one) => [...one.childNodes]).filter((one) => one.nodeType === 3)"
            ".map((one) => one.data).join(' ')"
        )
        assert word not in whole
    # Lines are smooth: every end of a piece lies where the score is whole.
    ends = page.locator(".d2lx-plot path[stroke-width='0.8']").evaluate_all(
        "all => all.flatMap((one) => [...(one.getAttribute('d') ?? '').matchAll("
        "/[ML]([\\d.]+) ([\\d.]+)/g)].map((m) => [Number(m[1]), Number(m[2])]))"
    )
    assert len(ends) > 200
    box = page.locator("canvas").evaluate("e => [e.clientWidth, e.clientHeight]")
    unit = box[1] / 6
    for x, y in ends:
        at = ((x - 44 - box[0] / 2) / unit, (box[1] / 2 - (y - 10)) / unit)
        score = -((at[0] - 1) ** 2 + (at[1] - 0.5) ** 2) / 2
        assert abs(score - round(score)) < 0.03


def test_a_page_that_asks_for_one_thing_shows_one_choice(visit):
    page = visit(CueMixer(brief=True).to_html(), folded=True)
    link = page.get_by_role("button", name="Copy link")
    assert controls(page) == ["The query asks for something"]
    assert not link.is_visible()
    assert not page.locator(".d2lx-note:visible").count()
    page.get_by_text("More", exact=True).click()
    frame(page)
    assert set(controls(page)) > set(CONTROLS["CueMixer"])
    assert link.is_visible()
    # A link to what is folded opens it.
    page = visit(CueMixer(brief=True).to_html(), folded=True, hash="#d2lx.cue_mixer.strength=2")
    assert page.locator(".d2lx-fold").get_attribute("open") is not None


@pytest.mark.parametrize("width", [900, 360])
def test_a_page_that_asks_whose_share_shows_every_name_and_one_slider(visit, width):
    items = ["book", "newspaper", "paper", "notebook", "coffee"]
    mixer = CueMixer(items=items, salience=[0, 0, 0, 0, 2], alone=True)
    page = visit(mixer.to_html(), folded=True, width=width)
    assert controls(page) == ["The query asks for something", "How strongly the query speaks"]
    assert not page.locator(".d2lx-plot:visible").count()
    for share in page.locator(".d2lx-shares > div").all():
        inside, around = share.locator("bdi").bounding_box(), share.bounding_box()
        for at, size in (("x", "width"), ("y", "height")):
            assert around[at] <= inside[at]
            assert inside[at] + inside[size] <= around[at] + around[size] + 0.5
