"""The translation benchmark: its promise about a step, and that its pages can be written."""

import statistics
from pathlib import Path
from time import process_time

import pytest
import torch

from benchmarks import one_vector, translation

ROOT = Path(__file__).resolve().parents[2]
TATOEBA = ROOT.parent / "shared" / "data" / "tatoeba-eng-fra" / "eng-fra.tsv"


def test_the_twin_that_projects_at_every_step_says_the_same():
    once, every_step = (model.eval() for model in translation.step_models().values())
    calls = []
    every_step.decoder.attention.W_k.register_forward_hook(lambda *_: calls.append(1))
    source, target = torch.randint(4, 400, (2, 6)), torch.randint(4, 400, (2, 5))
    assert torch.equal(once(source, target)[0], every_step(source, target)[0])
    assert len(calls) == 5


@pytest.mark.slow
def test_projecting_once_makes_a_training_step_faster():
    functions = translation.step_functions(batch_size=64, num_source=30, num_target=12)
    times = {name: [] for name in functions}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # and the processor's time: other processes then count for nothing
    for _ in range(16):  # in turn, so that what else the machine does falls on both alike
        for name, function in functions.items():
            start = process_time()
            function()
            times[name].append(process_time() - start)
    torch.set_num_threads(threads)
    once, every_step = (statistics.median(times[name][1:]) for name in functions)
    # Without vector instructions most of the time is the tanh's, which both ways take.
    plain = torch.backends.cpu.get_cpu_capability() == "DEFAULT"
    assert once <= (0.95 if plain else 0.85) * every_step


@pytest.mark.slow
def test_the_page_of_our_own_corpus_can_be_written(page_of):
    sizes = "--pairs", 300, "--held-out", 60, "--step-seconds", 0.1
    page = page_of(translation, "--seeds", 0, "--epochs", 1, *sizes)
    for words in (
        "one-directional",
        "nrefs:1|case:mixed",
        "diagonal",
        "moved by -1",
        "at its peak",
    ):
        assert words in page
    assert "nan" not in page


@pytest.mark.slow
def test_the_page_of_real_sentences_can_be_written(page_of):
    if not TATOEBA.exists():
        pytest.skip("the Tatoeba sample is not beside this checkout")
    page = page_of(translation, "--seeds", 0, "--epochs", 1, "--tatoeba", TATOEBA, "--pairs", 300)
    assert "nrefs:var|case:mixed|eff:no|tok:none" in page
    assert "none of which is in training" in page
    assert str(TATOEBA) not in page


@pytest.mark.slow
def test_the_page_of_one_vector_can_be_written(page_of):
    page = page_of(one_vector, "--pairs", 100, "--held-out", 60, "--epochs", 1)
    stored = (ROOT / "reference" / "benchmarks" / "one-vector.md").read_text(encoding="utf-8")
    kinds = [[line.split("|")[1:3] for line in text.splitlines()] for text in (page, stored)]
    assert kinds[0] == kinds[1]  # the stored table has the rows that the script makes
    assert "nan" not in page
