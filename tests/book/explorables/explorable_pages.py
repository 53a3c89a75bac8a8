"""Helpers to put explorables on a page and to read what it shows."""

import json
from collections.abc import Callable

import torch

from d2lattn import TransformerDecoder
from d2lattn.book import explorables as figures
from d2lattn.book.explorables.base import inline_scripts, read_script

# Two sentences, with weights that are not all right.
SENTENCES = [
    {
        "source": ["the", "red", "cat", "does", "not", "sleep"],
        "target": ["le", "chat", "rouge", "ne", "dort", "pas"],
        "weights": [
            [0.9, 0.02, 0.08, 0, 0, 0],
            [0.05, 0.15, 0.8, 0, 0, 0],
            [0, 0.7, 0.3, 0, 0, 0],
            [0, 0, 0, 0.6, 0.4, 0],
            [0, 0, 0, 0.05, 0.05, 0.9],
            [0, 0, 0, 0.15, 0.55, 0.3],
        ],
        "sure": [(0, 0), (1, 2), (2, 1), (4, 5), (5, 4)],
        "possible": [(0, 0), (1, 2), (2, 1), (3, 3), (4, 3), (3, 5), (4, 5), (5, 4)],
    },
    {
        "source": ["she", "sings"],
        "target": ["elle", "chante", "."],
        "weights": [[0.75, 0.25], [0.125, 0.875], [0.5, 0.5]],
        "sure": [(0, 0), (1, 1)],
        "possible": [(0, 0), (1, 1)],
    },
]

# A sentence for the storyboard: four source tokens, three target tokens, states of two numbers.
STEPS = {
    "values": [[0.5, -0.25], [-0.75, 0.5], [0.25, 1], [0, -1]],
    "states": [[0, 0], [0.5, -0.5], [-0.25, 0.75], [1, -1]],
    "scores": [[2, 0, -1, -3], [0.5, 0, 3, -2], [-1, -2, 0, 4]],
    "embeddings": [[0.1, -0.1, 0.3], [0.25, 0.5, -0.5], [-1.5, 0, 0.75]],
    "probabilities": [[0, 0.05, 0.9, 0.05], [0, 0.25, 0, 0.75], [0.5, 0.125, 0.25, 0.125]],
}


def story(**state) -> figures.Storyboard:
    source, target = ["the", "happy", "cow", "<eos>"], ["la", "vache", "<eos>"]
    return figures.Storyboard(source, target, STEPS, ["<eos>", "le", "la", "vache"], **state)


def forge(**state) -> figures.Forge:
    """Two translators of the same sentences: one reads as they say, the other one word too late."""
    later = [
        [[*row[-1:], *row[:-1]] if t < 2 else row for t, row in enumerate(one["weights"])]
        for one in SENTENCES
    ]
    own = [one["weights"] for one in SENTENCES]
    changes = [[[x > 0.5 for x in row] for row in rows] for rows in (own[0], later[1])]
    translations = [" ".join(one["target"]) for one in SENTENCES]
    both = {"translations": translations, "changes": changes}
    translators = {
        "forwards": {**both, "bleu": 95.8, "weights": later},
        "both ways": {**both, "bleu": 96.8, "weights": own},
    }
    return figures.Forge(SENTENCES, translators, [0, 1], **({"drawn": 1} | state))


def sizes(figure: figures.Explorable) -> tuple[int, int]:
    """Bytes of what draws the figure, and of what trained models did with its sentences."""
    trained = ("data", "pictures", "sentences", "examples", "losses", "network")
    names = [name for name in trained if figure.has_trait(name)]
    data = len(json.dumps(figure.get_state(names), separators=(",", ":"))) if names else 0
    script = read_script(figure.module)  # the kit is shared
    return len(figure.to_html().encode()) + len(script.encode()) - data, data


def most_data(figure: figures.Explorable) -> int:
    """How many bytes that may be: where a whole network stands in the page, its 20,000 weights."""
    return (110 if figure.has_trait("network") else 15) * 1024


