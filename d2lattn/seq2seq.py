"""Encoders and decoders (chapter 4): the interfaces, and translation models built from GRUs.

The batch axis comes first: sequences of tokens are (B, T), their states (B, T, D). Source lengths
have shape (B,); None means that nothing is padding. Wrong types raise TypeError; wrong shapes and
lengths, and on the CPU tokens beyond the vocabulary, ValueError.

The GRUs have the same options:

- `vocab_size`: number of tokens, of the source or of the target, V.
- `embed_size`: width of the embedding of a token.
- `num_hiddens`, `num_layers`: D, the width of a state, and the number of GRU layers; the same in
  an encoder and its decoder.
- `dropout`: the fraction of embedded entries, and of entries between layers, set to zero.

Sources: Cho et al. 2014, section 2.2, for one context; Bahdanau et al. 2015, section 3, for
attention; d2l.ai sections 10.6, 10.7 and 11.4; the notes' listing 10.4.2.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from d2lattn.checks import argument_error, check_range, check_shapes, check_share, check_sizes
from d2lattn.masks import check_lengths, length_mask
from d2lattn.scoring import AdditiveAttention, HasAttentionWeights


class Encoder(nn.Module):
    """Reads the source; returns the arguments of the decoder's `init_state`."""

    def forward(self, X: Tensor, valid_lens: Tensor | None = None) -> Any:
        """Encode source tokens, shape (B, S)."""
        raise NotImplementedError


