"""The Transformer's benchmark: what its stored pages promise, and that they can be written."""

import re
import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

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


def cells(name, start):
    """Every row that starts so, cell by cell."""
    return [line.split("|")[1:-1] for line in stored(name) if line.startswith(f"| {start}")]


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


def test_the_sentences_are_those_of_the_races_first_transformer():
    raced = cells("transformer-race.md", "Transformer |")[-1][1:]
    first = [re.search(r"\((.+?),", cell)[1] for cell in raced]
    again = [cells("transformer-race-sentences.md", f"{k} |")[0][2] for k in (0, 4, 8, 12, 16)]
    assert [cell.strip() for cell in again] == first


def test_some_racers_alone_are_trained_and_the_page_stays(tmp_path, monkeypatch):
    trained, page = [], tmp_path / "page.md"
    page.write_text("the rows of all racers\n", "utf-8")
    monkeypatch.setattr(transformer, "corpus_for", lambda _: SimpleNamespace(train=[]))
    monkeypatch.setattr(transformer, "race_once", lambda name, *_: trained.append(name) or {})
    asked = ["--race", "--only", "larger Bahdanau", "--seeds", "0", "--output", str(page)]
    monkeypatch.setattr(sys, "argv", ["transformer.py", *asked, "--keep", str(tmp_path / "kept")])
    transformer.main()
    assert trained == ["larger Bahdanau"]
    assert page.read_text("utf-8") == "the rows of all racers\n"


def test_whoever_does_not_race_is_named(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["transformer.py", "--longer", "--only", "GRU", "nobody"])
    with pytest.raises(SystemExit):
        transformer.main()
    assert "--only: GRU, nobody" in capsys.readouterr().err


def test_the_race_is_between_equals_on_three_seeds():
    sizes = {row[0].strip(): row[1] for row in cells("transformer-race.md", "") if len(row) == 3}
    ours, gru = (int(sizes[name].replace(",", "")) for name in ("Transformer", "larger Bahdanau"))
    assert 0.98 < ours / gru < 1.02
    for name in transformer.RACERS:
        assert cells("transformer-race.md", f"{name} |")[0][1].count(",") == 2


def test_the_transformer_reaches_98_on_every_seed():
    mean_and_range = cells("transformer.md", "Transformer |")[0][1]
    assert float(re.search(r"\((.+)–", mean_and_range)[1]) >= 98


def test_both_decoders_write_the_same(monkeypatch):
    sizes = {"num_hiddens": 16, "ffn_num_hiddens": 32, "num_heads": 2, "num_layers": 2}
    monkeypatch.setattr(transformer, "DECODER", sizes)
    monkeypatch.setattr(transformer, "STEPS", (2, 4))
    lines = list(transformer.decoding(Namespace(batch_size=2, rounds=1)))
    assert "nan" not in "\n".join(lines)
    for ways in zip(*(way(5) for way in transformer.decoders(batch_size=3)), strict=True):
        torch.testing.assert_close(*ways, rtol=0, atol=1e-5)


def test_decoding_grows_with_length_and_the_cache_pays():
    page = "transformer-decoding.md"
    (_, fewest, *_), (_, most, *_) = cells(page, "64 |")[0], cells(page, "512 |")[0]
    assert float(most) <= 9 * float(fewest)
    assert float(cells(page, "256 |")[0][-1]) >= 8


def test_both_encoders_are_measured(monkeypatch):
    monkeypatch.setattr(transformer, "ENCODERS", [(2, 6, 16, 32, 2)])
    lines = list(transformer.encoding(Namespace(seconds=0.01)))
    assert sum(line.startswith("| 2 × 6 × 16") for line in lines) == 2


def test_the_encoder_costs_what_pytorchs_does():
    measured = [row for row in cells("transformer-encoder.md", "") if row[1].strip() == "no"]
    assert len(measured) == 3
    assert all(float(row[-1]) <= 1.05 for row in measured)