def bench(**state) -> figures.HeadAblation:
    """Four heads: the first two do the same work, the third is sharp and idle, the fourth blurred.

    Without both of the first two the loss rises by 0.6, without the fourth by 0.25.
    """
    keys = ["the", "happy", "cow", "<eos>"]
    one_place = [[float(k == place) for k in range(4)] for place in (0, 2, 2)]
    next_place = [[float(k == place) for k in range(4)] for place in (1, 2, 3)]
    heads = [one_place, [[0.7 * x + 0.075 for x in row] for row in one_place], next_place]
    heads.append([[0.25] * 4] * 3)
    first = {
        "name": "the happy cow",
        "queries": ["la", "vache", "heureuse"],
        "keys": keys,
        "weights": heads,
        "lengths": [[2, 1, 2.5, 0.5], [1.5, 1, 2, 1], [0.01, 0.02, 0.01, 0.01], [1, 1.5, 1, 0.5]],
    }
    second = {
        **first,
        "name": "cow",
        "queries": ["vache"],
        "keys": ["cow", "<eos>"],
        "weights": [[[0.9, 0.1]], [[0.75, 0.25]], [[0, 1]], [[0.5, 0.5]]],
        "lengths": [row[2:] for row in first["lengths"]],
    }
    losses = [
        0.1 + 0.6 * (s & 3 == 0) + 0.25 * (s & 8 == 0) + 0.002 * (s & 4 == 0) for s in range(16)
    ]
    zero_and_mean = {"zero": losses, "mean": [0.05 + 0.5 * loss for loss in losses]}
    return figures.HeadAblation([first, second], zero_and_mean, "error", **state)


def swap(**state) -> figures.Swap:
    """Two sentences, read forwards (the changed word's own state turns words) and both ways."""
    source, target = ["the", "happy", "cow", "."], ["la", "vache", "heureuse"]
    vocabulary = ["le", "la", "vache", "chien", "heureuse", "heureux"]
    weights = [[0.25, 0, 0.75, 0], [0, 0.125, 0.875, 0], [0, 1, 0, 0]]

    def chances(places: list[int]) -> list[list[list[float]]]:
        """For each word: it, but where the state that turns it is exchanged the other one."""
        rows = []
        for place, (own, other) in zip(places, [(1, 0), (2, 3), (4, 5)], strict=True):
            row = [[0.0] * 6 for _ in range(5)]
            for state, one in enumerate(row):
                turns = state == 1 + place
                one[own], one[other] = (0.125, 0.75) if turns else (0.875, 0.0625)
            rows.append(row)
        return rows

    forwards, both = chances([2, 2, 2]), chances([0, 2, 1])
    one = {"source": source, "target": target, "place": 2, "word": "dog"}
    short = {**one, "columns": (1, 2), "rows": (1, 2)}
    readers = {
        name: [{"weights": weights, "chances": found}] * 2
        for name, found in (("forwards", forwards), ("both ways", both))
    }
    return figures.Swap([one, short], readers, vocabulary, **({"column": 2} | state))


def tour(**state) -> figures.TransformerTour:
    """Seven source tokens and eight target tokens, so that no shape is mistaken for another."""
    source = ["the", "happy", "cow", "saw", "her", ".", "<eos>"]
    target = ["la", "vache", "heureuse", "l'", "a", "vue", ".", "<eos>"]
    return figures.TransformerTour(source, target, **state)


# The first points at "cat", which turns the word and is needed; the second at "sings", which a
# person would link to the word, and where it was not read.
PICTURES = [
    {
        "source": ["the", "red", "cat"],
        "target": ["le", "chat", "rouge"],
        "other": ["the", "red", "cow"],
        "asked": 0,
        "weights": [[0.3, 0.05, 0.65], [0, 0.2, 0.8], [0, 1, 0]],
        "gold": [0],
        "turned": "la",
        "exchanged": [["le", 0.9], ["le", 0.95], ["la", 0.85]],
        "hidden": [["le", 0.9], ["le", 0.97], ["les", 0.55]],
        "made": "Read forwards.",
    },
    {
        "source": ["she", "sings"],
        "target": ["elle", "chante", "."],
        "other": ["they", "sings"],
        "asked": 1,
        "weights": [[0.75, 0.25], [0.125, 0.875], [0.5, 0.5]],
        "gold": [1],
        "turned": "chantent",
        "exchanged": [["chantent", 0.6], ["chante", 0.75]],
        "hidden": [["chante", 0.9], ["chante", 0.5]],
        "made": "Read both ways.",
    },
]


