"""The search for the best learning rate behind chapters 3 and 3b: its page, and its choice."""

from pathlib import Path

import pytest

from benchmarks import looking_up
from benchmarks.looking_up import look_up

NAMES = "description, dot, 16", "wish, scaled dot, 64"
PAGE = Path(__file__).parents[2] / "reference" / "benchmarks" / "looking-up.md"


def test_its_page_can_be_written_and_read_and_trainings_are_kept(page_of, tmp_path, monkeypatch):
    monkeypatch.setattr(look_up, "RATES", (0.001, 0.1))
    monkeypatch.setattr(look_up, "MOMENTS", (1, 2, 3))
    keep, page = tmp_path / "search.jsonl", tmp_path / "read.md"
    arguments = "--names", *NAMES, "--moments", 1, 2, 3, "--keep", keep
    text = page_of(looking_up, *arguments)
    assert len(keep.read_text("utf-8").splitlines()) == 4
    monkeypatch.setattr(look_up, "learn", None)  # nothing is trained again
    assert page_of(looking_up, *arguments) == text
    page.write_text(text, encoding="utf-8")
    search = look_up.read_search(page)
    assert list(search) == [(name, moment) for moment in (1, 2, 3) for name in NAMES]
    assert text.count("**0") + text.count("**1") == len(search)  # one is marked in each row


def test_validation_chooses():
    errors = {"validation": [[0.3, 0.5], [0.9, 0.9]]}, {"validation": [[0.2, 0.5], [0.9, 1.0]]}
    assert [looking_up.best_of(list(errors), place) for place in (0, 1)] == [1, 0]
    assert looking_up.with_range([0.25, 0.75]) == "0.500 (0.250–0.750)"


@pytest.mark.weekly
@pytest.mark.parametrize("name", ["description, scaled dot, 64", "wish, scaled Gaussian, 64"])
def test_a_search_made_again_makes_the_same_choice(name, one_thread):
    runs = [looking_up.measure(name, rate, look_up.MOMENTS) for rate in look_up.RATES]
    told = look_up.read_search(PAGE)
    for place, moment in enumerate(look_up.MOMENTS):
        best = runs[looking_up.best_of(runs, place)]
        assert best["rate"] == told[name, moment].rate
        assert best["test"][place] == pytest.approx(told[name, moment].test.tolist(), rel=0.2)
