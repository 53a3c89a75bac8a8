"""Heatmaps share one scale, say what is wrong, and cost nothing until they are drawn."""

import math
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


@pytest.mark.parametrize(
    "convert",
    [
        torch.as_tensor,
        lambda m: torch.as_tensor(m).requires_grad_(),
        lambda m: torch.as_tensor(m).bfloat16(),
        np.asarray,
        np.ndarray.tolist,
        lambda m: [[torch.as_tensor(panel) for panel in row] for row in m],
        lambda m: tuple(tuple(row) for row in m),
    ],
)
def test_takes_tensors_arrays_and_nested_lists(convert):
    matrices = np.arange(24).reshape(1, 2, 3, 4) / 32  # exact in bfloat16
    draw(convert(matrices))
    assert [ax.images[0].get_array().tolist() for ax in panels()] == matrices[0].tolist()


def test_queries_are_rows_and_keys_are_columns():
    draw(torch.eye(3)[None, None, :2], titles=["one"])
    (ax,) = panels()
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("Keys", "Queries", "one")
    assert ax.images[0].get_array().shape == (2, 3)
    assert ax.yaxis_inverted()  # the first query is the top row


def test_outer_labels_only():
    draw(torch.zeros(2, 2, 3, 3), titles=["a", "b"])
    assert [ax.get_xlabel() for ax in panels()] == ["", "", "Keys", "Keys"]
    assert [ax.get_ylabel() for ax in panels()] == ["Queries", "", "", ""]
    assert [ax.get_title() for ax in panels()] == ["a", "b", "a", "b"]
    draw(torch.zeros(2, 2, 3, 3), titles=[["a", "b"], ["c", "d"]])
    assert [ax.get_title() for ax in panels()] == ["a", "b", "c", "d"]


def test_tokens_stand_at_their_cells():
    draw(torch.eye(2)[None, None], row_labels=["le", "chat"], column_labels=["the", "cat"])
    (ax,) = panels()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["the", "cat"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["le", "chat"]
    assert ax.get_xticks().tolist() == ax.get_yticks().tolist() == [0, 1]
    assert all(label.get_visible() for label in ax.get_xticklabels())


def test_tokens_stand_upright_only_where_they_would_run_into_each_other():
    def rotations(tokens):
        draw(torch.eye(4)[None, None], column_labels=tokens, figsize=(4, 4))
        return {label.get_rotation() for label in panels()[0].get_xticklabels()}

    assert rotations(["le", "chat", "est", "ici"]) == {0}
    assert rotations(["le", "chat", "aujourd'hui", "ici"]) == {90}
    assert rotations(["le", "chat", "aujour\nd'hui", "ici"]) == {0}  # on two lines


def test_ticks_without_tokens_are_whole_numbers():
    draw(torch.zeros(1, 1, 12, 3))
    (ax,) = panels()
    for ticks in (ax.get_xticks(), ax.get_yticks()):
        assert np.array_equal(ticks, np.round(ticks))


@pytest.mark.parametrize(
    ("values", "extend"),
    [([0, 1], "neither"), ([0, 2], "max"), ([-1, 1], "min"), ([-1, 2], "both")],
)
def test_values_off_the_scale_give_the_bar_a_pointed_end(values, extend):
    draw([[[values]]])
    assert panels()[0].images[0].colorbar.extend == extend


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


def test_numbers_are_printed_in_readable_colours():
    draw([[[[0.0, 1.0]]]], annotate=True)
    texts = panels()[0].texts
    assert [text.get_text() for text in texts] == ["0.00", "1.00"]
    assert [text.get_color() for text in texts] == [reserved()["ink"], reserved()["paper"]]
    draw([[[[0.0, 1.0]]]], annotate=".0%", mask=[True, False])
    assert [text.get_text() for text in panels()[0].texts] == ["100%"]
    draw([[[[0.0, math.nan, 1.0]]]], annotate=True)  # what is no number has no colour
    names = ("ink", "ink", "paper")
    assert [text.get_color() for text in panels()[0].texts] == [reserved()[name] for name in names]


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


def test_numbers_fit_their_cells():
    draw(torch.rand(1, 3, 4, 5), annotate=True, figsize=(5.2, 2))
    renderer = plt.gcf().canvas.get_renderer()
    for ax in panels():
        room = ax.get_window_extent()
        for text in ax.texts:
            box = text.get_window_extent(renderer)
            assert box.width < room.width / 5
            assert box.height < room.height / 4


def test_the_notes_colours_can_still_be_had():
    draw([[[[0.0, 1.0]]]])
    assert panels()[0].images[0].cmap.name == "ink"
    draw([[[[0.0, 1.0]]]], cmap="Reds", annotate=True)
    assert panels()[0].images[0].cmap.name == "Reds"


def test_where_numbers_say_the_scale_no_bar_does():
    draw([[[[0.0, 1.0]]]], annotate=True)
    assert plt.gcf().axes == panels()


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"titles": "ab"}, "titles has type str; it needs a list of 2$"),
        ({"column_labels": "abc"}, "column_labels has type str; it needs a list of 3$"),
        ({"row_labels": "abc"}, "row_labels has type str; it needs a list of 4$"),
    ],
)
def test_one_string_is_no_list(options, message):
    with pytest.raises(TypeError, match=message):
        d2l.show_heatmaps(torch.zeros(1, 2, 4, 3), "Keys", "Queries", **options)
    assert not plt.get_fignums()


def test_tokens_are_text_and_never_mathematics():
    tokens = ["$$", "$x^2$", "a_b", r"\$5", "5 $"]
    matrices = torch.eye(5).expand(2, 2, 5, 5)  # the panels share their ticks
    draw(matrices, row_labels=tokens, column_labels=tokens)
    written = [labels for ax in panels() for labels in (ax.get_xticklabels(), ax.get_yticklabels())]
    assert sum(map(bool, written)) == 4  # below the lower panels, left of the left ones
    for labels in filter(None, written):
        shown = [label._preprocess_math(label.get_text()) for label in labels]
        assert shown == [(token, False) for token in tokens]


def test_input_is_left_as_it_was():
    matrices = torch.rand(1, 1, 3, 3, requires_grad=True)
    before = matrices.detach().clone()
    draw(matrices, mask=torch.eye(3) > 0, annotate=True)
    assert torch.equal(matrices, before)


def test_show_source_is_the_source():
    listing = d2l.show_source(d2l.use_svg_display)
    assert repr(listing).startswith("def use_svg_display() -> None:\n")
    assert listing._repr_markdown_() == f"```python\n{listing!r}\n```"
    assert not repr(d2l.show_source(torch.nn.Linear.forward)).startswith(" ")
    with pytest.raises(ValueError, match="obj is <built-in function len>"):
        d2l.show_source(len)


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
def test_style_starts_no_notebook_shell():
    code = (
        "import sys, matplotlib; matplotlib.use('agg'); import IPython, d2lattn as d2l;"
        "d2l.use_book_style(); d2l.use_svg_display(); print(IPython.get_ipython())"
    )
    assert _fresh(code) == ["None"]


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


def test_a_bar_ends_where_the_largest_number_is():
    matrices = np.array([[0.08, 1.60304967], [-3.77219135, 3.9]]).reshape(1, 1, 2, 2)
    draw(matrices, vmin=None, vmax="shared")
    assert color_bar().get_ylim() == (-3.77219135, 3.9)
