"""Nadaraya-Watson bench (chapter 2): kernel regression as attention, with every part movable."""

from typing import Any

from d2lattn.book.explorables.base import Explorable, paragraph, table
from d2lattn.book.explorables.traits import Choice, Float, Floats, UnusableValue, check_same_length

KERNELS = ("gaussian", "boxcar", "epanechnikov", "triangular")


class NadarayaWatsonBench(Explorable):
    """f(x) = Σᵢ α(x, xᵢ) yᵢ with α = K((x − xᵢ) / bandwidth) / Σⱼ K((x − xⱼ) / bandwidth).

    Each trait can be read, set and observed.

    Traits:
        xs, ys: the data points, lists of n ≤ 100 numbers; ``set_points`` gives both at once.
        query: where to predict.
        bandwidth: more than 0.
        kernel: gaussian, boxcar, epanechnikov or triangular.
        view: "regression", or "norms": keys of two dimensions, Gaussian beside softmax(q·k/h²).
        stretch: in "norms", the length of every second key, 0.5 to 2; at 1 all lengths are equal.

    Raises ValueError for numbers that are not finite, empty data, lengths that differ, an unknown
    kernel and a bandwidth ≤ 0.

    >>> bench = NadarayaWatsonBench([0, 1, 3], [2, 4, 9], bandwidth=0.5)
    >>> bench.xs, bench.kernel
    ([0.0, 1.0, 3.0], 'gaussian')
    """

    module = "nadaraya_watson_bench"

    # y = 2 sin x + x^0.8 with noise, as in Dive into Deep Learning.
    xs = Floats([0.2, 0.6, 0.9, 1.3, 1.8, 2.1, 2.5, 2.9, 3.3, 3.8, 4.3, 4.7], maxlen=100).tag(
        sync=True
    )
    ys = Floats([0.9, 1.4, 2.9, 2.8, 3.9, 3.2, 3.7, 2.4, 2.5, 1.3, 1.8, 1.1], maxlen=100).tag(
        sync=True
    )
    query = Float(2.0).tag(sync=True)
    bandwidth = Float(0.4, min=0).tag(sync=True)
    kernel = Choice(KERNELS, "gaussian").tag(sync=True)
    view = Choice(("regression", "norms"), "regression").tag(sync=True)
    stretch = Float(1.0, min=0.5, max=2).tag(sync=True)

    def __init__(self, xs: Any = None, ys: Any = None, **state: Any) -> None:
        points = {name: value for name, value in (("xs", xs), ("ys", ys)) if value is not None}
        super().__init__(**points, **state)

    def set_points(self, xs: Any, ys: Any) -> None:
        """Replace the data; both lists at once, because they must have one length."""
        with self.hold_trait_notifications():
            self.xs, self.ys = xs, ys

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError for values that do not fit together."""
        check_same_length(xs=state["xs"], ys=state["ys"])
        if state["bandwidth"] == 0:
            raise UnusableValue("bandwidth is 0; more is needed")

    def fallback_html(self) -> str:
        """HTML for where no script runs."""
        return paragraph(
            "Interactive figure: kernel regression. f(x) = Σ α(x, xᵢ) yᵢ with "
            f"α = K((x − xᵢ) / h) / Σ K((x − xⱼ) / h). Now the kernel K is {self.kernel}, the "
            f"bandwidth h is {self.bandwidth:.4g}, the query x is {self.query:.4g}, and there are "
            f"{len(self.xs)} points, the first of them:"
        ) + table(["x", "y"], list(zip(self.xs, self.ys, strict=True))[:4])
