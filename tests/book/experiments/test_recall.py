"""Recall: what a matrix is told and gives back, and the networks that learn it."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from d2lattn.bare_after import carried_attention, features
from d2lattn.book.experiments import recall

pytestmark = pytest.mark.usefixtures("one_thread")


def dice(seed=0):
    return torch.Generator().manual_seed(seed)


@settings(deadline=None, max_examples=15, derandomize=True)
@given(st.integers(1, 7), st.integers(1, 5), st.sampled_from([1.0, 0.9, 0.5]))
def test_a_memory_is_written_pair_by_pair(pairs, width, keep):
    keys, values = torch.randn(2, 3, pairs, width, generator=dice(pairs)).double()
    found, corrected = torch.zeros(2, 3, width, width).double()
    for key, value in zip(keys.unbind(1), values.unbind(1), strict=True):
        found = keep * found + torch.einsum("bd,bv->bdv", key, value)
        corrected = keep * corrected
        missing = value - torch.einsum("bd,bdv->bv", key, corrected)
        corrected = corrected + 0.3 * torch.einsum("bd,bv->bdv", key, missing)
    torch.testing.assert_close(recall.memory(keys, values, keep), found)
    torch.testing.assert_close(recall.memory(keys, values, keep, corrected=0.3), corrected)


@pytest.mark.parametrize("way", recall.WAYS)
def test_what_networks_read_is_what_their_way_says(way):
    networks = recall.Networks(way, 4, 2, seed=3)
    q, k, v = torch.randn(3, 2, 3, 5, 4, generator=dice())  # (S, B, n, D) each
    read = networks.read(q, k, v)
    if way == "softmax":
        wanted = (q @ k.mT / 2).softmax(dim=-1) @ v
    elif way == "products":
        wanted = (q @ k.mT) @ v
    elif way == "positive":
        # the last word has heard all of them
        wanted = torch.stack(
            [
                carried_attention(features(q[s, b, j].expand(5, 4)), features(k[s, b]), v[s, b])[-1]
                for s in range(2)
                for b in range(3)
                for j in range(5)
            ]
        ).view(2, 3, 5, 4)
    else:
        length = torch.nn.functional.normalize
        matrix = recall.memory(length(k, dim=-1), v, corrected=torch.sigmoid(torch.tensor(2.0)))
        wanted = length(q, dim=-1) @ matrix
    torch.testing.assert_close(read, wanted)


def test_a_network_is_not_told_by_its_neighbour():
    networks = recall.Networks("products", 4, 2)
    keys, words = recall.draw(2, 3, 5, dice())
    before = networks(keys, words)
    with torch.no_grad():
        networks.values[1] += 1
    after = networks(keys, words)
    torch.testing.assert_close(after[0], before[0])
    assert not torch.allclose(after[1], before[1])
    assert before.shape == (2, 3, 5, recall.NUM_WORDS)


@pytest.mark.slow
def test_training_finds_the_words_in_a_list_and_not_in_a_small_matrix():
    found = {
        way: recall.accuracy(recall.learn(way, 4, 0.1, num_networks=2, num_steps=200), 16)
        for way in ("softmax", "products")
    }
    assert found["softmax"].shape == (2,)
    assert found["softmax"].min() > 0.9 > 0.2 > found["products"].max()
