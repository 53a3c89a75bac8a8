"""The Transformer's benchmark: what its stored pages promise, and that they can be written."""

from argparse import Namespace
from pathlib import Path

import pytest
import torch

from benchmarks import transformer

pytestmark = pytest.mark.usefixtures("one_thread")

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "reference" / "benchmarks"


def shape(lines):
    """The tables' heads and the names of their rows: what does not change from run to run."""
    return [line.split("|")[1:2] for line in lines if line.startswith("|")]


def stored(name):
    return (PAGES / name).read_text(encoding="utf-8").splitlines()


@pytest.mark.slow
def test_the_page_of_the_translators_can_be_written():
    options = {"seeds": [0], "pairs": 200, "held_out": 30, "epochs": 1}
    options = Namespace(**options, encoder_dropout=0.0, min_freq=1)
    lines = list(transformer.translators(options))
    assert shape(lines) == shape(stored("transformer.md"))
    assert "nan" not in "\n".join(lines)


@pytest.mark.slow
def test_the_page_of_the_race_can_be_written_and_nothing_is_trained_twice(tmp_path, monkeypatch):
    keep = tmp_path / "kept.jsonl"
    options = {"seeds": [0], "pairs": 200, "held_out": 30, "epochs": 1, "only": None}
    options = Namespace(**options, keep=keep)
    lines = list(transformer.race(options))
    assert shape(lines) == shape(stored("transformer-race.md"))
    assert "nan" not in "\n".join(lines)
    assert len(keep.read_text("utf-8").splitlines()) == len(transformer.RACERS)
    monkeypatch.setattr(transformer, "race_once", lambda *_: pytest.fail("trained twice"))
    assert list(transformer.race(options)) == lines
    longer = list(transformer.race(options, transformer.LONGER, "--longer"))
    assert shape(longer) == shape(stored("transformer-race-longer.md"))


@pytest.mark.slow
def test_the_page_of_sentences_can_be_written():
    options = Namespace(seeds=[0], pairs=200, held_out=30, epochs=1)
    lines = list(transformer.sentences(options))
    assert shape(lines) == shape(stored("transformer-race-sentences.md"))


def test_both_decoders_write_the_same(monkeypatch):
    sizes = {"num_hiddens": 16, "ffn_num_hiddens": 32, "num_heads": 2, "num_layers": 2}
    monkeypatch.setattr(transformer, "DECODER", sizes)
    monkeypatch.setattr(transformer, "STEPS", (2, 4))
    lines = list(transformer.decoding(Namespace(batch_size=2, rounds=1)))
    assert "nan" not in "\n".join(lines)
    for ways in zip(*(way(5) for way in transformer.decoders(batch_size=3)), strict=True):
        torch.testing.assert_close(*ways, rtol=0, atol=1e-5)
