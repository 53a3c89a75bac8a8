"""The benchmark behind chapter 4b: whom it asks about *la*, and that its page can be written."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from d2lattn.corpus import load_corpus

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.insert(0, str(FOLDER))
believing = import_module("believing")
sys.path.pop(0)


def test_it_asks_about_articles_whose_noun_comes_later():
    corpus = load_corpus(num_train=100)
    found = list(believing.articles(corpus.test))
    assert len(found) > 50
    for pair, step, article, noun in found:
        assert pair.target[step] == "la"
        assert pair.source[article] == "the"
        assert article < noun
        assert (noun, step) in pair.agreement


@pytest.mark.parametrize(
    ("feminine", "masculine"),
    [("cow", "dog"), ("queen", "boy"), ("story", "book"), ("city", "garden"), ("table", "boat")],
)
def test_another_noun_stands_for_the_same_kind_of_thing(feminine, masculine):
    assert believing.masculine_like(feminine) == masculine


@pytest.mark.slow
def test_its_page_can_be_written(tmp_path):
    sizes = "--pairs", "800", "--sentences", "10", "--held-out", "60", "--epochs", "1"
    command = [sys.executable, FOLDER / "believing.py", "--seeds", "0", *sizes]
    page = tmp_path / "page.md"
    subprocess.run([*command, "--output", page], check=True, timeout=300, capture_output=True)
    lines = page.read_text(encoding="utf-8").splitlines()
    rows = [line.split("|") for line in lines if line.startswith("| one-directional, ")]
    assert [row[1].strip() for row in rows] == [
        "one-directional, on gold",
        "one-directional, elsewhere",
    ]
    assert sum(int(row[2]) for row in rows) > 5  # words that were right, and hidden from
