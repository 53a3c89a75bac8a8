"""Write into each drawing how it looks, so that it is complete wherever it is shown as an image.

usage: python -m tools.paint_drawings [--check]

Each element of a drawing has a role, its class. How a role looks stands in the style sheet of the
pages, and its colours in `palette.json`; from there they come into `images/*.svg`, for light and
for dark. On the pages website/extensions/drawings.py leaves them to the style sheet again.
"""

import re
import sys
from pathlib import Path

from d2lattn.book.palette import palette

ROOT = Path(__file__).resolve().parents[1]
DRAWINGS = sorted((ROOT / "images").glob("*.svg"))
RULE = re.compile(r"^\.d2l-drawing ([^{]+?) \{(.*?)\}$", re.MULTILINE | re.DOTALL)
OPENING = re.compile(r'<svg xmlns="(\S+)" viewBox="0 0 (\S+) (\S+)">')
PAINT = re.compile(r"\n  <style>.*?</style>(\n  <defs><marker.*?</defs>)?", re.DOTALL)
# Opaque, since a page that shows the file may have another theme than the reader's system prefers;
# and with smaller letters, since these faces are wider than that of the pages.
GROUND = "background: var(--paper); font-family: Arial, Helvetica, sans-serif;"
LETTERS = 0.88
MARGIN, SCALE = 8, 1.25
ARROWHEAD = (
    '<defs><marker id="{}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto-start-reverse"><path class="arrowhead" d="M0 0L8 4L0 8z"/></marker></defs>'
)


def roles() -> dict[str, str]:
    """Read from the style sheet how the roles look, each by its selector."""
    sheet = (ROOT / "website/assets/book.css").read_text(encoding="utf-8")
    return {selector: " ".join(look.split()) for selector, look in RULE.findall(sheet)}


def paint(path: Path) -> str:
    """Return a drawing with the rules that it needs, in both themes; old ones are replaced."""
    svg, arrow = PAINT.sub("", path.read_text(encoding="utf-8")), f"arrow-{path.stem}"
    used = set(" ".join(re.findall(r'class="([^"]*)"', svg)).split())
    head = f"\n  {ARROWHEAD.format(arrow)}" if "arrow" in used else ""
    used |= {"arrowhead"} if head else set()
    rules = {"svg": GROUND} | {
        selector: look
        for selector, look in roles().items()
        if not (names := set(re.findall(r"\.([\w-]+)", selector))) or names & used
    }
    values = {"arrow": [f"url(#{arrow})"] * 2, "card": palette()["wash"], **palette()}

    def sheet(theme: int) -> str:
        shown = {name: look for name, look in rules.items() if not theme or "var(--" in look}
        text = "".join(f"\n    {name} {{ {look} }}" for name, look in shown.items())
        text = re.sub(r"(?<=font-size: )[\d.]+", lambda size: f"{LETTERS * float(size[0]):g}", text)
        return re.sub(r"var\(--(\w+)\)", lambda name: values[name[1]][theme], text)

    style = f"{sheet(0)}\n    @media (prefers-color-scheme: dark) {{{sheet(1)}\n    }}\n"
    svg = OPENING.sub(give_room, svg, count=1)
    return svg.replace("</desc>", f"</desc>\n  <style>{style}  </style>{head}", 1)


def give_room(opening: re.Match[str]) -> str:
    """Give a new drawing its size in pixels, and a margin."""
    space, *sides = opening.groups()
    width, height = (float(side) + 2 * MARGIN for side in sides)
    box = f'viewBox="{-MARGIN} {-MARGIN} {width:g} {height:g}"'
    return f'<svg xmlns="{space}" {box} width="{SCALE * width:g}" height="{SCALE * height:g}">'


if __name__ == "__main__":
    stale = {path: text for path in DRAWINGS if (text := paint(path)) != path.read_text("utf-8")}
    if "--check" in sys.argv and stale:
        sys.exit(f"run python -m tools.paint_drawings: {', '.join(path.name for path in stale)}")
    for path, text in stale.items():
        path.write_text(text, encoding="utf-8")
