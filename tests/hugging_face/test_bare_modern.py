"""`bare_modern` gives what Hugging Face's models give, with copied weights.

It runs once a week (`nox -s hugging_face`), since it needs `transformers`, which no reader does.
The models are small and random; nothing is downloaded.
"""

import pytest
import torch

from d2lattn.bare_modern import GPT, Llama

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.weekly
TOKENS, WIDTH, HEADS, GROUPS, DEPTH, LENGTH, BASE = 50, 32, 4, 2, 2, 9, 500_000


@pytest.fixture
def tokens() -> torch.Tensor:
    return torch.randint(TOKENS, (2, LENGTH), generator=torch.Generator().manual_seed(0))


@pytest.fixture
def gpt2_pair() -> tuple[GPT, torch.nn.Module]:
    """Ours with their weights, and theirs."""
    torch.manual_seed(0)
    theirs = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=TOKENS, n_positions=16, n_embd=WIDTH, n_layer=DEPTH, n_head=HEADS,
            bos_token_id=0, eos_token_id=0,
        )
    ).eval()  # fmt: skip
    names = {
        "tokens": "wte", "positions": "wpe", "blocks": "h", "norm": "ln_f", "norm1": "ln_1",
        "norm2": "ln_2", "attention": "attn", "W_qkv": "c_attn", "W_o": "c_proj",
    }  # fmt: skip
    ours = GPT(TOKENS, 16, WIDTH, HEADS, DEPTH)
    weights, copied = theirs.transformer.state_dict(), {}
    for name in ours.state_dict():
        their_name = name.replace("network.0", "mlp.c_fc").replace("network.2", "mlp.c_proj")
        weight = weights[".".join(names.get(part, part) for part in their_name.split("."))]
        layer = name.split(".")[-2]
        transposed = name.endswith("weight") and layer in ("W_qkv", "W_o", "0", "2")
        copied[name] = weight.T if transposed else weight
    ours.load_state_dict(copied)
    return ours, theirs


@pytest.fixture
def llama_pair() -> tuple[Llama, torch.nn.Module]:
    """Ours with their weights, and theirs."""
    torch.manual_seed(0)
    theirs = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=TOKENS, hidden_size=WIDTH, intermediate_size=48, num_hidden_layers=DEPTH,
            num_attention_heads=HEADS, num_key_value_heads=GROUPS, rope_theta=BASE,
        )
    ).eval()  # fmt: skip
    names = {
        "tokens": "embed_tokens", "blocks": "layers", "attention": "self_attn", "network": "mlp",
        "norm1": "input_layernorm", "norm2": "post_attention_layernorm", "W_q": "q_proj",
        "W_k": "k_proj", "W_v": "v_proj", "W_o": "o_proj", "W_gate": "gate_proj",
        "W_up": "up_proj", "W_down": "down_proj",
    }  # fmt: skip
    sizes = {"ffn_num_hiddens": 48, "num_heads": HEADS, "num_groups": GROUPS, "base": BASE}
    ours = Llama(TOKENS, DEPTH, WIDTH, **sizes)
    weights, copied = theirs.model.state_dict(), {"dense.weight": theirs.lm_head.weight}
    for name in ours.state_dict():
        if name not in copied:
            copied[name] = weights[".".join(names.get(part, part) for part in name.split("."))]
    ours.load_state_dict(copied)
    return ours, theirs


def assert_same_gradients(logits: torch.Tensor, expected: torch.Tensor, ours, theirs) -> None:
    """Compare the gradients of the token table, which depend on every layer."""
    direction = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1))
    (logits * direction).sum().backward()
    (expected * direction).sum().backward()
    torch.testing.assert_close(
        ours.tokens.weight.grad, theirs.get_input_embeddings().weight.grad, rtol=0, atol=1e-5
    )


def test_gpt_gives_the_logits_and_gradients_of_gpt2(gpt2_pair, tokens):
    ours, theirs = gpt2_pair
    logits, expected = ours(tokens), theirs(tokens).logits
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-5)
    assert_same_gradients(logits, expected, ours, theirs)


def test_llama_gives_the_logits_and_gradients_of_llama(llama_pair, tokens):
    ours, theirs = llama_pair
    logits, expected = ours(tokens)[0], theirs(tokens).logits
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-5)
    assert_same_gradients(logits, expected, ours, theirs)


def test_llama_with_a_cache_gives_the_same_logits(llama_pair, tokens):
    ours, theirs = llama_pair
    logits, caches = ours(tokens[:, :4])
    steps = [logits]
    for i in range(4, LENGTH):
        logits, caches = ours(tokens[:, i : i + 1], caches)
        steps.append(logits)
    torch.testing.assert_close(torch.cat(steps, dim=1), theirs(tokens).logits, rtol=0, atol=1e-5)
