"""The search for the best learning rate behind chapters 3 and 3b: its page, and its choice."""

from benchmarks import looking_up
from benchmarks.looking_up import look_up

NAMES = "description, dot, 16", "wish, scaled dot, 64"


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
