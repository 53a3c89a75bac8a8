"""Heatmaps share one scale, say what is wrong, and cost nothing until they are drawn."""

import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from matplotlib.collections import PolyCollection, QuadMesh

import d2lattn as d2l
from d2lattn.book.palette import palette, reserved

ROOT = Path(__file__).resolve().parents[2]
DRAWING = (Phase.explicit, Phase.generate)  # shrinking draws hundreds of figures


@pytest.fixture(autouse=True)
def _fresh_figures():
    with matplotlib.rc_context():
        yield
    plt.close("all")


def panels():
    return [ax for ax in plt.gcf().axes if ax.images]


def color_bar():
    (bar,) = [ax for ax in plt.gcf().axes if not ax.images]
    return bar


def draw(matrices, **options):
    plt.close("all")
    d2l.show_heatmaps(matrices, "Keys", "Queries", **options)
    plt.gcf().canvas.draw()


def limits():
    return {ax.images[0].get_clim() for ax in panels()}


@settings(max_examples=12, deadline=None, derandomize=True, phases=DRAWING)
@given(
    hnp.arrays(
        float,
        hnp.array_shapes(min_dims=4, max_dims=4, max_side=3),
        elements=st.floats(-5, 5, allow_subnormal=False),
    ),
    st.booleans(),
)
@pytest.mark.slow
def test_every_panel_has_the_scale_of_the_color_bar(matrices, shared):
    draw(matrices, **({"vmin": None, "vmax": "shared"} if shared else {}))
    (low, high), *others = limits()
    assert not others
    if shared:
        assert low == matrices.min()
        assert high == matrices.max() or matrices.min() == matrices.max()
    else:
        assert (low, high) == (0, 1)
    # The bar may stick out by its pointed ends, and holds the whole scale.
    bottom, top = color_bar().get_ylim()
    assert bottom <= low
    assert top >= high
    shown = [np.asarray(ax.images[0].get_array()) for ax in panels()]
    assert np.array_equal(np.stack(shown), matrices.reshape(-1, *matrices.shape[2:]))


def test_queries_are_rows_and_keys_are_columns():
    draw(torch.eye(3)[None, None, :2], titles=["one"])
    (ax,) = panels()
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("Keys", "Queries", "one")
    assert ax.images[0].get_array().shape == (2, 3)
    assert ax.yaxis_inverted()  # the first query is the top row


