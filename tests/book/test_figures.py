"""Figures in the book's look: ink, names at their curves, and SVG for the pages beside the PNG."""

import base64
import io
from xml.etree import ElementTree

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

import d2lattn as d2l
from d2lattn.book import figures
from d2lattn.book.palette import unique_colours

pytestmark = pytest.mark.usefixtures("book_style")


def two_lines():
    figure, ax = plt.subplots()
    ax.plot([0, 1, 2], [0, 1, 1.2], "o-", label="main")
    ax.plot([0, 1, 2], [0.1, 0.2, 0.2], "s-", label="compared")
    ax.set(xlabel="x", title="y")
    d2l.name_curves(ax)
    return figure, ax


def test_a_figure_is_stored_as_png_and_twice_as_svg():
    figure, _ = two_lines()
    png, metadata = figures.pictures(figure)
    with Image.open(io.BytesIO(base64.b64decode(png))) as picture:
        colours = picture.convert("RGB").getcolors(10**6)
    most = max(colours)[1]
    assert np.abs(np.array(most) - [0xFF, 0xFD, 0xF8]).max() <= 2  # a card of paper, in any theme
    assert metadata[figures.SVG].keys() == {"wide", "narrow"}
    sizes = {}
    for name, text in metadata[figures.SVG].items():
        root = ElementTree.fromstring(text)
        sizes[name] = float(root.get("viewBox").split()[2])
        texts = {one.text for one in root.iter("{http://www.w3.org/2000/svg}text")}
        assert {"main", "compared", "x", "y"} <= texts  # letters stay letters
        assert "2026" not in text
    # In pixels: the column, and a telephone of 360 less its margins.
    assert 560 < 4 / 3 * sizes["wide"] <= 624
    assert 280 < 4 / 3 * sizes["narrow"] <= 324
    assert tuple(figure.get_size_inches()) == (5.2, 3.0)


def test_the_same_figure_is_the_same_text():
    texts = [figures.pictures(two_lines()[0])[1] for _ in range(2)]
    assert texts[0] == texts[1]


def test_colours_have_the_names_of_what_they_stand_for():
    for name, colour in unique_colours().items():
        assert mpl.colors.to_hex(name) == colour
