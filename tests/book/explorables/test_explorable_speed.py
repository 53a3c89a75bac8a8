"""The benchmark's own measurements, held to the limits."""

import statistics

import pytest
from explorable_pages import most_data, sizes

from benchmarks.explorables import CASES, Yardstick, paint_times, percentile_95

# Milliseconds that the yardstick takes where reference/benchmarks/explorables.md was measured. A
# machine on which it takes longer has as much more time for a frame. (13.2 on one on which what
# stands at 9.3 and 8.7 in that table took 14.9 and 14.8.)
YARDSTICK = 8.0


@pytest.mark.parametrize("name", CASES)
def test_bytes(name):
    figure = CASES[name]()
    drawing, data = sizes(figure)
    assert drawing <= 22 * 1024
    assert data <= most_data(figure)


# Those that took longest when the table was measured, each time; the others once a week.
LONGEST = "NadarayaWatsonBench, 100 points", "PermuteAndEncode, 8 words", "CueMixer, 5 items"


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in LONGEST else pytest.mark.weekly) for name in CASES],
)
def test_a_move_is_painted_within_a_frame(chromium, name):
    # The best of a few runs: a busy machine makes a run slow, and nothing makes it fast by chance.
    # So it is with the yardstick.
    runs, yardsticks = [], []
    for _ in range(5):
        thread, _clock = paint_times(chromium, CASES[name](), moves=60)
        runs.append(percentile_95(thread))
        if runs[-1] <= 16:
            return
        thread, _clock = paint_times(chromium, Yardstick(), moves=60)
        yardsticks.append(statistics.median(thread))
        limit = 16 * max(1.0, min(yardsticks) / YARDSTICK)
        if min(runs) <= limit:
            return
    pytest.fail(f"95th percentiles in ms: {[round(run, 1) for run in runs]}; {limit:.1f} the limit")
