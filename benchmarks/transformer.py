"""The Transformer: beside GRUs on the course's corpus, step by step, and beside PyTorch's.

python -m benchmarks.transformer trains the three translators, once for each seed, prints the tables
and writes them to reference/benchmarks/transformer.md. With --decoding it times writing token by
token, in transformer-decoding.md; with --encoder a training step of the encoder beside PyTorch's
own, in transformer-encoder.md. With --race it trains the shipped Transformer's size beside a GRU
with as many parameters, and with places that begin anywhere, in transformer-race.md; with --longer
two of these for twice as long, in transformer-race-longer.md. Each training of a race is kept in a
file as soon as it is done, and not done again. With --sentences it trains the race's first GRUs and
first Transformer once more and shows what they write, in transformer-race-sentences.md.
"""

import argparse
import platform
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
from benchmarks.measure import kept_or_made, median_times, print_and_write, processor
from benchmarks.pytorch_layers import load, stack_as_pytorchs
from benchmarks.translation import (
    BATCH_SIZE,
    BOTH,
    EMBED_SIZE,
    EVALUATION_BATCH,
    FFN_NUM_HIDDENS,
    LENGTHS,
    NUM_HEADS,
    NUM_HIDDENS,
    NUM_LAYERS,
    PLAIN,
    TRANSFORMER,
    Translated,
    Translator,
    alignment_cells,
    bleu,
    by_length,
    corpus_for,
    fit,
    row,
    rule,
    scores,
    spread,
    translate,
)
from d2lattn.book.experiments.starts import FARTHEST, REACH, RandomPlaces, RandomStarts
from d2lattn.corpus import Corpus, Pair, Vocabulary, batches, load_corpus

FOLDER = Path(__file__).parents[1] / "reference" / "benchmarks"
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
SMALL = {"ffn_num_hiddens": 192, "num_heads": 4, "num_layers": 2}  # as the book's own, width 96
GRU_RECIPE = {"learning_rate": 5e-3, "decay_share": 0.6, "dropout": 0.1}  # as the book's own, too
TRANSFORMER_RECIPE = {"learning_rate": 3e-3, "decay_share": 0.7, "dropout": 0.0}
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
        for which, after_reading in (("predicts it", False), ("reads it", True)):
            for weights in d2l.teacher_forced_attention(
                translator.model, batch, after_reading=after_reading
            ):
                for name, matrix in readings(weights):
                    links[name, which].append(d2l.alignment_links(matrix))
    return links, done


def error_rates(translator: Translator, pairs: list[Pair]) -> dict[Reading, float]:
    """Give the alignment error rate of every reading."""
    links, done = links_by_reading(translator, pairs)
    return {reading: scores(found, done).error_rate for reading, found in links.items()}


def best_of_each(rates: dict[Reading, float]) -> dict[Reading, Reading]:
    """Give the mean of heads, and the best of them, for each layer and each of the two rows."""
    best: dict[Reading, Reading] = {}
    for name, which in sorted(rates, key=rates.__getitem__):
        label = name if "mean" in name else f"{name.partition(',')[0]}, its best head"
        best.setdefault((label, which), (name, which))
    return dict(sorted(best.items()))


def measure(kind: str, seed: int, options: argparse.Namespace, corpus) -> dict:
    """Train one translator, and judge it."""
    options = argparse.Namespace(**vars(options), **RECIPES[kind])
    translator = fit(kind, corpus.train, seed, options, time.process_time)
    tokens = options.epochs * sum(len(pair.target) + 1 for pair in corpus.train)  # and <eos>
    found = {
        "parameters": sum(p.numel() for p in translator.model.parameters()),
        "seconds": translator.seconds,
        "speed": tokens / translator.seconds,
        "valid": bleu(translate(translator, corpus.valid)),
    }
    everything = Translated()
    for name in ("test", "unseen", "long"):
        done = translate(translator, getattr(corpus, name))
        found[name] = bleu(done)
        if kind == BOTH and name != "unseen":
            found["links", name] = scores(done.links, done.pairs)
        if name != "unseen":
            everything.pairs += done.pairs
            everything.outputs += done.outputs
    found |= {("length", lengths): value for lengths, value in by_length(everything).items()}
    if kind == TRANSFORMER:
        rates = error_rates(translator, corpus.valid)
        found["choice"] = min(rates, key=rates.__getitem__)
        for name in ("test", "long"):
            links, pairs = links_by_reading(translator, getattr(corpus, name))
            found["links", name] = scores(links[found["choice"]], pairs)
            for (label, which), reading in best_of_each(rates).items():
                found["read", name, label, which] = scores(links[reading], pairs).error_rate
    print(f"{kind}, seed {seed}: {found}", file=sys.stderr, flush=True)
    return found


