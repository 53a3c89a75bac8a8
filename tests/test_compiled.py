"""What PyTorch's compiler makes of the library: the same outputs, gradients and weights."""

import copy
import shutil

import pytest
import torch

import d2lattn as d2l
from d2lattn.masks import length_mask

pytestmark = pytest.mark.usefixtures("one_thread", "compiler")


def models():
    """Modules with what they take, and how to read their weights."""
    torch.manual_seed(0)
    sizes, alone = (9, 8, 16, 2, 2), {"cross_attention": False}
    block, decoder = d2l.DecoderBlock(8, 16, 2), d2l.TransformerDecoder(*sizes, **alone)
    layer = d2l.TransformerDecoder(9, 8, 16, 2, 1, **alone)
    both = d2l.EncoderDecoder(d2l.TransformerEncoder(*sizes), d2l.TransformerDecoder(*sizes))
    memory, X, tokens = torch.randn(2, 5, 8), torch.randn(2, 3, 8), torch.randint(9, (2, 4))
    source, lens = torch.randint(9, (2, 5)), torch.tensor([5, 3])
    return {
        "block": (
            block,
            (X, torch.no_grad()(block.init_state)(memory, lens)),
            lambda b: b.attention1.attention_weights,
        ),
        "decoder": (decoder, (tokens, decoder.init_state()), lambda d: d.self_attention_weights),
        "layer": (layer, (tokens, layer.init_state()), lambda d: d.self_attention_weights),
        "both": (both, (source, tokens, lens), lambda m: m.decoder.attention_weights),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "backend", "fullgraph"),
    [
        ("block", "aot_eager", True),
        ("decoder", "aot_eager", False),
        ("both", "aot_eager", True),
        # C++ for a second one would take ten seconds more.
        pytest.param("layer", "inductor", True, marks=pytest.mark.weekly),
    ],
)
def test_decoders_compile_with_gradients(which, backend, fullgraph):
    if backend == "inductor" and not any(map(shutil.which, ("c++", "g++", "clang++"))):
        pytest.skip("the compiler needs one for C++")
    torch.compiler.reset()
    model, arguments, read = models()[which]
    twin = copy.deepcopy(model)
    expected, _ = twin(*arguments)
    expected.square().sum().backward()
    output, state = torch.compile(model, backend=backend, fullgraph=fullgraph)(*arguments)
    output.square().sum().backward()
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(read(model), read(twin), rtol=1e-5, atol=1e-5)
    assert not read(model).requires_grad
    blocks = [state] if which == "block" else state.blocks
    assert all(block.past[0].grad_fn is not None for block in blocks)


@pytest.mark.weekly
def test_what_the_compiler_stored_serves_again(tmp_path, monkeypatch):
    """Its cache on disk spoils views that a graph gives, such as keys of heads."""
    if not any(map(shutil.which, ("c++", "g++", "clang++"))):
        pytest.skip("the compiler needs one for C++")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        torch.compiler.reset()
        model, arguments, _ = models()["block"]
        output, state = torch.compile(model, fullgraph=True)(*arguments)
        expected, same = model(*arguments)
        torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(state.past, same.past, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("lens", [None, [1, 3], [[1, 2, 3], [0, 1, 2]]])
@pytest.mark.parametrize("kind", ["dot", "additive", "heads"])
def test_attention_compiles_in_one_graph(kind, lens):
    torch.compiler.reset()
    attention = {
        "dot": lambda: d2l.DotProductAttention(0),
        "additive": lambda: d2l.AdditiveAttention(4, 4, 6, 0),
        "heads": lambda: d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0),
    }[kind]()
    q, lens = torch.randn(2, 3, 4, requires_grad=True), lens and torch.tensor(lens)
    output = torch.compile(attention, backend="aot_eager", fullgraph=True)(q, q, q, lens)
    weights = attention.attention_weights
    torch.testing.assert_close(output, attention(q, q, q, lens))
    torch.testing.assert_close(weights, attention.attention_weights)
    output.sum().backward()
    assert q.grad.isfinite().all()


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # of vmap over the kernel
def test_lengths_may_be_mapped_over():
    """Gradients by sample: vmap lets nobody read an entry, so lengths are not checked there."""
    attention, X = d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0), torch.randn(3, 2, 4)
    lens = torch.tensor([2, 1, 0])
    found = torch.vmap(lambda x, n: attention(x[None], x[None], x[None], n[None])[0])(X, lens)
    torch.testing.assert_close(found, attention(X, X, X, lens))


def test_on_the_meta_device_lengths_have_a_shape_alone():
    assert length_mask(torch.zeros(2, device="meta").long(), (2, 3)).shape == (2, 3)


def test_a_step_compiles_for_any_position():
    """Where it starts is then a symbol, no number."""
    torch.compiler.reset()
    encoding = d2l.PositionalEncoding(4, 0, 20)
    step = torch.compile(encoding, backend="eager", fullgraph=True, dynamic=True)
    X = torch.randn(2, 3, 4)
    for start in (2, 3, 5, 7):
        assert torch.equal(step(X, start), encoding(X, start))


def test_a_symbol_is_a_start():
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    shape = torch._subclasses.FakeTensorMode(shape_env=ShapeEnv())
    symbol = shape.from_tensor(torch.ones(3), static_shapes=False).shape[0]
    assert isinstance(symbol, torch.SymInt)
    encoding, X = d2l.PositionalEncoding(4, 0, 20), torch.randn(2, 3, 4)
    assert torch.equal(encoding(X, symbol), encoding(X, 3))
