"""Chapter 5b's translator with one head and with four: what they learn, and who does what.

python -m benchmarks.heads trains 5b.3's translator with one head and with four on the course's
own corpus, once for each seed, prints the tables and writes them to reference/benchmarks/heads.md.
"""

import argparse
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

import d2lattn as d2l
from benchmarks.believing import counted
from benchmarks.exchanging import WHEN, articles, articles_turned
from benchmarks.measure import print_and_write, processor
from benchmarks.translation import (
    BATCH_SIZE,
    EMBED_SIZE,
    EVALUATION_BATCH,
    FOLDER,
    NUM_HIDDENS,
    Translator,
    bleu,
    corpus_for,
    row,
    rule,
    scores,
    spread,
    translate,
)
from d2lattn.corpus import Pair, Vocabulary, batches
from d2lattn.training import evaluating

HEADS = 1, 4
SPLITS = "test", "unseen", "long"
MEAN = "mean of the four"
NOTHING = "nothing"  # is switched off
FORMS = "le", "l'", "les"  # other forms of la
OTHERS = "une", "sa", "ma", "ta", "cette"  # other words of its kind, feminine too
LEARNING_RATE, DECAY_SHARE = 5e-3, 0.6


class WithSource(d2l.AttentionDecoder):
    """What a decoder has to do around the lines of the page."""

    def init_state(self, encoded, lens=None):
        """Keep the source's states; begin with zeros."""
        h, last = encoded
        return h, lens, torch.zeros_like(last)

    def select_state(self, state, rows):
        """Keep some of the batch's rows."""
        h, lens, s = state
        return h[rows], None if lens is None else lens[rows], s[:, rows]

    @property
    def attention_weights(self) -> Tensor:
        """Weights of the last pass, (B, H, T, S)."""
        return self.heads.attention_weights


class HeadsDecoder(WithSource):
    """The page's: a GRU reads the French, and its new states ask."""

    def __init__(self, vocab_size, num_heads):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, EMBED_SIZE)
        nn.init.normal_(self.embed.weight, std=0.3)
        self.dropout = nn.Dropout(0.1)
        self.gru = nn.GRU(EMBED_SIZE, NUM_HIDDENS, batch_first=True)
        widths = [NUM_HIDDENS] * 4  # of keys, queries and values, and of all heads together
        self.heads = d2l.MultiHeadAttention(*widths, num_heads, 0)
        self.dense = nn.Linear(2 * NUM_HIDDENS, vocab_size)

    def forward(self, y, state):
        """Read target tokens (B, T), give scores of the next ones (B, T, V)."""
        h, lens, s = state  # (B, S, D), (B,), (1, B, D)
        states, s = self.gru(self.dropout(self.embed(y)), s)  # (B, T, D)
        contexts = self.heads(states, h, h, lens)  # (B, T, D)
        words = self.dense(torch.cat((contexts, states), dim=-1))
        return words, (h, lens, s)


def build(num_heads: int, sizes: tuple[int, int], seed: int) -> d2l.EncoderDecoder:
    """Make the translator for vocabularies of two sizes."""
    torch.manual_seed(seed)
    encoder = d2l.Seq2SeqEncoder(sizes[0], EMBED_SIZE, NUM_HIDDENS, 1, bidirectional=True)
    return d2l.EncoderDecoder(encoder, HeadsDecoder(sizes[1], num_heads))


def fit(num_heads: int, pairs: list[Pair], seed: int) -> Translator:
    """Train it: every pair once."""
    vocabs = (
        Vocabulary(pair.source for pair in pairs),
        Vocabulary(pair.target for pair in pairs),
    )
    model = build(num_heads, (len(vocabs[0]), len(vocabs[1])), seed)
    start = time.process_time()
    history = d2l.train(
        model,
        lambda generator: batches(pairs, *vocabs, BATCH_SIZE, generator=generator),
        num_epochs=1,
        learning_rate=LEARNING_RATE,
        decay_share=DECAY_SHARE,
        seed=seed,
        progress=sys.stderr.isatty(),
    )
    return Translator(model, *vocabs, history, time.process_time() - start)


