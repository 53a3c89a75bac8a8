"""Our modules' parameters by the names that PyTorch's own modules give them.

With the tensors themselves it is a state dict for the twin; with gradients, what to compare.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

import d2lattn as d2l

Take = Callable[[Tensor], Tensor]


def attention_as_pytorchs(ours: d2l.MultiHeadAttention, take: Take) -> dict[str, Tensor]:
    """Name them as `nn.MultiheadAttention` does."""
    qkv = {"q": ours.W_q, "k": ours.W_k, "v": ours.W_v}
    if len({layer.weight.shape for layer in qkv.values()}) == 1:  # it keeps one matrix of the three
        found = {"in_proj_weight": torch.cat([take(layer.weight) for layer in qkv.values()])}
    else:
        found = {f"{name}_proj_weight": take(layer.weight) for name, layer in qkv.items()}
    found["out_proj.weight"] = take(ours.W_o.weight)
    if ours.W_o.bias is not None:
        found["in_proj_bias"] = torch.cat([take(layer.bias) for layer in qkv.values()])
        found["out_proj.bias"] = take(ours.W_o.bias)
    return found


def encoder_block_as_pytorchs(ours: d2l.EncoderBlock, take: Take) -> dict[str, Tensor]:
    """Name them as `nn.TransformerEncoderLayer` does."""
    return {
        **_inside("self_attn", attention_as_pytorchs(ours.attention, take)),
        **_layers(take, norm1=ours.addnorm1.ln, norm2=ours.addnorm2.ln),
        **_layers(take, linear1=ours.ffn.dense1, linear2=ours.ffn.dense2),
    }


def decoder_block_as_pytorchs(ours: d2l.DecoderBlock, take: Take) -> dict[str, Tensor]:
    """Name them as `nn.TransformerDecoderLayer` does."""
    norms = {"norm1": ours.addnorm1.ln, "norm2": ours.addnorm2.ln, "norm3": ours.addnorm3.ln}
    return {
        **_inside("self_attn", attention_as_pytorchs(ours.attention1, take)),
        **_inside("multihead_attn", attention_as_pytorchs(ours.attention2, take)),
        **_layers(take, **norms, linear1=ours.ffn.dense1, linear2=ours.ffn.dense2),
    }


def stack_as_pytorchs(
    ours: d2l.TransformerEncoder | d2l.TransformerDecoder, take: Take
) -> dict[str, Tensor]:
    """Name those of the blocks, and of the last norm, as PyTorch's two stacks do."""
    name_block = (
        encoder_block_as_pytorchs
        if isinstance(ours, d2l.TransformerEncoder)
        else decoder_block_as_pytorchs
    )
    found = {}
    for number, block in enumerate(ours.blks):
        found |= _inside(f"layers.{number}", name_block(block, take))
    return found | (_layers(take, norm=ours.ln) if isinstance(ours.ln, nn.LayerNorm) else {})


def _layers(take: Take, **layers: nn.Module) -> dict[str, Tensor]:
    """Name the weight and the bias of each layer."""
    found = {}
    for name, layer in layers.items():
        found |= {f"{name}.{key}": take(value) for key, value in layer.named_parameters()}
    return found


def _inside(name: str, found: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"{name}.{key}": value for key, value in found.items()}


def load(twin: nn.Module, named: dict[str, Tensor]) -> None:
    """Give the twin these; a bias that ours do without is zero."""
    left = twin.load_state_dict(named, strict=False)
    assert not left.unexpected_keys
    for name in left.missing_keys:
        assert name.endswith(("in_proj_bias", "out_proj.bias")), name
        nn.init.zeros_(twin.get_parameter(name))


def compare_gradients(twin: nn.Module, named: dict[str, Tensor], **tolerances: float) -> None:
    """Check that the twin's gradients are these."""
    for name, gradient in named.items():
        theirs = twin.get_parameter(name).grad
        torch.testing.assert_close(
            gradient, theirs, **tolerances, msg=lambda m, n=name: f"{n}: {m}"
        )
