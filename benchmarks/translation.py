"""Translators without and with attention: what they learn, how fast, and where they look.

python -m benchmarks.translation trains on the course's own corpus, once for each seed, prints the
tables and writes them to reference/benchmarks/translation.md. With --tatoeba PATH it trains on
real sentences and writes reference/benchmarks/translation-tatoeba.md.
"""

import argparse
import platform
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

import d2lattn as d2l
from benchmarks.measure import median_times, peak_memory, print_and_write, processor
from d2lattn.corpus import Corpus, Pair, Vocabulary, batches, load_corpus
from d2lattn.corpus.tatoeba import read_tatoeba, references, split_by_source

FOLDER = Path(__file__).parents[1] / "reference" / "benchmarks"
EMBED_SIZE, NUM_HIDDENS, BATCH_SIZE = 64, 128, 64
FFN_NUM_HIDDENS, NUM_HEADS, NUM_LAYERS = 256, 4, 2  # of the Transformer, as wide as the GRUs
PLAIN, FORWARD, BOTH, BRIDGE = "plain", "one-directional", "bidirectional", "bidirectional, bridge"
TRANSFORMER = "Transformer"  # transformer.py compares it
KINDS = {
    PLAIN: "no attention; the encoder's last state at every step",
    FORWARD: "attention; the encoder reads forwards",
    BOTH: "attention; the encoder reads both ways",
    BRIDGE: "the same, and the decoder starts from the encoder's last state instead of zeros",
}
LENGTHS = [(3, 5), (6, 8), (9, 11), (12, 14), (15, 18), (19, 21), (22, 25)]  # source tokens
EVALUATION_BATCH = 250


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


def build(
    kind: str,
    source_vocab: Vocabulary,
    target_vocab: Vocabulary,
    seed: int,
    options: argparse.Namespace,
) -> d2l.EncoderDecoder:
    """Make one of the models, all of one width."""
    torch.manual_seed(seed)
    if kind == TRANSFORMER:
        stack = NUM_HIDDENS, FFN_NUM_HIDDENS, NUM_HEADS, NUM_LAYERS, options.dropout
        return d2l.EncoderDecoder(
            d2l.TransformerEncoder(len(source_vocab), *stack),
            d2l.TransformerDecoder(len(target_vocab), *stack),
        )
    sizes = EMBED_SIZE, NUM_HIDDENS, 1
    both = kind in (BOTH, BRIDGE)
    encoder = d2l.Seq2SeqEncoder(
        len(source_vocab), *sizes, options.encoder_dropout, bidirectional=both
    )
    if kind == PLAIN:
        decoder = d2l.Seq2SeqDecoder(len(target_vocab), *sizes, options.dropout)
    else:
        decoder = d2l.Seq2SeqAttentionDecoder(
            len(target_vocab), *sizes, options.dropout, bridge=kind == BRIDGE
        )
    return d2l.EncoderDecoder(encoder, decoder)


def fit(
    kind: str,
    pairs: list[Pair],
    seed: int,
    options: argparse.Namespace,
    clock: Callable[[], float] = time.perf_counter,
) -> Translator:
    """Train one model on pairs."""
    source_vocab = Vocabulary((pair.source for pair in pairs), options.min_freq)
    target_vocab = Vocabulary((pair.target for pair in pairs), options.min_freq)
    model = build(kind, source_vocab, target_vocab, seed, options)
    start = clock()
    history = d2l.train(
        model,
        lambda generator: batches(
            pairs, source_vocab, target_vocab, BATCH_SIZE, generator=generator
        ),
        num_epochs=options.epochs,
        learning_rate=options.learning_rate,
        decay_share=options.decay_share,
        seed=seed,
        progress=sys.stderr.isatty(),
    )
    return Translator(model, source_vocab, target_vocab, history, clock() - start)


def loss_of(translator: Translator, pairs: list[Pair]) -> float:
    """Give the mean loss on pairs, in nats per token."""
    vocabularies = translator.source_vocab, translator.target_vocab
    return d2l.mean_loss(translator.model, batches(pairs, *vocabularies, EVALUATION_BATCH))


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


def scores(links: Sequence[frozenset], pairs: Sequence[Pair]) -> d2l.AlignmentScores:
    """Give precision, recall and alignment error rate beside gold."""
    return d2l.alignment_scores(links, [p.sure for p in pairs], [p.possible for p in pairs])


