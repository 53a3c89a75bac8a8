"""Attention to Transformer on one page: each mechanism bare, in formula order.

The library computes the same, with checks, options and arguments of its own.
Axes: B sequences, Q queries, K keys, H heads, D width, F hidden units, V words
(or a value's width), S source steps, T target steps, N steps of either. A mask
is true where a query may attend, at one key at least; it broadcasts to scores.
"""

import torch
from torch import nn


def masked_softmax(scores, mask=None):
    """Softmax over the keys that the mask allows."""
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)  # e^-inf = 0
    return scores.softmax(dim=-1)  # along the keys


def dot_product_scores(queries, keys):
    """Score every key for every query: q^T k / sqrt(d)."""
    scores = queries @ keys.mT  # (B, Q, D) x (B, D, K) -> (B, Q, K)
    return scores / keys.shape[-1] ** 0.5


def additive_scores(queries, keys, W_q, W_k, w_v):
    """Score by w_v^T tanh(W_q q + W_k k); the library takes W_q q and W_k k."""
    q = W_q(queries).unsqueeze(-2)  # (B, Q, D_q) -> (B, Q, h) -> (B, Q, 1, h)
    k = W_k(keys).unsqueeze(-3)  # (B, K, D_k) -> (B, K, h) -> (B, 1, K, h)
    return w_v(torch.tanh(q + k)).squeeze(-1)  # (B, Q, K, h) -> (B, Q, K)


def attention(queries, keys, values, mask=None):
    """Return softmax(Q K^T / sqrt(d)) V, and the weights."""
    weights = masked_softmax(dot_product_scores(queries, keys), mask)
    return weights @ values, weights  # (B, Q, K) x (B, K, V) -> (B, Q, V)


def self_attention(X, W_q, W_k, W_v):
    """Attend where queries, keys and values all come from the same words X."""
    return attention(X @ W_q.T, X @ W_k.T, X @ W_v.T)  # (N, V), (N, N)


def nadaraya_watson(queries, keys, values, h):
    """Attention by distance, softmax(-u^2 / 2); h is the bandwidth."""
    u = (queries.unsqueeze(-1) - keys) / h  # (Q, 1) - (K,) -> (Q, K)
    weights = torch.softmax(-(u**2) / 2, dim=-1)  # each row sums to 1
    return (weights * values).sum(dim=-1), weights  # (Q, K) -> (Q,)


def split_heads(X, num_heads):
    """Split each row of width D into heads."""
    X = X.unflatten(-1, (num_heads, -1))  # (B, N, D) -> (B, N, H, D/H)
    return X.transpose(1, 2)  # -> (B, H, N, D/H)


def merge_heads(heads):
    """Join the heads again: undo the split."""
    heads = heads.transpose(1, 2)  # (B, H, N, D/H) -> (B, N, H, D/H)
    return heads.flatten(2)  # -> (B, N, D)


class MultiHeadAttention(nn.Module):  # W_o [head 1; ...; head H]
    def __init__(self, num_hiddens, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.W_q = nn.Linear(num_hiddens, num_hiddens, bias=False)
        self.W_k = nn.Linear(num_hiddens, num_hiddens, bias=False)
        self.W_v = nn.Linear(num_hiddens, num_hiddens, bias=False)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=False)

    def forward(self, queries, keys, values, mask=None):
        # mask: broadcasts to (B, H, Q, K), true where a query may attend
        q = split_heads(self.W_q(queries), self.num_heads)  # (B, H, Q, D/H)
        k = split_heads(self.W_k(keys), self.num_heads)  # (B, H, K, D/H)
        v = split_heads(self.W_v(values), self.num_heads)  # (B, H, K, D/H)
        heads, weights = attention(q, k, v, mask)
        self.attention_weights = weights.detach()  # kept for plots, (B, H, Q, K)
        return self.W_o(merge_heads(heads))  # (B, Q, D)


def positions(T, D):
    """Return sin(omega_j i) and cos(omega_j i) in each row i; D is even."""
    i = torch.arange(T).unsqueeze(1)  # positions, (T, 1)
    omega = 10000 ** (-torch.arange(0, D, 2) / D)  # frequencies, (D/2,)
    P = torch.empty(T, D)
    P[:, 0::2] = torch.sin(i * omega)  # (T, 1) x (D/2,) -> (T, D/2)
    P[:, 1::2] = torch.cos(i * omega)
    return P


class AddNorm(nn.Module):  # LN(x + y)
    def __init__(self, num_hiddens):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(num_hiddens))
        self.beta = nn.Parameter(torch.zeros(num_hiddens))

    def forward(self, X, Y):  # (B, N, D) both
        Z = X + Y
        mean = Z.mean(dim=-1, keepdim=True)  # of each position, (B, N, 1)
        variance = Z.var(dim=-1, keepdim=True, unbiased=False)
        return self.gamma * (Z - mean) / (variance + 1e-5).sqrt() + self.beta


class PositionWiseFFN(nn.Module):  # W_2 max(0, W_1 x + b_1) + b_2
    def __init__(self, num_hiddens, ffn_num_hiddens):
        super().__init__()
        self.W_1 = nn.Linear(num_hiddens, ffn_num_hiddens)  # with its b
        self.W_2 = nn.Linear(ffn_num_hiddens, num_hiddens)

    def forward(self, X):  # (B, N, D) -> (B, N, F) -> (B, N, D)
        return self.W_2(self.W_1(X).relu())


