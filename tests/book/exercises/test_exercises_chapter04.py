"""Each check of chapter 4 passes the right answer and knows each foreseen wrong one."""

import math

import pytest
import torch
from torch.nn import functional as F

from d2lattn.book.exercises import chapter04
from d2lattn.corpus import Pair


def error_rate(found, sure, possible):
    return 1 - (len(found & sure) + len(found & possible)) / (len(found) + len(sure))


def scores_of(query, keys, W_q, W_k, w_v):
    return torch.tanh(W_q @ query + keys @ W_k.T) @ w_v


def context(query, keys, values, W_q, W_k, w_v, valid_len):
    weights = scores_of(query, keys, W_q, W_k, w_v)[:valid_len].softmax(dim=0)
    return weights @ values[:valid_len]


def masked_loss(logits, targets, valid_lens):
    losses = losses_of(logits, targets)
    valid = valid_places(targets, valid_lens)
    return (losses * valid).sum() / valid.sum()


def losses_of(logits, targets):
    return F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")


def valid_places(targets, valid_lens):
    return torch.arange(targets.shape[1]) < valid_lens.unsqueeze(1)


def links_of(weights):
    words = weights[:-1, :-1]  # (T, S)
    return {(look, row) for row, look in enumerate(words.argmax(dim=1).tolist())}


def sentence(target_length, source_length, sure_sources):
    """A pair whose target words all link to the same source words, surely."""
    sure = frozenset((i, t) for i in sure_sources for t in range(target_length))
    return Pair(("a",) * source_length, ("b",) * target_length, sure, sure)


# Forty target words with weights 0.62 (sure) and 0.38, and four sentences of one target word with
# weights 0.30, 0.30 and 0.40, all sure. Over all pairs 0.40 is best, and no other threshold.
PAIRS = [sentence(40, 2, [0])] + [sentence(1, 3, [0, 1, 2])] * 4
MATRICES = [torch.tensor([[0.62, 0.38]] * 40)] + [torch.tensor([[0.3, 0.3, 0.4]])] * 4


def harmonic(found, sure, possible):
    precision = len(found & possible) / len(found)
    recall = len(found & sure) / len(sure)
    return 1 - 2 * precision * recall / (precision + recall)


def hidden_weights(scores, valid_len, hidden):
    seen = torch.arange(len(scores)) < valid_len
    seen[hidden] = False
    weights = scores.masked_fill(~seen, -math.inf).softmax(dim=0)
    return weights.nan_to_num(0.0)


CHECKS = {
    chapter04.check_error_rate: (error_rate,),
    chapter04.check_context: (context,),
    chapter04.check_masked_loss: (masked_loss,),
    chapter04.check_projections: ((30, 840),),
    chapter04.check_threshold: (0.4, PAIRS, MATRICES),
    chapter04.check_links: (links_of,),
    chapter04.check_evidence: ("A", "C"),
    chapter04.check_hidden_weights: (hidden_weights,),
    chapter04.check_audit: (True, False, False),
}


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda a, s, p: 1 - error_rate(a, s, p), "subtract it from 1"),
        (lambda a, s, p: 1 - 2 * len(a & s) / (len(a) + len(s)), "1 - F1 with sure links alone"),
        (lambda a, s, p: 1 - 2 * len(a & p) / (len(a) + len(s)), "Both of your intersections"),
        (lambda a, s, p: error_rate(a, s, p - s), "counts in |A ∩ S| and again"),
        (lambda a, s, p: 1 - len(a & s) / len(a), "by sure links"),
        (lambda a, s, p: 1 - len(a & p) / len(a), "1 - precision alone"),
        (lambda a, s, p: 1 - len(a & s) / len(s), "1 - recall alone"),
        (
            lambda a, s, p: 1 - (len(a & s) + len(a & p)) / (len(a) + len(p)),
            "divide by |A| + |P|",
        ),
        (harmonic, "harmonic mean"),
        (lambda a, s, p: 100 * error_rate(a, s, p), "per cent"),
        (lambda a, s, p: error_rate(a, s, p) / 2, "With |A| = 8"),
        (lambda a, s, p: max(0.1, error_rate(a, s, p)), "When all possible links are found"),
        (lambda a, s, p: error_rate(a, s, p) if a else 0.0, "When no link is found"),
        (lambda a, s, p: error_rate(a, s, p) if a & s else 1.0, "When none of the found links"),
        (lambda a, s, p: 1 - (len(a & s) + len(a & p)) / (len(a) + 5), "not always five"),
        (lambda a, s, p: 1 - (len(a & s) + len(a & p)) / (len(a) + min(5, len(p))), "was expected"),
        (lambda a, s, p: error_rate(a, s, p) + 2e-4, "0.231; 0.2308 was expected"),
        (lambda a, s, p: str(error_rate(a, s, p)), "one number"),
        (lambda a, s, p: error_rate(a, s, p | s.pop()), "stopped with TypeError"),
        (lambda a, s, p: (error_rate(a, s, p), a.clear())[0], "argument number 1"),
    ],
)
def test_error_rate_names_the_mistake(answer, hint):
    assert_hint(chapter04.check_error_rate(answer), hint)


