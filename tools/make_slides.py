"""Make slides for the sessions of `teaching/sessions.yaml`, of the walks' own parts.

usage: python -m tools.make_slides [FOLDER]      (_build/slides if none is named)

For each walk: its question, its mechanism drawn, predictions whose answer comes with the next key,
what was measured, the task where there is time, and the answer. reveal.js comes from
javascript/node_modules (npm ci there), the fonts from website/assets/; no network is needed.
"""

import html
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from d2lattn.book.palette import palette
from tools.paint_drawings import roles
from tools.walk_parts import ROOT, Figure, Prediction, Walk, as_html, questions, read_walk
from website.extensions.for_teachers import load_plans
from website.extensions.plots import Plot, inline

REVEAL = ROOT / "javascript" / "node_modules" / "reveal.js"
FONTS = "serif.woff2", "serif-italic.woff2", "sans.woff2", "math.woff2", "mono.woff2"
LOOK, PAGE, CONTENTS = (
    (ROOT / "teaching" / name).read_text(encoding="utf-8")
    for name in ("slides.css", "slides.html", "slides-contents.html")
)


def slide(inside: str, note: str = "", kind: str = "") -> str:
    """Write one slide; the note is for the one who speaks."""
    spoken = f'\n<aside class="notes">{html.escape(note)}</aside>' if note else ""
    return f'<section class="{kind}">\n{inside}{spoken}\n</section>'


def figure_slide(figure: Figure, prefix: str) -> str:
    """Write a figure with its caption."""
    if figure.drawn:
        picture = inline(figure.svg, figure.words)
    else:
        picture = Plot(figure.svg, prefix).html("wide")
        words = html.escape(figure.words)
        picture = f'<div class="plot" role="img" aria-label="{words}">{picture}</div>'
    caption = f"<b>Figure {figure.number}</b> {html.escape(figure.caption)}"
    return f'<div class="picture">{picture}</div>\n<p class="caption">{caption}</p>'


def speaker_note(walk: Walk, section: str) -> str:
    """Say where in the walk a slide stands."""
    return f"Walk {walk.number}, {section}" if section else f"Walk {walk.number}, at its beginning"


def choose_parts(walk: Walk, predictions: int, plots: int) -> list[Figure | Prediction]:
    """Choose parts in the walk's order: a drawing, predictions, and plots that answer one.

    A prediction is answered by the plot that comes before the next prediction. Of those the last
    ones are taken, since a walk measures at its end. A walk that asks and plots little shows
    more of its drawings.
    """
    drawing = next((figure for figure in walk.figures if figure.drawn), None)
    questions = walk.predictions[-predictions:] if predictions else []
    answering, waits = [], False
    for part in walk.parts:
        if isinstance(part, Prediction):
            waits = True
        elif waits and not part.drawn and part.svg:
            answering.append(part)
            waits = False
    rest = [f for f in walk.figures if not f.drawn and f.svg and f not in answering]
    plotted = [*answering, *rest][:plots] if len(answering) < plots else answering[-plots:]
    missing = max(0, predictions + plots - 2 - len(questions) - len(plotted))
    more = [figure for figure in walk.figures if figure.drawn and figure is not drawing]
    parts = [drawing, *questions, *plotted, *more[:missing]]
    return [part for part in walk.parts if part in parts]


def slides_of(walk: Walk, predictions: int, plots: int, alone: bool) -> Iterator[str]:
    """Make the slides of one walk; alone it begins with what was before, and holds its task."""
    title = f'<p class="label">Chapter {walk.number}</p>\n<h1>{html.escape(walk.title)}</h1>'
    question = html.escape(questions().get(walk.number, ""))
    yield slide(f'{title}\n<p class="question">{question}</p>', speaker_note(walk, ""), "opens")
    if alone and walk.recalls:
        asks = "".join(
            f'<div class="recalls">{as_html(recall.asks)}'
            f'<div class="answer fragment">{as_html(recall.answer)}</div></div>'
            for recall in walk.recalls
        )
        label = '<p class="label">From earlier chapters</p>'
        yield slide(f"{label}\n{asks}", speaker_note(walk, walk.recalls[0].section), "asks")
    for count, part in enumerate(choose_parts(walk, predictions, plots)):
        note = speaker_note(walk, part.section)
        if isinstance(part, Figure):
            yield slide(figure_slide(part, f"w{walk.number}f{count}-"), note, "shows")
        else:
            answer = f'<div class="answer fragment">{as_html(part.answer)}</div>'
            asks = f'<div class="asks">{as_html(part.asks[:1].upper() + part.asks[1:])}</div>'
            label = '<p class="label">Predict first</p>'
            yield slide(f"{label}\n{asks}\n{answer}", f"{note}. Everybody writes it down.", "asks")
    if alone:
        asks = f'<p class="label">One for you</p>\n<div class="asks">{as_html(walk.task)}</div>'
        yield slide(asks, f"{speaker_note(walk, 'One for you')}, which has the solution.", "asks")
    answer = f'<div class="fragment">{as_html(walk.take_away)}</div>'
    label = f'<p class="label">The answer to chapter {walk.number}</p>'
    yield slide(
        f"{label}\n<p>{question}</p>\n{answer}", f"{speaker_note(walk, 'The answer')}.", "closes"
    )


def session(walks: list[Walk]) -> list[str]:
    """Make about eight slides: all for one walk, or shared by two."""
    share = (3, 2, True) if len(walks) == 1 else (1, 1, False)
    return [slide for walk in walks for slide in slides_of(walk, *share)]


def style_sheet() -> str:
    """The style sheet, in the book's colours: those of the light page, for projectors."""
    colours = "".join(f"  --{name}: {light};\n" for name, (light, _) in palette().items())
    drawn = "".join(f".d2l-drawing {role} {{ {look} }}\n" for role, look in roles().items())
    drawn = drawn.replace("var(--card)", "var(--wash)")
    return f":root {{\n{colours}}}\n{drawn}{LOOK}"


def write(folder: Path) -> list[Path]:
    """Write all sessions of both plans, and a page that lists them."""
    if not (REVEAL / "dist" / "reveal.js").exists():
        raise SystemExit("reveal.js is missing; install it: cd javascript && npm ci")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "reveal").mkdir(parents=True)
    (folder / "fonts").mkdir()
    for name in ("reset.css", "reveal.css", "reveal.js", "plugin/notes.js"):
        shutil.copy(REVEAL / "dist" / name, folder / "reveal")
    shutil.copy(REVEAL / "LICENSE", folder / "reveal")
    for name in FONTS:
        shutil.copy(ROOT / "website" / "assets" / "fonts" / name, folder / "fonts")
    (folder / "slides.css").write_text(style_sheet(), encoding="utf-8")
    pages, rows = [], []
    for plan, sessions in load_plans().items():
        for number, entry in enumerate(sessions, 1):
            slides = session([read_walk(name) for name in entry["walks"]])
            title = f"{number} of {plan}: {entry['title']}"
            page = PAGE.format(title=html.escape(title), slides="\n".join(slides))
            path = folder / f"{plan}-{number}.html"
            path.write_text(page, encoding="utf-8")
            pages.append(path)
            rows.append(f'<li><a href="{path.name}">{html.escape(title)}</a></li>')
    contents = CONTENTS.format(rows="\n".join(rows))
    (folder / "index.html").write_text(contents, encoding="utf-8")
    return pages


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "_build" / "slides"
    print(f"{len(write(target))} sets of slides: {target / 'index.html'}")