def error_rates(translator: Translator, pairs: list[Pair]) -> dict[str, float]:
    """Give the alignment error rate of each head, and of the mean of several."""
    links: dict[str, list[frozenset]] = {}
    done: list[Pair] = []
    vocabs = translator.source_vocab, translator.target_vocab
    for batch in batches(pairs, *vocabs, EVALUATION_BATCH):
        done += batch.pairs
        for weights in d2l.teacher_forced_attention(translator.model, batch):  # (H, T, S)
            readings = {f"head {head}": matrix for head, matrix in enumerate(weights, start=1)}
            for name, matrix in (readings | {MEAN: weights.mean(dim=0)}).items():
                links.setdefault(name, []).append(d2l.alignment_links(matrix))
    return {name: scores(found, done).error_rate for name, found in links.items()}


def looks_at_la(translator: Translator, pairs: list[Pair]) -> Tensor:
    """Give each head's mean weights on *the* and on the noun before it writes *la*, (H, 2)."""
    found = []
    vocabs = translator.source_vocab, translator.target_vocab
    for pair, step, article, noun in articles(pairs):
        (batch,) = batches([pair], *vocabs, 1)
        (weights,) = d2l.teacher_forced_attention(translator.model, batch)  # (H, T, S)
        found.append(weights[:, step, [article, noun]])
    return torch.stack(found).mean(dim=0)


def at_every_la(translator: Translator, pairs: list[Pair], off: Sequence[int]) -> list[float]:
    """Give the mean chance of *la*, its other forms and others of its kind with heads off.

    And of how many *la* it is the mean.
    """
    model, vocab = translator.model, translator.target_vocab
    groups = [vocab.encode(list(words)) for words in (("la",), FORMS, OTHERS)]
    found = []
    without = d2l.without_heads(model.decoder.heads, off)
    with evaluating(model), torch.no_grad(), without:
        for batch in batches(pairs, translator.source_vocab, vocab, EVALUATION_BATCH):
            logits, _ = model(batch.source, d2l.shift_right(batch.target), batch.source_valid_lens)
            chances = logits[batch.target == groups[0][0]].softmax(dim=-1)  # (N, V)
            found.append(torch.stack([chances[:, group].sum(dim=-1) for group in groups], dim=-1))
    rows = torch.cat(found)
    return [*rows.mean(dim=0).tolist(), len(rows)]


def measure(num_heads: int, seed: int, corpus) -> dict:
    """Train one translator, and ask it everything."""
    translator = fit(num_heads, corpus.train, seed)
    test = corpus.test
    found = {
        "parameters": sum(p.numel() for p in translator.model.parameters()),
        "bleu": [bleu(translate(translator, getattr(corpus, name))) for name in SPLITS],
        "rates": error_rates(translator, test),
    }
    turned = list(articles_turned(translator, test, WHEN[:1]))
    found["turned"] = counted(turned, {"article": "", "noun": ""})
    if num_heads > 1:
        valid = error_rates(translator, corpus.valid)
        found["choice"] = min((n for n in valid if n != MEAN), key=valid.__getitem__)
        found["looks"] = looks_at_la(translator, test).tolist()
        cases = {NOTHING: []} | {f"head {head + 1}": [head] for head in range(num_heads)}
        found["off"] = {name: at_every_la(translator, test, off) for name, off in cases.items()}
    seconds = f"{translator.seconds:.0f} s"
    print(f"{num_heads} heads, seed {seed}, {seconds}: {found}", file=sys.stderr, flush=True)
    return found


def named(num_heads: int) -> str:
    """Name a model by its heads."""
    return f"{num_heads} head" + "s" * (num_heads > 1)


def translations(one: list[dict], four: list[dict], seeds: Sequence[int]) -> Iterator[str]:
    """Write BLEU, seed by seed and in all."""
    yield row("model", "parameters", *SPLITS)
    yield rule(2 + len(SPLITS))
    for num_heads, results in zip(HEADS, (one, four), strict=True):
        for seed, found in zip(seeds, results, strict=True):
            values = (f"{value:.1f}" for value in found["bleu"])
            yield row(f"{named(num_heads)}, seed {seed}", f"{found['parameters']:,}", *values)
    for num_heads, results in zip(HEADS, (one, four), strict=True):
        columns = zip(*(found["bleu"] for found in results), strict=True)
        yield row(f"{named(num_heads)}, all seeds", "", *map(spread, columns))
    differences = [
        [more - less for more, less in zip(b["bleu"], a["bleu"], strict=True)]
        for a, b in zip(one, four, strict=True)
    ]
    cells = [spread(column).replace("-", "−") for column in zip(*differences, strict=True)]
    yield row("4 heads less 1, seed by seed", "", *cells)
    yield ""


