"""The book's own drawings in a notebook: SVG files that take on the theme of their page."""

import html
import re
from functools import cache
from pathlib import Path

from d2lattn.book.palette import palette

_TEXT = re.compile(r"<text\b[^>]*>(.*?)</text>", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")


class Drawing:
    """An SVG drawing with the book's style in it, as a notebook or the book shows it."""

    def __init__(self, svg: str, words: str) -> None:
        self.svg = svg
        self.words = words

    def texts(self) -> list[str]:
        """Every text that stands in the drawing, in its order; tests compare the numbers."""
        found = (_TAG.sub("", text) for text in _TEXT.findall(self.svg))
        return [html.unescape(text).strip() for text in found]

    def __repr__(self) -> str:
        return f"A drawing. {self.words}"

    def _repr_html_(self) -> str:
        return self.svg


def show_drawing(path: str | Path) -> Drawing:
    """Show one of the book's drawings, in the colours of the page.

    A file gives its elements a role by a class (`query`, `key`, `value`, `weight`, `t` for text,
    ...); what a role looks like, in light and in dark, stands once in `drawing.css`.

    Args:
        path: an SVG file with a `viewBox`, a `<title>` and a `<desc>` that says what it shows.

    Raises:
        ValueError: the file is not such a drawing.
    """
    svg = Path(path).read_text(encoding="utf-8")
    svg = re.sub(r"\s*<style>.*?</style>(\s*<defs><marker.*?</defs>)?", "", svg, flags=re.DOTALL)
    svg = re.sub(
        r'viewBox="-8 -8 ([\d.]+) ([\d.]+)"[^>]*',
        lambda box: f'viewBox="0 0 {float(box[1]) - 16:g} {float(box[2]) - 16:g}"',
        svg,
        count=1,
    )
    found = {tag: re.search(rf"<{tag}[^>]*>(.*?)</{tag}>", svg, re.DOTALL) for tag in _WORDS}
    parts = [" ".join(part[1].split()) for part in found.values() if part]
    missing = [tag for tag, part in found.items() if part is None]
    size = re.search(r'<svg\b[^>]*viewBox="0 0 ([\d.]+) [\d.]+"', svg)
    if missing or size is None:
        needed = ", ".join(missing) or 'viewBox="0 0 …"'
        raise ValueError(f"path is {path}; an SVG drawing needs {needed} in it")
    title, words = map(html.unescape, parts)
    name = f"arrow-{Path(path).stem}"
    # A unit is a pixel and a quarter on a desk; on a phone the drawing has the width of the page.
    opening = (
        f'<svg class="d2l-drawing" role="img" aria-label="{html.escape(f"{title}. {words}")}"'
        f' style="max-width: {1.25 * float(size[1]):g}px; --arrow: url(#{name})"'
    )
    svg = re.sub(r"<svg\b", opening, svg.strip(), count=1)
    shared = f"<style>{_style()}</style>\n{_ARROWHEAD.format(name=name)}"
    return Drawing(svg.replace("</desc>", f"</desc>\n{shared}", 1), words)


_WORDS = ("title", "desc")
_ARROWHEAD = (
    '<defs><marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
    'markerHeight="7" orient="auto-start-reverse"><path class="arrowhead" d="M0 0L8 4L0 8z"/>'
    "</marker></defs>"
)


@cache
def _style() -> str:
    text = (Path(__file__).parent / "drawing.css").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    colours = {name: both for name, both in palette().items() if f"var(--{name})" in text}
    light, dark = (
        " ".join(f"--{name}: {both[theme]};" for name, both in colours.items()) for theme in (0, 1)
    )
    themes = f'.d2l-drawing {{ {light} }} [data-jp-theme-light="false"] .d2l-drawing {{ {dark} }}'
    return re.sub(r"\s+", " ", f"{themes} {text}").strip()
