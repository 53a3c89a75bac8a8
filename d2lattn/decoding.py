"""Translating with a trained model: greedy and beam search.

Everything here works with any encoder and decoder that follow the interfaces in `seq2seq`. Among
equally likely tokens, the one with the smallest id is chosen. `source` holds tokens (B, S), of
lengths `source_valid_lens`, (B,), or None without padding. A translation starts after the token
`bos`, and ends with `eos` or after `max_len` tokens.

Raises: TypeError for a source or sizes that are not integers; ValueError for sizes below 1, or a
source that does not fit the model; FloatingPointError if no token is the likeliest, because
scores are NaN or all −∞.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from d2lattn.checks import argument_error, check_integers, check_shapes, check_sizes
from d2lattn.seq2seq import Decoder, EncoderDecoder
from d2lattn.training import evaluating


@dataclass(frozen=True)
class Hypothesis:
    """One translation of one sentence. Two are equal if all but their weights agree."""

    tokens: list[int]  # without <bos> and <eos>
    score: float  # log-probability of the tokens and of <eos>, in nats
    finished: bool  # whether <eos> came within max_len tokens
    # (..., tokens, valid source tokens), or None without attention; == would give a tensor.
    attention_weights: Tensor | None = field(compare=False)


def greedy_steps(decoder: Decoder, state: Any, tokens: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Continue `tokens` endlessly, taking the likeliest token at every step.

    The decoder needs no source, and runs in the mode (training or eval) that it is in.

    >>> from d2lattn.transformer import TransformerDecoder
    >>> decoder = TransformerDecoder(5, 4, 8, 2, 1, cross_attention=False)  # a language model
    >>> decoder.dense.weight.data[:], decoder.dense.bias.data[:] = 0, torch.tensor([0, 0, 0, 9, 0])
    >>> steps = greedy_steps(decoder, decoder.init_state(), torch.tensor([[1, 4]]))
    >>> [token.tolist() for token, _ in islice(steps, 3)]
    [[[3]], [[3]], [[3]]]

    Takes a state from `init_state` or an earlier pass, and the tokens to read first, (B, T); yields
    each next token and its log-probability, (B, 1) each.
    """
    while True:
        logits, state = decoder(tokens, state)  # (B, T) -> (B, T, V); T is 1 from the second on
        log_prob, tokens = _log_probs(logits).max(dim=-1, keepdim=True)
        yield tokens, log_prob


@torch.no_grad()
def greedy_decode(
    model: EncoderDecoder,
    source: Tensor,
    source_valid_lens: Tensor | None = None,
    *,
    max_len: int = 50,
    bos: int = 1,
    eos: int = 2,
) -> list[Hypothesis]:
    """Translate each row of a batch, taking the likeliest token at every step until <eos>.

    >>> from d2lattn.seq2seq import Seq2SeqDecoder, Seq2SeqEncoder
    >>> model = EncoderDecoder(Seq2SeqEncoder(5, 2, 2, 1), Seq2SeqDecoder(5, 2, 2, 1))
    >>> chances = torch.tensor([0.0, 0.0, 0.25, 0.75, 0.0])  # <eos> 1/4, token 3 the rest, always
    >>> dense = model.decoder.dense
    >>> dense.weight.data, dense.bias.data = torch.zeros(5, 2), chances.log()
    >>> [best] = greedy_decode(model, torch.tensor([[4, 2]]), max_len=5)
    >>> best.tokens, round(math.exp(best.score), 3), best.finished  # 0.75 ** 5
    ([3, 3, 3, 3, 3], 0.237, False)
    """
    check_integers("source", source)
    check_shapes(source=(source, "B", "S"))
    check_sizes(max_len=max_len)
    score = torch.zeros(len(source), 1, device=source.device)
    ended = torch.zeros(len(source), 1, dtype=torch.bool, device=source.device)
    written: list[Tensor] = []
    step_weights: list[Any] = []
    with evaluating(model):
        encoded = model.encoder(source, source_valid_lens)
        state = model.decoder.init_state(encoded, source_valid_lens)
        steps = greedy_steps(model.decoder, state, source.new_full((len(source), 1), bos))
        for token, log_prob in islice(steps, max_len):  # (B, 1) each
            written.append(token)
            step_weights.append(_last_weights(model.decoder))  # (B, ..., 1, S)
            _check_likeliest(log_prob, ~ended, len(written))
            score = score + log_prob.masked_fill(ended, 0.0)
            ended = ended | (token == eos)
            if ended.all():
                break
    weights = None if step_weights[0] is None else torch.cat(step_weights, dim=-2)  # (B, ..., T, S)
    return _hypotheses(torch.cat(written, dim=1), score, weights, eos, source_valid_lens)


