"""Sphinx extension: what a chapter page is made of, in the book's own clothes.

Directives (`dropdown`, `div`), the elements that they become, and one
transform that reads what notebooks say by convention: the line *About … minutes*, an italic
*Figure 3.2. …* or *Table 7.1. …* below a cell, a dropdown that begins with *Predict first:*, an
exercise's *Difficulty …*.
"""

import re
from collections.abc import Callable
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
from sphinx.writers.html5 import HTML5Translator

from website.extensions.course import NUMBERED, PASSED_ON, chapters

HAN = re.compile(
    "[\u3400-\u9fff](?:[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]*[\u3400-\u9fff\uff00-\uffef])?"
)
"""Chinese, from its first letter to its last."""

WIDTH = re.compile(r"max-width: ([\d.]+)px")
"""How wide a drawing is in JupyterLab."""

FOLDS = {"source": "Code", "content": "Solution", "output": "Output", "outputs": "Output"}
"""What a fold is called, by what is in it."""

TUPLE = r"\((?:[^\s(),]{1,5}, ){1,4}[^\s(),]{1,5}\)"
TERM = r"[−-]?√?(?:\d(?:[\d.,·]*\d)?|\b[A-Za-z]\b)%?"
WHOLE = re.compile(rf"{TUPLE}|{TERM}(?: [+−·×/=≈] {TERM})+")
"""A tuple, or a sum with its result: what a reader reads at one glance."""

FOR_TOOLS = re.compile(r" *# fmt: skip$", re.MULTILINE)


def whole(text: str) -> str:
    """Keep a tuple or a sum on one line; one that is long may break before what it equals.

    >>> whole("a score of 2·3 + 1·3 = 9 each")
    'a score of <span class="whole">2·3 + 1·3 = 9</span> each'
    """

    def keep(found: re.Match[str]) -> str:
        parts = [found[0]] if len(found[0]) <= 20 else re.split(" (?=[=≈])", found[0])
        return " ".join(
            f'<span class="whole">{part}</span>' if len(part) <= 20 else part for part in parts
        )

    return WHOLE.sub(keep, text)


def is_prose(output: str) -> bool:
    """Whether a printed output is sentences, in which nothing stands below something else.

    >>> is_prose("off by 37.6"), is_prose("width   over d"), is_prose("[[1],\\n [2]]")
    (True, False, False)
    """
    return not re.search(r"\S {2,}\S|^ ", output, re.MULTILINE)


class ask(nodes.General, nodes.Element):
    """A question that opens: its title, then its answer."""


class ask_title(nodes.General, nodes.TextElement):
    """What the reader is asked."""


class fig(nodes.General, nodes.Element):
    """A cell with a picture or a table, and its caption."""


class fig_caption(nodes.General, nodes.TextElement):
    """What stands beside a picture, or below it on a phone."""


class margin_note(nodes.General, nodes.Element):
    """An aside: in the margin where there is one."""


class opener(nodes.General, nodes.Element):
    """The head of a page."""


class facts(nodes.General, nodes.Element):
    """What a page takes: time, and what its reader should know."""


class fact(nodes.General, nodes.TextElement):
    """One of them; `label` says which."""


class questions(nodes.General, nodes.Element):
    """All chapters' questions, on the landing page."""


class tag(nodes.General, nodes.Element):
    """A page's number, above its title."""


class Dropdown(Directive):
    """A question with a folded answer."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Read the title as Markdown, and what is folded under it."""
        element = ask()
        title, _ = self.state.inline_text(self.arguments[0], self.lineno)
        element += ask_title("", "", *title)
        self.state.nested_parse(self.content, self.content_offset, element)
        return [element]


