"""Translators without and with attention: what they learn, how fast, and where they look.

python -m benchmarks.translation trains on the course's own corpus, once for each seed, and reports
in reference/benchmarks/translation.md. With --tatoeba PATH it trains on real sentences and reports
in reference/benchmarks/translation-tatoeba.md.
"""

import argparse
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

import d2lattn as d2l
from benchmarks.measure import median_times, peak_memory
from benchmarks.report import named, output_parser, spread, summarize, table, write_report
from d2lattn.corpus import Corpus, Pair, Vocabulary, batches, load_corpus
from d2lattn.corpus.tatoeba import read_tatoeba, references, split_by_source

EMBED_SIZE, NUM_HIDDENS, BATCH_SIZE = 64, 128, 64
FFN_NUM_HIDDENS, NUM_HEADS, NUM_LAYERS = 256, 4, 2  # of the Transformer, as wide as the GRUs
PLAIN, FORWARD, BOTH, BRIDGE = "plain", "one-directional", "bidirectional", "bidirectional, bridge"
TRANSFORMER = "Transformer"  # transformer.py compares it
KINDS = (PLAIN, FORWARD, BOTH, BRIDGE)
LENGTHS = {  # source tokens
    f"{shortest} to {longest}": (shortest, longest)
    for shortest, longest in ((3, 5), (6, 8), (9, 11), (12, 14), (15, 18), (19, 21), (22, 25))
}
SPLITS = ("test", "unseen", "long")
EVALUATION_BATCH = 250
MAX_TOKENS = 25  # on either side of a real pair
BOTH_CORPORA = {"learning_rate": 4e-3, "decay_share": 0.6, "held_out": None, "threads": None}
OWN = {"pairs": 80_000, "epochs": 4, "dropout": 0.2, "encoder_dropout": 0.0, "min_freq": 1}
REAL = {"pairs": None, "epochs": 40, "dropout": 0.3, "encoder_dropout": 0.3, "min_freq": 2}


@dataclass
class Translator:
    """A trained model and what it reads and writes."""

    model: d2l.EncoderDecoder
    source_vocab: Vocabulary
    target_vocab: Vocabulary
    history: d2l.History
    seconds: float


@dataclass
class Translated:
    """A test set through a model: sentences, and links where there is attention."""

    pairs: list[Pair] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    links: list[frozenset] = field(default_factory=list)


def translate(
    translator: Translator, pairs: list[Pair], beam_size: int = 1, max_len: int = 50
) -> Translated:
    """Translate by greedy or beam search; read links off attention of one head to the target."""
    done = Translated()
    model, target_vocab = translator.model, translator.target_vocab
    for batch in batches(pairs, translator.source_vocab, target_vocab, EVALUATION_BATCH):
        arguments = model, batch.source, batch.source_valid_lens
        if beam_size == 1:
            found = d2l.greedy_decode(*arguments, max_len=max_len)
        else:
            found = d2l.beam_search(*arguments, beam_size=beam_size, max_len=max_len)
        done.pairs += batch.pairs
        done.outputs += [" ".join(target_vocab.decode(best.tokens)) for best in found]
        if isinstance(model.decoder, d2l.Seq2SeqAttentionDecoder):
            done.links += map(d2l.alignment_links, d2l.teacher_forced_attention(model, batch))
    return done


def bleu(done: Translated) -> float:
    """Give BLEU beside the one reference of each pair."""
    return d2l.bleu(done.outputs, [" ".join(pair.target) for pair in done.pairs]).value


def by_length(done: Translated) -> dict[str, float]:
    """Give BLEU of each of LENGTHS that some sentence has."""
    groups = defaultdict(Translated)
    for pair, output in zip(done.pairs, done.outputs, strict=True):
        for name, (shortest, longest) in LENGTHS.items():
            if shortest <= len(pair.source) <= longest:
                groups[name].pairs.append(pair)
                groups[name].outputs.append(output)
    return {name: bleu(groups[name]) for name in LENGTHS if name in groups}


