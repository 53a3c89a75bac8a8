"""Plots on their way into a page: named colours, own ids, and nothing that a page does not need."""

import base64
import io
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
from PIL import Image

import d2lattn as d2l
from d2lattn.book import figures
from website.extensions import plots

pytestmark = pytest.mark.usefixtures("book_style")


def page(prefix="p1w-", kind="wide"):
    """The current figure as a page has it: its text, and the same as elements."""
    _, metadata = figures.pictures(plt.gcf())
    html = plots.Plot(metadata[figures.SVG][kind], prefix).html(kind)
    return html, ElementTree.fromstring(html)


def draw():
    _, ax = plt.subplots()
    ax.plot([0, 1], [0, 1], "o-", color="query", label="asked")
    ax.set(title="how much", xlabel="when")
    d2l.name_curves(ax)


def test_two_plots_share_no_id():
    draw()
    found = []
    for prefix in ("p1w-", "p2w-"):
        html, root = page(prefix)
        ids = [one.get("id") for one in root.iter() if one.get("id")]
        assert ids
        assert all(name.startswith(prefix) for name in ids)
        assert all(f"#{name}" in html for name in ids)  # and each is asked for
        found += ids
    assert len(set(found)) == len(found)


def test_cells_let_through_as_much_ink_as_their_weight():
    weights = np.array([[0.0, 0.25], [0.5, 1.0]])
    d2l.show_heatmaps(weights[None, None], "keys", "queries", annotate=True)
    html, root = page()
    (mask,) = root.iter("mask")
    data = mask[0].get("href").partition(",")[2]
    with Image.open(io.BytesIO(base64.b64decode(data))) as picture:
        through = np.asarray(picture.convert("LA"))[..., 1] / 255
    np.testing.assert_allclose(through, weights, atol=0.006)
    ground, ink = (one for one in root.iter() if one.get("style") in GROUNDS)
    assert ground.get("mask") is None
    assert ink.get("mask") == f"url(#{mask.get('id')})"
    assert ground.get("d") == ink.get("d")
    assert html.count(">0.25<") == 1


GROUNDS = ("fill:var(--wash)", "fill:var(--weight)")


def test_a_notebooks_plots_are_found_by_their_png():
    draw()
    png, metadata = figures.pictures(plt.gcf())
    output = nbformat.v4.new_output("display_data", {"image/png": png}, metadata={})
    cell = nbformat.v4.new_code_cell(outputs=[output])
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("words"), cell])
    assert plots.stored_svgs(notebook) == {}
    output["metadata"] = {"image/png": metadata}
    ((name, svgs),) = plots.stored_svgs(nbformat.from_dict(notebook)).items()
    assert len(name) == 64
    assert svgs.keys() == {"wide", "narrow"}
