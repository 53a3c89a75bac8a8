"""Heatmaps of attention weights, the book's plot style, and listings taken from the package."""

import inspect
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.rcsetup import cycler
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from d2lattn.checks import wrong

# Okabe and Ito's palette: told apart by readers with any common colour blindness. Its yellow and
# sky blue are too pale for thin lines on white, so they come last.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#F0E442")

# 5.2 inches of 11-point letters are 10-pixel letters on a telephone 360 pixels wide; 160 dots an
# inch fill the book's column on a desk.
BOOK_STYLE: dict[Any, Any] = {
    "figure.figsize": (5.2, 3.2),
    "figure.dpi": 160,
    "savefig.dpi": 160,
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.labelsize": 11,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "legend.fontsize": 10,
    "legend.frameon": False,
    "lines.linewidth": 2,
    "axes.spines.top": False,
    "axes.spines.right": False,
    # A figure stays a white card when the page is dark.
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.transparent": False,
    "image.interpolation": "nearest",
}


def use_book_style() -> None:
    """Draw every figure from here on in the book's style, as PNG in a notebook.

    Fixed size and resolution, a palette for colour-blind readers (:data:`PALETTE`), letters that
    can be read on a telephone, and a white card that stays white on a dark page.
    """
    mpl.rcParams.update(BOOK_STYLE)
    mpl.rcParams["axes.prop_cycle"] = cycler(color=PALETTE)
    _use_format("png")


def use_svg_display() -> None:
    """Show the figures of a notebook as SVG; outside a notebook this changes nothing."""
    _use_format("svg")


def _use_format(image_format: str) -> None:
    # Only a running shell has a format to set; asking for one would start it.
    if "IPython" not in sys.modules:
        return
    from IPython import get_ipython

    if get_ipython() is not None:
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats(image_format)


