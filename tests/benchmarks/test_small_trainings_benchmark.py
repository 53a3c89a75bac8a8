"""The small trainings of chapters 4 to 7: their page, what it keeps, and the seeds in the book."""

from pathlib import Path

import pytest

from benchmarks import small_trainings
from d2lattn.book.tables import read_trainings

PAGE = Path(__file__).parents[2] / "reference" / "benchmarks" / "small-trainings.md"
EXPERIMENTS = small_trainings.EXPERIMENTS


def test_its_page_can_be_written_and_trainings_are_kept(page_of, tmp_path, monkeypatch):
    monkeypatch.setattr(small_trainings.stacks, "NUM_STEPS", 1)
    keep, page = tmp_path / "small.jsonl", tmp_path / "read.md"
    arguments = "--experiments", "norms", "--seeds", 2, "--keep", keep
    text = page_of(small_trainings, *arguments)
    assert len(keep.read_text().splitlines()) == 2 * len(small_trainings.stacks.NORMS)
    monkeypatch.setattr(small_trainings.stacks, "fit_norm", None)  # nothing is trained again
    assert page_of(small_trainings, *arguments) == text
    page.write_text(text)
    found = read_trainings(page, "7.3")
    assert list(found) == list(small_trainings.stacks.NORMS)
    assert all(len(shares) == 2 for (shares,) in found.values())


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_book_has_each_row_with_five_seeds(name):
    experiment = EXPERIMENTS[name]
    found = read_trainings(PAGE, experiment.title.partition(":")[0])
    assert list(found) == list(experiment.rows)
    for columns in found.values():
        assert [len(column) for column in columns] == [5] * len(experiment.columns)