def by_scores(score, weigh=None):
    """A context by another score, or by another way from scores to weights."""

    def answer(query, keys, values, W_q, W_k, w_v, valid_len):
        scores = score(query, keys, W_q, W_k, w_v)
        if weigh is not None:
            return weigh(scores, torch.arange(len(keys)) < valid_len) @ values
        return scores[:valid_len].softmax(dim=0) @ values[:valid_len]

    return answer


def naive(scores, valid):
    heights = scores.exp() * valid
    return heights / heights.sum()


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (by_scores(lambda q, k, W_q, W_k, w: (W_q @ q + k @ W_k.T) @ w), "tangent is missing"),
        (by_scores(scores_of, lambda s, valid: s.softmax(0)), "padding takes part"),
        (by_scores(scores_of, lambda s, valid: s.softmax(0) * valid), "no longer sum to 1"),
        (by_scores(scores_of, lambda s, valid: (s * valid).softmax(0)), "exp(0) = 1"),
        (lambda q, k, v, *a: context(q, k, torch.eye(len(k)), *a), "These are the weights"),
        (
            lambda q, k, v, W_q, W_k, w, n: scores_of(q, k, W_q, W_k, w)[:n].softmax(0),
            "These are the weights",
        ),
        (
            lambda q, k, v, W_q, W_k, w, n: scores_of(q, k, W_q, W_k, w).softmax(0),
            "These are the weights",
        ),
        (lambda q, k, v, W_q, W_k, w, n: scores_of(q, k, W_q, W_k, w), "These are the scores"),
        (lambda q, k, v, W_q, W_k, w, n: scores_of(q, k, W_q, W_k, w)[:n], "These are the scores"),
        (lambda q, k, v, *a: context(q, k, k, *a), "You averaged the keys"),
        (by_scores(lambda q, k, W_q, W_k, w: k @ q), "That is a dot product"),
        (by_scores(lambda q, k, W_q, W_k, w: k @ q / 2), "That is a dot product"),
        (by_scores(lambda q, k, W_q, W_k, w: k @ W_k.T @ (W_q @ q)), "That is a dot product"),
        (
            by_scores(lambda q, k, W_q, W_k, w: k @ W_k.T @ (W_q @ q) / math.sqrt(len(w))),
            "That is a dot product",
        ),
        (by_scores(lambda q, k, W_q, W_k, w: scores_of(q, k, W_k, W_q, w)), "swapped"),
        (lambda *a: context(*a) + 1, "average their values"),
        (lambda *a: context(*a).unsqueeze(0), "shape (1, 2); (2,) is needed"),
        (lambda *a: context(*a[:-1], 3), "valid_len = 1"),
        (lambda *a: torch.cat([context(*a), torch.zeros(2)])[:2], "With 8 keys"),
        (by_scores(scores_of, naive), "exp of such scores is infinite or 0"),
        (
            by_scores(scores_of, lambda s, v: naive(s, v).nan_to_num(0)),
            "exp of such scores is infinite or 0",
        ),
        (by_scores(scores_of, lambda s, v: naive(s - s.max(), v)), "infinite or 0"),
        (
            by_scores(scores_of, lambda s, v: s.masked_fill(~v, -100.0).softmax(0)),
            "Only minus infinity",
        ),
        (
            lambda q, k, v, W_q, W_k, w, n: (
                context(q, k, v.mul_(1), W_q, W_k, w.neg_().neg_(), n) + v[n:].zero_().sum()
            ),
            "changes its argument number 3",
        ),
        (lambda *a: context(*a[:-1], min(a[-1], 4)), "valid_len = 5"),
        (
            lambda q, k, *a: context(q[: k.shape[1]], k, a[0], a[1][:, : k.shape[1]], *a[2:]),
            "may differ in width",
        ),
    ],
)
def test_context_names_the_mistake(answer, hint):
    assert_hint(chapter04.check_context(answer), hint)


def chances_of(logits, targets):
    return logits.softmax(-1).gather(2, targets.unsqueeze(2)).squeeze(2)


def valid_mean(numbers, valid_lens):
    return numbers[valid_places(numbers, valid_lens)].mean()


def by_the_largest_of_all(logits, targets, lengths):
    low = logits - logits.max()
    of_target = low.gather(2, targets.unsqueeze(2)).squeeze(2)
    return valid_mean(low.exp().sum(2).log() - of_target, lengths)


