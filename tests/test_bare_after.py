"""Each mechanism of the second page, in at most twelve lines: what the package gives, to 1e-10."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_bare import agree, close

import d2lattn as d2l
from d2lattn import bare_after, masks
from d2lattn.scoring import DotProductAttention

DRAWN = settings(deadline=None, max_examples=15, derandomize=True)
SIZES = st.integers(1, 5)
SEEDS = st.integers(0, 10_000)
pytestmark = pytest.mark.usefixtures("exact")


def speeds(pairs, base=10000):
    return base ** (-torch.arange(pairs) / pairs)


@DRAWN
@given(SIZES, SIZES, st.integers(1, 4), st.sampled_from([10000, 100, 7.5]), SEEDS)
def test_rotating(batch, steps, pairs, base, seed):
    torch.manual_seed(seed)
    package = d2l.RotaryPositions(2 * pairs, base=base)
    X = torch.randn(batch, 2, steps, 2 * pairs)
    agree([X], lambda X: bare_after.rotate(X, speeds(pairs, base)), package.turn)


@DRAWN
@given(st.integers(1, 9), SIZES)
def test_biases_of_distance(num_heads, steps):
    package = d2l.LinearBiases(num_heads).bias(steps, steps)
    close(bare_after.distance_bias(num_heads, steps), package)


@DRAWN
@given(st.integers(1, 9), SIZES, st.integers(0, 3))
def test_windows(steps, window, num_first):
    nearby = masks.window_mask(steps, steps, window, num_first)
    seen = nearby & masks.causal_mask(steps, steps)
    assert torch.equal(bare_after.causal_window_mask(steps, window, num_first), seen)


@DRAWN
@given(SIZES, SIZES, SIZES, st.integers(1, 3), st.integers(1, 3), st.booleans(), SEEDS)
def test_grouped_attention(batch, num_queries, num_keys, groups, sharing, padded, seed):
    torch.manual_seed(seed)
    heads = groups * sharing
    q = torch.randn(batch, heads, num_queries, 4)
    k, v = torch.randn(2, batch, groups, num_keys, 4).unbind()
    mask = None
    if padded:
        mask = torch.arange(num_keys) < torch.randint(1, num_keys + 1, (batch, 1, 1, 1))
    package = DotProductAttention(0)
    agree(
        [q, k, v],
        lambda q, k, v: bare_after.grouped_attention(q, k, v, mask),
        lambda q, k, v: package.attend(q, k, v, mask),
    )


@DRAWN
@given(SIZES, SIZES, st.integers(1, 9), SIZES, st.integers(1, 11), st.floats(0, 900), SEEDS)
def test_a_running_softmax(batch, num_queries, num_keys, width, tile, apart, seed):
    """In tiles of any size, also with scores whose exponentials no number could hold."""
    torch.manual_seed(seed)
    q = torch.randn(batch, 2, num_queries, width)
    k, v = torch.randn(2, batch, 2, num_keys, width).unbind()
    with torch.no_grad():
        q[..., 0], k[..., 0] = width**0.5, k[..., 0] + torch.linspace(0, apart, num_keys)
    agree(
        [q, k, v],
        lambda q, k, v: bare_after.running_attention(q, k, v, tile),
        lambda q, k, v: (q @ k.mT / width**0.5).softmax(dim=-1) @ v,
    )


@DRAWN
@given(st.integers(1, 9), SIZES, SIZES, SEEDS)
def test_carried_sums_equal_all_products(steps, width, outputs, seed):
    torch.manual_seed(seed)
    X = torch.randn(2, steps, width).unbind()
    V = torch.randn(steps, outputs)

    def summed(q, k, V):
        """Equation by equation, with no table of products and no loop over words."""
        q, k = torch.nn.functional.elu(q) + 1, torch.nn.functional.elu(k) + 1
        S = torch.einsum("td,tv->tdv", k, V).cumsum(dim=0)
        below = torch.einsum("td,td->t", q, k.cumsum(dim=0))
        return torch.einsum("td,tdv->tv", q, S) / below[:, None]

    for attention in (bare_after.product_attention, bare_after.carried_attention):

        def ours(q, k, V, attention=attention):
            return attention(bare_after.features(q), bare_after.features(k), V)

        agree([*X, V], ours, summed)
