"""Every class compiles in one graph and can be exported for sequences of any length."""

import pytest
import torch
from torch import nn

import d2lattn as d2l


class Logits(nn.Module):
    """A decoder's logits alone; its state is made inside."""

    def __init__(self, decoder: nn.Module, encoder: nn.Module | None = None):
        super().__init__()
        self.decoder, self.encoder = decoder, encoder

    def forward(self, X):
        if self.encoder is None:
            state = self.decoder.init_state()
        else:
            state = self.decoder.init_state(self.encoder(X, None), None)
        return self.decoder(X, state)[0]


class SelfAttention(nn.Module):
    """Attention of a sequence to itself."""

    def __init__(self, attention: nn.Module):
        super().__init__()
        self.attention = attention

    def forward(self, X):
        return self.attention(X, X, X)


STACK = 9, 8, 16, 2, 1
MODELS = {
    "dot product": lambda: SelfAttention(d2l.DotProductAttention(0)),
    "additive": lambda: SelfAttention(d2l.AdditiveAttention(8, 8, 8, 0)),
    "multi-head": lambda: SelfAttention(d2l.MultiHeadAttention(8, 8, 8, 8, 2, 0)),
    "encoder": lambda: d2l.TransformerEncoder(*STACK),
    "decoder alone": lambda: Logits(d2l.TransformerDecoder(*STACK, cross_attention=False)),
    "encoder and decoder": lambda: Logits(
        d2l.TransformerDecoder(*STACK), d2l.TransformerEncoder(*STACK)
    ),
}


def build(name: str) -> tuple[nn.Module, bool]:
    """Return a model in eval mode, and whether it takes tokens."""
    torch.manual_seed(0)
    return MODELS[name]().eval(), "coder" in name


def draw(tokens: bool, length: int) -> torch.Tensor:
    return torch.randint(9, (2, length)) if tokens else torch.randn(2, length, 8)


@pytest.mark.parametrize("name", MODELS)
def test_exported_model_takes_any_length(name):
    model, tokens = build(name)
    length = torch.export.Dim("length", min=2, max=64)
    example = draw(tokens, 5)
    exported = torch.export.export(model, (example,), dynamic_shapes=[{1: length}])
    longer = draw(tokens, 11)
    torch.testing.assert_close(exported.module()(longer), model(longer))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_compiled_model_is_one_graph_with_the_same_result(name, compiler):
    model, tokens = build(name)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    X = draw(tokens, 5)
    torch.testing.assert_close(compiled(X), model(X))


@pytest.mark.slow
def test_one_graph_serves_many_lengths(compiler):
    model, tokens = build("encoder")
    count = torch._dynamo.testing.CompileCounterWithBackend("eager")
    compiled = torch.compile(model, backend=count, dynamic=True)
    for length in range(5, 11):
        compiled(draw(tokens, length))
    assert count.frame_count == 1
