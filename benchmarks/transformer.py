"""The Transformer: beside GRUs on the course's corpus, step by step, and beside PyTorch's.

python -m benchmarks.transformer trains the three translators, once for each seed, and reports in
reference/benchmarks/transformer.md. With --decoding it times writing token by token, in
transformer-decoding.md; with --encoder a training step of the encoder beside PyTorch's own, in
transformer-encoder.md. With --race it trains the shipped Transformer's size beside a GRU with as
many parameters, and with places that begin anywhere, in transformer-race.md; with --longer two of
these for twice as long, in transformer-race-longer.md. Each training of a race is kept in a file as
soon as it is done, and not done again. With --sentences it trains the race's first GRUs and first
Transformer once more and shows what they write, in transformer-race-sentences.md.
"""

import argparse
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

import d2lattn as d2l
from benchmarks import relative
from benchmarks.measure import median_times, train_missing
from benchmarks.pytorch_layers import load, stack_as_pytorchs
from benchmarks.report import each, named, spread, summarize, table, write_report
from benchmarks.translation import (
    BOTH,
    BRIDGE,
    EVALUATION_BATCH,
    PLAIN,
    TRANSFORMER,
    Translated,
    Translator,
    align,
    alignment_cells,
    bleu,
    build,
    corpus_for,
    fit,
    fit_model,
    judge,
    length_table,
    training_parser,
    translate,
)
from d2lattn.corpus import Corpus, Pair, batches, load_corpus

KEPT = Path("transformer-race.jsonl")
RECIPES = {  # of each kind: Adam's rate, over which last share it falls to 0, dropout
    PLAIN: {"learning_rate": 4e-3, "decay_share": 0.6, "dropout": 0.2},
    BOTH: {"learning_rate": 4e-3, "decay_share": 0.6, "dropout": 0.2},
    TRANSFORMER: {"learning_rate": 2e-3, "decay_share": 0.7, "dropout": 0.0},
}
NAMES = {PLAIN: "plain GRU", BOTH: "Bahdanau", TRANSFORMER: "Transformer"}
STEPS = (64, 128, 256, 512)  # tokens that are written
SOURCE, VOCAB = 128, 400  # positions of the source; tokens of the target
DECODER = {"num_hiddens": 384, "ffn_num_hiddens": 1536, "num_heads": 6, "num_layers": 2}
TURNS = {"cached": 5, "whole": 1}  # in each round: what is short is timed more often
ENCODERS = [  # sequences, positions, width, width of the network, heads
    (64, 12, 128, 256, 4),
    (32, 64, 256, 1024, 8),
    (4, 256, 256, 1024, 8),
]
GRU_RECIPE = {"learning_rate": 5e-3, "decay_share": 0.6}  # as the book's own
RACE_PAIRS, RACE_EPOCHS = 42_000, 2
FIRST_PLACES = 0, 4, 8, 12, 16
SHORT = 8  # tokens on either side at most, where places are counted from further on
Reading = tuple[str, str]  # whose rows, and which of them


# Three translators -------------------------------------------------------------------------------


