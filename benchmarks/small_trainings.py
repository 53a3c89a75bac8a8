"""The small trainings of chapters 4 to 7 and 12, each with five seeds; translators with three.

python -m benchmarks.small_trainings trains what the pages speak of, and reports in
reference/benchmarks/small-trainings.md. Each training is kept in a file as soon as it is done, and
not done again.
"""

import argparse
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import nbformat
import torch

import d2lattn as d2l
from benchmarks.measure import load_or_run
from benchmarks.relative import NUM_PAIRS, RECIPE, SIZES, WIDTH
from benchmarks.report import each, output_parser, table, write_report
from benchmarks.translation import bleu, fit_model, translate
from d2lattn.book.experiments import cities, first_symbol, local_attention, stacks
from d2lattn.corpus import load_corpus

KEPT = Path("small_trainings.jsonl")
WALK = Path(__file__).parents[1] / "chapters" / "12-gpt" / "walk.ipynb"
SEEDS = 5


@dataclass(frozen=True)
class Experiment:
    """Trainings that one table shows."""

    title: str
    columns: dict[str, int]  # with digits
    rows: Iterable[str]
    measure: Callable[[str, int], Iterable[float]]  # of a row and a seed
    seeds: int | None = None  # if not as many as asked for


def measure_layers(name: str, seed: int) -> tuple[float, ...]:
    """Train the walk's heads on cities."""
    model = cities.fit_layer(name, seed)
    return cities.error(model), *cities.multipliers(model).tolist()


def measure_reach(name: str, seed: int) -> tuple[float, ...]:
    """Train with one reach, without positions and with sinusoids."""
    make = local_attention.REACHES[name]
    readers = (local_attention.learn(make, how, seed) for how in (None, local_attention.waves))
    return tuple(map(local_attention.right, readers))


def measure_depth(name: str, seed: int) -> tuple[float, float, float]:
    """Train the Transformer of the race with another number of blocks, once through the pairs."""
    sizes = {**SIZES, "num_layers": DEPTHS[name]}
    corpus = load_corpus(num_train=NUM_PAIRS)
    translator = fit_model(
        lambda source_size, target_size: d2l.EncoderDecoder(
            d2l.TransformerEncoder(source_size, WIDTH, **sizes),
            d2l.TransformerDecoder(target_size, WIDTH, **sizes),
        ),
        corpus.train,
        seed,
        num_epochs=1,
        **RECIPE,
    )
    test, unseen = (bleu(translate(translator, p)) for p in (corpus.test, corpus.unseen))
    return test, unseen, translator.seconds


DEPTHS = {"1 + 1 blocks": 1, "2 + 2 blocks": 2}


@cache
def run_walk(seed: int) -> dict[str, tuple[float, int]]:
    """Run the cells of chapter 12's walk with another seed, down to the results of its rules."""
    names: dict[str, Any] = {}
    for cell in nbformat.read(WALK, as_version=4).cells:
        if cell.cell_type == "code" and "results" not in names:
            exec(cell.source.replace("manual_seed(0)", f"manual_seed({seed})"), names)
    return names["results"]


TEMPERATURES = "temperature 0.5", "temperature 1", "temperature 1.5"
SHARES = {f"{number} of {width}": (number, width) for number, width in cities.SHARES}
MULTIPLIED = {f"city {place}": 2 for place in range(1, cities.NUM_CITIES + 1)}
EXPERIMENTS = {
    "first symbol": Experiment(
        "4.2: name the first of 20 symbols",
        {"percent correct": 1},
        first_symbol.KINDS,
        lambda name, seed: [first_symbol.learn(name, seed)[1]],
    ),
    "layers": Experiment(
        "5: one head and two heads", {"error": 3, **MULTIPLIED}, cities.LAYERS, measure_layers
    ),
    "looks": Experiment(
        "5.2: what helps a single head",
        {"error": 2},
        cities.LOOKS,
        lambda name, seed: [cities.error(cities.fit_look(name, seed), cities.draw_for(name))],
    ),
    "shares": Experiment(
        "5.3: different numbers and widths of heads",
        {"error": 2},
        SHARES,
        lambda name, seed: [cities.error(cities.fit_share(*SHARES[name], seed))],
    ),
    "reaches": Experiment(
        "6.4: attention to nearby words only",
        {"without positions": 1, "with sinusoidal positions": 1},
        local_attention.REACHES,
        measure_reach,
    ),
    "norms": Experiment(
        "7.3: two blocks after 100 steps",
        {"percent correct": 0},
        stacks.NORMS,
        lambda name, seed: [stacks.right(stacks.fit_norm(name, seed))],
    ),
    "recipes": Experiment(
        "7.5: six blocks after 100 steps",
        {"percent correct": 0},
        stacks.RECIPES,
        lambda name, seed: [stacks.right(stacks.fit_recipe(name, seed))],
    ),
    "depths": Experiment(
        "7.5, depth: translators with more blocks",
        {"BLEU": 1, "BLEU unseen": 1, "seconds": 0},
        DEPTHS,
        measure_depth,
        seeds=3,
    ),
    "rules": Experiment(
        "12: rules that choose the next token",
        {"well formed": 0, "openings": 0},
        (*TEMPERATURES, "top-k, k = 5", "top-k, k = 20", "top-p, p = 0.9", "real sentences"),
        lambda name, seed: run_walk(seed)[name],
    ),
}


def train(name: str, row: str, seed: int) -> dict:
    """Train once."""
    start = time.process_time()
    values = list(EXPERIMENTS[name].measure(row, seed))
    seconds = time.process_time() - start
    return {"experiment": name, "row": row, "seed": seed, "seconds": seconds, "found": values}


def experiment_table(name: str, options: argparse.Namespace) -> dict:
    """Train what is missing of one experiment, and give its table."""
    experiment, rows = EXPERIMENTS[name], []
    for row in experiment.rows:
        runs = []
        for seed in range(experiment.seeds or options.seeds):
            wanted = {"experiment": name, "row": row, "seed": seed}
            runs.append(load_or_run(options.keep, wanted, partial(train, name, row, seed)))
        columns = zip(*(run["found"] for run in runs), strict=True)
        rows.append([row, *map(each, columns)])
    columns = [(column, f"z.{digits}f") for column, digits in experiment.columns.items()]
    return table([("network", ""), *columns], rows, experiment.title)


def main() -> None:
    """Train what is missing, and report."""
    parser = output_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many, from 0 on")
    parser.add_argument("--keep", type=Path, default=KEPT, help="where trainings are kept")
    options = parser.parse_args()
    torch.set_num_threads(1)
    tables = {name: experiment_table(name, options) for name in EXPERIMENTS}
    results = {"num_seeds": options.seeds, "tables": tables}
    write_report("small-trainings", "small_trainings", results, options.output)


if __name__ == "__main__":
    main()
