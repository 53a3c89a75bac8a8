"""What a writer may forget: small models trained each with another saving on the cache.

python -m benchmarks.memory trains a decoder alone, once for each way and seed, on texts that hold
what it needs at the start, in the middle and near by; prints the tables and writes them to
reference/benchmarks/memory.md. Each training is kept in a file as soon as it is done, and not done
again. With --written it trains three of them once more, counts what they write without a mistake,
and writes memory-written.md beside it.
"""

import argparse
import platform
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

import d2lattn as d2l
from benchmarks.measure import kept_or_made, median_times, print_and_write, processor
from benchmarks.relative import each
from benchmarks.translation import FOLDER, row, rule
from d2lattn.corpus import Corpus, Pair, Vocabulary, load_corpus
from d2lattn.decoding import greedily
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

    what: str
    options: dict
    heads: tuple[int, int] | None = None  # so many of another width, in place of eight of twelve


WAYS = {
    "many": Way("each of the 8 heads has its own keys and values", {}),
    "grouped": Way("4 heads of queries share each of 2 heads of keys", {"num_kv_heads": 2}),
    "one shared": Way("all 8 heads of queries share 1 head of keys", {"num_kv_heads": 1}),
    "2 x 12": Way("2 heads of 12, instead of 8", {}, (2, 12)),
    "4 x 6": Way("4 heads of 6", {}, (4, 6)),
    "1 x 12": Way("1 head of 12", {}, (1, 12)),
    "2 x 6": Way("2 heads of 6", {}, (2, 6)),
    "6 x 2": Way("6 heads of 2", {}, (6, 2)),
    "window": Way("as many, and a token sees itself and the 7 before it", {"window": 8}),
    "window + first": Way(
        "as many, and a token sees itself, the 6 before it and the first of all",
        {"window": 7, "num_first": 1},
    ),
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
        steps = islice(greedily(model, model.init_state(), read), length + 14)
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
    dice = torch.Generator().manual_seed(0)
    names = names_for(corpus.test, dice)
    outputs = write(model, corpus.test, names, vocab)
    kept = list(zip(corpus.test, names, outputs, strict=True))
    found = {
        "way": way,
        "seed": seed,
        "pairs": len(corpus.train),
        "epochs": epochs,
        "parameters": sum(p.numel() for p in model.parameters()),
        "seconds": seconds,
        "loss": d2l.mean_loss(model, texts(corpus.test, vocab, dice), loss),
    }
    for least, most in ((LENGTHS[0][0], LENGTHS[-1][1]), *LENGTHS):
        some = [one for one in kept if least <= len(one[0].source) <= most]
        told = [" ".join(words[:-1]) for _, _, words in some]  # the name is the last
        found[f"BLEU {least} to {most}"] = d2l.bleu(
            told, [" ".join(pair.target) for pair, _, _ in some]
        ).value
        signed = [words[-1:] == [name] for _, name, words in some]
        found[f"signed {least} to {most}"] = 100 * statistics.mean(signed)
    return found


def measured(options: argparse.Namespace, corpus: Corpus) -> dict[str, list[dict]]:
    """Give what each training came to, and train what is missing."""
    sizes = {"pairs": len(corpus.train), "epochs": options.epochs}
    found: dict[str, list[dict]] = {way: [] for way in WAYS}
    for seed in options.seeds:
        for way in options.ways:
            make = partial(measure, way, seed, options.epochs, corpus)
            found[way].append(kept_or_made(options.keep, {"way": way, "seed": seed} | sizes, make))
    return {way: results for way, results in found.items() if results}


def written(options: argparse.Namespace) -> Iterator[str]:
    """Write how many sentences are right, and one that only the first way gets right."""
    corpus = load_corpus(num_train=options.pairs, num_test=options.held_out)
    vocab, seed = vocabulary(corpus), options.seeds[0]
    names = names_for(corpus.test, torch.Generator().manual_seed(0))
    told, right = {}, {}
    for way in WRITTEN:
        model = trained(way, seed, options.epochs, corpus, vocab)
        told[way] = [words[:-1] for words in write(model, corpus.test, names, vocab)]
        pairs = zip(told[way], corpus.test, strict=True)
        right[way] = [words == list(pair.target) for words, pair in pairs]
    best, *others = WRITTEN
    one = next(
        place
        for place in range(len(corpus.test))
        if right[best][place] and not any(right[way][place] for way in others)
    )
    yield "<!-- Written by: python -m benchmarks.memory --written -->"
    yield ""
    yield (
        f"One training of each, once more with seed {seed}: how many of {len(corpus.test):,} "
        "held-out sentences have the French of the corpus, word for word, and what was written for "
        f"“{' '.join(corpus.test[one].source)}”. It is the first with which *{best}* is "
        "right and the others are wrong."
    )
    yield ""
    yield row("way", "right", "written")
    yield rule(3)
    for way in WRITTEN:
        yield row(way, sum(right[way]), " ".join(told[way][one]))


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


def speeds(seconds: float) -> Iterator[str]:
    """Write how many tokens a second each writes."""
    yield row("way", *(f"after {tokens:,}" for tokens in CACHES))
    yield rule(1 + len(CACHES))
    times = [median_times(steps(one), seconds, clock=time.process_time) for one in CACHES]
    for way in TIMED:
        yield row(way, *(f"{NUM_TEXTS / one[way]:,.0f}" for one in times))


def page(options: argparse.Namespace) -> Iterator[str]:
    """Write the page, line by line."""
    corpus = load_corpus(num_train=options.pairs, num_test=options.held_out)
    found = measured(options, corpus)
    size = len(vocabulary(corpus))
    yield "<!-- Written by: python -m benchmarks.memory -->"
    yield ""
    yield (
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, 1 thread,"
        " float32. Command: `python -m benchmarks.memory`. A decoder alone, without a source: "
        f"width {WIDTH}, {NUM_LAYERS} layers, {NUM_HEADS} heads of {HEAD}, norm first, rotary "
        f"positions; networks of {FFN}, wider where attention has fewer parameters, so that all "
        f"have as many. A text is one of {len(NAMES)} names, an English sentence and `<eos>`, which"
        " are read, and the French sentence, the name once more and `<eos>`, which are written. "
        f"Each is trained on {len(corpus.train):,} pairs, {options.epochs} times through, in "
        f"batches of {BATCH_SIZE}, with another name each time, to predict what is written; Adam "
        f"at {RECIPE['learning_rate']} falling to 0 over the last {RECIPE['decay_share']:.0%} of "
        "the steps, no dropout. Each figure is the mean over seeds "
        f"{', '.join(map(str, options.seeds))}, and behind it that of each seed. "
        f"{len(corpus.test):,} pairs are held out. Writing is greedy. *Signed* is the share of "
        "texts, in percent, that end with their name."
    )
    yield ""
    yield from (f"- *{way}*: {WAYS[way].what}." for way in found)
    yield ""
    yield row("way", "parameters", "bytes a token", f"bytes after {TEXT}", "loss", "BLEU", "signed")
    yield rule(7)
    whole = f"{LENGTHS[0][0]} to {LENGTHS[-1][1]}"
    for way, results in found.items():
        model = make(way, size)
        yield row(
            way,
            f"{results[0]['parameters']:,}",
            f"{kept_after(model, 1):,}",
            f"{kept_after(model, TEXT):,}",
            each([one["loss"] for one in results], 3),
            each([one[f"BLEU {whole}"] for one in results]),
            each([one[f"signed {whole}"] for one in results]),
        )
    groups = [f"{least} to {most}" for least, most in LENGTHS]
    for what, title in (("BLEU", "BLEU"), ("signed", "Signed, in percent,")):
        yield from ("", f"**{title} by the length of the English sentence** (words)", "")
        yield row("way", *groups)
        yield rule(1 + len(groups))
        for way, results in found.items():
            cells = (each([one[f"{what} {group}"] for one in results]) for group in groups)
            yield row(way, *cells)
    yield from ("", "**Tokens a second**", "")
    yield (
        f"One step of writing for {NUM_TEXTS} texts, each with so many tokens in the cache; medians"
        " of processor time. The weights are untrained, which makes no difference to the clock."
    )
    yield ""
    yield from speeds(options.seconds)


def main() -> None:
    """Train what is missing, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--pairs", type=int, default=NUM_PAIRS, help="to train on")
    parser.add_argument("--held-out", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=NUM_EPOCHS)
    parser.add_argument("--seconds", type=float, default=4.0, help="for each cell of the last")
    parser.add_argument("--keep", type=Path, default=KEPT, help="where trainings are kept")
    parser.add_argument("--output", type=Path, default=FOLDER / "memory.md")
    parser.add_argument("--written", action="store_true", help="what three ways write, and no more")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if options.written:
        print_and_write(written(options), options.output.with_name("memory-written.md"))
    else:
        print_and_write(page(options), options.output)


if __name__ == "__main__":
    main()
