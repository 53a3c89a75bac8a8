"""Sphinx extension: plots and drawings stand in their page as SVG, in the reader's theme.

A notebook shows a plot as PNG and keeps the same plot as SVG in the PNG's metadata, once for a wide
column and once for a telephone (`d2lattn.book.figures`). Here the PNG makes room for the two. What
was drawn in a colour of the palette gets its name: `#1b55a8` becomes `var(--query)`. What lies
between wash and weight, the cells of heatmaps, becomes a mixture of the two.

A drawing is an image of the page, a file that has its colours (tools/paint_drawings.py) for readers
who see it elsewhere. Here the style sheet colours it.
"""

import base64
import hashlib
import io
import re
from collections.abc import Iterator
from html import escape
from itertools import count
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
import numpy as np
from docutils import nodes
from PIL import Image
from sphinx.transforms import SphinxTransform

from d2lattn.book.figures import SVG
from d2lattn.book.palette import unique_colours

NS = "http://www.w3.org/2000/svg"
LINK = "{http://www.w3.org/1999/xlink}href"
ElementTree.register_namespace("", NS)

OPENING = re.compile(r'<svg xmlns="\S+" viewBox="(\S+) \S+ (\S+) (\S+)"[^>]*>')
ONLY_IN_THE_FILE = re.compile(r"\s*<(title|desc|style)>.*?</\1>", re.DOTALL)
NAMES = {colour: name for name, colour in unique_colours().items()}


def rgb(colour: str) -> np.ndarray:
    """Red, green and blue of `#rrggbb`."""
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)], dtype=float)


WASH, WEIGHT = rgb(unique_colours()["wash"]), rgb(unique_colours()["weight"])


def weight_shares(pixels: np.ndarray) -> tuple[np.ndarray, float]:
    """How much weight is mixed into wash at each pixel, and how far the worst is from any mixture.

    >>> share, away = weight_shares(np.array([[139.5, 135.5, 128.5]]))
    >>> [round(float(x), 2) for x in share], bool(away < 1)
    ([0.5], True)
    """
    line = WEIGHT - WASH
    share = ((pixels - WASH) @ line / (line @ line)).clip(0, 1)
    distance = np.abs(pixels - WASH - share[..., None] * line)
    return share, float(distance.max(initial=0))


def theme_colour(colour: str) -> str:
    """Give a colour of a plot as the page's style sheet has it.

    >>> theme_colour("#1b55a8"), theme_colour("none"), theme_colour("#8c8880")
    ('var(--query)', 'none', 'color-mix(in srgb, var(--weight) 49.9%, var(--wash))')
    """
    if colour in {"none", "inherit"} or colour.startswith("url("):
        return colour
    if colour in NAMES:
        return f"var(--{NAMES[colour]})"
    share, away = weight_shares(rgb(colour))
    if away > 2:
        return colour  # which a test finds: it looks the same in light and in dark
    return f"color-mix(in srgb, var(--weight) {100 * float(share):.3g}%, var(--wash))"


def declarations(style: str) -> dict[str, str]:
    """Read the declarations of a style attribute."""
    parts = (part.partition(":") for part in style.split(";") if part.strip())
    return {name.strip(): value.strip() for name, _, value in parts}


def name_of(element: ElementTree.Element) -> str:
    """An element's name without its namespace."""
    return element.tag.rpartition("}")[2]


