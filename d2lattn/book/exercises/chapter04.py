"""Checks for the exercises of chapters 4, 4a and 4b: Bahdanau attention and its pictures."""

import math
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lattn.analysis.metrics import Link, alignment_links, alignment_scores
from d2lattn.book.exercises.checking import (
    Function,
    WrongAnswer,
    call,
    check,
    compare,
    expect,
    judge_number,
    module_with,
    read_number,
    read_parts,
    read_tensor,
    recognise,
    tell_apart,
)
from d2lattn.book.exercises.choices import choice
from d2lattn.corpus.pairs import Pair
from d2lattn.seq2seq import Seq2SeqAttentionDecoder
from d2lattn.training import shift_right

# Five sure links, four more that are possible; of eight found, four are sure and six possible.
SURE = frozenset({(0, 0), (1, 1), (2, 2), (3, 3), (4, 5)})
POSSIBLE = SURE | {(2, 3), (3, 2), (4, 4), (5, 5)}
FOUND = frozenset({(0, 0), (1, 1), (2, 2), (3, 3), (2, 3), (4, 4), (5, 0), (0, 4)})

THRESHOLDS = tuple(step / 20 for step in range(1, 20))
"""The thresholds of exercise 4.9: 0.05, 0.10, …, 0.95."""


def _error_rate(
    links: AbstractSet[Link], sure: AbstractSet[Link], possible: AbstractSet[Link]
) -> float:
    return 1 - (len(links & sure) + len(links & possible)) / (len(links) + len(sure))


def _with_five_sure(
    links: AbstractSet[Link], sure: AbstractSet[Link], possible: AbstractSet[Link]
) -> float:
    return 1 - (len(links & sure) + len(links & possible)) / (len(links) + len(SURE))


@check("4.2", right=(_error_rate,), wrong=[_with_five_sure])
def check_error_rate(error_rate: Function) -> str:
    """The alignment error rate of found links, beside sure and possible ones."""
    result = read_number(call(error_rate, FOUND, SURE, POSSIBLE), "your error rate")
    a, s, p = len(FOUND), len(SURE), len(POSSIBLE)
    in_s, in_p = len(FOUND & SURE), len(FOUND & POSSIBLE)
    mistakes = [
        ((in_s + in_p) / (a + s), "This grows as the links get better: subtract it from 1."),
        (
            1 - 2 * in_s / (a + s),
            "That is 1 - F1 with sure links alone. A found link that is possible is not wrong: "
            "one of the two intersections is with P.",
        ),
        (
            1 - 2 * in_p / (a + s),
            "Both of your intersections are with P. The first one counts which sure links were "
            "found: it is with S.",
        ),
        (1 - in_p / a, "That is 1 - precision: a missing sure link does not count."),
        (1 - in_s / s, "That is 1 - recall: linking every word with every word would be perfect."),
        (
            1 - (in_s + in_p) / (a + p),
            "You divide by |A| + |P|, so a missing possible link counts. Only sure links "
            "have to be found.",
        ),
    ]
    recognise(result, mistakes)
    other = frozenset({(0, 0), (1, 2)})
    cases = [
        ("with |A| = 8, |S| = 5, |A ∩ S| = 4 and |A ∩ P| = 6", FOUND, SURE, POSSIBLE),
        ("when all possible links are found and no other", POSSIBLE, SURE, POSSIBLE),
        ("when no link is found", frozenset(), SURE, POSSIBLE),
        ("with two sure links and three possible links", FOUND, other, other | {(2, 3)}),
    ]
    for case, links, sure, possible in cases:
        rate = read_number(call(error_rate, links, sure, possible, case=case), f"{case}, your rate")
        expected = _error_rate(links, sure, possible)
        if abs(rate - expected) > 1e-4:  # four digits are enough
            hint = ""
            if sure is not SURE and abs(rate - _with_five_sure(links, sure, possible)) < 1e-4:
                hint = " Count the sure links; there are not always five."
            raise WrongAnswer(f"{case}, your error rate is {tell_apart(rate, expected)}{hint}")
    return "sure links have to be found; possible links may be left out."


