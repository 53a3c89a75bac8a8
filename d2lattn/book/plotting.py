"""Heatmaps of attention weights, and listings taken from the package."""

import inspect
import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.colors import ListedColormap
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from d2lattn.book.figures import refit_on_resize
from d2lattn.book.palette import unique_colours
from d2lattn.checks import argument_error


def show_heatmaps(
    matrices: Any,
    xlabel: str,
    ylabel: str,
    titles: Sequence[str] | Sequence[Sequence[str]] | None = None,
    figsize: tuple[float, float] = (2.5, 2.5),
    cmap: str = "ink",
    *,
    vmin: float | str | None = 0.0,
    vmax: float | str | None = 1.0,
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    mask: Any = None,
    annotate: bool | str = False,
) -> None:
    """Draw a grid of matrices as heatmaps with one scale: a larger weight makes a darker cell.

    One bar next to the panels shows the scale, unless the numbers are printed in their cells.

    >>> import matplotlib; matplotlib.use("agg")
    >>> show_heatmaps(torch.eye(3).reshape(1, 1, 3, 3), xlabel="Keys", ylabel="Queries")
    >>> matplotlib.pyplot.gcf().axes[0].images[0].get_clim()
    (0.0, 1.0)

    Args:
        matrices: shape (rows, columns, Q, K): a tensor, an array or nested lists of matrices. In
            each panel, queries are rows and keys are columns.
        xlabel: name of the key axis. Like `ylabel` and titles, it may contain formulas: ``"$K$"``.
        ylabel: name of the query axis.
        titles: one title per column of panels, or a list of such lists, one per row of panels.
        figsize: width and height of the whole figure, in inches.
        cmap: name of a colour map: the book's ``"ink"``, or one of matplotlib's, such as the
            notes' ``"Reds"``.
        vmin: value without ink in every panel; ``None`` or ``"shared"`` takes the smallest value
            that is drawn in any panel.
        vmax: value of full ink, ``None`` or ``"shared"`` likewise. Values outside the scale are
            drawn like its end, and the bar then has a pointed end.
        row_labels: Q labels, such as the tokens of the queries; dollar signs are shown as they are.
        column_labels: K labels, such as the tokens of the keys.
        mask: true where a weight is masked: drawn hatched, and left out of a shared scale. Any
            shape that broadcasts to that of ``matrices``.
        annotate: print each number in its cell, with two decimals or by a format such as ``".1f"``.

    Raises:
        TypeError: if one string is given instead of a list of labels or titles.
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
        layout="compressed",
    )
    numbers = []
    for i, j in np.ndindex(num_rows, num_columns):
        ax = axes[i, j]
        panel: np.ma.MaskedArray[Any, Any] = np.ma.masked_array(panels[i, j], masked[i, j])
        image = ax.imshow(panel, cmap=colours, vmin=low, vmax=high, aspect="equal")
        ax.autoscale(False)
        ax.grid(False)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        if masked[i, j].any():
            _hatch(ax, masked[i, j])
        _part(ax, num_queries, num_keys)
        if number_format:
            numbers += _print_numbers(ax, image, panel, number_format)
        if i == num_rows - 1:
            ax.set_xlabel(xlabel)
        if (i, j) == (0, 0):
            # Not turned: it stands above the names of the rows, on the line of the titles
            ax.set_ylabel(ylabel, rotation=0, ha="right", va="baseline", linespacing=0.95)
            aside = ScaledTranslation(-6 / 72, 9 / 72, figure.dpi_scale_trans)
            ax.yaxis.set_label_coords(0, 1, transform=ax.transAxes + aside)
        if headings is not None:
            ax.set_title(headings[i][j])
    _label_axes(axes[0, 0], row_labels, column_labels, num_queries, num_keys)
    if not number_format:
        below, above = bool((drawn < low).any()), bool((drawn > high).any())
        extend = {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[below, above]
        bar = figure.colorbar(image, ax=axes, shrink=0.6, aspect=24, extend=extend, pad=0.03)
        bar.outline.set_visible(False)
        if low < high:  # matplotlib may lose the last bit of them on its way to the bar
            bar.ax.set_ylim(low, high)
        bar.ax.grid(False)
        bar.ax.tick_params(length=0, pad=3)
        tall = figure.get_size_inches()[1] / num_rows > 2
        bar.locator = MaxNLocator(nbins=2 if tall else 1)
        bar.update_ticks()
    refit_on_resize(figure, lambda: _fit(axes[0, 0], column_labels, numbers, num_queries, num_keys))


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
        raise argument_error(TypeError, "titles", titles, f"a list of {num_columns}")
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
        raise argument_error(TypeError, name, labels, f"a list of {needed}")
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
        cmap=ListedColormap([unique_colours()["paper"]]),
        edgecolor=unique_colours()["score"],
        hatch="////",
        linewidth=0,
    )


def _part(ax: Any, num_queries: int, num_keys: int) -> None:
    """Part the cells by lines of paper, unless they are too many."""
    if num_queries * num_keys <= 400:
        look = {"color": unique_colours()["paper"], "linewidth": 1.2}
        ax.vlines(np.arange(1, num_keys) - 0.5, -0.5, num_queries - 0.5, **look)
        ax.hlines(np.arange(1, num_queries) - 0.5, -0.5, num_keys - 0.5, **look)


def _print_numbers(
    ax: Any, image: Any, panel: np.ma.MaskedArray[Any, Any], number_format: str
) -> list[Any]:
    found = []
    for (query, key), value in np.ma.ndenumerate(panel):
        text = format(value, number_format)
        color = _readable_on(image.cmap(image.norm(value)))
        look = {"ha": "center", "va": "center_baseline", "color": color}
        found.append(ax.text(key, query, text, in_layout=False, **look))
    return found


def _readable_on(cell: tuple[float, float, float, float]) -> str:
    """What can be read on a cell of this colour, and on the same in the dark page."""
    red, green, blue, alpha = cell
    lightness = 0.299 * red + 0.587 * green + 0.114 * blue
    # A value that is no number has no colour, and the page shows. In between neither ink nor paper
    # will do in both themes, but the darker of them does.
    name = "ink" if lightness > 0.62 or alpha == 0 else "deep" if lightness > 0.5 else "paper"
    return unique_colours()[name]


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
    if row_labels is None:
        ax.yaxis.set_major_locator(MaxNLocator(nbins=min(num_queries, 5), integer=True))
    else:
        ax.set_yticks(range(num_queries), _plain(row_labels))


def _fit(
    ax: Any,
    column_labels: Sequence[str] | None,
    numbers: list[Any],
    num_queries: int,
    num_keys: int,
) -> None:
    """Fit numbers into their cells, and tokens below them: upright where they would collide."""
    if column_labels is None and not numbers:
        return
    panels = [one for one in ax.figure.axes if one.images]
    upright = None
    for _ in range(2):
        ax.figure.get_layout_engine().execute(ax.figure)
        box = ax.get_window_extent()
        wide, high = 72 / ax.figure.dpi * np.array([box.width / num_keys, box.height / num_queries])
        if column_labels is None or upright:
            break
        # A letter is about half as wide as it is high.
        lines = "\n".join(map(str, column_labels)).split("\n")
        longest = max(map(len, lines)) + 1
        upright = 0.5 * 10.5 * longest > wide
        for panel in panels:
            panel.tick_params(axis="x", rotation=90 if upright else 0)
        if not upright:
            break  # else there is less room for cells
    for panel in panels:
        panel.tick_params(axis="y", labelsize=min(10.5, max(8.0, 0.95 * high)))
    longest = max((len(number.get_text()) for number in numbers), default=1)
    for number in numbers:
        number.set_fontsize(min(10.0, 0.9 * wide / (0.5 * longest), 0.8 * high))


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
    """Show the source of a class or function, so that a listing is never out of date.

    >>> show_source(Source.__repr__)
    def __repr__(self) -> str:
        return self.text

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
