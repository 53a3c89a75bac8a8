"""The book's colours, which are defined in `palette.json` and nowhere else in Python."""

import json
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("palette.json")


@cache
def palette() -> dict[str, tuple[str, str]]:
    """Return the book's colours by name, each for the light and for the dark theme.

    >>> palette()["query"]
    ('#1b55a8', '#7ab2ff')
    """
    text = FILE.read_text("utf8")
    return {name: (light, dark) for name, (light, dark) in json.loads(text).items()}


@cache
def unique_colours() -> dict[str, str]:
    """Return the colours of a figure by name: those of the light theme, all of them different.

    If two are the same, the second gets one more unit of blue, which is invisible:
    `website/extensions/plots.py` tells by the colour which of the two is meant.

    >>> [unique_colours()[name] for name in ("ink", "weight")]
    ['#211e1a', '#211e1b']
    """
    found: dict[str, str] = {}
    for name, (light, _) in palette().items():
        number = int(light[1:], 16)
        while f"#{number:06x}" in found.values():
            number += 1
        found[name] = f"#{number:06x}"
    return found
