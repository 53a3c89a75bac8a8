"""Hide the encoder's states from attention, one at a time (chapter 4b)."""

from typing import Any

import torch
from torch import Tensor

from d2lattn.checks import argument_error, check_integers
from d2lattn.seq2seq import AttentionState, EncoderDecoder, select_rows
from d2lattn.training import evaluating, shift_right
from d2lattn.transformer import TransformerState


@torch.no_grad()
def hide_each_state(model: EncoderDecoder, source: Tensor, target: Tensor) -> Tensor:
    """Predict each word with nothing hidden, with each state hidden, and with all of them hidden.

    A hidden state has a score of minus infinity at that step, in every layer and head of attention
    to the source, so that the other states share its weight; with all hidden the context is zero.
    Earlier steps are computed with nothing hidden.

    >>> from d2lattn.seq2seq import Seq2SeqAttentionDecoder, Seq2SeqEncoder
    >>> model = EncoderDecoder(Seq2SeqEncoder(9, 3, 4, 1), Seq2SeqAttentionDecoder(7, 3, 4, 1))
    >>> chances = hide_each_state(model, torch.tensor([[5, 6, 2]]), torch.tensor([[4, 2]]))
    >>> chances.shape  # one sentence; two steps; nothing, three states and all; seven words
    torch.Size([1, 2, 5, 7])

    Args:
        model: its decoder is a `Seq2SeqAttentionDecoder` or a `TransformerDecoder`.
        source: tokens of sentences of one length, without padding, shape (B, S).
        target: the tokens that the decoder reads and predicts, all of one length, shape (B, T).

    Returns:
        Probabilities of the word at each step, shape (B, T, S + 2, V): row 0 with nothing
        hidden, row 1 + t with state t hidden, the last row with all of them.

    Raises:
        TypeError: tokens are not a tensor of integers, or the decoder has another kind of state.
        ValueError: a shape does not fit.

    Source: Serrano and Smith 2019, who erase attention weights in this way.
    """
    check_integers("source", source)
    check_integers("target", target)
    if source.dim() != 2:
        raise argument_error(ValueError, "source", source, "(B, S)")
    if target.dim() != 2 or len(target) != len(source):
        raise argument_error(ValueError, "target", target, f"(B, T), where B is {len(source)}")
    decoder, (batch_size, num_states) = model.decoder, source.shape
    num_copies = num_states + 2  # of each sentence
    visible = torch.ones(num_copies, num_states, dtype=torch.bool, device=source.device)
    visible[1:-1].fill_diagonal_(False)
    visible[-1] = False
    sentences = torch.arange(batch_size, device=source.device).repeat_interleave(num_copies)
    unhidden = sentences * num_copies  # of each sentence the copy with nothing hidden
    with evaluating(model):
        state = decoder.init_state(model.encoder(source))
        copies = _with_mask(decoder.select_state(state, sentences), visible.repeat(batch_size, 1))
        steps = []
        for word in shift_right(target).split(1, dim=1):  # T times (B, 1)
            logits, after = decoder(word[sentences], copies)  # (B (S + 2), 1, V)
            # (B (S + 2), V) -> (B, S + 2, V)
            steps.append(logits[:, 0].softmax(dim=-1).unflatten(0, (batch_size, num_copies)))
            copies = with_history(after, unhidden)
    return torch.stack(steps, dim=1)


def _with_mask(state: Any, mask: Tensor) -> Any:
    """Return the state in which the source is visible where the mask (B, S) is true."""
    if isinstance(state, AttentionState):
        return state._replace(mask=mask.unsqueeze(1))  # (B, 1, S)
    if isinstance(state, TransformerState):
        mask = mask[:, None, None]  # (B, 1, 1, S)
        blocks = tuple(block._replace(source_mask=mask) for block in state.blocks)
        return state._replace(blocks=blocks)
    raise argument_error(
        TypeError, "the decoder's state", state, "an AttentionState or a TransformerState"
    )


def with_history(state: Any, rows: Tensor) -> Any:
    """Return the state with the history of these `rows`; each copy keeps its own source."""
    if isinstance(state, AttentionState):
        return state._replace(hidden=state.hidden[:, rows])
    blocks = tuple(block._replace(past=select_rows(block.past, rows)) for block in state.blocks)
    return state._replace(blocks=blocks)
