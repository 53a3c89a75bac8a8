"""Heads switched off, and contributions: beside sums written out, and with nothing left behind."""

import pytest
import torch

import d2lattn as d2l

H, D, B, Q, K = 3, 6, 2, 4, 5


@pytest.fixture
def attention():
    torch.manual_seed(2)
    return d2l.MultiHeadAttention(7, 4, 8, D, H, dropout=0.5, bias=True).eval()


@pytest.fixture
def inputs():
    torch.manual_seed(3)
    shapes = ((B, Q, 4), (B, K, 7), (B, K, 8))
    return (*(torch.randn(shape) for shape in shapes), torch.tensor([K, 2]))


def parts(attention, values):
    """What each key adds to each output through each head, before any norm: (B, H, Q, K, D)."""
    actual = []
    for head in range(H):
        mine = slice(head * D // H, (head + 1) * D // H)
        value = values @ attention.W_v.weight[mine].T + attention.W_v.bias[mine]  # (B, K, D / H)
        value = value @ attention.W_o.weight[:, mine].T  # (B, K, D)
        weights = attention.attention_weights[:, head]  # (B, Q, K)
        actual.append(weights.unsqueeze(-1) * value.unsqueeze(1))
    return torch.stack(actual, dim=1)


def test_contributions_are_norms_of_terms_that_sum_to_the_output(attention, inputs):
    output = attention(*inputs)
    every = parts(attention, inputs[2])
    torch.testing.assert_close(every.sum(dim=(1, 3)) + attention.W_o.bias, output)
    actual = d2l.head_contributions(attention, inputs[2])
    assert actual.shape == (B, H, Q, K)
    torch.testing.assert_close(actual, every.norm(dim=-1))
    assert (actual[1, :, :, 2:] == 0).all(), "masked keys contribute nothing"
    lengths = d2l.value_lengths(attention, inputs[2])
    torch.testing.assert_close(actual, attention.attention_weights * lengths.unsqueeze(2))
    assert not actual.requires_grad
    assert not lengths.requires_grad


@pytest.mark.parametrize("off", [[], [1], [0, 2], [0, 1, 2], (2, 2)])
def test_removed_head_gives_zero_or_its_mean(attention, inputs, off):
    output = attention(*inputs)
    share = parts(attention, inputs[2]).sum(dim=3)  # (B, H, Q, D)
    means = torch.randn(H, D // H)
    outward = attention.W_o.weight.T.unflatten(0, (H, -1))  # (H, D / H, D)
    said = torch.einsum("hv,hvd->hd", means, outward)
    for instead, put in ((None, torch.zeros(H, D)), (means, said)):
        expected = output.clone()
        for head in set(off):
            expected += put[head] - share[:, head]
        with d2l.without_heads(attention, off, instead):
            torch.testing.assert_close(attention(*inputs), expected)
        torch.testing.assert_close(attention(*inputs), output)


def test_means_are_over_every_query_of_every_call(attention, inputs):
    seen = []
    hook = attention.W_o.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    others = [torch.randn_like(torch.cat([one, one])) for one in inputs[:3]]
    modes = []

    def run():
        modes.append(attention.attention.dropout.training)
        attention(*inputs)
        attention(*others)

    attention.train()
    means = d2l.head_means(attention, run)
    assert modes == [False]
    assert attention.attention.dropout.training
    hook.remove()
    assert len(seen) == 2
    joined = torch.cat([one.flatten(0, 1) for one in seen])
    torch.testing.assert_close(means.flatten(), joined.mean(dim=0))
    assert not means.requires_grad
    with pytest.raises(ValueError, match=r"run .* needs to call the attention"):
        d2l.head_means(attention, lambda: None)


def test_every_subset_is_measured_in_order(attention, inputs):
    means = torch.randn(H, D // H)

    def measure():
        return attention(*inputs).square().mean()

    for instead in (None, means):
        actual = d2l.every_subset(attention, measure, instead)
        assert len(actual) == 2**H
        for place, loss in enumerate(actual):
            off = [h for h in range(H) if not place & 2**h]
            with d2l.without_heads(attention, off, instead):
                assert loss == pytest.approx(measure().item())
    assert actual[-1] == pytest.approx(measure().item())


def test_hooks_and_modes_are_restored_after_an_error(attention):
    attention.train()

    def fail():
        raise KeyError("mine")

    for measure in (d2l.head_means, d2l.every_subset):
        with pytest.raises(KeyError, match="mine"):
            measure(attention, fail)
    with pytest.raises(KeyError, match="mine"), d2l.without_heads(attention, [0]):
        fail()
    assert not attention.W_o._forward_pre_hooks
    assert attention.training


def test_wrong_arguments_raise(attention, inputs):
    values = inputs[2]
    with pytest.raises(AttributeError, match="attention_weights"):
        d2l.head_contributions(attention, values)
    attention(*inputs)
    for heads in ([3], [-1]):
        with pytest.raises(ValueError, match=r"heads is -?[13]; it needs to be from 0 to 2"):
            d2l.without_heads(attention, heads).__enter__()
    with pytest.raises(ValueError, match=r"means has shape \(6,\); it needs \(3, 2\)"):
        d2l.without_heads(attention, [], torch.zeros(D)).__enter__()
    with pytest.raises(ValueError, match=r"values has shape .*; it needs \(2, 5, value_size\)"):
        d2l.head_contributions(attention, values[:, :4])
    for measure in (d2l.value_lengths, d2l.head_contributions):
        with pytest.raises(ValueError, match=r"values has shape .*; it needs \(B, K, 8\)"):
            measure(attention, values[..., :7])
        with pytest.raises(TypeError, match=r"^values has dtype torch\.float64; it "):
            measure(attention, values.double())
