"""Listings of the study notes run with ``import d2lattn as d2l``: names, arguments, parameters."""

import inspect

import pytest

import d2lattn as d2l

CALLS = {  # by name: the arguments that the listings give, in their order
    "show_heatmaps": "matrices xlabel ylabel titles figsize cmap",
    "NWKernelRegression": "",
    "masked_softmax": "X valid_lens",
    "sequence_mask": "X valid_len value",
    "AdditiveAttention": "key_size query_size num_hiddens dropout",
    "DotProductAttention": "dropout",
    "Seq2SeqEncoder": "vocab_size embed_size num_hiddens num_layers",
    "Seq2SeqAttentionDecoder": "vocab_size embed_size num_hiddens num_layers dropout",
    "MultiHeadAttention": "key_size query_size value_size num_hiddens num_heads dropout bias",
    "PositionalEncoding": "num_hiddens dropout max_len",
}


@pytest.mark.parametrize("name", CALLS)
def test_arguments_have_the_names_and_the_order_of_the_notes(name):
    parameters = list(inspect.signature(getattr(d2l, name)).parameters)
    assert parameters[: len(CALLS[name].split())] == CALLS[name].split()


def test_other_names_of_the_notes_exist():
    assert issubclass(d2l.AttentionDecoder, d2l.Decoder)
    assert callable(d2l.use_svg_display)
    assert callable(d2l.plt.subplots)


@pytest.mark.parametrize(
    ("module", "parameters"),
    [
        (d2l.NWKernelRegression(), {"w"}),
        (d2l.AdditiveAttention(4, 6, 8, 0.1), {"W_q.weight", "W_k.weight", "w_v.weight"}),
    ],
)
def test_parameters_have_the_names_of_the_notes(module, parameters):
    assert set(dict(module.named_parameters())) == parameters
