"""The translation benchmark: its promise about a step, and that its pages can be written."""

from pathlib import Path

import pytest
import torch

from benchmarks import one_vector, translation

ROOT = Path(__file__).resolve().parents[2]


def test_the_twin_that_projects_at_every_step_says_the_same():
    once, every_step = (model.eval() for model in translation.step_models().values())
    calls = []
    every_step.decoder.attention.W_k.register_forward_hook(lambda *_: calls.append(1))
    source, target = torch.randint(4, 400, (2, 6)), torch.randint(4, 400, (2, 5))
    assert torch.equal(once(source, target)[0], every_step(source, target)[0])
    assert len(calls) == 5


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
def test_the_page_of_one_vector_can_be_written(page_of):
    page = page_of(one_vector, "--pairs", 100, "--held-out", 60, "--epochs", 1)
    stored = (ROOT / "reference" / "benchmarks" / "one-vector.md").read_text(encoding="utf-8")
    kinds = [[line.split("|")[1:3] for line in text.splitlines()] for text in (page, stored)]
    assert kinds[0] == kinds[1]  # the stored table has the rows that the script makes
    assert "nan" not in page