def show_heatmaps(
    matrices: Any,
    xlabel: str,
    ylabel: str,
    titles: Sequence[str] | Sequence[Sequence[str]] | None = None,
    figsize: tuple[float, float] = (2.5, 2.5),
    cmap: str = "Reds",
    *,
    vmin: float | str | None = 0.0,
    vmax: float | str | None = 1.0,
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    mask: Any = None,
    annotate: bool | str = False,
) -> None:
    """Draw a grid of matrices as heatmaps on one colour scale, with one colour bar for all.

    >>> import matplotlib; matplotlib.use("agg")
    >>> show_heatmaps(torch.eye(3).reshape(1, 1, 3, 3), xlabel="Keys", ylabel="Queries")
    >>> matplotlib.pyplot.gcf().axes[0].images[0].get_clim()
    (0.0, 1.0)

    Args:
        matrices: shape (rows, columns, Q, K): a tensor, an array or nested lists of matrices. In
            each panel queries are rows and keys are columns.
        xlabel: name of the key axis. Like `ylabel` and titles it may hold mathematics: ``"$K$"``.
        ylabel: name of the query axis.
        titles: one title a column of panels, or a list of such lists, one a row of panels.
        figsize: width and height of the whole figure, in inches.
        cmap: name of a matplotlib colour map.
        vmin: value of the palest colour in every panel; ``None`` or ``"shared"`` takes the
            smallest value that is drawn in any panel.
        vmax: value of the darkest colour, ``None`` or ``"shared"`` likewise. Values outside the
            scale get the colour of its end, and the colour bar gets a pointed end to say so.
        row_labels: Q labels, say the tokens that ask; they are shown as they are, dollars and all.
        column_labels: K labels, say the tokens that are looked at.
        mask: true where a weight is masked: drawn hatched, and left out of a shared scale. Any
            shape that broadcasts to that of ``matrices``.
        annotate: print each number in its cell, with two decimals or by a format such as ``".1f"``.

    Raises:
        TypeError: if one string stands in place of a list of labels or titles.
        ValueError: if a shape, a number of labels or titles, the scale, the name of the colours or
            the format of the numbers does not fit.

    Source: the listing in section 10.1.3 of the study notes, where each panel has its own scale.
    """
    panels = _four_axes(matrices)
    num_rows, num_columns, num_queries, num_keys = panels.shape
    masked = _mask(mask, panels.shape)
    headings = _titles(titles, num_rows, num_columns)
    _check_labels(row_labels, "row_labels", num_queries)
    _check_labels(column_labels, "column_labels", num_keys)
    drawn = panels[~masked & np.isfinite(panels)]
    low, high = _scale(vmin, vmax, drawn)
    number_format = ".2f" if annotate is True else annotate

    colours = plt.get_cmap(cmap)
    if number_format:
        format(low, number_format)  # before anything is drawn
    figure, axes = plt.subplots(
        num_rows,
        num_columns,
        figsize=figsize,
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for i, j in np.ndindex(num_rows, num_columns):
        ax = axes[i, j]
        panel: np.ma.MaskedArray[Any, Any] = np.ma.masked_array(panels[i, j], masked[i, j])
        image = ax.imshow(panel, cmap=colours, vmin=low, vmax=high, aspect="equal")
        ax.spines[:].set_visible(True)
        if masked[i, j].any():
            _hatch(ax, masked[i, j])
        if number_format:
            _print_numbers(ax, image, panel, number_format)
        if i == num_rows - 1:
            ax.set_xlabel(xlabel)
        if j == 0:
            ax.set_ylabel(ylabel)
        if headings is not None:
            ax.set_title(headings[i][j])
    _label_axes(axes[0, 0], row_labels, column_labels, num_queries, num_keys)
    below, above = bool((drawn < low).any()), bool((drawn > high).any())
    extend = {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[below, above]
    figure.colorbar(image, ax=axes, shrink=0.6, extend=extend)


def _four_axes(matrices: Any) -> NDArray[Any]:
    try:
        if isinstance(matrices, list | tuple):
            matrices = [[_array(matrix) for matrix in row] for row in matrices]
            sizes = sorted({matrix.shape for row in matrices for matrix in row})
            if len(sizes) > 1:
                raise ValueError(
                    f"matrices has panels of shapes {', '.join(map(str, sizes))}; "
                    "one shape (queries, keys) is needed for all"
                )
        panels = _array(matrices)
    except (TypeError, ValueError) as error:
        if str(error).startswith("matrices"):
            raise
        raise ValueError(
            f"matrices cannot be read as numbers of shape (rows, columns, queries, keys): {error}"
        ) from None
    if panels.ndim != 4 or 0 in panels.shape:
        hint = "; write matrix[None, None] for a single one" if panels.ndim == 2 else ""
        raise ValueError(
            f"matrices has shape {panels.shape}; four axes (rows, columns, queries, keys), "
            f"none of them empty, are needed{hint}"
        )
    return panels


def _array(values: Any) -> NDArray[Any]:
    if isinstance(values, torch.Tensor):
        # Half precision has no numpy type of its own in bfloat16, and pictures need none.
        values = values.detach().cpu().double().numpy()
    return np.asarray(values, dtype=float)


def _mask(mask: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    if mask is None:
        return np.zeros(shape, dtype=bool)
    found = _array(mask).astype(bool)
    try:
        return np.broadcast_to(found, shape)
    except ValueError:
        raise ValueError(
            f"mask has shape {found.shape}; a shape that broadcasts to {shape} is needed"
        ) from None


def _titles(titles: Any, num_rows: int, num_columns: int) -> list[list[str]] | None:
    if titles is None:
        return None
    if isinstance(titles, str):
        raise wrong(TypeError, "titles", titles, f"a list of {num_columns}")
    rows = [list(titles)] * num_rows
    if not all(isinstance(title, str) for title in titles):
        rows = [[row] if isinstance(row, str) else list(row) for row in titles]
    if len(rows) != num_rows or any(len(row) != num_columns for row in rows):
        raise ValueError(
            f"titles has {len(titles)} entries; {num_columns} are needed, one a column of panels, "
            f"or {num_rows} lists of {num_columns}"
        )
    return rows


def _check_labels(labels: Sequence[str] | None, name: str, needed: int) -> None:
    if isinstance(labels, str):
        raise wrong(TypeError, name, labels, f"a list of {needed}")
    if labels is not None and len(labels) != needed:
        raise ValueError(f"{name} has {len(labels)} labels; it needs {needed}")


def _scale(vmin: Any, vmax: Any, drawn: NDArray[Any]) -> tuple[float, float]:
    for name, end in (("vmin", vmin), ("vmax", vmax)):
        if isinstance(end, str) and end != "shared":
            raise ValueError(f"{name} is {end!r}; a number, None or 'shared' is needed")
    low_shared, high_shared = vmin in (None, "shared"), vmax in (None, "shared")
    if (low_shared or high_shared) and not drawn.size:
        raise ValueError("a shared scale needs at least one finite value that is not masked")
    low = float(drawn.min()) if low_shared else float(vmin)
    high = float(drawn.max()) if high_shared else float(vmax)
    if low == high and (low_shared or high_shared):
        # Every value is the same: any scale of some width that holds it is right.
        low, high = (low - 1.0, high) if low_shared and not high_shared else (low, low + 1.0)
    if not low < high:
        raise ValueError(f"vmin is {low:g} and vmax is {high:g}; vmin < vmax is needed")
    return low, high


def _hatch(ax: Any, masked: NDArray[Any]) -> None:
    num_queries, num_keys = masked.shape
    ax.pcolor(
        np.arange(num_keys + 1) - 0.5,
        np.arange(num_queries + 1) - 0.5,
        np.ma.masked_array(np.zeros(masked.shape), ~masked),
        cmap="Greys",
        edgecolor="0.55",
        hatch="////",
        linewidth=0,
    )


def _cell_size(ax: Any, num_queries: int, num_keys: int) -> tuple[float, float]:
    """Height and width of a cell in points, about: labels and colour bar take a quarter."""
    width, height = 0.75 * ax.figure.get_size_inches() * 72
    rows, columns = ax.get_subplotspec().get_gridspec().get_geometry()
    return height / rows / num_queries, width / columns / num_keys


def _print_numbers(
    ax: Any, image: Any, panel: np.ma.MaskedArray[Any, Any], number_format: str
) -> None:
    cell = min(_cell_size(ax, *panel.shape))
    longest = max((len(format(v, number_format)) for v in panel.compressed()), default=1)
    # A digit is about 0.6 of the letter height wide.
    size = min(10.0, cell * 0.9 / (0.6 * longest))
    for (query, key), value in np.ma.ndenumerate(panel):
        red, green, blue, alpha = image.cmap(image.norm(value))
        # A value that is no number has no colour, and the page shows.
        pale = 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 or alpha == 0
        ax.text(
            key,
            query,
            format(value, number_format),
            ha="center",
            va="center",
            fontsize=size,
            color="black" if pale else "white",
        )


def _label_axes(
    ax: Any,
    row_labels: Sequence[str] | None,
    column_labels: Sequence[str] | None,
    num_queries: int,
    num_keys: int,
) -> None:
    """Put tokens, or whole numbers, at the ticks; the panels share their axes."""
    if column_labels is None:
        ax.xaxis.set_major_locator(MaxNLocator(nbins=min(num_keys, 5), integer=True))
    else:
        ax.set_xticks(range(num_keys), _plain(column_labels))
        # Upright where the tokens would run into each other: a 10-point letter is 6 points wide.
        longest = max(len(str(label)) for label in column_labels) + 1
        upright = 6 * longest > min(_cell_size(ax, num_queries, num_keys))
        for panel in ax.figure.axes:
            panel.tick_params(axis="x", rotation=90 if upright else 0)
    if row_labels is None:
        ax.yaxis.set_major_locator(MaxNLocator(nbins=min(num_queries, 5), integer=True))
    else:
        ax.set_yticks(range(num_queries), _plain(row_labels))


def _plain(labels: Sequence[str]) -> list[str]:
    """Keep matplotlib from reading mathematics between the dollars of a token."""
    return [str(label).replace("$", r"\$") for label in labels]


class Source:
    """The source of a class or function, highlighted where a notebook or the book shows it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        fence = "```"
        while fence in self.text:
            fence += "`"
        return f"{fence}python\n{self.text}\n{fence}"


def show_source(obj: Any) -> Source:
    """Show a class or function as the package has it, so that a listing cannot go stale.

    >>> show_source(use_svg_display)
    def use_svg_display() -> None:
        \"\"\"Show the figures of a notebook as SVG; outside a notebook this changes nothing.\"\"\"
        _use_format("svg")

    Args:
        obj: a class, function, method or module written in Python.

    Raises:
        ValueError: if there is no Python source to show.
    """
    try:
        text = inspect.getsource(obj)
    except (TypeError, OSError):
        raise ValueError(
            f"obj is {obj!r}; a class or function that is written in Python is needed"
        ) from None
    return Source(textwrap.dedent(text).rstrip())
