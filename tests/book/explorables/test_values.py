"""What an explorable accepts, refuses, says and stores, without a browser."""

import json
import math
import re
import tomllib

import numpy as np
import pytest
import torch

from d2lattn.book.explorables import CueMixer, NadarayaWatsonBench
from d2lattn.book.explorables.base import BUILT

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.mark.parametrize("form", [list, tuple, np.array, torch.tensor])
def test_data_of_many_kinds(form):
    bench = NadarayaWatsonBench(form([1.0, 2.0]), form([0.5, 0.25]))
    assert (bench.xs, bench.ys) == ([1.0, 2.0], [0.5, 0.25])
    bench.bandwidth = torch.tensor(0.5, requires_grad=True)
    assert bench.bandwidth == 0.5
    bench.set_points([torch.tensor(1.0), np.float32(2), 3], range(3))
    assert (bench.xs, bench.ys) == ([1.0, 2.0, 3.0], [0.0, 1.0, 2.0])


@pytest.mark.parametrize("value", [math.nan, torch.inf, "wide", [1.0], 0, None])
def test_unusable_value_is_refused_and_the_old_one_kept(value):
    with pytest.raises(ValueError, match="bandwidth"):
        NadarayaWatsonBench(bandwidth=value)
    bench = NadarayaWatsonBench(bandwidth=0.5)
    with pytest.raises(ValueError, match="bandwidth"):
        bench.bandwidth = value
    assert bench.bandwidth == 0.5


def test_state_survives_hostile_labels():
    name = "</script><!--<script>${alert(1)}\u2028\ud800"
    mixer = CueMixer(items=[name, *"bcde"])
    html = mixer.to_html()
    assert html.count("</script") == 1
    assert "<!--" not in html
    html.encode("utf-8")
    state = re.search(r'<script type="application/json">(.*?)</script>', html)
    assert json.loads(state[1])["items"] == mixer.items


def test_wheel_has_the_files_that_figures_need():
    root = BUILT.parents[3]
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["d2lattn"]
    packed = {path for pattern in patterns for path in (root / "d2lattn").glob(pattern)}
    assert {*BUILT.glob("*.js"), *BUILT.parent.rglob("*.json")} <= packed
