"""Checks for the exercises of chapter 4, Bahdanau attention."""

import math
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from d2lattn.analysis.metrics import Link
from d2lattn.book.exercises.checking import (
    Differs,
    apart,
    call,
    check,
    number,
    recognise,
    same,
    several,
    tensor_like,
    truth,
)
from d2lattn.corpus.pairs import Pair

# Five sure links, four more that are possible; of eight found, four are sure and six possible.
SURE = frozenset({(0, 0), (1, 1), (2, 2), (3, 3), (4, 5)})
POSSIBLE = SURE | {(2, 3), (3, 2), (4, 4), (5, 5)}
FOUND = frozenset({(0, 0), (1, 1), (2, 2), (3, 3), (2, 3), (4, 4), (5, 0), (0, 4)})

THRESHOLDS = tuple(step / 20 for step in range(1, 20))
"""The thresholds of exercise 4.9: 0.05, 0.10, …, 0.95."""


def _close(result: float, expected: float) -> bool:
    return math.isclose(result, expected, rel_tol=1e-4, abs_tol=1e-5)


def _error_rate(
    links: AbstractSet[Link], sure: AbstractSet[Link], possible: AbstractSet[Link]
) -> float:
    return 1 - (len(links & sure) + len(links & possible)) / (len(links) + len(sure))


def _with_five_sure(
    links: AbstractSet[Link], sure: AbstractSet[Link], possible: AbstractSet[Link]
) -> float:
    return 1 - (len(links & sure) + len(links & possible)) / (len(links) + len(SURE))


@check("4.1", right=(_error_rate,), wrong=[_with_five_sure])
def check_error_rate(
    error_rate: Callable[[AbstractSet[Link], AbstractSet[Link], AbstractSet[Link]], float],
) -> str:
    """The alignment error rate of found links, beside sure and possible ones."""
    result = number(call(error_rate, FOUND, SURE, POSSIBLE), "your error rate")
    a, s, p = len(FOUND), len(SURE), len(POSSIBLE)
    in_s, in_p = len(FOUND & SURE), len(FOUND & POSSIBLE)
    precision, recall = in_p / a, in_s / s
    mistakes = [
        ((in_s + in_p) / (a + s), "This grows as the links get better: subtract it from 1."),
        (
            1 - 2 * in_s / (a + s),
            "That is 1 - F1 with sure links alone. A found link that is possible is no mistake: "
            "one of the two intersections is with P.",
        ),
        (
            1 - 2 * in_p / (a + s),
            "Both of your intersections are with P. The first one asks which sure links were "
            "found: it is with S.",
        ),
        (
            1 - (in_s + in_p - in_s) / (a + s),
            "A sure link is possible, too: it counts in |A ∩ S| and again in |A ∩ P|.",
        ),
        (1 - in_s / a, "That is 1 - precision, and by sure links; the recall is missing."),
        (1 - precision, "That is 1 - precision alone: a sure link left out costs nothing."),
        (1 - recall, "That is 1 - recall alone: linking all with all would be perfect."),
        (
            1 - (in_s + in_p) / (a + p),
            "You divide by |A| + |P|, so a possible link left out costs something. Only sure ones "
            "have to be found.",
        ),
        (
            1 - 2 * precision * recall / (precision + recall),
            "That is 1 minus the harmonic mean of precision and recall. The error rate adds up "
            "the counts, and divides once.",
        ),
        (100 * (1 - (in_s + in_p) / (a + s)), "That is in per cent; give a share from 0 to 1."),
    ]
    recognise(result, mistakes)
    other = frozenset({(0, 0), (1, 2)})
    cases = [
        ("with |A| = 8, |S| = 5, |A ∩ S| = 4 and |A ∩ P| = 6", FOUND, SURE, POSSIBLE),
        ("when all possible links are found and no other", POSSIBLE, SURE, POSSIBLE),
        ("when no link is found", frozenset(), SURE, POSSIBLE),
        ("when none of the found links is sure", FOUND - SURE, SURE, POSSIBLE),
        ("with two sure links and three possible ones", FOUND, other, other | {(2, 3)}),
    ]
    for case, links, sure, possible in cases:
        rate = number(call(error_rate, links, sure, possible, case=case), f"{case}, your rate")
        expected = _error_rate(links, sure, possible)
        if abs(rate - expected) > 1e-4:  # four digits are enough
            hint = ""
            if sure is not SURE and abs(rate - _with_five_sure(links, sure, possible)) < 1e-4:
                hint = " Count the sure links; there are not always five."
            raise Differs(f"{case}, your error rate is {apart(rate, expected)}{hint}")
    return "sure links have to be found, possible ones may be."


