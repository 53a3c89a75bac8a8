"""The small trainings of chapters 4 to 7, each with five seeds.

python -m benchmarks.small_trainings trains what the pages speak of, prints the tables and writes
them to reference/benchmarks/small-trainings.md. Each training is kept in a file as soon as it is
done, and not done again.
"""

import argparse
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from benchmarks.measure import kept_or_made, print_and_write, processor
from benchmarks.relative import each
from benchmarks.translation import FOLDER, row, rule
from d2lattn.book.experiments import backwards, cities, first_symbol, mixes, stacks

KEPT = Path("small_trainings.jsonl")
SEEDS = 5


@dataclass(frozen=True)
class Experiment:
    """Trainings that one table tells of."""

    title: str
    text: str
    columns: dict[str, int]  # with digits
    rows: Iterable[str]
    measure: Callable[[str, int], Iterable[float]]  # of a row and a seed


def first_named(name: str, seed: int) -> tuple[float]:
    """Train to name the first symbol."""
    return (first_symbol.learn(name, seed)[1],)


def layer(name: str, seed: int) -> tuple[float, ...]:
    """Train the walk's heads on cities."""
    model = cities.fit_layer(name, seed)
    return cities.error(model), *cities.multipliers(model).tolist()


def share(name: str, seed: int) -> tuple[float]:
    """Train heads of some width."""
    num_heads, width = SHARES[name]
    return (cities.error(cities.fit_share(num_heads, width, seed)),)


def look(name: str, seed: int) -> tuple[float]:
    """Train what is to rescue a single head."""
    return (cities.error(cities.fit_look(name, seed), cities.draw_for(name)),)


def mixed(name: str, seed: int) -> tuple[float]:
    """Train a mix of words."""
    return (mixes.right(mixes.learn(*mixes.MIXES[name], seed)),)


def nearby(name: str, seed: int) -> tuple[float, float]:
    """Train a reach, without positions and with waves."""
    make = mixes.REACHES[name]
    blind, seeing = (mixes.learn(make, positions, seed) for positions in (None, mixes.waves))
    return mixes.right(blind), mixes.right(seeing)


def norm(name: str, seed: int) -> tuple[float]:
    """Train two blocks."""
    return (stacks.right(stacks.fit_norm(name, seed)),)


def recipe(name: str, seed: int) -> tuple[float]:
    """Train six blocks."""
    return (stacks.right(stacks.fit_recipe(name, seed)),)


def masked(name: str, seed: int) -> tuple[float, float, float]:
    """Train with the causal mask and without."""
    return backwards.judged(seed, forgetful=MASKS[name])


SHARES = {f"{number} of {width}": (number, width) for number, width in cities.SHARES}
MASKS = {"with the mask": False, "without": True}
MULTIPLIED = {f"city {place}": 2 for place in range(1, cities.NUM_CITIES + 1)}
EXPERIMENTS = {
    "first symbol": Experiment(
        "4.2: name the first of 20 symbols",
        "Networks with a state of eight numbers; percent right, where guessing gets 25.",
        {"right": 1},
        first_symbol.KINDS,
        first_named,
    ),
    "layers": Experiment(
        "5: one look and two",
        "Mean squared error on 20,000 new questions, of 2.00 for knowing nothing; and what each "
        "city's temperature is multiplied by in *city 1 − city 2*.",
        {"error": 3, **MULTIPLIED},
        cities.LAYERS,
        layer,
    ),
    "looks": Experiment(
        "5.2: what rescues the single head",
        "The same error. Heads of 16 numbers in all.",
        {"error": 2},
        cities.LOOKS,
        look,
    ),
    "shares": Experiment(
        "5.3: heads, and numbers of each",
        "The same error, after 800 steps.",
        {"error": 2},
        SHARES,
        share,
    ),
    "mixes": Experiment(
        "6: what sees the order of words",
        "Percent of right genders in 1,000 new sentences.",
        {"right": 1},
        mixes.MIXES,
        mixed,
    ),
    "reaches": Experiment(
        "6.4: a word looks only nearby",
        "The same, for words that look at r places to each side.",
        {"without positions": 1, "with waves": 1},
        mixes.REACHES,
        nearby,
    ),
    "masks": Experiment(
        "7: the mask that was forgotten",
        "2,000 new words of six letters: the loss of a letter in nats, the loss of the same "
        "weights with the mask put in, and percent of words written right.",
        {"loss": 3, "mask put in": 3, "right": 1},
        MASKS,
        masked,
    ),
    "norms": Experiment(
        "7.3: two blocks after 100 steps",
        "Percent of right genders in 500 new sentences; Adam at 0.005 from the first step on.",
        {"right": 0},
        stacks.NORMS,
        norm,
    ),
    "recipes": Experiment(
        "7.5: six blocks after 100 steps",
        "The same; the rate is 0.005 at its highest and falls to 0. With *warm-up*, it grows for "
        "30 steps first.",
        {"right": 0},
        stacks.RECIPES,
        recipe,
    ),
}


def kept(name: str, one: str, seed: int) -> dict:
    """Train once."""
    start = time.process_time()
    found = list(EXPERIMENTS[name].measure(one, seed))
    seconds = time.process_time() - start
    return {"experiment": name, "row": one, "seed": seed, "seconds": seconds, "found": found}


def table(name: str, options: argparse.Namespace) -> Iterator[str]:
    """Write one experiment."""
    experiment = EXPERIMENTS[name]
    yield f"**{experiment.title}.** {experiment.text}"
    yield ""
    yield row("network", *experiment.columns)
    yield rule(1 + len(experiment.columns))
    for one in experiment.rows:
        found = []
        for seed in range(options.seeds):
            run = {"experiment": name, "row": one, "seed": seed}
            found.append(kept_or_made(options.keep, run, partial(kept, name, one, seed))["found"])
        columns = zip(*found, strict=True)
        digits = experiment.columns.values()
        cells = (each(list(values), d) for values, d in zip(columns, digits, strict=True))
        yield row(one, *cells)


def page(options: argparse.Namespace) -> Iterator[str]:
    """Write the page, line by line."""
    yield "<!-- Written by: python -m benchmarks.small_trainings -->"
    yield ""
    yield (
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, 1 thread,"
        " float32. Command: `python -m benchmarks.small_trainings`. Each cell is the mean of "
        f"{options.seeds} trainings, with seeds from 0 on, and behind it that of each."
    )
    for name in options.experiments:
        yield ""
        yield from table(name, options)


def main() -> None:
    """Train what is missing, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = list(EXPERIMENTS)
    parser.add_argument("--experiments", nargs="+", default=names, choices=names)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many, from 0 on")
    parser.add_argument("--keep", type=Path, default=KEPT, help="where trainings are kept")
    parser.add_argument("--output", type=Path, default=FOLDER / "small-trainings.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print_and_write(page(options), options.output)


if __name__ == "__main__":
    main()
