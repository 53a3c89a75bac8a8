"""The tour: its drawing, its shapes beside a model's, and a reader walking through."""

import pytest
import torch
from explorable_pages import frame, shown, tour

from d2lattn.book.explorables import TransformerTour
from d2lattn.book.explorables.tour import STOPS
from d2lattn.seq2seq import EncoderDecoder
from d2lattn.transformer import TransformerDecoder, TransformerEncoder

ENGLISH = ["the", "happy", "cow", "saw", "her", ".", "<eos>"]
FRENCH = ["la", "vache", "heureuse", "l'", "a", "vue", ".", "<eos>"]


class Words:
    """Numbers for words, as a Vocabulary has them."""

    def __init__(self, tokens):
        self.tokens = tokens

    def encode(self, words):
        return [self.tokens.index(word) for word in words]


SOURCE_WORDS, TARGET_WORDS = Words(["<pad>", *ENGLISH]), Words(["<pad>", "<bos>", *FRENCH])


def translator(**options):
    torch.manual_seed(0)
    model = EncoderDecoder(
        TransformerEncoder(8, 12, 20, 3, 2, dropout=0.5, **options),
        TransformerDecoder(10, 12, 20, 3, 2, dropout=0.5, **options),
    )
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def of(model, **state):
    return TransformerTour.of(model, ENGLISH, FRENCH, SOURCE_WORDS, TARGET_WORDS, **state)


def stop(figure, name):
    return figure.stops[STOPS.index(name)]


def test_shapes_are_those_of_a_model():
    model = translator().eval()
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
    figure = of(model)
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
    assert "3 heads ask side by side, each 4 wide" in stop(figure, "ask itself")["said"]
    assert "12 numbers become 20" in stop(figure, "network")["said"]


def test_what_a_model_computes_is_pytorchs():
    model = translator()
    figure = of(model, follow=(2, 1), layer=1, head=2)
    assert model.training, "left as it was found"
    model.eval()
    encoder, decoder = model.encoder, model.decoder
    X = torch.tensor([SOURCE_WORDS.encode(ENGLISH)])
    Y = torch.tensor([TARGET_WORDS.encode(["<bos>", *FRENCH[:-1]])])
    with torch.no_grad():
        # By hand: the second block of each stack on what the first gives.
        embedded = encoder.embedding(X) * 12**0.5
        placed = encoder.pos_encoding(embedded)
        before = encoder.blks[0](placed)
        left = encoder.blks[1]
        asked = left.attention(before, before, before, None)
        added = left.addnorm1.ln(before + asked)
        network = left.ffn(added)
        encoded = left.addnorm2.ln(added + network)
        entered = decoder.pos_encoding(decoder.embedding(Y) * 12**0.5)
        state = decoder.init_state(encoded)
        right = decoder.blks[1]
        stream, _ = decoder.blks[0](entered, state.blocks[0])
        decoded, _ = right(stream, state.blocks[1])
        own, cross = right.attention1.attention_weights, right.attention2.attention_weights
        scores = decoder.dense(decoded)
    wanted = {
        **{"embed": embedded, "position": placed, "ask itself": asked, "add": added},
        **{"network": network, "encoded": encoded},
    }
    for name, vectors in wanted.items():
        label, length = stop(figure, name)["length"]
        assert label == "of “cow”"
        assert length == pytest.approx(vectors[0, 2].norm().item(), abs=1e-3), name
    for name, vectors in {"enter": entered, "decoded": decoded}.items():
        label, length = stop(figure, name)["length"]
        assert label == "of “la”"
        assert length == pytest.approx(vectors[0, 1].norm().item(), abs=1e-3), name
    assert {"ask the past", "add past", "ask the source", "add source", "decoder network"} < {
        name for name in STOPS if "length" in stop(figure, name)
    }
    rows = {
        "ask itself": (ENGLISH, left.attention.attention_weights[0, 2, 2]),
        "ask the past": (["<bos>", *FRENCH[:-1]], own[0, 2, 1]),
        "ask the source": (ENGLISH, cross[0, 2, 1]),
    }
    for name, (names, weights) in rows.items():
        _, shown_names, row = stop(figure, name)["look"]
        assert shown_names == names
        torch.testing.assert_close(torch.tensor(row), weights, rtol=0, atol=1e-4)
    assert max(stop(figure, "ask the past")["look"][2][2:]) == 0, "what comes later"
    likely = scores[0, 1].softmax(-1).topk(5)
    _, names, row = stop(figure, "softmax")["look"]
    assert names == [TARGET_WORDS.tokens[number] for number in likely.indices]
    torch.testing.assert_close(torch.tensor(row), likely.values, rtol=0, atol=1e-4)


@pytest.mark.browser
def test_walk_goes_by_keys_button_slider_and_click(visit):
    page = visit(tour().to_html())
    stop = page.get_by_role("slider", name="Stop")
    now = lambda: stop.get_attribute("aria-valuetext")  # noqa: E731
    page.get_by_role("button", name="Next").press("Enter")
    frame(page)
    assert now() == "2 of 17: embedding × √D"
    page.get_by_role("group", name="Drawing").press("ArrowUp")
    frame(page)
    assert now() == "3 of 17: positions added"
    stop.press("ArrowRight")
    frame(page)
    assert shown(page, "count") == 7 * 96
    page.get_by_text("cross-attention", exact=True).first.click()
    frame(page)
    assert now() == "12 of 17: cross-attention"
    text = page.inner_text("main").replace("\u00a0", " ")
    assert "In (B, T, D) = (1, 8, 96) and (B, S, D) = (1, 7, 96)" in text
    assert "Weights (B, H, T, S) = (1, 4, 8, 7)" in text
    stop.press("End")
    page.get_by_role("button", name="Next").press("Enter")  # there is none after the last
    frame(page)
    assert now() == "17 of 17: softmax: the next words"
