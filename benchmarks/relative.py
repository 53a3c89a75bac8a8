"""Nine ways to say where a word stands, in chapter 7's translator: what lies beyond its lengths.

python -m benchmarks.relative trains the small Transformer once for each way and seed, prints the
tables and writes them to reference/benchmarks/relative.md. Pairs, sizes and training are those of
python -m benchmarks.transformer --race. Each training is kept in a file as soon as it is done, and
not done again.
"""

import argparse
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

import d2lattn as d2l
from benchmarks.measure import kept_or_made, median_times, print_and_write, processor
from benchmarks.translation import (
    BATCH_SIZE,
    FOLDER,
    LENGTHS,
    Translated,
    Translator,
    bleu,
    by_length,
    corpus_for,
    row,
    rule,
    translate,
)
from d2lattn.book.experiments.starts import FARTHEST, REACH, RandomPlaces, RandomStarts, RandomTurns
from d2lattn.corpus import Corpus, Vocabulary, batches

KEPT = Path("relative.jsonl")
WIDTH, NUM_HEADS = 96, 4
SIZES = {"ffn_num_hiddens": 192, "num_heads": NUM_HEADS, "num_layers": 2}
RECIPE = {"learning_rate": 3e-3, "decay_share": 0.7}
NUM_PAIRS, NUM_EPOCHS = 42_000, 2
ROWS = 50  # of a learned table: more than any sentence has
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


WAYS: dict[str, tuple[Callable[[], dict], str]] = {
    "waves": (dict, "sinusoids, added to each word's vector"),
    "learned table": (
        lambda: {"pos_encoding": d2l.LearnedPositionalEncoding(WIDTH, 0, ROWS)},
        "a learned vector for each place, added",
    ),
    "random starts": (
        lambda: {"pos_encoding": RandomStarts(WIDTH, 0)},
        "waves, but in training each sentence's places begin at a random one from 0 to "
        f"{FARTHEST}, on either side",
    ),
    "waves, gaps": (
        lambda: {"pos_encoding": RandomPlaces(WIDTH, 0)},
        "waves, but in training each sentence's places, on either side, are drawn in order from "
        f"the first so many, at most {REACH}",
    ),
    "rotary": (
        in_scores(d2l.RotaryPositions),
        "nothing is added; self-attention turns queries and keys",
    ),
    "added to scores": (
        in_scores(AddedToScores),
        "the same, but to each query and key the waves are added, as wide as a head",
    ),
    "rotary, gaps": (
        scores_with_gaps(RandomTurns),
        "rotary, with places drawn as for *waves, gaps*",
    ),
    "added to scores, gaps": (scores_with_gaps(AddedToScores), "and these with such places"),
    "ALiBi": (
        lambda: {"relative": d2l.LinearBiases(NUM_HEADS)},
        "nothing is added; self-attention takes from each score the distance, times a slope",
    ),
}


def make(way: str, source_size: int, target_size: int) -> d2l.EncoderDecoder:
    """Make the small Transformer, with positions of this kind on either side."""
    option, _ = WAYS[way]
    return d2l.EncoderDecoder(
        d2l.TransformerEncoder(source_size, WIDTH, **SIZES, **option()),
        d2l.TransformerDecoder(target_size, WIDTH, **SIZES, **option()),
    )


def fit(way: str, seed: int, epochs: int, corpus: Corpus) -> Translator:
    """Train it."""
    source_vocab = Vocabulary(pair.source for pair in corpus.train)
    target_vocab = Vocabulary(pair.target for pair in corpus.train)
    torch.manual_seed(seed)
    model = make(way, len(source_vocab), len(target_vocab))
    start = time.process_time()
    history = d2l.train(
        model,
        lambda generator: batches(
            corpus.train, source_vocab, target_vocab, BATCH_SIZE, generator=generator
        ),
        num_epochs=epochs,
        **RECIPE,
        seed=seed,
    )
    seconds = time.process_time() - start
    return Translator(model, source_vocab, target_vocab, history, seconds)


def opening_by(translator: Translator) -> str:
    """Translate the opening sentence of chapter 8's walk."""
    tokens = [*OPENING.split(), "<eos>"]
    source = torch.tensor([translator.source_vocab.encode(tokens)])
    (best,) = d2l.greedy_decode(translator.model, source, max_len=50)
    return " ".join(translator.target_vocab.decode(best.tokens))


def measure(way: str, seed: int, epochs: int, corpus: Corpus) -> dict:
    """Train one, and judge it."""
    translator = fit(way, seed, epochs, corpus)
    found = {
        "way": way,
        "seed": seed,
        "pairs": len(corpus.train),
        "epochs": epochs,
        "parameters": sum(p.numel() for p in translator.model.parameters()),
        "seconds": translator.seconds,
        "opening": opening_by(translator),
    }
    everything = Translated()
    for split in SPLITS.values():
        done = translate(translator, getattr(corpus, split))
        found[split] = bleu(done)
        if split != "unseen":
            everything.pairs += done.pairs
            everything.outputs += done.outputs
    lengths = by_length(everything).items()
    return found | {f"{least} to {most}": value for (least, most), value in lengths}


