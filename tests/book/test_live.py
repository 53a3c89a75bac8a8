"""A live figure: a picture without a kernel, a redrawing widget with one."""

import base64

import ipywidgets
import matplotlib

from d2lattn.book.figures import SVG
from d2lattn.book.live import WIDGET_VIEW, LiveFigure

matplotlib.use("agg")


def make_live(drawn):
    def draw(height):
        import matplotlib.pyplot as plt

        drawn.append(height)
        figure, axes = plt.subplots(figsize=(1, 1))
        axes.plot([0, height], [0, 1])
        axes.set_xlim(0, 10)
        return figure

    return LiveFigure(draw, height=ipywidgets.IntSlider(3, 1, 9))


def test_moving_a_control_draws_again():
    drawn = []
    live = make_live(drawn)
    before = live.image.value
    live.controls["height"].value = 7
    assert drawn == [3, 7]
    assert live.image.value != before
    assert repr(live) == "A live figure: height=7. Its controls need a running kernel."


def test_without_a_kernel_there_is_the_picture():
    import matplotlib.pyplot as plt

    plt.close("all")  # another test's
    bundle, metadata = make_live([])._repr_mimebundle_()
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert set(metadata["image/png"][SVG]) == {"wide", "narrow"}  # for the pages
    assert bundle["text/plain"].startswith("A live figure: height=3.")
    assert "text/html" not in bundle  # nbval would compare it byte by byte
    assert WIDGET_VIEW in bundle
    assert not plt.get_fignums(), "a figure left open would be shown twice"
