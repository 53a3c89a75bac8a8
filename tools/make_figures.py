"""Put all figures of the walks into one zip, with their captions.

usage: python -m tools.make_figures [FILE]      (_build/figures.zip if none is named)
"""

import re
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from tools.walk_parts import ROOT, Figure, Walk, walks

SVG_START = '<?xml version="1.0" encoding="UTF-8"?>\n'
NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'
WHEN = (1980, 1, 1, 0, 0, 0)  # so that the same figures make the same file


def alone(figure: Figure) -> str:
    """Write a figure's SVG so that it is a file of its own."""
    text = figure.svg
    if NAMESPACE not in text:
        text = re.sub("<svg ", f"<svg {NAMESPACE} ", text, count=1)
    return text if text.lstrip().startswith("<?xml") else SVG_START + text


def files(walk: Walk) -> dict[str, bytes]:
    """Make all files of one walk, by name."""
    found, said = {}, [f"# {walk.number}. {walk.title}", ""]
    for figure in walk.figures:
        if figure.svg:
            found[f"{walk.folder}/figure-{figure.number}.svg"] = alone(figure).encode("utf-8")
        if figure.png:
            found[f"{walk.folder}/figure-{figure.number}.png"] = figure.png
        said += [
            f"**Figure {figure.number}.** {figure.caption}",
            "",
            f"In words: {figure.words}",
            "",
        ]
    found[f"{walk.folder}/captions.md"] = "\n".join(said).encode("utf-8")
    return found


def write(path: Path) -> int:
    """Write the zip, and say how many figures it has."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number = 0
    with ZipFile(path, "w", ZIP_DEFLATED) as folder:
        for walk in walks():
            number += len(walk.figures)
            for name, data in files(walk).items():
                folder.writestr(ZipInfo(name, WHEN), data, ZIP_DEFLATED)
    return number


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "_build" / "figures.zip"
    print(f"{write(target)} figures: {target}")
