"""Places that are drawn in training: in order, within reach, and gone in use."""

import pytest
import torch

import d2lattn as d2l
from d2lattn.book.experiments.random_positions import REACH, RandomPlaces, RandomStarts, RandomTurns


@pytest.mark.parametrize("kind", [RandomStarts, RandomPlaces])
def test_in_use_nothing_is_drawn(kind):
    encoding, plain = kind(6, 0.0).eval(), d2l.PositionalEncoding(6, 0.0)
    X = torch.randn(2, 5, 6)
    assert torch.equal(encoding(X, start=3), plain(X, start=3))


@pytest.mark.parametrize("kind", [RandomStarts, RandomPlaces])
def test_in_training_each_word_gets_the_waves_of_its_drawn_place(kind):
    encoding = kind(6, 0.0).train()
    torch.manual_seed(0)
    places = encoding.draw(4, 7)
    torch.manual_seed(0)
    assert torch.equal(encoding(torch.zeros(4, 7, 6)), encoding.P[0, places])
    assert len({tuple(row) for row in places.tolist()}) > 1


def test_a_sentence_longer_than_the_reach_stands_without_gaps():
    places = RandomPlaces(2, 0.0).draw(3, REACH + 2)
    assert torch.equal(places, torch.arange(REACH + 2).expand(3, -1))


def test_turned_by_drawn_places_the_product_is_that_of_their_distance():
    torch.manual_seed(0)
    turns, plain = RandomTurns(6).train(), d2l.RotaryPositions(6)
    X = torch.randn(4, 7, 12)  # of a stack, (B, T, D)
    assert turns(X) is X
    places = turns.places
    q, k = torch.randn(2, 4, 2, 7, 6)  # (B, H, T, D / H) each
    found = turns.turn(q) @ turns.turn(k).mT  # (B, H, T, T)
    for b, i, j in (0, 0, 6), (1, 5, 2), (3, 4, 4):
        at_i, at_j = (int(places[b, n]) for n in (i, j))
        apart = max(at_i, at_j) - min(at_i, at_j)
        start_q, start_k = (apart, 0) if at_i > at_j else (0, apart)
        turned = (
            plain.turn(q[b, :, i : i + 1], start_q) @ plain.turn(k[b, :, j : j + 1], start_k).mT
        )
        torch.testing.assert_close(found[b, :, i, j], turned[:, 0, 0], atol=1e-5, rtol=0)
