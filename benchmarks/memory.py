"""What a writer may forget: small models trained each with another saving on the cache.

python -m benchmarks.memory trains a decoder alone, once for each way and seed, on texts that hold
what it needs at the start, in the middle and near by; and reports in
reference/benchmarks/memory.md. Each training is kept in a file as soon as it is done, and not done
again. With --written it trains three of them once more, counts what they write without a mistake,
and reports in memory-written.md.
"""

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

import d2lattn as d2l
from benchmarks.measure import median_times, train_missing
from benchmarks.report import named, summarize, table, write_report
from benchmarks.translation import count_parameters, training_parser
from d2lattn.corpus import Corpus, Pair, Vocabulary, load_corpus
from d2lattn.decoding import greedy_steps
from d2lattn.transformer import BlockState, TransformerState

KEPT = Path("memory.jsonl")
WIDTH, NUM_LAYERS, NUM_HEADS, FFN = 96, 2, 8, 192
HEAD = WIDTH // NUM_HEADS
BATCH_SIZE = 64
RECIPE = {"learning_rate": 3e-3, "decay_share": 0.7}
NUM_PAIRS, NUM_EPOCHS = 16_000, 3
LENGTHS = [(3, 5), (6, 8), (9, 11), (12, 14), (15, 18)]  # English words
NAMES = ["Ada", "Ben", "Cleo", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "June"]
NAMES += ["Karl", "Lea", "Max", "Nina", "Otto", "Pia", "Ralf", "Suna", "Theo", "Uma"]
TEXT = 40  # tokens, about as many as a sentence of 18 words takes with its translation
NUM_TEXTS, CACHES = 16, (64, 512, 4096)  # that are written at once, and tokens of each so far
WRITTEN = "many", "one shared", "window"
TIMED = "many", "grouped", "one shared", "1 x 12", "window", "window + first"


@dataclass(frozen=True)
class Way:
    """What attention keeps: heads of keys and values, and for which places."""

    options: dict
    heads: tuple[int, int] | None = None  # so many of another width, in place of eight of twelve


WAYS = {
    "many": Way({}),
    "4 key heads": Way({"num_kv_heads": 4}),
    "grouped": Way({"num_kv_heads": 2}),
    "one shared": Way({"num_kv_heads": 1}),
    "2 x 12": Way({}, (2, 12)),
    "4 x 6": Way({}, (4, 6)),
    "1 x 12": Way({}, (1, 12)),
    "2 x 6": Way({}, (2, 6)),
    "6 x 2": Way({}, (6, 2)),
    "window": Way({"window": 8}),
    "window of 20": Way({"window": 20}),
    "window + first": Way({"window": 7, "num_first": 1}),
}


class Texts(NamedTuple):
    """Texts of one batch."""

    tokens: Tensor  # (B, T)
    lens: Tensor  # (B,)
    given: Tensor  # how many tokens of each are read and not written, (B,)


def make(way: str, vocab_size: int) -> d2l.TransformerDecoder:
    """Make a decoder without a source; the network gets the parameters that attention saves."""
    options, heads = WAYS[way].options, WAYS[way].heads
    kept, asked = HEAD * options.get("num_kv_heads", NUM_HEADS), WIDTH  # widths of keys, queries
    if heads is not None:
        kept = asked = heads[0] * heads[1]
    saved = 2 * WIDTH * (2 * WIDTH - kept - asked)  # of W_k and W_v, and of W_q and W_o
    decoder = d2l.TransformerDecoder(
        vocab_size,
        WIDTH,
        FFN + saved // (2 * WIDTH + 1),
        NUM_HEADS,
        NUM_LAYERS,
        cross_attention=False,
        norm_first=True,
        relative=d2l.RotaryPositions(HEAD, max_len=CACHES[-1] + 1),
        **options,
    )
    if heads is not None:
        for block in decoder.blks:
            rotary = d2l.RotaryPositions(heads[1], max_len=CACHES[-1] + 1)
            sizes = WIDTH, WIDTH, WIDTH, asked, heads[0]
            block.attention1 = d2l.MultiHeadAttention(*sizes, dropout=0, relative=rotary)
            block.attention1.W_o = nn.Linear(asked, WIDTH, bias=False)
    return decoder


def vocabulary(corpus: Corpus) -> Vocabulary:
    """One for names and both languages."""
    sides = [pair.source for pair in corpus.train], [pair.target for pair in corpus.train]
    return Vocabulary([NAMES, *sides[0], *sides[1]])


def head_of(pair: Pair, name: str) -> tuple[str, ...]:
    """What is read: a name, and a sentence."""
    return (name, *pair.source, "<eos>")