def measured(options: argparse.Namespace, corpus: Corpus) -> dict[str, list[dict]]:
    """Give what each training came to, and train what is missing."""
    sizes = {"pairs": len(corpus.train), "epochs": options.epochs}
    found: dict[str, list[dict]] = {way: [] for way in WAYS}
    for seed in options.seeds:
        for way in options.ways:
            make = partial(measure, way, seed, options.epochs, corpus)
            found[way].append(kept_or_made(options.keep, {"way": way, "seed": seed} | sizes, make))
    return {way: results for way, results in found.items() if results}


def each(values: list[float], digits: int = 1) -> str:
    """Write a mean, and the values behind it."""
    mean = f"{statistics.mean(values):z.{digits}f}"
    return f"{mean} ({', '.join(f'{value:z.{digits}f}' for value in values)})"


def steps(num_sequences: int, num_positions: int) -> dict[str, Callable[[], object]]:
    """Make a training step of the encoder, forwards and backwards, for each way."""
    tokens = torch.randint(223, (num_sequences, num_positions))
    functions = {}
    for way in ("waves", "rotary", "ALiBi"):
        option, _ = WAYS[way]
        encoder = d2l.TransformerEncoder(223, WIDTH, **SIZES, **option())
        weights = list(encoder.parameters())

        def step(encoder=encoder, weights=weights) -> tuple[Tensor, ...]:
            return torch.autograd.grad(encoder(tokens).square().sum(), weights)

        functions[way] = step
    return functions


def costs(seconds: float) -> Iterator[str]:
    """Write what a training step takes."""
    yield row("sequences × positions", "waves, ms", "rotary, ms", "ALiBi, ms")
    yield rule(4)
    for sizes in COSTS:
        times = median_times(steps(*sizes), seconds, clock=time.process_time)
        base = times["waves"]
        cells = (f"{1e3 * one:.1f} (× {one / base:.2f})" for one in times.values())
        yield row(" × ".join(map(str, sizes)), *cells)


def openings(found: dict[str, list[dict]]) -> Iterator[str]:
    """Write what each training makes of the opening sentence."""
    yield "**The opening sentence of chapter 8, translated**"
    yield ""
    yield f"*{OPENING}* ({len(OPENING.split())} tokens; greedy), by the same trainings."
    yield ""
    yield row("way, seed", "translation")
    yield "|---|---|"
    for way, results in found.items():
        for one in results:
            yield row(f"{way}, seed {one['seed']}", one["opening"])


def page(options: argparse.Namespace) -> Iterator[str]:
    """Write the page, line by line."""
    corpus = corpus_for(options)
    found = measured(options, corpus)
    yield "<!-- Written by: python -m benchmarks.relative -->"
    yield ""
    yield (
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, 1 thread,"
        " float32. Command: `python -m benchmarks.relative`. The small Transformer (width "
        f"{WIDTH}, networks of {SIZES['ffn_num_hiddens']}, {NUM_HEADS} heads, "
        f"{SIZES['num_layers']} layers on either side), trained on the same "
        f"{len(corpus.train):,} pairs, {options.epochs} times through, in batches of {BATCH_SIZE}; "
        f"Adam at {RECIPE['learning_rate']} falling to 0 over the last "
        f"{RECIPE['decay_share']:.0%} of the steps, no dropout. Each figure is the mean over seeds "
        f"{', '.join(map(str, options.seeds))}, and behind it that of each seed. "
        f"{len(corpus.test):,} pairs are held out, and as many of *unseen* and of *long*, whose "
        "sentences are longer than any in training (18 tokens). Translations are greedy. Attention "
        "to the source hears no positions but those that are added."
    )
    yield ""
    yield from (f"- *{way}*: {WAYS[way][1]}." for way in found)
    yield ""
    yield row("way", "parameters", *SPLITS)
    yield rule(2 + len(SPLITS))
    for way, results in found.items():
        cells = (each([one[split] for one in results]) for split in SPLITS.values())
        yield row(way, f"{results[0]['parameters']:,}", *cells)
    yield from ("", "**BLEU by the length of the source** (tokens; test and long together)", "")
    groups = [f"{least} to {most}" for least, most in LENGTHS]
    yield row("way", *groups)
    yield rule(1 + len(groups))
    for way, results in found.items():
        yield row(way, *(each([one[group] for one in results]) for group in groups))
    yield ""
    yield from openings(found)
    yield ""
    yield "**A training step of the encoder** (two layers, forwards and backwards)"
    yield ""
    yield "Medians of processor time, and beside waves."
    yield ""
    yield from costs(options.seconds)


def main() -> None:
    """Train what is missing, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--pairs", type=int, default=NUM_PAIRS, help="to train on")
    parser.add_argument("--held-out", type=int, help="of each set (default: all)")
    parser.add_argument("--epochs", type=int, default=NUM_EPOCHS)
    parser.add_argument("--seconds", type=float, default=4.0, help="for each cell of the last")
    parser.add_argument("--keep", type=Path, default=KEPT, help="where trainings are kept")
    parser.add_argument("--output", type=Path, default=FOLDER / "relative.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print_and_write(page(options), options.output)


if __name__ == "__main__":
    main()
