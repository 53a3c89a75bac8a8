"""What a walk consists of, for what is made of it: figures, predictions, task and answer."""

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import nbformat
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pybtex.database import parse_file

from d2lattn.book.figures import SVG
from website.extensions.formulas import mathml

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "chapters"

_CAPTION = re.compile(r":::\{div\} caption\n\*\*Figure (\w+\.\d+)\.\*\* (.*?)\n:::", re.DOTALL)
_DRAWING = re.compile(r"^!\[([^]]*)\]\(\.\./\.\./(images/[\w-]+\.svg)\)$", re.MULTILINE)
_LABELLED = re.compile(
    r"^(?P<fence>:{3,})\{dropdown\} \*(?P<label>Predict first|Chapter \w+):\* (?P<asks>.*?)\n"
    r"(?P<answer>.*?)\n(?P=fence)\s*$",
    re.MULTILINE | re.DOTALL,
)
_TASK = re.compile(r"^## One for you\n(.*?)(?=\n:{3,}|\n## |\n\*\*A place to stop|\Z)", re.M | re.S)
_TITLE = re.compile(r"^# (\d+\w?)\. (.*)$", re.MULTILINE)
_SECTION = re.compile(r"^## (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Figure:
    """A figure with its caption: a drawing of ours, or a plot. What has no SVG has a PNG."""

    number: str
    caption: str
    words: str
    section: str
    svg: str
    png: bytes | None = None

    @property
    def drawn(self) -> bool:
        """Whether it is a drawing made by hand."""
        return self.png is None


@dataclass(frozen=True)
class Prediction:
    """What a reader is asked before a result or a walk, in Markdown, and the answer."""

    asks: str
    answer: str
    section: str


@dataclass
class Walk:
    """A walk, in its order."""

    folder: str
    number: str
    title: str
    recalls: list[Prediction] = field(default_factory=list)
    parts: list[Figure | Prediction] = field(default_factory=list)
    task: str = ""
    answer: str = ""
    take_away: str = ""

    @property
    def figures(self) -> list[Figure]:
        """Its figures that have a number."""
        return [part for part in self.parts if isinstance(part, Figure)]

    @property
    def predictions(self) -> list[Prediction]:
        """Its predictions."""
        return [part for part in self.parts if isinstance(part, Prediction)]


def plain(text: str) -> str:
    """Take emphasis and roles out of a caption, and join its lines."""
    return " ".join(re.sub(r"(?<!\\)\*", "", without_roles(text)).split())


@cache
def _authors() -> dict[str, str]:
    """How each source is named in a sentence."""
    named = {}
    for key, entry in parse_file(ROOT / "references.bib").entries.items():
        last = [" ".join(p.prelast_names + p.last_names) for p in entry.persons.get("author", [])]
        last = [name.strip("{}") for name in last]
        who = " and ".join(last) if len(last) < 3 else f"{last[0]} et al."
        named[key] = f"{who} ({entry.fields.get('year', '')})"
    return named


def without_roles(text: str) -> str:
    """Turn MyST's roles into words: a link into its text, a source into its authors.

    >>> without_roles("{term}`BLEU` counts {cite:p}`papineni2002bleu`. [See](a.ipynb).")
    'BLEU counts. See.'
    """
    text = re.sub(r"^\([\w-]+\)=\s*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\s*\{cite:p\}`[^`]*`", "", text)

    def authors(match: re.Match) -> str:
        return " and ".join(_authors()[key.strip()] for key in match[1].split(","))

    text = re.sub(r"\{cite:t\}`([^`]*)`", authors, text)
    text = re.sub(r"\{[\w:]+\}`([^`<]*?)\s*<[^`>]*>`", r"\1", text)
    text = re.sub(r"\{py:\w+\}`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text)
    text = re.sub(r"\{[\w:]+\}`([^`]*)`", r"\1", text)
    return re.sub(r"(?<!!)\[([^]]+)\]\([^)]*\)", r"\1", text)


def read_walk(folder: str) -> Walk:
    """Read one walk by the name of its folder."""
    notebook = nbformat.read(CHAPTERS / folder / "walk.ipynb", as_version=4)
    number, title = _TITLE.search(notebook.cells[0].source).groups()
    walk = Walk(folder, number, title)
    section, shown = "", None
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            if "remove-cell" not in cell.metadata.get("tags", []):
                shown = cell
            continue
        # In the order of the text, so that each part knows its section
        patterns = (_SECTION, _DRAWING, _CAPTION, _LABELLED)
        matches = [match for pattern in patterns for match in pattern.finditer(cell.source)]
        for match in sorted(matches, key=lambda match: match.start()):
            if match.re is _SECTION:
                section = plain(match[1])
            elif match.re is _DRAWING:
                shown = match
            elif match.re is _LABELLED:
                question = Prediction(match["asks"].strip(), match["answer"].strip(), section)
                parts = walk.parts if match["label"] == "Predict first" else walk.recalls
                parts.append(question)
            elif shown is not None and (figure := drawn_by(shown, match, section)):
                walk.parts.append(figure)
    text = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    walk.task = _TASK.search(text)[1].strip()
    walk.answer, _, rest = text.split("## The answer", 1)[1].partition("**To take away**")
    card = re.split(r"\n## |:::\{div\} onward", rest)[0]
    # a slide has room for the card's formulas and list, not for its tables
    parts = re.findall(r"^\$\$\n.*?\n\$\$$|^(?:\d+\.|-) [^\n]*$", card, re.M | re.S)
    walk.take_away = "\n\n".join(parts)
    return walk


def drawn_by(
    cell: nbformat.NotebookNode | re.Match, caption: re.Match, section: str
) -> Figure | None:
    """Make a figure of a drawing, or of a cell's picture, if it has one that can be taken out."""
    if isinstance(cell, re.Match):
        svg = (ROOT / cell[2]).read_text(encoding="utf-8")
        return Figure(caption[1], plain(caption[2]), cell[1], section, svg)
    words = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
    number, text = caption[1], plain(caption[2])
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if "image/png" in data:
            svg = output.metadata.get("image/png", {}).get(SVG, {}).get("wide", "")
            return Figure(number, text, words, section, svg, base64.b64decode(data["image/png"]))
    return None


def walks() -> Iterator[Walk]:
    """Read all walks, in the order of their folders."""
    for path in sorted(CHAPTERS.glob("[0-9]*/walk.ipynb")):
        yield read_walk(path.parent.name)


@cache
def _reader() -> MarkdownIt:
    def formula(latex: str, options: dict) -> str:
        return mathml(latex, block=options["display_mode"])

    reader = MarkdownIt("commonmark", {"typographer": False}).enable("table")
    return reader.use(dollarmath_plugin, allow_labels=True, renderer=formula)


def as_html(markdown: str) -> str:
    """Write a piece of a walk as HTML, with its formulas."""
    return _reader().render(without_roles(markdown)).strip()


@cache
def questions() -> dict[str, str]:
    """Read each chapter's question from the landing page."""
    rows = re.findall(r"^\| (\d+\w?) \| (.*?) \|", (ROOT / "index.md").read_text("utf8"), re.M)
    return dict(rows)
