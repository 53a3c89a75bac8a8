"""What a decoder computes step by step while it reads a given translation."""

from typing import NamedTuple

import torch
from torch import Tensor

from d2lattn.checks import argument_error, check_integers
from d2lattn.seq2seq import EncoderDecoder, Seq2SeqAttentionDecoder
from d2lattn.training import TranslationBatch, evaluating, shift_right


@torch.no_grad()
def teacher_forced_attention(
    model: EncoderDecoder, batch: TranslationBatch, *, after_reading: bool = False
) -> list[Tensor]:
    """Return the attention weights under teacher forcing: a matrix for each pair of a batch.

    The row of a target token contains the weights with which it was predicted. Rows and columns
    of <eos> are left out, so that only words remain; a row may therefore sum to less than 1.

    Args:
        model: an encoder-decoder whose decoder has attention weights of shape (B, ..., T, S).
        batch: pairs with <eos> at the end of both sides.
        after_reading: give a token the row of the next step, whose input it is.

    Returns:
        A matrix of shape (..., target words, source words) for each pair.

    Raises:
        TypeError: the decoder has no attention.
    """
    with evaluating(model):
        model(batch.source, shift_right(batch.target), batch.source_valid_lens)
        weights = getattr(model.decoder, "attention_weights", None)  # (B, ..., T, S)
    if weights is None:
        raise argument_error(TypeError, "model.decoder", model.decoder, "attention_weights")
    lengths = zip(batch.target_valid_lens.tolist(), batch.source_valid_lens.tolist(), strict=True)
    first = int(after_reading)
    return [weights[row, ..., first : first + t - 1, : s - 1] for row, (t, s) in enumerate(lengths)]


class AttentionSteps(NamedTuple):
    """Everything between the encoder's states and the next word's probabilities, step by step.

    The query of step t' is `states[t']`; its word is predicted from `states[t' + 1]`.
    """

    values: Tensor  # the encoder's states h_t, which are the keys too, (S, D)
    states: Tensor  # the decoder's states s_0 to s_T, (T + 1, D)
    scores: Tensor  # a(s_{t'-1}, h_t), (T, S)
    weights: Tensor  # their softmax along the source, (T, S)
    contexts: Tensor  # c_t', (T, D)
    embeddings: Tensor  # the vectors of <bos> and of all target tokens but the last, (T, E)
    probabilities: Tensor  # of each token of the vocabulary, (T, V)


@torch.no_grad()
def attention_steps(model: EncoderDecoder, source: Tensor, target: Tensor) -> AttentionSteps:
    """Return what Bahdanau's decoder computes at each step of a sentence under teacher forcing.

    >>> from d2lattn.seq2seq import Seq2SeqEncoder
    >>> model = EncoderDecoder(Seq2SeqEncoder(9, 3, 4, 1), Seq2SeqAttentionDecoder(7, 3, 4, 1))
    >>> steps = attention_steps(model, torch.tensor([[5, 6, 2]]), torch.tensor([[4, 2]]))
    >>> steps.scores.shape, steps.states.shape, steps.probabilities.shape
    (torch.Size([2, 3]), torch.Size([3, 4]), torch.Size([2, 7]))

    Args:
        model: an encoder and a Seq2SeqAttentionDecoder, trained or not.
        source: the tokens of a sentence without padding, shape (1, S).
        target: the tokens to be generated, shape (1, T): a true translation or the model's own.

    Raises:
        TypeError: the decoder is of another kind, or source or target do not hold integers.
        ValueError: there is more than one sentence, or it does not fit the model.

    Source: Bahdanau et al. 2014, section 3.1.
    """
    decoder = model.decoder
    if not isinstance(decoder, Seq2SeqAttentionDecoder):
        raise argument_error(TypeError, "model.decoder", decoder, "a Seq2SeqAttentionDecoder")
    for name, tokens, axes in (("source", source, "(1, S)"), ("target", target, "(1, T)")):
        check_integers(name, tokens)
        if tokens.dim() != 2 or len(tokens) != 1:
            raise argument_error(ValueError, name, tokens, f"{axes}: one sentence")
    inputs = shift_right(target)  # (1, T)
    with evaluating(model):
        state = decoder.init_state(model.encoder(source))
        states, logits, weights = [state.hidden[-1]], [], []
        for token in inputs.split(1, dim=1):  # T times (1, 1)
            step_logits, state = decoder(token, state)
            states.append(state.hidden[-1])  # (1, D)
            logits.append(step_logits[0])  # (1, V)
            weights.append(decoder.attention_weights[0])  # (1, S)
        all_states, attention = torch.cat(states), decoder.attention
        scores = attention.scores(all_states[:-1], state.projected_keys[0])  # (T, S)
        attention_weights = torch.cat(weights)  # (T, S)
        return AttentionSteps(
            values=state.values[0],
            states=all_states,
            scores=scores,
            weights=attention_weights,
            contexts=attention_weights @ state.values[0],  # (T, S) x (S, D) -> (T, D)
            embeddings=decoder.embedding(inputs[0]),
            probabilities=torch.cat(logits).softmax(dim=-1),
        )
