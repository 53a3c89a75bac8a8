"""The book's look in matplotlib: its palette, its style, and labels beside their curves.

A figure of the book is stored twice. Notebooks show it as PNG, the same everywhere. For the pages,
the figure is also drawn as SVG, once for a wide column and once for a telephone; both drawings are
stored in the metadata of the PNG. When the book is built, `website/extensions/plots.py` puts them
into the page, in the colours of the reader's theme.
"""

import base64
import io
import sys
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager
from matplotlib.artist import Artist
from matplotlib.colors import LinearSegmentedColormap, get_named_colors_mapping
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler
from matplotlib.text import Text
from matplotlib.transforms import Bbox, IdentityTransform
from numpy.typing import NDArray

from d2lattn.book.palette import unique_colours

HERE = Path(__file__).parent

SVG = "d2lattn-svg"
"""Under this name the metadata of a PNG hold its SVG, by :data:`SIZES`."""

SIZES = {"wide": (1.25, 1.15), "narrow": (0.65, 0.9)}
"""Width and height of an SVG, in those of the figure: 5.2 inches become 624 and 324 pixels."""


# Before any figure: names for what is drawn, and the map from no weight to all of it.
get_named_colors_mapping().update(unique_colours())
if "ink" not in mpl.colormaps:
    _ends = [unique_colours()["wash"], unique_colours()["weight"]]
    mpl.colormaps.register(LinearSegmentedColormap.from_list("ink", _ends))


def book_style() -> dict[Any, Any]:
    """The settings of matplotlib for a figure of the book.

    Lines are drawn in ink: the first is thick with filled marks; the second, with which it is
    compared, is thin with hollow marks; further lines are dashed. What the vertical axis measures
    is stated above it, in the title.
    """
    lines: Any = cycler(color=["ink", "ink", "soft", "ink", "score"])
    lines += cycler(linewidth=[3.2, 1.3, 2.0, 1.6, 1.3])
    lines += cycler(linestyle=["-", "-", (0, (5, 2)), (0, (1, 1.6)), (0, (6, 2, 1, 2))])
    lines += cycler(markerfacecolor=["ink", "paper", "paper", "paper", "paper"])
    kinds = ("rm", "it", "bf", "cal", "sf", "tt")
    return {
        **mpl.rc_params_from_file(HERE / "book.mplstyle", use_default_template=False),
        "font.family": [_font(), "DejaVu Sans"],
        **{f"mathtext.{kind}": _font() for kind in kinds},
        "axes.prop_cycle": lines,
    }


@cache
def _font() -> str:
    """Name the book's sans, which lies beside this file, and is made known to matplotlib."""
    (file,) = (HERE / "fonts").glob("*.ttf")
    font_manager.fontManager.addfont(str(file))
    return font_manager.FontProperties(fname=str(file)).get_name()


def use_book_style() -> None:
    """Draw every figure from here on in the book's style, with SVG for the pages.

    Figures are drawn in ink on paper, with text that is legible on a telephone. Colours are named
    after what they stand for (``color="query"``); :func:`d2lattn.book.palette.palette` lists them.
    """
    mpl.rcParams.update(book_style())
    if shell := _use_format("png"):
        shell.display_formatter.formatters["image/png"].for_type(Figure, pictures)


def use_svg_display() -> None:
    """Show the figures of a notebook as SVG; outside a notebook this changes nothing."""
    _use_format("svg")


def _use_format(image_format: str) -> Any:
    """Let a notebook show figures in this format; give its shell, if there is one."""
    # Only a running shell has a format to set; asking for one would start it.
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None:
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats(image_format)
    return shell


_FITS: WeakKeyDictionary[Figure, Callable[[], None]] = WeakKeyDictionary()


def refit_on_resize(figure: Figure, fit: Callable[[], None]) -> None:
    """Call this now, and again whenever the figure has got another size."""
    fit()
    _FITS[figure] = fit


