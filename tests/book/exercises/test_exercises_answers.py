"""Right answers of another form, and facts that exercises rest on."""

import math

import pytest
import torch

import d2lattn as d2l
from d2lattn import bare
from d2lattn.bare_after import product_attention
from d2lattn.bare_modern import rotary
from d2lattn.book.exercises import (
    chapter01,
    chapter02,
    chapter03,
    chapter04,
    chapter05,
    chapter06,
    chapter07,
    chapter08,
    chapter10,
    chapter11,
)
from d2lattn.book.explorables.alignment_judge.figure import cut
from d2lattn.corpus import generate


def twice_as_heavy(*arguments):
    weights, values = chapter07.check_as_attention.right[0](*arguments)
    return 2 * weights, values / 2


def newest_first(X, keys, values, *W):
    """The past kept in another order."""
    step = chapter07.check_step.right[0]
    output, keys, values = step(X, keys.flip(0), values.flip(0), *W)
    return output, keys.flip(0), values.flip(0)


def salience_first(query, keys, salience):
    return (torch.cat([2 * torch.ones(1), query]), torch.cat([salience[:, None] / 2, keys], dim=1))


def low_score(q, k, v, num_heads, valid):
    q, k, v = (x.unflatten(-1, (num_heads, -1)).transpose(1, 2) for x in (q, k, v))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(~valid[:, None, None], -1e9).softmax(dim=-1)
    return (weights @ v).transpose(1, 2).flatten(2)


def by_pytorch(X, gain, shift, eps):
    return torch.nn.functional.layer_norm(X, gain.shape, gain, shift, eps)


def kept_by_the_package(past, window, num_first):
    attention = d2l.MultiHeadAttention(2, 2, 2, 2, 1, 0, window=window, num_first=num_first)
    return attention.keep(past[None, None])[0, 0]


def by_a_projection(Q, K, V, a, b):
    S, read = torch.zeros(K.shape[1], V.shape[1]), []
    for q, k, v, kept, share in zip(Q, K, V, a, b, strict=True):
        S = kept * (S - share * torch.outer(k, k) @ S) + share * torch.outer(k, v)
        read.append(q @ S)
    return torch.stack(read)


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (chapter01.check_with_salience, salience_first),
        (chapter01.check_attention_matrices, "d, a"),
        (chapter02.check_by_hand, 3.14),
        (chapter03.check_one_more, lambda q: torch.cat([q, torch.full((len(q), 1), 0.5)], dim=1)),
        (chapter04.check_error_rate, lambda *a: round(chapter04.check_error_rate.right[0](*a), 4)),
        (chapter04.check_step, bare.BahdanauDecoder),
        (chapter04.check_masked_loss, d2l.masked_loss),
        (chapter04.check_links, lambda weights: d2l.alignment_links(weights[:-1, :-1])),
        (chapter05.check_padded_heads, low_score),
        (chapter05.check_multi_head, bare.MultiHeadAttention),
        (chapter06.check_crossing, 769),  # the first length at which it needs more
        (chapter07.check_layer_norm, by_pytorch),
        (chapter07.check_as_attention, twice_as_heavy),
        (chapter07.check_step, newest_first),
        (chapter10.check_keep, kept_by_the_package),
        (chapter11.check_gated_delta, by_a_projection),
    ],
)
def test_a_right_answer_may_have_another_form(check, answer):
    verdict = check(answer)
    assert verdict, verdict


def test_the_suspicious_file_holds_every_row_twice():
    keys, values = chapter02.suspicious_sample()
    assert torch.equal(keys[::2], keys[1::2])
    assert torch.equal(values[::2], values[1::2])
    assert len(keys.unique()) == 40
    bandwidths = torch.arange(0.02, 1, 0.01)
    once = [d2l.leave_one_out_error(keys[::2], values[::2], h) for h in bandwidths]
    assert min(once) == pytest.approx(chapter02.HONEST, abs=1e-3)


def test_head_means_are_those_of_the_table():
    losses = dict(enumerate(chapter05.LOSSES))
    assert losses[0] - losses[1] > 1 > 100 * (losses[14] - losses[15]) / 2
    assert losses[3] - losses[15] > 1.5 * (losses[7] + losses[11] - 2 * losses[15])
    assert max(range(4), key=lambda head: losses[15 - 2**head]) == 1
    assert min(range(4), key=lambda head: losses[2**head]) == 2


@pytest.mark.parametrize("name", chapter08.BOXES)
def test_two_scores_depend_only_on_the_distance(name):
    q, k = torch.randn(2, 8, generator=torch.Generator().manual_seed(84))
    box = chapter08.BOXES[name]
    changes = [
        abs(box(q, i + on, k, j + on) - box(q, i, k, j)).item()
        for i, j in ((3, 5), (6, 2), (20, 23))
        for on in (10, 100)
    ]
    assert (max(changes) < 1e-4) == (name in chapter08.check_boxes.right[0])


def test_halves_are_those_of_the_one_page():
    X = torch.randn(9, 6, generator=torch.Generator().manual_seed(86))
    torch.testing.assert_close(chapter08.check_rotary.right[0](X, 3), rotary(X, 3))


def test_state_without_a_word_is_the_sum_over_the_others():
    k, v = torch.tensor([[1.0, 2], [2, 0], [1, 3]]), torch.tensor([[3.0, 1], [1, 2], [0, 1]])
    assert (k.T @ v).tolist() == [list(row) for row in chapter11.S_TOLD]
    S, z, answer = (torch.tensor(part) for part in chapter11.check_taken_back.right)
    rest = [0, 2]
    assert torch.equal(k[rest].T @ v[rest], S.float())
    assert torch.equal(k[rest].sum(dim=0), z.float())
    torch.testing.assert_close(product_attention(torch.ones(2, 2), k[rest], v[rest])[1], answer)


# Exercise 4.9: the threshold of lowest error rate.


@pytest.mark.parametrize("answer", [0.35, 0.7, torch.tensor(0.7), torch.arange(1, 20)[13] / 20])
def test_a_weight_equal_to_the_threshold_is_a_link(answer):
    # In float32, 0.7 lies below 0.7 and 0.3 above 0.3.
    given = [chapter04.one_pair(1, 2, [0])], [torch.tensor([[0.7, 0.3]])]
    assert chapter04.check_threshold(answer, *given)
    assert not chapter04.check_threshold(0.3, *given)
    assert not chapter04.check_threshold(0.75, *given)


def rate_by_the_judge(pairs, matrices, threshold):
    """The error rate of what the judge shows: weights cut short, links from the threshold on."""
    short = [torch.tensor([cut(row) for row in m.tolist()], dtype=torch.float64) for m in matrices]
    links = [d2l.alignment_links(matrix, threshold) for matrix in short]
    return d2l.alignment_scores(
        links, [pair.sure for pair in pairs], [pair.possible for pair in pairs]
    ).error_rate


def test_the_error_rates_are_those_of_the_judge():
    pairs, generator = generate(20, seed=4), torch.Generator().manual_seed(4)
    matrices = [
        (3 * torch.randn(len(pair.target), len(pair.source), generator=generator)).softmax(1)
        for pair in pairs
    ]
    matrices[0] = (matrices[0] * 20).round() / 20  # weights on the grid itself
    rates = [rate_by_the_judge(pairs, matrices, threshold) for threshold in chapter04.THRESHOLDS]
    for threshold, rate in zip(chapter04.THRESHOLDS, rates, strict=True):
        verdict = chapter04.check_threshold(threshold, pairs, matrices)
        assert bool(verdict) == (rate <= min(rates) + 1e-9), verdict