def texts(
    pairs: Sequence[Pair], vocab: Vocabulary, generator: torch.Generator, size: int = BATCH_SIZE
) -> Iterator[Texts]:
    """Draw a name for each pair, and give the texts in batches of like length."""
    drawn = torch.randint(len(NAMES), (len(pairs),), generator=generator).tolist()
    named = [(pair, NAMES[name]) for pair, name in zip(pairs, drawn, strict=True)]
    order = torch.randperm(len(pairs), generator=generator).tolist()
    order.sort(key=lambda place: len(pairs[place].source) + len(pairs[place].target))
    groups = [order[start : start + size] for start in range(0, len(order), size)]
    for group in torch.randperm(len(groups), generator=generator).tolist():
        chosen = [named[place] for place in groups[group]]
        heads = [head_of(pair, name) for pair, name in chosen]
        rows = [
            vocab.encode([*head, *pair.target, name, "<eos>"])
            for head, (pair, name) in zip(heads, chosen, strict=True)
        ]
        longest = max(map(len, rows))
        yield Texts(
            torch.tensor([one + [vocab.pad] * (longest - len(one)) for one in rows]),
            torch.tensor([len(one) for one in rows]),
            torch.tensor([len(head) for head in heads]),
        )


def loss(model: nn.Module, batch: Texts) -> tuple[Tensor, int]:
    """Of what is to be written: the French, the name once more, and the end."""
    logits, _ = model(batch.tokens[:, :-1], model.init_state())  # (B, T - 1, V)
    places = torch.arange(1, batch.tokens.shape[1])  # (T - 1,)
    written = (places >= batch.given[:, None]) & (places < batch.lens[:, None])  # (B, T - 1)
    count = int(written.sum())
    targets = batch.tokens[:, 1:][written]  # (N,)
    return d2l.masked_loss(logits[written][None], targets[None], torch.tensor([count])), count


@torch.no_grad()
def write(
    model: d2l.TransformerDecoder, pairs: Sequence[Pair], names: Sequence[str], vocab: Vocabulary
) -> list[list[str]]:
    """Write on behind each name and sentence, up to the end; sentences of a length together."""
    groups = defaultdict(list)
    for place, pair in enumerate(pairs):
        groups[len(pair.source)].append(place)
    found: dict[int, list[str]] = {}
    for length, places in groups.items():
        read = torch.tensor([vocab.encode(head_of(pairs[one], names[one])) for one in places])
        steps = islice(greedy_steps(model, model.init_state(), read), length + 14)
        rows = torch.cat([token for token, _ in steps], dim=1).tolist()  # (B, steps)
        for place, one in zip(places, rows, strict=True):
            end = one.index(vocab.eos) if vocab.eos in one else len(one)
            found[place] = vocab.decode(one[:end])
    return [found[place] for place in range(len(pairs))]


def trained(
    way: str, seed: int, epochs: int, corpus: Corpus, vocab: Vocabulary
) -> d2l.TransformerDecoder:
    """Make one, and train it."""
    torch.manual_seed(seed)
    model = make(way, len(vocab))
    d2l.train(
        model,
        lambda generator: texts(corpus.train, vocab, generator),
        num_epochs=epochs,
        **RECIPE,
        seed=seed,
        batch_loss=loss,
    )
    return model


def names_for(pairs: Sequence[Pair], generator: torch.Generator) -> list[str]:
    """Draw a name for each pair."""
    return [NAMES[n] for n in torch.randint(len(NAMES), (len(pairs),), generator=generator)]


def measure(way: str, seed: int, epochs: int, corpus: Corpus) -> dict:
    """Train one, and judge it."""
    vocab = vocabulary(corpus)
    start = time.process_time()
    model = trained(way, seed, epochs, corpus, vocab)
    seconds = time.process_time() - start
    generator = torch.Generator().manual_seed(0)
    names = names_for(corpus.test, generator)
    outputs = write(model, corpus.test, names, vocab)
    texts_written = list(zip(corpus.test, names, outputs, strict=True))
    run = {
        "way": way,
        "seed": seed,
        "pairs": len(corpus.train),
        "epochs": epochs,
        "parameters": count_parameters(model),
        "seconds": seconds,
        "loss": d2l.mean_loss(model, texts(corpus.test, vocab, generator), loss),
    }
    for least, most in ((LENGTHS[0][0], LENGTHS[-1][1]), *LENGTHS):
        group = [text for text in texts_written if least <= len(text[0].source) <= most]
        french = [" ".join(words[:-1]) for _, _, words in group]  # the name is the last
        expected = [" ".join(pair.target) for pair, _, _ in group]
        run[f"BLEU {least} to {most}"] = d2l.bleu(french, expected).value
        signed = [words[-1:] == [name] for _, name, words in group]
        run[f"signed {least} to {most}"] = 100 * statistics.mean(signed)
    return run


