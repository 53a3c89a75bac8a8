"""The Transformer (chapter 7): blocks of attention and small networks, and two stacks of them.

Sequences of tokens are (B, T), what stands at their positions is (B, T, D). Decoders carry the keys
and values of the steps before, so that each step is computed once.
"""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from d2lattn.checks import check_floats, check_sizes, wrong
from d2lattn.masks import causal_mask, length_mask
from d2lattn.multihead import MultiHeadAttention
from d2lattn.positional import PositionalEncoding
from d2lattn.seq2seq import AttentionDecoder, Encoder, embed_tokens

KeysValues = tuple[Tensor, Tensor]
ROOM = 64  # steps for which memory is taken ahead


class PositionWiseFFN(nn.Module):
    """W_2 relu(W_1 x + b_1) + b_2: the same small network at every position, each on its own.

    >>> ffn = PositionWiseFFN(ffn_num_input=1, ffn_num_hiddens=2, ffn_num_outputs=1)
    >>> for parameter in ffn.parameters():
    ...     _ = nn.init.ones_(parameter)
    >>> ffn(torch.tensor([[[1.0], [-5.0]]])).tolist()  # (1 + 1) twice, + 1; nothing, + 1
    [[[5.0], [1.0]]]

    Source: Vaswani et al. 2017, section 3.3; d2l.ai section 11.7.2; the notes' section 10.7.2.
    """

    def __init__(self, ffn_num_input: int, ffn_num_hiddens: int, ffn_num_outputs: int) -> None:
        super().__init__()
        self.dense1 = nn.Linear(ffn_num_input, ffn_num_hiddens)
        self.relu = nn.ReLU()
        self.dense2 = nn.Linear(ffn_num_hiddens, ffn_num_outputs)

    def forward(self, X: Tensor) -> Tensor:
        """Map (B, T, ffn_num_input) to (B, T, ffn_num_outputs)."""
        check_floats(module=self.dense1.weight, X=X)
        _check_last_axes(X, self.dense1.in_features)
        return self.dense2(self.relu(self.dense1(X)))  # (B, T, D) -> (B, T, F) -> (B, T, D)