def translators(options: argparse.Namespace) -> Iterator[str]:
    """Write the section on the three translators, line by line."""
    corpus = corpus_for(options)
    measured: dict[str, list[dict]] = {kind: [] for kind in RECIPES}
    for seed in options.seeds:
        for kind, results in measured.items():
            results.append(measure(kind, seed, options, corpus))

    def cells(kind: str, *wanted: object, digits: int = 1) -> list[str]:
        return [spread([found[name] for found in measured[kind]], digits) for name in wanted]

    yield from head("python -m benchmarks.transformer")
    yield ""
    yield (
        f"Three translators, trained on the same {len(corpus.train):,} pairs for {options.epochs} "
        f"epochs in batches of {BATCH_SIZE} with Adam, seeds "
        f"{', '.join(map(str, options.seeds))}. Each figure is the mean over the seeds, with the "
        f"least and the most; {len(corpus.test):,} pairs are held out, and as many of *unseen*, "
        "which joins constructions that training shows apart, and of *long*, whose sentences are "
        "longer than any in training. Translations are greedy. Seconds are the processor's, which "
        "a busy machine lengthens less than those by the clock."
    )
    yield ""
    gru = f"GRUs of {NUM_HIDDENS} units, embeddings of {EMBED_SIZE}"
    yield f"- *plain GRU*: {gru}; the encoder's last state at every step. {recipe(PLAIN)}"
    yield f"- *Bahdanau*: {gru}; attention, and the encoder reads both ways. {recipe(BOTH)}"
    yield (
        f"- *Transformer*: width {NUM_HIDDENS}, networks of {FFN_NUM_HIDDENS}, {NUM_HEADS} heads, "
        f"{NUM_LAYERS} layers. {recipe(TRANSFORMER)}"
    )
    yield ""
    yield row("model", "BLEU", "BLEU valid", "BLEU unseen", "BLEU long")
    yield rule(5)
    for kind in measured:
        yield row(NAMES[kind], *cells(kind, "test", "valid", "unseen", "long"))
    yield ""
    yield row("model", "parameters", "training, s", "target tokens a second")
    yield rule(4)
    for kind, results in measured.items():
        parameters = f"{results[0]['parameters']:,}"
        yield row(NAMES[kind], parameters, *cells(kind, "seconds", "speed", digits=0))
    yield from ("", "**BLEU by the length of the source** (tokens; test and long together)", "")
    groups = [group for group in LENGTHS if ("length", group) in measured[PLAIN][0]]
    yield row("model", *(f"{shortest} to {longest}" for shortest, longest in groups))
    yield rule(1 + len(groups))
    for kind in measured:
        yield row(NAMES[kind], *cells(kind, *(("length", group) for group in groups)))
    yield from ("", "**Attention beside gold links** (largest weight of each row, true target)", "")
    yield row("links", "precision", "recall", "error rate", "error rate, long")
    yield rule(5)
    for kind in (BOTH, TRANSFORMER):
        judged = [found["links", "test"] for found in measured[kind]]
        far = [found["links", "long"].error_rate for found in measured[kind]]
        yield row(NAMES[kind], *alignment_cells(judged), spread(far, 3))
    transformers = measured[TRANSFORMER]
    chosen = Counter(found["choice"] for found in transformers)
    yield ""
    yield (
        "Bahdanau's row is the one that predicts the word. Of the Transformer's heads and layers, "
        "and of the two rows that may be a word's, the best on the *valid* pairs was taken for "
        "each seed: "
        + "; ".join(
            f"{name}, the row that {which} ({times} of {len(transformers)})"
            for (name, which), times in chosen.items()
        )
        + ". Each layer, judged on the held-out pairs (error rate); its best head is the one that "
        "is best on the *valid* pairs:"
    )
    yield ""
    yield row("read", "the row that predicts the word", "the row that reads it")
    yield rule(3)
    for label in dict.fromkeys(key[2] for key in transformers[0] if key[0] == "read"):
        keys = (("read", "test", label, which) for which in ("predicts it", "reads it"))
        yield row(label, *cells(TRANSFORMER, *keys, digits=3))


