"""Sphinx extension: the scripts of interactive figures, loaded once by each page that shows one."""

from typing import Any

from d2lattn.book.explorables.base import BUILT, find_figures


def add_scripts(app: Any, page: str, template: str, context: dict[str, Any], document: Any) -> None:
    """Name a page's scripts for the layout: the kit, then each figure that the page shows."""
    figures = find_figures(context.get("body") or "")
    context["figure_scripts"] = [f"{name}.js" for name in ("kit", *figures)] if figures else []


def setup(app: Any) -> dict[str, bool]:
    """Publish the built scripts, and see each page before it is written."""
    app.connect("config-inited", lambda _, config: config.html_static_path.append(str(BUILT)))
    app.connect("html-page-context", add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
