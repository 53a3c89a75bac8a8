"""The benchmark of chapter 10: texts that are what they are said to be, and equal sizes."""

import pytest

from benchmarks import memory
from d2lattn.corpus import load_corpus

CORPUS = load_corpus(num_train=40, num_test=4)


@pytest.mark.parametrize("way", memory.WAYS)
def test_each_way_has_as_many_parameters_and_keeps_what_is_said(way):
    model, options = memory.make(way, 100), memory.WAYS[way].options
    most = sum(p.numel() for p in memory.make("many", 100).parameters())
    assert 0.998 * most < sum(p.numel() for p in model.parameters()) <= most
    numbers = memory.HEAD * options.get("num_kv_heads", memory.NUM_HEADS)
    if memory.WAYS[way].heads is not None:
        count, width = memory.WAYS[way].heads
        numbers = count * width
    a_token = 2 * memory.NUM_LAYERS * numbers * 4
    assert memory.kept_after(model, 1) == a_token
    places = 7 if "window" in options else 12
    assert memory.kept_after(model, 12) == places * a_token


def test_what_is_written_stands_behind_what_was_read():
    vocab = memory.vocabulary(CORPUS)
    model = memory.make("window + first", len(vocab)).eval()
    pairs = CORPUS.train[:5]
    found = memory.write(model, pairs, ["Ada"] * 5, vocab)
    alone = [memory.write(model, [pair], ["Ada"], vocab)[0] for pair in pairs]
    assert found == alone
    assert all(
        len(words) <= len(pair.source) + 14 for pair, words in zip(pairs, found, strict=True)
    )
