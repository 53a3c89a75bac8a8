"""The benchmark behind chapter 8: its page, what it keeps, and the random starts."""

import re
from pathlib import Path

import pytest
import relative
import torch

from d2lattn.book.tables import read_tables

STORED = Path(__file__).resolve().parents[2] / "reference" / "benchmarks" / "relative.md"
SIZES = "--seeds", 0, "--pairs", 200, "--held-out", 30, "--epochs", 1, "--seconds", 0.01


@pytest.mark.slow
def test_its_page_can_be_written_and_trainings_are_kept(page_of, tmp_path, monkeypatch):
    keep = tmp_path / "relative.jsonl"
    text = page_of(relative, *SIZES, "--keep", keep)

    def rows(page):
        lines = (line for line in page.splitlines() if line.startswith("|"))
        return [line.split("|")[1] for line in lines if ", seed " not in line]

    assert rows(text) == rows(STORED.read_text("utf-8"))
    assert "nan" not in text
    assert len(keep.read_text("utf-8").splitlines()) == len(relative.WAYS)
    monkeypatch.setattr(relative, "fit", lambda *_: pytest.fail("trained twice"))
    again = page_of(relative, *SIZES, "--keep", keep)
    assert again.split("**A training")[0] == text.split("**A training")[0]


@pytest.mark.slow
def test_the_openings_section_is_written_anew_and_nothing_else(page_of, tmp_path, monkeypatch):
    monkeypatch.setattr(relative, "fit", lambda *_: pytest.fail("trained"))
    monkeypatch.setattr(
        relative,
        "measure_opening",
        lambda way, seed, *_: {"way": way, "seed": seed, "long": 1.25, "opening": "bonjour"},
    )
    monkeypatch.setattr(relative, "kept_or_made", lambda keep, wanted, make: make())
    before = STORED.read_text("utf-8")
    output = tmp_path / "relative.md"
    output.write_text(before, "utf-8")
    arguments = "relative.py", "--opening", *SIZES, "--output", output
    monkeypatch.setattr("sys.argv", [str(one) for one in arguments])
    relative.main()
    after = output.read_text("utf-8")
    for title, end in ((0, relative.OPENINGS), (1, relative.STEP)):
        assert after.split(end)[title] == before.split(end)[title]
    *_, said, _ = read_tables(output)
    assert said == {f"{way}, seed 0": ["1.2", "bonjour"] for way in relative.OPENING_WAYS}


def test_each_way_translates_the_opening_five_times():
    *_, said, _ = read_tables(STORED)
    names = [f"{way}, seed {seed}" for way in relative.OPENING_WAYS for seed in range(5)]
    assert list(said) == names
    assert all("les femmes n' arrivent pas" in translation for _, translation in said.values())


def test_each_way_was_trained_five_times():
    totals, lengths, *_ = read_tables(STORED)
    assert list(totals) == list(lengths) == list(relative.WAYS)
    for table, first in ((totals, 1), (lengths, 0)):
        for way, cells in table.items():
            for cell in cells[first:]:
                mean, *seeds = map(float, re.findall(r"[\d.]+", cell))
                assert len(seeds) == 5, (way, cell)
                assert mean == pytest.approx(sum(seeds) / 5, abs=0.11), (way, cell)


def test_random_starts_begin_anywhere_in_training_and_at_0_after_it():
    torch.manual_seed(0)
    encoding = relative.RandomStarts(relative.WIDTH, 0)
    nothing = torch.zeros(500, 3, relative.WIDTH)
    places = encoding.P[0]
    found = encoding.train()(nothing, start=7)
    starts = [(places == one[0]).all(dim=1).nonzero().item() for one in found]
    assert {min(starts), max(starts)} == {0, relative.FARTHEST}
    for start, one in zip(starts, found, strict=True):
        torch.testing.assert_close(one, places[start : start + 3])
    torch.testing.assert_close(encoding.eval()(nothing, start=7)[0], places[7:10])
