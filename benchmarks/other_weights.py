"""Give a decoder other weights at one step, and see whether it writes the same word.

So ask Jain and Wallace (2019) of classifiers. Everything else stays: the states that are attended
to, the decoder's state and the words it has read. benchmarks/believing.py asks its models.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

import d2lattn as d2l
from benchmarks import translation
from d2lattn.corpus import Pair, batches
from d2lattn.training import evaluating

PERMUTATIONS = 10  # of each word's weights
NEAR = 0.05  # total variation of two distributions over the next word


@torch.no_grad()
def reweigh(
    translator: translation.Translator, pairs: Sequence[Pair]
) -> Iterator[dict[str, float]]:
    """Permute the weights at each word that is right, and give them whole to each single state."""
    model, vocab = translator.model, translator.target_vocab
    generator = torch.Generator().manual_seed(0)
    for batch in batches(pairs, translator.source_vocab, vocab, batch_size=1, bucket=False):
        with evaluating(model):
            values, hidden, rows = steps(model, batch)
            reads = d2l.shift_right(batch.target)[0, :-1]
            num_steps, num_states = rows.shape
            orders = torch.rand(num_steps, PERMUTATIONS, num_states, generator=generator)
            shares = torch.cat(
                (
                    rows[:, None],  # as they are: (T, 1, S)
                    torch.zeros(num_steps, 1, num_states),
                    torch.eye(num_states).expand(num_steps, -1, -1),
                    rows[:, None].expand_as(orders).gather(2, orders.argsort(dim=-1)),
                ),
                dim=1,
            )
            chances = with_weights(model.decoder, reads, hidden, values, shares)  # (T, N, V)
        ids = batch.target[0, :-1]
        same = chances.argmax(dim=-1) == ids.unsqueeze(1)  # (T, N)
        near = (chances - chances[:, :1]).abs().sum(dim=-1) / 2 <= NEAR
        others = torch.randint(num_states - 1, (num_steps,), generator=generator).tolist()
        for step, (row, other) in enumerate(zip(rows, others, strict=True)):
            if not same[step, 0] or ids[step] == vocab.unk:
                continue
            look = row.argmax().item()
            alone, close = same[step, 2 : 2 + num_states], near[step, 2 : 2 + num_states]
            rest = torch.arange(num_states) != look
            (pair,) = batch.pairs
            yield {
                "weight": row.max().item(),
                "on gold": (look, step) in pair.possible,
                "permuted": (~same[step, 2 + num_states :]).float().mean().item(),
                "looked at": alone[look].item(),
                "another": alone[rest].any().item(),
                "near": close[rest].any().item(),
                "random": alone[rest][other].item(),
                "nothing": same[step, 1].item(),
            }


def steps(model: d2l.EncoderDecoder, batch: "d2l.corpus.Batch") -> tuple[Tensor, Tensor, Tensor]:
    """Write one sentence, and keep what each step but that of <eos> starts from.

    Gives the encoder's states (S, D), the decoder's before each step (num_layers, T, D) and the
    weights of each step (T, S).
    """
    encoded = model.encoder(batch.source, batch.source_valid_lens)
    state = model.decoder.init_state(encoded, batch.source_valid_lens)
    hidden, rows = [], []
    for word in d2l.shift_right(batch.target)[:, :-1].split(1, dim=1):
        hidden.append(state.hidden)  # (num_layers, 1, D)
        _, state = model.decoder(word, state)
        rows.append(model.decoder.attention_weights[0])  # (1, S)
    return state.values[0], torch.cat(hidden, dim=1), torch.cat(rows)


def with_weights(
    decoder: d2l.Seq2SeqAttentionDecoder,
    reads: Tensor,
    hidden: Tensor,
    values: Tensor,
    weights: Tensor,
) -> Tensor:
    """Predict the next word of T steps, each with N rows of weights in place of its own.

    Takes the words read (T,), the states before (num_layers, T, D), the encoder's (S, D) and
    weights (T, N, S); gives probabilities (T, N, V).
    """
    contexts = weights @ values  # (T, N, S) x (S, D) -> (T, N, D)
    embedded = decoder.embedding(reads)[:, None].expand(-1, weights.shape[1], -1)  # (T, N, E)
    inputs = torch.cat((contexts, embedded), dim=-1).flatten(0, 1).unsqueeze(1)  # (T N, 1, D + E)
    before = hidden.repeat_interleave(weights.shape[1], dim=1)  # (num_layers, T N, D)
    outputs, _ = decoder.rnn(inputs, before)
    return decoder.dense(outputs[:, 0]).softmax(dim=-1).unflatten(0, weights.shape[:2])
