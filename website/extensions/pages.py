"""Sphinx extension: the elements of the book's pages.

Two directives, which JupyterLab renders as plain boxes:

- `{dropdown} TITLE` is a question with a folded answer. A title may begin with a label in italics
  that ends with a colon: `*Predict first:* …`, `*Chapter 2:* …` (a recall), or anything else.
- `{div} CLASS`: `facts` (what a page takes, a list of `**Label:** text`), `caption` (below a cell
  with a picture or table, begins with its number in bold), `effort` (of an exercise), `margin` (an
  aside), `onward` (links for JupyterLab; pages draw their own), or any class of the style sheet.
"""

import re
from functools import partial
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from myst_nb.sphinx_ import HideCodeCellNode
from PIL import Image
from pygments.formatters import HtmlFormatter
from sphinx.highlighting import PygmentsBridge
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from website.extensions.course import SHAREABLE_PAGES, chapters, split_title

logger = logging.getLogger(__name__)

CHINESE = re.compile(
    "[\u3400-\u9fff](?:[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]*[\u3400-\u9fff\uff00-\uffef])?"
)
FOLD_TITLES = {"source": "Code", "content": "Solution", "output": "Output", "outputs": "Output"}
# A tuple, or a calculation with its result
TERM = r"[−-]?√?(?:\d(?:[\d.,·]*\d)?|\b[A-Za-z]\b)%?"
UNBREAKABLE = re.compile(
    rf"\((?:[^\s(),]{{1,5}}, ){{1,4}}[^\s(),]{{1,5}}\)|{TERM}(?: [+−·×/=≈] {TERM})+"
)


def keep_together(text: str) -> str:
    """Forbid line breaks inside a short tuple or calculation; a long one may break before "=".

    Authors write these as plain text, so that no style of a formula's element reaches them.

    >>> keep_together("a score of 2·3 + 1·3 = 9 each")
    'a score of <span class="whole">2·3 + 1·3 = 9</span> each'
    """

    def wrap(match: re.Match[str]) -> str:
        parts = [match[0]] if len(match[0]) <= 20 else re.split(" (?=[=≈])", match[0])
        return " ".join(
            f'<span class="whole">{part}</span>' if len(part) <= 20 else part for part in parts
        )

    return UNBREAKABLE.sub(wrap, text)


def is_prose(output: str) -> bool:
    """Whether a printed output is sentences rather than columns.

    >>> is_prose("off by 37.6"), is_prose("width   over d"), is_prose("[[1],\\n [2]]")
    (True, False, False)
    """
    return not re.search(r"\S {2,}\S|^ ", output, re.MULTILINE)


class html_block(nodes.General, nodes.Element):
    """An HTML element that holds blocks; its `tag` names it."""


class html_text(nodes.General, nodes.TextElement):
    """An HTML element that holds text; its `tag` names it."""


class template_part(nodes.General, nodes.Element):
    """A template of `website/theme/parts/`; its `template` names it."""


def inline_nodes(element: nodes.Element) -> list[nodes.Node]:
    """List what a paragraph holds, less the empty texts that the parser leaves."""
    return [node for node in element if node.astext() or not isinstance(node, nodes.Text)]


def question(title: list[nodes.Node], *answer: nodes.Node) -> html_block:
    """Fold an answer below its question; an italic label is taken from the title."""
    summary = html_text(tag="summary")
    kind = "more" if " " in "".join(node.astext() for node in title) else "more word"
    if isinstance(title[0], nodes.emphasis) and title[0].astext().endswith(":"):
        label, *title = title
        kind = "predict" if label.astext().startswith("Predict") else "recall"
        summary += nodes.inline("", label.astext().rstrip(":"), classes=["label"])
        summary += nodes.Text(" ")
        if title and isinstance(title[0], nodes.Text):
            text = title[0].astext().lstrip()
            title[0] = nodes.Text(text[:1].upper() + text[1:])
    summary += nodes.inline("", "", *title, classes=["question"])
    details = html_block("", summary, tag="details", classes=["ask", *kind.split()])
    details += html_block("", *answer, tag="div", classes=["answer"])
    # Links to a label above the question lead to the outer element, which is never folded
    return html_block("", details, tag="div", classes=["asking"])