class Div(Directive):
    """Give what is inside a class, or put it beside the text: `margin`.

    JupyterLab has a directive `margin` too, and prints it over the next paragraph.
    """

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Read it."""
        classes = directives.class_option("".join(self.arguments))
        element = margin_note() if classes == ["margin"] else nodes.container(classes=classes)
        self.state.nested_parse(self.content, self.content_offset, element)
        return [element]


def texts(element: nodes.Element) -> list[nodes.Node]:
    """List what an element holds, less the empty texts that a parser leaves."""
    return [part for part in element if part.astext() or not isinstance(part, nodes.Text)]


def capital(parts: list[nodes.Node]) -> list[nodes.Node]:
    """Begin with a capital letter, if it begins with a letter."""
    if parts and isinstance(parts[0], nodes.Text):
        text = parts[0].astext().lstrip()
        parts[0] = nodes.Text(text[:1].upper() + text[1:])
    return parts


def split(parts: list[nodes.Node], mark: str) -> list[list[nodes.Node]]:
    """Split a sentence of nodes at each place where this mark stands in its text."""
    pieces: list[list[nodes.Node]] = [[]]
    for part in parts:
        if not isinstance(part, nodes.Text):
            pieces[-1].append(part)
            continue
        first, *more = part.astext().split(mark)
        pieces[-1].append(nodes.Text(first))
        pieces += [[nodes.Text(text)] for text in more]
    return pieces


def without(parts: list[nodes.Node], start: str = "", end: str = "") -> list[nodes.Node]:
    """Take words off the beginning and the end of a sentence of nodes."""
    if start and parts and isinstance(parts[0], nodes.Text):
        parts = [nodes.Text(parts[0].astext().removeprefix(start)), *parts[1:]]
    if end and parts and isinstance(parts[-1], nodes.Text):
        parts = [*parts[:-1], nodes.Text(parts[-1].astext().rstrip().removesuffix(end))]
    return parts


class Dress(SphinxPostTransform):
    """Give the parts of a page the elements that they are."""

    default_priority = 900  # after links have found their pages, and cells their outputs
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Do so for one page."""
        for drawing in self.document.findall(nodes.raw):
            self.undress(drawing)
        for code in self.document.findall(nodes.literal_block):
            # None of the reader's: a blank line that ends an example, a word to the formatter
            code.rawsource = FOR_TOOLS.sub("", code.astext()).rstrip()
            code[:] = [nodes.Text(code.rawsource)]
            if "output" in code["classes"] and is_prose(code.rawsource):
                code["classes"].append("prose")
        for element in list(self.document.findall(ask)):
            self.question(element)
        for element in list(self.document.findall(nodes.paragraph)):
            self.caption(element)
            self.effort(element)
        for element in list(self.document.findall(nodes.container)):
            if element.get("nb_element") == "cell_code" and self.plays(element):
                element["classes"].append("wide")
        for section in list(self.document.findall(nodes.section)):
            if section[0].astext() == "Before you start":
                section["classes"].append("recalls")
        self.leave_out()
        if self.env.docname == self.config.root_doc:
            self.land()
        elif self.env.docname.startswith("chapters/"):
            self.open()

    def leave_out(self) -> None:
        """Leave out a walk's links to its workshop and deeper pages: they are drawn below it."""
        for element in list(self.document.findall(nodes.paragraph)):
            if re.fullmatch(r"Open workshop \d+[bc]?", element.astext()):
                element.parent.remove(element)
                continue
            start = next((strong.astext() for strong in element.findall(nodes.strong)), "")
            if not start.startswith("Go deeper") or not element.astext().startswith(start):
                continue
            after = element.next_node(siblings=True, descend=False)
            if element.astext() == start and isinstance(after, nodes.bullet_list):
                after.parent.remove(after)
            element.parent.remove(element)

    def undress(self, drawing: nodes.raw) -> None:
        """Take a drawing's own style from it: the book's style sheet has it once for all.

        Its width is said in the page's letters, and grows with them.
        """
        text = drawing.astext()
        if text.lstrip().startswith('<svg class="d2l-drawing"'):
            before, _, rest = text.partition("<style>")
            _, _, after = rest.partition("</style>")
            before = WIDTH.sub(lambda found: f"width: {float(found[1]) / 16:g}rem", before, count=1)
            drawing[:] = [nodes.Text(before + after)]

    def plays(self, cell: nodes.container) -> bool:
        """Whether a cell shows an explorable."""
        return any("data-d2lx=" in raw.astext() for raw in cell.findall(nodes.raw))

    def question(self, element: ask) -> None:
        """Say what kind of question it is, and take the kind's name from its title."""
        title = element[0]
        parts = list(title.children)
        if isinstance(parts[0], nodes.emphasis) and parts[0].astext().startswith("Chapter "):
            element["kind"], element["label"] = "recall", parts[0].astext().rstrip(":")
            parts = parts[1:]
        elif title.astext().startswith("Predict"):
            element["kind"] = "predict"
            first, *more = split(parts, ": ")
            element["label"] = "".join(part.astext() for part in first)
            parts = [node for piece in more for node in (*piece, nodes.Text(": "))][:-1]
        else:
            # A word that names what is folded is a label; a question is a question
            element["kind"] = "more" if " " in title.astext() else "more word"
        title[:] = capital(parts)

    def caption(self, paragraph: nodes.paragraph) -> None:
        """Join an italic paragraph *Figure 3.2. …* to the cell before it; so with a table."""
        found = re.match(r"((?:Figure|Table) \d\w*(?:\.\d+)+)\. ?", paragraph.astext())
        if not found or not isinstance(next(iter(texts(paragraph))), nodes.emphasis):
            return
        siblings = paragraph.parent.children
        before = siblings[siblings.index(paragraph) - 1]
        if not isinstance(before, nodes.container) or "cell" not in before["classes"]:
            return
        # Set upright, and what stood upright for emphasis is now set apart by italics
        words: list[nodes.Node] = []
        for part in texts(paragraph):
            if isinstance(part, nodes.emphasis):
                words += part.children
            else:
                words.append(nodes.emphasis("", "", part) if isinstance(part, nodes.Text) else part)
        words = without(words, start=f"{found[1]}.")
        paragraph.parent.remove(before)
        figure = fig("", before)
        figure += fig_caption("", "", nodes.strong("", found[1]), nodes.Text(" "), *words)
        paragraph.replace_self(figure)

    def effort(self, paragraph: nodes.paragraph) -> None:
        """Set *Difficulty 2 of 3, about 8 minutes.* as the label that it is."""
        parts = texts(paragraph)
        if len(parts) == 1 and isinstance(parts[0], nodes.emphasis):
            said = parts[0].astext()
            if re.fullmatch(r"Difficulty \d of 3, about \d+ minutes\.", said):
                paragraph["classes"].append("effort")
                paragraph[:] = [nodes.Text(said.removesuffix("."))]

    def land(self) -> None:
        """Make the landing page's first screen of what stands before its first section."""
        section = next(self.document.findall(nodes.section))
        first = next(i for i, part in enumerate(section) if isinstance(part, nodes.section))
        hero = opener("", *section[:first], classes=["hero"])
        section[:] = [hero, *section[first:]]
        table = next(self.document.findall(nodes.table))
        table.replace_self(questions())

    def open(self) -> None:
        """Set number, title, question, time and needs at the head of a chapter's page."""
        section = next(self.document.findall(nodes.section))
        title = section.next_node(nodes.title)
        head = opener()
        found = NUMBERED.match(title.astext())
        if found and isinstance(title[0], nodes.Text):
            first = title[0].astext()[found.start("name") :].removeprefix("Deeper: ")
            title[:] = capital([nodes.Text(first), *title[1:]])
            head += tag(number=found["number"])
        after = section.index(title) + 1
        said = section[after] if after < len(section) else None
        section.remove(title)
        head += title
        if found and found["number"] in self.env.course_table:
            asked, _ = self.env.course_table[found["number"]]
            if asked != title.astext():  # where the title is the question, once is enough
                head += nodes.paragraph("", asked, classes=["question"])
        if self.env.docname in PASSED_ON and isinstance(said, nodes.paragraph):
            # One screen of a telephone: what it is, and then the figure
            section.remove(said)
            head["classes"].append("short")
            head += said
        elif isinstance(said, nodes.paragraph) and said.astext().startswith("About "):
            section.remove(said)
            head += self.what_it_takes(list(said[0].children))
        section.insert(after - 1, head)

    def what_it_takes(self, parts: list[nodes.Node]) -> facts:
        """Read *About 9 minutes. It belongs to …; you need …* into a row each."""
        time, *rest = split(parts, ". ")
        rows = facts("", fact("", time[0].astext().removeprefix("About "), label="Time"))
        for sentence in (piece for part in rest for piece in split(part, "; you need ")):
            label = "You need"
            if sentence[0].astext().startswith("It belongs to"):
                label = "Belongs to"
            sentence = without(sentence, start="It belongs to ")
            sentence = without(sentence, start="You need ", end=".")
            rows += fact("", "", *capital(sentence), label=label)
        rows += fact("", label="Run it")
        return rows