class _Decoder(nn.Module):
    """One step of Bahdanau's decoder, with one of the mistakes of STEP_SLIPS."""

    def __init__(self, vocab_size: int, embed_size: int, num_hiddens: int, slip: str = "") -> None:
        super().__init__()
        self.slip = slip
        self.W_k = nn.Linear(num_hiddens, num_hiddens, bias=False)
        self.W_q = nn.Linear(num_hiddens, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.gru = nn.GRUCell(num_hiddens + embed_size, num_hiddens)
        self.dense = nn.Linear(num_hiddens, vocab_size)

    def scores(self, s: Tensor, h: Tensor) -> Tensor:
        """Score each state of the source, (B, S)."""
        if self.slip == "dot product":
            return (h @ s.unsqueeze(-1)).squeeze(-1) / math.sqrt(s.shape[-1])
        if self.slip == "swapped":
            hidden = self.W_k(s).unsqueeze(1) + self.W_q(h)  # (B, S, D)
        else:
            hidden = self.W_q(s).unsqueeze(1) + self.W_k(h)
        return self.w_v(hidden if self.slip == "no tanh" else hidden.tanh()).squeeze(-1)

    def forward(
        self, y: Tensor, s: Tensor, h: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        scores, slip = self.scores(s, h), self.slip
        if mask is not None and slip not in ("no mask", "mask after"):
            scores = scores.masked_fill(~mask[:, 0], 0.0 if slip == "score 0" else -math.inf)
        weights = scores.softmax(dim=0 if slip == "batch" else -1).unsqueeze(1)  # (B, 1, S)
        if mask is not None and slip == "mask after":
            weights = weights * mask
        values = self.W_k(h) if slip == "projected values" else h
        context = (weights @ values).squeeze(1)  # (B, D)
        x = [context, self.embedding(y)]
        new = self.gru(torch.cat(x[::-1] if slip == "order" else x, dim=-1), s)
        logits = self.dense(s if slip == "old state" else new)
        return logits.softmax(dim=-1) if slip == "softmax" else logits, new, weights


STEP_SLIPS = {
    "no tanh": "The hyperbolic tangent is missing: without it, the query cancels in the "
    "softmax, and the weights are the same at every step.",
    "swapped": "The projections are swapped: W_q is for the query s, W_k for the keys h.",
    "dot product": "That is a dot product. The additive score is w_v^T tanh(W_q s + W_k h).",
    "no mask": "Padding is included in the softmax: mask its scores first.",
    "mask after": "The weights no longer sum to 1: mask the scores, before the softmax.",
    "score 0": "A score of 0 still gets weight, since exp(0) = 1. Use minus infinity.",
    "batch": "The softmax runs along the batch. It runs along the source words.",
    "projected values": "You averaged the projected keys. The values are the states h themselves.",
    "order": "The GRU's input is [context; embedding], in this order.",
    "old state": "The logits are computed from the previous state. Use the new one.",
    "softmax": "These are probabilities. Return the logits; the loss contains the softmax.",
}


@check("4.1", right=(_Decoder,), wrong=[partial(_Decoder, slip=slip) for slip in STEP_SLIPS])
def check_step(decoder_class: Function) -> str:
    """Compare a class, of (vocab_size, embed_size, num_hiddens), with the package's decoder."""
    sizes = 7, 4, 4  # the embedding is as wide as a state: their order is the reader's to get right
    reference = _Decoder(*sizes)
    weights = {
        name: torch.randn(parameter.shape) for name, parameter in reference.named_parameters()
    }
    needs = (
        "The layers needed are W_k, W_q and w_v (nn.Linear without a bias), embedding, gru (an "
        "nn.GRUCell) and dense."
    )
    decoder = module_with(decoder_class, sizes, weights, needs)
    y, lens = torch.tensor([3, 5]), torch.tensor([3, 2])
    s, h = torch.randn(2, 4), torch.randn(2, 3, 4)
    mask = (torch.arange(3) < lens.unsqueeze(1)).unsqueeze(1)  # (B, 1, S)

    package = Seq2SeqAttentionDecoder(*sizes, 1, dropout=0).eval()
    package.load_state_dict(dict(zip(package.state_dict(), weights.values(), strict=True)))
    for m, case in ((mask, ""), (None, "without a mask")):
        state = package.init_state((h, s.unsqueeze(0)), None if m is None else lens)
        logits, state = package(y.unsqueeze(1), state)
        expected = logits.squeeze(1), state.hidden[0], package.attention_weights
        result = read_parts(
            call(decoder, y, s, h, m, case=case),
            3,
            "Return the logits, the new state and the weights.",
        )
        names = "logits", "new state", "weights"
        parts = [
            read_tensor(part, wanted, f"your {name}")
            for name, part, wanted in zip(names, result, expected, strict=True)
        ]
        mistakes = []
        for slip, hint in STEP_SLIPS.items():
            wrong = _Decoder(*sizes, slip)
            wrong.load_state_dict(weights)
            mistakes.append((_flat(wrong(y, s, h, m)), hint))
        recognise(_flat(parts), mistakes, _flat(expected))
        for name, part, wanted in reversed(list(zip(names, parts, expected, strict=True))):
            hint = "Check, in this order: scores, mask, weights, context, GRU, logits."
            expect(part, wanted, hint, f"{case}, your {name}".removeprefix(", "))
    return "the results are those of the package's decoder, with and without a mask."


def _flat(parts: Sequence[Tensor]) -> Tensor:
    return torch.cat([part.detach().flatten() for part in parts])


@check("4a.1", right=(shift_right,))
def check_shift_right(function: Function) -> str:
    """What the decoder reads in training: a target (B, T), shifted right behind <bos>."""
    target = torch.tensor([[5, 6, 7, 2], [4, 3, 2, 0]])
    expected = shift_right(target)
    mistakes = [
        (target, "That is the target itself: the decoder would read the word to be predicted."),
        (target[:, :-1], "<bos>, token 1, is missing in front of each row."),
        (torch.cat((expected[:, :1], target), dim=1), "Leave out the last token: T are needed."),
        (target.roll(1, 1), "The last token of each row came to its front. <bos> belongs there."),
        (target.roll(-1, 1), "You shifted left: the decoder would read the word that comes after."),
        (shift_right(target.T).T, "You shifted the sentences. Each row is shifted on its own."),
        (shift_right(target, 0), "There is padding in front of each row. <bos> is token 1."),
    ]
    hint = "<bos> comes first, and then the target without its last token."
    compare(function, (target,), expected, mistakes, hint, "your input")
    return "each step reads the correct word before the one that it has to predict."


def _token_losses(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")  # (B, T)


def _valid(targets: Tensor, valid_lens: Tensor) -> Tensor:
    return torch.arange(targets.shape[1]) < valid_lens.unsqueeze(1)  # (T,) < (B, 1) -> (B, T)


def _masked_loss(logits: Tensor, targets: Tensor, valid_lens: Tensor) -> Tensor:
    return _token_losses(logits, targets)[_valid(targets, valid_lens)].mean()


@check("4a.2", right=(_masked_loss,))
def check_masked_loss(masked_loss: Function) -> str:
    """The mean loss of the valid tokens of a batch, in nats."""
    logits = 2 * torch.randn(3, 5, 4)  # (B, T, V)
    targets = torch.randint(4, (3, 5))
    targets[0, 0], targets[2, 4] = 0, 1  # a token 0 that is valid, and padding that is not 0
    valid_lens = torch.tensor([5, 3, 1])
    valid, losses = _valid(targets, valid_lens), _token_losses(logits, targets)
    total, num_valid = (losses * valid).sum(), valid.sum()
    expected = total / num_valid

    result = read_number(call(masked_loss, logits, targets, valid_lens), "your loss")
    mistakes = [
        (losses.mean(), "That is the mean over all B · T positions: the padding counts, too."),
        (
            total / losses.numel(),
            "The padding's loss is 0, but you still divide by all B · T positions: a batch with "
            "more padding looks better. Divide by the number of valid tokens.",
        ),
        (total / 3, "You divided by B: that is the mean loss per sentence, not per token."),
        (
            ((losses * valid).sum(dim=1) / valid_lens).mean(),
            "That is the mean of the sentences' means: a token of a short sentence counts for "
            "more. Add up the losses of all valid tokens, then divide once.",
        ),
        (-((-losses).exp() * valid).sum() / num_valid, "You average probabilities: take logs."),
        (total, "That is the sum of the valid tokens' losses; divide by their number."),
        (-expected, "The sign is wrong: a likely token has a low loss. Take minus the log."),
        (losses[targets != 0].mean(), "Padding comes after valid_lens tokens; a 0 may be valid."),
    ]
    recognise(result, mistakes)
    expect(
        result, expected, "Average -log_softmax of the targets over the valid tokens.", "your loss"
    )
    return "every valid token counts once, and padding does not count."


@check("4.4", right=((30, 840),), wrong=[((58, 840),), ((30, 900),)])
def check_projections(answer: Sequence[int]) -> str:
    """How many keys are projected for 30 source tokens and 28 steps: once, and at every step."""
    numbers = read_parts(
        answer, 2, "Give a pair of integers: (projected once, projected at every step)."
    )
    once, every_step = (
        read_number(part, f"the {which} number")
        for part, which in zip(numbers, ("first", "second"), strict=True)
    )
    mistakes = {
        (840, 30): "The two are swapped: the first is for keys that are projected once.",
        (1, 28): "You counted how often W_k is used; each time, it projects all keys.",
        (30, 28): "The first number is right. How many keys are projected at each of the 28 steps?",
        (28, 840): "The second number is right. Keys belong to the source, not to the target.",
    }
    recognise((once, every_step), mistakes.items(), rtol=0)
    hint = "Your first number is {:g}. How many keys does a sentence of 30 tokens have?"
    judge_number(once, 30, {}, hint)
    hint = "Your second number is {:g}. Each step projects all 30 keys again."
    judge_number(every_step, 840, {}, hint)
    return (
        "30 or 840: the keys do not change from step to step, so 810 projections are unnecessary."
    )


def _error_rate_at(threshold: float, pairs: Sequence[Pair], matrices: Sequence[Any]) -> float:
    # A float32 lies up to 6e-8 beside the number that it stands for.
    links = [
        alignment_links(torch.as_tensor(matrix).double(), threshold - 1e-7) for matrix in matrices
    ]
    gold = [pair.sure for pair in pairs], [pair.possible for pair in pairs]
    return alignment_scores(links, *gold).error_rate


def one_pair(target_length: int, source_length: int, sure_sources: Sequence[int]) -> Pair:
    """A pair whose target words all link to the same source words, surely."""
    sure = frozenset((i, t) for i in sure_sources for t in range(target_length))
    return Pair(("a",) * source_length, ("b",) * target_length, sure, sure)


# Forty target words with weights 0.62 (sure) and 0.38, and four sentences of one target word with
# weights 0.30, 0.30 and 0.40, all sure. Over all pairs 0.40 is best, and no other threshold.
EXAMPLE_PAIRS = [one_pair(40, 2, [0])] + [one_pair(1, 3, [0, 1, 2])] * 4
EXAMPLE_MATRICES = [[[0.62, 0.38]] * 40] + [[[0.3, 0.3, 0.4]]] * 4


@check(
    "4.9",
    right=(0.4, EXAMPLE_PAIRS, EXAMPLE_MATRICES),
    wrong=[(x, EXAMPLE_PAIRS, EXAMPLE_MATRICES) for x in (0.1, 0.6, 0.42)],
)
def check_threshold(answer: float, pairs: Sequence[Pair], matrices: Sequence[Any]) -> str:
    """The threshold of lowest error rate over all pairs, when weights from it on are links."""
    result = read_number(answer, "the threshold")
    places = [i for i, x in enumerate(THRESHOLDS) if math.isclose(result, x, abs_tol=1e-6)]
    if not places:
        raise WrongAnswer(f"{result:g} is not one of the thresholds 0.05, 0.10, …, 0.95.")
    rates = [_error_rate_at(threshold, pairs, matrices) for threshold in THRESHOLDS]
    here = places[0]
    best = [place for place, rate in enumerate(rates) if rate <= min(rates) + 1e-9]
    if here in best:
        return "none of the nineteen thresholds has a lower error rate over all pairs."
    reason = (
        "Too low: at a higher threshold, fewer of the links are wrong."
        if best[-1] > here
        else "Too high: at a lower threshold, fewer of the correct links are missing."
    )
    raise WrongAnswer(
        f"At {result:.2f} the error rate over all pairs is {rates[here]:.3f}. {reason}"
    )


def _links_of(weights: Tensor) -> set[Link]:
    return {(word, row) for row, word in enumerate(weights[:-1, :-1].argmax(dim=1).tolist())}


WRONG_LINKS: tuple[tuple[Callable[[Tensor], set[Link]], str], ...] = (
    (
        lambda weights: set(_links_of(torch.cat((weights, weights[-1:])))),
        "The last row belongs to <eos>, which is not a French word.",
    ),
    (
        lambda weights: {(w, row) for row, w in enumerate(weights[:-1].argmax(dim=1).tolist())},
        "<eos> is not an English word, so leave its column out *before* you find the largest "
        "weight: a row whose largest weight is on <eos> still needs a link to a word.",
    ),
    (
        lambda weights: {(w, row - 1) for w, row in _links_of(torch.cat((weights, weights[-1:])))},
        "The links are one row too early: step 0 read <bos> and *wrote* French word 0.",
    ),
    (
        lambda weights: {(w, column) for column, w in enumerate(weights.argmax(dim=0).tolist())},
        "You take the largest weight of each column. The weights of a *row* add up to 1, and a row "
        "belongs to one French word.",
    ),
    (
        lambda weights: {(w, column - 1) for column, w in enumerate(weights.argmax(0).tolist())},
        "You take the largest weight of each column, and move the links by one. A step is a row.",
    ),
    (
        lambda weights: {(row, word) for word, row in _links_of(weights)},
        "A link is (English position, French position).",
    ),
)


@check("4.5", right=(_links_of,), wrong=[wrong for wrong, _ in WRONG_LINKS])
def check_links(links_of: Function) -> str:
    """Links from the weights of all steps, (T + 1, S + 1): <eos> is not a word on either side."""
    for target_length, source_length in ((5, 6), (3, 7), (6, 3)):
        shape = target_length + 1, source_length + 1
        weights = (3 * torch.randn(*shape)).softmax(dim=1)
        weights[1] = torch.full((shape[1],), 0.1 / source_length)
        weights[1, -1] = 0.9  # the largest weight of this step is on <eos>, the next on a word
        weights[1, 1] += 0.01
        case = f"with {target_length} French and {source_length} English words"
        result = call(links_of, weights, case=case)
        if not isinstance(result, AbstractSet):
            raise WrongAnswer(f"a set of links is needed; this is {type(result).__name__}.")
        right = _links_of(weights)
        for wrong, hint in WRONG_LINKS:
            if result != right and result == wrong(weights):
                raise WrongAnswer(hint)
        if result != right:
            extra, missing = sorted(result - right), sorted(right - result)
            raise WrongAnswer(
                f"{case}, wrong links: {extra[:2] or 'none'}; missing links: "
                f"{missing[:2] or 'none'}. A link is (English position, French position)."
            )
    return "a row belongs to the word that was written, and <eos> is not a word on either side."


check_evidence = choice("4.6")

Step = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def _write(step: Step, s: Tensor, max_len: int, slip: str = "") -> Tensor:
    y = torch.ones(len(s), dtype=torch.int64)  # <bos>
    ended = y == 2  # <eos>
    words: list[Tensor] = []
    while len(words) < max_len and (slip == "no end" or not ended.all()):
        if slip == "any" and ended.any():
            break
        read = torch.ones_like(y) if slip == "bos again" else y
        logits, new = step(read, s)
        s = s if slip == "old state" else new
        y = logits.argmax(dim=-1)
        ended = ended | (y == 2)
        words.append(y)
    words = [torch.ones_like(y), *words] if slip == "with bos" else words
    return torch.stack(words, dim=1)


WRITING_SLIPS = {
    "bos again": "Each step reads <bos>. Feed back the word that was written last.",
    "old state": "Each step starts from the first state. Pass on the new state.",
    "no end": "You continue after every sentence has ended with <eos>.",
    "any": "You stop at the first <eos> in the batch. The other sentences are not finished.",
    "with bos": "Your output contains <bos>, which is an input and not a word that was written.",
}


@check("4.7", right=(_write,), wrong=[partial(_write, slip=slip) for slip in WRITING_SLIPS])
def check_write(write: Function) -> str:
    """Greedy decoding of a batch, (B, T), up to the last sentence's <eos> or max_len tokens."""
    table = torch.randn(8, 8)  # 1: <bos>, 2: <eos>

    def step(y: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        logits = table[y] + table.roll(1, 0)[s[:, 0].long() % 8]
        logits[:, 2] += 99 * (s[:, 0] == 7) - 9  # each row writes <eos> at one step alone
        return logits, s + 1

    for start, max_len in (((0.0, 3.0, 1.0), 20), ((0.0, 1.0), 3)):
        s = torch.tensor(start).unsqueeze(1)  # (B, 1)
        result = call(write, step, s, max_len)
        expected = _write(step, s, max_len)
        mistakes = [(_write(step, s, max_len, slip), hint) for slip, hint in WRITING_SLIPS.items()]
        recognise(result, mistakes, expected)
        result = read_tensor(result, expected, "your output")
        for row, (found, wanted) in enumerate(zip(result.tolist(), expected.tolist(), strict=True)):
            end = wanted.index(2) + 1 if 2 in wanted else max_len  # what comes later is free
            if found[:end] != wanted[:end]:
                raise WrongAnswer(
                    f"Sentence {row} is {found[:end]}; {wanted[:end]} was expected. Each step "
                    "takes the word with the largest logit."
                )
    return "read <bos>, take the likeliest word, feed it back, stop at <eos>."


check_audit = choice("4.8")
