"""Plots in the built pages: in the theme's colours, described, and legible on a telephone."""

import re

import pytest

pytestmark = pytest.mark.browser

HEX = re.compile(r"#[0-9a-f]{6}\b")


@pytest.fixture(scope="module")
def with_plots(book, pages):
    """The source of each page that has a plot."""
    texts = {name: (book / name).read_text("utf8") for name in pages}
    return {name: text for name, text in texts.items() if '<div class="plot"' in text}


def test_plots_are_found(with_plots):
    assert len(with_plots) >= 25


def test_every_colour_follows_the_theme(with_plots):
    for name, text in with_plots.items():
        for plot in re.findall(r'<div class="plot".*?</svg></div>', text, re.DOTALL):
            words, drawn = plot.split(">", 1)
            assert not HEX.findall(drawn), name
            assert 'role="img"' in words
            (alt,) = re.findall(r'aria-label="([^"]*)"', words)
            assert len(alt.split()) >= 6, name
            assert drawn.count("<svg") == 2


def test_no_page_shows_a_plot_as_png(with_plots, book):
    for name, text in with_plots.items():
        assert ".png" not in text.partition("<article")[2].replace("data:image/png", ""), name


def look(chromium, addresses, name, width, **options):
    context = chromium.new_context(viewport={"width": width, "height": 900}, **options)
    page = context.new_page()
    page.goto(addresses["file"] + name)
    return context, page


def test_a_cell_mixes_weight_into_wash_in_both_themes(chromium, addresses):
    name = "chapters/01-attention-cues/walk.html"
    grounds = {"light": (246, 241, 230), "dark": (35, 32, 29)}
    inks = {"light": (33, 30, 26), "dark": (243, 236, 224)}
    for theme in ("light", "dark"):
        context, page = look(chromium, addresses, name, 1280, color_scheme=theme)
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        fills = page.locator(".plot .wide path[style*='fill:var(--w']").evaluate_all(
            "paths => paths.map((one) => getComputedStyle(one).fill)"
        )
        assert {f"rgb{grounds[theme]}", f"rgb{inks[theme]}"} <= set(fills)
        context.close()
