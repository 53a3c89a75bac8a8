"""Each check of chapter 10 passes the right answer and knows each foreseen wrong one."""

import pytest
import torch

from d2lattn.book.exercises import chapter10


def keep(past, window, num_first):
    later = max(num_first, len(past) - window + 1)
    return torch.cat((past[:num_first], past[later:]))


def pooled(W, num_heads, num_groups):
    return W.unflatten(0, (num_groups, num_heads // num_groups, -1)).mean(dim=1).flatten(0, 1)


CHECKS = {
    chapter10.check_bytes: (98_304, 24_576, 12_681_216),
    chapter10.check_keep: (keep,),
    chapter10.check_pooled: (pooled,),
    chapter10.check_reach: (lambda w, L: L * (w - 1),),
}


@pytest.mark.parametrize(
    ("place", "answer", "hint"),
    [
        (0, 49_152, "a key *and* a value"),
        (0, 4_096, "That is one layer"),
        (0, 6_144, "That is one head"),
        (0, 24_576, "one byte a number, and keys alone"),
        (0, 98_304 * 16, "the width of one head"),
        (0, 1, "which five numbers"),
        (1, 98_304, "Count those that are kept"),
        (1, 6_144, "four are left"),
        (1, 98_304 * 4, "divide"),
        (2, 24_576 * 5000, "behind the window"),
        (2, 24_576 * 512, "kept as well"),
        (2, 24_576 * 508, "besides the window"),
        (2, 98_304 * 516, "keys are still shared"),
        (2, "many", "one number"),
    ],
)
def test_bytes_names_the_mistake(place, answer, hint):
    answers = list(CHECKS[chapter10.check_bytes])
    answers[place] = answer
    assert_hint(chapter10.check_bytes(*answers), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda p, w, n: torch.cat((p[:n], p[-w:])), "one too many: the next word"),
        (lambda p, w, n: keep(p, w + 1, n), "one too many: the next word"),
        (lambda p, w, n: torch.cat((p[:n], p[max(0, len(p) - w + 1) :])), "kept twice"),
        (lambda p, w, n: keep(p, w, 0), "the first ones have gone"),
        (lambda p, w, n: p, "nothing is forgotten"),
        (lambda p, w, n: keep(p, w, n).flip(0), "Which rows may the next word ask"),
        (lambda p, w, n: keep(p, w, n)[:, 0], "shape"),
        (lambda p, w, n: keep(p, w, n).mul_(1) if p.mul_(2) is None else p, "changes its argument"),
    ],
)
def test_keep_names_the_mistake(answer, hint):
    assert_hint(chapter10.check_keep(answer), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda W, H, G: pooled(W, H, G) * (H // G), "that is the sum"),
        (lambda W, H, G: W.unflatten(0, (G, H // G, -1))[:, 0].flatten(0, 1), "drops others"),
        (lambda W, H, G: W.unflatten(0, (H // G, G, -1)).mean(0).flatten(0, 1), "side by side: 0"),
        (lambda W, H, G: W.unflatten(0, (-1, H // G)).mean(1), "entries of one head"),
        (lambda W, H, G: pooled(W, H, G) + 1, "Of each group the mean"),
        (lambda W, H, G: pooled(W, H, 1), "shape"),
    ],
)
def test_pooled_names_the_mistake(answer, hint):
    assert_hint(chapter10.check_pooled(answer), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda w, L: w * L, "Itself is in each window"),
        (lambda w, L: w - 1, "That is one layer"),
        (lambda w, L: (w - 1) ** L, "does not multiply"),
        (lambda w, L: (w - 1) * (L - 1), "Also the first layer"),
        (lambda w, L: (w - 1) * L + 1, "the word's own included"),
        (lambda w, L: 14, "For a window of 4 and 3 layers yours is 14; 9 was expected"),
    ],
)
def test_reach_names_the_mistake(answer, hint):
    assert_hint(chapter10.check_reach(answer), hint)


def assert_hint(verdict, hint):
    assert not verdict
    assert hint in verdict.sentence, verdict.sentence