def readings(weights: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Give each head's matrix (T, S) and the means that one may read, out of (layers, H, T, S)."""
    for layer, heads in enumerate(weights, start=1):
        for head, matrix in enumerate(heads, start=1):
            yield f"layer {layer}, head {head}", matrix
        yield f"layer {layer}, mean of heads", heads.mean(dim=0)
    yield "mean of all layers", weights.flatten(0, 1).mean(dim=0)


def links_by_reading(translator: Translator, pairs: list[Pair]) -> tuple[dict, list[Pair]]:
    """Read links off every head, with both conventions of which row is a word's."""
    links: dict[Reading, list[frozenset]] = defaultdict(list)
    done: list[Pair] = []
    vocabularies = translator.source_vocab, translator.target_vocab
    for batch in batches(pairs, *vocabularies, EVALUATION_BATCH):
        done += batch.pairs
        for which, after_reading in (("predicts the word", False), ("reads the word", True)):
            for weights in d2l.teacher_forced_attention(
                translator.model, batch, after_reading=after_reading
            ):
                for name, matrix in readings(weights):
                    links[name, which].append(d2l.alignment_links(matrix))
    return links, done


def error_rates(translator: Translator, pairs: list[Pair]) -> dict[Reading, float]:
    """Give the alignment error rate of every reading."""
    links, done = links_by_reading(translator, pairs)
    return {reading: align(values, done).error_rate for reading, values in links.items()}


def best_of_each(rates: dict[Reading, float]) -> dict[Reading, Reading]:
    """Give the mean of heads, and the best of them, for each layer and each of the two rows."""
    best: dict[Reading, Reading] = {}
    for name, which in sorted(rates, key=rates.__getitem__):
        label = name if "mean" in name else f"{name.partition(',')[0]}, its best head"
        best.setdefault((label, which), (name, which))
    return dict(sorted(best.items()))


def measure(kind: str, seed: int, options: argparse.Namespace, corpus: Corpus) -> dict:
    """Train one translator, and judge it."""
    options = argparse.Namespace(**vars(options), **RECIPES[kind])
    translator = fit(kind, corpus.train, seed, options, time.process_time)
    tokens = options.epochs * sum(len(pair.target) + 1 for pair in corpus.train)  # and <eos>
    run, done = judge(translator, corpus)
    run["speed"] = tokens / translator.seconds
    run["valid"] = bleu(translate(translator, corpus.valid))
    if kind == BOTH:
        for name in ("test", "long"):
            run["links", name] = align(done[name].links, done[name].pairs)
    if kind == TRANSFORMER:
        rates = error_rates(translator, corpus.valid)
        run["choice"] = min(rates, key=rates.__getitem__)
        for name in ("test", "long"):
            links, pairs = links_by_reading(translator, getattr(corpus, name))
            run["links", name] = align(links[run["choice"]], pairs)
            for (label, which), reading in best_of_each(rates).items():
                run["read", name, label, which] = align(links[reading], pairs).error_rate
    print(f"{kind}, seed {seed}: {run}", file=sys.stderr, flush=True)
    return run


def translators(options: argparse.Namespace) -> dict:
    """Train the three translators."""
    corpus = corpus_for(options)
    runs: dict[str, list[dict]] = {NAMES[kind]: [] for kind in RECIPES}
    for seed in options.seeds:
        for kind in RECIPES:
            runs[NAMES[kind]].append(measure(kind, seed, options, corpus))
    transformers = runs[NAMES[TRANSFORMER]]
    chosen = Counter(run["choice"] for run in transformers)
    links = []
    for name in (NAMES[BOTH], NAMES[TRANSFORMER]):
        cells = alignment_cells([run["links", "test"] for run in runs[name]])
        links.append(
            [name, *cells, spread([run["links", "long"].error_rate for run in runs[name]])]
        )
    readings = [
        [
            label,
            *(
                spread([run["read", "test", label, which] for run in transformers])
                for which in ("predicts the word", "reads the word")
            ),
        ]
        for label in dict.fromkeys(key[2] for key in transformers[0] if key[0] == "read")
    ]
    costs = [
        [name, runs[name][0]["parameters"], *cells]
        for name, *cells in summarize(runs, ("seconds", "speed"), spread)
    ]
    split_names = named(("BLEU", "BLEU valid", "BLEU unseen", "BLEU long"), ".1f")
    cost_names = ("parameters", ",d"), ("training, s", ".0f"), ("target tokens per second", ".0f")
    link_names = named(("precision", "recall", "error rate", "error rate, long"), ".3f")
    row_names = named(("the row that predicts the word", "the row that reads it"), ".3f")
    return {
        "pairs": len(corpus.train),
        "test": len(corpus.test),
        "epochs": options.epochs,
        "seeds": options.seeds,
        "choices": [
            f"{name}, with the row that {which} ({times} of {len(transformers)} seeds)"
            for (name, which), times in chosen.items()
        ],
        "tables": {
            "bleu": table(
                [("model", ""), *split_names],
                summarize(runs, ("test", "valid", "unseen", "long"), spread),
            ),
            "costs": table([("model", ""), *cost_names], costs),
            "lengths": length_table("model", runs),
            "links": table([("links", ""), *link_names], links),
            "readings": table([("layer and head", ""), *row_names], readings),
        },
    }


# A race -----------------------------------------------------------------------------------------


RACERS: dict[str, tuple[Callable[[int, int], d2l.EncoderDecoder], dict[str, float]]] = {
    "larger Bahdanau": (partial(build, BRIDGE, dropout=0.1, width=176), GRU_RECIPE),
    "Transformer": (partial(relative.make, "waves"), relative.RECIPE),
    "random starts": (partial(relative.make, "random starts"), relative.RECIPE),
    "gaps": (partial(relative.make, "waves, gaps"), relative.RECIPE),
}
"""How each is made, and how it is trained."""

LONGER = "Transformer", "random starts"  # also trained for twice as long
SHOWN = "larger Bahdanau", "Transformer"  # whose sentences are written down
SENTENCES = (  # one of *long*, one of *test*
    "a child was not in our big very strange house , but her hat was beautiful and very big .",
    "our car is in the hospital .",
)


def counted_from(start: int, translator: Translator, pairs: list[Pair]) -> Translated:
    """Translate as if the first word of both sentences stood at this place."""

    def later(_: nn.Module, args: tuple) -> tuple:  # (X,) or (X, place)
        return args[0], start + sum(args[1:])

    halves = translator.model.encoder, translator.model.decoder
    hooks = [half.pos_encoding.register_forward_pre_hook(later) for half in halves]
    done = translate(translator, pairs)
    for hook in hooks:
        hook.remove()
    return done


def train_racer(name: str, seed: int, epochs: int, corpus: Corpus) -> Translator:
    """Train one of the racers."""
    make, recipe = RACERS[name]
    return fit_model(make, corpus.train, seed, num_epochs=epochs, **recipe)


def short_pairs(corpus: Corpus) -> list[Pair]:
    """Give the pairs of *test* that are counted from further on."""
    return [p for p in corpus.test if max(len(p.source), len(p.target)) <= SHORT]


def race_once(name: str, seed: int, epochs: int, corpus: Corpus) -> dict:
    """Train one of the racers, and judge it."""
    translator = train_racer(name, seed, epochs, corpus)
    run = {"name": name, "seed": seed, "pairs": len(corpus.train), "epochs": epochs}
    run |= judge(translator, corpus)[0]
    if hasattr(translator.model.encoder, "pos_encoding"):
        short = short_pairs(corpus)
        run |= {
            f"from {first}": bleu(counted_from(first, translator, short)) for first in FIRST_PLACES
        }
    return run


def sentences(options: argparse.Namespace) -> dict:
    """Write what the race's first trainings make of two sentences."""
    corpus, everything = corpus_for(options), load_corpus(num_train=0)
    first = {name: train_racer(name, 0, options.epochs, corpus) for name in SHOWN}
    of_long, of_short = (
        next(pair for pair in pairs if " ".join(pair.source) == words)
        for pairs, words in zip((everything.long, everything.test), SENTENCES, strict=True)
    )
    written, moved = [], []
    for name, translator in first.items():
        done = translate(translator, corpus.long)
        expected = (" ".join(pair.target) for pair in done.pairs)
        right = sum(map(str.__eq__, done.outputs, expected))
        written.append([name, right, *translate(translator, [of_long]).outputs])
    short = short_pairs(corpus)
    for place in range(FIRST_PLACES[-1] + 1):
        outputs = counted_from(place, first["Transformer"], [of_short]).outputs
        moved.append([place, *outputs, bleu(counted_from(place, first["Transformer"], short))])
    return {
        "long": len(corpus.long),
        "short": len(short),
        "sentences": SENTENCES,
        "tables": {
            "written": table([("model", ""), ("correct", "d"), ("translation", "")], written),
            "moved": table([("position", "d"), ("translation", ""), ("BLEU", ".1f")], moved),
        },
    }


def race(options: argparse.Namespace, racers: Iterable[str] = RACERS) -> dict:
    """Train the racers."""
    corpus = corpus_for(options)
    sizes = {"pairs": len(corpus.train), "epochs": options.epochs}
    runs = train_missing(
        options.keep,
        "name",
        racers,
        options.seeds,
        sizes,
        lambda name, seed: race_once(name, seed, options.epochs, corpus),
    )
    splits = {"BLEU": "test", "BLEU unseen": "unseen", "BLEU long": "long"}
    places = [f"from {first}" for first in FIRST_PLACES]
    placed = {name: results for name, results in runs.items() if places[0] in results[0]}
    costs = [
        [name, runs[name][0]["parameters"], cell] for name, cell in summarize(runs, ["seconds"])
    ]
    return {
        **sizes,
        "seeds": options.seeds,
        "test": len(corpus.test),
        "tables": {
            "bleu": table([("model", ""), *named(splits, ".1f")], summarize(runs, splits.values())),
            "costs": table([("model", ""), ("parameters", ",d"), ("training, s", ".0f")], costs),
            "lengths": length_table("model", runs, each),
            "places": table([("model", ""), *named(places, ".1f")], summarize(placed, places)),
        },
    }


# Step by step ------------------------------------------------------------------------------------


def decoders(batch_size: int) -> tuple[Callable, Callable]:
    """Make two that write the same tokens: ours by steps, PyTorch's from the whole prefix."""
    ours = d2l.TransformerDecoder(VOCAB, **DECODER, bias=True).eval()
    layer = nn.TransformerDecoderLayer(
        ours.embedding.embedding_dim,
        DECODER["num_heads"],
        DECODER["ffn_num_hiddens"],
        dropout=0.0,
        batch_first=True,
    )
    theirs = nn.TransformerDecoder(layer, DECODER["num_layers"]).eval()
    load(theirs, stack_as_pytorchs(ours, Tensor.detach))
    source = torch.randn(batch_size, SOURCE, DECODER["num_hiddens"])
    first = torch.ones(batch_size, 1, dtype=torch.long)

    @torch.inference_mode()
    def by_steps(num_steps: int) -> tuple[Tensor, Tensor]:
        state, written = ours.init_state(source), [first]
        for _ in range(num_steps):
            logits, state = ours(written[-1], state)  # (B, 1, V)
            written.append(logits[:, -1].argmax(dim=-1, keepdim=True))
        return torch.cat(written, dim=1), logits[:, -1]

    @torch.inference_mode()
    def over_the_prefix(num_steps: int) -> tuple[Tensor, Tensor]:
        written, scale = first, ours.embedding.embedding_dim**0.5
        for _ in range(num_steps):
            X = ours.pos_encoding(ours.embedding(written) * scale)  # (B, T, D)
            mask = nn.Transformer.generate_square_subsequent_mask(X.shape[1])
            Y = theirs(X, source, tgt_mask=mask, tgt_is_causal=True)
            logits = ours.dense(Y[:, -1])  # (B, V): of the last step alone
            written = torch.cat((written, logits.argmax(dim=-1, keepdim=True)), dim=1)
        return written, logits

    return by_steps, over_the_prefix


def decoding(options: argparse.Namespace) -> dict:
    """Time writing over length."""
    by_steps, over_the_prefix = decoders(options.batch_size)
    functions = {}
    for num_steps in STEPS:
        (tokens, logits), (same, expected) = by_steps(num_steps), over_the_prefix(num_steps)
        assert torch.equal(tokens, same)
        torch.testing.assert_close(logits, expected, rtol=0, atol=1e-4)
        functions["cached", num_steps] = partial(by_steps, num_steps)
        functions["whole", num_steps] = partial(over_the_prefix, num_steps)
    # What was run to compare has warmed up, too: median_times would do it once more, for minutes.
    turns = {name: [] for name in functions}
    for _ in range(options.rounds):
        for name, function in functions.items():
            for _ in range(TURNS[name[0]]):
                start = time.process_time()
                function()
                turns[name].append(time.process_time() - start)
    times = {name: statistics.median(seconds) for name, seconds in turns.items()}
    rows = []
    for num_steps in STEPS:
        cached, whole = times["cached", num_steps], times["whole", num_steps]
        by_token = [1e3 * seconds / num_steps for seconds in (cached, whole)]
        rows.append([num_steps, cached, by_token[0], whole, by_token[1], whole / cached])
    columns = [("tokens", "<d"), ("with the cache, s", ".3f"), ("ms per token", ".2f")]
    columns += [("without, s", ".3f"), ("ms per token", ".2f"), ("ratio", ".1f")]
    least, most = STEPS[0], STEPS[-1]
    return {
        "batch_size": options.batch_size,
        "rounds": options.rounds,
        "turns": {way: count * options.rounds for way, count in TURNS.items()},
        "least": least,
        "most": most,
        "growth": {way: times[way, most] / times[way, least] for way in TURNS},
        "tables": {"times": table(columns, rows)},
    }


# Beside PyTorch's encoder ------------------------------------------------------------------------


def encoders(batch: int, length: int, width: int, ffn: int, heads: int, padded: bool) -> dict:
    """Make a training step of both, forwards and backwards, which give the same."""
    ours = d2l.TransformerEncoder(VOCAB, width, ffn, heads, num_layers=2, bias=True)
    layer = nn.TransformerEncoderLayer(width, heads, ffn, dropout=0.0, batch_first=True)
    theirs = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    load(theirs, stack_as_pytorchs(ours, Tensor.detach))
    lens = torch.randint(length // 2, length + 1, (batch,)) if padded else None
    hidden = None if lens is None else torch.arange(length) >= lens[:, None]  # (B, N)
    X = torch.randn(batch, length, width, requires_grad=True)
    upstream = torch.randn_like(X)
    if hidden is not None:
        upstream.masked_fill_(hidden.unsqueeze(-1), 0.0)

    def by_ours() -> Tensor:
        Y = X
        for block in ours.blks:
            Y = block(Y, lens)
        return Y

    def by_theirs() -> Tensor:
        return theirs(X, src_key_padding_mask=hidden)

    seen = slice(None) if hidden is None else ~hidden
    torch.testing.assert_close(by_ours()[seen], by_theirs()[seen], rtol=0, atol=1e-5)
    forms = {"ours": (by_ours, ours.blks), "PyTorch": (by_theirs, theirs)}

    def step(run: Callable[[], Tensor], model: nn.Module) -> Callable[[], object]:
        wanted = [X, *model.parameters()]
        return lambda: torch.autograd.grad(run(), wanted, upstream)

    return {name: step(*form) for name, form in forms.items()}


def encoding(options: argparse.Namespace) -> dict:
    """Time a training step of both encoders."""
    rows = []
    for sizes in ENCODERS:
        for padded in (False, True):
            functions = encoders(*sizes, padded)
            times = median_times(functions, options.seconds, clock=time.process_time)
            cells = [1e3 * times["ours"], 1e3 * times["PyTorch"], times["ours"] / times["PyTorch"]]
            rows.append([" × ".join(map(str, sizes)), "yes" if padded else "no", *cells])
    columns = named(("ours, ms", "PyTorch, ms", "ours / PyTorch"), ".2f")
    first = [("B × N × D × network × heads", ""), ("padding", "")]
    return {"tables": {"times": table([*first, *columns], rows)}}


SECTIONS = {  # by option: what measures it, and its help
    "decoding": (decoding, "writing over length, and no more"),
    "race": (race, "equal sizes, and random starts"),
    "longer": (partial(race, racers=LONGER), "two of the race, for twice as long"),
    "sentences": (sentences, "what two of the race write"),
    "encoder": (encoding, "a step of the encoder, and no more"),
}


def main() -> None:
    """Measure and report."""
    parser = training_parser(__doc__, pairs=None)
    parser.add_argument("--epochs", type=int, help="(default 2; longer: 4)")
    sections = parser.add_mutually_exclusive_group()
    for name, (_, what) in SECTIONS.items():
        sections.add_argument(
            f"--{name}", action="store_const", dest="section", const=name, help=what
        )
    parser.add_argument("--batch-size", type=int, default=1, help="of sentences written at once")
    parser.add_argument("--rounds", type=int, default=3, help="of writing")
    parser.add_argument("--seconds", type=float, default=4.0, help="for each cell, encoder only")
    parser.add_argument("--keep", type=Path, default=KEPT, help="where the race keeps trainings")
    options = parser.parse_args()
    section = options.section
    racing = section in ("race", "longer", "sentences")
    options.pairs = options.pairs or (RACE_PAIRS if racing else 80_000)
    options.epochs = options.epochs or (2 * RACE_EPOCHS if section == "longer" else 2)
    options.encoder_dropout, options.min_freq = 0.0, 1
    torch.set_num_threads(1)
    torch.manual_seed(0)
    measure_section = SECTIONS[section][0] if section else translators
    results = measure_section(options)
    page, command = "transformer", "transformer"
    if section:
        prefix = "transformer-race" if section in ("longer", "sentences") else "transformer"
        page, command = f"{prefix}-{section}", f"transformer --{section}"
    write_report(page, command, results, options.output)


if __name__ == "__main__":
    main()