def _resize(figure: Figure, width: float, height: float) -> None:
    figure.set_size_inches(width, height)
    if figure in _FITS:
        _FITS[figure]()
    if (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)
    for axes in figure.axes:
        if not axes.images:
            _part_ticks(axes)


def _part_ticks(axes: Any) -> None:
    """Where words below an axis would run into each other, write them smaller."""
    for size in (10.5, 9.5, 8.5):
        axes.tick_params(axis="x", labelsize=size)
        boxes = [label.get_window_extent() for label in axes.get_xticklabels() if label.get_text()]
        if all(one.x1 < other.x0 for one, other in pairwise(boxes)):
            break


def pictures(figure: Figure) -> tuple[str, dict[str, Any]]:
    """A figure as PNG, in base64, and its metadata: the same as SVG, in each of :data:`SIZES`."""
    png = base64.b64encode(_png(figure)).decode("ascii")
    width, height = figure.get_size_inches()
    drawn = {}
    for name, (wider, taller) in SIZES.items():
        _resize(figure, wider * width, taller * height)
        drawn[name] = _svg(figure)
    _resize(figure, width, height)
    return png, {SVG: drawn}


def _draw(figure: Figure, image_format: str, **options: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format=image_format, bbox_inches="tight", pad_inches=0.03, **options)
    return file.getvalue()


def _png(figure: Figure) -> bytes:
    """With few colours, which is a third of the weight and looks the same."""
    from PIL import Image

    with Image.open(io.BytesIO(_draw(figure, "png"))) as picture:
        few = picture.convert("RGB").quantize(96, dither=Image.Dither.NONE)
    file = io.BytesIO()
    few.save(file, format="png", optimize=True)
    return file.getvalue()


def _svg(figure: Figure) -> str:
    nobody = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    return _draw(figure, "svg", metadata=nobody).decode("utf8")


def name_curves(axes: Any) -> None:
    """Write the label of each line beside it, where it covers nothing.

    This replaces a legend. The best place for each label is determined again whenever the figure
    is drawn, in any size.
    """
    axes.add_artist(_CurveNames())


