"""What an explorable accepts, refuses, says and stores, without a browser."""

import ast
import json
import math
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from explorable_pages import most_data, sizes

from d2lattn.book.explorables import CueMixer, NadarayaWatsonBench
from d2lattn.book.explorables.base import BUNDLES

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
BAD_NUMBERS = [math.nan, math.inf, -math.inf, "1", None, True, 1j, [1.0]]
BAD_LISTS = [[], [math.nan], [1.0, math.inf], "12", 3, None, ["a"], [[1.0], [2.0]], b"12"]


@pytest.mark.parametrize("bad", BAD_LISTS, ids=repr)
@pytest.mark.parametrize("name", ["xs", "ys"])
def test_bench_refuses_unusable_points(name, bad):
    if bad is not None:
        with pytest.raises(ValueError, match=name):
            NadarayaWatsonBench(**{"xs": [1, 2], "ys": [3, 4], name: bad})
    bench = NadarayaWatsonBench()
    before = bench.xs, bench.ys
    with pytest.raises(ValueError, match=name):
        setattr(bench, name, bad)
    assert (bench.xs, bench.ys) == before


@pytest.mark.parametrize("bad", BAD_NUMBERS, ids=repr)
@pytest.mark.parametrize("name", ["query", "bandwidth", "stretch"])
def test_bench_refuses_unusable_numbers(name, bad):
    with pytest.raises(ValueError, match=name):
        NadarayaWatsonBench(**{name: bad})


@pytest.mark.parametrize(
    "state",
    [
        {"bandwidth": 0},
        {"bandwidth": -1},
        {"kernel": "cosine"},
        {"kernel": 3},
        {"view": "sideways"},
        {"stretch": 3},
        {"xs": [1, 2, 3], "ys": [1, 2]},
        {"xs": [1, 2, 3]},
        {"bandwith": 1},
    ],
    ids=str,
)
def test_bench_refuses_what_does_not_fit(state):
    with pytest.raises(ValueError, match=list(state)[-1]):
        NadarayaWatsonBench(**state)


@pytest.mark.parametrize(
    "state",
    [
        {"items": []},
        {"items": ["a", 1]},
        {"items": ["a"]},
        {"salience": [0, 0, math.nan, 0, 0]},
        {"salience": [0, 0, 9, 0, 0]},
        {"salience": [0, 0]},
        {"values": [1]},
        {"matches": [[1, 2], [1]]},
        {"matches": [[1, 2]] * 5},
        {"ask": 3},
        {"ask": 0.5},
        {"strength": -1},
        {"strength": math.inf},
    ],
    ids=str,
)
def test_mixer_refuses_what_does_not_fit(state):
    with pytest.raises(ValueError, match=list(state)[-1]):
        CueMixer(**state)


@pytest.mark.parametrize("form", [list, tuple, np.array, torch.tensor])
def test_data_of_many_kinds(form):
    bench = NadarayaWatsonBench(form([1.0, 2.0]), form([0.5, 0.25]))
    assert (bench.xs, bench.ys) == ([1.0, 2.0], [0.5, 0.25])
    bench.bandwidth = torch.tensor(0.5, requires_grad=True)
    assert bench.bandwidth == 0.5
    bench.set_points([torch.tensor(1.0), np.float32(2), 3], range(3))
    assert (bench.xs, bench.ys) == ([1.0, 2.0, 3.0], [0.0, 1.0, 2.0])


def test_points_change_together_or_not_at_all():
    bench = NadarayaWatsonBench([1, 2], [3, 4])
    with pytest.raises(ValueError, match="ys"):
        bench.set_points([1, 2, 3], [1, 2])
    assert (bench.xs, bench.ys) == ([1.0, 2.0], [3.0, 4.0])


def test_traits_are_observed():
    bench, seen = NadarayaWatsonBench(), []
    bench.observe(lambda change: seen.append((change.name, change.new)), ["bandwidth", "kernel"])
    bench.bandwidth, bench.kernel = 2, "boxcar"
    assert seen == [("bandwidth", 2.0), ("kernel", "boxcar")]


def test_defaults_are_not_shared():
    first, second = CueMixer(), CueMixer()
    first.salience.append(1.0)
    assert len(second.salience) == 5


def test_output_is_the_same_every_time(example):
    first, second = (example()._repr_mimebundle_()[0] for _ in range(2))
    assert first.pop(WIDGET_VIEW) != second.pop(WIDGET_VIEW)
    assert first == second
    assert len(first["text/plain"]) < 1000
    assert not re.search(r"[0-9a-f]{32}", first["text/html"]), "a model id is in the page"


def test_each_output_is_within_its_30_kilobytes(example):
    figure = example()
    drawing, data = sizes(figure)
    assert drawing <= 30 * 1024
    assert data <= most_data(figure)


def test_state_survives_hostile_labels():
    name = "</script><!--<script>${alert(1)}\u2028\ud800"
    mixer = CueMixer(items=[name, *"bcde"])
    html = mixer.to_html()
    assert html.count("</script") == 1
    assert html.count("<!--") == html.count("-->") == 1
    html.encode("utf-8")
    state = re.search(r'^d2lx\.start\("[\w-]+",(.*)\);$', html, re.MULTILINE)
    assert json.loads(state[1])["items"] == mixer.items


def test_explorables_do_not_import_torch():
    for path in BUNDLES.parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in getattr(node, "names", [])]
            assert not any(name.split(".")[0] == "torch" for name in [*names, _module(node)])


def _module(node):
    return getattr(node, "module", None) or ""


@pytest.mark.slow
def test_wheel_has_the_bundles_that_browsers_need(tmp_path):
    root = BUNDLES.parents[3]
    copy = tmp_path / "copy"
    shutil.copytree(
        root / "d2lattn", copy / "d2lattn", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(root / name, copy)
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(tmp_path)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(copy)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    inside = {Path(name).name for name in zipfile.ZipFile(wheel).namelist()}
    assert {path.name for path in BUNDLES.glob("*.js")} <= inside
