"""Is it one vector's fault? The translator without attention, wider and trained for longer.

python -m benchmarks.one_vector trains each model once on the course's own corpus, and reports BLEU
by the length of the sentence in reference/benchmarks/one-vector.md.
"""

import argparse
import sys

import torch

from benchmarks import translation
from benchmarks.report import named, table, write_report

DROPOUT, DECAY_SHARE = 0.1, 0.6
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


def results_of(options: argparse.Namespace) -> dict:
    """Train each model."""
    corpus = translation.corpus_for(options)
    rows = []
    for kind, width, table_epochs in RUNS:
        epochs = options.epochs or table_epochs
        translator = translation.fit_model(
            lambda *sizes, kind=kind, width=width: translation.build(
                translation.BOTH if kind == ATTENTION else translation.PLAIN,
                *sizes,
                dropout=DROPOUT,
                width=width,
            ),
            corpus.train,
            seed=0,
            num_epochs=epochs,
            learning_rate=learning_rate(width),
            decay_share=DECAY_SHARE,
        )
        done = translation.translate(translator, corpus.test + corpus.long)
        scores = translation.by_length(done)
        parameters = translation.count_parameters(translator.model)
        rows.append([kind, width, epochs, parameters, translator.seconds, *scores.values()])
        print(rows[-1], file=sys.stderr, flush=True)
    counts = ("width", "d"), ("epochs", "d"), ("parameters", ",d"), ("training, s", ".0f")
    columns = [("decoder receives", ""), *counts, *named(translation.LENGTHS, ".1f")]
    return {"pairs": len(corpus.train), "tables": {"bleu": table(columns, rows)}}


def main() -> None:
    """Train and report."""
    parser = translation.training_parser(__doc__)
    parser.add_argument("--epochs", type=int, help="instead of the table's own (for a quick try)")
    parser.add_argument("--threads", type=int, help="for PyTorch (default: as it likes)")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    command = f"one_vector --threads {torch.get_num_threads()}"
    write_report("one-vector", command, results_of(options), options.output)


if __name__ == "__main__":
    main()
