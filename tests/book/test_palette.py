"""One palette: style sheets and figures to play with have the colours of palette.json."""

import re
from pathlib import Path

import pytest

from d2lattn.book.drawings import _style
from d2lattn.book.palette import palette, reserved

ROOT = Path(__file__).resolve().parents[2]
KIT = ROOT / "javascript" / "src" / "kit"
COLOUR = re.compile(r"#[0-9a-f]{6}\b")

# Roles that may be read, by their least contrast on paper; rules and grounds are decoration.
READ = {
    "ink": 14, "weight": 14, "soft": 6.4, "link": 7, "query": 7, "key": 5, "value": 5.1,
    "score": 4.8, "state": 5.9,
}  # fmt: skip
KIT_NAMES = {
    "line": "score", "soft": "rule", "blue": "query", "orange": "key",
    "green": "value", "ink": "ink", "muted": "soft",
    "paper": "paper",
}  # fmt: skip


def luminance(colour):
    levels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in levels]
    return sum(w * x for w, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_what_is_read_can_be_read(theme):
    paper, wash = palette()["paper"][theme], palette()["wash"][theme]
    for name, least in READ.items():
        assert contrast(palette()[name][theme], paper) >= least, name
        assert contrast(palette()[name][theme], wash) >= 4.45, name


def test_a_weight_has_no_hue_of_its_own():
    for theme in (0, 1):
        weight = palette()["weight"][theme]
        levels = [int(weight[i : i + 2], 16) for i in (1, 3, 5)]
        assert max(levels) - min(levels) <= 20


def test_the_books_style_sheet_has_this_palette():
    css = (ROOT / "assets" / "book.css").read_text("utf8")
    found = re.findall(r"--(\w+): light-dark\((#\w+), (#\w+)\)", css)
    assert {name: (light, dark) for name, light, dark in found} == palette()
    rules, _, _ = css.partition("/* 17 FORCED COLOURS")
    _, _, rules = rules.partition("--serif:")
    assert not COLOUR.findall(rules)  # a colour is a token, and nowhere a number


def test_the_browsers_tab_has_this_palette():
    icon = (ROOT / "assets" / "favicon.svg").read_text("utf8")
    light, dark = icon.split("@media(prefers-color-scheme:dark)")
    for theme, part in enumerate((light, dark)):
        wanted = {palette()[name][theme] for name in ("ink", "query", "value")}
        assert set(COLOUR.findall(part)) == wanted


def test_figures_to_play_with_have_this_palette():
    css = (KIT / "life.css").read_text("utf8")
    light, dark = css.split("@media screen")[0], css.split("@media screen")[1].split("@media")[0]
    for theme, part in enumerate((light, dark)):
        found = dict(re.findall(r"--d2lx-(\w+):[^;]*?(#\w+)\)?;", part))
        assert found == {
            name: palette()[token][theme] for name, token in KIT_NAMES.items() if name in found
        }
        assert len(found) >= 8
    ends = re.findall(r"\[(\d+), (\d+), (\d+)\]", (KIT / "ink.js").read_text("utf8"))
    colours = ["#{:02x}{:02x}{:02x}".format(*map(int, end)) for end in ends]
    assert colours == [palette()[name][0] for name in ("paper", "ink")]


def test_other_sources_of_figures_name_no_colour():
    sources = ROOT / "javascript" / "src"
    for source in {*sources.rglob("*.css"), *sources.rglob("*.js")} - {KIT / "life.css"}:
        found = COLOUR.findall(source.read_text("utf8"))
        assert not found, source.name


def test_no_figure_asks_for_a_colour_that_there_is_not():
    declared = set(re.findall(r"(--d2lx-[\w-]+):", (KIT / "life.css").read_text("utf8")))
    assert {f"--d2lx-{name}" for name in KIT_NAMES} <= declared
    sources = [*KIT.parent.rglob("*.css"), *KIT.parent.rglob("*.js")]
    texts = {source: source.read_text("utf8") for source in sources}
    # Lengths and turns that a figure sets itself
    declared |= set(re.findall(r"(--d2lx-[\w-]+)['\"]?[:,]", "".join(texts.values())))
    for source, text in texts.items():
        names = set(re.findall(r"var\((--d2lx-[\w-]+)\)", text))
        for chosen in re.findall(r"var\(--d2lx-\$\{([^}]*)\}\)", text):
            names |= {f"--d2lx-{name}" for name in re.findall(r'"(\w+)"', chosen)}
        assert names <= declared, (source.name, names - declared)


def test_words_of_figures_name_no_colour():
    named = re.compile(r"\b(blue|orange|green|red|gr[ae]y|black|white|pale|dark\w*)\b", re.I)
    for source in (ROOT / "javascript" / "src").rglob("*.js"):
        code = re.sub(r"//.*|/\*[^*]*\*/", "", source.read_text("utf8"))
        for text in re.findall(r'"([^"\n]* [^"\n]*)"', code):  # a sentence has a blank
            assert not named.search(text.replace("var(--d2lx-", "")), (source.name, text)


def test_drawings_have_this_palette():
    used = set(re.findall(r"var\(--(\w+)\)", _style()))
    assert {"query", "key", "value", "weight", "ink"} <= used <= {*palette(), "arrow"}
    light, dark = re.findall(r"\{ ((?:--[\w-]+: [^;]+; ?)+)\}", _style())
    for theme, part in enumerate((light, dark)):
        found = dict(re.findall(r"--(\w+): (#\w+)", part))
        assert found == {name: palette()[name][theme] for name in used - {"arrow"}}


def test_reserved_colours_tell_names_apart():
    assert len(set(reserved().values())) == len(palette())
    for name, (light, _) in palette().items():
        away = int(reserved()[name][1:], 16) - int(light[1:], 16)
        assert 0 <= away <= 3, name