def render(page: HTML5Translator, name: str, **context: Any) -> None:
    """Write a part of the theme."""
    page.body.append(page.builder.templates.render(f"parts/{name}.html", context))


def between(before: str, after: str) -> tuple[Callable, Callable]:
    """Write an element between two tags."""
    return (
        lambda page, node: page.body.append(before),
        lambda page, node: page.body.append(after),
    )


def visit_ask(page: HTML5Translator, node: ask) -> None:
    """Open a question; it closes after its answer."""
    # Where a label stands before it, the question is where its links lead
    place = page.starttag({"ids": node["ids"]}, "div", "", CLASS="asking")
    page.body.append(f'{place}<details class="ask {node["kind"]}">\n')


def visit_ask_title(page: HTML5Translator, node: ask_title) -> None:
    """Write what is asked, with the name of its kind before it."""
    label = node.parent.get("label")
    label = f'<span class="label">{page.encode(label)}</span> ' if label else ""
    page.body.append(f'<summary>{label}<span class="question">')


def visit_opener(page: HTML5Translator, node: opener) -> None:
    """Open the head of a page."""
    page.body.append(page.starttag(node, "header", CLASS="opener"))


def visit_fact(page: HTML5Translator, node: fact) -> None:
    """Write a row; where the page can be run is known only now."""
    page.body.append(f"<div><dt>{node['label']}</dt><dd>")
    if node["label"] == "Run it":
        render(page, "run", **ways_to_run(page.builder, page.builder.current_docname))


