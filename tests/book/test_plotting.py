"""Heatmaps share one scale, say what is wrong, and cost nothing until they are drawn."""

from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

import d2lattn as d2l
from d2lattn.book.palette import palette, unique_colours

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _fresh_figures():
    with matplotlib.rc_context():
        yield
    plt.close("all")


def panels():
    return [ax for ax in plt.gcf().axes if ax.images]


def draw(matrices, **options):
    plt.close("all")
    d2l.show_heatmaps(matrices, "Keys", "Queries", **options)
    plt.gcf().canvas.draw()


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


def test_tokens_stand_at_their_cells():
    draw(torch.eye(2)[None, None], row_labels=["le", "chat"], column_labels=["the", "cat"])
    (ax,) = panels()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["the", "cat"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["le", "chat"]
    assert ax.get_xticks().tolist() == ax.get_yticks().tolist() == [0, 1]
    assert all(label.get_visible() for label in ax.get_xticklabels())


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
    names = {colour: name for name, colour in unique_colours().items()}
    ends = [matplotlib.colors.to_rgb(palette()[name][theme]) for name in ("wash", "weight")]
    for value, text in zip(values, panels()[0].texts, strict=True):
        cell = (1 - value) * np.array(ends[0]) + value * np.array(ends[1])
        assert contrast(palette()[names[text.get_color()]][theme], cell) > 3.6, value


def test_show_source_is_the_source():
    listing = d2l.show_source(d2l.use_svg_display)
    assert repr(listing).startswith("def use_svg_display() -> None:\n")
    assert listing._repr_markdown_() == f"```python\n{listing!r}\n```"
    assert not repr(d2l.show_source(torch.nn.Linear.forward)).startswith(" ")
    with pytest.raises(ValueError, match="obj is <built-in function len>"):
        d2l.show_source(len)


def test_queries_are_rows_and_keys_are_columns():
    draw(torch.eye(3).expand(2, 2, 3, 3)[:, :, :2], titles=[["a", "b"], ["c", "d"]])
    assert [ax.get_xlabel() for ax in panels()] == ["", "", "Keys", "Keys"]
    assert [ax.get_ylabel() for ax in panels()] == ["Queries", "", "", ""]
    assert [ax.get_title() for ax in panels()] == ["a", "b", "c", "d"]
    assert panels()[0].images[0].get_array().shape == (2, 3)
    assert panels()[0].yaxis_inverted()  # the first query is the top row


def test_masked_cells_are_hatched_and_stay_out_of_a_shared_scale():
    draw([[[[0.25, 0.75, 9.0]]]], vmin="shared", vmax="shared", mask=[False, False, True])
    (ax,) = panels()
    assert ax.images[0].get_clim() == (0.25, 0.75)
    assert ax.images[0].get_array().mask.tolist() == [[False, False, True]]
    assert any(collection.get_hatch() for collection in ax.collections)


@pytest.mark.parametrize(
    ("matrices", "options", "error", "message"),
    [
        (torch.eye(3), {}, ValueError, r"matrices has shape \(3, 3\).*matrix\[None, None\]"),
        ([[np.eye(2), np.eye(3)]], {}, ValueError, r"matrices has panels of shapes"),
        ("weights", {}, ValueError, "matrices cannot be read"),
        (torch.zeros(1, 2, 3, 3), {"titles": ["one"]}, ValueError, "titles has 1 entries"),
        (torch.zeros(1, 2, 3, 3), {"titles": "ab"}, TypeError, "titles has type str"),
        (torch.zeros(1, 1, 2, 3), {"row_labels": ["a"]}, ValueError, "row_labels has 1 labels"),
        (torch.zeros(1, 1, 2, 3), {"mask": torch.ones(2)}, ValueError, "mask has shape"),
        (torch.zeros(1, 1, 2, 3), {"vmin": 1, "vmax": 1}, ValueError, "vmin < vmax"),
        (torch.zeros(1, 1, 2, 3), {"annotate": "two"}, ValueError, "format"),
    ],
)
def test_arguments_that_do_not_fit_are_named(matrices, options, error, message):
    with pytest.raises(error, match=message):
        d2l.show_heatmaps(matrices, "Keys", "Queries", **options)
    assert not plt.get_fignums()  # nothing half drawn is left behind
