"""The contract of `attention_weights`: on the smallest module that keeps it, and on all others."""

import copy
import pickle
import threading

import pytest
import torch
from torch import nn

import d2lattn as d2l
from d2lattn.scoring import Attends, own_weights


class Even(Attends, nn.Module):
    reads = 0

    def forward(self, num_keys):
        self._weights = lambda: self.work_out(num_keys)

    def work_out(self, num_keys):
        self.reads += 1
        return torch.full((1, num_keys), 1 / num_keys)


def test_weights_are_of_the_last_call_and_cost_nothing_unless_read():
    module = Even()
    module(2)
    module(4)
    assert module.reads == 0
    assert module.attention_weights.tolist() == [[0.25] * 4]


def test_there_are_none_before_the_first_call():
    with pytest.raises(RuntimeError, match=r"^attention_weights: there are none before the first"):
        _ = Even().attention_weights


def test_copies_start_without():
    module = Even()
    module(2)
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        with pytest.raises(RuntimeError, match="there are none"):
            _ = twin.attention_weights
    assert module.attention_weights.tolist() == [[0.5, 0.5]]


# What is changed later changes nothing ------------------------------------------------------------


def additive():
    return d2l.AdditiveAttention(4, 4, 6, dropout=0)


def poolings():
    return {
        "additive": additive(),
        "dot": d2l.DotProductAttention(0),
        "heads": d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0),
        "additive heads": d2l.MultiHeadAttention(
            4, 4, 4, 4, 2, 0, attention=d2l.AdditiveAttention(2, 2, 6, 0)
        ),
    }


def passes():
    """Each module with weights, by a pass that needs gradients; it gives (module, output)."""
    q, tokens = torch.randn(2, 3, 4, requires_grad=True), torch.tensor([[3, 4, 5], [5, 4, 3]])

    def pooled(attention):
        return attention, attention(q * 1, q * 2, q * 3, torch.tensor([3, 2]))

    def regression():
        net, keys = d2l.NWKernelRegression(), torch.randn(3, 4)
        return net, net(torch.randn(3), keys, keys)

    def read():
        encoder = d2l.TransformerEncoder(9, 4, 8, 2, 2)
        return encoder, encoder(tokens)

    def translated(encoder, decoder):
        return decoder, d2l.EncoderDecoder(encoder, decoder)(tokens, tokens)[0]

    return {
        **{name: lambda a=a: pooled(a) for name, a in poolings().items()},
        "regression": regression,
        "encoder": read,
        "decoder": lambda: translated(
            d2l.TransformerEncoder(9, 4, 8, 2, 2), d2l.TransformerDecoder(9, 4, 8, 2, 2)
        ),
        "Bahdanau": lambda: translated(
            d2l.Seq2SeqEncoder(9, 3, 4, 1), d2l.Seq2SeqAttentionDecoder(9, 3, 4, 1)
        ),
    }


@pytest.mark.parametrize("which", passes())
def test_who_changes_the_weights_changes_nothing_else(which):
    module, output = passes()[which]()
    weights = module.attention_weights
    assert not weights.requires_grad  # nor is its graph kept
    before = weights.clone()
    weights.div_(2)
    assert torch.equal(module.attention_weights, before)
    output.sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in module.parameters())
    assert any(p.grad is not None for p in module.parameters()) or which == "dot"


@pytest.mark.parametrize("which", poolings())
def test_who_changes_mask_or_lengths_changes_no_weights(which):
    attention, q = poolings()[which], torch.randn(2, 3, 4)
    lens = torch.tensor([[1, 2, 3], [3, 1, 0]])
    attention(q, q, q, lens)
    before = attention.attention_weights
    lens.fill_(3)
    assert torch.equal(attention.attention_weights, before)
    mask = torch.ones(3, 3, dtype=torch.bool).tril()
    if which.endswith("heads"):
        attention.attend(q, *attention.project(q, q), mask)
    else:
        attention.attend(q, attention.project_keys(q), q, mask)
    before = attention.attention_weights
    mask.fill_(True)
    assert torch.equal(attention.attention_weights, before)
    assert before.triu(1).count_nonzero() == 0


@pytest.mark.parametrize("place", [0, 1])
def test_dot_products_that_were_changed_in_place_say_so(place):
    attention, tensors = d2l.DotProductAttention(0), [torch.randn(2, 3, 4) for _ in range(3)]
    attention(*tensors)
    before = attention.attention_weights
    tensors[2].zero_()  # values do not matter
    assert torch.equal(attention.attention_weights, before)
    tensors[place].mul_(2)
    message = f"^attention_weights: {('queries', 'keys')[place]} was changed in place after the"
    with pytest.raises(RuntimeError, match=message):
        _ = attention.attention_weights
    attention(*tensors)
    assert not torch.equal(attention.attention_weights, before)


def test_in_inference_mode_weights_are_read_as_ever():
    attention = d2l.DotProductAttention(0)
    with torch.inference_mode():
        q = torch.randn(2, 3, 4)
        output = attention(q, q, q)
        torch.testing.assert_close(attention.attention_weights @ q, output)


@pytest.mark.parametrize("place", [0, 1])
def test_tensors_of_inference_mode_may_meet_others(place):
    attention, tensors = d2l.DotProductAttention(0), [torch.randn(2, 3, 4) for _ in range(3)]
    with torch.inference_mode():
        tensors[place] = tensors[place].clone()
    output = attention(*tensors)
    torch.testing.assert_close(attention.attention_weights @ tensors[2], output)