def by_length(done: Translated) -> dict[tuple[int, int], float]:
    """Give BLEU of each group of source lengths."""
    groups = defaultdict(Translated)
    for pair, output in zip(done.pairs, done.outputs, strict=True):
        for shortest, longest in LENGTHS:
            if shortest <= len(pair.source) <= longest:
                groups[shortest, longest].pairs.append(pair)
                groups[shortest, longest].outputs.append(output)
    return {lengths: bleu(group) for lengths, group in groups.items()}


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Write a mean and, of several values, the least and the most."""
    mean = f"{statistics.mean(values):.{digits}f}"
    if len(values) == 1:
        return mean
    return f"{mean} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def row(*cells: object) -> str:
    """Write one line of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def rule(columns: int) -> str:
    """Write the line under a table's head: names to the left, numbers to the right."""
    return "|---|" + "--:|" * (columns - 1)


def corpus_for(options: argparse.Namespace) -> Corpus:
    """The course's own pairs: as many to train on, and to judge by, as was asked for."""
    splits = "valid", "test", "unseen", "long"
    sizes = {f"num_{name}": options.held_out for name in splits} if options.held_out else {}
    return load_corpus(num_train=options.pairs, **sizes)


def own_corpus(options: argparse.Namespace) -> Iterator[str]:
    """Write the section on the course's own corpus, line by line."""
    corpus = corpus_for(options)
    tests = {"test": corpus.test, "unseen": corpus.unseen, "long": corpus.long}
    measured: dict[str, dict[str, list]] = {kind: defaultdict(list) for kind in KINDS}
    signature = d2l.bleu(["a"], ["a"]).signature
    for kind, results in measured.items():
        for seed in options.seeds:
            translator = fit(kind, corpus.train, seed, options)
            results["parameters"] = sum(p.numel() for p in translator.model.parameters())
            results["seconds"].append(translator.seconds)
            results["speed"].append(statistics.median(translator.history.tokens_per_second))
            everything = Translated()
            for name, pairs in tests.items():
                done = translate(translator, pairs)
                results["bleu", name].append(bleu(done))
                if name == "test":
                    results["loss"].append(loss_of(translator, pairs))
                    targets = [" ".join(pair.target) for pair in done.pairs]
                    results["chrf"].append(d2l.chrf(done.outputs, targets).value)
                    beam = translate(translator, pairs, beam_size=4)
                    results["beam"].append(bleu(beam))
                if done.links:
                    results["links", name].append(scores(done.links, done.pairs))
                    if name == "test":
                        for offset in (-1, 1):
                            shifted = [
                                d2l.shift_links(links, offset, len(pair.target))
                                for links, pair in zip(done.links, done.pairs, strict=True)
                            ]
                            results["shift", offset].append(scores(shifted, done.pairs))
                if name != "unseen":
                    everything.pairs += done.pairs
                    everything.outputs += done.outputs
            for lengths, value in by_length(everything).items():
                results["length", lengths].append(value)
            print(
                f"{kind}, seed {seed}: BLEU {results['bleu', 'test'][-1]:.1f} in "
                f"{translator.seconds:.0f} s",
                file=sys.stderr,
                flush=True,
            )

    yield from head(options)
    yield ""
    yield (
        f"Trained on {len(corpus.train):,} pairs for {options.epochs} epochs, seeds "
        f"{', '.join(map(str, options.seeds))}; {len(corpus.test):,} pairs held out. Each figure "
        "is the mean over the seeds, with the least and the most. *Unseen* joins constructions "
        "that training shows apart; each sentence of *long* is longer than any in training. BLEU "
        f"is sacrebleu's, `{signature}`; translations are greedy but for the column *beam 4*."
    )
    yield ""
    for kind, what in KINDS.items():
        yield f"- *{kind}*: {what}."
    yield ""
    columns = "model", "BLEU", "BLEU, beam 4", "chrF", "loss, nats", "BLEU unseen", "BLEU long"
    yield row(*columns)
    yield rule(len(columns))
    for kind, results in measured.items():
        yield row(
            kind,
            spread(results["bleu", "test"]),
            spread(results["beam"]),
            spread(results["chrf"]),
            spread(results["loss"], 3),
            spread(results["bleu", "unseen"]),
            spread(results["bleu", "long"]),
        )
    yield ""
    yield row("model", "parameters", "training, s", "target tokens a second")
    yield rule(4)
    for kind, results in measured.items():
        yield row(
            kind,
            f"{results['parameters']:,}",
            spread(results["seconds"], 0),
            spread(results["speed"], 0),
        )
    memory = process_peak()
    if memory:
        yield ""
        yield f"The process held {memory / 1e6:.0f} MB at its peak, PyTorch itself included."
    yield from ("", "**BLEU by the length of the source** (tokens; test and long together)", "")
    groups = [group for group in LENGTHS if ("length", group) in measured[PLAIN]]
    yield row("model", *(f"{shortest} to {longest}" for shortest, longest in groups))
    yield rule(1 + len(groups))
    for kind, results in measured.items():
        yield row(kind, *(spread(results["length", group]) for group in groups))
    yield from ("", "**Attention beside gold links** (largest weight of each row, true target)", "")
    yield row("links", "precision", "recall", "error rate", "error rate, long")
    yield rule(5)
    for kind in (FORWARD, BOTH, BRIDGE):
        results = measured[kind]
        yield row(
            kind,
            *alignment_cells(results["links", "test"]),
            spread([score.error_rate for score in results["links", "long"]], 3),
        )
    for offset in (-1, 1):
        yield row(
            f"bidirectional, moved by {offset:+d} target word",
            *alignment_cells(measured[BOTH]["shift", offset]),
            "",
        )
    generator = torch.Generator().manual_seed(0)
    for name, links in (
        ("diagonal", lambda pair: d2l.diagonal_links(len(pair.source), len(pair.target))),
        ("uniform", lambda pair: d2l.uniform_links(len(pair.source), len(pair.target), generator)),
    ):
        here = [scores([links(pair) for pair in corpus.test], corpus.test)]
        there = scores([links(pair) for pair in corpus.long], corpus.long)
        yield row(name, *alignment_cells(here), f"{there.error_rate:.3f}")
    yield from ("", "**Keys projected once a sentence, or at every step**", "")
    yield from step_table(options)