class Plot:
    """One SVG of matplotlib, lean and in the page's colours."""

    def __init__(self, text: str, prefix: str) -> None:
        self.prefix = prefix
        self.ids = (f"{prefix}m{number}" for number in count(1))
        self.root = ElementTree.fromstring(text)
        used = " ".join(value for element in self.root.iter() for value in element.attrib.values())
        self.referenced = set(re.findall(r"#([\w-]+)", used))
        self.clean(self.root)
        _, _, self.width, self.height = map(float, self.root.get("viewBox").split())

    def html(self, kind: str) -> str:
        """As an element of a page; a point is as long as on paper, and grows with the letters."""
        box, size = self.root.get("viewBox"), f'style="width:{self.width / 12:.4g}rem"'
        self.root.attrib = {"class": kind, "viewBox": box}
        text = ElementTree.tostring(self.root, "unicode", short_empty_elements=True)
        return text.replace(f' xmlns="{NS}"', f" {size}", 1)

    def clean(self, element: ElementTree.Element) -> None:
        """Leave out what says nothing, name colours, and give ids that no other plot has."""
        parts = [part for child in element for part in self.simplify(child)]
        element[:] = parts
        element.tail = None
        if name_of(element) != "text" and not (element.text or "").strip():
            element.text = None

    def simplify(self, element: ElementTree.Element) -> Iterator[ElementTree.Element]:
        """What becomes of an element: itself, its children, something else or nothing."""
        name, attributes = name_of(element), element.attrib
        if name in {"metadata", "style", "title"} or attributes.get("id") == "patch_1":
            return
        self.clean(element)
        if name == "image":
            yield from self.recolour_image(element)
            return
        style = declarations(attributes.pop("style", ""))
        if name == "path" and style == {"fill": "none"}:
            return
        if name == "use":
            self.merge_opacity(style)
        elif attributes.get("id") in self.referenced:
            style.pop("stroke-opacity", None)  # each use says it
        self.colour(style)
        self.colour(attributes)
        if name in {"text", "tspan"}:
            self.strip_font(style)
        self.rename(attributes)
        if name == "path":
            attributes["d"] = shorten_path(attributes["d"])
        if re.match(r"rotate\(-?0 ", attributes.get("transform", "")):
            del attributes["transform"]
        if style:
            text = ";".join(f"{name}:{value}" for name, value in style.items())
            attributes["style"] = text.replace("url(#", f"url(#{self.prefix}")
        for number in {"x", "y"} & attributes.keys() - {"transform"}:
            attributes[number] = " ".join(f"{float(x):.5g}" for x in attributes[number].split())
        if name == "g" and (not attributes or not len(element)):
            yield from element
        elif name != "defs" or len(element):
            yield element

    def merge_opacity(self, style: dict[str, str]) -> None:
        """Give fill and edge one opacity: drawn over each other, they would get a darker ring."""
        if "fill-opacity" in style and style["fill-opacity"] == style.get("stroke-opacity"):
            style["opacity"] = style.pop("fill-opacity")
            del style["stroke-opacity"]

    def colour(self, style: dict[str, str]) -> None:
        """Name the colours, and leave out what is so anyway."""
        for kind in ("fill", "stroke"):
            if kind in style:
                style[kind] = theme_colour(style[kind])
        for kind, usual in (("stroke-linejoin", "round"), ("opacity", "1")):
            if style.get(kind) == usual:
                del style[kind]

    def strip_font(self, style: dict[str, str]) -> None:
        """Leave the face to the page, and the size to the plot."""
        style.pop("font-family", None)
        if "font" in style:
            (size,) = re.findall(r"([\d.]+)px", style.pop("font"))
            style["font-size"] = f"{size}px"

    def rename(self, attributes: dict[str, str]) -> None:
        """Keep the ids that are asked for, under a name of this plot's own."""
        if attributes.get("id") in self.referenced:
            attributes["id"] = self.prefix + attributes["id"]
        else:
            attributes.pop("id", None)
        if LINK in attributes:
            attributes["href"] = f"#{self.prefix}{attributes.pop(LINK)[1:]}"
        for name, value in attributes.items():
            attributes[name] = value.replace("url(#", f"url(#{self.prefix}")

    def recolour_image(self, image: ElementTree.Element) -> Iterator[ElementTree.Element]:
        """Turn a picture in ink into wash, and weight above it where the picture lets it through.

        So it has the colours of the theme, and weighs no more than its numbers.
        """
        data = base64.b64decode(image.get(LINK).partition(",")[2])
        with Image.open(io.BytesIO(data)) as picture:
            pixels = np.asarray(picture.convert("RGBA"), dtype=float)
        share, away = weight_shares(pixels[..., :3][pixels[..., 3] == 255])
        if away > 3:
            yield image
            return
        share, _ = weight_shares(pixels[..., :3])
        seen = pixels[..., 3] / 255
        place = {
            name: image.get(name)
            for name in ("x", "y", "width", "height", "transform")
            if image.get(name)
        }
        for weight, through in (("wash", seen), ("weight", share * seen)):
            ground = {"d": outline(place), "style": f"fill:var(--{weight})"}
            if through.min() == 1:
                yield ElementTree.Element(f"{{{NS}}}path", ground)
                continue
            name = next(self.ids)
            mask = ElementTree.Element(f"{{{NS}}}mask", {"id": name, "style": "mask-type:alpha"})
            link = f"data:image/png;base64,{alpha_png(through)}"
            look = {
                "href": link,
                "preserveAspectRatio": "none",
                "style": "image-rendering:pixelated",
            }
            ElementTree.SubElement(mask, f"{{{NS}}}image", place | look)
            yield mask
            yield ElementTree.Element(f"{{{NS}}}path", ground | {"mask": f"url(#{name})"})