class EncoderBlock(nn.Module):  # self-attention, then the network
    def __init__(self, num_hiddens, ffn_num_hiddens, num_heads):
        super().__init__()
        self.attention = MultiHeadAttention(num_hiddens, num_heads)
        self.addnorm1 = AddNorm(num_hiddens)
        self.ffn = PositionWiseFFN(num_hiddens, ffn_num_hiddens)
        self.addnorm2 = AddNorm(num_hiddens)

    def forward(self, X, mask=None):  # (B, S, D)
        X = self.addnorm1(X, self.attention(X, X, X, mask))
        return self.addnorm2(X, self.ffn(X))


class DecoderBlock(nn.Module):  # masked self-attention, cross-attention, FFN
    def __init__(self, num_hiddens, ffn_num_hiddens, num_heads):
        super().__init__()
        self.attention1 = MultiHeadAttention(num_hiddens, num_heads)
        self.addnorm1 = AddNorm(num_hiddens)
        self.attention2 = MultiHeadAttention(num_hiddens, num_heads)
        self.addnorm2 = AddNorm(num_hiddens)
        self.ffn = PositionWiseFFN(num_hiddens, ffn_num_hiddens)
        self.addnorm3 = AddNorm(num_hiddens)

    def forward(self, X, encoded, source_mask=None):  # (B, T, D), (B, S, D)
        causal = X.new_ones(X.shape[1], X.shape[1]).tril().bool()  # (T, T)
        X = self.addnorm1(X, self.attention1(X, X, X, causal))
        X = self.addnorm2(X, self.attention2(X, encoded, encoded, source_mask))
        return self.addnorm3(X, self.ffn(X))


def embed_with_positions(tokens, embedding):
    """Return sqrt(D) times each token's vector, plus its position."""
    X = embedding(tokens)  # (B, N) -> (B, N, D)
    N, D = X.shape[1:]
    return X * D**0.5 + positions(N, D).to(X)  # (B, N, D) + (N, D)


class TransformerEncoder(nn.Module):  # embedding, position, blocks
    def __init__(self, vocab_size, num_blocks,
                 num_hiddens, ffn_num_hiddens, num_heads):  # fmt: skip
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        nn.init.normal_(self.embedding.weight, std=num_hiddens**-0.5)
        self.blocks = nn.ModuleList(
            EncoderBlock(num_hiddens, ffn_num_hiddens, num_heads)
            for _ in range(num_blocks)
        )  # fmt: skip

    def forward(self, tokens, mask=None):  # (B, S) -> (B, S, D)
        X = embed_with_positions(tokens, self.embedding)
        for block in self.blocks:
            X = block(X, mask)
        return X


class TransformerDecoder(nn.Module):  # like the encoder, but ends with logits
    def __init__(self, vocab_size, num_blocks,
                 num_hiddens, ffn_num_hiddens, num_heads):  # fmt: skip
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        nn.init.normal_(self.embedding.weight, std=num_hiddens**-0.5)
        self.blocks = nn.ModuleList(
            DecoderBlock(num_hiddens, ffn_num_hiddens, num_heads)
            for _ in range(num_blocks)
        )  # fmt: skip
        self.dense = nn.Linear(num_hiddens, vocab_size)

    def forward(self, tokens, encoded, source_mask=None):  # (B, T), (B, S, D)
        X = embed_with_positions(tokens, self.embedding)  # (B, T, D)
        for block in self.blocks:
            X = block(X, encoded, source_mask)
        return self.dense(X)  # (B, T, D) -> (B, T, V)


class Transformer(nn.Module):
    def __init__(self, source_size, target_size, *sizes):  # as in the halves
        super().__init__()
        self.encoder = TransformerEncoder(source_size, *sizes)
        self.decoder = TransformerDecoder(target_size, *sizes)

    def forward(self, source, inputs, mask=None):  # mask: (B, 1, 1, S)
        encoded = self.encoder(source, mask)  # (B, S, D)
        return self.decoder(inputs, encoded, mask)  # (B, T, V)


@torch.no_grad()
def greedy_decode(model, source, mask=None, max_len=50, bos=1, eos=2):
    """Append the likeliest next token again and again, until all rows end."""
    encoded = model.encoder(source, mask)  # (B, S, D)
    tokens = torch.full_like(source[:, :1], bos)  # (B, 1)
    for _ in range(max_len):
        logits = model.decoder(tokens, encoded, mask)  # (B, T, V)
        best = logits[:, -1:].argmax(dim=-1)  # -1: keeps axis 1, so (B, 1)
        tokens = torch.cat((tokens, best), dim=1)  # (B, T + 1)
        ended = (tokens == eos).any(dim=1)  # (B,)
        if ended.all():
            break
    return tokens[:, 1:]


class BahdanauDecoder(nn.Module):  # query: its state s; keys: states h
    def __init__(self, vocab_size, embed_size, num_hiddens):
        super().__init__()
        self.W_k = nn.Linear(num_hiddens, num_hiddens, bias=False)
        self.W_q = nn.Linear(num_hiddens, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.gru = nn.GRUCell(num_hiddens + embed_size, num_hiddens)
        self.dense = nn.Linear(num_hiddens, vocab_size)

    def forward(self, y, s, h, mask=None):  # (B,), (B, D), (B, S, D)
        scores = additive_scores(s[:, None], h, self.W_q, self.W_k, self.w_v)
        weights = masked_softmax(scores, mask)  # of one query, (B, 1, S)
        context = (weights @ h).squeeze(1)  # (B, 1, S) x (B, S, D) -> (B, D)
        s = self.gru(torch.cat((context, self.embedding(y)), dim=-1), s)
        return self.dense(s), s, weights  # (B, V), (B, D), (B, 1, S)