def _scores(query: Tensor, keys: Tensor, W_q: Tensor, W_k: Tensor, w_v: Tensor) -> Tensor:
    return torch.tanh(W_q @ query + keys @ W_k.T) @ w_v  # (H,) + (S, H) -> (S, H) -> (S,)


def _context(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    w_v: Tensor,
    valid_len: int,
) -> Tensor:
    weights = _scores(query, keys, W_q, W_k, w_v)[:valid_len].softmax(dim=0)
    return weights @ values[:valid_len]  # (S,) x (S, D_v) -> (D_v,)


def _overflowing_context(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    w_v: Tensor,
    valid_len: int,
) -> Tensor:
    weights = _scores(query, keys, W_q, W_k, w_v)[:valid_len].exp()
    return weights @ values[:valid_len] / weights.sum()


@check("4.2", right=(_context,), wrong=[_overflowing_context])
def check_context(context: Callable[..., Tensor]) -> str:
    """The context of one sentence by additive attention, shape (D_v,)."""
    generator = torch.Generator().manual_seed(42)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    # Here query and key have one width, so that a dot product of the two runs and gets its hint.
    query, keys, values = draw(4), draw(5, 4), draw(5, 2)
    W_q, W_k, w_v = draw(6, 4), draw(6, 4), 2 * draw(6)
    q, k = W_q @ query, keys @ W_k.T  # (H,), (S, D_k) x (D_k, H) -> (S, H)
    scores = _scores(query, keys, W_q, W_k, w_v)
    valid = torch.arange(5) < 3

    def weigh(scores: Tensor) -> Tensor:
        return scores.masked_fill(~valid, -math.inf).softmax(dim=0)

    weights, everywhere = weigh(scores), scores.softmax(dim=0)
    expected = _context(query, keys, values, W_q, W_k, w_v, 3)
    result = call(context, query, keys, values, W_q, W_k, w_v, 3)
    dot_products = [keys @ query, k @ q]
    dot_products += [keys @ query / math.sqrt(4), k @ q / math.sqrt(6)]
    table = [
        (
            [weigh((q + k) @ w_v) @ values],
            "The hyperbolic tangent is missing: without it the query cancels out, and the context "
            "is the same at every step.",
        ),
        (
            [everywhere @ values],
            "The padding takes part in the softmax. Only the first valid_len keys are words.",
        ),
        (
            [(everywhere * valid) @ values],
            "The padding is gone, but the weights no longer sum to 1: mask the scores, before the "
            "softmax.",
        ),
        (
            [(scores * valid).softmax(dim=0) @ values],
            "A score of 0 still gets exp(0) = 1. Which score has an exponential of 0?",
        ),
        (
            [weights, weights[:3], everywhere],
            "These are the weights, one for each key. One step is left: weigh the values.",
        ),
        ([scores, scores[:3]], "These are the scores; the softmax and the values are left."),
        ([weights @ keys], "You averaged the keys. They only say where to look; average values."),
        (
            [weigh(dot) @ values for dot in dot_products],
            "That is a dot product. The additive score is w_v^T tanh(W_q q + W_k k).",
        ),
        (
            [weigh(_scores(query, keys, W_k, W_q, w_v)) @ values],
            "The projections are swapped: W_q is the query's, W_k the keys'.",
        ),
    ]
    recognise(result, [(mistake, hint) for mistakes, hint in table for mistake in mistakes])
    what = "your context"
    same(
        result, expected, "Score the keys, softmax over the valid ones, average their values.", what
    )

    longer, W_longer = draw(7), draw(6, 7)
    expected = _context(longer, keys, values, W_longer, W_k, w_v, 3)
    result = call(context, longer, keys, values, W_longer, W_k, w_v, 3)
    same(result, expected, "Query and keys may differ in width.", "for a longer query, it")
    for valid_len in (1, 5):
        result = call(context, query, keys, values, W_q, W_k, w_v, valid_len)
        same(
            result,
            _context(query, keys, values, W_q, W_k, w_v, valid_len),
            "The first valid_len keys count, and all of these.",
            f"with valid_len = {valid_len}, your context",
        )

    other = draw(3), draw(8, 2), draw(8, 4), draw(5, 3), draw(5, 2), draw(5)
    other[1][1] = other[1][0]  # two words with one key, and two values
    case = "with 8 keys and other widths"
    result = call(context, *other, 6, case=case)
    expected = _context(*other, 6)
    same(result, expected, "Take the sizes from the arguments.", f"{case}, your context")

    for scale, valid_len in ((900.0, 6), (-900.0, 6), (900.0, 1), (-900.0, 1)):
        query, keys, values, W_q, W_k, w_v = *other[:5], scale * other[5]
        result = call(context, query, keys, values, W_q, W_k, w_v, valid_len)
        expected = _context(query, keys, values, W_q, W_k, w_v, valid_len)
        first = _scores(query, keys, W_q, W_k, w_v)[0]
        what = f"with a score of {first:.0f}, your context"
        result = tensor_like(result, expected, what)
        if not result.isfinite().all() or ((result == 0).all()):
            raise Differs(
                f"{what} is {result[0]:g}: exp of such scores is infinite or 0. torch.softmax "
                "takes off the largest score first; so mask first, and then let it do the rest."
            )
        same(result, expected, "Only minus infinity is lower than every valid score.", what)
    return "scores by a small network, a softmax over the words, an average of their values."