def test_tokens_stand_at_their_cells():
    draw(torch.eye(2)[None, None], row_labels=["le", "chat"], column_labels=["the", "cat"])
    (ax,) = panels()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["the", "cat"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["le", "chat"]
    assert ax.get_xticks().tolist() == ax.get_yticks().tolist() == [0, 1]
    assert all(label.get_visible() for label in ax.get_xticklabels())


def test_masked_cells_are_hatched_and_stay_out_of_a_shared_scale():
    matrices = torch.tensor([[[[0.25, 0.75, 9.0]]]])
    draw(matrices, vmin="shared", vmax="shared", mask=torch.tensor([False, False, True]))
    (ax,) = panels()
    assert limits() == {(0.25, 0.75)}
    assert ax.images[0].get_array().mask.tolist() == [[False, False, True]]
    (hatched,) = [c for c in ax.collections if isinstance(c, PolyCollection | QuadMesh)]
    assert hatched.get_hatch()
    (cell,) = hatched.get_paths()
    assert cell.get_extents().bounds == (1.5, -0.5, 1, 1)


def contrast(one, other):
    """Of two colours, by WCAG."""
    levels = np.array([matplotlib.colors.to_rgb(one), matplotlib.colors.to_rgb(other)])
    linear = np.where(levels <= 0.04045, levels / 12.92, ((levels + 0.055) / 1.055) ** 2.4)
    dark, light = sorted(linear @ [0.2126, 0.7152, 0.0722])
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_numbers_can_be_read_on_every_cell_in_both_themes(theme):
    values = np.linspace(0, 1, 41)
    draw(values[None, None, None], annotate=True, figsize=(20, 2))
    names = {colour: name for name, colour in reserved().items()}
    ends = [matplotlib.colors.to_rgb(palette()[name][theme]) for name in ("wash", "weight")]
    for value, text in zip(values, panels()[0].texts, strict=True):
        cell = (1 - value) * np.array(ends[0]) + value * np.array(ends[1])
        assert contrast(palette()[names[text.get_color()]][theme], cell) > 3.6, value


@pytest.mark.parametrize(
    ("matrices", "options", "message"),
    [
        (torch.eye(3), {}, r"matrices has shape \(3, 3\).*matrix\[None, None\]"),
        (torch.zeros(1, 3, 3), {}, r"matrices has shape \(1, 3, 3\); four axes"),
        (torch.zeros(1, 1, 0, 3), {}, r"matrices has shape \(1, 1, 0, 3\)"),
        ([[np.eye(2), np.eye(3)]], {}, r"matrices has panels of shapes \(2, 2\), \(3, 3\)"),
        ([[np.eye(2)], [np.eye(2), np.eye(2)]], {}, "matrices cannot be read"),
        ("weights", {}, "matrices cannot be read"),
        (torch.zeros(1, 2, 3, 3), {"titles": ["one"]}, "titles has 1 entries; 2 are needed"),
        (torch.zeros(1, 1, 2, 3), {"row_labels": ["a"]}, "row_labels has 1 labels; it needs 2$"),
        (
            torch.zeros(1, 1, 2, 3),
            {"mask": torch.ones(2)},
            r"mask has shape \(2,\); .*\(1, 1, 2, 3\)",
        ),
        (torch.zeros(1, 1, 2, 3), {"vmin": 1, "vmax": 1}, "vmin is 1 and vmax is 1; vmin < vmax"),
        (torch.zeros(1, 1, 2, 3), {"vmax": "own"}, "vmax is 'own'"),
        (torch.zeros(1, 1, 2, 3), {"annotate": "two"}, "format"),
        (torch.zeros(1, 1, 2, 3), {"cmap": "Reads"}, "Reads"),
        (torch.zeros(1, 1, 2, 3), {"vmax": None, "mask": True}, "at least one finite value"),
    ],
)
def test_what_does_not_fit_is_named(matrices, options, message):
    with pytest.raises(ValueError, match=message):
        d2l.show_heatmaps(matrices, "Keys", "Queries", **options)
    assert not plt.get_fignums()  # nothing half drawn is left behind


def test_tokens_are_text_and_never_mathematics():
    tokens = ["$$", "$x^2$", "a_b", r"\$5", "5 $"]
    matrices = torch.eye(5).expand(2, 2, 5, 5)  # the panels share their ticks
    draw(matrices, row_labels=tokens, column_labels=tokens)
    written = [labels for ax in panels() for labels in (ax.get_xticklabels(), ax.get_yticklabels())]
    assert sum(map(bool, written)) == 4  # below the lower panels, left of the left ones
    for labels in filter(None, written):
        shown = [label._preprocess_math(label.get_text()) for label in labels]
        assert shown == [(token, False) for token in tokens]


def _fresh(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.slow
def test_import_loads_nothing_that_only_pictures_need():
    # PyTorch first: some versions load tqdm
    code = "import sys, torch; before = {*sys.modules}; import d2lattn; "
    loaded = _fresh(code + "print(*{m.split('.')[0] for m in {*sys.modules} - before})")
    assert "d2lattn" in loaded
    unwanted = {"matplotlib", "IPython", "ipywidgets", "anywidget", "sacrebleu", "tqdm"}
    assert not unwanted & set(loaded)


@pytest.mark.slow
def test_a_running_shell_gets_png_and_svg():
    code = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "import d2lattn as d2l\n"
        "shell = InteractiveShell.instance()\n"
        "from matplotlib.figure import Figure\n"
        "def kinds(): return [k for k in ('image/png', 'image/svg+xml')\n"
        "    if Figure in shell.display_formatter.formatters[k].type_printers]\n"
        "d2l.use_svg_display(); print(*kinds())\n"
        "d2l.use_book_style(); print(*kinds())\n"
    )
    assert _fresh(code) == ["image/svg+xml", "image/png"]


def test_the_listing_of_section_10_1_runs():
    notes = ROOT.parent / "shared" / "notes"
    found = [p for p in notes.glob("004*.txt")] if notes.is_dir() else []
    if not found:
        pytest.skip("the study notes are not beside this checkout")
    listings = re.findall(r"```py\n(.*?)```", found[0].read_text(encoding="utf-8"), re.DOTALL)
    (listing,) = [text for text in listings if "def show_heatmaps" in text]
    names = {"d2l": d2l, "torch": torch}
    exec(listing, names)
    names["show_heatmaps"](torch.eye(10).reshape(1, 1, 10, 10), xlabel="Keys", ylabel="Queries")
    ours = torch.eye(10).reshape(1, 1, 10, 10)
    d2l.show_heatmaps(ours, xlabel="Keys", ylabel="Queries")
    assert len(plt.get_fignums()) == 2


@pytest.mark.weekly
def test_import_costs_little_more_than_torch():
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "import_time.py", "3"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ratio = float(re.search(r"median ratio: ([\d.]+)", done.stdout).group(1))
    assert ratio < 1.15, done.stdout
