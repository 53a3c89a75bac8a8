"""Running softmax: what it accepts, its numbers beside PyTorch's, and a reader's way."""

import math

import pytest
import torch
from explorable_pages import frame, shown
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from d2lattn.book.explorables import RunningSoftmax


def close(x):
    return pytest.approx(float(x), rel=1e-9, abs=1e-9, nan_ok=True)


def kept(page):
    return [shown(page, name) for name in ("largest", "sum", "values")]


@pytest.mark.browser
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(-4, 9)), min_size=5, max_size=8),
    st.sampled_from([1, 2, 4]),
    st.integers(2, 8),
    st.booleans(),
    st.integers(0, 16),
)
@settings(
    deadline=None,
    max_examples=14,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_shows_pytorchs_numbers(visit, keys, tile, step, running, shift):
    scores, values = torch.tensor(keys, dtype=torch.float64).T
    state = {"tile": tile, "step": step, "running": running, "shift": shift}
    page = visit(RunningSoftmax(scores=scores, values=values, **state).to_html(), again=True)
    natural = (scores + shift) * math.log(2)
    assert shown(page, "full") == close(natural.softmax(0) @ values)
    read = slice(0, tile * step)
    if running:
        # Not in one go as on the page, but over all keys that were read at once.
        largest = natural[read].max()
        total = (natural[read].logsumexp(0) - largest).exp()
        answer = natural[read].softmax(0) @ values[read]
        found = [largest / math.log(2), total, answer * total]
        assert kept(page) == [close(x) for x in found]
        assert shown(page, "answer") == close(answer)
        return
    powers = torch.exp2(scores[read] + shift).half()
    total, weighed = torch.zeros(2, dtype=torch.half)
    for power, value in zip(powers, values[read].half(), strict=True):
        total, weighed = total + power, weighed + power * value
    rounded = [pytest.approx(float(x), rel=2e-3, nan_ok=True) for x in (total, weighed)]
    assert kept(page)[1:] == rounded


def read(page, name):
    return page.locator(f"[data-name='{name}']").inner_text()


def widths(page, kind):
    found = page.locator(f".d2lx-{kind} i").evaluate_all("es => es.map(e => e.style.width)")
    return [float(width.removesuffix("%")) for width in found]


@pytest.mark.browser
def test_the_chapters_pencil_by_keys_alone(visit):
    page = visit(RunningSoftmax().to_html())
    said = page.locator(".d2lx-step")
    formulas = page.locator(".d2lx-formula")
    state = lambda: [read(page, name) for name in ("largest", "sum", "values", "answer", "full")]  # noqa: E731
    # The answer is told when all keys are read.
    assert state() == ["2", "1.5", "2.5", "", ""]
    assert formulas.all_inner_texts() == ["s = ½ + 1 = 1.5", "u = ½·1 + 1·2 = 2.5"]
    assert page.locator(".d2lx-equal").inner_text() == ""
    onward = page.get_by_role("button", name="Next tile (2 of 2)")
    while not onward.evaluate("e => e === document.activeElement"):
        page.keyboard.press("Tab")
    page.evaluate(
        """() => { globalThis.spoken = [];
          new MutationObserver(([one]) => spoken.push(one.target.textContent))
            .observe(document.querySelector('.d2lx-quiet'), { childList: true }); }"""
    )
    page.keyboard.press("ArrowRight")
    frame(page)
    assert state() == ["3", "2", "5.25", "2.625", "2.625"]
    assert said.inner_text() == "The largest went from 2 to 3: both sums are halved."
    assert formulas.all_inner_texts() == [
        "s = 1.5 × ½ + 1 + ¼ = 2",
        "u = 2.5 × ½ + 1·3 + ¼·4 = 5.25",
    ]
    assert page.locator(".d2lx-equal").inner_text() == "Equal."
    # What was kept is half as long as before, and the new keys stand behind it.
    assert widths(page, "was") == [37.5]
    assert widths(page, "is") == [18.75, 25, 6.25]
    when = page.locator(".d2lx-keys rect").evaluate_all("es => es.map(e => e.dataset.when)")
    assert when == ["past", "past", "now", "now"]
    # No tile is left, and the focus stays where it is.
    page.keyboard.press("Enter")
    page.wait_for_timeout(700)
    assert state() == ["3", "2", "5.25", "2.625", "2.625"]
    spoken = page.evaluate("spoken")
    assert len(spoken) == 1
    assert "2 of 2 tiles read" in spoken[0]
    assert "u / s = 2.625" in spoken[0]
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    frame(page)
    assert state() == ["−∞", "0", "0", "", ""]
    assert said.inner_text() == "Nothing is read yet, and nothing kept."


@pytest.mark.browser
def test_a_score_moves_by_key_and_by_mouse(visit):
    page = visit(RunningSoftmax(step=2).to_html())
    third = page.get_by_role("slider", name="Score of key 3")
    assert third.get_attribute("aria-valuenow") == "3"
    assert third.get_attribute("aria-valuetext") == "3, read now"
    third.press("ArrowDown")
    frame(page)
    # Scores of 2 and 1 after a largest of 2: 1.5 + 1 + ½, 2.5 + 3 + 2.
    assert kept(page) == [2, 3, 7.5]
    assert "stays 2" in page.locator(".d2lx-step").inner_text()
    first = page.get_by_role("slider", name="Score of key 1")
    assert first.get_attribute("aria-valuetext") == "1, read and forgotten"
    box, foot = first.bounding_box(), page.locator("[data-when]").nth(0).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 4 * foot["height"], steps=5)
    page.mouse.up()
    frame(page)
    assert first.get_attribute("aria-valuenow") == "5"
    weights = torch.tensor([5.0, 2, 2, 1], dtype=torch.float64).mul(math.log(2)).softmax(0)
    assert shown(page, "answer") == close(weights @ torch.tensor([1.0, 2, 3, 4]).double())
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert kept(page) == [3, 2, 5.25]


@pytest.mark.browser
def test_tiles_of_every_size_end_with_the_same_and_keep_three(visit):
    page = visit(RunningSoftmax().to_html())
    size = page.get_by_label("Keys in a tile")
    for tile, steps, now in (("1", 2, 1.5), ("4", 1, 0), ("2", 2, 0)):
        size.select_option(tile)
        frame(page)
        # As much is read as before, as far as whole tiles hold it.
        assert shown(page, "sum") == now
        onward = page.locator("button", has_text="Next key" if tile == "1" else "Next tile")
        for _ in range(steps):
            onward.click()
            frame(page)
        assert onward.count() == 0
        assert kept(page) == [3, 2, 5.25]
        assert "Kept: 3 numbers. A row of weights: 4." in page.inner_text("main")
        back = page.get_by_role("button", name="Back")
        for _ in range({"1": 2, "4": 1, "2": 0}[tile]):
            back.click()
            frame(page)