def corpus_for(options: argparse.Namespace) -> Corpus:
    """The course's own pairs: as many to train on, and to judge by, as was asked for."""
    splits = "valid", "test", "unseen", "long"
    sizes = {f"num_{name}": options.held_out for name in splits} if options.held_out else {}
    return load_corpus(num_train=options.pairs, **sizes)


class ProjectingAttention(d2l.AdditiveAttention):
    """The same attention, which projects the keys at every step, as the usual code does."""

    def project_keys(self, keys):
        """Hand the keys on as they are."""
        return keys

    def attend(self, queries, keys, values, valid_lens=None):
        """Project, then attend."""
        return super().attend(queries, super().project_keys(keys), values, valid_lens)


def step_models(seed: int = 0) -> dict[str, d2l.EncoderDecoder]:
    """Make the model and its slower twin, with the same weights."""
    models = {}
    for name, attention in (
        ("once", d2l.AdditiveAttention),
        ("every step", ProjectingAttention),
    ):
        torch.manual_seed(seed)
        encoder = d2l.Seq2SeqEncoder(400, EMBED_SIZE, NUM_HIDDENS, 1, bidirectional=True)
        decoder = d2l.Seq2SeqAttentionDecoder(400, EMBED_SIZE, NUM_HIDDENS, 1)
        models[name] = d2l.EncoderDecoder(encoder, decoder)
        decoder.attention.__class__ = attention
    return models


def step_functions(batch_size: int, num_source: int, num_target: int) -> dict:
    """Give a training step (forward, backward) of each twin, on one batch of random tokens."""
    source = torch.randint(4, 400, (batch_size, num_source))
    target = torch.randint(4, 400, (batch_size, num_target))
    source_lens = torch.full((batch_size,), num_source)
    target_lens = torch.full((batch_size,), num_target)

    def step(model: d2l.EncoderDecoder) -> None:
        logits, _ = model(source, d2l.shift_right(target), source_lens)
        model.zero_grad()
        d2l.masked_loss(logits, target, target_lens).backward()

    models = step_models()
    return {name: lambda model=model: step(model) for name, model in models.items()}


def fit_model(
    make: Callable[[int, int], d2l.EncoderDecoder],
    pairs: Sequence[Pair],
    seed: int,
    *,
    num_epochs: int,
    learning_rate: float,
    decay_share: float,
    min_freq: int = 1,
    clock: Callable[[], float] = time.process_time,
) -> Translator:
    """Make a model for the vocabularies of some pairs, and train it on them.

    Args:
        make: makes the model for vocabularies of two sizes.
        pairs: to train on.
        seed: of the first weights and of the order of the pairs.
        num_epochs: how often training goes through the pairs.
        learning_rate: Adam's.
        decay_share: the last part of training, over which the rate falls to 0.
        min_freq: words seen less often are unknown.
        clock: what times the training.
    """
    vocabs = (
        Vocabulary((pair.source for pair in pairs), min_freq),
        Vocabulary((pair.target for pair in pairs), min_freq),
    )
    torch.manual_seed(seed)
    model = make(len(vocabs[0]), len(vocabs[1]))
    start = clock()
    history = d2l.train(
        model,
        lambda generator: batches(pairs, *vocabs, BATCH_SIZE, generator=generator),
        num_epochs=num_epochs,
        learning_rate=learning_rate,
        decay_share=decay_share,
        seed=seed,
        progress=sys.stderr.isatty(),
    )
    return Translator(model, *vocabs, history, clock() - start)


def align(links: Sequence[frozenset], pairs: Sequence[Pair]) -> d2l.AlignmentScores:
    """Give precision, recall and alignment error rate beside gold."""
    return d2l.alignment_scores(links, [p.sure for p in pairs], [p.possible for p in pairs])


