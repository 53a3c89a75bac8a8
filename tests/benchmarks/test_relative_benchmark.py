"""The benchmark behind chapter 8: its page, what it keeps, and its ways in training and in use."""

from pathlib import Path

import pytest
import torch

import d2lattn as d2l
from benchmarks import relative

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


def test_added_to_scores_is_rotary_with_a_plus():
    """At place 0 a hand is not turned, and (0, 1) is added to each pair: sin 0, cos 0."""
    torch.manual_seed(0)
    X = torch.randn(2, 4, 6, relative.WIDTH // relative.NUM_HEADS)
    added = relative.AddedToScores(relative.WIDTH // relative.NUM_HEADS)
    waves = d2l.sinusoids(9, X.shape[-1])
    torch.testing.assert_close(added.turn(X), X + waves[:6])
    torch.testing.assert_close(added.turn(X, start=3), X + waves[3:])
