"""Sphinx extension: addresses of the book, of sources and of places on pages; the 404 page.

The host serves `404.html` for unknown addresses, at any depth and below the repository's name, so
its links start from a base URL. sphinx-notfound-page fixes that base when the book is built; ours
also works where the book is served from the root, as `make serve` does.
"""

import inspect
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes

ROOT = Path(__file__).resolve().parents[2]


def home(repository_url: str) -> str:
    """Return the address at which GitHub Pages publishes a repository.

    >>> home("https://github.com/owner/name"), home("https://github.com/owner/owner.github.io")
    ('https://owner.github.io/name/', 'https://owner.github.io/')
    """
    owner, name = repository_url.rstrip("/").split("/")[-2:]
    root = f"https://{owner}.github.io/"
    return root if name == f"{owner}.github.io" else f"{root}{name}/"


def set_addresses(app: Any, config: Any) -> None:
    """Tell Sphinx where the book is published and where its sources are."""
    options = config.html_theme_options
    config.html_baseurl = home(options["repository_url"])
    files = f"{options['repository_url']}/blob/{options['repository_branch']}"
    config.linkcode_resolve = partial(source_link, files)


def add_context(app: Any, docname: str, template: str, context: dict, doctree: Any) -> None:
    """Tell a page's template the book's address."""
    context["book_address"] = app.config.html_baseurl
    if docname in app.env.found_docs:
        context["source_path"] = Path(app.env.doc2path(docname, base=False)).as_posix()
    if docname == app.config.root_doc:
        context["pageurl"] = app.config.html_baseurl


def source_link(files: str, domain: str, info: dict[str, str]) -> str | None:
    """Return the address of an object's source, for `[source]` on the package pages."""
    thing: Any = import_module(info["module"])
    for name in info["fullname"].split("."):
        thing = getattr(thing, name, None)
    try:
        thing = inspect.unwrap(thing)
        path = Path(inspect.getsourcefile(thing)).resolve().relative_to(ROOT)
        lines, first = inspect.getsourcelines(thing)
    except (TypeError, ValueError, OSError):
        return None  # a value, or an object of another package
    return f"{files}/{path.as_posix()}#L{first}-L{first + len(lines) - 1}"


def collect_pages(app: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Make the page for unknown addresses."""
    yield "404", {}, "404.html"


def name_places(app: Any, document: nodes.document) -> None:
    """Let a Markdown link name a label of another page: `[heads](../x/walk.ipynb#sec-heads)`.

    So too an equation, or a name of the package. MyST looks for headings alone; `{ref}` finds
    labels, but leads nowhere in JupyterLab.
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


def setup(app: Any) -> dict[str, bool]:
    """Register it."""
    app.connect("config-inited", set_addresses)
    app.connect("doctree-read", name_places)
    app.connect("html-page-context", add_context)
    app.connect("html-collect-pages", collect_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