@torch.no_grad()
def beam_search(
    model: EncoderDecoder,
    source: Tensor,
    source_valid_lens: Tensor | None = None,
    *,
    beam_size: int = 4,
    length_penalty: float = 0.0,
    max_len: int = 50,
    bos: int = 1,
    eos: int = 2,
) -> list[Hypothesis]:
    """Translate a batch, keeping several hypotheses for each sentence.

    The slots of the beam are filled in order: the first gets the best continuation of itself, the
    second the best one left of the first two, and so on. So the first slot is greedy search, and
    slots do not depend on how many follow: a larger beam finds all that a smaller one finds. (With
    the usual beam, which ranks all continuations together, a larger beam can lose the better
    translation.) A finished hypothesis keeps its slot.

    >>> from d2lattn.seq2seq import Seq2SeqDecoder, Seq2SeqEncoder
    >>> model = EncoderDecoder(Seq2SeqEncoder(5, 2, 2, 1), Seq2SeqDecoder(5, 2, 2, 1))
    >>> chances = torch.tensor([0.0, 0.0, 0.25, 0.75, 0.0])  # the example of `greedy_decode`
    >>> dense = model.decoder.dense
    >>> dense.weight.data, dense.bias.data = torch.zeros(5, 2), chances.log()
    >>> [best] = beam_search(model, torch.tensor([[4, 2]]), max_len=5)
    >>> best.tokens, round(math.exp(best.score), 3), best.finished  # <eos> at once: more likely
    ([], 0.25, True)

    A `beam_size` of 1 is greedy search. Hypotheses are compared by log-probability / length**p,
    where p is `length_penalty`, finite, and length counts <eos>: at 0, the most likely translation
    wins; a larger p favours longer ones. Returns the best of each row, its score without penalty.

    Source: Lemons et al. 2022, "Beam Search: Faster and Monotonic".
    """
    check_integers("source", source)
    check_shapes(source=(source, "B", "S"))
    check_sizes(max_len=max_len, beam_size=beam_size)
    if not math.isfinite(length_penalty):
        raise argument_error(ValueError, "length_penalty", length_penalty, "to be finite")
    batch_size, device = len(source), source.device
    # At the start all slots of a sentence are the same, so only the first may be continued.
    score = torch.full((batch_size, beam_size), -torch.inf, device=device)
    score[:, 0] = 0.0
    alive = score == 0.0  # (B, K)
    first_row = torch.arange(batch_size, device=device).unsqueeze(1) * beam_size  # (B, 1)
    written = source.new_empty((batch_size * beam_size, 0))  # (B K, T)
    token = source.new_full((batch_size * beam_size, 1), bos)  # (B K, 1)
    all_weights = None
    with evaluating(model):
        encoded = model.encoder(source, source_valid_lens)
        state = model.decoder.init_state(encoded, source_valid_lens)
        rows = torch.arange(batch_size, device=device).repeat_interleave(beam_size)
        state = model.decoder.select_state(state, rows)  # K rows a sentence: (B K, ...)
        for step in range(1, max_len + 1):
            logits, state = model.decoder(token, state)  # (B K, 1) -> (B K, 1, V)
            log_probs = _log_probs(logits).unflatten(0, (batch_size, beam_size))
            _check_likeliest(log_probs.amax(dim=-1), alive, step)
            slot, token, score, alive = _fill_slots(score, alive, log_probs, eos)  # (B, K) each
            rows = (first_row + slot).flatten()  # (B, 1) + (B, K) -> (B K,)
            token = token.view(-1, 1)  # (B, K) -> (B K, 1)
            state = model.decoder.select_state(state, rows)
            written = torch.cat((written[rows], token), dim=1)  # (B K, T)
            step_weights = _last_weights(model.decoder)  # (B K, ..., 1, S)
            if step_weights is not None:
                if all_weights is not None:
                    step_weights = torch.cat((all_weights, step_weights), dim=-2)
                all_weights = step_weights[rows]
            # Scores never rise: once all that are alive are below the best that ended, it wins.
            best_alive = score.masked_fill(~alive, -torch.inf).amax(dim=1)
            best_ended = score.masked_fill(alive, -torch.inf).amax(dim=1)
            if not alive.any() or (length_penalty == 0 and (best_alive < best_ended).all()):
                break
    length = (written != eos).sum(dim=-1) + 1  # (B K,): <eos> may stand at the end only
    length = length.clamp(max=written.shape[-1]).view_as(score)
    # The largest score / length**p, by the logarithm of its negative: the power could overflow. On
    # the CPU, because not every device has double precision, which keeps close scores apart.
    cost = (-score.cpu().double()).log() - length_penalty * length.cpu().double().log()  # (B, K)
    winner = cost.argmin(dim=1, keepdim=True).to(device)  # (B, 1)
    rows = (first_row + winner).flatten()  # (B,)
    weights = None if all_weights is None else all_weights[rows]
    return _hypotheses(written[rows], score.flatten()[rows], weights, eos, source_valid_lens)


