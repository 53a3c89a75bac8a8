"""The Transformer (chapters 7, 7a): blocks of attention and small networks, and two stacks of them.

Sequences of tokens are (B, T), the vectors at their positions (B, T, D). Decoders carry the keys
and values of earlier steps (a KV cache), so that each step is computed once; with a window, only of
the steps that are still within reach.

Blocks and stacks have the same options:

- `num_hiddens`: D, the width of the vector at a position, the same in an encoder and its decoder.
- `ffn_num_hiddens`: the hidden width of the network in each block.
- `num_heads`: the number of heads of each attention; it divides D.
- `dropout`: the fraction of embedded entries and of each sublayer's output that is set to zero.
- `norm_first`: normalize before each sublayer instead of after, and once at the end (`AddNorm`).
- `bias`: whether the projections of attention have one.
- `cross_attention`: whether a decoder attends to a source.
- `num_kv_heads`, `relative`, `window`, `num_first`: see `MultiHeadAttention`. Attention to a source
  has only the first of them, because a source has positions of its own.

Stacks also have `vocab_size`, the number of tokens; `num_layers`, the number of blocks; `max_len`,
the number of positions that sinusoids cover; and `pos_encoding`, a module that takes (B, T, D) and
the position of the first step, such as `LearnedPositionalEncoding`. It replaces the sinusoids, has
its own dropout, and `max_len` is ignored. With `relative`, only a `pos_encoding` is added.

Wrong types raise TypeError; wrong shapes and lengths, sequences longer than the positions reach,
and on the CPU tokens beyond the vocabulary, ValueError. Vectors at padding must be finite.

Limits: a decoder alone takes no lengths, so the prompts of a batch must be equally long. After a
cast to half precision and back, sinusoids and slopes stay rounded: make the module anew instead.
What an exported program returns for a query without a key depends on its runtime.

Sources: Vaswani et al. 2017, section 3; d2l.ai section 11.7; the notes' section 10.7.
"""

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from d2lattn.checks import argument_error, check_floats, check_shapes, check_share, check_sizes
from d2lattn.masks import causal_mask, length_mask, resolve_mask
from d2lattn.multihead import MultiHeadAttention
from d2lattn.positional import (
    LinearBiases,
    NoPositionalEncoding,
    PositionalEncoding,
    RotaryPositions,
)
from d2lattn.scoring import HasAttentionWeights, validated_mask
from d2lattn.seq2seq import AttentionDecoder, Encoder, check_state, embed_tokens, token_embedding


class PositionWiseFFN(nn.Module):
    """W_2 relu(W_1 x + b_1) + b_2: the same small network at every position separately.

    >>> ffn = PositionWiseFFN(ffn_num_input=1, ffn_num_hiddens=2, ffn_num_outputs=1)
    >>> for parameter in ffn.parameters():
    ...     _ = nn.init.ones_(parameter)
    >>> ffn(torch.tensor([[[1.0], [-5.0]]])).tolist()  # (1 + 1) twice, + 1; nothing, + 1
    [[[5.0], [1.0]]]
    """

    def __init__(self, ffn_num_input: int, ffn_num_hiddens: int, ffn_num_outputs: int) -> None:
        super().__init__()
        check_sizes(ffn_num_input=ffn_num_input, ffn_num_hiddens=ffn_num_hiddens)
        check_sizes(ffn_num_outputs=ffn_num_outputs)
        self.num_input = ffn_num_input
        self.dense1 = nn.Linear(ffn_num_input, ffn_num_hiddens)
        self.relu = nn.ReLU()
        self.dense2 = nn.Linear(ffn_num_hiddens, ffn_num_outputs)

    def forward(self, X: Tensor) -> Tensor:
        """Map (B, T, ffn_num_input) to (B, T, ffn_num_outputs)."""
        check_floats(self.dense1, X=X)
        check_shapes(X=(X, "...", self.num_input))
        return self.dense2(self.relu(self.dense1(X)))  # (B, T, D) -> (B, T, F) -> (B, T, D)