def test_the_past_that_a_state_gives_is_not_silently_another():
    decoder = d2l.TransformerDecoder(9, 4, 8, 2, 1, cross_attention=False)
    with torch.no_grad():
        _, state = decoder(torch.tensor([[3, 4]]), decoder.init_state())
        state.blocks[0].past[0].zero_()
    with pytest.raises(RuntimeError, match="keys was changed in place"):
        _ = decoder.self_attention_weights


# Layers and threads that share --------------------------------------------------------------------


def test_layers_may_share_a_block():
    torch.manual_seed(0)
    tokens = torch.tensor([[3, 4, 5, 6]])
    encoder = d2l.TransformerEncoder(9, 4, 8, 2, 2)
    decoder = d2l.TransformerDecoder(9, 4, 8, 2, 2)
    for stack in (encoder, decoder):
        alone = copy.deepcopy(stack.blks[0])
        stack.blks[1] = stack.blks[0]
        stack.blks_apart = nn.ModuleList([stack.blks[0], alone])
    logits, _ = d2l.EncoderDecoder(encoder, decoder)(tokens, tokens)
    shared = [encoder.attention_weights, decoder.attention_weights, decoder.self_attention_weights]
    for stack in (encoder, decoder):
        stack.blks = stack.blks_apart
    expected, _ = d2l.EncoderDecoder(encoder, decoder)(tokens, tokens)
    assert torch.equal(logits, expected)
    apart = [encoder.attention_weights, decoder.attention_weights, decoder.self_attention_weights]
    for found, wanted in zip(shared, apart, strict=True):
        assert torch.equal(found, wanted)
        assert not torch.allclose(found[:, 0], found[:, 1])


def test_heads_that_share_a_pooling_keep_their_own_weights():
    pooling, X = d2l.DotProductAttention(0), torch.randn(1, 3, 4)
    one, other = (d2l.MultiHeadAttention(4, 4, 4, 4, 2, 0, attention=pooling) for _ in range(2))
    one(X, X, X)
    before = one.attention_weights
    other(X, X, X)
    assert torch.equal(one.attention_weights, before)
    assert not torch.equal(other.attention_weights, before)


@pytest.mark.parametrize("which", ["Transformer", "Bahdanau"])
def test_each_thread_may_read_its_own(which):
    """Two threads take turns: each passes, then the other, and then they read."""
    if which == "Bahdanau":
        sizes = 9, 3, 4, 1
        model = d2l.EncoderDecoder(d2l.Seq2SeqEncoder(*sizes), d2l.Seq2SeqAttentionDecoder(*sizes))
    else:
        sizes = 9, 4, 8, 2, 2
        model = d2l.EncoderDecoder(d2l.TransformerEncoder(*sizes), d2l.TransformerDecoder(*sizes))
    sources = [torch.tensor([[3, 4]]), torch.tensor([[5, 6, 7]])]
    expected = []
    for source in sources:
        model(source, torch.tensor([[1, 4]]))
        expected.append(model.decoder.attention_weights)
    both, found = threading.Barrier(2, timeout=20), [None, None]

    def run(place):
        with own_weights():
            model(sources[place], torch.tensor([[1, 4]]))
            both.wait()
            found[place] = model.decoder.attention_weights
            both.wait()

    threads = [threading.Thread(target=run, args=(place,)) for place in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(map(torch.equal, found, expected))
    # Outside, it is the last pass of any thread.
    assert any(torch.equal(model.decoder.attention_weights, weights) for weights in expected)


def test_own_weights_end_with_their_block():
    attention, one, two = d2l.DotProductAttention(0), torch.randn(1, 2, 4), torch.randn(1, 3, 4)
    attention(one, one, one)
    with own_weights():
        assert attention.attention_weights.shape == (1, 2, 2)  # what was there before
        with own_weights():
            attention(two, two, two)
        assert attention.attention_weights.shape == (1, 3, 3)
        with pytest.raises(KeyError), own_weights():
            raise KeyError
    assert attention.attention_weights.shape == (1, 3, 3)


def test_whose_weights_are_read_inside_a_block_and_outside():
    """A pass of another thread is read by all outside, and by nobody inside, however deep."""
    attention, found = d2l.DotProductAttention(0), []

    def passes(size):
        X = torch.randn(1, size, 4)
        attention(X, X, X)

    def read_after_another(size):
        elsewhere = threading.Thread(target=passes, args=(size,))
        elsewhere.start()
        elsewhere.join()
        found.append(attention.attention_weights.shape[1])

    def here():
        passes(2)
        read_after_another(3)
        with own_weights():
            passes(4)
            read_after_another(5)
            with own_weights():
                passes(6)
                read_after_another(7)
            read_after_another(8)
        read_after_another(9)

    thread = threading.Thread(target=here)  # a new one, which no block has been in
    thread.start()
    thread.join()
    assert found == [3, 4, 6, 6, 9]


def test_own_weights_end_in_whatever_order_their_blocks_do():
    attention, one, two = d2l.DotProductAttention(0), torch.randn(1, 2, 4), torch.randn(1, 3, 4)
    first, second = own_weights(), own_weights()
    first.__enter__()
    second.__enter__()
    attention(one, one, one)
    first.__exit__(None, None, None)
    assert attention.attention_weights.shape == (1, 2, 2)
    second.__exit__(None, None, None)
    thread = threading.Thread(target=attention, args=(two, two, two))
    thread.start()
    thread.join()
    assert attention.attention_weights.shape == (1, 3, 3)  # nobody's own any more
