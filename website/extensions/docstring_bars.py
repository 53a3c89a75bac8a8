"""Sphinx extension: let docstrings write |u| and |A ∩ S| as mathematics does.

reStructuredText would read the bars as the name of a substitution. They are escaped for the package
pages; in the source, where most readers meet a docstring, they stay as they are.
"""

import re
from typing import Any


def escape_bars(lines: list[str]) -> list[str]:
    r"""Put a backslash before each bar that stands outside of code.

    >>> escape_bars(["weight |u|, ``a | b``", ">>> 1 | 2", "3", "", "|A|"])
    ['weight \\|u\\|, ``a | b``', '>>> 1 | 2', '3', '', '\\|A\\|']
    """
    escaped, in_example = [], False
    for line in lines:
        in_example = bool(line.strip()) and (in_example or line.lstrip().startswith(">>>"))
        if not in_example:
            line = re.sub(r"(``.*?``|\\\||:(?:r?type)\b.*)|\|", lambda m: m[1] or r"\|", line)
        escaped.append(line)
    return escaped


def process(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Do so for each docstring that autodoc reads."""
    lines[:] = escape_bars(lines)


def setup(app: Any) -> dict[str, bool]:
    """Come after napoleon (priority 500), which splits the docstring into fields."""
    app.connect("autodoc-process-docstring", process, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