class AddNorm(nn.Module):
    """LN(x + dropout(y)): add a sublayer's input to its output, and normalize the sum.

    With `norm_first` (Xiong et al. 2020, figure 1), with which deep stacks train better, it is
    x + dropout(y), and `before` gives the sublayer LN(x).

    >>> add_norm = AddNorm(2, dropout=0)
    >>> normed = add_norm(torch.tensor([3.0, 4]), torch.tensor([1.0, 4]))  # the sum is (4, 8)
    >>> [round(entry, 2) for entry in normed.tolist()]
    [-1.0, 1.0]

    `normalized_shape` is the width of a position, D, or a list of the last axes.
    """

    def __init__(
        self, normalized_shape: int | list[int], dropout: float, *, norm_first: bool = False
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.dropout = nn.Dropout(check_share("dropout", dropout))
        self.ln = nn.LayerNorm(normalized_shape)

    def before(self, X: Tensor) -> Tensor:
        """Return the sublayer's input: LN(X) if the norm comes first, else X itself."""
        return self.ln(X) if self.norm_first else X

    def forward(self, X: Tensor, Y: Tensor) -> Tensor:
        """Add the sublayer's output Y to its input X, of the same shape."""
        check_floats(self.ln, X=X, Y=Y)
        check_shapes(X=(X, "...", *self.ln.normalized_shape), Y=(Y, *X.shape))
        total = X + self.dropout(Y)
        return total if self.norm_first else self.ln(total)


class EncoderBlock(nn.Module):
    """Self-attention, then the same small network at every position.

    >>> block = EncoderBlock(num_hiddens=4, ffn_num_hiddens=8, num_heads=2)
    >>> block(torch.ones(1, 3, 4), torch.tensor([2])).shape
    torch.Size([1, 3, 4])
    >>> block.attention.attention_weights.shape
    torch.Size([1, 2, 3, 3])
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
        num_kv_heads: int | None = None,
        relative: LinearBiases | RotaryPositions | None = None,
        window: int | None = None,
        num_first: int = 0,
    ) -> None:
        super().__init__()
        check_sizes(num_hiddens=num_hiddens)
        sizes = num_hiddens, num_hiddens, num_hiddens, num_hiddens, num_heads
        places: Any = {"relative": relative, "window": window, "num_first": num_first}
        self.attention = MultiHeadAttention(*sizes, 0, bias, num_kv_heads=num_kv_heads, **places)
        self.addnorm1 = AddNorm(num_hiddens, dropout, norm_first=norm_first)
        self.ffn = PositionWiseFFN(num_hiddens, ffn_num_hiddens, num_hiddens)
        self.addnorm2 = AddNorm(num_hiddens, dropout, norm_first=norm_first)

    def forward(
        self, X: Tensor, valid_lens: Tensor | None = None, *, mask: Tensor | None = None
    ) -> Tensor:
        """Map (B, T, D) to (B, T, D); a mask of the scores, (B, H, T, T), may replace the lengths.

        Its axes may be 1 where all sequences, heads, queries or keys share it.
        """
        check_floats(self.ffn.dense1, X=X)
        check_shapes(X=(X, "B", "N", self.attention.query_size))
        allowed = validated_mask(valid_lens, X, X, self.attention.num_heads, mask=mask)
        Z = self.addnorm1.before(X)  # (B, T, D)
        X = self.addnorm1(X, self.attention.attend(Z, *self.attention.project(Z, Z), allowed))
        return self.addnorm2(X, self.ffn(self.addnorm2.before(X)))


class TransformerEncoder(HasAttentionWeights, Encoder):
    """Embeddings of tokens, their positions, and a stack of encoder blocks.

    Token vectors have length about 1 at first, and are multiplied by sqrt(D), which makes their
    entries about as large as those of the sinusoids.

    >>> encoder = TransformerEncoder(10, 4, ffn_num_hiddens=8, num_heads=2, num_layers=3)
    >>> encoder(torch.tensor([[5, 6, 2, 0]]), torch.tensor([3])).shape
    torch.Size([1, 4, 4])
    >>> encoder.attention_weights.shape  # (B, layers, H, S, S)
    torch.Size([1, 3, 2, 4, 4])
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
        pos_encoding: nn.Module | None = None,
        num_kv_heads: int | None = None,
        relative: LinearBiases | RotaryPositions | None = None,
        window: int | None = None,
        num_first: int = 0,
    ) -> None:
        super().__init__()
        check_sizes(num_hiddens=num_hiddens, num_layers=num_layers)
        self.embedding = token_embedding(vocab_size, num_hiddens, num_hiddens**-0.5)
        self.scale = math.sqrt(num_hiddens)
        if pos_encoding is None and relative is None:
            pos_encoding = PositionalEncoding(num_hiddens, dropout, max_len)
        self.pos_encoding = pos_encoding or NoPositionalEncoding(dropout)
        sizes = num_hiddens, ffn_num_hiddens, num_heads, dropout
        options: Any = {"norm_first": norm_first, "bias": bias, "num_kv_heads": num_kv_heads}
        options |= {"relative": relative, "window": window, "num_first": num_first}
        self.blks: Any = nn.ModuleList(EncoderBlock(*sizes, **options) for _ in range(num_layers))
        self.ln = nn.LayerNorm(num_hiddens) if norm_first else nn.Identity()

    def forward(self, X: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        """Read tokens (B, S) of lengths `valid_lens`, (B,); return their vectors, (B, S, D)."""
        X = self.pos_encoding(embed_tokens(self.embedding, X) * self.scale)  # (B, S) -> (B, S, D)
        mask = resolve_mask(
            validated_mask(valid_lens, X, X, 1)
        )  # (B, 1, 1 or S, S), once for all blocks
        weights = []
        for block in self.blks:
            X = block(X, mask=mask)
            weights.append(block.attention._stored_weights())
        self._store_weights(partial(_stack, weights))
        return self.ln(X)


class BlockState(NamedTuple):
    """What a decoder block keeps of its sequences, so that nothing is computed twice."""

    past: tuple[Tensor, Tensor] | None  # of the steps so far, (B, G, T, D / H) each
    source: tuple[Tensor, Tensor] | None  # of the encoder's outputs, (B, G, S, D / H) each
    source_mask: Tensor | None  # true where the source is no padding, (B, 1, 1, S)
    gap: int = 0  # the number of past steps that were dropped, because no window reaches them


class DecoderBlock(nn.Module):
    """Causal self-attention, attention to the source, and a small network at every position.

    >>> block = DecoderBlock(num_hiddens=4, ffn_num_hiddens=8, num_heads=2)
    >>> state = block.init_state(torch.ones(1, 5, 4))
    >>> X, state = block(torch.ones(1, 3, 4), state)
    >>> X.shape, block.attention1.attention_weights.shape, block.attention2.attention_weights.shape
    (torch.Size([1, 3, 4]), torch.Size([1, 2, 3, 3]), torch.Size([1, 2, 3, 5]))
    >>> X, state = block(torch.ones(1, 1, 4), state)  # a fourth step, which attends to all four
    >>> block.attention1.attention_weights.shape
    torch.Size([1, 2, 1, 4])
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
        num_kv_heads: int | None = None,
        relative: LinearBiases | RotaryPositions | None = None,
        window: int | None = None,
        num_first: int = 0,
    ) -> None:
        super().__init__()
        check_sizes(num_hiddens=num_hiddens)
        sizes = num_hiddens, num_hiddens, num_hiddens, num_hiddens, num_heads
        places: Any = {"relative": relative, "window": window, "num_first": num_first}
        self.attention1 = MultiHeadAttention(*sizes, 0, bias, num_kv_heads=num_kv_heads, **places)
        self.addnorm1 = AddNorm(num_hiddens, dropout, norm_first=norm_first)
        self.attention2: Any = None
        if cross_attention:
            self.attention2 = MultiHeadAttention(*sizes, 0, bias, num_kv_heads=num_kv_heads)
            self.addnorm2 = AddNorm(num_hiddens, dropout, norm_first=norm_first)
        self.ffn = PositionWiseFFN(num_hiddens, ffn_num_hiddens, num_hiddens)
        self.addnorm3 = AddNorm(num_hiddens, dropout, norm_first=norm_first)

    @property
    def self_attention(self) -> MultiHeadAttention:
        """Another name for `attention1`, the name in D2L."""
        return self.attention1

    @property
    def cross_attention(self) -> MultiHeadAttention | None:
        """Another name for `attention2`, the name in D2L: attention to the source, if any."""
        return self.attention2

    def init_state(
        self, enc_outputs: Tensor | None = None, enc_valid_lens: Tensor | None = None
    ) -> BlockState:
        """Start without earlier steps; project the encoder's outputs (B, S, D) only once."""
        attention = self.cross_attention
        if attention is None:
            for name, value in (("enc_outputs", enc_outputs), ("enc_valid_lens", enc_valid_lens)):
                if value is not None:
                    raise argument_error(
                        TypeError, name, value, "to be None without cross_attention"
                    )
            return BlockState(None, None, None)
        if enc_outputs is None:
            needs = "what the encoder gives, (B, S, D), unless cross_attention=False"
            raise argument_error(TypeError, "enc_outputs", enc_outputs, needs)
        check_floats(attention.W_k, enc_outputs=enc_outputs)
        check_shapes(enc_outputs=(enc_outputs, "B", "N", attention.key_size))
        mask = None
        if enc_valid_lens is not None:
            lengths = length_mask(enc_valid_lens, enc_outputs.shape[:2], "enc_valid_lens")
            mask = lengths[:, None, None]  # (B, S) -> (B, 1, 1, S)
        return BlockState(None, attention.project(enc_outputs, enc_outputs), mask)

    def forward(self, X: Tensor, state: BlockState) -> tuple[Tensor, BlockState]:
        """Map the vectors of the next T steps, (B, T, D), to new ones, and return the new state."""
        check_floats(self.ffn.dense1, X=X)
        check_shapes(X=(X, "B", "N", self.attention1.query_size))
        check_state(state, BlockState, X, "past", "source")
        past, source, source_mask, gap = state
        cross_attention = self.cross_attention
        if (cross_attention is None) != (source is None):
            needs = "keys and values as init_state gives them, or None without cross_attention"
            raise argument_error(TypeError, "state.source", source, needs)

        Z = self.addnorm1.before(X)  # (B, T, D)
        start = 0 if past is None else past[0].shape[2] + gap  # the place of the first new step
        k, v = self.attention1.project(Z, Z, start)  # (B, G, T, D / H) each
        if past is not None:  # (B, G, P, D / H) and (B, G, T, D / H) -> (B, G, P + T, D / H)
            k, v = torch.cat((past[0], k), dim=2), torch.cat((past[1], v), dim=2)
        steps, so_far = X.shape[1], k.shape[2]
        # A function, so that no mask is stored. A single step is the last one, and sees all.
        mask = partial(causal_mask, steps, so_far, X.device) if steps > 1 else None
        X = self.addnorm1(X, self.attention1.attend(Z, k, v, mask, start, gap))
        if cross_attention is not None and source is not None:
            Z = self.addnorm2.before(X)  # (B, T, D)
            X = self.addnorm2(X, cross_attention.attend(Z, *source, source_mask))
        X = self.addnorm3(X, self.ffn(self.addnorm3.before(X)))
        past = self.attention1.keep(k), self.attention1.keep(v)  # (B, G, at most P + T, D / H)
        return X, BlockState(past, source, source_mask, gap + so_far - past[0].shape[2])


class TransformerState(NamedTuple):
    """What a Transformer's decoder carries: its position, and what each block keeps."""

    position: int  # of the next step
    blocks: tuple[BlockState, ...]


class TransformerDecoder(HasAttentionWeights, AttentionDecoder):
    """Embeddings of tokens, positions, a stack of decoder blocks, and scores of the next token.

    A pass may take all tokens at once, as in training, or continue from the state of another pass,
    as in decoding; either way, no step attends to a later one, and the scores are the same.

    >>> encoder, decoder = TransformerEncoder(9, 4, 8, 2, 3), TransformerDecoder(7, 4, 8, 2, 3)
    >>> state = decoder.init_state(encoder(torch.tensor([[5, 6, 2]])))
    >>> at_once, _ = decoder(torch.tensor([[1, 4, 5]]), state)
    >>> first, state = decoder(torch.tensor([[1]]), state)
    >>> then, _ = decoder(torch.tensor([[4, 5]]), state)
    >>> bool(torch.allclose(at_once, torch.cat((first, then), dim=1), atol=1e-5))
    True
    >>> decoder.attention_weights.shape  # of the last pass, (B, layers, H, T, S)
    torch.Size([1, 3, 2, 2, 3])

    Without an encoder, the decoder is a language model:

    >>> decoder = TransformerDecoder(7, 4, 8, 2, 3, cross_attention=False)
    >>> scores, state = decoder(torch.tensor([[1, 4, 5]]), decoder.init_state())
    >>> scores.shape
    torch.Size([1, 3, 7])
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
        pos_encoding: nn.Module | None = None,
        num_kv_heads: int | None = None,
        relative: LinearBiases | RotaryPositions | None = None,
        window: int | None = None,
        num_first: int = 0,
    ) -> None:
        super().__init__()
        check_sizes(num_hiddens=num_hiddens, num_layers=num_layers)
        self.embedding = token_embedding(vocab_size, num_hiddens, num_hiddens**-0.5)
        self.scale = math.sqrt(num_hiddens)
        if pos_encoding is None and relative is None:
            pos_encoding = PositionalEncoding(num_hiddens, dropout, max_len)
        self.pos_encoding = pos_encoding or NoPositionalEncoding(dropout)
        sizes = num_hiddens, ffn_num_hiddens, num_heads, dropout
        options: Any = {"norm_first": norm_first, "bias": bias, "num_kv_heads": num_kv_heads}
        options |= {"relative": relative, "window": window, "num_first": num_first}
        options |= {"cross_attention": cross_attention}
        self.blks: Any = nn.ModuleList(DecoderBlock(*sizes, **options) for _ in range(num_layers))
        self.ln = nn.LayerNorm(num_hiddens) if norm_first else nn.Identity()
        self.dense = nn.Linear(num_hiddens, vocab_size)

    def init_state(
        self, enc_outputs: Tensor | None = None, enc_valid_lens: Tensor | None = None
    ) -> TransformerState:
        """Start at position 0; each block projects the encoder's outputs (B, S, D) once."""
        first, *rest = self.blks
        state = first.init_state(enc_outputs, enc_valid_lens)
        mask = state.source_mask  # shared by all blocks
        rest_states = [
            BlockState(None, block.init_state(enc_outputs).source, mask) for block in rest
        ]
        return TransformerState(0, (state, *rest_states))

    def forward(self, X: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        """Predict the token after each of the next tokens, X (B, T): scores (B, T, V)."""
        check_state(state, TransformerState, X)
        position, before = state
        if len(before) != len(self.blks):
            needs = f"to be {len(self.blks)}, one for each block of this decoder"
            raise argument_error(ValueError, "the number of block states", len(before), needs)
        Y = self.pos_encoding(embed_tokens(self.embedding, X) * self.scale, position)  # (B, T, D)
        after, self_weights, cross_weights = [], [], []
        for i, block in enumerate(self.blks):
            Y, block_state = block(Y, before[i])
            after.append(block_state)
            self_weights.append(block.self_attention._stored_weights())
            if block.cross_attention is not None:
                cross_weights.append(block.cross_attention._stored_weights())
        logits = self.dense(self.ln(Y))  # (B, T, D) -> (B, T, V)
        self._store_weights((self_weights, cross_weights))
        return logits, TransformerState(position + X.shape[1], tuple(after))

    @property  # type: ignore[misc]  # nobody assigns these
    def attention_weights(self) -> Tensor:
        """Weights over the source in the last forward pass, (B, layers, H, T, S)."""
        if any(block.cross_attention is None for block in self.blks):
            raise AttributeError("attention_weights: without cross_attention there is no source")
        _, cross_weights = self._stored_weights()
        return _stack(cross_weights)

    @property
    def self_attention_weights(self) -> Tensor:
        """Weights over the P steps that were kept and the T new ones, (B, layers, H, T, P + T)."""
        self_weights, _ = self._stored_weights()
        return _stack(self_weights)


def _stack(weights: Iterable[Callable[[], Tensor]]) -> Tensor:
    """Put the weights (B, H, Q, K) of all layers side by side: (B, layers, H, Q, K)."""
    return torch.stack([compute() for compute in weights], dim=1)