def alignment_cells(results: list[d2l.AlignmentScores]) -> list[str]:
    """Write precision, recall and error rate over seeds."""
    return [spread(list(values), 3) for values in zip(*results, strict=True)]


class ProjectingAttention(d2l.AdditiveAttention):
    """The same attention, which projects the keys whenever it is asked, as the usual code does."""

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


def step_table(options: argparse.Namespace) -> Iterator[str]:
    """Write how long a training step takes, and what it holds, for both twins."""
    columns = "source × target tokens", "once, ms", "every step, ms", "ratio", "once, MB"
    yield row(*columns, "every step, MB")
    yield rule(len(columns) + 1)
    for num_source, num_target in ((10, 10), (30, 30)):
        functions = step_functions(BATCH_SIZE, num_source, num_target)
        times = median_times(functions, options.step_seconds, least=3)
        memory = {name: peak_memory(function) for name, function in functions.items()}
        yield row(
            f"{num_source} × {num_target}",
            *(f"{1e3 * times[name]:.1f}" for name in functions),
            f"{times['once'] / times['every step']:.2f}",
            *(f"{memory[name] / 1e6:.1f}" for name in functions),
        )


def tatoeba(options: argparse.Namespace) -> Iterator[str]:
    """Write the section on real sentences, line by line."""
    pairs = read_tatoeba(options.tatoeba, max_tokens=options.max_tokens)
    train, _, test = split_by_source(pairs)
    if options.pairs:
        train = train[: options.pairs]
    grouped = references(test)
    # One translation of each English sentence, judged by all that people have given.
    questions = [Pair(source, targets[0]) for source, targets in grouped.items()]
    overlap = {pair.source for pair in train} & set(grouped)
    assert not overlap, overlap
    results: dict[str, dict[str, list]] = {kind: defaultdict(list) for kind in KINDS}
    signature, examples = "", []
    for kind in KINDS:
        for seed in options.seeds:
            translator = fit(kind, train, seed, options)
            results[kind]["loss"].append(loss_of(translator, test))
            results[kind]["seconds"].append(translator.seconds)
            results[kind]["speed"].append(statistics.median(translator.history.tokens_per_second))
            for beam_size in (1, 4):
                done = translate(translator, questions, beam_size)
                targets = [[" ".join(t) for t in grouped[pair.source]] for pair in done.pairs]
                score = d2l.bleu(done.outputs, targets)
                signature = score.signature
                results[kind]["bleu", beam_size].append(score.value)
                results[kind]["chrf", beam_size].append(d2l.chrf(done.outputs, targets).value)
            print(f"{kind}, seed {seed}: BLEU {score.value:.1f}", file=sys.stderr, flush=True)
            examples = list(zip(done.pairs, done.outputs, targets, strict=True))

    yield from head(options)
    yield ""
    yield (
        f"{len(pairs):,} pairs of Tatoeba (CC BY 2.0 France) with at most {options.max_tokens} "
        f"tokens a side; trained on {len(train):,} of them for {options.epochs} epochs; words seen "
        f"fewer than {options.min_freq} times are unknown. "
        f"Held out are {len(questions):,} English sentences, none of which is in training, with "
        f"{len(test):,} translations. BLEU judges one translation by all of a sentence's "
        f"references: `{signature}`."
    )
    yield ""
    columns = "model", "BLEU, greedy", "BLEU, beam 4", "chrF, beam 4", "loss, nats", "training, s"
    yield row(*columns, "tokens a second")
    yield rule(len(columns) + 1)
    for kind, measured in results.items():
        yield row(
            kind,
            spread(measured["bleu", 1]),
            spread(measured["bleu", 4]),
            spread(measured["chrf", 4]),
            spread(measured["loss"], 2),
            spread(measured["seconds"], 0),
            spread(measured["speed"], 0),
        )
    memory = process_peak()
    if memory:
        yield ""
        yield f"The process held {memory / 1e6:.0f} MB at its peak, PyTorch itself included."
    yield from ("", "Held-out sentences by the last model of the table, beam 4, every so many:", "")
    yield row("English", "translation", "a reference")
    yield "|---|---|---|"
    for pair, output, targets in examples[:: max(1, len(examples) // 10)][:10]:
        best = output if output in targets else targets[0]
        yield row(" ".join(pair.source), output or "(nothing)", best)


def head(options: argparse.Namespace) -> Iterator[str]:
    """Write what made the page: command, versions, machine, sizes."""
    command = "python -m benchmarks.translation"
    if options.tatoeba:
        command += " --tatoeba eng-fra.tsv"
    if options.threads:
        command += f" --threads {options.threads}"
    yield f"<!-- Written by: {command} -->"
    yield ""
    yield (
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, "
        f"threads: {torch.get_num_threads()}, float32. Command: `{command}`. GRUs of "
        f"{NUM_HIDDENS} units, embeddings of {EMBED_SIZE}, batches of {BATCH_SIZE} pairs of like "
        f"length, Adam at {options.learning_rate} falling to 0 over the last "
        f"{options.decay_share:.0%} of the steps; dropout {options.encoder_dropout} on the "
        f"encoder's embeddings and {options.dropout} on the decoder's."
    )


def process_peak() -> int:
    """Give the most bytes that this process ever held, where the system tells."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def main() -> None:
    """Train, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tatoeba", type=Path, help="a file of real pairs, zipped or not")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--pairs", type=int, help="to train on (default 80000; Tatoeba: all)")
    parser.add_argument("--held-out", type=int, help="of each set (default: all; not Tatoeba)")
    parser.add_argument("--epochs", type=int, help="(default 4; Tatoeba: 40)")
    parser.add_argument("--dropout", type=float, help="of the decoder (default 0.2; Tatoeba: 0.3)")
    parser.add_argument("--encoder-dropout", type=float, help="(default 0; Tatoeba: 0.3)")
    parser.add_argument("--min-freq", type=int, help="(default 1; Tatoeba: 2)")
    parser.add_argument("--max-tokens", type=int, default=25, help="a side; Tatoeba only")
    parser.add_argument("--learning-rate", type=float, default=4e-3)
    parser.add_argument("--decay-share", type=float, default=0.6)
    parser.add_argument("--step-seconds", type=float, default=5.0, help="to time each step for")
    parser.add_argument("--threads", type=int, help="for PyTorch (default: as it likes)")
    parser.add_argument("--output", type=Path, help="where the page goes")
    options = parser.parse_args()
    real = options.tatoeba is not None
    for name, ours, theirs in (
        ("pairs", 80_000, None),
        ("epochs", 4, 40),
        ("dropout", 0.2, 0.3),
        ("encoder_dropout", 0.0, 0.3),
        ("min_freq", 1, 2),
        ("output", FOLDER / "translation.md", FOLDER / "translation-tatoeba.md"),
    ):
        if getattr(options, name) is None:
            setattr(options, name, theirs if real else ours)
    if options.threads:
        torch.set_num_threads(options.threads)
    print_and_write(tatoeba(options) if real else own_corpus(options), options.output)


if __name__ == "__main__":
    main()