class Decoder(nn.Module):
    """Generates the target token by token, from a state that it passes on."""

    def init_state(self, enc_outputs: Any, enc_valid_lens: Tensor | None = None) -> Any:
        """Make the state before the first target token."""
        raise NotImplementedError

    def forward(self, X: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Read target tokens (B, T); return scores of the next (B, T, V) and the new state."""
        raise NotImplementedError

    def select_state(self, state: Any, rows: Tensor) -> Any:
        """Return the state of these `rows` of the batch, (B',); here every tensor begins with B."""
        return select_rows(state, rows)


class AttentionDecoder(Decoder):
    """A decoder that has attention weights."""

    @property
    def attention_weights(self) -> Tensor:
        """Weights of the last pass, (B, [layers, heads,] T, S): rows are target steps."""
        raise NotImplementedError


def select_rows(state: Any, rows: Tensor) -> Any:
    """Take rows (B',) of every tensor (B, ...) in a state of tuples; anything else stays.

    >>> state = torch.tensor([[1], [2]]), None, (7, torch.tensor([3, 4]))
    >>> select_rows(state, torch.tensor([1, 1]))
    (tensor([[2],
            [2]]), None, (7, tensor([4, 4])))
    """
    if isinstance(state, Tensor):
        return state[rows]
    if not isinstance(state, tuple):
        return state
    parts = [select_rows(part, rows) for part in state]
    return type(state)(*parts) if hasattr(state, "_fields") else tuple(parts)


class EncoderDecoder(nn.Module):
    """An encoder and a decoder, trained together."""

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(
        self, enc_X: Tensor, dec_X: Tensor, enc_valid_lens: Tensor | None = None
    ) -> tuple[Tensor, Any]:
        """Predict the token after each token of `dec_X`, (B, T), which starts with <bos>.

        Returns scores (B, T, V) and the decoder's state after the last step.
        """
        enc_outputs = self.encoder(enc_X, enc_valid_lens)
        return self.decoder(dec_X, self.decoder.init_state(enc_outputs, enc_valid_lens))


class Seq2SeqEncoder(Encoder):
    """A GRU that reads the source and ignores padding.

    In one direction, state h_t depends on the tokens up to t. With `bidirectional`, a second GRU
    reads from the end, and h_t concatenates the states of both at t, so that it depends on the
    whole sentence. Each GRU then has half of the width D, which must be even.

    >>> encoder = Seq2SeqEncoder(vocab_size=10, embed_size=3, num_hiddens=4, num_layers=2)
    >>> outputs, state = encoder(torch.tensor([[5, 6, 2, 0]]), torch.tensor([3]))
    >>> outputs.shape, state.shape, bool((outputs[0, 3] == 0).all())
    (torch.Size([1, 4, 4]), torch.Size([2, 1, 4]), True)
    """

    def __init__(
        self,
        vocab_size: int,
        embed_size: int,
        num_hiddens: int,
        num_layers: int,
        dropout: float = 0,
        *,
        bidirectional: bool = False,
    ) -> None:
        super().__init__()
        check_sizes(num_hiddens=num_hiddens, num_layers=num_layers)
        if bidirectional and num_hiddens % 2:
            raise argument_error(
                ValueError, "num_hiddens", num_hiddens, "to be even: each direction a half"
            )
        self.embedding = token_embedding(vocab_size, embed_size, DEVIATION)
        self.dropout = nn.Dropout(check_share("dropout", dropout))
        width = num_hiddens // 2 if bidirectional else num_hiddens
        self.rnn = _gru(embed_size, width, num_layers, dropout, bidirectional=bidirectional)

    def forward(self, X: Tensor, valid_lens: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Read source tokens (B, S) of lengths 1 to S.

        Returns the states h_t of the last layer, (B, S, D), zero at padding, and the
        last valid state of each layer, (num_layers, B, D).
        """
        embedded = self.dropout(embed_tokens(self.embedding, X))  # (B, S) -> (B, S, E)
        if valid_lens is None:
            outputs, state = self.rnn(embedded)
        else:
            check_lengths(valid_lens, X.shape, shortest=1)
            lens = valid_lens.cpu()  # where PyTorch wants them
            packed = pack_padded_sequence(embedded, lens, batch_first=True, enforce_sorted=False)
            packed, state = self.rnn(packed)
            outputs, _ = pad_packed_sequence(packed, batch_first=True, total_length=X.shape[1])
        # (layers * directions, B, D / directions) -> (layers, directions, B, D / directions)
        state = state.unflatten(0, (self.rnn.num_layers, -1))
        # -> (layers, B, directions, D / directions) -> (layers, B, D): the halves side by side
        return outputs, state.transpose(1, 2).flatten(2)


class _GRUDecoder(Decoder):
    """A decoder whose state has a part `hidden`, the GRU's, (num_layers, B, D)."""

    rnn: nn.GRU

    def select_state(self, state: Any, rows: Tensor) -> Any:
        """Return the state of these `rows` of the batch, (B',)."""
        return select_rows(state._replace(hidden=None), rows)._replace(hidden=state.hidden[:, rows])

    def _check_enc_outputs(self, enc_outputs: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Raise if the encoder's output does not fit this decoder."""
        if not isinstance(enc_outputs, tuple) or len(enc_outputs) != 2:
            needs = "the pair that a Seq2SeqEncoder gives"
            raise argument_error(TypeError, "enc_outputs", enc_outputs, needs)
        (outputs, hidden), layers, width = enc_outputs, self.rnn.num_layers, self.rnn.hidden_size
        last, states = (hidden, layers, "B", width), (outputs, "B", "S", width)
        check_shapes(**{"the last state in enc_outputs": last, "the states in enc_outputs": states})
        return enc_outputs


class PlainState(NamedTuple):
    """What the plain decoder carries: its GRU's state and the one context of the sentence."""

    hidden: Tensor  # (num_layers, B, D)
    context: Tensor  # (B, D)


class Seq2SeqDecoder(_GRUDecoder):
    """The decoder without attention: one context, the encoder's last state, at every step.

    All information about the source must fit into that one vector, however long the source is.

    >>> model = EncoderDecoder(Seq2SeqEncoder(9, 3, 4, 1), Seq2SeqDecoder(7, 3, 4, 1))
    >>> logits, state = model(torch.tensor([[5, 2]]), torch.tensor([[1, 4, 6]]), torch.tensor([2]))
    >>> logits.shape
    torch.Size([1, 3, 7])
    """

    def __init__(
        self,
        vocab_size: int,
        embed_size: int,
        num_hiddens: int,
        num_layers: int,
        dropout: float = 0,
    ) -> None:
        super().__init__()
        check_sizes(num_hiddens=num_hiddens, num_layers=num_layers)
        self.embedding = token_embedding(vocab_size, embed_size, DEVIATION)
        self.dropout = nn.Dropout(check_share("dropout", dropout))
        self.rnn = _gru(embed_size + num_hiddens, num_hiddens, num_layers, dropout)
        self.dense = nn.Linear(num_hiddens, vocab_size)

    def init_state(
        self, enc_outputs: tuple[Tensor, Tensor], enc_valid_lens: Tensor | None = None
    ) -> PlainState:
        """Start from the encoder's last state; its top layer is the context of every step."""
        _, hidden = self._check_enc_outputs(enc_outputs)
        return PlainState(hidden, hidden[-1])

    def forward(self, X: Tensor, state: PlainState) -> tuple[Tensor, PlainState]:
        """Predict the token after each token of X, shape (B, T): scores of shape (B, T, V)."""
        embedded = self.dropout(embed_tokens(self.embedding, X))  # (B, T) -> (B, T, E)
        check_state(state, PlainState, X, "context")
        context = state.context.unsqueeze(1).expand(-1, X.shape[1], -1)  # (B, D) -> (B, T, D)
        outputs, hidden = self.rnn(torch.cat((context, embedded), dim=-1), state.hidden)
        return self.dense(outputs), PlainState(hidden, state.context)  # (B, T, D) -> (B, T, V)


class AttentionState(NamedTuple):
    """What Bahdanau's decoder carries: the state of its GRU, and the source for attention."""

    hidden: Tensor  # (num_layers, B, D)
    values: Tensor  # h_t, (B, S, D)
    projected_keys: Tensor  # W_k h_t, (B, S, D)
    mask: Tensor | None  # true where h_t is no padding, (B, 1, S); None if none is


class Seq2SeqAttentionDecoder(HasAttentionWeights, _GRUDecoder, AttentionDecoder):
    """Bahdanau's decoder: at each step, the previous state is the query for a new context.

    c_t' = Σ_t α(s_{t'-1}, h_t) h_t, with additive attention α: the query is the decoder's state
    before the step, keys and values are the encoder's states. Row t' of `attention_weights`,
    (B, T, S), contains the weights with which target token t' was predicted.

    >>> model = EncoderDecoder(Seq2SeqEncoder(9, 3, 4, 1), Seq2SeqAttentionDecoder(7, 3, 4, 1))
    >>> logits, _ = model(torch.tensor([[5, 2, 0]]), torch.tensor([[1, 4]]), torch.tensor([2]))
    >>> logits.shape, model.decoder.attention_weights.shape
    (torch.Size([1, 2, 7]), torch.Size([1, 2, 3]))

    `dropout` does not apply to attention weights. With `bridge` the decoder starts from the
    encoder's last state, as in the notes; without it from zeros, so that attention is its only
    access to the source.
    """

    def __init__(
        self,
        vocab_size: int,
        embed_size: int,
        num_hiddens: int,
        num_layers: int,
        dropout: float = 0,
        *,
        bridge: bool = True,
    ) -> None:
        super().__init__()
        check_sizes(num_hiddens=num_hiddens, num_layers=num_layers)
        self.bridge = bridge
        self.attention = AdditiveAttention(num_hiddens, num_hiddens, num_hiddens, dropout=0)
        self.embedding = token_embedding(vocab_size, embed_size, DEVIATION)
        self.dropout = nn.Dropout(check_share("dropout", dropout))
        self.rnn = _gru(embed_size + num_hiddens, num_hiddens, num_layers, dropout)
        self.dense = nn.Linear(num_hiddens, vocab_size)

    def init_state(
        self, enc_outputs: tuple[Tensor, Tensor], enc_valid_lens: Tensor | None = None
    ) -> AttentionState:
        """Start from the encoder's last state or zeros; project the keys once for all steps."""
        values, hidden = self._check_enc_outputs(enc_outputs)
        hidden = hidden if self.bridge else torch.zeros_like(hidden)
        mask = None
        if enc_valid_lens is not None:
            mask = length_mask(enc_valid_lens, values.shape[:2], "enc_valid_lens").unsqueeze(1)
            mask = None if mask.all() else mask  # a batch without padding needs none
        return AttentionState(hidden, values, self.attention.project_keys(values), mask)

    def forward(self, X: Tensor, state: AttentionState) -> tuple[Tensor, AttentionState]:
        """Predict the token after each token of X, shape (B, T): scores of shape (B, T, V)."""
        embedded = self.dropout(embed_tokens(self.embedding, X))  # (B, T) -> (B, T, E)
        check_state(state, AttentionState, X, "values")
        hidden, values, projected_keys, mask = state
        outputs, weights = [], []
        for step in embedded.split(1, dim=1):  # T times (B, 1, E)
            query = hidden[-1].unsqueeze(1)  # (B, D) -> (B, 1, D): the top layer's state
            context = self.attention.attend(query, projected_keys, values, mask)  # (B, 1, D)
            output, hidden = self.rnn(torch.cat((context, step), dim=-1), hidden)
            outputs.append(output)  # (B, 1, D)
            weights.append(self.attention._stored_weights())  # each computes (B, 1, S)
        logits = self.dense(torch.cat(outputs, dim=1))  # (B, T, D) -> (B, T, V)
        # T times (B, 1, S) -> (B, T, S)
        self._store_weights(lambda: torch.cat([compute() for compute in weights], dim=1))
        return logits, AttentionState(hidden, values, projected_keys, mask)


DEVIATION = 0.3
"""Standard deviation of initial token vectors for GRUs. With PyTorch's default, 1, they drown out
other inputs; with 0.3, the model of chapter 4 translates and aligns long sentences better."""


def token_embedding(vocab_size: int, embed_size: int, deviation: float) -> nn.Embedding:
    """Make an embedding table of random vectors, with one row for each token."""
    check_sizes(vocab_size=vocab_size, embed_size=embed_size)
    embedding = nn.Embedding(vocab_size, embed_size)
    nn.init.normal_(embedding.weight, std=deviation)
    return embedding


def embed_tokens(embedding: nn.Embedding, X: Tensor) -> Tensor:
    """Look up embeddings, (B, T) -> (B, T, E); on the CPU, name a token outside the vocabulary."""
    if not isinstance(X, Tensor) or X.dtype not in (torch.int64, torch.int32):
        raise argument_error(TypeError, "X", X, "a tensor of integers, torch.int64 or torch.int32")
    if X.dim() != 2 or X.numel() == 0:
        raise argument_error(ValueError, "X", X, "(B, T), both above 0")
    try:
        return embedding(X)
    except IndexError:  # only now: reading tokens back at each step stalls a GPU
        check_range("X", X, 0, embedding.num_embeddings - 1)
        raise


def _gru(input_size: int, width: int, num_layers: int, dropout: float, **options: bool) -> nn.GRU:
    # A GRU's dropout acts between layers, and PyTorch warns if there is only one.
    between = dropout if num_layers > 1 else 0
    return nn.GRU(input_size, width, num_layers, batch_first=True, dropout=between, **options)


def check_state(state: Any, kind: type, X: Tensor, *batched: str) -> None:
    """Raise unless it is a state of that kind, and its parts hold as many sequences as X."""
    if not isinstance(state, kind):
        raise argument_error(
            TypeError, "state", state, f"a {kind.__name__}, as init_state gives it"
        )
    for name in batched:
        part = getattr(state, name)
        part = part[0] if isinstance(part, tuple) else part
        if part is not None and len(X) != len(part):
            raise argument_error(
                ValueError, "X", X, f"{len(part)} sequences, as many as the state has"
            )
