"""The Python face of every explorable: one figure with two hosts.

In Jupyter with a kernel, anywidget shows the figure and its controls are traits that Python reads,
sets and observes. Everywhere else (the published book, a file opened from disk, a notebook that
nobody has run) the cell's own ``text/html`` output holds the same JavaScript, the state, and a
model of a few lines. Where scripts do not run at all, a sentence and a table stand in their place.
"""

import hashlib
import html
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import anywidget

from d2lattn.explorables.bundle import EXPORT, HERE, bundle, static_host, style


class Explorable(anywidget.AnyWidget):
    """Base of all explorables; a subclass names its module, its traits and its words.

    Attributes of a subclass:
        module: its JavaScript, a file in this folder or an absolute path.
        traits with ``.tag(sync=True)``: its whole state.

    Methods of a subclass:
        check(state): raise ValueError for values that do not fit together.
        words(): HTML for where no script runs, made with ``paragraph`` and ``table``.
    """

    module: str | Path = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Join the module with the kit, once for each class."""
        # Only where a module is named: anywidget makes a subclass for each figure that it opens.
        if "module" in cls.__dict__:
            cls._esm = bundle((HERE / cls.module).read_text(encoding="utf-8"))
            cls._css = style(cls._esm)
        super().__init_subclass__(**kwargs)

    def __init__(self, **state: Any) -> None:
        if unknown := sorted(state.keys() - set(self.state_names())):
            names = ", ".join(self.state_names())
            raise ValueError(f"{type(self).__name__} has no {', '.join(unknown)}; it has {names}")
        # Checked before the widget opens its channel: a figure that fails leaves nothing behind.
        traits = type(self).class_traits()
        checked = {name: traits[name].validate(self, value) for name, value in state.items()}
        self.check({name: traits[name].default(self) for name in self.state_names()} | checked)
        self._register_validator(Explorable._fits, tuple(self.state_names()))
        super().__init__(**checked)

    @classmethod
    def state_names(cls) -> list[str]:
        """The traits that make up the figure, by name."""
        base = set(anywidget.AnyWidget.class_trait_names())
        names = cls.class_trait_names(sync=True)
        return sorted(name for name in names if name not in base and not name.startswith("_"))

    def state(self) -> dict[str, Any]:
        """What the figure shows now."""
        return {name: getattr(self, name) for name in self.state_names()}

    def check(self, state: dict[str, Any]) -> None:
        """Raise ValueError for values that do not fit together."""

    def _fits(self, proposal: Any) -> Any:
        self.check({**self.state(), proposal.trait.name: proposal.value})
        return proposal.value

    def words(self) -> str:
        """HTML for where no script runs."""
        return paragraph("An interactive figure; it needs JavaScript.")

    def to_html(self) -> str:
        """The static host: everything that the figure needs, and nothing from elsewhere."""
        # With every "<" escaped, no label can end the script or open a comment in it.
        # As it would be sent to a live figure: traits may have a shorter form for that.
        sent = self.get_state(self.state_names())
        state = json.dumps(sent, allow_nan=False, separators=(",", ":"))
        state = state.replace("<", "\\u003c")
        code = self._esm.replace(EXPORT, "const explorable = { render };")
        kind = hashlib.sha256(f"{code}{state}".encode()).hexdigest()[:12]
        return (
            f'<div class="d2lx" data-d2lx="{kind}">\n{self.words()}\n</div>\n'
            f"<style>\n{self._css}\n</style>\n"
            f'<script type="module">\n{code}{static_host()}\n'
            f'startStatic(explorable, "{kind}", {state});\n</script>'
        )

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={brief(value)}" for name, value in self.state().items())
        return f"{type(self).__name__}({shown})"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        found = super()._repr_mimebundle_(**kwargs)
        if found is None:
            return None
        data, metadata = found
        return {**data, "text/plain": repr(self), "text/html": self.to_html()}, metadata


def brief(value: Any) -> str:
    """A value for one line: long lists by their length, long strings by their start.

    >>> brief([1.0, 2.5]), brief([0.0] * 50), brief("a" * 100)[:12]
    ('[1, 2.5]', '[50 numbers]', "'aaaaaaaaaaa")
    """
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str):
        return repr(clip(value, 24))
    if isinstance(value, list):
        if len(value) > 8:
            return f"[{len(value)} {'strings' if isinstance(value[0], str) else 'numbers'}]"
        return f"[{', '.join(brief(item) for item in value)}]"
    return repr(value)


def clip(text: str, length: int) -> str:
    """Cut a text to at most so many characters."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def paragraph(text: str) -> str:
    """A paragraph of HTML out of plain text."""
    return f"<p>{html.escape(text)}</p>"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of HTML out of plain text and numbers (printed to three decimals at most)."""

    def cell(tag: str, value: Any) -> str:
        text = f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
        return f"<{tag}>{html.escape(clip(text, 60))}</{tag}>"

    lines = ["".join(cell("th", name) for name in header)]
    lines += ["".join(cell("td", value) for value in row) for row in rows]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