def judge(translator: Translator, corpus: Corpus) -> tuple[dict, dict[str, Translated]]:
    """Give parameters, seconds, and BLEU of each split and length; and all translations."""
    done = {split: translate(translator, getattr(corpus, split)) for split in SPLITS}
    every = Translated(
        done["test"].pairs + done["long"].pairs, done["test"].outputs + done["long"].outputs
    )
    scores = {split: bleu(translations) for split, translations in done.items()}
    run = {"parameters": count_parameters(translator.model), "seconds": translator.seconds}
    return run | scores | by_length(every), done


def count_parameters(model: torch.nn.Module) -> int:
    """Count the numbers that a model learns."""
    return sum(parameter.numel() for parameter in model.parameters())


def length_table(first: str, runs: dict[str, list[dict]], cell: Callable = spread) -> dict:
    """Put together the table of BLEU by the length of the source."""
    names = [name for name in LENGTHS if name in next(iter(runs.values()))[0]]
    return table([(first, ""), *named(names, ".1f")], summarize(runs, names, cell))


def training_parser(
    description: str | None, seeds: Sequence[int] = (0, 1, 2), pairs: int | None = 42_000
) -> argparse.ArgumentParser:
    """Make a parser with the options of what is trained on the course's own corpus."""
    parser = output_parser(description)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(seeds))
    parser.add_argument("--pairs", type=int, default=pairs, help="to train on")
    parser.add_argument("--held-out", type=int, help="of each set (default: all)")
    return parser


def measure(kind: str, seed: int, corpus: Corpus, options: argparse.Namespace) -> dict:
    """Train one model on the course's own corpus, and judge it."""
    translator = fit(kind, corpus.train, seed, options)
    run, done = judge(translator, corpus)
    test = done["test"]
    targets = [" ".join(pair.target) for pair in test.pairs]
    run |= {
        "speed": statistics.median(translator.history.tokens_per_second),
        "loss": loss_of(translator, corpus.test),
        "chrf": d2l.chrf(test.outputs, targets).value,
        "beam": bleu(translate(translator, corpus.test, beam_size=4)),
    }
    if test.links:
        run["links"] = align(test.links, test.pairs)
        run["links, long"] = align(done["long"].links, done["long"].pairs)
        for offset in (-1, 1):
            shifted = [
                d2l.shift_links(links, offset, len(pair.target))
                for links, pair in zip(test.links, test.pairs, strict=True)
            ]
            run["shifted", offset] = align(shifted, test.pairs)
    seconds = f"{translator.seconds:.0f} s"
    print(f"{kind}, seed {seed}: BLEU {run['test']:.1f} in {seconds}", file=sys.stderr, flush=True)
    return run


def links_table(runs: dict[str, list[dict]], corpus: Corpus) -> dict:
    """Judge attention beside gold links, and beside what knows nothing of the words."""
    rows = []
    for kind in (FORWARD, BOTH, BRIDGE):
        far = spread([run["links, long"].error_rate for run in runs[kind]])
        rows.append([kind, *alignment_cells([run["links"] for run in runs[kind]]), far])
    for offset in (-1, 1):
        name = f"bidirectional, moved by {offset:+d} target word"
        rows.append([name, *alignment_cells([run["shifted", offset] for run in runs[BOTH]]), ""])
    generator = torch.Generator().manual_seed(0)
    for name, links in (
        ("diagonal", lambda pair: d2l.diagonal_links(len(pair.source), len(pair.target))),
        ("uniform", lambda pair: d2l.uniform_links(len(pair.source), len(pair.target), generator)),
    ):
        near = align([links(pair) for pair in corpus.test], corpus.test)
        far = align([links(pair) for pair in corpus.long], corpus.long)
        rows.append([name, *near, far.error_rate])
    columns = "precision", "recall", "error rate", "error rate, long"
    return table([("links", ""), *named(columns, ".3f")], rows)


