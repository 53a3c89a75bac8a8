"""Exchange the encoder's states, one at a time, for those of another sentence (chapter 4b)."""

import torch
from torch import Tensor

from d2lattn.analysis.hiding import with_history
from d2lattn.checks import argument_error, check_integers
from d2lattn.seq2seq import AttentionState, EncoderDecoder
from d2lattn.training import evaluating, shift_right
from d2lattn.transformer import TransformerState


@torch.no_grad()
def exchange_each_state(
    model: EncoderDecoder, source: Tensor, other: Tensor, target: Tensor
) -> Tensor:
    """Predict each word with the sentence's own states, and with each one exchanged.

    An exchanged state is the encoder's state at the same position in the other sentence. The
    decoder receives it only at that step; earlier steps and the words read so far stay the same.

    >>> from d2lattn.seq2seq import Seq2SeqAttentionDecoder, Seq2SeqEncoder
    >>> model = EncoderDecoder(Seq2SeqEncoder(9, 3, 4, 1), Seq2SeqAttentionDecoder(7, 3, 4, 1))
    >>> ours, other = torch.tensor([[5, 6, 2]]), torch.tensor([[5, 7, 2]])
    >>> chances = exchange_each_state(model, ours, other, torch.tensor([[4, 2]]))
    >>> chances.shape  # one sentence; two steps; nothing and three states; seven words
    torch.Size([1, 2, 4, 7])
    >>> bool((chances[:, :, 1] == chances[:, :, 0]).all())  # read forwards, that state is the same
    True

    Args:
        model: its decoder is a `Seq2SeqAttentionDecoder` or a `TransformerDecoder`.
        source: tokens of sentences of one length, without padding, shape (B, S).
        other: tokens of as many sentences of the same length.
        target: the tokens that the decoder reads and predicts, all of one length, shape (B, T).

    Returns:
        Probabilities of the word at each step, shape (B, T, S + 1, V): row 0 with nothing
        exchanged, row 1 + s with state s from the other sentence.

    Raises:
        TypeError: tokens are not a tensor of integers, or the decoder has another kind of state.
        ValueError: a shape does not fit.

    Source: Geiger et al. 2021, who exchange a network's inner states in this way.
    """
    for name, tokens in (("source", source), ("other", other), ("target", target)):
        check_integers(name, tokens)
    if source.dim() != 2:
        raise argument_error(ValueError, "source", source, "(B, S)")
    if other.shape != source.shape:
        raise argument_error(
            ValueError, "other", other, f"the shape of source, {tuple(source.shape)}"
        )
    if target.dim() != 2 or len(target) != len(source):
        raise argument_error(ValueError, "target", target, f"(B, T), where B is {len(source)}")
    batch_size, num_states = source.shape
    is_exchanged = torch.zeros(num_states + 1, num_states, dtype=torch.bool, device=source.device)
    is_exchanged[1:].fill_diagonal_(True)  # (S + 1, S)
    rows = torch.arange(batch_size, device=source.device).repeat_interleave(num_states + 1)
    with evaluating(model):
        encoded, other_encoded = model.encoder(source), model.encoder(other)
        has_last_state = not isinstance(encoded, Tensor)  # as that of a `Seq2SeqEncoder` has
        own_states = encoded[0] if has_last_state else encoded  # (B, S, D)
        other_states = other_encoded[0] if has_last_state else other_encoded
        # (S + 1, S, 1), (B, 1, S, D) twice -> (B, S + 1, S, D) -> (B (S + 1), S, D)
        mixed = torch.where(is_exchanged[..., None], other_states[:, None], own_states[:, None])
        states = mixed.flatten(0, 1)
        copies = model.decoder.init_state(
            (states, encoded[1][:, rows]) if has_last_state else states
        )
        if not isinstance(copies, AttentionState | TransformerState):
            needs = "an AttentionState or a TransformerState"
            raise argument_error(TypeError, "the decoder's state", copies, needs)
        steps = []
        for word in shift_right(target).split(1, dim=1):  # T times (B, 1)
            logits, after = model.decoder(word[rows], copies)  # (B (S + 1), 1, V)
            steps.append(logits[:, 0].softmax(dim=-1).unflatten(0, (batch_size, num_states + 1)))
            copies = with_history(after, rows * (num_states + 1))
    return torch.stack(steps, dim=1)
