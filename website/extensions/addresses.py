"""Sphinx extension: a page's address: in links, canonical, on cards, in a sitemap; moved; missing.

Pages (the host) has no table of redirects, so an address that a page once had keeps a page, which
leads on. `moved_pages` in `_config.yml` is that table.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from docutils import nodes
from sphinx.errors import ExtensionError


def home(app: Any) -> str:
    """Where the book is published: on the Pages of its repository."""
    owner, name = app.config.html_theme_options["repository_url"].rstrip("/").split("/")[-2:]
    root = f"https://{owner}.github.io/"
    return root if name == f"{owner}.github.io" else f"{root}{name}/"


def add_address(app: Any, docname: str, template: str, context: dict, doctree: Any) -> None:
    """Tell a page's template the page's address, and where an address that is nowhere is rooted."""
    page = "" if docname == app.config.root_doc else app.builder.get_target_uri(docname)
    context.setdefault("address", home(app) + page)
    context["book_address"] = home(app)
    context["base"] = "/" + home(app).split("/", 3)[3]


def name_places(app: Any, document: nodes.document) -> None:
    """Let a link of Markdown name a label of another page: `[heads](../x/walk.ipynb#sec-heads)`.

    So too an equation, or a name of the package. MyST looks there for headings alone; `{ref}`
    finds labels, and leads nowhere in JupyterLab.
    """
    here = app.env.docname
    places = app.env.metadata[here].setdefault("myst_slugs", {})
    for label, (docname, place) in app.env.get_domain("std").anonlabels.items():
        if docname == here:
            places[label] = (0, place, label)
    for label, (docname, _) in app.env.get_domain("math").equations.items():
        if docname == here:
            places[label] = (0, f"equation-{label}", label)
    for name, entry in app.env.get_domain("py").objects.items():
        if entry.docname == here:
            places[name] = (0, entry.node_id, name)


def more_pages(app: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Make the page for addresses that are nowhere, and one for each that has moved."""
    yield "404", {}, "404.html"
    for old, new in app.config.moved_pages.items():
        if old in app.env.found_docs:
            raise ExtensionError(f"moved_pages: there is a page at {old}")
        if new not in app.env.found_docs:
            raise ExtensionError(f"moved_pages: {old} leads to {new}, which is no page")
        to = home(app) + app.builder.get_target_uri(new)
        yield old, {"to": new, "address": to, "name": app.env.titles[new].astext()}, "moved.html"


def write_map(app: Any, exception: Exception | None) -> None:
    """List all pages for those who search the web."""
    if exception is not None or app.builder.name != "html":
        return
    pages = (
        "" if name == app.config.root_doc else app.builder.get_target_uri(name)
        for name in sorted(app.env.found_docs)
    )
    rows = "".join(f"<url><loc>{escape(home(app) + page)}</loc></url>\n" for page in pages)
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{rows}</urlset>\n'
    )
    Path(app.outdir, "sitemap.xml").write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Register it."""
    app.add_config_value("moved_pages", {}, "html")
    app.connect("doctree-read", name_places)
    app.connect("html-page-context", add_address)
    app.connect("html-collect-pages", more_pages)
    app.connect("build-finished", write_map)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
