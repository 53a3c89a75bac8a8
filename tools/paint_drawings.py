"""Write into each drawing how it looks, so that it is complete wherever it is shown as an image.

usage: python -m tools.paint_drawings [--check]

Each element of a drawing has a role, its class. How a role looks stands in the style sheet of the
pages, and its colours in `palette.json`; from there they come into `images/*.svg`, for light and
for dark. Where a page holds a drawing, website/extensions/plots.py takes them out again.
"""

import re
import sys
from pathlib import Path

from d2lattn.book.palette import palette

ROOT = Path(__file__).resolve().parents[1]
DRAWINGS = sorted((ROOT / "images").glob("*.svg"))
RULE = re.compile(r"^\.d2l-drawing ([^{]+?) \{(.*?)\}$", re.MULTILINE | re.DOTALL)
PAINT = re.compile(r"\n  <style>.*?</style>(\n  <defs><marker.*?</defs>)?", re.DOTALL)
# Opaque, since a page that shows the file may have another theme than the reader's system prefers;
# and with smaller letters, since these faces are wider than that of the pages.
GROUND = "background: var(--paper); font-family: Arial, Helvetica, sans-serif;"
LETTERS = 0.88
ARROWHEAD = """
  <defs><marker id="{}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" \
orient="auto-start-reverse"><path class="arrowhead" d="M0 0L8 4L0 8z"/></marker></defs>"""


def roles() -> dict[str, str]:
    """Read from the style sheet how the roles look, each by its selector."""
    sheet = (ROOT / "website/assets/book.css").read_text(encoding="utf-8")
    return {selector: " ".join(look.split()) for selector, look in RULE.findall(sheet)}


def paint(path: Path) -> str:
    """Return a drawing with the rules that it needs, in both themes; old ones are replaced."""
    svg, arrow = PAINT.sub("", path.read_text(encoding="utf-8")), f"arrow-{path.stem}"
    used = set(" ".join(re.findall(r'class="([^"]*)"', svg)).split())
    head = ARROWHEAD.format(arrow) if "arrow" in used else ""
    used |= {"arrowhead"} if head else set()
    values = {"arrow": [f"url(#{arrow})"] * 2, "card": palette()["wash"], **palette()}
    themes = ["", ""]
    for selector, look in {"svg": GROUND, **roles()}.items():
        names = set(re.findall(r"\.([\w-]+)", selector))
        for theme in range(1 + ("var(--" in look)) if not names or names & used else ():
            rule = look
            for name, colours in values.items():
                rule = rule.replace(f"var(--{name})", colours[theme])
            themes[theme] += f"\n    {selector} {{ {rule} }}"
    style = f"{themes[0]}\n    @media (prefers-color-scheme: dark) {{{themes[1]}\n    }}\n"
    style = re.sub(r"(?<=font-size: )[\d.]+", lambda size: f"{LETTERS * float(size[0]):g}", style)
    svg = svg.replace("</desc>", f"</desc>\n  <style>{style}  </style>{head}", 1)
    return re.sub(r'viewBox="0 0 (\S+) (\S+)">', give_room, svg, count=1)


def give_room(new: re.Match[str]) -> str:
    """Give a new drawing a margin, and a size in pixels."""
    w, h = (float(side) + 16 for side in new.groups())
    return f'viewBox="-8 -8 {w:g} {h:g}" width="{1.25 * w:g}" height="{1.25 * h:g}">'


if __name__ == "__main__":
    stale = {path: text for path in DRAWINGS if (text := paint(path)) != path.read_text("utf-8")}
    if "--check" in sys.argv and stale:
        sys.exit(f"run python -m tools.paint_drawings: {', '.join(path.name for path in stale)}")
    for path, text in stale.items():
        path.write_text(text, encoding="utf-8")
