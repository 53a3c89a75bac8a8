"""The book's figures as their pages store them, and helpers to read what a page shows."""

import nbformat
import torch

from d2lattn import TransformerDecoder
from d2lattn.book import explorables as figures
from d2lattn.book.explorables.base import MODULES, find_figures, read_script
from tools.run_notebooks import NOTEBOOKS


def stored_figures() -> dict[str, str]:
    """Read one figure of each kind, as HTML, from the first notebook that shows one."""
    found = {}
    for path in NOTEBOOKS:
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", []):
                html = output.get("data", {}).get("text/html", "")
                for name in find_figures(html):
                    found.setdefault(name, html)
    return found


EXAMPLES = stored_figures()


def tiny_decoder() -> TransformerDecoder:
    """Chapter 7a's sizes, with no training: it writes nonsense, and looks at all letters alike."""
    torch.manual_seed(0)
    return TransformerDecoder(10, 24, 48, 2, 2, cross_attention=False)


# Paper and ink of a page, light and dark.
THEMES = {"light": ("#ffffff", "#222832"), "dark": ("#14181e", "#ced6dd")}

# Words that run, that turn the line round, that are cut in pieces, or that are too long.
HOSTILE = [
    "<img src=x onerror=\"document.title='run'\">",
    "</script><script>document.title='run'</script>",
    "${document.title='run'}`);document.title='run';//",
    "مرحبا بالعالم \u202e txet",
    "👩🏽‍🚀🇫🇷" * 3,
    "long " * 2000,
]


def assert_words_are_text(page) -> None:
    """Nothing ran, nothing became an element, and the page is no wider than its window."""
    assert page.title() == "Page"
    assert page.locator("img").count() == 0
    assert page.locator("main script").count() == 1
    over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(over) <= 0


def inline_scripts(page: str) -> str:
    """Join the scripts that a page of its own needs to start the figures in it."""
    texts = [read_script("kit"), *(read_script(MODULES[name]) for name in find_figures(page))]
    return "".join(f"<script>{text}</script>" for text in texts)


def document(*bodies: str, theme: str = "light") -> str:
    """A page in the book's colours around the given outputs."""
    paper, ink = THEMES[theme]
    scripts = inline_scripts("".join(bodies))
    outputs = "".join(f'<div class="output text_html">{body}</div>' for body in bodies)
    return (
        f'<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Page</title>'
        f"<style>body {{ background: {paper}; color: {ink}; margin: 8px; }}"
        "</style></head><body><main><h1>Page</h1>"
        f"<h2>Part</h2>{outputs}</main>{scripts}</body></html>"
    )


def frame(page) -> None:
    """Wait until the next frames are drawn."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def shown(page, name: str, nth: int = 0) -> float:
    """The number on the page under this name, with all its digits."""
    text = page.locator(f"[data-name='{name}']").nth(nth).get_attribute("value")
    return float(text.replace("Infinity", "inf").replace("NaN", "nan"))


def all_shown(page) -> dict[str, float]:
    """All numbers on the page by their names; of a name that comes again, the last."""
    read = "all => all.map((one) => [one.dataset.name, one.getAttribute('value')])"
    pairs = page.locator("[data-name][value]").evaluate_all(read)
    return {name: float(text.replace("Infinity", "inf")) for name, text in pairs}


def live(page, explorable: figures.Explorable) -> None:
    """Start an explorable as anywidget does, on a model that notes in ``sent`` what Python gets."""
    start = """async ([code, state]) => {
      const { default: explorable } = await import(URL.createObjectURL(
        new Blob([code], { type: 'text/javascript' })));
      const [heard, changed] = [{}, {}];
      globalThis.sent = {};
      const model = {
        get: (name) => state[name],
        set(name, value) {
          state[name] = changed[name] = value;
          (heard[`change:${name}`] ?? []).forEach((listener) => listener());
        },
        save_changes: () => Object.assign(sent, changed),
        on: (event, listener) => (heard[event] ??= []).push(listener),
        off: (event, listener) => (heard[event] = heard[event].filter((f) => f !== listener)),
      };
      const el = document.createElement('div');
      document.querySelector('main').append(el);
      globalThis.stop = explorable.render({ model, el });
      globalThis.model = model;
    }"""
    page.evaluate(start, [explorable._esm, explorable.get_state(explorable.state_names())])
    frame(page)