def outline(place: dict[str, str]) -> str:
    """The outline of a picture, whatever turns or mirrors it."""
    x, y, width, height = (float(place.get(name) or 0) for name in ("x", "y", "width", "height"))
    corners = np.array([[x, y], [x + width, y], [x + width, y + height], [x, y + height]])
    for kind, text in reversed(re.findall(r"(\w+)\(([^)]*)\)", place.get("transform", ""))):
        numbers = [float(number) for number in re.split(r"[ ,]+", text.strip())]
        if kind == "matrix":
            a, b, c, d, e, f = numbers
            corners = corners @ np.array([[a, b], [c, d]]) + [e, f]
        elif kind == "scale":
            corners = corners * [numbers[0], numbers[-1]]
        elif kind == "translate":
            corners += np.array([*numbers, 0][:2])
        else:
            raise ValueError(f"a picture is turned by {kind}")
    low, high = corners.min(axis=0), corners.max(axis=0)
    return "M{:.2f} {:.2f}H{:.2f}V{:.2f}H{:.2f}z".format(*low, *high, low[0])


def alpha_png(through: np.ndarray) -> str:
    """A PNG that lets so much through at each place, in base64."""
    levels = np.round(255 * through).astype(np.uint8)
    picture = Image.merge("LA", [Image.fromarray(np.zeros_like(levels)), Image.fromarray(levels)])
    file = io.BytesIO()
    picture.save(file, format="png", optimize=True)
    return base64.b64encode(file.getvalue()).decode("ascii")


def shorten_path(path: str) -> str:
    """Write a path's numbers to a twentieth of a pixel, and no more than one space between them."""
    number = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
    text = number.sub(lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), path)
    return re.sub(r"\s*([A-Za-z])\s*", r"\1", " ".join(text.split()))


def inline(svg: str, words: str) -> str:
    """Return a drawing for a page: without its style and margin, and named by the page's words."""
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


class Plots(SphinxTransform):
    """Put each plot and each drawing of a page into it."""

    default_priority = 800

    def apply(self, **kwargs: Any) -> None:
        """Do so before pictures are collected, so that nobody is sent the files."""
        page = Path(self.env.doc2path(self.env.docname))
        stored = page.suffix == ".ipynb"
        drawn = stored_svgs(nbformat.read(page, as_version=4)) if stored else {}
        for number, image in enumerate(list(self.document.findall(nodes.image)), 1):
            path = page.parent / image["uri"]
            if path.suffix == ".svg" and path.is_file():
                self.env.note_dependency(str(path.resolve()))
                html = inline(path.read_text(encoding="utf-8"), image["alt"])
                place, drawing = image, nodes.raw("", html, format="html")
                if len(image.parent) == 1:  # alone in its paragraph: a cell, with a caption
                    place = image.parent
                    for kind in ("output", "cell_output", "cell"):
                        drawing = nodes.container("", drawing, classes=[kind])
                place.replace_self(drawing)
            svgs = drawn.get(path.stem)
            if svgs is None:
                continue
            inside = "".join(
                Plot(text, f"p{number}{kind[0]}-").html(kind) for kind, text in svgs.items()
            )
            words = escape(image.get("alt", ""))
            html = f'<div class="plot" role="img" aria-label="{words}">{inside}</div>'
            image.replace_self(nodes.raw("", html, format="html"))


def stored_svgs(notebook: nbformat.NotebookNode) -> dict[str, dict[str, str]]:
    """The SVGs of a notebook's plots, by the name under which myst-nb writes the PNG."""
    plots = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            svgs = output.get("metadata", {}).get("image/png", {}).get(SVG)
            if svgs:
                data = base64.b64decode(output["data"]["image/png"])
                plots[hashlib.sha256(data).hexdigest()] = dict(svgs)
    return plots


def setup(app: Any) -> dict[str, bool]:
    """Register it."""
    app.add_transform(Plots)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
