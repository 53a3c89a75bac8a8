"""Figures that are drawn again when a slider moves; without a kernel, they are plain pictures."""

import base64
from collections.abc import Callable
from typing import Any

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


class LiveFigure:
    """A figure that is drawn again whenever one of its controls moves.

    As the last expression of a cell, it shows the controls above the figure if a Jupyter kernel is
    running. Otherwise, in the published book and in a notebook that is only opened, it shows the
    figure alone, drawn with the initial values of the controls.

    Args:
        draw: a function of the controls' values, by name, that returns a matplotlib figure.
        controls: ipywidgets by the name of the argument they set.

    >>> import matplotlib; matplotlib.use("agg")
    >>> import ipywidgets, matplotlib.pyplot as plt
    >>> def draw(height):
    ...     figure, axes = plt.subplots()
    ...     axes.plot([0, height])
    ...     return figure
    >>> live = LiveFigure(draw, height=ipywidgets.IntSlider(3, 1, 9))
    >>> live
    A live figure: height=3. Its controls need a running kernel.
    >>> live.controls["height"].value = 5
    >>> live.values()
    {'height': 5}
    """

    def __init__(self, draw: Callable[..., Any], **controls: Any) -> None:
        import ipywidgets

        self.draw = draw
        self.controls = controls
        # The figure has the width of the page, or less: nothing spills over on a telephone.
        png, self.metadata = self._drawn()
        self.image = ipywidgets.Image(
            value=png,
            format="png",
            layout=ipywidgets.Layout(width="640px", max_width="100%"),
        )
        self.box = ipywidgets.VBox([*controls.values(), self.image])
        for control in controls.values():
            control.observe(self._redraw, names="value")

    def values(self) -> dict[str, Any]:
        """Give the controls' values by name."""
        return {name: control.value for name, control in self.controls.items()}

    def _redraw(self, _change: Any = None) -> None:
        self.image.value, self.metadata = self._drawn()

    def _drawn(self) -> tuple[bytes, dict[str, Any]]:
        import matplotlib.pyplot as plt

        from d2lattn.book.figures import pictures

        figure = self.draw(**self.values())
        png, metadata = pictures(figure)
        plt.close(figure)  # or the cell would show it a second time
        return base64.b64decode(png), metadata

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.values().items())
        return f"A live figure: {settings}. Its controls need a running kernel."

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        bundle = {
            "text/plain": repr(self),
            "image/png": base64.b64encode(self.image.value).decode("ascii"),
        }
        # A front end that knows widgets takes this type first; the stored notebook leaves it out.
        live = self.box._repr_mimebundle_() or {}
        if WIDGET_VIEW in live:
            bundle[WIDGET_VIEW] = live[WIDGET_VIEW]
        return bundle, {"image/png": self.metadata}
