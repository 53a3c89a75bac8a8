"""Each figure of the book is light, and a move of it is painted within a frame."""

import json
import re

import pytest
from explorable_pages import frame
from lab_pages import CONTROLS, KEYS

from d2lattn.book.explorables.base import find_figures, read_script

TRAINED = {"data", "pictures", "sentences", "examples", "losses", "network"}
"""Names of states that hold what trained models did."""
MOVES, WARM_UP = 24, 6
LIMIT = 24  # milliseconds: the rule is 16, and a busy or slow machine needs more


def test_drawing_and_data_are_light(example):
    state = json.loads(re.search(r'<script type="application/json">(.*?)</script>', example)[1])
    trained = {name: state[name] for name in TRAINED & state.keys()}
    data = len(json.dumps(trained, separators=(",", ":"))) if trained else 0
    script = read_script(find_figures(example)[0])  # the kit is shared
    assert len(example.encode()) + len(script.encode()) - data <= 22 * 1024
    assert data <= (110 if "network" in trained else 15) * 1024


def paint_times(page) -> list[float]:
    """Press a key of a figure again and again: milliseconds of the main thread, move by move."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        return next(
            1000 * metric["value"] for metric in metrics if metric["name"] == "TaskDuration"
        )

    controls = (c for kind in CONTROLS for c in page.locator(f".d2lx {kind}").all())
    control = next(c for c in controls if c.is_visible() and c.is_enabled())
    keys = KEYS.get(control.evaluate("e => e.tagName"), ("ArrowRight", "ArrowLeft"))
    control.focus()
    times = []
    for move in range(WARM_UP + MOVES):
        before = spent()
        page.keyboard.press(keys[move % len(keys)])
        frame(page)
        times.append(spent() - before)
    return times[WARM_UP:]


@pytest.mark.slow
@pytest.mark.browser
def test_a_move_is_painted_within_a_frame(visit, example):
    page, slow = visit(example, folded=True), []
    for _ in range(5):  # a busy machine makes a run slow, and nothing makes it fast by chance
        slow.append(sorted(paint_times(page))[int(0.95 * MOVES)])
        if slow[-1] <= LIMIT:
            return
    pytest.fail(f"95th percentiles in ms: {[round(time, 1) for time in slow]}; limit {LIMIT}")