def recipe(kind: str) -> str:
    """Tell how one kind is trained."""
    options = RECIPES[kind]
    return (
        f"Adam at {options['learning_rate']} falling to 0 over the last "
        f"{options['decay_share']:.0%} of the steps, dropout {options['dropout']}."
    )


def head(command: str) -> Iterator[str]:
    """Write what made the page."""
    yield f"<!-- Written by: {command} -->"
    yield ""
    yield (
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, "
        f"1 thread, float32. Command: `{command}`."
    )


# A race -----------------------------------------------------------------------------------------


def gru(width: int) -> Callable[[int, int], d2l.EncoderDecoder]:
    """Say how to make Bahdanau's translator of this width, for vocabularies of two sizes."""

    def make(source_size: int, target_size: int) -> d2l.EncoderDecoder:
        sizes = EMBED_SIZE, width, 1
        return d2l.EncoderDecoder(
            d2l.Seq2SeqEncoder(source_size, *sizes, 0.0, bidirectional=True),
            d2l.Seq2SeqAttentionDecoder(target_size, *sizes, GRU_RECIPE["dropout"]),
        )

    return make


def transformer(encoding: Callable[..., nn.Module]) -> Callable[[int, int], d2l.EncoderDecoder]:
    """Say how to make the small Transformer, with positions of this kind."""

    def make(source_size: int, target_size: int) -> d2l.EncoderDecoder:
        return d2l.EncoderDecoder(
            d2l.TransformerEncoder(source_size, 96, **SMALL, pos_encoding=encoding(96, 0)),
            d2l.TransformerDecoder(target_size, 96, **SMALL, pos_encoding=encoding(96, 0)),
        )

    return make


RACERS = {  # how each is made, how it is trained, and what it is
    "larger Bahdanau": (
        gru(176),
        GRU_RECIPE,
        "chapter 4's translator, with 176 units in place of 128",
    ),
    "Transformer": (
        transformer(d2l.PositionalEncoding),
        TRANSFORMER_RECIPE,
        "width 96, networks of 192, four heads, two layers on either side",
    ),
    "random starts": (
        transformer(RandomStarts),
        TRANSFORMER_RECIPE,
        "the same, but in training each sentence's places, on either side, begin at a random "
        f"one from 0 to {FARTHEST}",
    ),
    "random places": (
        transformer(RandomPlaces),
        TRANSFORMER_RECIPE,
        "the same, but in training each sentence's places, on either side, are drawn in order from "
        f"the first so many, at most {REACH}",
    ),
}


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
    make, wanted, _ = RACERS[name]
    source_vocab = Vocabulary(pair.source for pair in corpus.train)
    target_vocab = Vocabulary(pair.target for pair in corpus.train)
    torch.manual_seed(seed)
    model = make(len(source_vocab), len(target_vocab))
    start = time.process_time()
    history = d2l.train(
        model,
        lambda generator: batches(
            corpus.train, source_vocab, target_vocab, BATCH_SIZE, generator=generator
        ),
        num_epochs=epochs,
        learning_rate=wanted["learning_rate"],
        decay_share=wanted["decay_share"],
        seed=seed,
    )
    seconds = time.process_time() - start
    return Translator(model, source_vocab, target_vocab, history, seconds)