def visit_tag(page: HTML5Translator, node: tag) -> None:
    """Write a page's number, with its chapter's drawing."""
    render(page, "tag", number=node["number"])


def visit_questions(page: HTML5Translator, node: questions) -> None:
    """Write all chapters' questions."""
    uri = partial(page.builder.get_relative_uri, page.builder.current_docname)
    render(page, "questions", chapters=chapters(page.builder.env), uri=uri)


def visit_folded(page: HTML5Translator, node: HideCodeCellNode) -> None:
    """Fold code, or a whole cell, which in this book is a solution; a cell may name its own."""
    said = FOLDS.get(node["prompt_show"], node["prompt_show"])
    page.body.append(f'<details class="fold"><summary>{page.encode(said)}</summary>\n')


def depart(text: str = "") -> Callable:
    """End an element."""
    return lambda page, node: page.body.append(text)


WRITERS = {
    ask: (visit_ask, depart("</div></details></div>\n")),
    ask_title: (visit_ask_title, depart('</span></summary>\n<div class="answer">')),
    fig: between('<figure class="fig">', "</figure>\n"),
    fig_caption: between("<figcaption>", "</figcaption>\n"),
    margin_note: between('<aside class="margin">', "</aside>\n"),
    opener: (visit_opener, depart("</header>\n")),
    tag: (visit_tag, depart()),
    facts: between('<dl class="facts">\n', "</dl>\n"),
    fact: (visit_fact, depart("</dd></div>\n")),
    questions: (visit_questions, depart()),
    HideCodeCellNode: (visit_folded, depart("</details>\n")),
}


