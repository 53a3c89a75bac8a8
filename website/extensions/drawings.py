"""Sphinx extension: a drawing that a page shows as an image stands in the page itself.

There the style sheet colours it, in the reader's theme and in the letters of the page. What the
file has for readers who see it elsewhere (tools/paint_drawings.py) stays behind.
"""

import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.transforms import SphinxTransform

OPENING = re.compile(r'<svg xmlns="\S+" viewBox="(\S+) \S+ (\S+) (\S+)"[^>]*>')
ONLY_IN_THE_FILE = re.compile(r"\s*<(title|desc|style)>.*?</\1>", re.DOTALL)


def inline(svg: str, words: str) -> str:
    """Return a drawing for a page: without its margin, and named by the words of the page."""
    svg = ONLY_IN_THE_FILE.sub("", svg)
    margin, width, height = (float(number) for number in OPENING.match(svg).groups())
    width, height = width + 2 * margin, height + 2 * margin
    # A unit is a pixel and a quarter, and grows with the page's letters
    style = f"width: {width / 12.8:g}rem"
    if arrowhead := re.search(r'<marker id="([^"]+)"', svg):
        style += f"; --arrow: url(#{arrowhead[1]})"
    opening = (
        f'<svg class="d2l-drawing" role="img" aria-label="{escape(words)}" style="{style}" '
        f'viewBox="0 0 {width:g} {height:g}">'
    )
    return OPENING.sub(lambda _: opening, svg, count=1).strip()


class Drawings(SphinxTransform):
    """Put the drawings of a page into it, before its images are collected."""

    default_priority = 800

    def apply(self, **kwargs: Any) -> None:
        """Replace each image; one that has a paragraph of its own becomes a cell with a caption."""
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for image in list(self.document.findall(nodes.image)):
            path = (folder / image["uri"]).resolve()
            if path.suffix != ".svg" or not path.is_file():
                continue
            self.env.note_dependency(str(path))
            html = inline(path.read_text(encoding="utf-8"), image["alt"])
            drawing: nodes.Element = nodes.raw("", html, format="html")
            if isinstance(image.parent, nodes.paragraph) and len(image.parent) == 1:
                image = image.parent
                for kind in ("output", "cell_output", "cell"):
                    drawing = nodes.container("", drawing, classes=[kind])
            image.replace_self(drawing)


def setup(app: Any) -> dict[str, bool]:
    """Register it."""
    app.add_transform(Drawings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