def main() -> None:
    """Train, judge and report."""
    parser = training_parser(__doc__, pairs=None)
    parser.add_argument("--tatoeba", type=Path, help="a file of real pairs, zipped or not")
    parser.add_argument("--epochs", type=int, help="(default 4; Tatoeba: 40)")
    parser.add_argument("--step-seconds", type=float, default=5.0, help="to time each step for")
    parser.add_argument("--threads", type=int, help="for PyTorch (default: as it likes)")
    options = parser.parse_args()
    real = options.tatoeba is not None
    given = {name: value for name, value in vars(options).items() if value is not None}
    options = argparse.Namespace(**BOTH_CORPORA | (REAL if real else OWN) | given)
    command = "translation --tatoeba eng-fra.tsv" if real else "translation"
    if options.threads:
        torch.set_num_threads(options.threads)
        command += f" --threads {options.threads}"
    settings = ("seeds", "epochs", "learning_rate", "decay_share", "encoder_dropout", "dropout")
    results = {name: getattr(options, name) for name in settings}
    results |= tatoeba(options) if real else own_corpus(options)
    name = "translation-tatoeba" if real else "translation"
    write_report(name, command, results, options.output)


def build(
    kind: str,
    source_size: int,
    target_size: int,
    dropout: float,
    encoder_dropout: float = 0.0,
    width: int = NUM_HIDDENS,
) -> d2l.EncoderDecoder:
    """Make one of the models for vocabularies of two sizes."""
    if kind == TRANSFORMER:
        stack = width, FFN_NUM_HIDDENS, NUM_HEADS, NUM_LAYERS, dropout
        return d2l.EncoderDecoder(
            d2l.TransformerEncoder(source_size, *stack), d2l.TransformerDecoder(target_size, *stack)
        )
    sizes = EMBED_SIZE, width, 1
    both_ways = kind in (BOTH, BRIDGE)
    encoder = d2l.Seq2SeqEncoder(source_size, *sizes, encoder_dropout, bidirectional=both_ways)
    if kind == PLAIN:
        decoder = d2l.Seq2SeqDecoder(target_size, *sizes, dropout)
    else:
        bridge = kind == BRIDGE
        decoder = d2l.Seq2SeqAttentionDecoder(target_size, *sizes, dropout, bridge=bridge)
    return d2l.EncoderDecoder(encoder, decoder)


def fit(
    kind: str,
    pairs: Sequence[Pair],
    seed: int,
    options: argparse.Namespace,
    clock: Callable[[], float] = time.perf_counter,
) -> Translator:
    """Train one of the models on pairs."""
    return fit_model(
        lambda *sizes: build(kind, *sizes, options.dropout, options.encoder_dropout),
        pairs,
        seed,
        num_epochs=options.epochs,
        learning_rate=options.learning_rate,
        decay_share=options.decay_share,
        min_freq=options.min_freq,
        clock=clock,
    )


def loss_of(translator: Translator, pairs: Sequence[Pair]) -> float:
    """Give the mean loss on pairs, in nats per token."""
    vocabularies = translator.source_vocab, translator.target_vocab
    return d2l.mean_loss(translator.model, batches(pairs, *vocabularies, EVALUATION_BATCH))


def alignment_cells(scores: Sequence[d2l.AlignmentScores]) -> list:
    """Give cells of precision, recall and error rate over seeds."""
    return [spread(values) for values in zip(*scores, strict=True)]


def own_corpus(options: argparse.Namespace) -> dict:
    """Train all kinds on the course's own corpus."""
    corpus = corpus_for(options)
    runs = {
        kind: [measure(kind, seed, corpus, options) for seed in options.seeds] for kind in KINDS
    }
    names = ("BLEU", "BLEU, beam 4", "chrF", "loss, nats", "BLEU unseen", "BLEU long")
    scores = [(name, ".3f" if name == "loss, nats" else ".1f") for name in names]
    costs = ("parameters", ",d"), ("training, s", ".0f"), ("target tokens per second", ".0f")
    return {
        "pairs": len(corpus.train),
        "test": len(corpus.test),
        "signature": d2l.bleu(["a"], ["a"]).signature,
        "peak": process_peak(),
        "tables": {
            "bleu": table(
                [("model", ""), *scores],
                summarize(runs, ("test", "beam", "chrf", "loss", "unseen", "long"), spread),
            ),
            "costs": table(
                [("model", ""), *costs],
                [
                    [kind, runs[kind][0]["parameters"], *cells]
                    for kind, *cells in summarize(runs, ("seconds", "speed"), spread)
                ],
            ),
            "lengths": length_table("model", runs),
            "links": links_table(runs, corpus),
            "steps": step_table(options),
        },
    }


