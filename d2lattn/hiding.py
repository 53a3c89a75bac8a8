"""Hide the source from attention, a state at a time, and see which words change (chapter 4b)."""

import torch
from torch import Tensor

from d2lattn.checks import wrong
from d2lattn.seq2seq import AttentionState, EncoderDecoder
from d2lattn.training import evaluating, shift_right


@torch.no_grad()
def hide_each_state(model: EncoderDecoder, source: Tensor, target: Tensor) -> Tensor:
    """Predict each word of one sentence with nothing hidden, with each state hidden, with all.

    A hidden state has a score of minus infinity at that step, so the others share out its weight;
    with all hidden the context is zero. The steps before are as they were with nothing hidden.

    >>> from d2lattn.seq2seq import Seq2SeqAttentionDecoder, Seq2SeqEncoder
    >>> model = EncoderDecoder(Seq2SeqEncoder(9, 3, 4, 1), Seq2SeqAttentionDecoder(7, 3, 4, 1))
    >>> chances = hide_each_state(model, torch.tensor([[5, 6, 2]]), torch.tensor([[4, 2]]))
    >>> chances.shape  # two steps; nothing, three states and all; seven words
    torch.Size([2, 5, 7])

    Args:
        model: its decoder carries an `AttentionState`, as `Seq2SeqAttentionDecoder` does.
        source: tokens of one sentence without padding, shape (1, S).
        target: the tokens that the decoder is made to write, shape (1, T).

    Returns:
        Probabilities of the word written at each step, shape (T, S + 2, V): row 0 with nothing
        hidden, row 1 + t with state t hidden, the last row with all of them.

    Raises:
        TypeError: the decoder carries another state.
        ValueError: there is more than one sentence.

    Source: Serrano and Smith 2019 erase attention weights so.
    """
    for name, tokens in (("source", source), ("target", target)):
        if tokens.dim() != 2 or len(tokens) != 1:
            raise wrong(ValueError, name, tokens, "one sentence, (1, tokens)")
    decoder = model.decoder
    with evaluating(model):
        state = decoder.init_state(model.encoder(source))
        if not isinstance(state, AttentionState):
            raise wrong(TypeError, "the decoder's state", state, "an AttentionState")
        num_states = source.shape[1]
        rows = num_states + 2
        hidden = torch.zeros(rows, num_states, dtype=torch.bool, device=source.device)
        hidden[1:-1].fill_diagonal_(True)
        hidden[-1] = True
        copies = decoder.select_state(state, source.new_zeros(rows))
        copies = copies._replace(mask=~hidden.unsqueeze(1))  # a copy of the sentence for each row
        steps = []
        for word in shift_right(target).split(1, dim=1):  # T times (1, 1)
            logits, after = decoder(word.expand(rows, 1), copies)  # (S + 2, 1, V)
            steps.append(logits[:, 0].softmax(dim=-1))
            unharmed = after.hidden[:, :1].repeat(1, rows, 1)  # (num_layers, S + 2, D)
            copies = copies._replace(hidden=unharmed)
    return torch.stack(steps)  # (T, S + 2, V)
