"""Looking up by different scores: which learning rate suits each, and how good it is then.

python -m benchmarks.looking_up trains five networks side by side for each task, score, width and
rate of chapters 3 and 3b, and reports in reference/benchmarks/looking-up.md. Each training is kept
in a file as soon as it is done, and not done again.
"""

import argparse
import statistics
import time
from functools import partial
from pathlib import Path

import torch

from benchmarks.measure import load_or_run
from benchmarks.report import named, output_parser, spread, table, write_report
from d2lattn.book.experiments import look_up

KEPT = Path("looking_up.jsonl")
TASKS = {"description": look_up.draw, "wish": look_up.draw_wishes}


def measure(name: str, rate: float, moments: tuple[int, ...]) -> dict:
    """Train five networks side by side, and measure them."""
    task, score, width = look_up.SEARCHED[name]
    start = time.process_time()
    learned = look_up.learn(score, width, rate, moments, task)
    return {
        "name": name,
        "rate": rate,
        "moments": list(moments),
        "seconds": time.process_time() - start,
        "validation": learned.validation.tolist(),
        "test": learned.test.tolist(),
    }


def best_of(runs: list[dict], place: int) -> int:
    """Say which run has the lowest mean error on validation examples, at one of the moments."""
    means = [statistics.mean(run["validation"][place]) for run in runs]
    return means.index(min(means))


def average(task: look_up.Task) -> float:
    """Give the error of answering with the average of all values."""
    test = look_up.unseen("test", task)
    guess = test.values.mean(dim=-1, keepdim=True)  # (S, B, K) -> (S, B, 1)
    return look_up.error(guess, test.answers).mean().item()


def choice_table(runs: dict[str, list[dict]], place: int) -> dict:
    """Give errors on validation examples at each rate, the best one marked."""
    rows = []
    for name, results in runs.items():
        cells = [spread(run["validation"][place]) for run in results]
        cells[best_of(results, place)]["best"] = True
        rows.append([name, *cells])
    columns = named((f"{rate:g}" for rate in look_up.RATES), ".3f")
    return table([("task, score, width", ""), *columns], rows)


def errors_table(runs: dict[str, list[dict]], place: int) -> dict:
    """Give errors on test examples at the best rate."""
    rows = []
    for name, results in runs.items():
        best = results[best_of(results, place)]
        errors = best["test"][place]
        rows.append([name, best["rate"], statistics.mean(errors), *errors])
    columns = named(("mean", *range(1, look_up.NUM_NETWORKS + 1)), ".4f")
    return table([("task, score, width", ""), ("learning rate", "g"), *columns], rows)


def results_of(options: argparse.Namespace) -> dict:
    """Train what is missing, and put the tables together."""
    runs: dict[str, list[dict]] = {name: [] for name in options.names}
    for name, results in runs.items():
        for rate in look_up.RATES:
            run = {"name": name, "rate": rate, "moments": options.moments}
            make = partial(measure, name, rate, tuple(options.moments))
            results.append(load_or_run(options.keep, run, make))
    tables = {}
    for place, moment in enumerate(options.moments):
        tables[f"choice_{moment}"] = choice_table(runs, place)
        tables[f"test_{moment}"] = errors_table(runs, place)
    return {
        "networks": look_up.NUM_NETWORKS,
        "moments": options.moments,
        "averages": {name: average(task) for name, task in TASKS.items()},
        "tables": tables,
    }


def main() -> None:
    """Train what is missing, and report."""
    parser = output_parser(__doc__)
    names = list(look_up.SEARCHED)
    parser.add_argument("--names", nargs="+", default=names, choices=names)
    parser.add_argument("--moments", type=int, nargs="+", default=list(look_up.MOMENTS))
    parser.add_argument("--keep", type=Path, default=KEPT, help="where trainings are kept")
    options = parser.parse_args()
    torch.set_num_threads(1)
    write_report("looking-up", "looking_up", results_of(options), options.output)


if __name__ == "__main__":
    main()