def step_table(options: argparse.Namespace) -> dict:
    """Measure how long a training step takes, and what it holds, for both twins."""
    rows = []
    for num_source, num_target in ((10, 10), (30, 30)):
        functions = step_functions(BATCH_SIZE, num_source, num_target)
        times = median_times(functions, options.step_seconds, least=3)
        memory = [peak_memory(function) / 1e6 for function in functions.values()]
        ratio = times["once"] / times["every step"]
        milliseconds = [1e3 * times[name] for name in functions]
        rows.append([f"{num_source} × {num_target}", *milliseconds, ratio, *memory])
    columns = ("once, ms", ".1f"), ("every step, ms", ".1f"), ("ratio", ".2f")
    memory_columns = named(("once, MB", "every step, MB"), ".1f")
    return table([("source × target tokens", ""), *columns, *memory_columns], rows)


def tatoeba(options: argparse.Namespace) -> dict:
    """Train all kinds on real sentences."""
    pairs = read_tatoeba(options.tatoeba, max_tokens=MAX_TOKENS)
    train, _, test = split_by_source(pairs)
    train = train[: options.pairs]
    grouped = references(test)
    # One translation of each English sentence, judged by all that people have given.
    questions = [Pair(source, targets[0]) for source, targets in grouped.items()]
    overlap = {pair.source for pair in train} & set(grouped)
    assert not overlap, overlap
    runs: dict[str, list[dict]] = {kind: [] for kind in KINDS}
    for kind in KINDS:
        for seed in options.seeds:
            translator = fit(kind, train, seed, options)
            run = {
                "loss": loss_of(translator, test),
                "seconds": translator.seconds,
                "speed": statistics.median(translator.history.tokens_per_second),
            }
            for beam_size in (1, 4):
                done = translate(translator, questions, beam_size)
                targets = [[" ".join(t) for t in grouped[pair.source]] for pair in done.pairs]
                score = d2l.bleu(done.outputs, targets)
                run["bleu", beam_size] = score.value
                run["chrf", beam_size] = d2l.chrf(done.outputs, targets).value
            runs[kind].append(run)
            print(f"{kind}, seed {seed}: BLEU {score.value:.1f}", file=sys.stderr, flush=True)
            examples = list(zip(done.pairs, done.outputs, targets, strict=True))
    keys = ("bleu", 1), ("bleu", 4), ("chrf", 4), "loss", "seconds", "speed"
    columns = named(("BLEU, greedy", "BLEU, beam 4", "chrF, beam 4"), ".1f")
    columns += [("loss, nats", ".2f"), ("training, s", ".0f"), ("tokens per second", ".0f")]
    shown = examples[:: max(1, len(examples) // 10)][:10]
    return {
        "all_pairs": len(pairs),
        "pairs": len(train),
        "max_tokens": MAX_TOKENS,
        "min_freq": options.min_freq,
        "questions": len(questions),
        "test": len(test),
        "signature": score.signature,
        "peak": process_peak(),
        "tables": {
            "bleu": table([("model", ""), *columns], summarize(runs, keys, spread)),
            "examples": table(
                named(("English", "translation", "a reference"), ""),
                [
                    [
                        " ".join(pair.source),
                        output or "(nothing)",
                        output if output in targets else targets[0],
                    ]
                    for pair, output, targets in shown
                ],
            ),
        },
    }


def process_peak() -> float:
    """Give the most megabytes that this process ever held, where the system reports it."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (peak if sys.platform == "darwin" else 1024 * peak) / 1e6


if __name__ == "__main__":
    main()
