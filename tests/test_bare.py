"""The one page is one page, and each part of it gives what the package's class gives.

In double precision, outputs and gradients of inputs and parameters: equal to 1e-10.
"""

import ast
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import d2lattn as d2l
from d2lattn import bare

PAGE = Path(bare.__file__).read_text("utf-8")
DRAWN = settings(deadline=None, max_examples=15, derandomize=True)
SIZES = st.integers(1, 5)
SEEDS = st.integers(0, 10_000)
KINDS = st.sampled_from(["none", "a sequence", "a query"])


pytestmark = pytest.mark.usefixtures("exact")


def close(ours, theirs):
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


def with_weights_of(package, page, drawn=True):
    """Give a part of the page the parameters of its twin: as many, in the same order."""
    mine, theirs = list(page.parameters()), list(package.parameters())
    assert [p.shape for p in mine] == [p.shape for p in theirs]
    with torch.no_grad():
        for ours, other in zip(mine, theirs, strict=True):
            if drawn:
                other.normal_()  # so that no gamma is 1 and no bias 0
            ours.copy_(other)
    return page


def agree(inputs, ours, theirs, page=None, package=None):
    """Compare outputs, and gradients of the inputs and of both modules' parameters."""
    found, back = [], None
    for run, module in ((ours, page), (theirs, package)):
        given_now = [x.clone().requires_grad_() for x in inputs]
        leaves = given_now + ([] if module is None else list(module.parameters()))
        output = run(*given_now)
        back = torch.randn_like(output) if back is None else back
        gradients = torch.autograd.grad(output, leaves, back, materialize_grads=True)
        found.append([output, *gradients])
    assert len(found[0]) == len(found[1])
    for mine, other in zip(*found, strict=True):
        close(mine, other)


def lengths(kind, batch, num_queries, num_keys):
    """Draw valid lengths, each at least 1, and the mask (B, 1, K) or (B, Q, K) they stand for."""
    if kind == "none":
        return None, None
    shape = (batch,) if kind == "a sequence" else (batch, num_queries)
    lens = torch.randint(1, num_keys + 1, shape)
    mask = torch.arange(num_keys) < lens.reshape(batch, -1, 1)
    return lens, mask


def for_heads(mask):
    return None if mask is None else mask.unsqueeze(1)  # (B, 1, K) -> (B, 1, 1, K)


# One page