class Dropdown(Directive):
    """A question with a folded answer."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Read title and answer as Markdown."""
        title, _ = self.state.inline_text(self.arguments[0], self.lineno)
        answer = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, answer)
        return [question(title, *answer.children)]


class Div(Directive):
    """A box with a class; some classes have a meaning (see the top of this file)."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Read the content as Markdown."""
        classes = directives.class_option("".join(self.arguments))
        content = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, content)
        inside = content.children
        if classes == ["onward"]:
            return []
        if classes == ["facts"]:
            return [facts(content)]
        if classes == ["caption"]:
            return [caption(inside[0])]
        if classes == ["effort"]:
            inside[0]["classes"].append("effort")
            return [inside[0]]
        if classes == ["margin"]:
            return [html_block("", *inside, tag="aside", classes=classes)]
        return [nodes.container("", *inside, classes=classes)]


def facts(content: nodes.Element) -> html_block:
    """Turn a list of `**Label:** text` into rows, and add one with the ways to run the page."""
    rows = []
    for item in content.findall(nodes.list_item):
        label, *text = inline_nodes(item[0])
        rows.append((label.astext().rstrip(":"), text))
    rows.append(("Run it", [template_part(template="run")]))
    elements = html_block(tag="dl", classes=["facts"])
    for label, text in rows:
        value = html_text("", "", *text, tag="dd")
        elements += html_block("", html_text("", label, tag="dt"), value, tag="div")
    return elements


def caption(paragraph: nodes.paragraph) -> html_text:
    """Make a caption of a paragraph; its number loses the full stop, since it is set in bold."""
    number, *text = inline_nodes(paragraph)
    number = nodes.strong("", number.astext().rstrip("."))
    return html_text("", "", number, *text, tag="figcaption", caption=True)


class RestyleDocument(SphinxPostTransform):
    """Complete a page once its links and outputs are resolved."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Do so for one page."""
        for code in self.document.findall(nodes.literal_block):
            # Readers need neither the formatter's marks nor the blank line that ends an example
            code.rawsource = re.sub(r" *# fmt: skip$", "", code.astext(), flags=re.M).rstrip()
            code[:] = [nodes.Text(code.rawsource)]
            if "output" in code["classes"] and is_prose(code.rawsource):
                code["classes"].append("prose")
        for element in list(self.document.findall(html_text)):
            if element.get("caption"):
                self.join_caption(element)
        for cell in self.document.findall(nodes.container):
            plays = any("data-d2lx=" in raw.astext() for raw in cell.findall(nodes.raw))
            if cell.get("nb_element") == "cell_code" and plays:
                cell["classes"].append("wide")
        for section in self.document.findall(nodes.section):
            if section[0].astext() == "Before you start":
                section["classes"].append("recalls")
        if self.env.docname == self.config.root_doc:
            self.build_landing_page()
        elif self.env.docname.startswith("chapters/"):
            self.build_chapter_header()

    def join_caption(self, element: html_text) -> None:
        """Join a caption to the cell before it."""
        siblings = element.parent.children
        cell = siblings[siblings.index(element) - 1]
        if not isinstance(cell, nodes.container) or "cell" not in cell["classes"]:
            logger.warning("put the caption directly below its cell: %s", element.astext())
            return
        element.parent.remove(cell)
        figure = html_block("", cell, tag="figure", classes=["fig"])
        element.replace_self(figure)
        figure += element

    def build_landing_page(self) -> None:
        """Put what stands before the first section into the first screen, and draw the table."""
        section = next(self.document.findall(nodes.section))
        first = next(i for i, child in enumerate(section) if isinstance(child, nodes.section))
        hero = html_block("", *section[:first], tag="header", classes=["opener", "hero"])
        section[:] = [hero, *section[first:]]
        next(self.document.findall(nodes.table)).replace_self(template_part(template="questions"))

    def build_chapter_header(self) -> None:
        """Put number, title, question and facts at the head of a chapter's page."""
        section = next(self.document.findall(nodes.section))
        title = section.next_node(nodes.title)
        place = section.index(title)
        header = html_block(tag="header", classes=["opener"])
        number, name = split_title(title.astext())
        if number:
            header += template_part(template="tag", number=number)
            if isinstance(title[0], nodes.Text):
                _, title_start = split_title(title[0].astext())
                title[0] = nodes.Text(title_start)
        section.remove(title)
        header += title
        name = title.astext()
        asked, _ = self.env.course_table.get(number, ("", ""))
        if asked not in {"", name}:  # a title that is the question needs no repetition
            header += nodes.paragraph("", asked, classes=["question"])
        after = section[place] if place < len(section) else None
        if self.env.docname in SHAREABLE_PAGES and isinstance(after, nodes.paragraph):
            # One screen of a telephone: what it is, and then the figure
            header["classes"].append("short")
            section.remove(after)
            header += after
        elif isinstance(after, html_block) and "facts" in after["classes"]:
            section.remove(after)
            header += after
        section.insert(place, header)