def short_pairs(corpus: Corpus) -> list[Pair]:
    """Give the pairs of *test* that are counted from further on."""
    return [p for p in corpus.test if max(len(p.source), len(p.target)) <= SHORT]


def race_once(name: str, seed: int, epochs: int, corpus: Corpus) -> dict:
    """Train one of the racers, and judge it."""
    translator = train_racer(name, seed, epochs, corpus)
    found = {
        "name": name,
        "seed": seed,
        "pairs": len(corpus.train),
        "epochs": epochs,
        "parameters": sum(p.numel() for p in translator.model.parameters()),
        "seconds": translator.seconds,
    }
    everything = Translated()
    for split in ("test", "unseen", "long"):
        done = translate(translator, getattr(corpus, split))
        found[split] = bleu(done)
        if split != "unseen":
            everything.pairs += done.pairs
            everything.outputs += done.outputs
    lengths = by_length(everything).items()
    found |= {f"{shortest} to {longest}": value for (shortest, longest), value in lengths}
    if hasattr(translator.model.encoder, "pos_encoding"):
        short = short_pairs(corpus)
        found |= {
            f"from {first}": bleu(counted_from(first, translator, short)) for first in FIRST_PLACES
        }
    return found


def sentences(options: argparse.Namespace) -> Iterator[str]:
    """Write the section on what the race's first trainings write, line by line."""
    corpus, everything = corpus_for(options), load_corpus(num_train=0)
    first = {name: train_racer(name, 0, options.epochs, corpus) for name in SHOWN}
    yield from head("python -m benchmarks.transformer --sentences")
    yield ""
    yield (
        "The race's GRUs and its Transformer of seed 0, trained as there. *Right* counts the "
        f"translations of *long*, out of {len(corpus.long):,}, that are right word by word."
    )
    of_long, of_short = (
        next(pair for pair in pairs if " ".join(pair.source) == words)
        for pairs, words in zip((everything.long, everything.test), SENTENCES, strict=True)
    )
    yield from ("", f"> {' '.join(of_long.source)}", "")
    yield row("racer", "right", "that sentence")
    yield "|---|--:|---|"
    for name, translator in first.items():
        done = translate(translator, corpus.long)
        wanted = (" ".join(pair.target) for pair in done.pairs)
        right = sum(out == one for out, one in zip(done.outputs, wanted, strict=True))
        (written,) = translate(translator, [of_long]).outputs
        yield row(name, right, written)
    short = short_pairs(corpus)
    yield ""
    yield (
        "The Transformer, if the first word has another place: what it writes for the sentence "
        f"below, and BLEU of the {len(short)} pairs of *test* with at most {SHORT} tokens on "
        "either side."
    )
    yield from ("", f"> {' '.join(of_short.source)}", "")
    yield row("first place", "that sentence", "BLEU")
    yield "|--:|---|--:|"
    for place in range(FIRST_PLACES[-1] + 1):
        (written,) = counted_from(place, first["Transformer"], [of_short]).outputs
        value = bleu(counted_from(place, first["Transformer"], short))
        yield row(place, written, f"{value:.1f}")