def test_it_needs_nothing_but_pytorch():
    imports = [n for n in ast.walk(ast.parse(PAGE)) if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {n.module if isinstance(n, ast.ImportFrom) else n.names[0].name for n in imports}
    assert names == {"torch"}


# Scores, softmax, attention


def test_hidden_key_never_wins():
    weights = bare.masked_softmax(torch.tensor([-1e12, 0.0]), torch.tensor([True, False]))
    assert weights.tolist() == [1.0, 0.0]


@DRAWN
@given(SIZES, SIZES, SIZES, SIZES, KINDS, st.booleans(), SEEDS)
def test_attention(batch, num_queries, num_keys, width, kind, heads, seed):
    torch.manual_seed(seed)
    lens, mask = lengths(kind, batch, num_queries, num_keys)
    package = d2l.DotProductAttention(dropout=0)
    axes, mask = ((batch, 2), for_heads(mask)) if heads else ((batch,), mask)
    inputs = [
        torch.randn(*axes, num_queries, width),
        torch.randn(*axes, num_keys, width),
        torch.randn(*axes, num_keys, width + 1),
    ]
    agree(
        inputs,
        lambda q, k, v: bare.attention(q, k, v, mask)[0],
        lambda q, k, v: package(q, k, v, lens),
    )
    close(bare.attention(*inputs, mask)[1], package.attention_weights)


@DRAWN
@given(SIZES, SIZES, SIZES, SIZES, KINDS, SEEDS)
def test_additive_scores(batch, num_queries, num_keys, num_hiddens, kind, seed):
    torch.manual_seed(seed)
    lens, mask = lengths(kind, batch, num_queries, num_keys)
    package = d2l.AdditiveAttention(3, 2, num_hiddens, dropout=0)

    def by_page(queries, keys, values):
        maps = package.W_q, package.W_k, package.w_v
        return bare.masked_softmax(bare.additive_scores(queries, keys, *maps), mask) @ values

    inputs = [
        torch.randn(batch, num_queries, 2),
        torch.randn(batch, num_keys, 3),
        torch.randn(batch, num_keys, 4),
    ]
    agree(inputs, by_page, lambda q, k, v: package(q, k, v, lens), package, package)


@DRAWN
@given(SIZES, SIZES, SEEDS)
def test_self_attention(num_words, width, seed):
    torch.manual_seed(seed)
    inputs = [torch.randn(*shape) for shape in ((num_words, 5), (width, 5), (width, 5), (3, 5))]
    package = d2l.DotProductAttention(dropout=0)
    agree(
        inputs,
        lambda *given_now: bare.self_attention(*given_now)[0],
        lambda X, *matrices: package(*((X @ matrix.T)[None] for matrix in matrices))[0],
    )
    close(bare.self_attention(*inputs)[1], package.attention_weights[0])


@DRAWN
@given(SIZES, SIZES, st.floats(0.3, 30), SEEDS)
def test_kernel_regression(num_queries, num_keys, h, seed):
    torch.manual_seed(seed)
    inputs = [torch.randn(size) for size in (num_queries, num_keys, num_keys)]

    def both_of(function):
        """Predictions and weights in one vector."""
        return lambda *given_now: torch.cat([part.flatten() for part in function(*given_now, h)])

    agree(inputs, both_of(bare.nadaraya_watson), both_of(d2l.nadaraya_watson))


# The whole


def transformers(num_layers=2, num_heads=2, drawn=True):
    sizes = {"num_hiddens": 8, "ffn_num_hiddens": 5, "num_heads": num_heads}
    package = d2l.EncoderDecoder(
        d2l.TransformerEncoder(7, **sizes, num_layers=num_layers),
        d2l.TransformerDecoder(9, **sizes, num_layers=num_layers),
    )
    page = bare.Transformer(7, 9, num_layers, 8, 5, num_heads)
    return package, with_weights_of(package, page, drawn)


@DRAWN
@given(SIZES, SIZES, SIZES, st.integers(1, 3), st.sampled_from([1, 2, 4]), st.booleans(), SEEDS)
def test_transformer(batch, steps, source_steps, num_layers, num_heads, padded, seed):
    torch.manual_seed(seed)
    lens, mask = lengths("a sequence" if padded else "none", batch, steps, source_steps)
    package, page = transformers(num_layers, num_heads)
    source, target = torch.randint(7, (batch, source_steps)), torch.randint(9, (batch, steps))
    agree(
        [],
        lambda: page(source, target, for_heads(mask)),
        lambda: package(source, target, lens)[0],
        page,
        package,
    )
    encoded = page.encoder(source, for_heads(mask))
    close(encoded, package.encoder(source, lens))
    state = package.decoder.init_state(encoded, lens)
    close(page.decoder(target, encoded, for_heads(mask)), package.decoder(target, state)[0])


def test_every_layer_keeps_the_weights_of_its_heads():
    package, page = transformers()
    source, target = torch.randint(7, (3, 4)), torch.randint(9, (3, 5))
    page(source, target)
    package(source, target)
    for half, which, theirs in (
        (page.encoder, "attention", package.encoder.attention_weights),
        (page.decoder, "attention1", package.decoder.self_attention_weights),
        (page.decoder, "attention2", package.decoder.attention_weights),
    ):
        ours = [getattr(block, which).attention_weights for block in half.blocks]
        close(torch.stack(ours, dim=1), theirs)


@DRAWN
@given(SIZES, SIZES, st.booleans(), st.integers(1, 12), SEEDS)
def test_greedy_writing(batch, source_steps, padded, max_len, seed):
    torch.manual_seed(seed)
    lens, mask = lengths("a sequence" if padded else "none", batch, 1, source_steps)
    package, page = transformers(drawn=False)  # which write more words
    source = torch.randint(7, (batch, source_steps))
    tokens = bare.greedy_decode(page, source, for_heads(mask), max_len)
    found = d2l.greedy_decode(package, source, lens, max_len=max_len)
    for row, theirs in zip(tokens.tolist(), found, strict=True):
        assert theirs.finished == (2 in row)
        assert row[: row.index(2) if theirs.finished else None] == theirs.tokens
    longest = max(len(theirs.tokens) + theirs.finished for theirs in found)
    assert tokens.shape == (batch, longest)  # it stops when all have ended


# Bahdanau's decoder


@DRAWN
@given(SIZES, SIZES, SIZES, st.booleans(), SEEDS)
def test_steps_of_bahdanaus_decoder(batch, steps, source_steps, padded, seed):
    torch.manual_seed(seed)
    lens, mask = lengths("a sequence" if padded else "none", batch, 1, source_steps)
    package = d2l.Seq2SeqAttentionDecoder(9, 3, 4, num_layers=1)
    page = with_weights_of(package, bare.BahdanauDecoder(9, 3, 4))
    target = torch.randint(9, (batch, steps))
    looks = []

    def by_page(s, h):
        logits = []
        for y in target.unbind(dim=1):
            scores, s, weights = page(y, s, h, mask)
            logits.append(scores)
            looks.append(weights)
        return torch.stack(logits, dim=1)

    agree(
        [torch.randn(batch, 4), torch.randn(batch, source_steps, 4)],
        by_page,
        lambda s, h: package(target, package.init_state((h, s[None]), lens))[0],
        page,
        package,
    )
    close(torch.cat(looks, dim=1), package.attention_weights)