def alignments(one: list[dict], four: list[dict], seeds: Sequence[int]) -> Iterator[str]:
    """Write the error rates of all readings."""
    heads = [f"head {head}" for head in range(1, HEADS[1] + 1)]
    yield row("seed", "1 head", *(f"{head} of 4" for head in heads), "best on valid", MEAN)
    yield rule(4 + len(heads))
    table = [
        [a["rates"]["head 1"], *(b["rates"][n] for n in (*heads, b["choice"], MEAN))]
        for a, b in zip(one, four, strict=True)
    ]
    for seed, rates in zip(seeds, table, strict=True):
        yield row(seed, *(f"{rate:.3f}" for rate in rates))
    alone, *_, best, mean = (spread(column, 3) for column in zip(*table, strict=True))
    yield row("all", alone, *([""] * len(heads)), best, mean)
    yield ""


def sharing(four: list[dict], seeds: Sequence[int]) -> Iterator[str]:
    """Write where each head looks at *la*, and what is said without it."""
    columns = "weight on *the*", "weight on the noun", "*la*", "its other forms", "others"
    yield row("switched off", *columns)
    yield rule(1 + len(columns))
    for seed, found in zip(seeds, four, strict=True):
        looks = [["", ""], *([f"{weight:.2f}" for weight in pair] for pair in found["looks"])]
        for (name, chances), weights in zip(found["off"].items(), looks, strict=True):
            yield row(f"seed {seed}, {name}", *weights, *(f"{p:.3f}" for p in chances[:-1]))
    yield ""


def exchanges(one: list[dict], four: list[dict], seeds: Sequence[int]) -> Iterator[str]:
    """Write which state the gender of *la* comes from."""
    yield row("model", "sentences", "state at *the*", "state at the noun")
    yield rule(4)
    for num_heads, results in zip(HEADS, (one, four), strict=True):
        for seed, found in zip(seeds, results, strict=True):
            values = ("–" if value is None else f"{value:.0f}" for value in found["turned"])
            yield row(f"{named(num_heads)}, seed {seed}", *values)


def page(options: argparse.Namespace) -> Iterator[str]:
    """Write the page, line by line."""
    corpus, seeds = corpus_for(options), options.seeds
    one, four = ([measure(heads, seed, corpus) for seed in seeds] for heads in HEADS)
    yield "<!-- Written by: python -m benchmarks.heads -->"
    yield ""
    yield (
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, 1 thread."
        f" Command: `python -m benchmarks.heads`. Chapter 5b's translator, {len(corpus.train):,} "
        f"pairs once, in batches of {BATCH_SIZE}; Adam at {LEARNING_RATE} falling to 0 over the "
        f"last {DECAY_SHARE:.0%} of the steps; seeds {', '.join(map(str, seeds))}. A seed gives "
        "the same first numbers and the same order of the pairs to one head and to four. What "
        "stands for several seeds is the mean, with the least and the most."
    )
    yield ""
    yield f"**BLEU**, greedy, of {len(corpus.test):,} pairs of each set."
    yield ""
    yield from translations(one, four, seeds)
    yield (
        f"**Links beside gold** in {len(corpus.test):,} test pairs: error rate of the largest "
        "weight on a word, true target. *Best on valid* is the head that has the lowest rate on "
        f"{len(corpus.valid):,} other pairs."
    )
    yield ""
    yield from alignments(one, four, seeds)
    sentences = len(list(articles(corpus.test)))
    count = next(iter(four[0]["off"].values()))[-1]
    yield (
        f"**Four heads at *la***: mean weights of the head just before *la* is written for *the*, "
        f"in {sentences} test sentences; and without the head, mean probability of *la*, of "
        f"{', '.join(f'*{word}*' for word in FORMS)}, and of "
        f"{', '.join(f'*{word}*' for word in OTHERS)} at each of {count} *la*."
    )
    yield ""
    yield from sharing(four, seeds)
    yield (
        "**States exchanged** for those of a sentence with a masculine noun, before every head: "
        "percent of *la* that become *le*."
    )
    yield ""
    yield from exchanges(one, four, seeds)


def main() -> None:
    """Train, ask, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--pairs", type=int, default=42_000, help="to train on")
    parser.add_argument("--held-out", type=int, help="of each set (default: all)")
    parser.add_argument("--output", type=Path, default=FOLDER / "heads.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print_and_write(page(options), options.output)


if __name__ == "__main__":
    main()
