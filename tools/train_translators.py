"""Train the translators that come with the book, and write their files and cards.

usage: python -m tools.train_translators [NAME ...] [--widen SEED ... | --check | --page]

Without an option it trains each named translator (all, if none is named) from seed 0 and writes
its file in d2lattn/book/trained/ and reference/models.md. PyTorch is told to round as with AVX2,
which nearly all x86 processors have, so that the same bytes come out each time. --widen trains from
other seeds, rounded as this processor likes, to learn in what range such trainings end, and notes
that in the cards; the weights stay. --check trains from seed 0 in the same way, writes nothing, and
fails if a score lies outside the range. A training takes up to a minute of one processor.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

import d2lattn as d2l
from benchmarks.report import environment
from benchmarks.translation import BATCH_SIZE, bleu, fit_model, translate
from d2lattn.book.translators import (
    FOLDER,
    RECIPES,
    Translator,
    load_translator,
    new_translator,
    write_translator,
)
from d2lattn.corpus import Corpus, Pair, batches, load_corpus

PAGE = Path(__file__).resolve().parents[1] / "reference" / "models.md"
TEMPLATES = Path(__file__).with_name("templates")
NUM_PAIRS = 42_000
MAX_LEN = 50  # tokens, where decoding is cut off: as in all benchmarks
SPLITS = "test", "unseen", "long"
FIRST = 100  # sentences, for a quick look
RIGHT = f"right of the first {FIRST} of test"
SEED = 0
PASSES = {1: "one pass", 2: "two passes"}
ROUNDING = {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2"}  # PyTorch's kernels; products


# Training and judging ----------------------------------------------------------------------------


def train(name: str, corpus: Corpus, seed: int) -> Translator:
    """Train one as its recipe says; its card is empty."""
    recipe = RECIPES[name]
    trained = fit_model(
        partial(new_translator, name),
        corpus.train,
        seed,
        num_epochs=recipe.num_epochs,
        learning_rate=recipe.learning_rate,
        decay_share=recipe.decay_share,
    )
    return Translator(trained.model, trained.source_vocab, trained.target_vocab, {})


def right(translator: Translator, pairs: Sequence[Pair]) -> int:
    """Count the sentences without a mistake."""
    done = translate(translator, pairs)
    return sum(out == " ".join(p.target) for out, p in zip(done.outputs, done.pairs, strict=True))


def error_rate(translator: Translator, pairs: Sequence[Pair]) -> float:
    """Give the alignment error rate of the largest weights; of several heads the mean is read."""
    model, source_vocab, target_vocab, _ = translator
    links = [
        d2l.alignment_links(weights.flatten(0, -3).mean(dim=0) if weights.dim() > 2 else weights)
        for batch in batches(pairs, source_vocab, target_vocab, 250, bucket=False)
        for weights in d2l.teacher_forced_attention(model, batch)  # (..., T, S)
    ]
    sure, possible = [pair.sure for pair in pairs], [pair.possible for pair in pairs]
    return d2l.alignment_scores(links, sure, possible).error_rate


def judge(translator: Translator, corpus: Corpus) -> dict[str, float]:
    """Give all scores of a card: BLEU in points, rounded to 0.1, error rates to 0.001."""
    scores: dict[str, float] = {}
    for name in SPLITS:
        scores[f"BLEU {name}"] = round(bleu(translate(translator, getattr(corpus, name))), 1)
    if isinstance(translator.model.decoder, d2l.AttentionDecoder):
        scores["error rate"] = round(error_rate(translator, corpus.test), 3)
    return scores


# Cards -------------------------------------------------------------------------------------------


def here() -> dict[str, str]:
    """Say what rounds the numbers: versions, and which instructions of the processor are used."""
    return {
        "Python": platform.python_version(),
        "PyTorch": torch.__version__,
        "d2lattn": version("d2lattn"),
        "processor": f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}, 1 thread",
    }


def new_card(name: str, translator: Translator, corpus: Corpus, seed: int) -> dict[str, Any]:
    """Write down what was done; scores are still to come."""
    recipe, model = RECIPES[name], translator.model
    return {
        "name": name,
        **words(name),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "words": {"English": len(translator.source_vocab), "French": len(translator.target_vocab)},
        "trained on": {"corpus": "the course's own", "pairs": len(corpus.train)},
        "training": {
            "seed": seed,
            "epochs": recipe.num_epochs,
            "steps": recipe.num_epochs * -(-len(corpus.train) // BATCH_SIZE),
            "batch": BATCH_SIZE,
            "learning rate": recipe.learning_rate,
            "falls to 0 over the last": recipe.decay_share,
            "dropout": recipe.dropout,
        },
        "made with": here(),
    }


def words(name: str) -> dict[str, str]:
    """Give what a card says in words, which may be put better without a new training."""
    return {"chapters": RECIPES[name].chapters, "model": RECIPES[name].what}


def what_trains(card: dict[str, Any]) -> dict[str, Any]:
    """Give the part of a card that a training depends on; the seed and the machine aside."""
    kept = {key: card[key] for key in ("parameters", "words", "trained on")}
    return kept | {"training": card["training"] | {"seed": None}}


def ranges(card: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Give the least and the most of each score that trainings ended with."""
    ends = [training["scores"] for training in card["trainings"]]
    return {name: (min(e[name] for e in ends), max(e[name] for e in ends)) for name in ends[0]}


