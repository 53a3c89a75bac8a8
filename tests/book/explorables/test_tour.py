"""The tour: its drawing, its shapes beside a model's, and a reader walking through."""

import torch

from d2lattn.book.explorables import TransformerTour
from d2lattn.book.explorables.tour.figure import STOPS
from d2lattn.seq2seq import EncoderDecoder
from d2lattn.transformer import TransformerDecoder, TransformerEncoder

ENGLISH = ["the", "happy", "cow", "saw", "her", ".", "<eos>"]
FRENCH = ["la", "vache", "heureuse", "l'", "a", "vue", ".", "<eos>"]


def stop(figure, name):
    return figure.stops[STOPS.index(name)]


def test_shapes_are_those_of_a_model():
    torch.manual_seed(0)
    sizes = 12, 20, 3, 2
    model = EncoderDecoder(TransformerEncoder(8, *sizes), TransformerDecoder(10, *sizes)).eval()
    found = {}
    hooks = [
        module.register_forward_hook(lambda _m, given, result, n=name: found.update({n: result}))
        for name, module in model.named_modules()
    ]
    with torch.no_grad():
        model(torch.ones(1, 7, dtype=torch.long), torch.ones(1, 8, dtype=torch.long))
    for hook in hooks:
        hook.remove()
    modules = {
        "position": "encoder.pos_encoding",
        "ask itself": "encoder.blks.0.attention.W_o",
        "add": "encoder.blks.0.addnorm1",
        "network": "encoder.blks.0.ffn",
        "encoded": "encoder.blks.0.addnorm2",
        "enter": "decoder.pos_encoding",
        "add past": "decoder.blks.0.addnorm1",
        "add source": "decoder.blks.0.addnorm2",
        "decoder network": "decoder.blks.0.ffn",
        "decoded": "decoder.blks.0.addnorm3",
        "dense": "decoder.dense",
    }
    names = "num_hiddens", "ffn_num_hiddens", "num_heads", "num_layers"
    options = dict(zip(names, sizes, strict=True))
    figure = TransformerTour(ENGLISH, FRENCH, vocab_size=10, **options)
    for name, module in modules.items():
        shape = tuple(found[module].shape)
        assert stop(figure, name)["gives"].endswith(f"= {shape}"), name
        assert stop(figure, name)["count"] == found[module].numel()
    for name, weights in {
        "ask itself": model.encoder.attention_weights,
        "ask the past": model.decoder.self_attention_weights,
        "ask the source": model.decoder.attention_weights,
    }.items():
        assert stop(figure, name)["weights"].endswith(f"= {tuple(weights[:, 0].shape)}"), name
    assert "in 3 heads, each 4 wide" in stop(figure, "ask itself")["text"]
    assert "12 numbers become 20" in stop(figure, "network")["text"]
