"""Translating with a trained model: greedy and beam search, and attention under teacher forcing.

Everything here works with any encoder and decoder that keep to the interfaces in `seq2seq`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from d2lattn.seq2seq import EncoderDecoder
from d2lattn.training import shift_right

if TYPE_CHECKING:
    from d2lattn.corpus import Batch


@dataclass(frozen=True)
class Hypothesis:
    """One translation of one sentence."""

    tokens: list[int]  # without <bos> and <eos>
    score: float  # log-probability of the tokens and of <eos>, in nats
    finished: bool  # whether it came to <eos> before it came to max_len
    attention_weights: Tensor | None  # (len(tokens), S), or None if the decoder has no attention


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
    """Translate a batch, taking the likeliest token at every step until <eos>.

    Args:
        model: any encoder-decoder.
        source: tokens, shape (B, S).
        source_valid_lens: shape (B,), or None if nothing is padding.
        max_len: stop after this many tokens, <eos> or not.
        bos: the token that opens the decoder's input.
        eos: the token that ends a sentence.

    Returns:
        A hypothesis for each row. Rows of its attention weights stand for its tokens, columns for
        the source's valid tokens.

    Raises:
        ValueError: `max_len` is below 1, or the source does not fit the model.
    """
    was_training = model.training
    model.eval()
    batch_size = _check_sizes(source, max_len)
    state = _init_state(model, source, source_valid_lens)
    token = torch.full((batch_size, 1), bos, device=source.device)
    score = torch.zeros(batch_size, device=source.device)
    ended = torch.zeros(batch_size, dtype=torch.bool, device=source.device)
    tokens, weights = [], []
    for _ in range(max_len):
        logits, state = model.decoder(token, state)  # (B, 1) -> (B, 1, V)
        best, token = logits[:, -1].log_softmax(dim=-1).max(dim=-1, keepdim=True)  # (B, 1) each
        score = score + best[:, 0].masked_fill(ended, 0.0)
        tokens.append(token)
        weights.append(_weights(model))
        ended = ended | (token[:, 0] == eos)
        if ended.all():
            break
    model.train(was_training)
    written = torch.cat(tokens, dim=1)  # T times (B, 1) -> (B, T)
    looks = None if weights[0] is None else torch.cat(weights, dim=-2)  # -> (B, ..., T, S)
    return [
        _hypothesis(
            written[row], score[row], eos, looks, row, _length(source, source_valid_lens, row)
        )
        for row in range(batch_size)
    ]


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
    """Translate a batch, keeping several hypotheses of each sentence alive.

    The slots of the beam are filled in order: the first gets the best continuation of itself, the
    second the best that is left of the first two, and so on. So the first slot is greedy search,
    and a beam's slots do the same whether or not there are more of them: a larger beam finds
    whatever a smaller one finds. (The usual beam, which ranks all continuations together, can lose
    the better translation when it grows.) A finished hypothesis keeps its slot.

    Args:
        model: any encoder-decoder.
        source: tokens, shape (B, S).
        source_valid_lens: shape (B,), or None if nothing is padding.
        beam_size: number of slots; 1 is greedy search.
        length_penalty: p; hypotheses compete by log-probability / length**p. At 0, the most likely
            translation wins; a larger p favours longer ones. Length counts <eos>.
        max_len: stop after this many tokens, <eos> or not.
        bos: the token that opens the decoder's input.
        eos: the token that ends a sentence.

    Returns:
        The best hypothesis for each row. Its score is the log-probability, whatever the penalty.

    Raises:
        ValueError: `beam_size` or `max_len` is below 1, or the source does not fit the model.

    Source: Lemons et al. 2022, "Beam Search: Faster and Monotonic".
    """
    if beam_size < 1:
        raise ValueError(f"beam_size is {beam_size}; a beam needs 1 slot or more")
    was_training = model.training
    model.eval()
    batch_size = _check_sizes(source, max_len)
    state = _init_state(model, source, source_valid_lens)
    device = source.device
    first_row = torch.arange(batch_size, device=device).unsqueeze(1) * beam_size  # (B, 1)
    state = model.decoder.select_state(
        state, torch.arange(batch_size, device=device).repeat_interleave(beam_size)
    )  # K rows a sentence, side by side: (B K, ...)

    # At the start all slots of a sentence are the same, so only the first may be continued.
    score = torch.full((batch_size, beam_size), -torch.inf, device=device)
    score[:, 0] = 0.0
    alive = torch.zeros(batch_size, beam_size, dtype=torch.bool, device=device)
    alive[:, 0] = True
    written = torch.full((batch_size, beam_size, 0), eos, device=device)  # (B, K, T)
    token = torch.full((batch_size * beam_size, 1), bos, device=device)
    looks = None
    for _ in range(max_len):
        logits, state = model.decoder(token, state)  # (B K, 1) -> (B K, 1, V)
        log_probs = logits[:, -1].log_softmax(dim=-1).unflatten(0, (batch_size, beam_size))
        slot, token, score, alive = _fill_slots(score, alive, log_probs, eos)  # (B, K) each
        rows = (first_row + slot).flatten()  # (B, 1) + (B, K) -> (B K,)
        state = model.decoder.select_state(state, rows)
        written = torch.cat((written.flatten(0, 1)[rows], token.view(-1, 1)), dim=1)
        written = written.unflatten(0, (batch_size, beam_size))  # (B K, T) -> (B, K, T)
        new_look = _weights(model)
        if new_look is not None:
            looks = new_look if looks is None else torch.cat((looks, new_look), dim=-2)
            looks = looks[rows]  # (B K, ..., T, S)
        token = token.view(-1, 1)  # (B, K) -> (B K, 1)
        # A score only ever falls: once nothing alive is above the best that ended, it has won.
        best_alive = score.masked_fill(~alive, -torch.inf).amax(dim=1)
        best_ended = score.masked_fill(alive, -torch.inf).amax(dim=1)
        if not alive.any() or (length_penalty == 0 and (best_alive <= best_ended).all()):
            break
    model.train(was_training)
    length = (written != eos).sum(dim=-1) + 1  # (B, K): <eos> may stand at the end only
    length = length.clamp(max=written.shape[-1])
    winner = (score / length**length_penalty).argmax(dim=1)  # (B,)
    return [
        _hypothesis(
            written[row, slot],
            score[row, slot],
            eos,
            looks,
            row * beam_size + slot,
            _length(source, source_valid_lens, row),
        )
        for row, slot in enumerate(winner.tolist())
    ]


def _fill_slots(
    score: Tensor, alive: Tensor, log_probs: Tensor, eos: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Fill slot j with the best continuation of slots 0 to j that no slot before j has taken.

    Takes scores (B, K), which slots are alive (B, K) and log-probabilities (B, K, V); gives what
    each slot continues, by which token, its score, and whether it is alive: (B, K) each.
    """
    _, beam_size, vocab_size = log_probs.shape
    num_choices = min(beam_size, vocab_size)  # no slot can be continued more often than that
    gains, choices = log_probs.topk(num_choices, dim=-1)  # (B, K, C)
    totals = (score.unsqueeze(-1) + gains).masked_fill(~alive.unsqueeze(-1), -torch.inf)
    slots, tokens, scores = [], [], []
    for j in range(beam_size):
        best, place = totals[:, : j + 1].flatten(1).max(dim=1, keepdim=True)  # (B, (j+1) C)
        # A slot that has ended stays; so does one that finds nothing to continue.
        ended = ~alive[:, j : j + 1] & (score[:, j : j + 1] > -torch.inf)  # (B, 1)
        stays = ended | (best == -torch.inf)
        slots.append(torch.where(stays, j, place // num_choices))
        tokens.append(torch.where(stays, eos, choices.flatten(1).gather(1, place)))
        scores.append(torch.where(stays, score[:, j : j + 1], best))
        taken = totals.flatten(1)  # a view: what is taken here is gone for the slots that follow
        taken.scatter_(1, place, torch.where(stays, taken.gather(1, place), -torch.inf))
    slot, token, score = torch.cat(slots, 1), torch.cat(tokens, 1), torch.cat(scores, 1)
    return slot, token, score, (token != eos) & (score > -torch.inf)


@torch.no_grad()
def teacher_forced_attention(model: EncoderDecoder, batch: "Batch") -> list[Tensor]:
    """Where the decoder looks while it reads the true target: a matrix for each pair of a batch.

    The row of a target token is where the decoder looked to predict it. The rows and columns of
    <eos> are left out, so that words face words; a row may therefore sum to less than 1.

    Args:
        model: an encoder-decoder whose decoder has attention weights of shape (B, ..., T, S).
        batch: pairs with <eos> at the end of both sides.

    Returns:
        A matrix of shape (..., target words, source words) for each pair.
    """
    was_training = model.training
    model.eval()
    model(batch.source, shift_right(batch.target), batch.source_valid_lens)
    model.train(was_training)
    weights = model.decoder.attention_weights  # (B, ..., T, S)
    lengths = zip(batch.target_valid_lens.tolist(), batch.source_valid_lens.tolist(), strict=True)
    return [weights[row, ..., : t - 1, : s - 1] for row, (t, s) in enumerate(lengths)]


def _check_sizes(source: Tensor, max_len: int) -> int:
    if max_len < 1:
        raise ValueError(f"max_len is {max_len}; a translation needs 1 token or more")
    if source.dim() != 2:
        raise ValueError(f"source has shape {tuple(source.shape)}; it needs (B, S)")
    return source.shape[0]


def _init_state(model: EncoderDecoder, source: Tensor, valid_lens: Tensor | None) -> Any:
    return model.decoder.init_state(model.encoder(source, valid_lens), valid_lens)


def _weights(model: EncoderDecoder) -> Tensor | None:
    """The last step's attention, (B, ..., 1, S), of a decoder that has any."""
    return getattr(model.decoder, "attention_weights", None)


def _length(source: Tensor, valid_lens: Tensor | None, row: int) -> int:
    return source.shape[1] if valid_lens is None else int(valid_lens[row])


def _hypothesis(
    written: Tensor, score: Tensor, eos: int, looks: Tensor | None, row: int, source_length: int
) -> Hypothesis:
    """Cut one row (T,) at its <eos>."""
    tokens = written.tolist()
    finished = eos in tokens
    tokens = tokens[: tokens.index(eos)] if finished else tokens
    weights = None if looks is None else looks[row, ..., : len(tokens), :source_length].clone()
    return Hypothesis(tokens, float(score), finished, weights)
