"""The Python face of every explorable: one figure with two hosts.

In Jupyter with a kernel, anywidget shows the figure and its controls are traits that Python reads,
sets and observes. A cell's own ``text/html`` output holds words, a table and the state alone. In
the book's pages, published or opened from disk, a script that each page loads once starts the
figure from that state; in a notebook that nobody has run, the words stand in its place.
"""

import hashlib
import html
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import anywidget
from IPython.display import DisplayHandle, display

BUILT = Path(__file__).parent / "built"
MODULES: dict[str, str | Path] = {}  # of every figure, by its name in a page
FIGURE = re.compile(r'data-d2lx="(\w+)-')


class Explorable(anywidget.AnyWidget):
    """Base of all explorables; a subclass names its module, its traits and its words.

    Attributes of a subclass:
        module: its JavaScript as built: the name of a script in ``built``, or a file's Path.
        traits with ``.tag(sync=True)``: its whole state.

    Methods of a subclass:
        check(state): raise ValueError for values that do not fit together.
        fallback_html(): HTML for where no script runs, made with ``paragraph`` and ``table``.
    """

    module: str | Path = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Join kit and figure for anywidget, once for each class."""
        # Only where a module is named: anywidget makes a subclass for each figure that it opens.
        if "module" in cls.__dict__:
            name = Path(cls.module).stem
            MODULES[name] = cls.module
            figure = f'd2lx.figures["{name}"]'
            export = f"export default d2lx.live({figure});\n"
            cls._esm = f"{read_script('kit')}\n{read_script(cls.module)}\n{export}"
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
        self._is_live = False
        self._waiting: list[DisplayHandle] = []
        super().__init__(**checked)
        self.on_msg(self._answered)

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

    def fallback_html(self) -> str:
        """HTML for where no script runs."""
        return paragraph("An interactive figure; it needs JavaScript.")

    def to_html(self) -> str:
        """The words and the state, from which a script of the page starts the figure."""
        # As it would be sent to a live figure: traits may have a shorter form for that.
        sent = self.get_state(self.state_names())
        state = json.dumps(sent, allow_nan=False, separators=(",", ":"))
        # No label can end the element in which it stands.
        state = state.replace("<", "\\u003c").replace(">", "\\u003e")
        name = Path(self.module).stem
        kind = f"{name}-{hashlib.sha256(state.encode()).hexdigest()[:12]}"
        return (
            f'<div class="d2lx" data-d2lx="{kind}">\n{self.fallback_html()}\n'
            '<p class="d2lx-run">Run this cell to play with the figure.</p>\n'
            f'<script type="application/json">{state}</script></div>'
        )

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={brief(value)}" for name, value in self.state().items())
        return f"{type(self).__name__}({shown})"

    def _static_bundle(self) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self.to_html()}

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        found = super()._repr_mimebundle_(**kwargs)
        if found is None:
            return None
        data, metadata = found
        return {**data, **self._static_bundle()}, metadata

    def _ipython_display_(self) -> None:
        # A front end that lacks anywidget would show an error. So the static host comes first, and
        # the live one takes its place once a front end has said that it can draw it.
        if self._is_live and (found := self._repr_mimebundle_()):
            display(found[0], metadata=found[1], raw=True)
        else:
            handle = display(self._static_bundle(), raw=True, display_id=True)
            self._waiting.append(handle)

    def _answered(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if content != "d2lx" or self._is_live:
            return
        self._is_live = True
        if found := self._repr_mimebundle_():
            for handle in self._waiting:
                handle.update(found[0], metadata=found[1], raw=True)
        self._waiting.clear()


def read_script(module: str | Path) -> str:
    """Read a built script, without the line that names its sources.

    >>> read_script("kit").startswith("var d2lx=")
    True
    """
    path = module if isinstance(module, Path) else BUILT / f"{module}.js"
    return path.read_text(encoding="utf-8").split("\n", 1)[1].strip()


def find_figures(page: str) -> list[str]:
    """List the names of the figures in a page, each once."""
    return list(dict.fromkeys(FIGURE.findall(page)))


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
    if isinstance(value, dict):
        return f"{{{len(value)} entries}}"
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