def written(options: argparse.Namespace) -> dict:
    """Count which sentences are right, and show one that only the first way gets right."""
    corpus = load_corpus(num_train=options.pairs, num_test=options.held_out)
    vocab, seed = vocabulary(corpus), options.seeds[0]
    names = names_for(corpus.test, torch.Generator().manual_seed(0))
    sentences, right = {}, {}
    for way in WRITTEN:
        model = trained(way, seed, options.epochs, corpus, vocab)
        sentences[way] = [words[:-1] for words in write(model, corpus.test, names, vocab)]
        pairs = zip(sentences[way], corpus.test, strict=True)
        right[way] = [words == list(pair.target) for words, pair in pairs]
    best, *others = WRITTEN
    shown = next(
        place
        for place in range(len(corpus.test))
        if right[best][place] and not any(right[way][place] for way in others)
    )
    rows = [[way, sum(right[way]), " ".join(sentences[way][shown])] for way in WRITTEN]
    return {
        "seed": seed,
        "test": len(corpus.test),
        "sentence": " ".join(corpus.test[shown].source),
        "tables": {"written": table([("variant", ""), ("correct", "d"), ("output", "")], rows)},
    }


@torch.no_grad()
def kept_after(model: d2l.TransformerDecoder, num_tokens: int) -> int:
    """Bytes that the cache holds for one text of so many tokens, written one by one."""
    model.eval()
    state = model.init_state()
    for _ in range(num_tokens):
        _, state = model(torch.tensor([[1]]), state)
    return sum(kept.untyped_storage().nbytes() for block in state.blocks for kept in block.past)


def steps(num_tokens: int) -> dict[str, Callable[[], object]]:
    """Make for some ways one step of writing, for several texts at once."""
    functions = {}
    for way in TIMED:
        model = make(way, 600).eval()
        blocks = []
        for block in model.blks:
            own = block.attention1
            width = own.W_k.out_features // own.num_kv_heads
            shape = NUM_TEXTS, own.num_kv_heads, num_tokens, width
            past = own.keep(torch.randn(shape)), own.keep(torch.randn(shape))
            blocks.append(BlockState(past, None, None, num_tokens - past[0].shape[2]))
        state = TransformerState(num_tokens, tuple(blocks))

        @torch.no_grad()
        def step(model=model, state=state) -> object:
            return model(torch.ones(NUM_TEXTS, 1, dtype=torch.long), state)

        functions[way] = step
    return functions


def results_of(options: argparse.Namespace) -> dict:
    """Train what is missing, and put the tables together."""
    corpus = load_corpus(num_train=options.pairs, num_test=options.held_out)
    sizes = {"pairs": len(corpus.train), "epochs": options.epochs}

    def train(way: str, seed: int) -> dict:
        return measure(way, seed, options.epochs, corpus)

    runs = train_missing(options.keep, "way", options.ways, options.seeds, sizes, train)
    whole = f"{LENGTHS[0][0]} to {LENGTHS[-1][1]}"
    totals = []
    for way, *cells in summarize(runs, ("loss", f"BLEU {whole}", f"signed {whole}")):
        model = make(way, len(vocabulary(corpus)))
        kept = [kept_after(model, count) for count in (1, TEXT)]
        totals.append([way, runs[way][0]["parameters"], *kept, *cells])
    counts = named(("parameters", "bytes per token", f"bytes after {TEXT} tokens"), ",d")
    scores = ("loss", ".3f"), ("BLEU", ".1f"), ("signed", ".1f")
    groups = [f"{least} to {most}" for least, most in LENGTHS]
    lengths = [("variant", ""), *named(groups, ".1f")]
    times = [median_times(steps(n), options.seconds, clock=time.process_time) for n in CACHES]
    speeds = [[way, *(NUM_TEXTS / seconds[way] for seconds in times)] for way in TIMED]
    return {
        **sizes,
        "seeds": options.seeds,
        "test": len(corpus.test),
        "tables": {
            "totals": table([("variant", ""), *counts, *scores], totals),
            "bleu": table(lengths, summarize(runs, [f"BLEU {group}" for group in groups])),
            "signed": table(lengths, summarize(runs, [f"signed {group}" for group in groups])),
            "speeds": table(
                [("variant", ""), *named((f"after {count:,}" for count in CACHES), ",.0f")], speeds
            ),
        },
    }


def main() -> None:
    """Train what is missing, and report."""
    parser = training_parser(__doc__, seeds=range(5), pairs=NUM_PAIRS)
    parser.set_defaults(held_out=1000)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--epochs", type=int, default=NUM_EPOCHS)
    parser.add_argument("--seconds", type=float, default=4.0, help="for each cell of the last")
    parser.add_argument("--keep", type=Path, default=KEPT, help="where trainings are kept")
    parser.add_argument("--written", action="store_true", help="what three ways write, and no more")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if options.written:
        write_report("memory-written", "memory --written", written(options), options.output)
    else:
        write_report("memory", "memory", results_of(options), options.output)


if __name__ == "__main__":
    main()