class BookTranslator(HTML5Translator):
    """Writes titles in openers, tables that scroll, and pictures that wait to be needed."""

    def visit_title(self, node: nodes.title) -> None:
        """Write the title in an opener as the page's own, which it is."""
        if isinstance(node.parent, opener):
            self.body.append("<h1>")
            self.context.append("</h1>\n")
        else:
            super().visit_title(node)

    def depart_title(self, node: nodes.title) -> None:
        """End it."""
        if isinstance(node.parent, opener):
            self.body.append(self.context.pop())
        else:
            super().depart_title(node)

    def visit_Text(self, node: nodes.Text) -> None:
        """Say which words are Chinese: a voice reads them so, and a browser takes their letters."""
        start = len(self.body)
        super().visit_Text(node)
        if not self.protect_literal_text:
            text = whole("".join(self.body[start:]))
            self.body[start:] = [HAN.sub(r'<span lang="zh">\g<0></span>', text)]

    def visit_literal(self, node: nodes.literal) -> None:
        """Keep a short piece of code on one line."""
        if len(node.astext()) <= 16:
            node["classes"].append("whole")
        super().visit_literal(node)

    def visit_literal_block(self, node: nodes.literal_block) -> None:
        """Say how wide printed lines are that phones fit by smaller letters: of tables, all."""
        start = len(self.body)
        try:
            super().visit_literal_block(node)
        finally:
            widest = max(map(len, node.astext().split("\n")))
            most = 54 if "prose" in node["classes"] else 1000
            if "output" in node["classes"] and 44 < widest <= most:
                opening = "".join(self.body[start:])
                more = f'<div style="--letters: {widest}"'
                self.body[start:] = [opening.replace("<div", more, 1)]

    def visit_definition_list_item(self, node: nodes.definition_list_item) -> None:
        """Keep a term of the glossary, its other names and what it means in one element."""
        super().visit_definition_list_item(node)
        if "glossary" in node.parent["classes"]:
            self.body.append("<div>")

    def depart_definition_list_item(self, node: nodes.definition_list_item) -> None:
        """End it."""
        super().depart_definition_list_item(node)
        if "glossary" in node.parent["classes"]:
            self.body.append("</div>\n")

    def visit_table(self, node: nodes.table) -> None:
        """Put it in a box that scrolls."""
        self.body.append('<div class="scrolls">')
        super().visit_table(node)

    def depart_table(self, node: nodes.table) -> None:
        """End table and box."""
        super().depart_table(node)
        self.body.append("</div>\n")

    def visit_citation(self, node: nodes.citation) -> None:
        """Write a source as an item of its list, which is the role that browsers know."""
        start = len(self.body)
        super().visit_citation(node)
        opening = "".join(self.body[start:]).replace('"doc-biblioentry"', '"listitem"')
        self.body[start:] = [opening]

    def visit_image(self, node: nodes.image) -> None:
        """Add the size, so that nothing moves when the picture comes, which is when it is seen."""
        start = len(self.body)
        super().visit_image(node)
        file = Path(self.builder.srcdir, node["uri"])
        if file.suffix == ".png" and file.exists():
            with Image.open(file) as picture:
                width, height = picture.size
            more = f'<img loading="lazy" decoding="async" width="{width}" height="{height}"'
            self.body[start:] = ["".join(self.body[start:]).replace("<img", more, 1)]


class InkFormatter(HtmlFormatter):
    """Marks only what the book sets apart in code: half the size, and four inks are enough."""

    def _get_css_class(self, ttype: Any) -> str:
        name = super()._get_css_class(ttype)
        return name if name in {"k", "kn", "ow", "kc", "nf", "nc", *"sc"} or self.warm(name) else ""

    @staticmethod
    def warm(name: str) -> bool:
        """Whether it is a string, a number or a comment."""
        return name[:1] in {"s", "m"} or name in {"c", "c1", "cm"}


def ways_to_run(builder: Any, page: str) -> dict[str, str]:
    """Where a notebook runs: on Binder, on Colab, and as a file of one's own."""
    options = builder.config.html_theme_options
    owner, name = options["repository_url"].rstrip("/").split("/")[-2:]
    binder = options["launch_buttons"]["binderhub_url"]
    source = f"{page}.ipynb"
    return {
        # The branch that CI writes, whose notebooks fetch the book (tools/colab.py)
        "colab": f"https://colab.research.google.com/github/{owner}/{name}/blob/colab/{source}",
        "binder": f"{binder}/v2/gh/{owner}/{name}/{options['repository_branch']}"
        f"?urlpath=lab/tree/{source}",
        "file": builder.get_relative_uri(page, "").removesuffix(builder.link_suffix)
        + f"_sources/{source}",
    }


def setup(app: Any) -> dict[str, bool]:
    """Register all of it."""
    for element, writers in WRITERS.items():
        app.add_node(element, override=True, html=writers)
    app.add_directive("dropdown", Dropdown)
    app.add_directive("div", Div)
    app.add_post_transform(Dress)
    app.set_translator("html", BookTranslator)
    # Jupyter Book sets it for an extension that the book does not load
    app.add_config_value("comments_config", None, "")
    PygmentsBridge.html_formatter = InkFormatter
    return {"parallel_read_safe": True, "parallel_write_safe": True}