def mean_of_means(logits, targets, lengths):
    sums = (losses_of(logits, targets) * valid_places(targets, lengths)).sum(1)
    return (sums / lengths).mean()


def skips_empty_rows_wrongly(logits, targets, lengths):
    valid = valid_places(targets, lengths.clamp_min(1))
    return losses_of(logits, targets)[valid].mean()


def leaks(logits, targets, lengths):
    """Right, but for a trace of the padding's losses that only large ones show."""
    losses, valid = losses_of(logits, targets), valid_places(targets, lengths)
    return masked_loss(logits, targets, lengths) + 1e-7 * (losses * ~valid).square().sum()


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda x, y, n: losses_of(x, y).mean(), "all B · T places: the padding counts"),
        (
            lambda x, y, n: (losses_of(x, y) * valid_places(y, n)).mean(),
            "still divide by all B · T",
        ),
        (
            lambda x, y, n: (losses_of(x, y) * valid_places(y, n)).sum() / len(x),
            "You divided by B:",
        ),
        (mean_of_means, "mean of the sentences' means"),
        (lambda x, y, n: masked_loss(x, y, n) / math.log(2), "These are bits"),
        (lambda x, y, n: valid_mean(chances_of(x, y), n), "averaged probabilities"),
        (lambda x, y, n: -valid_mean(chances_of(x, y), n), "averaged probabilities"),
        (lambda x, y, n: valid_mean(1 - chances_of(x, y), n), "averaged probabilities"),
        (lambda x, y, n: masked_loss(x, y, n) * n.sum(), "That is the sum"),
        (lambda x, y, n: -masked_loss(x, y, n), "The sign"),
        (lambda x, y, n: masked_loss(x, y, n).exp(), "perplexity"),
        (
            lambda x, y, n: F.cross_entropy(x.transpose(1, 2), y, ignore_index=0),
            "left out the tokens 0",
        ),
        (
            lambda x, y, n: losses_of(x, y)[(y != 0) & valid_places(y, n)].mean(),
            "left out the tokens 0",
        ),
        (lambda x, y, n: masked_loss(x, y, n) + 1, "over valid tokens"),
        (lambda x, y, n: losses_of(x, y), "should be one number"),
        (leaks, "must not matter"),
        (lambda x, y, n: masked_loss(x, y, n).item().hex(), "one number"),
        (lambda x, y, n: masked_loss(x, y, n) + x.zero_().sum(), "argument number 1"),
        (lambda x, y, n: masked_loss(x, y, n) + y.zero_().sum(), "argument number 2"),
        (
            lambda x, y, n: valid_mean(
                x.exp().sum(2).log() - x.gather(2, y.unsqueeze(2)).squeeze(2), n
            ),
            "far from 0",
        ),
        (lambda x, y, n: by_the_largest_of_all(x, y, n), "far from 0"),
        (lambda x, y, n: masked_loss(x[..., :4], y.clamp_max(3), n[:3]) / x.shape[0] * 3, "2 sent"),
        (skips_empty_rows_wrongly, "An empty sentence"),
        (lambda x, y, n: valid_mean(-chances_of(x, y).log(), n), "very unlikely token"),
        (
            lambda x, y, n: -(chances_of(x, y).log() * valid_places(y, n)).sum() / n.sum(),
            "very unlikely token",
        ),
        (lambda x, y, n: valid_mean(-(chances_of(x, y) + 1e-9).log(), n), "very unlikely token"),
    ],
)
def test_masked_loss_names_the_mistake(answer, hint):
    assert_hint(chapter04.check_masked_loss(answer), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ((840, 30), "swapped"),
        ((1, 28), "how often W_k is used"),
        ((30, 28), "The first is right"),
        ((28, 840), "The second is right"),
        ((58, 840), "first number is 58"),
        ((30, 900), "second number is 900"),
        (30, "pair of integers"),
        ((30, 840, 1), "pair of integers"),
        (("30", "840"), "one number"),
        (b"ab", "pair of integers"),
    ],
)
def test_projections_names_the_mistake(answer, hint):
    assert_hint(chapter04.check_projections(answer), hint)


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (0.1, "Too low: of 92 links that are read off, 40 are wrong, so precision suffers"),
        (0.1, "error rate over all pairs is 0.278"),
        (0.1, "A lower rate exists above"),
        (0.3, "mean of the sentences' own rates"),
        (0.6, "Too high: only 40 links are read off, and right ones are lost"),
        (0.6, "error rate over all pairs is 0.130"),
        (0.6, "A lower rate exists below"),
        (0.95, "Too high: only 0 links"),
        (0.42, "not one of the thresholds"),
        (0.0, "not one of the thresholds"),
        (1.0, "not one of the thresholds"),
        (40, "not one of the thresholds"),
    ],
)
def test_threshold_names_the_mistake(answer, hint):
    verdict = chapter04.check_threshold(answer, PAIRS, MATRICES)
    assert_hint(verdict, hint)
    assert "0.4" not in verdict.sentence.replace("0.42", ""), "the answer is given away"


