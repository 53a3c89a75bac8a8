"""Vocabulary and padded batches."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from d2lattn.corpus import Vocabulary, batches, generate

PAIRS = generate(130, seed=4)
SOURCE = Vocabulary(pair.source for pair in PAIRS)
TARGET = Vocabulary(pair.target for pair in PAIRS)


def test_tokens_are_sorted_by_frequency_after_specials():
    vocabulary = Vocabulary([("b", "a", "c"), ("c",)])
    assert vocabulary.decode(range(len(vocabulary))) == [
        *("<pad>", "<bos>", "<eos>", "<unk>"),
        *("c", "a", "b"),
    ]


def test_rare_and_unknown_words_become_unk():
    vocabulary = Vocabulary([("a", "a", "b")], min_freq=2)
    assert vocabulary.encode(("a", "b", "never seen")) == [4, 3, 3]
    assert "b" not in vocabulary
    assert "a" in vocabulary


def test_ids_outside_the_vocabulary_raise():
    most = len(SOURCE) - 1
    with pytest.raises(
        ValueError, match=rf"ids\[1\] is {most + 1}; it needs to be from 0 to {most}"
    ):
        SOURCE.decode([most, most + 1])
    with pytest.raises(ValueError, match=r"ids\[0\] is -1; it needs"):
        SOURCE.decode(torch.tensor([-1]))


@settings(derandomize=True, deadline=None, max_examples=25)
@given(
    st.integers(0, 130),
    st.integers(1, 40),
    st.booleans(),
    st.one_of(st.none(), st.integers(0, 99)),
)
def test_batches_contain_every_pair_once(number, batch_size, bucket, seed):
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    chosen = PAIRS[:number]
    given_back = []
    for batch in batches(chosen, SOURCE, TARGET, batch_size, generator=generator, bucket=bucket):
        given_back += batch.pairs
        assert 1 <= len(batch.pairs) <= batch_size
        for ids, valid_lens, vocabulary, side in (
            (batch.source, batch.source_valid_lens, SOURCE, "source"),
            (batch.target, batch.target_valid_lens, TARGET, "target"),
        ):
            assert ids.dtype == valid_lens.dtype == torch.long
            assert ids.shape == (len(batch.pairs), int(valid_lens.max()))
            for row, valid, pair in zip(
                ids.tolist(), valid_lens.tolist(), batch.pairs, strict=True
            ):
                assert vocabulary.decode(row[:valid]) == [*getattr(pair, side), "<eos>"]
                assert set(row[valid:]) <= {0}
    assert sorted(map(repr, given_back)) == sorted(map(repr, chosen))


def test_generator_determines_the_order():
    def order(seed):
        generator = torch.Generator().manual_seed(seed)
        return [b.pairs for b in batches(PAIRS, SOURCE, TARGET, 16, generator=generator)]

    assert order(1) == order(1)
    assert order(1) != order(2)


def test_buckets_reduce_padding():
    def padding(bucket):
        generator = torch.Generator().manual_seed(0)
        actual = batches(PAIRS, SOURCE, TARGET, 16, generator=generator, bucket=bucket)
        return sum(int((batch.source == 0).sum()) for batch in actual)

    assert padding(True) < padding(False) / 2