class AddNorm(nn.Module):
    """LN(x + dropout(y)): what went into a sublayer is added to what came out, and normed.

    With `norm_first`, which deep stacks train better by, it is x + dropout(y), and the sublayer
    gets LN(x); what it gets is what `enter` gives.

    >>> add_norm = AddNorm(2, dropout=0)
    >>> normed = add_norm(torch.tensor([3.0, 4]), torch.tensor([1.0, 4]))  # the sum is (4, 8)
    >>> [round(entry, 2) for entry in normed.tolist()]
    [-1.0, 1.0]

    Args:
        normalized_shape: width of a position, D, or a list of the last axes.
        dropout: the share of the sublayer's entries that training sets to zero.
        norm_first: norm what goes in (pre-norm), not the sum (post-norm).

    Source: Vaswani et al. 2017, section 3.1, and Xiong et al. 2020, figure 1; d2l.ai section
    11.7.3; the notes' section 10.7.2.
    """

    def __init__(
        self, normalized_shape: int | list[int], dropout: float, *, norm_first: bool = False
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.dropout = nn.Dropout(dropout)
        self.ln = nn.LayerNorm(normalized_shape)

    def enter(self, X: Tensor) -> Tensor:
        """Give what the sublayer gets: X, or LN(X) with `norm_first`."""
        if not self.norm_first:
            return X
        check_floats(module=self.ln.weight, X=X)
        _check_last_axes(X, *self.ln.normalized_shape)
        return self.ln(X)

    def forward(self, X: Tensor, Y: Tensor) -> Tensor:
        """Add what the sublayer gave, Y, to X, of the same shape."""
        check_floats(module=self.ln.weight, X=X, Y=Y)
        _check_last_axes(X, *self.ln.normalized_shape)
        if Y.shape != X.shape:
            raise wrong(ValueError, "Y", Y, f"{tuple(X.shape)}, the shape of X")
        total = X + self.dropout(Y)
        return total if self.norm_first else self.ln(total)


class EncoderBlock(nn.Module):
    """Each position asks all positions; then each goes through the same small network.

    >>> block = EncoderBlock(num_hiddens=4, ffn_num_hiddens=8, num_heads=2)
    >>> block(torch.ones(1, 3, 4), torch.tensor([2])).shape
    torch.Size([1, 3, 4])
    >>> block.attention.attention_weights.shape
    torch.Size([1, 2, 3, 3])

    Call it with sequences (B, T, D) and `valid_lens` as in `masked_softmax`; it gives (B, T, D).

    Args:
        num_hiddens: D, width of a position.
        ffn_num_hiddens: width of the network between.
        num_heads: how many heads attention has; D is a multiple of it.
        dropout: the share of entries of each sublayer's output that training sets to zero.
        norm_first: norm before each sublayer instead of after; see `AddNorm`.
        bias: whether the projections of attention add one.

    Source: Vaswani et al. 2017, section 3.1; d2l.ai section 11.7.4; the notes' section 10.7.2.
    """

    def __init__(
        self,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        dropout: float = 0,
        *,
        norm_first: bool = False,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.attention = _attention(num_hiddens, num_heads, bias)
        self.addnorm1 = AddNorm(num_hiddens, dropout, norm_first=norm_first)
        self.ffn = PositionWiseFFN(num_hiddens, ffn_num_hiddens, num_hiddens)
        self.addnorm2 = AddNorm(num_hiddens, dropout, norm_first=norm_first)

    def forward(self, X: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        """Self-attention, then the network, with a residual around each."""
        _check_positions("X", X, self.attention)
        Z = self.addnorm1.enter(X)  # (B, T, D)
        X = self.addnorm1(X, self.attention(Z, Z, Z, valid_lens))
        return self.addnorm2(X, self.ffn(self.addnorm2.enter(X)))


class TransformerEncoder(Encoder):
    """Tokens, their positions, and a stack of encoder blocks.

    A token's vector is multiplied by sqrt(D), which makes its entries as large as the waves that
    say where it stands.

    >>> encoder = TransformerEncoder(10, 4, ffn_num_hiddens=8, num_heads=2, num_layers=3)
    >>> encoder(torch.tensor([[5, 6, 2, 0]]), torch.tensor([3])).shape
    torch.Size([1, 4, 4])
    >>> encoder.attention_weights.shape  # (B, layers, H, S, S)
    torch.Size([1, 3, 2, 4, 4])

    Args:
        vocab_size: number of tokens.
        num_hiddens: D, width of a position.
        ffn_num_hiddens: width of the network in each block.
        num_heads: how many heads attention has; D is a multiple of it.
        num_layers: how many blocks.
        dropout: the share set to zero of embedded entries and of each sublayer's output.
        norm_first: norm before each sublayer and once at the end; see `AddNorm`.
        bias: whether the projections of attention add one.
        max_len: how many positions there are.

    Source: Vaswani et al. 2017, section 3; d2l.ai section 11.7.4; the notes' section 10.7.3.
    """

    def __init__(
        self,
        vocab_size: int,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        num_layers: int,
        dropout: float = 0,
        *,
        norm_first: bool = False,
        bias: bool = False,
        max_len: int = 1000,
    ) -> None:
        super().__init__()
        check_sizes(vocab_size=vocab_size, num_hiddens=num_hiddens)
        check_sizes(ffn_num_hiddens=ffn_num_hiddens, num_layers=num_layers)
        self.embedding = _embedding(vocab_size, num_hiddens)
        self.pos_encoding = PositionalEncoding(num_hiddens, dropout, max_len)
        sizes = num_hiddens, ffn_num_hiddens, num_heads, dropout
        self.blks = nn.ModuleList(
            EncoderBlock(*sizes, norm_first=norm_first, bias=bias) for _ in range(num_layers)
        )
        self.ln = nn.LayerNorm(num_hiddens) if norm_first else nn.Identity()

    def forward(self, X: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        """Read tokens (B, S) of lengths `valid_lens`, (B,); give what stands there, (B, S, D).

        Tokens or lengths of a wrong type raise TypeError, of a wrong shape or value ValueError, and
        so does a sequence longer than `max_len`.
        """
        X = self.pos_encoding(_embed(self.embedding, X))  # (B, S) -> (B, S, D)
        for block in self.blks:
            X = block(X, valid_lens)
        return self.ln(X)

    @property
    def attention_weights(self) -> Tensor:
        """Weights of all layers in the last pass, (B, layers, H, S, S)."""
        return _stack_weights(block.attention for block in self.blks)


class BlockState(NamedTuple):
    """What a decoder block keeps of its sequences, so that nothing is computed twice."""

    past: KeysValues | None  # of the steps so far, (B, H, T, D / H) each
    source: KeysValues | None  # of the encoder's outputs, (B, H, S, D / H) each
    source_mask: Tensor | None  # true where the source is no padding, (B, 1, 1, S)
    # Memory that goes on behind the past, and how much of it is used; the first state that follows
    # takes it out of the list.
    room: list[tuple[Tensor, int]] | None = None

    def select(self, rows: Tensor) -> "BlockState":
        """Make the state of the batch that holds these `rows`, shape (B',)."""
        mask = self.source_mask
        mask = None if mask is None else mask[rows]
        return BlockState(_select(self.past, rows), _select(self.source, rows), mask)


class DecoderBlock(nn.Module):
    """Each position asks those up to itself, then the source, then goes through a small network.

    >>> block = DecoderBlock(num_hiddens=4, ffn_num_hiddens=8, num_heads=2)
    >>> state = block.init_state(torch.ones(1, 5, 4))
    >>> X, state = block(torch.ones(1, 3, 4), state)
    >>> X.shape, block.attention1.attention_weights.shape, block.attention2.attention_weights.shape
    (torch.Size([1, 3, 4]), torch.Size([1, 2, 3, 3]), torch.Size([1, 2, 3, 5]))
    >>> X, state = block(torch.ones(1, 1, 4), state)  # a fourth step, which asks all four
    >>> block.attention1.attention_weights.shape
    torch.Size([1, 2, 1, 4])

    Args:
        num_hiddens: D, width of a position, the same as the encoder's.
        ffn_num_hiddens: width of the network.
        num_heads: how many heads each attention has; D is a multiple of it.
        dropout: the share of entries of each sublayer's output that training sets to zero.
        norm_first: norm before each sublayer instead of after; see `AddNorm`.
        bias: whether the projections of attention add one.
        cross_attention: whether there is a source to ask.

    Source: Vaswani et al. 2017, section 3.1; d2l.ai section 11.7.5; the notes' section 10.7.2.
    """

    def __init__(
        self,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        dropout: float = 0,
        *,
        norm_first: bool = False,
        bias: bool = False,
        cross_attention: bool = True,
    ) -> None:
        super().__init__()
        self.attention1 = _attention(num_hiddens, num_heads, bias)
        self.addnorm1 = AddNorm(num_hiddens, dropout, norm_first=norm_first)
        self.attention2 = _attention(num_hiddens, num_heads, bias) if cross_attention else None
        if cross_attention:
            self.addnorm2 = AddNorm(num_hiddens, dropout, norm_first=norm_first)
        self.ffn = PositionWiseFFN(num_hiddens, ffn_num_hiddens, num_hiddens)
        self.addnorm3 = AddNorm(num_hiddens, dropout, norm_first=norm_first)

    def init_state(
        self, enc_outputs: Tensor | None = None, enc_valid_lens: Tensor | None = None
    ) -> BlockState:
        """Start without a past; project the encoder's outputs (B, S, D) once for all steps."""
        if self.attention2 is None:
            for name, given in (("enc_outputs", enc_outputs), ("enc_valid_lens", enc_valid_lens)):
                if given is not None:
                    raise wrong(TypeError, name, given, "to be None without cross_attention")
            return BlockState(None, None, None)
        if enc_outputs is None:
            needs = "what the encoder gives, (B, S, D), unless cross_attention=False"
            raise wrong(TypeError, "enc_outputs", enc_outputs, needs)
        _check_positions("enc_outputs", enc_outputs, self.attention2)
        mask = None
        if enc_valid_lens is not None:
            lengths = length_mask(enc_valid_lens, enc_outputs.shape[:2], "enc_valid_lens")
            mask = lengths[:, None, None]  # (B, S) -> (B, 1, 1, S)
        return BlockState(None, self.attention2.project(enc_outputs, enc_outputs), mask)

    def forward(self, X: Tensor, state: BlockState) -> tuple[Tensor, BlockState]:
        """Take what stands at the next T steps, (B, T, D); give what stands there afterwards."""
        _check_positions("X", X, self.attention1)
        if (self.attention2 is None) != (state.source is None):
            needs = "keys and values as init_state gives them, or None without cross_attention"
            raise wrong(TypeError, "state.source", state.source, needs)
        kept = state.source or state.past
        if kept and len(kept[0]) != len(X):
            raise wrong(ValueError, "X", X, f"{len(kept[0])} sequences, as many as the state has")
        Z = self.addnorm1.enter(X)  # (B, T, D)
        past, room = _append(state, self.attention1.project(Z, Z))  # (B, H, P + T, D / H) each
        # A single step is the last one, and may see all.
        mask = causal_mask(X.shape[1], past[0].shape[2], X.device) if X.shape[1] > 1 else None
        X = self.addnorm1(X, self.attention1.attend(Z, *past, mask))  # (B, T, D)
        if self.attention2 is not None and state.source is not None:
            Z = self.addnorm2.enter(X)  # (B, T, D)
            X = self.addnorm2(X, self.attention2.attend(Z, *state.source, state.source_mask))
        X = self.addnorm3(X, self.ffn(self.addnorm3.enter(X)))  # (B, T, D)
        return X, state._replace(past=past, room=room)


class TransformerState(NamedTuple):
    """What a Transformer's decoder carries: where it is, and what each block keeps."""

    position: int  # of the next step
    blocks: tuple[BlockState, ...]


class TransformerDecoder(AttentionDecoder):
    """Tokens, their positions, a stack of decoder blocks, and scores of the next token.

    A pass may take all tokens at once, as training does, or go on from the state that another left,
    as writing does; either way no step sees a later one, and the scores are the same.

    >>> encoder, decoder = TransformerEncoder(9, 4, 8, 2, 3), TransformerDecoder(7, 4, 8, 2, 3)
    >>> state = decoder.init_state(encoder(torch.tensor([[5, 6, 2]])))
    >>> at_once, _ = decoder(torch.tensor([[1, 4, 5]]), state)
    >>> first, state = decoder(torch.tensor([[1]]), state)
    >>> then, _ = decoder(torch.tensor([[4, 5]]), state)
    >>> bool(torch.allclose(at_once, torch.cat((first, then), dim=1), atol=1e-5))
    True
    >>> decoder.attention_weights.shape  # of the last pass, (B, layers, H, T, S)
    torch.Size([1, 3, 2, 2, 3])

    Without an encoder it is a language model:

    >>> decoder = TransformerDecoder(7, 4, 8, 2, 3, cross_attention=False)
    >>> scores, state = decoder(torch.tensor([[1, 4, 5]]), decoder.init_state())
    >>> scores.shape
    torch.Size([1, 3, 7])

    Args:
        vocab_size: V, number of tokens.
        num_hiddens: D, width of a position, the same as the encoder's.
        ffn_num_hiddens: width of the network in each block.
        num_heads: how many heads each attention has; D is a multiple of it.
        num_layers: how many blocks.
        dropout: the share set to zero of embedded entries and of each sublayer's output.
        norm_first: norm before each sublayer and once at the end; see `AddNorm`.
        bias: whether the projections of attention add one.
        cross_attention: whether there is an encoder to ask.
        max_len: how many positions there are.

    Source: Vaswani et al. 2017, section 3; d2l.ai section 11.7.5; the notes' section 10.7.3.
    """

    def __init__(
        self,
        vocab_size: int,
        num_hiddens: int,
        ffn_num_hiddens: int,
        num_heads: int,
        num_layers: int,
        dropout: float = 0,
        *,
        norm_first: bool = False,
        bias: bool = False,
        cross_attention: bool = True,
        max_len: int = 1000,
    ) -> None:
        super().__init__()
        check_sizes(vocab_size=vocab_size, num_hiddens=num_hiddens)
        check_sizes(ffn_num_hiddens=ffn_num_hiddens, num_layers=num_layers)
        self.embedding = _embedding(vocab_size, num_hiddens)
        self.pos_encoding = PositionalEncoding(num_hiddens, dropout, max_len)
        self.blks = nn.ModuleList(
            DecoderBlock(
                num_hiddens,
                ffn_num_hiddens,
                num_heads,
                dropout,
                norm_first=norm_first,
                bias=bias,
                cross_attention=cross_attention,
            )
            for _ in range(num_layers)
        )
        self.ln = nn.LayerNorm(num_hiddens) if norm_first else nn.Identity()
        self.dense = nn.Linear(num_hiddens, vocab_size)

    def init_state(
        self, enc_outputs: Tensor | None = None, enc_valid_lens: Tensor | None = None
    ) -> TransformerState:
        """Start at position 0; each block projects the encoder's outputs (B, S, D) once."""
        blks: Iterable[Any] = self.blks
        return TransformerState(0, tuple(b.init_state(enc_outputs, enc_valid_lens) for b in blks))

    def forward(self, X: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        """Predict the token after each of the next tokens, X (B, T): scores (B, T, V)."""
        position, before = state
        if len(before) != len(self.blks):
            needs = f"to be {len(self.blks)}, one for each block of this decoder"
            raise wrong(ValueError, "the number of block states", len(before), needs)
        Y = self.pos_encoding(_embed(self.embedding, X), position)  # (B, T) -> (B, T, D)
        after = []
        block: Any
        for block, block_state in zip(self.blks, before, strict=True):
            Y, block_state = block(Y, block_state)
            after.append(block_state)
        logits = self.dense(self.ln(Y))  # (B, T, D) -> (B, T, V)
        return logits, TransformerState(position + X.shape[1], tuple(after))

    def select_state(self, state: TransformerState, rows: Tensor) -> TransformerState:
        """Make the state of the batch that holds these `rows`, shape (B',), in this order."""
        blocks = tuple(block.select(rows) for block in state.blocks)
        return TransformerState(state.position, blocks)

    @property
    def attention_weights(self) -> Tensor:
        """Weights over the source in the last pass, (B, layers, H, T, S); before dropout.

        Raises:
            RuntimeError: there was no pass, or there is no source.
        """
        if any(block.attention2 is None for block in self.blks):
            raise RuntimeError("attention_weights: without cross_attention there is no source")
        return _stack_weights(block.attention2 for block in self.blks)

    @property
    def self_attention_weights(self) -> Tensor:
        """Weights over the steps so far, P + T of them, (B, layers, H, T, P + T)."""
        return _stack_weights(block.attention1 for block in self.blks)


def _stack_weights(attentions: Iterable[Any]) -> Tensor:
    """Put the weights (B, H, Q, K) of all layers side by side: (B, layers, H, Q, K)."""
    return torch.stack([attention.attention_weights for attention in attentions], dim=1)


def _attention(num_hiddens: int, num_heads: int, bias: bool) -> MultiHeadAttention:
    sizes = num_hiddens, num_hiddens, num_hiddens, num_hiddens, num_heads
    return MultiHeadAttention(*sizes, dropout=0, bias=bias)


def _embedding(vocab_size: int, num_hiddens: int) -> nn.Embedding:
    """Make a table of vectors of length about 1; sqrt(D) makes their entries about 1.

    PyTorch's own are sqrt(D) times as long, and would drown the positions.
    """
    embedding = nn.Embedding(vocab_size, num_hiddens)
    nn.init.normal_(embedding.weight, std=num_hiddens**-0.5)
    return embedding


def _embed(embedding: nn.Embedding, X: Tensor) -> Tensor:
    """Look tokens up, and multiply by sqrt(D)."""
    return embed_tokens(embedding, X) * math.sqrt(embedding.embedding_dim)  # (B, T) -> (B, T, D)


def _append(state: BlockState, new: KeysValues) -> tuple[KeysValues, list[tuple[Tensor, int]]]:
    """Put new keys and values behind those of the past, and give the room that is left.

    A step that copied its past would cost more the longer that is. So what is written has room
    behind it, which goes to the first state that follows; another one copies, and no state that
    somebody still holds is changed. While gradients are recorded, nothing is written in place.
    """
    past = state.past
    if past is None:
        return new, []
    if torch.is_grad_enabled():
        return (torch.cat((past[0], new[0]), dim=2), torch.cat((past[1], new[1]), dim=2)), []
    start = past[0].shape[2]  # P
    end = start + new[0].shape[2]  # P + T
    memory, used = state.room.pop() if state.room else (None, 0)  # (2, B, H, C, D / H)
    if (
        memory is None
        or memory.shape[3] < end
        or (used, memory.data_ptr()) != (start, past[0].data_ptr())  # another past was put in place
        # PyTorch lets nobody write outside inference mode what was made in it.
        or memory.is_inference() != torch.is_inference_mode_enabled()
    ):
        batch, heads, _, width = new[0].shape
        memory = new[0].new_empty(2, batch, heads, end + ROOM, width)
        memory[0, :, :, :start], memory[1, :, :, :start] = past
    memory[0, :, :, start:end], memory[1, :, :, start:end] = new
    keys, values = memory[:, :, :, :end]  # (B, H, P + T, D / H) each
    return (keys, values), [(memory, end)]


def _select(kept: KeysValues | None, rows: Tensor) -> KeysValues | None:
    return None if kept is None else (kept[0][rows], kept[1][rows])


def _check_positions(name: str, found: Tensor, attention: MultiHeadAttention) -> None:
    """Raise unless it has three axes, the last as wide as the queries that `attention` takes."""
    check_floats(module=attention.W_q.weight, **{name: found})
    width = attention.W_q.in_features
    if found.dim() != 3 or found.shape[2] != width:
        raise wrong(ValueError, name, found, f"(B, N, {width})")


def _check_last_axes(X: Tensor, *sizes: int) -> None:
    """Raise unless X ends with axes of these sizes; what comes before them is free."""
    if X.shape[-len(sizes) :] != sizes:
        raise wrong(ValueError, "X", X, f"(..., {', '.join(map(str, sizes))})")
