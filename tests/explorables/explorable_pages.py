"""Helpers to put explorables on a page and to read what it shows."""

from collections.abc import Callable

from d2lattn.explorables import CueMixer, Explorable, NadarayaWatsonBench

# One of each, as it starts. A new explorable is tested by adding it here.
EXAMPLES: dict[str, Callable[[], Explorable]] = {
    "CueMixer": CueMixer,
    "NadarayaWatsonBench": NadarayaWatsonBench,
}

# What the book's theme gives to a page, light and dark.
THEMES = {
    "light": ("#ffffff", "#222832", "#48566b"),
    "dark": ("#14181e", "#ced6dd", "#9ca4af"),
}


def document(*bodies: str, theme: str = "light") -> str:
    """A page in the book's colours around the given outputs."""
    paper, ink, muted = THEMES[theme]
    outputs = "".join(f'<div class="output text_html">{body}</div>' for body in bodies)
    return (
        f'<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Page</title>'
        f"<style>:root {{ --pst-color-background: {paper}; --pst-color-text-base: {ink};"
        f" --pst-color-text-muted: {muted}; }}"
        f" body {{ background: {paper}; color: {ink}; margin: 8px; }}"
        "</style></head><body><main><h1>Page</h1>"
        f"<h2>Part</h2><h3>Section</h3>{outputs}</main></body></html>"
    )


def frame(page) -> None:
    """Wait until the next frames are drawn."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def shown(page, name: str, nth: int = 0) -> float:
    """The number on the page under this name, with all its digits."""
    text = page.locator(f"[data-name='{name}']").nth(nth).get_attribute("value")
    return float(text.replace("Infinity", "inf").replace("NaN", "nan"))
