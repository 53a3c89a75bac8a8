"""What came after the Transformer, bare: each change in at most twelve lines.

A second page beside `bare`, with its axes; besides, G heads of keys and values
that H heads of queries share. The first four are options of the library's
attention. Online softmax and linear attention are only here: one computes
softmax tile by tile, the other replaces its e^(q k) by products of features.
"""

import torch

from d2lattn.bare import masked_softmax


def rotate(X, omega):
    """RoPE: turn pair j of the vector at position i by the angle omega_j i."""
    i = torch.arange(X.shape[-2]).unsqueeze(1).to(omega)  # positions, (T, 1)
    cos, sin = (i * omega).cos().to(X), (i * omega).sin().to(X)  # (T, D/2)
    x, y = X[..., 0::2], X[..., 1::2]  # the pairs, (..., T, D/2) each
    turned = torch.stack((x * cos - y * sin, x * sin + y * cos), dim=-1)
    return turned.flatten(-2)  # (..., T, D/2, 2) -> (..., T, D)


def distance_bias(num_heads, T):
    """ALiBi: the bias to add, -slope x distance; one slope per head."""
    slopes = 2.0 ** (-8 * torch.arange(1, num_heads + 1) / num_heads)  # (H,)
    i = torch.arange(T)
    return -slopes[:, None, None] * (i[:, None] - i).abs()  # (H, T, T)


def causal_window_mask(T, window, num_first=0):
    """Sliding window, causal; the library's `window_mask` allows both sides."""
    i = torch.arange(T)
    ago = i[:, None] - i  # (T, 1) - (T,) -> (T, T)
    return (ago >= 0) & ((ago < window) | (i < num_first))


def grouped_attention(queries, keys, values, mask=None):
    """Grouped-query attention: H/G heads of queries share a head of keys."""
    if mask is not None:  # (Q, K), or (B, 1, Q, K) for all heads
        mask = mask.unsqueeze(-3)  # (B, 1, 1, Q, K)
    Q = queries.unflatten(1, (keys.shape[1], -1))  # (B, G, H/G, Q, D)
    K, V = keys.unsqueeze(2), values.unsqueeze(2)  # (B, G, 1, K, D)
    weights = masked_softmax(Q @ K.mT / K.shape[-1] ** 0.5, mask)  # (.., Q, K)
    return (weights @ V).flatten(1, 2)  # (B, G, H/G, Q, D) -> (B, H, Q, D)


def running_attention(queries, keys, values, tile):
    """Online softmax (FlashAttention): one pass, with a running maximum."""
    M, s, u = torch.finfo(queries.dtype).min, 0, 0  # -inf - (-inf) is nan
    for K, V in zip(keys.split(tile, -2), values.split(tile, -2)):
        a = queries @ K.mT / K.shape[-1] ** 0.5  # (.., Q, tile)
        new = a.amax(-1, keepdim=True).clamp(min=M)  # M or above, (.., Q, 1)
        shrink = (M - new).exp()  # 0 in the first tile
        e = (a - new).exp()  # none is above 1, (.., Q, tile)
        s = shrink * s + e.sum(-1, keepdim=True)  # (.., Q, 1)
        u = shrink * u + e @ V  # (.., Q, D)
        M = new
    return u / s


def features(X):
    """Make every entry positive by elu(x) + 1: x + 1 above 0, e^x below."""
    return X.clamp(min=0) + X.clamp(max=0).exp()


def product_attention(Q, K, V):
    """Linear attention as a causal matrix; Q, K are `features` already."""
    products = (Q @ K.mT).tril()  # (T, F) x (F, T) -> (T, T)
    weights = products / products.sum(dim=-1, keepdim=True)
    return weights @ V  # (T, T) x (T, D) -> (T, D)


def carried_attention(Q, K, V):
    """Linear attention as a recurrence: the same, from sums carried along."""
    S, z, read = 0, 0, []
    for q, k, v in zip(Q, K, V, strict=True):
        S = S + k[:, None] * v  # (F, D) + (F, 1) x (D,)
        z = z + k  # (F,)
        read.append((q @ S) / (q @ z))  # (F,) x (F, D) -> (D,)
    return torch.stack(read)  # (T, D)
