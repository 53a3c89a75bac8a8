"""Heads switched off, and contributions: beside sums written out, and with nothing left behind."""

import pytest
import torch
from torch import nn

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
    found = []
    for head in range(H):
        mine = slice(head * D // H, (head + 1) * D // H)
        value = values @ attention.W_v.weight[mine].T + attention.W_v.bias[mine]  # (B, K, D / H)
        value = value @ attention.W_o.weight[:, mine].T  # (B, K, D)
        weights = attention.attention_weights[:, head]  # (B, Q, K)
        found.append(weights.unsqueeze(-1) * value.unsqueeze(1))
    return torch.stack(found, dim=1)


def test_contributions_are_the_norms_of_what_sums_to_the_output(attention, inputs):
    output = attention(*inputs)
    every = parts(attention, inputs[2])
    torch.testing.assert_close(every.sum(dim=(1, 3)) + attention.W_o.bias, output)
    found = d2l.head_contributions(attention, inputs[2])
    assert found.shape == (B, H, Q, K)
    torch.testing.assert_close(found, every.norm(dim=-1))
    assert (found[1, :, :, 2:] == 0).all(), "masked keys contribute nothing"
    lengths = d2l.value_lengths(attention, inputs[2])
    torch.testing.assert_close(found, attention.attention_weights * lengths.unsqueeze(2))
    assert not found.requires_grad
    assert not lengths.requires_grad


@pytest.mark.parametrize("off", [[], [1], [0, 2], [0, 1, 2], (2, 2)])
def test_what_a_head_gives_is_taken_out_or_is_its_mean(attention, inputs, off):
    output = attention(*inputs)
    share = parts(attention, inputs[2]).sum(dim=3)  # (B, H, Q, D)
    means = torch.randn(H, D // H)
    outward = attention.W_o.weight.T.unflatten(0, (H, -1))  # (H, D / H, D)
    said = torch.einsum("hv,hvd->hd", means, outward)
    for instead, put in ((None, torch.zeros(H, D)), (means, said)):
        wanted = output.clone()
        for head in set(off):
            wanted += put[head] - share[:, head]
        with d2l.without_heads(attention, off, instead):
            torch.testing.assert_close(attention(*inputs), wanted)
        torch.testing.assert_close(attention(*inputs), output)


def test_a_head_that_is_off_passes_no_gradient(attention, inputs):
    with d2l.without_heads(attention, [1]):
        attention(*inputs).sum().backward()
    by_head = attention.W_v.weight.grad.unflatten(0, (H, -1)).abs().sum(dim=(1, 2))
    assert by_head[1] == 0
    assert (by_head[[0, 2]] > 0).all()


def test_what_is_not_a_number_is_taken_out_too(attention, inputs):
    with torch.no_grad():
        attention.W_v.weight[: D // H] = torch.inf
        assert not attention(*inputs).isfinite().all()
        with d2l.without_heads(attention, [0]):
            assert attention(*inputs).isfinite().all()


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


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_means_of_half_precision_are_summed_in_single(dtype):
    attention = d2l.MultiHeadAttention(2, 2, 2, num_hiddens=2, num_heads=2, dropout=0).to(dtype)
    with torch.no_grad():
        attention.W_v.weight.copy_(torch.eye(2))
    values = torch.full((40, 50, 2), 100.0, dtype=dtype)  # in all 200,000 a head
    means = d2l.head_means(attention, lambda: attention(values, values, values))
    assert means.dtype == dtype
    assert means.tolist() == [[100.0], [100.0]]


def test_with_its_own_mean_a_head_that_always_says_the_same_is_not_missed(attention, inputs):
    with torch.no_grad():
        attention.W_v.weight[: D // H] = 0  # head 0 gives its bias, whatever it looks at
    output = attention(*inputs)
    means = d2l.head_means(attention, lambda: attention(*inputs))
    with d2l.without_heads(attention, [0], means):
        torch.testing.assert_close(attention(*inputs), output)
    with d2l.without_heads(attention, [0]):
        assert (attention(*inputs) - output).abs().max() > 0.01


def test_every_subset_is_measured_at_its_place(attention, inputs):
    means = torch.randn(H, D // H)
    measure = lambda: attention(*inputs).square().mean()  # noqa: E731
    for instead in (None, means):
        found = d2l.every_subset(attention, measure, instead)
        assert len(found) == 2**H
        for place, loss in enumerate(found):
            off = [h for h in range(H) if not place & 2**h]
            with d2l.without_heads(attention, off, instead):
                assert loss == pytest.approx(measure().item())
    assert found[-1] == pytest.approx(measure().item())


def test_measuring_needs_no_gradient_and_no_dropout(attention, inputs):
    attention.train()
    modes = []

    def measure():
        output = attention(*inputs)
        modes.append((attention.training, output.requires_grad))
        return output.sum()

    first = d2l.every_subset(attention, measure)
    assert first == d2l.every_subset(attention, measure)
    assert set(modes) == {(False, False)}
    assert attention.training


@pytest.mark.parametrize("name", ["without_heads", "head_means", "every_subset"])
def test_nothing_stays_behind_after_an_error(attention, name):
    attention.train()

    def fail():
        raise KeyError("mine")

    def fail_inside():
        with d2l.without_heads(attention, [0]):
            fail()

    calls = {
        "without_heads": fail_inside,
        "head_means": lambda: d2l.head_means(attention, fail),
        "every_subset": lambda: d2l.every_subset(attention, fail),
    }
    with pytest.raises(KeyError, match="mine"):
        calls[name]()
    assert not attention.W_o._forward_pre_hooks
    assert attention.training


def test_blocks_lie_inside_one_another(attention, inputs):
    with d2l.without_heads(attention, [0, 1]):
        wanted = attention(*inputs)
    with d2l.without_heads(attention, [0]), d2l.without_heads(attention, [1]):
        torch.testing.assert_close(attention(*inputs), wanted)


def compiled(attention, how):
    """The attention, compiled, and a call of it: nothing is generated, so it takes no time."""
    if how == "a copy of its call":
        return torch.compile(attention, backend="eager")
    if how == "in place":
        attention.compile(backend="eager")
        return attention
    return torch.compile(lambda *inputs: attention(*inputs), backend="eager")


HOWS = ["a copy of its call", "in place", "a function around it"]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(torch.compiler, "set_stance"), reason="PyTorch below 2.6")
@pytest.mark.parametrize("how", HOWS)
def test_a_head_that_is_off_is_off_where_it_was_compiled_before(attention, inputs, how):
    means = torch.randn(H, D // H)
    measure = lambda: attention(*inputs).square().mean()  # noqa: E731
    with d2l.without_heads(attention, [1], means):
        wanted = attention(*inputs)
    every, mean = d2l.every_subset(attention, measure), d2l.head_means(attention, measure)
    call = compiled(attention, how)
    with torch.no_grad():
        whole = call(*inputs)
    with d2l.without_heads(attention, [1], means):
        torch.testing.assert_close(call(*inputs), wanted)
    measure = lambda: call(*inputs).square().mean()  # noqa: E731
    assert d2l.every_subset(attention, measure) == pytest.approx(every)
    torch.testing.assert_close(d2l.head_means(attention, measure), mean)
    torch.testing.assert_close(call(*inputs), whole)


@pytest.mark.slow
def test_a_head_that_could_not_be_switched_off_is_told(attention, inputs, monkeypatch):
    """Nobody calls the attention, or PyTorch 2.5 cannot run uncompiled what was compiled."""
    with pytest.raises(RuntimeError, match=r"^without_heads: nothing called the attention in here"):
        d2l.every_subset(attention, lambda: 1.0)
    call = compiled(attention, HOWS[0])
    with torch.no_grad():
        call(*inputs)
    monkeypatch.delattr(torch.compiler, "set_stance", raising=False)
    with pytest.raises(RuntimeError, match=r"compiled: PyTorch below 2\.6 cannot undo that"):
        d2l.every_subset(attention, lambda: call(*inputs).sum())
    with pytest.raises(ValueError, match=r"run .* needs to call the attention"):
        d2l.head_means(attention, lambda: call(*inputs))


def test_other_pooling_and_other_dtypes_work_as_well(inputs):
    torch.manual_seed(2)
    pool = d2l.AdditiveAttention(D // H, D // H, 5, 0)
    attention = d2l.MultiHeadAttention(7, 4, 8, D, H, 0, bias=True, attention=pool).double()
    inputs = (*(one.double() for one in inputs[:3]), inputs[3])
    output = attention(*inputs)
    every = parts(attention, inputs[2])
    torch.testing.assert_close(every.sum(dim=(1, 3)) + attention.W_o.bias, output)
    found = d2l.head_contributions(attention, inputs[2])
    torch.testing.assert_close(found, every.norm(dim=-1))
    with d2l.without_heads(attention, [2], torch.zeros(H, D // H)):
        torch.testing.assert_close(attention(*inputs), output - every[:, 2].sum(dim=2))


def test_wrong_arguments_are_named(attention, inputs):
    values = inputs[2]
    with pytest.raises(RuntimeError, match="before the first forward pass"):
        d2l.head_contributions(attention, values)
    attention(*inputs)
    for heads in ([3], [-1]):
        with pytest.raises(ValueError, match=r"heads is -?[13]; it needs to be from 0 to 2"):
            d2l.without_heads(attention, heads).__enter__()
    with pytest.raises(ValueError, match=r"means has shape \(6,\); it needs \(3, 2\)"):
        d2l.without_heads(attention, [], torch.zeros(D)).__enter__()
    with pytest.raises(ValueError, match=r"values has shape .*; it needs \(2, 5, value_size\)"):
        d2l.head_contributions(attention, values[:, :4])
    for bad in (values[0], values[..., :7]):
        with pytest.raises(ValueError, match=r"values has shape .*; it needs \(B, K, 8\)"):
            d2l.value_lengths(attention, bad)
        with pytest.raises(ValueError, match=r"values has shape"):
            d2l.head_contributions(attention, bad)
    for bad in (values.tolist(), values.long(), values.double()):
        for measure in (d2l.value_lengths, d2l.head_contributions):
            with pytest.raises(TypeError, match=r"^values has (type list|dtype torch\.\w+64); it "):
                measure(attention, bad)


def test_a_model_around_it_is_measured_as_a_whole(inputs):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = d2l.MultiHeadAttention(7, 4, 8, D, H, 0)
            self.dense = nn.Linear(D, 1)

        def forward(self, *inputs):
            return self.dense(self.attention(*inputs))

    torch.manual_seed(2)
    model = Model()
    found = d2l.every_subset(model.attention, lambda: model(*inputs).mean())
    assert found[0] == pytest.approx(model.dense.bias.item())
    # What follows is linear, so the heads' effects add up.
    alone = [found[2**h] - found[0] for h in range(H)]
    assert found[-1] == pytest.approx(found[0] + sum(alone), abs=1e-6)
