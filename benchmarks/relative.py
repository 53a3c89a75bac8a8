"""Nine ways to say where a word stands, in chapter 7's translator: what lies beyond its lengths.

python -m benchmarks.relative trains the small Transformer once for each way and seed, and reports
in reference/benchmarks/relative.md. Pairs, sizes and training are those of
python -m benchmarks.transformer --race. Each training is kept in a file as soon as it is done, and
not done again.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

import d2lattn as d2l
from benchmarks.measure import median_times, train_missing
from benchmarks.report import each, named, summarize, table, write_report
from benchmarks.translation import (
    Translator,
    corpus_for,
    fit_model,
    judge,
    length_table,
    training_parser,
)
from d2lattn.book.experiments.random_positions import RandomPlaces, RandomStarts, RandomTurns
from d2lattn.corpus import Corpus

KEPT = Path("relative.jsonl")
WIDTH, NUM_HEADS = 96, 4
SIZES = {"ffn_num_hiddens": 192, "num_heads": NUM_HEADS, "num_layers": 2}
RECIPE = {"learning_rate": 3e-3, "decay_share": 0.7}
NUM_PAIRS, NUM_EPOCHS = 42_000, 2
SPLITS = {"BLEU": "test", "BLEU unseen": "unseen", "BLEU long": "long"}
OPENING = (  # of chapter 8's walk: 21 tokens
    "some very beautiful boys and the women do not arrive because the white bird was in a very "
    "white house ."
)
COSTS = [(64, 12), (16, 64), (4, 256)]  # sequences, positions


class AddedToScores(RandomTurns):
    """Put places where rotary positions do, but by adding: to each query and key its row."""

    def turn(self, X: Tensor, start: int = 0) -> Tensor:
        """Add to (B, H, T, head_dim), the first of which stands at `start`."""
        if self.places is None:
            return X + self.P[start : start + X.shape[2]]  # (B, H, T, D) + (T, D)
        return X + self.P[self.places].unsqueeze(1)  # (B, H, T, D) + (B, 1, T, D)


def in_scores(kind: type[d2l.RotaryPositions]) -> Callable[[], dict]:
    """Say how to make the option of a stack."""
    return lambda: {"relative": kind(WIDTH // NUM_HEADS)}


def scores_with_gaps(kind: type[RandomTurns]) -> Callable[[], dict]:
    """Say how to make both options of a stack: `kind` has to be told the places of each pass."""

    def make() -> dict:
        relative = kind(WIDTH // NUM_HEADS)
        return {"relative": relative, "pos_encoding": relative}

    return make


WAYS: dict[str, Callable[[], dict]] = {
    "waves": dict,
    # more rows than any sentence has words
    "learned table": lambda: {"pos_encoding": d2l.LearnedPositionalEncoding(WIDTH, 0, 50)},
    "random starts": lambda: {"pos_encoding": RandomStarts(WIDTH, 0)},
    "waves, gaps": lambda: {"pos_encoding": RandomPlaces(WIDTH, 0)},
    "rotary": in_scores(d2l.RotaryPositions),
    "added to scores": in_scores(AddedToScores),
    "rotary, gaps": scores_with_gaps(RandomTurns),
    "added to scores, gaps": scores_with_gaps(AddedToScores),
    "ALiBi": lambda: {"relative": d2l.LinearBiases(NUM_HEADS)},
}


def make(way: str, source_size: int, target_size: int) -> d2l.EncoderDecoder:
    """Make the small Transformer, with positions of this kind on either side."""
    options = WAYS[way]
    return d2l.EncoderDecoder(
        d2l.TransformerEncoder(source_size, WIDTH, **SIZES, **options()),
        d2l.TransformerDecoder(target_size, WIDTH, **SIZES, **options()),
    )


def fit(way: str, seed: int, epochs: int, corpus: Corpus) -> Translator:
    """Train it."""
    return fit_model(partial(make, way), corpus.train, seed, num_epochs=epochs, **RECIPE)


def opening_by(translator: Translator) -> str:
    """Translate the opening sentence of chapter 8's walk."""
    tokens = [*OPENING.split(), "<eos>"]
    source = torch.tensor([translator.source_vocab.encode(tokens)])
    (best,) = d2l.greedy_decode(translator.model, source, max_len=50)
    return " ".join(translator.target_vocab.decode(best.tokens))


def measure(way: str, seed: int, epochs: int, corpus: Corpus) -> dict:
    """Train one, and judge it."""
    translator = fit(way, seed, epochs, corpus)
    about = {"way": way, "seed": seed, "pairs": len(corpus.train), "epochs": epochs}
    return about | {"opening": opening_by(translator)} | judge(translator, corpus)[0]


def steps(num_sequences: int, num_positions: int) -> dict[str, Callable[[], object]]:
    """Make a training step of the encoder, forwards and backwards, for each way."""
    tokens = torch.randint(223, (num_sequences, num_positions))
    functions = {}
    for way in ("waves", "rotary", "ALiBi"):
        encoder = d2l.TransformerEncoder(223, WIDTH, **SIZES, **WAYS[way]())
        weights = list(encoder.parameters())

        def step(encoder=encoder, weights=weights) -> tuple[Tensor, ...]:
            return torch.autograd.grad(encoder(tokens).square().sum(), weights)

        functions[way] = step
    return functions


def costs_table(seconds: float) -> dict:
    """Measure what a training step takes."""
    rows = []
    for sizes in COSTS:
        times = median_times(steps(*sizes), seconds, clock=time.process_time)
        ratios = {way: value / times["waves"] for way, value in times.items()}
        cells = [{"value": 1e3 * times[way], "ratio": ratios[way]} for way in times]
        rows.append([" × ".join(map(str, sizes)), *cells])
    columns = named(("waves, ms", "rotary, ms", "ALiBi, ms"), ".1f")
    return table([("sequences × positions", ""), *columns], rows)


def results_of(options: argparse.Namespace) -> dict:
    """Train what is missing, and put the tables together."""
    corpus = corpus_for(options)
    sizes = {"pairs": len(corpus.train), "epochs": options.epochs}

    def train(way: str, seed: int) -> dict:
        return measure(way, seed, options.epochs, corpus)

    runs = train_missing(options.keep, "way", options.ways, options.seeds, sizes, train)
    scores = summarize(runs, SPLITS.values())
    totals = [[way, runs[way][0]["parameters"], *cells] for way, *cells in scores]
    openings = [
        [f"{way}, seed {run['seed']}", run["opening"]]
        for way, results in runs.items()
        for run in results
    ]
    return {
        **sizes,
        "seeds": options.seeds,
        "test": len(corpus.test),
        "opening": OPENING,
        "tables": {
            "totals": table([("method", ""), ("parameters", ",d"), *named(SPLITS, ".1f")], totals),
            "lengths": length_table("method", runs, each),
            "openings": table([("method, seed", ""), ("translation", "")], openings),
            "costs": costs_table(options.seconds),
        },
    }


def main() -> None:
    """Train what is missing, and report."""
    parser = training_parser(__doc__, seeds=range(5), pairs=NUM_PAIRS)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--epochs", type=int, default=NUM_EPOCHS)
    parser.add_argument("--seconds", type=float, default=4.0, help="for each cell of the last")
    parser.add_argument("--keep", type=Path, default=KEPT, help="where trainings are kept")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    write_report("relative", "relative", results_of(options), options.output)


if __name__ == "__main__":
    main()