def _fill_slots(
    score: Tensor, alive: Tensor, log_probs: Tensor, eos: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Fill slot j with the best continuation of slots 0 to j that no slot before j has taken.

    Takes scores (B, K), which slots are alive (B, K) and log-probabilities (B, K, V); returns which
    slot each one continues, its token, its score, and whether it is alive: (B, K) each.
    """
    _, beam_size, vocab_size = log_probs.shape
    num_choices = min(beam_size, vocab_size)  # no slot can be continued more often than that
    gains, choices = _best_tokens(log_probs, num_choices)  # (B, K, C)
    totals = (score.unsqueeze(-1) + gains).masked_fill(~alive.unsqueeze(-1), -torch.inf)
    slots, tokens, scores = [], [], []
    for j in range(beam_size):
        best, place = totals[:, : j + 1].flatten(1).max(dim=1, keepdim=True)  # (B, (j+1) C)
        ended = ~alive[:, j : j + 1] & (score[:, j : j + 1] > -torch.inf)  # (B, 1); these stay
        slots.append(torch.where(ended, j, place // num_choices))
        tokens.append(torch.where(ended, eos, choices.flatten(1).gather(1, place)))
        scores.append(torch.where(ended, score[:, j : j + 1], best))
        taken = totals.view(len(totals), -1)  # what is taken is gone for the slots that follow
        taken.scatter_(1, place, torch.where(ended, taken.gather(1, place), -torch.inf))
    slot, token, score = torch.cat(slots, 1), torch.cat(tokens, 1), torch.cat(scores, 1)
    return slot, token, score, (token != eos) & (score > -torch.inf)


def _best_tokens(log_probs: Tensor, num_choices: int) -> tuple[Tensor, Tensor]:
    """Return the largest log-probabilities and their tokens; of equals, the first token first.

    `topk` promises nothing about ties, and its choice varies with the number of choices: a beam of
    1 would not be greedy search, and a larger one could lose what a smaller one finds.
    """
    remaining, gains, tokens = log_probs.clone(), [], []
    for _ in range(num_choices):
        gain, token = remaining.max(dim=-1, keepdim=True)  # (..., V) -> (..., 1) each
        remaining.scatter_(-1, token, -torch.inf)
        gains.append(gain)
        tokens.append(token)
    return torch.cat(gains, dim=-1), torch.cat(tokens, dim=-1)


def _log_probs(logits: Tensor) -> Tensor:
    """Normalize the last step's scores, (B, T, V) -> (B, V).

    In half precision, different log-probabilities can round to the same number.
    """
    exact = torch.promote_types(logits.dtype, torch.float32)
    return logits[:, -1].to(exact).log_softmax(dim=-1)


def _last_weights(decoder: Decoder) -> Tensor | None:
    """Return the last forward pass's weights, (B, ..., T, S), or None without attention."""
    return getattr(decoder, "attention_weights", None)


def _check_likeliest(log_prob: Tensor, needed: Tensor, step: int) -> None:
    """Raise if the likeliest token's log-probability (B, K) is NaN where `needed`."""
    if (log_prob.isnan() & needed).any():
        raise FloatingPointError(
            f"the scores of token {step} hold nan or inf, or only -inf; none is the likeliest"
        )


def _hypotheses(
    written: Tensor, score: Tensor, weights: Tensor | None, eos: int, valid_lens: Tensor | None
) -> list[Hypothesis]:
    """Cut the written tokens, (B, T), at <eos>, and the weights, (B, ..., T, S), with them."""
    lengths = [None] * len(written) if valid_lens is None else valid_lens.tolist()
    hypotheses = []
    for row, (tokens, length) in enumerate(zip(written.tolist(), lengths, strict=True)):
        finished = eos in tokens
        tokens = tokens[: tokens.index(eos)] if finished else tokens
        cut_weights = None if weights is None else weights[row, ..., : len(tokens), :length].clone()
        hypotheses.append(Hypothesis(tokens, float(score[row]), finished, cut_weights))
    return hypotheses
