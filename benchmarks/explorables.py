"""Time from input to paint of each explorable in Chromium, and its bytes in a page.

python -m benchmarks.explorables measures, and reports in reference/benchmarks/explorables.md.

What is timed: a slider's input event (where a figure has points and no sliders, an arrow key on a
point; where neither, a click on a picture) and what it calls, and the frame in which the figure is
drawn again, with style, layout and paint: the processor's time of the page's main thread. The
clock's time from input to paint, which other work on the machine lengthens, stands beside it; the
wait for the next frame to begin, up to 16.7 ms on most screens, belongs to the screen and is left
out. A figure is moved as a reader first meets it: what is folded away stays folded, unless nothing
else can be moved.
"""

import math
import platform
import shutil
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.report import named, output_parser, table, write_report
from d2lattn import TransformerDecoder
from d2lattn.book import explorables as figures
from d2lattn.book.explorables.base import inline_scripts

HERE = Path(__file__).parent
MOVES = 100
ROUNDS = 5
WARM_UP = 20


def some_points(n: int) -> figures.NadarayaWatsonBench:
    """Give the bench as many points as chapter 2 trains on, or as it takes."""
    xs = [round(5 * i / n, 2) for i in range(n)]
    return figures.NadarayaWatsonBench(xs, [round(2 * math.sin(x) + x**0.8, 2) for x in xs])


def twelve_sentences() -> figures.AlignmentJudge:
    """Give the judge as much as it takes, with weights as sharp as those of a trained model."""
    words = [f"word{i}" for i in range(14)]
    places = range(14)
    powers = [[math.exp(12 * (i == j) + math.sin(14 * i + j)) for j in places] for i in places]
    weights = [[power / sum(row) for power in row] for row in powers]
    links = [(i, i) for i in places]
    one = {"source": words, "target": words, "sure": links, "possible": links}
    return figures.AlignmentJudge([one] * 12, [weights] * 12, rule="threshold")


def fourteen_words() -> figures.Storyboard:
    """Give the storyboard the length of chapter 4's sentence, and scores as far apart."""
    words, places = [f"word{i}" for i in range(14)], range(14)
    wide = [[math.sin(7 * i + j) for j in range(128)] for i in range(15)]
    steps = {
        "values": wide[:14],
        "states": wide,
        "scores": [[6 * math.sin(14 * i + j) for j in places] for i in places],
        "embeddings": wide[1:],
        "probabilities": [[1 / 14] * 14] * 14,
    }
    return figures.Storyboard(words, words, steps, words, picture=5)


def three_swaps() -> figures.Swap:
    """Give the swap as many words and sentences as it takes; each state turns every other word."""
    words, others = [f"word{i}" for i in range(12)], [f"other{i}" for i in range(12)]
    sentence = {"source": words[:9], "target": words, "place": 4, "word": "other"}
    weights = [[(1 + math.sin(i * j)) / 18 for j in range(9)] for i in range(12)]
    chances = [
        [[0.7 * (k == i + 12 * (j > 0 and (i + j) % 2)) for k in range(24)] for j in range(10)]
        for i in range(12)
    ]
    saw = [{"weights": weights, "chances": chances}] * 3
    return figures.Swap([sentence] * 3, {"forwards": saw, "both ways": saw}, words + others)


def six_forgeries() -> figures.Forge:
    """Give the forge six sentences to show, with weights as sharp as those of a trained model."""
    judged = twelve_sentences().sentences[:6]
    changes = [[[i == j for i in range(14)] for j in range(14)]] * 6
    model = {
        "bleu": 96,
        "translations": [" ".join(one["target"]) for one in judged],
        "weights": [one["weights"] for one in judged],
        "changes": changes,
    }
    return figures.Forge(judged, {"forwards": model, "both ways": model}, range(6))


def six_heads() -> figures.HeadAblation:
    """Give the bench as many heads and words as it takes, and two inputs."""
    words, places = [f"word{i}" for i in range(16)], range(16)
    powers = [
        [[math.exp(4 * math.sin(h + i * j)) for j in places] for i in places] for h in range(6)
    ]
    one = {
        "queries": words,
        "keys": words,
        "weights": [[[x / sum(row) for x in row] for row in head] for head in powers],
        "lengths": [[1 + math.sin(h + j) for j in places] for h in range(6)],
    }
    return figures.HeadAblation([one] * 2, {"zero": [1 / (1 + s) for s in range(64)]})


def eight_words() -> figures.PermuteAndEncode:
    """Give the sentence as many words as it takes, with positions."""
    rows = [[round(math.sin(7 * i + j), 2) for j in range(8)] for i in range(8)]
    return figures.PermuteAndEncode([f"word{i}" for i in range(8)], embeddings=rows, positions=True)


def sixteen_tokens() -> figures.TransformerTour:
    """Give the tour sentences as long as it takes."""
    words = [f"word{i}" for i in range(16)]
    return figures.TransformerTour(words, words)


def seven_letters() -> figures.TransformerXray:
    """Give the X-ray the longest word and as many weights as it takes, drawn anew."""
    torch.manual_seed(0)
    decoder = TransformerDecoder(10, 32, 80, 2, 2, cross_attention=False)
    return figures.TransformerXray(decoder, word="cabbage")


def twenty_four_tokens() -> figures.WritersMemory:
    """Give the memory as long a text and as many heads as it takes, and a window."""
    words = [f"word{i}" for i in range(24)]
    return figures.WritersMemory(words, query_heads=128, kv_heads=128, window=12, written=24)


