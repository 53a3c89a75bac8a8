"""GPT-2 and LLaMA, bare: two decoders, equal to the published ones.

A third page beside `bare` and `bare_after`, with their axes: B texts, N tokens,
D width, H heads of queries, G heads of keys and values, V tokens of the
vocabulary. With the same weights and epsilon, logits and gradients of `tokens`
are those of Hugging Face's `GPT2LMHeadModel` and `LlamaForCausalLM`.
"""

import torch
from torch import nn

from d2lattn.bare import attention, split_heads


class CausalSelfAttention(nn.Module):
    def __init__(self, num_hiddens, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.W_qkv = nn.Linear(num_hiddens, 3 * num_hiddens)  # three in one
        self.W_o = nn.Linear(num_hiddens, num_hiddens)

    def forward(self, X):  # (B, N, D)
        q, k, v = self.W_qkv(X).chunk(3, dim=-1)  # (B, N, D) each
        q, k, v = (split_heads(Y, self.num_heads) for Y in (q, k, v))
        causal = X.new_ones(X.shape[1], X.shape[1]).tril().bool()  # (N, N)
        heads, weights = attention(q, k, v, causal)  # (B, H, N, D/H)
        self.attention_weights = weights.detach()
        return self.W_o(heads.transpose(1, 2).flatten(2))  # (B, N, D)


class GPTBlock(nn.Module):  # norm first: x + attention(LN(x))
    def __init__(self, num_hiddens, num_heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(num_hiddens)
        self.attention = CausalSelfAttention(num_hiddens, num_heads)
        self.norm2 = nn.LayerNorm(num_hiddens)
        self.network = nn.Sequential(
            nn.Linear(num_hiddens, 4 * num_hiddens),
            nn.GELU(approximate="tanh"),  # as in GPT-2
            nn.Linear(4 * num_hiddens, num_hiddens),
        )

    def forward(self, X):  # (B, N, D)
        X = X + self.attention(self.norm1(X))
        return X + self.network(self.norm2(X))


class GPT(nn.Module):
    def __init__(self, num_tokens, max_len, num_hiddens, num_heads, depth):
        super().__init__()
        self.tokens = nn.Embedding(num_tokens, num_hiddens)
        self.positions = nn.Embedding(max_len, num_hiddens)
        nn.init.normal_(self.tokens.weight, std=0.02)
        nn.init.normal_(self.positions.weight, std=0.02)
        blocks = [GPTBlock(num_hiddens, num_heads) for _ in range(depth)]
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.LayerNorm(num_hiddens)

    def forward(self, tokens):  # (B, N)
        i = torch.arange(tokens.shape[1], device=tokens.device)  # (N,)
        X = self.tokens(tokens) + self.positions(i)  # (B, N, D)
        X = self.norm(self.blocks(X))
        return X @ self.tokens.weight.T  # logits, (B, N, V)


class RMSNorm(nn.Module):  # g x / sqrt(mean(x^2)): no mean, no shift
    def __init__(self, num_hiddens):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(num_hiddens))

    def forward(self, X):  # (B, N, D)
        x = X.float()  # squares of half precision can overflow
        size = x.square().mean(dim=-1, keepdim=True)  # (B, N, 1)
        return self.weight * (x * (size + 1e-6).rsqrt()).to(X)


class SwiGLU(nn.Module):  # W_down (silu(W_gate x) * W_up x)
    def __init__(self, num_hiddens, ffn_num_hiddens):
        super().__init__()
        self.W_gate = nn.Linear(num_hiddens, ffn_num_hiddens, bias=False)
        self.W_up = nn.Linear(num_hiddens, ffn_num_hiddens, bias=False)
        self.W_down = nn.Linear(ffn_num_hiddens, num_hiddens, bias=False)

    def forward(self, X):  # (B, N, D) -> (B, N, F) -> (B, N, D)
        gate = torch.nn.functional.silu(self.W_gate(X))  # x sigmoid(x)
        return self.W_down(gate * self.W_up(X))


def rotate_half(X):
    """Turn each pair (x_j, x_{j + D/2}) by a right angle."""
    x, y = X.chunk(2, dim=-1)  # (..., N, D/2) each
    return torch.cat((-y, x), dim=-1)


def rotary(X, start=0, base=10000):
    """RoPE on halves: turn pair j of the vector at position i by omega_j i."""
    N, D = X.shape[-2:]
    i = torch.arange(start, start + N).unsqueeze(1)  # (N, 1)
    omega = base ** (-torch.arange(0, D, 2) / D)  # (D/2,), float32
    angle = (i * omega).repeat(1, 2)  # both halves alike, (N, D)
    cos, sin = angle.cos().to(X), angle.sin().to(X)  # in the precision of X
    return X * cos + rotate_half(X) * sin


class GroupedSelfAttention(nn.Module):  # H heads of queries, G of keys
    def __init__(self, num_hiddens, num_heads, num_groups, base=10000):
        super().__init__()
        self.num_heads, self.num_groups = num_heads, num_groups
        self.base = base  # of the rotation
        width = num_hiddens // num_heads * num_groups
        self.W_q = nn.Linear(num_hiddens, num_hiddens, bias=False)
        self.W_k = nn.Linear(num_hiddens, width, bias=False)  # narrower
        self.W_v = nn.Linear(num_hiddens, width, bias=False)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=False)

    def forward(self, X, cache=None):  # (B, N, D)
        start = 0 if cache is None else cache[0].shape[2]  # tokens before
        q = split_heads(self.W_q(X), self.num_heads)  # (B, H, N, D/H)
        k = split_heads(self.W_k(X), self.num_groups)  # (B, G, N, D/H)
        v = split_heads(self.W_v(X), self.num_groups)
        q, k = (rotary(Y, start, self.base) for Y in (q, k))
        if cache is not None:  # keys and values of earlier tokens
            k = torch.cat((cache[0], k), dim=2)  # (B, G, start + N, D/H)
            v = torch.cat((cache[1], v), dim=2)
        repeats = self.num_heads // self.num_groups
        keys = k.repeat_interleave(repeats, dim=1)  # (B, H, start + N, D/H)
        values = v.repeat_interleave(repeats, dim=1)
        causal = X.new_ones(X.shape[1], k.shape[2]).tril(start).bool()
        heads, _ = attention(q, keys, values, causal)
        return self.W_o(heads.transpose(1, 2).flatten(2)), (k, v)