def assert_hint(verdict, hint):
    assert not verdict
    assert hint in verdict.sentence, verdict.sentence


def enumerated(looks, first=0):
    return {(look, row) for row, look in enumerate(looks.tolist(), start=first)}


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (lambda w: enumerated(w[:, :-1].argmax(dim=1)), "which is no French word"),
        (lambda w: enumerated(w[:-1].argmax(dim=1)), "before* you look"),
        (lambda w: enumerated(w.argmax(dim=1)), "before* you look"),
        (
            lambda w: {x for x in enumerated(w[:-1].argmax(dim=1)) if x[0] < w.shape[1] - 1},
            "before* you look",
        ),
        (lambda w: enumerated(w[:, :-1].argmax(dim=1), -1), "one row too early"),
        (lambda w: enumerated(w.argmax(dim=1), -1), "one row too early"),
        (
            lambda w: {x for x in enumerated(w[:, :-1].argmax(dim=1), -1) if x[1] >= 0},
            "one row too early",
        ),
        (lambda w: enumerated(w.argmax(dim=0)), "along a row"),
        (lambda w: enumerated(w.argmax(dim=0), -1), "largest weight of each column"),
        (lambda w: {(b, a) for a, b in links_of(w)}, "(English place, French place)"),
        (lambda w: set(), "you have nothing too much"),
        (lambda w: sorted(links_of(w)), "set of links is needed"),
        (lambda w: links_of(w.mul_(2)), "argument number 1"),
    ],
)
def test_links_names_the_mistake(answer, hint):
    assert_hint(chapter04.check_links(answer), hint)


@pytest.mark.parametrize(
    ("plausible", "faithful", "hint"),
    [
        ("AB", "C", "BLEU judges the translation"),
        ("AC", "C", "no person's links"),
        ("ad", "C", "A row can be sharp"),
        ("AE", "C", "picked ten pictures"),
        ("A", "AC", "Did anybody ask the model"),
        ("A", "B", "read *something* right"),
        ("A", "CD", "survived a weight of 0.99"),
        ("A", "E", "weakest kind of plausible"),
        ("", "C", "does speak for plausible"),
        ("A", "", "does speak for faithful"),
        ("F", "C", "'F' is none of them"),
        (1, "C", "this is int"),
    ],
)
def test_evidence_names_the_mistake(plausible, faithful, hint):
    assert_hint(chapter04.check_evidence(plausible, faithful), hint)


def hidden_by(weigh):
    def answer(scores, valid_len, hidden):
        valid = torch.arange(len(scores)) < valid_len
        seen = valid.clone()
        seen[hidden] = False
        return weigh(scores, valid, seen)

    return answer


def softmax_where(scores, seen):
    return scores.masked_fill(~seen, -math.inf).softmax(dim=0)


@pytest.mark.parametrize(
    ("weigh", "hint"),
    [
        (lambda s, valid, seen: softmax_where(s, valid) * seen, "hide the *score*"),
        (lambda s, valid, seen: s.softmax(dim=0) * seen, "hide the *score*"),
        (lambda s, valid, seen: (s * seen).softmax(dim=0), "exp(0) = 1"),
        (lambda s, valid, seen: softmax_where(s, seen | ~valid), "The padding takes part"),
        (lambda s, valid, seen: softmax_where(s, valid), "hidden places still take part"),
        (lambda s, valid, seen: softmax_where(s, valid & ~seen), "the other way round"),
        (lambda s, valid, seen: softmax_where(s, seen), "your weights are nan"),
        (lambda s, valid, seen: s.masked_fill(~seen, -1e9).softmax(dim=0), "minus infinity"),
        (lambda s, valid, seen: softmax_where(s, seen)[:3], "shape (3,)"),
        (
            lambda s, valid, seen: softmax_where(s, seen).nan_to_num(1 / 6),
            "nothing is read",
        ),
    ],
)
def test_hidden_weights_names_the_mistake(weigh, hint):
    assert_hint(chapter04.check_hidden_weights(hidden_by(weigh)), hint)


@pytest.mark.parametrize(
    ("claims", "hint"),
    [
        ((False, False, False), "X's error rate beside the diagonal's"),
        ((True, True, False), "shift_links"),
        ((True, False, True), "worst one to lose"),
        ((True, "no", False), "answer to the second claim should be True or False; this is 'no'"),
        ((1, False, False), "answer to the first claim should be True or False; this is 1."),
    ],
)
def test_audit_names_the_mistake(claims, hint):
    assert_hint(chapter04.check_audit(*claims), hint)
