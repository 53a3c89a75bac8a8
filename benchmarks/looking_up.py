"""Looking up by different scores: which learning rate suits each, and how good it is then.

python -m benchmarks.looking_up trains five networks side by side for each task, score, width and
rate of chapters 3 and 3b, prints the tables and writes them to reference/benchmarks/looking-up.md.
Each training is kept in a file as soon as it is done, and not done again.
"""

import argparse
import platform
import statistics
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torch

from benchmarks.measure import kept_or_made, print_and_write, processor
from benchmarks.translation import FOLDER, row, rule
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


def with_range(errors: list[float]) -> str:
    """Write a mean, and the range behind it."""
    return f"{statistics.mean(errors):.3f} ({min(errors):.3f}–{max(errors):.3f})"


def searched(found: dict[str, list[dict]], place: int) -> Iterator[str]:
    """Write errors on validation examples at each rate, the best one marked."""
    yield row("task, score, width", *(f"{rate:g}" for rate in look_up.RATES))
    yield rule(1 + len(look_up.RATES))
    for name, runs in found.items():
        cells = [with_range(run["validation"][place]) for run in runs]
        best = best_of(runs, place)
        cells[best] = f"**{cells[best]}**"
        yield row(name, *cells)


def told(found: dict[str, list[dict]], place: int) -> Iterator[str]:
    """Write errors on test examples at the best rate."""
    networks = range(1, look_up.NUM_NETWORKS + 1)
    yield row("task, score, width", "rate", "mean", *map(str, networks))
    yield rule(3 + len(networks))
    for name, runs in found.items():
        best = runs[best_of(runs, place)]
        errors = best["test"][place]
        cells = (f"{error:.4f}" for error in (statistics.mean(errors), *errors))
        yield row(name, f"{best['rate']:g}", *cells)


def average(task: look_up.Task) -> float:
    """Give the error of answering with the average of all values."""
    test = look_up.unseen("test", task)
    guess = test.values.mean(dim=-1, keepdim=True)  # (S, B, K) -> (S, B, 1)
    return look_up.error(guess, test.answers).mean().item()


def page(options: argparse.Namespace) -> Iterator[str]:
    """Write the page, line by line."""
    found: dict[str, list[dict]] = {name: [] for name in options.names}
    for name, runs in found.items():
        for rate in look_up.RATES:
            run = {"name": name, "rate": rate, "moments": options.moments}
            make = partial(measure, name, rate, tuple(options.moments))
            runs.append(kept_or_made(options.keep, run, make))
    yield "<!-- Written by: python -m benchmarks.looking_up -->"
    yield ""
    averages = (f"{average(task):.3f} ({name})" for name, task in TASKS.items())
    yield (
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, 1 thread,"
        f" float32. Command: `python -m benchmarks.looking_up`. {look_up.NUM_NETWORKS} networks "
        "each, trained by Adam on 64 fresh examples a step. Squared errors on 1,000 examples a "
        "network; without looking, from the average of all values, one gets "
        f"{' and '.join(averages)}. *scaled*: over √d."
    )
    for place, moment in enumerate(options.moments):
        yield ""
        yield (
            f"**After {moment} steps: the choice of a learning rate.** Mean and range of the "
            "networks' errors on the examples by which it is chosen; the lowest mean is bold."
        )
        yield ""
        yield from searched(found, place)
        yield ""
        yield (
            f"**After {moment} steps: at that rate.** Errors on other examples, network by network."
        )
        yield ""
        yield from told(found, place)


def main() -> None:
    """Train what is missing, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = list(look_up.SEARCHED)
    parser.add_argument("--names", nargs="+", default=names, choices=names)
    parser.add_argument("--moments", type=int, nargs="+", default=list(look_up.MOMENTS))
    parser.add_argument("--keep", type=Path, default=KEPT, help="where trainings are kept")
    parser.add_argument("--output", type=Path, default=FOLDER / "looking-up.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print_and_write(page(options), options.output)


if __name__ == "__main__":
    main()