def race(
    options: argparse.Namespace, racers: Iterable[str] = RACERS, command: str = "--race"
) -> Iterator[str]:
    """Write the section on the race, line by line."""
    corpus = corpus_for(options)
    sizes = {"pairs": len(corpus.train), "epochs": options.epochs}
    by_racer: dict[str, list[dict]] = {name: [] for name in racers}
    for seed in options.seeds:
        for name in options.only or racers:
            wanted = {"name": name, "seed": seed} | sizes
            make = partial(race_once, name, seed, options.epochs, corpus)
            by_racer[name].append(kept_or_made(options.keep, wanted, make))
    if options.only:
        return

    yield from head(f"python -m benchmarks.transformer {command}")
    yield ""
    yield (
        f"Translators trained on the same {len(corpus.train):,} pairs, {options.epochs} times "
        f"through, in batches of {BATCH_SIZE} with Adam, seeds "
        f"{', '.join(map(str, options.seeds))}. Each figure is the mean over the seeds, and behind "
        f"it that of each seed; {len(corpus.test):,} pairs are held out, and as many of *unseen* "
        "and of *long*. Translations are greedy. Seconds are the processor's, while others used it."
    )
    yield ""
    for name in racers:
        _, recipe_of, what = RACERS[name]
        yield (
            f"- *{name}*: {what}. Adam at {recipe_of['learning_rate']} falling to 0 over the last "
            f"{recipe_of['decay_share']:.0%} of the steps, dropout {recipe_of['dropout']}."
        )

    def cells(name: str, columns: list[str], digits: int = 1) -> list[str]:
        return [each([one[column] for one in by_racer[name]], digits) for column in columns]

    splits = {"BLEU": "test", "BLEU unseen": "unseen", "BLEU long": "long"}
    yield ""
    yield row("racer", *splits)
    yield rule(1 + len(splits))
    for name in racers:
        yield row(name, *cells(name, list(splits.values())))
    yield ""
    yield row("racer", "parameters", "training, s")
    yield rule(3)
    for name, results in by_racer.items():
        yield row(name, f"{results[0]['parameters']:,}", *cells(name, ["seconds"], 0))
    yield from ("", "**BLEU by the length of the source** (tokens; test and long together)", "")
    groups = [f"{shortest} to {longest}" for shortest, longest in LENGTHS]
    groups = [group for group in groups if group in by_racer["Transformer"][0]]
    yield row("racer", *groups)
    yield rule(1 + len(groups))
    for name in racers:
        yield row(name, *cells(name, groups))
    yield from ("", "**BLEU by the place that the first word has in use**", "")
    yield f"Of the sentences of *test* with at most {SHORT} tokens on either side."
    yield ""
    places = [f"from {first}" for first in FIRST_PLACES]
    yield row("racer", *places)
    yield rule(1 + len(places))
    for name, results in by_racer.items():
        if places[0] in results[0]:
            yield row(name, *cells(name, places))


def each(values: list[float], digits: int) -> str:
    """Write a mean, and the values behind it."""
    mean = f"{statistics.mean(values):.{digits}f}"
    return f"{mean} ({', '.join(f'{value:.{digits}f}' for value in values)})"


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


def decoding(options: argparse.Namespace) -> Iterator[str]:
    """Write the section on decoding over length, line by line."""
    by_steps, over_the_prefix = decoders(options.batch_size)
    functions = {}
    for num_steps in STEPS:
        (tokens, logits), (same, expected) = by_steps(num_steps), over_the_prefix(num_steps)
        assert torch.equal(tokens, same)
        torch.testing.assert_close(logits, expected, rtol=0, atol=1e-4)
        functions["cached", num_steps] = partial(by_steps, num_steps)
        functions["whole", num_steps] = partial(over_the_prefix, num_steps)
    # What was run to compare has warmed up, too: median_times would do it once more, for minutes.
    times = {name: [] for name in functions}
    for _ in range(options.rounds):
        for name, function in functions.items():
            for _ in range(TURNS[name[0]]):
                start = time.process_time()
                function()
                times[name].append(time.process_time() - start)
    times = {name: statistics.median(found) for name, found in times.items()}

    yield from head("python -m benchmarks.transformer --decoding")
    yield ""
    yield (
        f"Greedy writing, {options.batch_size} at once, beside a source of {SOURCE} positions: "
        f"width {DECODER['num_hiddens']}, networks of {DECODER['ffn_num_hiddens']}, "
        f"{DECODER['num_heads']} heads, {DECODER['num_layers']} layers. *With the cache* is our "
        "`TransformerDecoder`, a token at a time; *without* is `nn.TransformerDecoder` over the "
        "whole prefix at each step, with the same weights; both write the same tokens. Processor "
        f"time of the whole text, medians of {TURNS['cached'] * options.rounds} and "
        f"{TURNS['whole'] * options.rounds} turns in {options.rounds} rounds."
    )
    yield ""
    yield row("tokens", "with the cache, s", "ms a token", "without, s", "ms a token", "ratio")
    yield rule(6)
    for num_steps in STEPS:
        cached, whole = times["cached", num_steps], times["whole", num_steps]
        yield row(
            num_steps,
            f"{cached:.3f}",
            f"{1e3 * cached / num_steps:.2f}",
            f"{whole:.3f}",
            f"{1e3 * whole / num_steps:.2f}",
            f"{whole / cached:.1f}",
        )
    least, most = STEPS[0], STEPS[-1]
    growth = {way: times[way, most] / times[way, least] for way in ("cached", "whole")}
    yield ""
    yield (
        f"From {least} to {most} tokens, {most // least} times as many, the time grows "
        f"{growth['cached']:.1f} times with the cache and {growth['whole']:.1f} times without."
    )


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


