"""The benchmark of attention: forms that agree, and a table that says so of each option."""

import pytest
import torch

from benchmarks import attention

NAMES = ("none", "rotary", "ALiBi", "grouped", "one shared", "window", "window + first")


@pytest.mark.parametrize("name", NAMES)
def test_ours_with_an_option_is_the_kernel_with_it_and_sends_back_the_same(name, monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr(attention, "WINDOW", 5)
    forms = attention.option_forms(20, 32, 8)
    assert tuple(forms) == NAMES
    ours, kernel = forms[name]
    X = torch.randn(2, 20, 32, requires_grad=True)
    upstream, found = torch.randn_like(X), []
    for form in (ours, kernel):
        out = form(X, X, X, None)
        found.append([out, *torch.autograd.grad(out, (X, *ours.parameters()), upstream)])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)
    plain = attention.four_layers(ours, attention.bare)
    if ours.num_kv_heads == 8 and name != "none":  # the option does something
        assert not torch.allclose(plain(X, X, X, None), found[0][0], atol=1e-3)


def test_all_forms_of_multi_head_attention_agree():
    torch.manual_seed(0)
    steps = attention.training_steps(2, 12, 32, 4)  # which compares them
    assert list(steps) == ["ours", "PyTorch", "four layers", "explicit"]