class LlamaBlock(nn.Module):
    def __init__(self, num_hiddens, ffn_num_hiddens, **heads):  # H, G, base
        super().__init__()
        self.norm1 = RMSNorm(num_hiddens)
        self.attention = GroupedSelfAttention(num_hiddens, **heads)
        self.norm2 = RMSNorm(num_hiddens)
        self.network = SwiGLU(num_hiddens, ffn_num_hiddens)

    def forward(self, X, cache=None):  # (B, N, D)
        attended, cache = self.attention(self.norm1(X), cache)
        X = X + attended
        return X + self.network(self.norm2(X)), cache


class Llama(nn.Module):
    def __init__(self, num_tokens, depth, num_hiddens, **sizes):  # of a block
        super().__init__()
        self.tokens = nn.Embedding(num_tokens, num_hiddens)
        blocks = [LlamaBlock(num_hiddens, **sizes) for _ in range(depth)]
        self.blocks = nn.ModuleList(blocks)
        self.norm = RMSNorm(num_hiddens)
        self.dense = nn.Linear(num_hiddens, num_tokens, bias=False)

    def forward(self, tokens, caches=None):  # (B, N), the new tokens
        X, caches = self.tokens(tokens), caches or [None] * len(self.blocks)
        kept = []
        for block, cache in zip(self.blocks, caches, strict=True):
            X, cache = block(X, cache)
            kept.append(cache)
        return self.dense(self.norm(X)), kept  # logits (B, N, V), caches