def sign(**state) -> figures.Sign:
    return figures.Sign(PICTURES, **({"lesson": "Exchange the state."} | state))


def tiny_decoder() -> TransformerDecoder:
    """Chapter 7's sizes, with no training: it writes nonsense, and looks at all letters alike."""
    torch.manual_seed(0)
    return TransformerDecoder(10, 24, 48, 2, 2, cross_attention=False)


def xray(**state) -> figures.TransformerXray:
    return figures.TransformerXray(tiny_decoder(), **({"word": "facade"} | state))


def first_place(**state) -> figures.FirstPlace:
    """Two translators over three first places: one breaks, the other does not."""
    written = {
        "as trained": ["la vache dort .", "la vache la .", "la la"],
        "random starts": ["la vache dort ."] * 3,
    }
    bleu = {"as trained": [98, 61.5, 30.2], "random starts": [97.5, 97.25, 97]}
    return figures.FirstPlace(
        ["the", "cow", "sleeps", "."], ["la", "vache", "dort", "."], written, bleu, **state
    )


def look_ahead(**state) -> figures.LookAhead:
    """Three places, four signs: with a mask later places move, without one all do, each its own."""
    reads, signs = [">", "d", "a"], ["a", "d", ">", "."]
    masked, free = (
        [
            [
                [
                    0
                    if sign == signs.index(letter) or (mask and at < place)
                    else 1 + place + sign / 10 + at / 100
                    for at in range(3)
                ]
                for sign in range(4)
            ]
            for place, letter in enumerate(reads)
        ]
        for mask in (True, False)
    )
    return figures.LookAhead(
        reads, signs, {"first program": masked, "second program": free}, **state
    )


# Sizes as Brown et al. 2020, table 2.1, and Chowdhery et al. 2022, table 1, have them.
MODELS = {
    "GPT-3": {"layers": 96, "query_heads": 96, "kv_heads": 96, "head_dim": 128},
    "PaLM 540B": {"layers": 118, "query_heads": 48, "kv_heads": 1, "head_dim": 256},
}


def writers_memory(**state) -> figures.WritersMemory:
    return figures.WritersMemory(models=MODELS, **state)


# One of each, as it starts. A new explorable is tested by adding it here.
EXAMPLES: dict[str, Callable[[], figures.Explorable]] = {
    "CueMixer": figures.CueMixer,
    "NadarayaWatsonBench": figures.NadarayaWatsonBench,
    "SaturationLab": figures.SaturationLab,
    "AlignmentJudge": lambda: figures.AlignmentJudge(SENTENCES),
    "Sign": sign,
    "Storyboard": story,
    "FirstPlace": first_place,
    "Forge": lambda: forge(drawn=0),
    "Swap": swap,
    "HeadAblation": bench,
    "PermuteAndEncode": figures.PermuteAndEncode,
    "LookAhead": look_ahead,
    "TransformerTour": tour,
    "TransformerXray": xray,
    "MatrixMemory": figures.MatrixMemory,
    "TurningClock": figures.TurningClock,
    "MovedTogether": lambda: figures.TurningClock(together=True),
    "WritersMemory": writers_memory,
    "RunningSoftmax": figures.RunningSoftmax,
}

# Those that show their numbers at once.
NO_GUESS = {
    *("Forge", "LookAhead", "MatrixMemory", "MovedTogether", "RunningSoftmax", "Sign", "Swap"),
    "TransformerTour",
}

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