def same_seed(cards: Sequence[dict[str, Any]]) -> float:
    """Give by how much BLEU differs at most between stored weights and trainings of their seed."""
    return max(
        abs(value - card["scores"][name])
        for card in cards
        for training in card["trainings"]
        if training["seed"] == card["training"]["seed"]
        for name, value in training["scores"].items()
        if "BLEU" in name
    )


def processors(cards: Sequence[dict[str, Any]]) -> str:
    """Name the instructions of the processors on which the ranges were measured."""
    trainings = [training for card in cards for training in card["trainings"]]
    return " or ".join(sorted({training["processor"].split(", ")[1] for training in trainings}))


def outside(scores: dict[str, float], card: dict[str, Any]) -> list[str]:
    """Name the scores that no such training should have.

    Of four trainings, one more lies beyond the others' range in two cases of five, so as much again
    is allowed on both sides.
    """
    found = []
    for name, (least, most) in ranges(card).items():
        room = most - least
        if not least - room <= scores[name] <= most + room:
            found.append(f"{name} {scores[name]}, others {least} to {most}")
    return found


def noted(card: dict[str, Any], seed: int, scores: dict[str, float]) -> dict[str, Any]:
    """Give the card with one training more; one of the same seed, rounded alike, is replaced."""
    made = {"seed": seed} | {key: here()[key] for key in ("PyTorch", "processor")}
    others = [one for one in card.get("trainings", []) if one | made != one]
    trainings = sorted([*others, made | {"scores": scores}], key=json.dumps)
    return card | {"trainings": trainings}


# The page ----------------------------------------------------------------------------------------


def format_score(name: str, value: float | None) -> str:
    """Write a score with the digits of its kind."""
    if value is None:
        return "–"
    return f"{value:.1f}" if "BLEU" in name else f"{value:.3f}"


def size(name: str) -> str:
    """Write how large a file is."""
    return f"{(FOLDER / f'{name}.safetensors').stat().st_size / 1e3:.0f} kB"


def page(cards: Sequence[dict[str, Any]]) -> str:
    """Return reference/models.md as the cards make it."""
    template = environment(TEMPLATES).get_template("models.md.jinja")
    return template.render(
        cards=cards,
        max_len=MAX_LEN,
        first=FIRST,
        passes=PASSES,
        right=RIGHT,
        score=format_score,
        size=size,
        ranges=ranges,
        same_seed=same_seed(cards),
        processors=processors(cards),
    )


def write_page() -> None:
    """Write the page from the cards in the files."""
    PAGE.write_text(page([load_translator(name).card for name in RECIPES]), encoding="utf-8")


# What the command does ---------------------------------------------------------------------------


def make(name: str, corpus: Corpus, seed: int, dtype: torch.dtype) -> None:
    """Train one, write its file, judge what the file gives, and note that in it."""
    translator = train(name, corpus, seed)
    card = new_card(name, translator, corpus, seed) | {"stored as": str(dtype).split(".")[1]}
    try:
        old = load_translator(name).card
    except (FileNotFoundError, ValueError):
        old = {}
    if old and what_trains(old) == what_trains(card):  # else the others were of another recipe
        card["trainings"] = old["trainings"]
    scores = judge(translator, corpus)
    card = noted(card, seed, scores)
    write_translator(name, translator._replace(card=card), dtype)
    stored = load_translator(name)
    card["scores"] = judge(stored, corpus)
    card[RIGHT] = right(stored, corpus.test[:FIRST])
    write_translator(name, translator._replace(card=card), dtype)


def widen(name: str, corpus: Corpus, seed: int) -> None:
    """Train one from another seed, and note in its card where that ended."""
    scores = judge(train(name, corpus, seed), corpus)
    stored = load_translator(name, torch.float32)
    card = noted(stored.card | words(name), seed, scores)
    write_translator(name, stored._replace(card=card), getattr(torch, card["stored as"]))


def check(name: str, corpus: Corpus) -> list[str]:
    """Train one again as its card says, and name the scores that no such training should have."""
    card = load_translator(name).card
    return outside(judge(train(name, corpus, card["training"]["seed"]), corpus), card)


def main() -> int:
    """Train, judge and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(RECIPES))
    parser.add_argument("--store", choices=("float16", "float32"), default="float16")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--check", action="store_true", help="train again, compare, write nothing")
    only.add_argument("--widen", type=int, nargs="+", metavar="SEED", default=[])
    only.add_argument("--page", action="store_true", help="write the page alone, without training")
    options = parser.parse_args()
    if unknown := set(options.names) - set(RECIPES):
        parser.error(f"no translator is called {', '.join(sorted(unknown))}")
    making = not (options.check or options.widen or options.page)
    if making and os.environ | ROUNDING != os.environ:  # both are read when PyTorch is loaded
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ROUNDING)
    torch.set_num_threads(1)
    faults = []
    corpus = None if options.page else load_corpus(num_train=NUM_PAIRS)
    for name in () if options.page else options.names or RECIPES:
        start = time.process_time()
        if options.check:
            faults += [f"{name}: {fault}" for fault in check(name, corpus)]
        elif options.widen:
            for seed in options.widen:
                widen(name, corpus, seed)
        else:
            make(name, corpus, SEED, getattr(torch, options.store))
        print(f"{name}: {time.process_time() - start:.0f} s of the processor", flush=True)
    print("\n".join(faults), end="\n" if faults else "")
    if not options.check:
        write_page()
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