def six_places() -> figures.LookAhead:
    """As many places, signs and programs as it takes, all of which move."""
    signs = "abcdefghij>."
    moved = [
        [[0.0 if s == at else 1 + s + at / 10 + k / 100 for k in range(6)] for s in range(12)]
        for at in range(6)
    ]
    return figures.LookAhead(signs[:6], signs, dict.fromkeys(("first", "second", "third"), moved))


def eight_keys() -> figures.RunningSoftmax:
    """Give the softmax as many keys as it takes, half of them read."""
    return figures.RunningSoftmax(scores=[1, 2, 3, 1, 0, 4, 5, 2], values=range(1, 9), step=2)


def twelve_words() -> figures.Sign:
    """Give the signer six pictures as long as it takes, of which every state turns the word."""
    words, places = [f"word{i}" for i in range(12)], range(12)
    powers = [[math.exp(3 * math.sin(i * j)) for j in places] for i in places]
    picture = {
        "source": words,
        "target": words,
        "other": [f"other{i}" for i in places],
        "asked": 5,
        "weights": [[round(x / sum(row), 3) for x in row] for row in powers],
        "gold": [5],
        "turned": "turned",
        "exchanged": [["turned", 0.75]] * 12,
        "hidden": [["third", 0.75]] * 12,
        "made": "Drawn for the measurement.",
    }
    return figures.Sign([picture] * 6)


def bytes_in_page(figure: figures.Explorable) -> int:
    """Count the bytes of a figure's output and scripts."""
    html = figure.to_html()
    return len((html + inline_scripts(html)).encode())


class Yardstick:
    """A plain drawing, 150 circles and numbers that a slider moves: it shows a slow machine."""

    def to_html(self) -> str:
        """Return what a page holds."""
        return HERE.joinpath("explorables_yardstick.html").read_text(encoding="utf-8")


CASES: dict[str, Callable[[], figures.Explorable]] = {
    "CueMixer, 5 items": figures.CueMixer,
    "NadarayaWatsonBench, 12 points": figures.NadarayaWatsonBench,
    "NadarayaWatsonBench, 50 points": lambda: some_points(50),
    "NadarayaWatsonBench, 100 points": lambda: some_points(100),
    "NadarayaWatsonBench, norms": lambda: figures.NadarayaWatsonBench(view="norms"),
    "SaturationLab": figures.SaturationLab,
    "SaturationLab, field": lambda: figures.SaturationLab(view="field", score="gaussian"),
    "AlignmentJudge, 12 sentences": twelve_sentences,
    "Storyboard, 14 words": fourteen_words,
    "Swap, 3 sentences": three_swaps,
    "Forge, 6 sentences": six_forgeries,
    "HeadAblation, 6 heads": six_heads,
    "PermuteAndEncode, 8 words": eight_words,
    "PermuteAndEncode, waves": lambda: figures.PermuteAndEncode(view="waves"),
    "TransformerTour, 16 tokens": sixteen_tokens,
    "TransformerXray, 7 letters": seven_letters,
    "MatrixMemory": figures.MatrixMemory,
    "TurningClock": figures.TurningClock,
    "WritersMemory, 24 tokens": twenty_four_tokens,
    "RunningSoftmax, 8 keys": eight_keys,
    "LookAhead, 6 places": six_places,
    "Sign, 12 words": twelve_words,
}


def paint_times(
    browser: Any, explorable: figures.Explorable | Yardstick, moves: int = MOVES
) -> tuple[list[float], list[float]]:
    """Milliseconds from input to paint, one for each move: the main thread's, and the clock's."""
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    html = explorable.to_html()
    page.set_content(f"<!doctype html><main>{html}</main>{inline_scripts(html)}")
    page.wait_for_selector(".d2lx .d2lx .d2lx-title", state="attached")
    page.add_script_tag(path=HERE / "explorables.js")
    page.evaluate("unfold()")
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        return next(1000 * one["value"] for one in metrics if one["name"] == "TaskDuration")

    thread, clock = [], []
    for i in range(moves + WARM_UP):
        before = spent()
        clock.append(page.evaluate("(i) => move(i)", i))
        thread.append(spent() - before)
    page.close()
    return thread[WARM_UP:], clock[WARM_UP:]


def percentile_95(times: list[float]) -> float:
    """The time that 19 of 20 do not exceed."""
    return statistics.quantiles(times, n=20)[-1]


def times_table(browser: Any) -> dict:
    """Measure every case."""
    rows = []
    for name, make in CASES.items():
        # The quietest round: other work on the machine makes one slow, and nothing makes one fast.
        rounds = [paint_times(browser, make()) for _ in range(ROUNDS)]
        thread, clock = (min(times, key=percentile_95) for times in zip(*rounds, strict=True))
        times = statistics.median(thread), percentile_95(thread), percentile_95(clock)
        rows.append([name, *times, bytes_in_page(make())])
    columns = named(("median (ms)", "95th percentile (ms)", "by the clock (ms)"), ".1f")
    return table([("explorable", ""), *columns, ("bytes in page", ",d")], rows)


def main() -> None:
    """Measure and report."""
    options = output_parser(__doc__.splitlines()[0]).parse_args()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        results = {
            "chromium": browser.version,
            "machine": platform.machine(),
            "rounds": ROUNDS,
            "moves": MOVES,
            "tables": {"times": times_table(browser)},
        }
        browser.close()
    write_report("explorables", "explorables", results, options.output)


if __name__ == "__main__":
    main()