def visit_element(page: HTML5Translator, node: nodes.Element) -> None:
    """Open an HTML element."""
    page.body.append(page.starttag(node, node["tag"], ""))


def depart_element(page: HTML5Translator, node: nodes.Element) -> None:
    """Close an HTML element."""
    page.body.append(f"</{node['tag']}>\n")


def visit_part(page: HTML5Translator, node: template_part) -> None:
    """Render a template."""
    builder, docname = page.builder, page.builder.current_docname
    context = {"number": node.get("number")}
    if node["template"] == "run":
        context = ways_to_run(builder, docname)
    elif node["template"] == "questions":
        context = {
            "chapters": chapters(builder.env),
            "uri": partial(builder.get_relative_uri, docname),
        }
    page.body.append(builder.templates.render(f"parts/{node['template']}.html", context))
    raise nodes.SkipNode


def visit_fold(page: HTML5Translator, node: HideCodeCellNode) -> None:
    """Fold code, an output or a whole cell, which in this book is a solution."""
    title = FOLD_TITLES.get(node["prompt_show"], node["prompt_show"])
    page.body.append(f'<details class="fold"><summary>{page.encode(title)}</summary>\n')


def depart_fold(page: HTML5Translator, node: HideCodeCellNode) -> None:
    """Close it."""
    page.body.append("</details>\n")


