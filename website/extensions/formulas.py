"""Sphinx extension: formulas become MathML when the book is built, so that no page needs a script.

`html_math_renderer: mathml` takes this renderer. A formula that cannot be read is a warning, which
ends the build.
"""

from functools import cache
from typing import Any

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)


@cache
def _converter() -> LatexToMathML:
    return LatexToMathML()


def mathml(latex: str, *, block: bool = False) -> str:
    r"""Turn LaTeX into a `<math>` element.

    >>> mathml(r"\sqrt d")
    '<math><msqrt><mi>d</mi></msqrt></math>'
    """
    return _converter().convert_with_local_state(latex, displaystyle=block)


def _formula(node: Any, *, block: bool) -> str:
    try:
        return mathml(node.astext(), block=block)
    except LatexError as error:
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        return ""


def visit_inline(page: Any, node: Any) -> None:
    """Write a formula that stands in a sentence."""
    page.body.append(_formula(node, block=False))
    raise nodes.SkipNode


def visit_block(page: Any, node: Any) -> None:
    """Write a formula on a line of its own, with its number if it has one."""
    page.body.append(page.starttag(node, "div", CLASS="math"))
    page.body.append(_formula(node, block=True))
    if node["number"]:
        number = get_node_equation_number(page, node)
        page.body.append(f'<span class="eqno">({number})</span>')
    page.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Offer the renderer by the name `mathml`."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