def _loss(answer: object) -> float:
    """A loss as a number; infinity for what is none, a loss of NaN most likely."""
    try:
        return number(answer)
    except Differs:
        return math.inf


def _token_losses(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")  # (B, T)


def _valid(targets: Tensor, valid_lens: Tensor) -> Tensor:
    return torch.arange(targets.shape[1]) < valid_lens.unsqueeze(1)  # (T,) < (B, 1) -> (B, T)


def _masked_loss(logits: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    return _token_losses(logits, targets)[_valid(targets, valid_lens)].mean()


def _leaking_loss(logits: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    padding = _token_losses(logits, targets)[~_valid(targets, valid_lens)]
    return _masked_loss(logits, targets, valid_lens) + 1e-7 * padding.square().sum()


def _overflowing_loss(logits: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    of_target = logits.gather(2, targets.unsqueeze(2)).squeeze(2)
    losses = logits.exp().sum(dim=2).log() - of_target  # (B, T)
    return losses[_valid(targets, valid_lens)].mean()


def _underflowing_loss(logits: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    chances = logits.softmax(dim=-1).gather(2, targets.unsqueeze(2)).squeeze(2)
    return -chances.log()[_valid(targets, valid_lens)].mean()


@check("4.3", right=(_masked_loss,), wrong=[_leaking_loss, _overflowing_loss, _underflowing_loss])
def check_masked_loss(masked_loss: Callable[[Tensor, Tensor, Tensor], Tensor]) -> str:
    """The mean loss of the valid tokens of a batch, in nats."""
    generator = torch.Generator().manual_seed(43)
    logits = 2 * torch.randn(3, 5, 4, generator=generator)  # (B, T, V)
    targets = torch.randint(4, (3, 5), generator=generator)
    targets[0, 0], targets[2, 4] = 0, 1  # a token 0 that is valid, and padding that is not 0
    valid_lens = torch.tensor([5, 3, 1])
    valid, losses = _valid(targets, valid_lens), _token_losses(logits, targets)
    chances = (-losses).exp()
    total, num_valid = (losses * valid).sum(), valid.sum()
    expected = total / num_valid

    result = number(call(masked_loss, logits, targets, valid_lens), "your loss")
    not_zero = targets != 0
    table = [
        ([losses.mean()], "That is the mean over all B · T places: the padding counts, too."),
        (
            [total / losses.numel()],
            "The padding's loss is 0, but you still divide by all B · T places: a batch with more "
            "padding looks better. Divide by the number of valid tokens.",
        ),
        ([total / 3], "You divided by B: that is the loss of a sentence, and not of a token."),
        (
            [((losses * valid).sum(dim=1) / valid_lens).mean()],
            "That is the mean of the sentences' means: a token of a short sentence counts for "
            "more. Add up all valid tokens, then divide once.",
        ),
        ([expected / math.log(2)], "These are bits, by a logarithm to base 2; nats are asked for."),
        (
            [sign * (chances * valid).sum() / num_valid for sign in (1, -1)]
            + [((1 - chances) * valid).sum() / num_valid],
            "You averaged probabilities; the loss of a token is minus their logarithm.",
        ),
        ([total], "That is the sum of the valid tokens' losses; divide by how many there are."),
        ([-expected], "The sign: a likely token has a low loss, so take minus the logarithm."),
        ([expected.exp()], "That is the perplexity; its logarithm is the loss."),
        (
            [losses[not_zero].mean(), losses[not_zero & valid].mean()],
            "You left out the tokens 0. Padding is what comes after valid_lens, whatever it holds.",
        ),
    ]
    recognise(result, [(mistake, hint) for mistakes, hint in table for mistake in mistakes])
    same(result, expected, "Take minus log softmax at the target, over valid tokens.", "your loss")

    # What the model says in the padding is far off, but no probability falls to 0 yet.
    loud = torch.where(valid.unsqueeze(2), logits, 10 * logits)
    again = number(call(masked_loss, loud, targets, valid_lens), "your loss")
    same(again, expected, "What stands in the padding must not matter.", "for other padding, it")
    lengths = torch.tensor([0, 3, 1])
    fewer = number(call(masked_loss, logits, targets, lengths), "for an empty sentence, your loss")
    rest = losses[1:][valid[1:]].mean()
    same(fewer, rest, "An empty sentence adds no token.", "for an empty sentence, your loss")

    logits = 3 * torch.randn(2, 7, 3, generator=generator)
    targets, valid_lens = torch.randint(3, (2, 7), generator=generator), torch.tensor([4, 7])
    expected = _masked_loss(logits, targets, valid_lens)
    case = "with 2 sentences of 7 tokens and 3 words"
    result = number(call(masked_loss, logits, targets, valid_lens, case=case), f"{case}, your loss")
    same(result, expected, "Take the sizes from the arguments.", f"{case}, your loss")
    # A number added to all logits of a token leaves its softmax as it is.
    shift = torch.linspace(-900, 900, 14).reshape(2, 7, 1)
    if not _close(_loss(call(masked_loss, logits + shift, targets, valid_lens)), expected.item()):
        raise Differs(
            "All is right but for logits far from 0, whose exponentials are 0 or infinite. "
            "log_softmax takes off each token's largest logit first."
        )

    unlikely, target = torch.tensor([[[0.0, 300.0]]]), torch.zeros(1, 1, dtype=torch.int64)
    if not _close(_loss(call(masked_loss, unlikely, target, torch.tensor([1]))), 300.0):
        raise Differs(
            "All is right but for a very unlikely token: its probability is 0 in float32, and so "
            "the logarithm fails. log_softmax does both in one safe step."
        )
    return "every valid token counts once, and padding does not count."


@check("4.4", right=((30, 840),), wrong=[((58, 840),), ((30, 900),)])
def check_projections(answer: Sequence[int]) -> str:
    """How many keys are projected for 30 source tokens and 28 steps: once, and at every step."""
    numbers = several(
        answer, 2, "Give a pair of integers: (projected once, projected at every step)."
    )
    once = number(numbers[0], "the first number")
    every_step = number(numbers[1], "the second number")
    mistakes = {
        (840, 30): "The two are swapped: the first is for keys that are projected once.",
        (1, 28): "You counted how often W_k is used; each time, all keys pass through it.",
        (30, 28): "The first is right. At each of the 28 steps, how many keys are projected?",
        (28, 840): "The second is right. The first: keys belong to the source, not the target.",
    }
    recognise((once, every_step), mistakes.items(), rtol=0)
    if once != 30:
        raise Differs(f"The first number is {once:g}. How many keys has a sentence of 30 tokens?")
    if every_step != 840:
        raise Differs(
            f"The second number is {every_step:g}. A step that keeps nothing projects all 30 keys "
            "again, and there are 28 steps."
        )
    return (
        "30 or 840: the keys do not change from step to step, so 810 projections are for nothing."
    )


def count_links(pairs: Sequence[Pair], matrices: Sequence[Any]) -> Tensor:
    """Count links as the alignment judge does by its rule "threshold", for each of THRESHOLDS.

    Args:
        pairs: sentences of S source and T target words, with their gold links.
        matrices: the attention of each pair, shape (T, S).

    Returns:
        ``|A ∩ S|``, ``|A ∩ P|``, ``|A|`` and ``|S|`` for each threshold and pair, shape
        (19, pairs, 4).

    >>> pair = Pair(("a", "dog"), ("un", "chien"), frozenset({(0, 0)}), frozenset({(0, 0), (1, 1)}))
    >>> counts = count_links([pair], [torch.tensor([[0.9, 0.1], [0.25, 0.75]])])
    >>> counts[3, 0].tolist()  # at 0.20: one link is sure, two are possible, three were found
    [1, 2, 3, 1]
    """
    counts = torch.zeros(len(THRESHOLDS), len(pairs), 4, dtype=torch.int64)
    grid = torch.tensor(THRESHOLDS, dtype=torch.float64).reshape(-1, 1, 1)
    for place, (pair, matrix) in enumerate(zip(pairs, matrices, strict=True)):
        weights = torch.as_tensor(matrix).double()
        shape = len(pair.target), len(pair.source)
        if weights.shape != shape:
            raise Differs(
                f"matrices[{place}] has shape {tuple(weights.shape)}; its pair needs {shape}: a "
                "row for each target word, a column for each source word."
            )
        if not weights.isfinite().all():
            raise Differs(f"matrices[{place}] holds a weight that is not a finite number.")
        gold = torch.zeros(2, *shape, dtype=torch.bool)
        for kind, links in enumerate((pair.sure, pair.possible)):
            for source, target in links:
                gold[kind, target, source] = True
        # A float32 lies up to 6e-8 beside the number that it stands for; the judge allows 1e-7.
        result = weights + 1e-7 >= grid  # (T, S) >= (19, 1, 1) -> (19, T, S)
        for column, chosen in enumerate((result & gold[0], result & gold[1], result)):
            counts[:, place, column] = chosen.sum(dim=(1, 2))
        counts[:, place, 3] = gold[0].sum()
    return counts


def _error_rates(counts: Tensor) -> Tensor:
    """Error rates of counts (..., 4); nan where there is no link at all."""
    in_sure, in_possible, size, sure = counts.double().unbind(dim=-1)
    return 1 - (in_sure + in_possible) / (size + sure)


def _lowest(rates: Tensor) -> list[int]:
    """The places of the lowest rate: several, if they are equal."""
    return (rates <= rates.min() + 1e-9).nonzero().flatten().tolist()


def _sentence(target_length: int, source_length: int, sure_sources: Sequence[int]) -> Pair:
    """A pair whose target words all link to the same source words, surely."""
    sure = frozenset((i, t) for i in sure_sources for t in range(target_length))
    return Pair(("a",) * source_length, ("b",) * target_length, sure, sure)


# Forty target words with weights 0.62 (sure) and 0.38, and four sentences of one target word with
# weights 0.30, 0.30 and 0.40, all sure. Over all pairs 0.40 is best, and no other threshold.
EXAMPLE_PAIRS = [_sentence(40, 2, [0])] + [_sentence(1, 3, [0, 1, 2])] * 4
EXAMPLE_MATRICES = [[[0.62, 0.38]] * 40] + [[[0.3, 0.3, 0.4]]] * 4


@check(
    "4.9",
    right=(0.4, EXAMPLE_PAIRS, EXAMPLE_MATRICES),
    wrong=[(x, EXAMPLE_PAIRS, EXAMPLE_MATRICES) for x in (0.1, 0.3, 0.6, 0.42)],
)
def check_threshold(answer: float, pairs: Sequence[Pair], matrices: Sequence[Any]) -> str:
    """The threshold of lowest error rate over all pairs, when weights from it on are links."""
    result = number(answer, "the threshold")
    places = [i for i, x in enumerate(THRESHOLDS) if math.isclose(result, x, abs_tol=1e-6)]
    if not places:
        raise Differs(f"{result:g} is not one of the thresholds 0.05, 0.10, …, 0.95.")
    if len(pairs) != len(matrices) or len(pairs) == 0:
        raise Differs(
            f"There are {len(pairs)} pairs and {len(matrices)} matrices; one matrix for each pair "
            "is needed, and one pair at least."
        )
    here = places[0]
    counts = count_links(pairs, matrices)  # (19, N, 4)
    overall = counts.sum(dim=1)  # (19, N, 4) -> (19, 4)
    rates, rates_of_pairs = _error_rates(overall), _error_rates(counts)  # (19,), (19, N)
    if rates.isnan().any():
        raise Differs("These pairs have no sure link, so there is nothing to judge by.")
    best = _lowest(rates)
    if here in best:
        return "no other threshold of the nineteen has a lower error rate over all pairs."

    _, in_possible, size, _ = overall[here].tolist()
    below, above = best[0] < here, best[-1] > here
    if below and above:
        reason = "Lower rates exist both below and above it."
    elif above:
        reason = (
            f"Too low: of {size} links that are read off, {size - in_possible} are wrong, so "
            "precision suffers. A lower rate exists above."
        )
    else:
        reason = (
            f"Too high: only {size} links are read off, and right ones are lost, so recall "
            "suffers. A lower rate exists below."
        )
    if here in _lowest(rates_of_pairs.nanmean(dim=1)):
        reason += (
            " Yours is best for the mean of the sentences' own rates; add up the links of all "
            "pairs first, then divide once."
        )
    elif _lowest(rates_of_pairs[:, 0]) == [here]:
        reason += " Yours is best for the first sentence; all pairs count."
    raise Differs(f"At {result:.2f} the error rate over all pairs is {rates[here]:.3f}. {reason}")


def _links(row_of: int, look_at: Tensor, num_rows: int) -> set[Link]:
    """Links of the first rows, moved by some rows; `look_at` gives each row's column."""
    return {(look, row + row_of) for row, look in enumerate(look_at.tolist()[:num_rows])}


def _links_of(weights: Tensor) -> set[Link]:
    words = weights[:-1, :-1]  # (T, S)
    return _links(0, words.argmax(dim=1), len(words))


def _links_too_early(weights: Tensor) -> set[Link]:
    return _links(-1, weights[:, :-1].argmax(dim=1), len(weights))


@check(
    "4.5",
    right=(_links_of,),
    wrong=[
        lambda weights: _links(0, weights[:, :-1].argmax(dim=1), len(weights)),
        lambda weights: _links(0, weights.argmax(dim=1), len(weights) - 1),
        _links_too_early,
        lambda weights: {(look, column) for column, look in enumerate(weights.argmax(0).tolist())},
        lambda weights: {(row, look) for look, row in _links_of(weights)},
        lambda weights: set(),
    ],
)
def check_links(links_of: Callable[[Tensor], AbstractSet[Link]]) -> str:
    """Links read off the weights of all steps, (T + 1, S + 1): <eos> on neither side is a word."""
    generator = torch.Generator().manual_seed(45)
    for target_length, source_length in ((5, 6), (3, 7), (6, 3)):
        shape = target_length + 1, source_length + 1
        weights = (3 * torch.randn(*shape, generator=generator)).softmax(dim=1)
        weights[1] = torch.full((shape[1],), 0.1 / source_length)
        weights[1, -1] = 0.9  # this step looks at <eos>, and at a word next
        weights[1, 1] += 0.01
        case = f"with {target_length} French and {source_length} English words"
        result = call(links_of, weights, case=case)
        if not isinstance(result, AbstractSet):
            raise Differs(f"a set of links is needed; this is {type(result).__name__}.")
        right = _links_of(weights)
        if result == right:
            continue
        everywhere = weights.argmax(dim=1)
        down = weights.argmax(dim=0).tolist()
        mistakes = [
            (
                [_links(0, weights[:, :-1].argmax(dim=1), target_length + 1)],
                "The last row wrote <eos>, which is no French word.",
            ),
            (
                [
                    _links(0, everywhere, target_length),
                    {
                        link
                        for link in _links(0, everywhere, target_length)
                        if link[0] < source_length
                    },
                    _links(0, everywhere, target_length + 1),
                ],
                "<eos> is no English word, so leave its column out *before* you look for the "
                "largest weight: a row that looks at <eos> most still has a best word.",
            ),
            (
                [
                    _links(-1, look, rows)
                    for look in (everywhere, weights[:, :-1].argmax(dim=1))
                    for rows in (target_length, target_length + 1)
                ]
                + [
                    {link for link in _links(-1, look, target_length + 1) if link[1] >= 0}
                    for look in (everywhere, weights[:, :-1].argmax(dim=1))
                ],
                "The links lie one row too early: row 0 read <bos> and *wrote* French word 0.",
            ),
            (
                [{(look, column + move) for column, look in enumerate(down)} for move in (-1, 0)]
                + [{(column, look) for column, look in enumerate(down)}],
                "You look for the largest weight of each column. Weights share out 1 along a row: "
                "which French word asks, and which English word is looked at?",
            ),
            ([{(b, a) for a, b in right}], "A link is (English place, French place)."),
        ]
        for results, hint in mistakes:
            if result in results:
                raise Differs(hint)
        extra = sorted(result - right)
        missing = sorted(right - result)
        raise Differs(
            f"{case}, you have {extra[:2] or 'nothing'} too much and lack "
            f"{missing[:2] or 'nothing'}. A link is (English place, French place)."
        )
    return "a row belongs to the word that it wrote, and <eos> is a word on neither side."


@check(
    "4.6",
    right=("A", "C"),
    wrong=[*((letter, "C") for letter in "BCDE"), *(("A", letter) for letter in "ABDE")],
)
def check_evidence(plausible: str, faithful: str) -> str:
    """Which of five findings speak for plausible, and which for faithful: A and C."""
    expected = {"plausible": "A", "faithful": "C"}
    hints = {
        ("plausible", "B"): "BLEU judges the translation. Both of the walk's models had 96.",
        ("plausible", "C"): "Hiding asks what the model used; no person's links come into it.",
        ("plausible", "D"): "A row can be sharp and point at the wrong word.",
        ("plausible", "E"): "Whoever picked ten pictures could pick the ones that fit.",
        ("faithful", "A"): "Gold is what a person would draw. Did anybody ask the model?",
        ("faithful", "B"): "A good translation says that the model read *something* right.",
        ("faithful", "D"): "A sharp row may be dispensable: *la* survived a weight of 0.99.",
        ("faithful", "E"): "That it convinces people is the weakest kind of plausible.",
    }
    for kind, answer in (("plausible", plausible), ("faithful", faithful)):
        if not isinstance(answer, str):
            raise Differs(f"Name them in a string, such as 'BD'; this is {type(answer).__name__}.")
        chosen = set(answer.upper()) - set(" ,")
        if unknown := sorted(chosen - set("ABCDE")):
            raise Differs(f"There are A to E; {unknown[0]!r} is none of them.")
        for letter in sorted(chosen - set(expected[kind])):
            raise Differs(f"Does {letter} speak for {kind}? {hints[kind, letter]}")
        if not chosen:
            raise Differs(f"One of the five does speak for {kind}.")
    return "gold for plausible, taking away for faithful; the other three prove neither."


def _hidden_weights(scores: Tensor, valid_len: int, hidden: list[int]) -> Tensor:
    seen = torch.arange(len(scores)) < valid_len
    seen[hidden] = False
    return scores.masked_fill(~seen, -math.inf).softmax(dim=0).nan_to_num(0.0)


def _nothing_left(scores: Tensor, valid_len: int, hidden: list[int]) -> Tensor:
    weights = _hidden_weights(scores, valid_len, hidden)
    return weights / weights.sum()


@check("4.7", right=(_hidden_weights,), wrong=[_nothing_left])
def check_hidden_weights(hidden_weights: Callable[[Tensor, int, list[int]], Tensor]) -> str:
    """Weights of one row if padding and some more places are hidden; zeros if nothing is left."""
    scores = torch.tensor([1.0, 3.0, -1.0, 0.5, 2.0, 4.0])
    valid = torch.arange(6) < 5
    hidden = [1]
    seen = valid & ~torch.isin(torch.arange(6), torch.tensor(hidden))

    def weigh(scores: Tensor, seen: Tensor) -> Tensor:
        return scores.masked_fill(~seen, -math.inf).softmax(dim=0)

    expected = _hidden_weights(scores, 5, hidden)
    result = call(hidden_weights, scores, 5, hidden)
    result = tensor_like(result, expected, "your weights")
    table = [
        (
            [weigh(scores, valid) * seen, scores.softmax(dim=0) * seen],
            "The hidden weight is gone, but the others do not share out 1: hide the *score*, "
            "before the softmax.",
        ),
        (
            [(scores * seen).softmax(dim=0), weigh(scores * seen, valid)],
            "A score of 0 still gets exp(0) = 1. Which score has an exponential of 0?",
        ),
        (
            [weigh(scores, torch.arange(6) != 1)],
            "The padding takes part: only the first valid_len places are states.",
        ),
        ([weigh(scores, valid)], "The padding is out, and the hidden places still take part."),
        (
            [weigh(scores, torch.arange(6) == 1)],
            "It is the other way round: the places in `hidden` are not to be seen.",
        ),
    ]
    recognise(result, [(mistake, hint) for mistakes, hint in table for mistake in mistakes])
    same(result, expected, "Hide scores by minus infinity, then take the softmax.", "your weights")

    low = torch.tensor([-2e9, 0.0, -3e9])
    result = tensor_like(call(hidden_weights, low, 3, [1]), low, "with very low scores, yours")
    same(
        result,
        torch.tensor([1.0, 0.0, 0.0]),
        "Only minus infinity is lower than every score.",
        "with scores of -2e9, 0 and -3e9 and the second hidden, your weights",
    )
    for case, length, places in (
        ("with nothing hidden", 4, []),
        ("with two hidden", 6, [0, 5]),
        ("with padding hidden again", 3, [4, 0]),
    ):
        expected = _hidden_weights(scores, length, places)
        result = call(hidden_weights, scores, length, places, case=case)
        same(result, expected, "Which places are left?", f"{case}, your weights")
    nothing = call(hidden_weights, scores, 2, [0, 1], case="with all hidden")
    nothing = tensor_like(nothing, scores, "with all hidden, your result")
    if nothing.isnan().any():
        raise Differs(
            "With all states hidden, your weights are nan: a softmax of nothing but minus "
            "infinity divides 0 by 0. Chapter 3 gives such a row zeros."
        )
    same(nothing, torch.zeros(6), "With all hidden, nothing is read.", "with all hidden, yours")
    return "a hidden score is minus infinity, the rest share out 1, and an empty row is zeros."


@check(
    "4.8",
    right=(True, False, False),
    wrong=[(False, False, False), (True, True, False), (True, False, True)],
)
def check_audit(first: bool, second: bool, third: bool) -> str:
    """Three claims about three blind pictures: the first holds, the two others do not."""
    hints = {
        "first": (
            True,
            "Put X's error rate beside the diagonal's. By which definition is it not plausible?",
        ),
        "second": (
            False,
            "Worse than drawing links at random is suspicious. Move Y's links by one row with "
            "`d2l.shift_links` and judge again.",
        ),
        "third": (
            False,
            "A wrong word is no proof. Of Z's rows that miss gold, how often was the state "
            "looked at the worst one to lose?",
        ),
    }
    answers = {
        which: truth(answer, f"your answer to the {which} claim")
        for which, answer in zip(hints, (first, second, third), strict=True)
    }
    for which, (expected, hint) in hints.items():
        if answers[which] is not expected:
            raise Differs(f"The {which} claim: {hint[0].lower() + hint[1:]}")
    return "an error rate judges model, labels and encoder at once; ask which of them it was."