def encoding(options: argparse.Namespace) -> Iterator[str]:
    """Write the section on the encoder, line by line."""
    yield from head("python -m benchmarks.transformer --encoder")
    yield ""
    yield (
        "A training step of two encoder blocks, forwards and backwards, for the input and all "
        "weights: post-norm, dropout 0, biases everywhere, training mode. Both hold the same "
        "weights and give the same. Milliseconds of processor time, medians of turns. With "
        "padding, lengths are drawn from half of the positions to all of them."
    )
    yield ""
    columns = "ours, ms", "PyTorch, ms", "ours / PyTorch"
    yield row("B × N × D × network × heads", "padding", *columns)
    yield "|---|---|--:|--:|--:|"
    for sizes in ENCODERS:
        for padded in (False, True):
            functions = encoders(*sizes, padded)
            times = median_times(functions, options.seconds, clock=time.process_time)
            yield row(
                " × ".join(map(str, sizes)),
                "yes" if padded else "no",
                *(f"{1e3 * times[name]:.2f}" for name in functions),
                f"{times['ours'] / times['PyTorch']:.2f}",
            )


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--pairs", type=int, help="to train on (default 80000; race: 42000)")
    parser.add_argument("--held-out", type=int, help="of each set (default: all)")
    parser.add_argument("--epochs", type=int, help="(default 2; longer: 4)")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--decoding", action="store_true", help="writing over length, and no more")
    only.add_argument("--race", action="store_true", help="equal sizes, and random starts")
    only.add_argument("--longer", action="store_true", help="two of the race, for twice as long")
    only.add_argument("--sentences", action="store_true", help="what two of the race write")
    only.add_argument("--encoder", action="store_true", help="a step of the encoder, and no more")
    parser.add_argument("--batch-size", type=int, default=1, help="of sentences written at once")
    parser.add_argument("--rounds", type=int, default=3, help="of writing")
    parser.add_argument("--seconds", type=float, default=4.0, help="for each cell, encoder only")
    parser.add_argument("--output", type=Path, help="where the section goes")
    parser.add_argument("--only", nargs="+", help="racers to train now, without writing a page")
    parser.add_argument("--keep", type=Path, default=KEPT, help="where the race keeps trainings")
    options = parser.parse_args()
    racing = options.race or options.longer or options.sentences
    if strangers := set(options.only or ()) - set(LONGER if options.longer else RACERS):
        parser.error(f"--only: {', '.join(sorted(strangers))} is no racer here")
    options.pairs = options.pairs or (RACE_PAIRS if racing else 80_000)
    options.epochs = options.epochs or (2 * RACE_EPOCHS if options.longer else 2)
    options.encoder_dropout, options.min_freq = 0.0, 1
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if options.decoding:
        write, output = decoding, FOLDER / "transformer-decoding.md"
    elif options.encoder:
        write, output = encoding, FOLDER / "transformer-encoder.md"
    elif options.race:
        write, output = race, FOLDER / "transformer-race.md"
    elif options.longer:
        write = partial(race, racers=LONGER, command="--longer")
        output = FOLDER / "transformer-race-longer.md"
    elif options.sentences:
        write, output = sentences, FOLDER / "transformer-race-sentences.md"
    else:
        write, output = translators, FOLDER / "transformer.md"
    print_and_write(write(options), options.output or output)


if __name__ == "__main__":
    main()
