"""The benchmark behind chapter 8: its page, what it keeps, and its ways in training and in use."""

import re
from pathlib import Path

import pytest
import torch

import d2lattn as d2l
from benchmarks import relative
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


def test_each_way_translates_the_opening_five_times():
    *_, said, _ = read_tables(STORED)
    names = [f"{way}, seed {seed}" for way in relative.WAYS for seed in range(5)]
    assert list(said) == names
    assert all("arrivent pas parce qu" in translation for (translation,) in said.values())


def test_each_way_was_trained_five_times():
    totals, lengths, *_ = read_tables(STORED)
    assert list(totals) == list(lengths) == list(relative.WAYS)
    for table, first in ((totals, 1), (lengths, 0)):
        for way, cells in table.items():
            for cell in cells[first:]:
                mean, *seeds = map(float, re.findall(r"[\d.]+", cell))
                assert len(seeds) == 5, (way, cell)
                assert mean == pytest.approx(sum(seeds) / 5, abs=0.11), (way, cell)


def test_added_to_scores_is_rotary_with_a_plus():
    """At place 0 a hand is not turned, and (0, 1) is added to each pair: sin 0, cos 0."""
    torch.manual_seed(0)
    X = torch.randn(2, 4, 6, relative.WIDTH // relative.NUM_HEADS)
    added = relative.AddedToScores(relative.WIDTH // relative.NUM_HEADS)
    waves = d2l.sinusoids(9, X.shape[-1])
    torch.testing.assert_close(added.turn(X), X + waves[:6])
    torch.testing.assert_close(added.turn(X, start=3), X + waves[3:])


@pytest.mark.parametrize("way", relative.WAYS)
def test_in_use_a_step_at_a_time_gives_what_all_at_once_gives(way):
    torch.manual_seed(0)
    model = relative.make(way, 12, 14)
    source, target = torch.randint(4, 12, (2, 7)), torch.randint(4, 14, (2, 5))
    with torch.no_grad():
        model(source, target)  # in training, what draws places has drawn some
        model.eval()
        at_once, _ = model(source, target)
        state = model.decoder.init_state(model.encoder(source))
        steps = []
        for step in target.split(1, dim=1):
            scores, state = model.decoder(step, state)
            steps.append(scores)
    torch.testing.assert_close(torch.cat(steps, dim=1), at_once, atol=1e-5, rtol=0)