class _CurveNames(Artist):
    """Names of the lines in the same axes; like a legend with ``loc="best"``, but one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.set_in_layout(False)
        self.set_zorder(4)
        self.set_clip_on(False)

    def draw(self, renderer: Any) -> None:
        """Find places, and write."""
        axes: Any = self.axes
        lines = [line for line in axes.lines if line.get_visible()]
        curves = [_trace(line) for line in lines]
        taken = [text.get_window_extent(renderer) for text in axes.texts if text.get_text()]
        dots = [
            scatter.get_offset_transform().transform(scatter.get_offsets())
            for scatter in axes.collections
            if len(scatter.get_offsets()) > 1
        ]
        for i, line in enumerate(lines):
            name = str(line.get_label())
            if name.startswith("_"):
                continue
            text = Text(0, 0, name, color=line.get_color(), linespacing=1.15)
            text.set_figure(axes.figure)
            text.set_transform(IdentityTransform())
            size = text.get_window_extent(renderer)
            others = [curve for j, curve in enumerate(curves) if j != i] + dots
            gap = renderer.points_to_pixels(4 + line.get_linewidth() / 2)
            if line.get_marker() not in ("", "None", None):
                gap += renderer.points_to_pixels(line.get_markersize() / 3)
            best = _place(curves[i], others, taken, axes.bbox, size.width, size.height, gap)
            taken.append(best)
            text.set_position((best.x0, best.y0))
            text.set_verticalalignment("bottom")
            text.draw(renderer)


def _trace(line: Any) -> NDArray[Any]:
    """Points of a line in pixels, (n, 2), so close that no word fits between two."""
    ends = line.get_transform().transform(np.asarray(line.get_xydata(), dtype=float))
    ends = ends[np.isfinite(ends).all(axis=1)]
    if len(ends) < 2 or line.get_linestyle() in ("None", "", " "):
        return ends
    steps = np.hypot(*np.diff(ends, axis=0).T)
    along = np.concatenate([[0.0], steps.cumsum()])
    places = np.linspace(0, along[-1], int(np.clip(along[-1] / 3, 2, 2000)))
    return np.stack([np.interp(places, along, ends[:, axis]) for axis in (0, 1)], axis=1)


def _place(
    own: NDArray[Any],
    others: list[NDArray[Any]],
    taken: list[Bbox],
    room: Bbox,
    width: float,
    height: float,
    gap: float,
) -> Bbox:
    """Find the box beside a curve that covers least and is nearest to it."""
    inside = own[(own >= [room.x0, room.y0]).all(1) & (own <= [room.x1, room.y1]).all(1)]
    along = inside if len(inside) else own
    points = along[np.linspace(0, len(along) - 1, 40).astype(int)]
    boxes = np.concatenate([_beside(own, x, y, width, height, gap) for x, y in points])  # (M, 4)
    x0, y0, x1, y1 = boxes.T
    other = np.concatenate(others) if others else own[:0]
    cost = 40.0 * _inside(other, boxes, gap / 2) + 400.0 * _inside(own, boxes, 0.0)
    for box in taken:
        pad = gap / 2
        across = (x0 <= box.x1 + pad) & (x1 >= box.x0 - pad)
        cost += 1000.0 * (across & (y0 <= box.y1 + pad) & (y1 >= box.y0 - pad))
    cost += 20.0 * np.maximum(np.maximum(room.x0 - x0, x1 - room.x1), 0.0)
    cost += 20.0 * np.maximum(np.maximum(room.y0 + gap / 2 - y0, y1 - room.y1), 0.0)
    near = _distances(own, boxes)
    cost += 2.0 * near
    if len(other):
        # Nearer to another curve it would be taken for its name
        cost += 6.0 * np.maximum(0.0, near + 1.5 * gap - _distances(other, boxes))
    # Rather at the end than at the beginning, and above than below
    below = y0 < np.repeat(points[:, 1], 4)
    cost += 0.04 * (room.x1 - x1) + np.where(below, 0.5 * gap, 0.0)
    return Bbox.from_extents(*boxes[cost.argmin()])


def _beside(
    own: NDArray[Any], x: float, y: float, width: float, height: float, gap: float
) -> NDArray[Any]:
    """Above, below, right and left of a point of a curve, the curve not crossed: boxes (4, 4)."""
    column = own[np.abs(own[:, 0] - x) <= width / 2 + gap / 2, 1]
    line = own[np.abs(own[:, 1] - y) <= height / 2, 0]
    corners = [
        (x - width / 2, column.max() + gap),
        (x - width / 2, column.min() - gap - height),
        (line.max() + gap, y - height / 2),
        (line.min() - gap - width, y - height / 2),
    ]
    return np.array([(x0, y0, x0 + width, y0 + height) for x0, y0 in corners])


def _inside(points: NDArray[Any], boxes: NDArray[Any], pad: float) -> NDArray[Any]:
    """How many points lie in each box: (N, 2), (M, 4) -> (M,)."""
    x, y = points.T
    x0, y0, x1, y1 = boxes.T[:, :, None]  # (M, 1) each
    within = (x > x0 - pad) & (x < x1 + pad) & (y > y0 - pad) & (y < y1 + pad)  # (M, N)
    return within.sum(axis=1)


def _distances(points: NDArray[Any], boxes: NDArray[Any]) -> NDArray[Any]:
    """From each box to the nearest point, 0 where one lies inside: (N, 2), (M, 4) -> (M,)."""
    x, y = points.T
    x0, y0, x1, y1 = boxes.T[:, :, None]  # (M, 1) each
    aside = np.maximum(np.maximum(x0 - x, x - x1), 0.0)  # (M, N)
    above = np.maximum(np.maximum(y0 - y, y - y1), 0.0)
    return np.sqrt((aside**2 + above**2).min(axis=1))
