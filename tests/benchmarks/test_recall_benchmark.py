"""The benchmark behind chapter 11: its page, what it keeps, and attention in chunks."""

import pytest
import torch

from benchmarks import recall
from d2lattn.bare_after import carried_attention

SIZES = "--widths", 4, "--networks", 2, "--steps", 3, "--written", 64, "--texts", 90
TIMES = "--seconds", 0.01


@pytest.mark.slow
def test_its_page_can_be_written_and_trainings_are_kept(page_of, tmp_path, monkeypatch):
    keep = tmp_path / "recall.jsonl"
    text = page_of(recall, *SIZES, *TIMES, "--keep", keep)
    rows = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("|")]
    assert rows == [
        *("way, width", "---", "softmax, 4", "products, 4", "positive, 4", "corrected, 4"),
        *("words so far", "---", "64", "words", "---", "90"),
    ]
    assert "nan" not in text
    assert len(keep.read_text().splitlines()) == 4 * len(recall.RATES)
    monkeypatch.setattr(recall.recall, "learn", None)  # nothing is trained again
    again = page_of(recall, *SIZES, *TIMES, "--keep", keep)
    assert again.split("**Attention")[0] == text.split("**Attention")[0]


def test_all_ways_of_reading_a_text_agree(one_thread):
    q, k, v = torch.rand(3, 2, 100, 4, generator=torch.Generator().manual_seed(0))
    found = recall.in_chunks(q, k, v)
    for head in range(2):
        wanted = carried_attention(q[head], k[head], v[head])
        torch.testing.assert_close(found[head], wanted, atol=1e-4, rtol=1e-4)
    torch.manual_seed(0)
    functions = recall.texts(70)
    wanted = functions["square"]()[0]
    for name in ("in chunks", "one by one"):
        torch.testing.assert_close(functions[name](), wanted, atol=1e-4, rtol=1e-4)


def test_the_newest_word_reads_all_of_the_list():
    functions = recall.words(5)
    assert functions["list"]().shape == (1, recall.NUM_HEADS, 1, recall.HEAD)
    assert functions["matrix"]().shape == (recall.NUM_HEADS, 1, recall.HEAD)
