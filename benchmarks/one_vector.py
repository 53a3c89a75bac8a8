"""Is it one vector's fault? The translator without attention, wider and trained for longer.

python -m benchmarks.one_vector trains each model once on the course's own corpus, prints BLEU by
the length of the sentence, and writes the table to reference/benchmarks/one-vector.md.
"""

import argparse
import platform
import time
from collections.abc import Iterator
from pathlib import Path

import torch

import d2lattn as d2l
from benchmarks import translation
from benchmarks.measure import print_and_write, processor
from d2lattn.corpus import Vocabulary, batches

BATCH_SIZE, EMBED_SIZE, DROPOUT, DECAY_SHARE = 64, 64, 0.1, 0.6
PLAIN, ATTENTION = "one vector", "attention"
RUNS = (  # what the decoder gets, width, epochs
    (PLAIN, 64, 2),
    (PLAIN, 128, 2),
    (PLAIN, 64, 4),
    (PLAIN, 128, 4),
    (PLAIN, 256, 4),
    (PLAIN, 128, 12),
    (ATTENTION, 64, 4),
)


def learning_rate(width: int) -> float:
    """Give Adam's rate: wide models take smaller steps, or they do not settle."""
    return 5e-3 * min(1.0, (128 / width) ** 0.5)


def build(kind: str, width: int, vocabs: tuple[Vocabulary, Vocabulary]) -> d2l.EncoderDecoder:
    """Make an encoder and a decoder of one width."""
    torch.manual_seed(0)
    source, target = map(len, vocabs)
    sizes = EMBED_SIZE, width, 1
    encoder = d2l.Seq2SeqEncoder(source, *sizes, bidirectional=kind == ATTENTION)
    if kind == ATTENTION:
        decoder = d2l.Seq2SeqAttentionDecoder(target, *sizes, DROPOUT, bridge=False)
    else:
        decoder = d2l.Seq2SeqDecoder(target, *sizes, DROPOUT)
    return d2l.EncoderDecoder(encoder, decoder)


def page(options: argparse.Namespace) -> Iterator[str]:
    """Train each model and write the page, line by line."""
    corpus = translation.corpus_for(options)
    vocabs = (
        Vocabulary(pair.source for pair in corpus.train),
        Vocabulary(pair.target for pair in corpus.train),
    )
    threads = torch.get_num_threads()
    yield f"<!-- Written by: python -m benchmarks.one_vector --threads {threads} -->"
    yield ""
    yield (
        f"Python {platform.python_version()}, PyTorch {torch.__version__}, {processor()}, "
        f"threads: {threads}. {len(corpus.train):,} pairs, batches of "
        f"{BATCH_SIZE}, one seed; embeddings of {EMBED_SIZE}, dropout {DROPOUT}; Adam at 0.005, "
        "times √(128 / width) for wider models, falling to 0 over the last "
        f"{DECAY_SHARE:.0%} of the steps. BLEU by the length of the source in tokens, greedy; "
        "training ends at 18. Seconds are the processor's."
    )
    yield ""
    groups = [f"{low} to {high}" for low, high in translation.LENGTHS]
    columns = "decoder gets", "width", "epochs", "parameters", "training, s", *groups
    yield translation.row(*columns)
    yield translation.rule(len(columns))
    for kind, width, epochs in RUNS:
        model = build(kind, width, vocabs)
        start = time.process_time()
        history = d2l.train(
            model,
            lambda generator: batches(corpus.train, *vocabs, BATCH_SIZE, generator=generator),
            num_epochs=options.epochs or epochs,
            learning_rate=learning_rate(width),
            decay_share=DECAY_SHARE,
            progress=False,
        )
        seconds = time.process_time() - start
        translator = translation.Translator(model, *vocabs, history, seconds)
        done = translation.translate(translator, corpus.test + corpus.long)
        found = translation.by_length(done)
        parameters = sum(p.numel() for p in model.parameters())
        yield translation.row(
            kind,
            width,
            options.epochs or epochs,
            f"{parameters:,}",
            f"{seconds:.0f}",
            *(f"{found[lengths]:.1f}" for lengths in translation.LENGTHS),
        )


def main() -> None:
    """Train, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=42_000, help="to train on")
    parser.add_argument("--held-out", type=int, help="of each set (default: all)")
    parser.add_argument("--epochs", type=int, help="instead of the table's own (for a quick try)")
    parser.add_argument("--threads", type=int, help="for PyTorch (default: as it likes)")
    parser.add_argument("--output", type=Path, default=translation.FOLDER / "one-vector.md")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    print_and_write(page(options), options.output)


if __name__ == "__main__":
    main()