class BookTranslator(HTML5Translator):
    """Writes titles in openers, tables that scroll, and images that load when they are needed."""

    def visit_title(self, node: nodes.title) -> None:
        """Write the title in a page's header as `h1`."""
        if isinstance(node.parent, html_block):
            self.body.append("<h1>")
            self.context.append("</h1>\n")
        else:
            super().visit_title(node)

    def depart_title(self, node: nodes.title) -> None:
        """Close it."""
        if isinstance(node.parent, html_block):
            self.body.append(self.context.pop())
        else:
            super().depart_title(node)

    def visit_Text(self, node: nodes.Text) -> None:
        """Mark Chinese, for voices and fonts, and keep calculations on one line."""
        start = len(self.body)
        super().visit_Text(node)
        if not self.protect_literal_text:
            text = keep_together("".join(self.body[start:]))
            self.body[start:] = [CHINESE.sub(r'<span lang="zh">\g<0></span>', text)]

    def visit_literal(self, node: nodes.literal) -> None:
        """Keep a short piece of code on one line."""
        if len(node.astext()) <= 16:
            node["classes"].append("whole")
        super().visit_literal(node)

    def visit_literal_block(self, node: nodes.literal_block) -> None:
        """State the width of wide output, so that phones fit it by smaller letters."""
        start = len(self.body)
        try:
            super().visit_literal_block(node)
        finally:
            widest = max(map(len, node.astext().split("\n")))
            limit = 54 if "prose" in node["classes"] else 1000
            if "output" in node["classes"] and 44 < widest <= limit:
                opening = "".join(self.body[start:])
                self.body[start:] = [
                    opening.replace("<div", f'<div style="--letters: {widest}"', 1)
                ]

    def visit_definition_list_item(self, node: nodes.definition_list_item) -> None:
        """Keep a term of the glossary and its definition in one element."""
        super().visit_definition_list_item(node)
        if "glossary" in node.parent["classes"]:
            self.body.append("<div>")

    def depart_definition_list_item(self, node: nodes.definition_list_item) -> None:
        """Close it."""
        super().depart_definition_list_item(node)
        if "glossary" in node.parent["classes"]:
            self.body.append("</div>\n")

    def visit_table(self, node: nodes.table) -> None:
        """Put the table into a box that scrolls."""
        self.body.append('<div class="scrolls">')
        super().visit_table(node)

    def depart_table(self, node: nodes.table) -> None:
        """Close table and box."""
        super().depart_table(node)
        self.body.append("</div>\n")

    def visit_citation(self, node: nodes.citation) -> None:
        """Give a source the role of a list item: `doc-biblioentry` is deprecated."""
        start = len(self.body)
        super().visit_citation(node)
        opening = "".join(self.body[start:]).replace('"doc-biblioentry"', '"listitem"')
        self.body[start:] = [opening]

    def visit_image(self, node: nodes.image) -> None:
        """Add the size, so that nothing moves when a lazy image arrives."""
        start = len(self.body)
        super().visit_image(node)
        file = Path(self.builder.srcdir, node["uri"])
        if file.suffix == ".png" and file.exists():
            with Image.open(file) as picture:
                width, height = picture.size
            size = f'<img loading="lazy" decoding="async" width="{width}" height="{height}"'
            self.body[start:] = ["".join(self.body[start:]).replace("<img", size, 1)]


class InkFormatter(HtmlFormatter):
    """Marks only the tokens that the style sheet colours, which halves the code's HTML."""

    KEPT = frozenset({"k", "kn", "ow", "kc", "nf", "nc", "s", "c", "c1", "cm"})

    def _get_css_class(self, ttype: Any) -> str:
        name = super()._get_css_class(ttype)
        return name if name in self.KEPT or name.startswith(("s", "m")) else ""


def ways_to_run(builder: Any, page: str) -> dict[str, str]:
    """Where a notebook runs: on Binder, on Colab, and as a file of one's own."""
    options = builder.config.html_theme_options
    owner, name = options["repository_url"].rstrip("/").split("/")[-2:]
    binder = options["launch_buttons"]["binderhub_url"]
    source = f"{page}.ipynb"
    return {
        # CI writes the branch `colab`, whose notebooks fetch the book (tools/colab.py)
        "colab": f"https://colab.research.google.com/github/{owner}/{name}/blob/colab/{source}",
        "binder": f"{binder}/v2/gh/{owner}/{name}/{options['repository_branch']}"
        f"?urlpath=lab/tree/{source}",
        "file": builder.get_relative_uri(page, "").removesuffix(builder.link_suffix)
        + f"_sources/{source}",
    }


def setup(app: Any) -> dict[str, bool]:
    """Register all of it."""
    for element in (html_block, html_text):
        app.add_node(element, html=(visit_element, depart_element))
    app.add_node(template_part, html=(visit_part, None))
    app.add_node(HideCodeCellNode, override=True, html=(visit_fold, depart_fold))
    app.add_directive("dropdown", Dropdown)
    app.add_directive("div", Div)
    app.add_post_transform(RestyleDocument)
    app.set_translator("html", BookTranslator)
    # Jupyter Book sets it for an extension that the book does not load
    app.add_config_value("comments_config", None, "")
    PygmentsBridge.html_formatter = InkFormatter
    return {"parallel_read_safe": True, "parallel_write_safe": True}
