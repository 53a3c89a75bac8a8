"""Put all figures of the walks into one zip, with their captions.

usage: python -m tools.make_figures [FILE]      (_build/figures.zip if none is named)
"""

import re
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from tools.walk_parts import ROOT, Walk, walks

WHEN = (1980, 1, 1, 0, 0, 0)  # so that the same figures make the same file


def standalone(svg: str) -> str:
    """Turn the SVG of a page into a file of its own."""
    if 'xmlns="http://www.w3.org/2000/svg"' not in svg:
        svg = re.sub("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', svg, count=1)
    return svg if svg.lstrip().startswith("<?xml") else f'<?xml version="1.0"?>\n{svg}'


def files(walk: Walk) -> dict[str, bytes]:
    """Make all files of one walk, by name."""
    contents, captions = {}, f"# {walk.number}. {walk.title}\n"
    for figure in walk.figures:
        if figure.svg:
            svg = standalone(figure.svg)
            contents[f"{walk.folder}/figure-{figure.number}.svg"] = svg.encode("utf-8")
        if figure.png:
            contents[f"{walk.folder}/figure-{figure.number}.png"] = figure.png
        captions += f"\n**Figure {figure.number}.** {figure.caption}\n\nIn words: {figure.words}\n"
    return contents | {f"{walk.folder}/captions.md": captions.encode("utf-8")}


def write(path: Path) -> int:
    """Write the zip, and return the number of figures."""
    path.parent.mkdir(parents=True, exist_ok=True)
    chapters = list(walks())
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for walk in chapters:
            for name, data in files(walk).items():
                archive.writestr(ZipInfo(name, WHEN), data, ZIP_DEFLATED)
    return sum(len(walk.figures) for walk in chapters)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "_build" / "figures.zip"
    print(f"{write(target)} figures: {target}")
