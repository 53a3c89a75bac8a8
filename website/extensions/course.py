"""Sphinx extension: the order of the book, for the templates of website/theme/.

Chapters, their questions and their pages are read from the table of contents and from the landing
page's table; contents, steps, openers and ways on are drawn from that.
"""

from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from docutils import nodes

from d2lattn.book.palette import palette

THEME = Path(__file__).resolve().parents[1] / "theme"
# Names, in a few words, of chapters that are called by their question
SHORT = {
    "4b": "The picture on trial",
    "5b": "The worth of a head",
    "7c": "Which head?",
}
# The page that is passed on: what a network shows of it, and its picture
SHAREABLE_PAGES = {
    "chapters/which-would-you-sign": {
        "title": "Which would you sign? Five attention pictures",
        "card": "card-sign.png",
        "alt": "Lines connect English and French words; the thickest goes from girl to la.",
    }
}


@dataclass
class Page:
    """One page as a template names it."""

    docname: str
    number: str
    name: str
    question: str = ""
    settles: str = ""
    pages: list["Page"] = field(default_factory=list)

    @property
    def short(self) -> str:
        """Its name beside its question, also where the name is the question."""
        return SHORT.get(self.number, self.name)

    @property
    def kind(self) -> str:
        """Walk, workshop, deeper, which (the page that is passed on) or reference."""
        return self.docname.rpartition("/")[2].partition("-")[0]


def split_title(title: str) -> tuple[str, str]:
    """Split a title into its number and its name, without the kind of the page.

    >>> split_title("7b.2 Deeper: what does the cache save?"), split_title("The end")
    (('7b.2', 'What does the cache save?'), ('', 'The end'))
    """
    number, _, name = title.partition(" ")
    if not number[:1].isdigit():
        number, name = "", title
    name = name.removeprefix("Deeper: ")
    return number.rstrip("."), name[:1].upper() + name[1:]


def page_of(env: Any, docname: str) -> Page:
    """Describe a page and those below it."""
    number, name = split_title(env.titles[docname].astext())
    question, settles = getattr(env, "course_table", {}).get(number or name, ("", ""))
    pages = [page_of(env, below) for below in env.toctree_includes.get(docname, [])]
    return Page(docname, number, name, question, settles, pages)


def chapters(env: Any) -> dict[str, Page]:
    """Return all chapters by number; the last page has none and is called `end`."""
    names = env.toctree_includes[env.config.root_doc]
    pages = [page_of(env, name) for name in names if name.startswith("chapters/")]
    return {page.number or "end": page for page in pages}


def store_table(app: Any, document: nodes.document) -> None:
    """Store the rows of the landing page's table: chapter, question, what settles it."""
    if app.env.docname != app.config.root_doc:
        return
    rows = [
        [entry.astext() for entry in row.findall(nodes.entry)]
        for body in document.findall(nodes.tbody)
        for row in body.findall(nodes.row)
    ]
    app.env.course_table = {number: (question, settles) for number, question, settles in rows}


def section_links(app: Any, docname: str) -> str:
    """Link the sections of a page, one level of them."""
    contents = app.env.tocs[docname].deepcopy()
    below = [item for item in contents[0] if isinstance(item, nodes.bullet_list)]
    if not below:
        return ""
    for item in below[0].findall(nodes.list_item):
        item.children = item.children[:1]
    for link in below[0].findall(nodes.reference):
        link["refuri"] = link["anchorname"]
    return app.builder.render_partial(below[0])["fragment"]


def description(chapter: Page | None, docname: str, doctree: nodes.document | None) -> str:
    """Describe a walk by its question, another page by its first paragraph that is long enough."""
    if chapter and docname == chapter.docname and chapter.question:
        return f"{chapter.question} {chapter.settles}."
    for paragraph in doctree.findall(nodes.paragraph) if doctree else []:
        text = " ".join(paragraph.astext().split())
        if len(text) > 40 and not isinstance(paragraph.parent, nodes.entry):
            return text if len(text) <= 160 else text[:157].rsplit(" ", 1)[0] + " …"
    return ""


def add_context(app: Any, docname: str, template: str, context: dict, doctree: Any) -> None:
    """Tell a page's template where the page stands in the book."""
    course = list(chapters(app.env).values())
    names = app.env.toctree_includes[app.config.root_doc]
    here = next(
        (p for p in course if docname in {p.docname, *(below.docname for below in p.pages)}), None
    )
    context |= {
        "course": course,
        "reference": [page_of(app.env, name) for name in names if name.startswith("reference/")],
        "here": here,
        "next_chapter": course[course.index(here) + 1] if here and here is not course[-1] else None,
        "landing": docname == app.config.root_doc,
        "on_page": section_links(app, docname) if docname in app.env.tocs else "",
        "description": description(here, docname, doctree),
        "shareable": SHAREABLE_PAGES.get(docname, {}),
    }


def write_palette(app: Any, exception: Exception | None) -> None:
    """Put the colours of `palette.json` at the head of the style sheet."""
    if exception is None and app.builder.format == "html":
        colours = "".join(
            f"--{name}:light-dark({light},{dark});" for name, (light, dark) in palette().items()
        )
        style = Path(app.outdir, "_static", "book.css")
        style.write_text(f":root{{{colours}}}\n{style.read_text('utf-8')}", encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Register the theme beside this file, and what its templates are told."""
    # Sphinx reads all pages again after an extension has changed
    code = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    app.add_config_value("book_extensions", sha256(code).hexdigest(), "env")
    app.add_html_theme("attention", THEME)
    app.connect("doctree-read", store_table)
    app.connect("html-page-context", add_context)
    app.connect("build-finished", write_palette)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
