"""X-ray of a Transformer: what it accepts, its numbers beside PyTorch's, and a reader's way."""

import itertools

import pytest
import torch
from explorable_pages import frame, shown, tiny_decoder

import d2lattn as d2l
from d2lattn import transformer
from d2lattn.book.experiments import reversal
from d2lattn.book.explorables import TransformerXray
from d2lattn.book.explorables.base import BUILT

SOURCES = BUILT.parent


@torch.no_grad()
def decoder(vocab_size=10, width=8, heads=2, layers=2, seed=0, **options):
    """A decoder whose every number is drawn, so that nothing is hidden by a 0 or a 1."""
    torch.manual_seed(seed)
    options = {"cross_attention": False, **options}
    made = d2l.TransformerDecoder(vocab_size, width, 12, heads, layers, **options)
    for parameter in made.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=1.5 * width**-0.5)
        else:
            parameter += torch.randn_like(parameter) / 5
    return made.eval()


# --- the forward pass beside PyTorch's -----------------------------------------------------------


@pytest.fixture
def browser_modules(chromium):
    """A page that imports the sources as they are."""
    page = chromium.new_page()

    def serve(route):
        path = SOURCES.parent / route.request.url.split("/", 3)[3]
        text = path.read_text(encoding="utf-8") if path.is_file() else "<!doctype html>"
        kind = {".js": "text/javascript", ".json": "application/json"}.get(path.suffix, "text/html")
        route.fulfill(body=text, content_type=kind)

    page.route("**/*", serve)
    page.goto("http://sources.test/")
    yield page
    page.close()


CALL = """async ([name, network, ...given]) => {
  const all = await import("/explorables/xray/forward.js");
  return all[name](all.unpack(network), ...given);
}"""


@torch.no_grad()
def in_pytorch(made, tokens, mask, positions):
    """Scores (T, V), weights (layers, H, T, T), and what parts add and leave, (parts, T)."""
    adds, holds = [], []
    hooks = []
    for block in made.blks:
        for sublayer, add_norm in (
            (block.attention1.W_o, block.addnorm1),
            (block.ffn, block.addnorm3),
        ):
            hooks.append(sublayer.register_forward_hook(lambda *at: adds.append(at[2][0])))
            hooks.append(add_norm.register_forward_hook(lambda *at: holds.append(at[2][0])))
    table = made.pos_encoding.P.clone()
    if not positions:
        made.pos_encoding.P.zero_()
    with torch.no_grad(), pytest.MonkeyPatch.context() as patch:
        if not mask:
            patch.setattr(transformer, "causal_mask", lambda *shape: None)
        scores, _ = made(torch.tensor([tokens]), made.init_state())
    made.pos_encoding.P.copy_(table)
    for hook in hooks:
        hook.remove()
    lengths = [torch.stack(found).norm(dim=-1) for found in (adds, holds)]
    return scores[0], made.self_attention_weights[0], *lengths


NETWORKS = {
    "as in the chapter": {"width": 24},
    "pre-norm": {"norm_first": True},
    "with biases": {"bias": True, "heads": 4},
    "one layer": {"layers": 1, "heads": 1, "vocab_size": 5},
    "three layers": {"layers": 3, "norm_first": True, "bias": True},
}


@pytest.mark.browser
@pytest.mark.parametrize("options", NETWORKS.values(), ids=NETWORKS)
def test_scores_weights_and_lengths_are_pytorchs(browser_modules, options):
    made = decoder(**options, seed=3)
    packed = TransformerXray(made, "aaa").network
    vocab_size = options.get("vocab_size", 10)
    for length, mask, positions in itertools.product((1, 15), (True, False), (True, False)):
        tokens = torch.randint(vocab_size, (length,)).tolist()
        switches = {"mask": mask, "positions": positions}
        found = browser_modules.evaluate(CALL, ["forward", packed, tokens, switches])
        scores, weights, adds, holds = in_pytorch(made, tokens, mask, positions)
        close = lambda a, b: torch.testing.assert_close(  # noqa: E731
            torch.tensor(a).float(), b, atol=1e-4, rtol=0
        )
        close(found["lens"][-1], scores)
        close(found["weights"], weights)
        close([step["adds"] for step in found["steps"][2:]], adds)
        close([step["holds"] for step in found["steps"][2:]], holds)
        embedded = made.embedding.weight[tokens].detach() * made.embedding.embedding_dim**0.5
        close(found["steps"][0]["holds"], embedded.norm(dim=-1))
        placed = embedded + positions * made.pos_encoding.P[0, :length]
        close(found["steps"][1]["holds"], placed.norm(dim=-1))
        # The lens: what the output layer makes of the stream before the first layer.
        stream = made.ln(placed)
        close(found["lens"][0], made.dense(stream).detach())


@pytest.mark.browser
@pytest.mark.parametrize("word", ["facade", "gab", "cabbage"])
def test_what_it_writes_and_where_it_looks_is_pytorchs(browser_modules, word):
    made = decoder(width=24, seed=2)
    packed = TransformerXray(made, word).network
    batch = reversal.encode([word])
    letters = batch[:, : len(word)]
    found = browser_modules.evaluate(CALL, ["look", packed, letters[0].tolist()])
    written = reversal.write(made, letters)[0]
    assert found["written"] == written.tolist()
    assert found["truth"] == batch[0, len(word) + 1 :].tolist()
    assert found["right"] == int((written == batch[0, len(word) + 1 :]).sum())
    assert found["says"] == found["written"], "no place sees a later one"
    forced = browser_modules.evaluate(CALL, ["look", packed, letters[0].tolist(), {"forced": True}])
    with torch.no_grad():
        scores, _ = made(batch[:, :-1], made.init_state())
    says = scores[0, len(word) :].argmax(-1)
    assert forced["says"] == says.tolist()
    assert forced["right"] == int((says == batch[0, len(word) + 1 :]).sum())
    step = torch.arange(len(word), 2 * len(word))
    shares = made.self_attention_weights[0, :, :, step, 2 * len(word) - 1 - step].mean(-1)
    torch.testing.assert_close(torch.tensor(forced["shares"]), shares, atol=1e-5, rtol=0)


@pytest.mark.browser
def test_leak_from_later_places_is_pytorchs(browser_modules):
    model = decoder(seed=5)
    packed = TransformerXray(model).network
    tokens = [1, 4, 0, 3, 8, 3, 0, 4, 1]
    whole = in_pytorch(model, tokens, False, True)[0]
    for place in (0, 4, 8):
        alone = in_pytorch(model, tokens[: place + 1], False, True)[0]
        expected = (whole[place] - alone[place]).abs().max().item()
        arguments = [tokens, whole.tolist(), place, {"mask": False}]
        leak = browser_modules.evaluate(CALL, ["leak", packed, *arguments])
        assert leak == pytest.approx(expected, abs=1e-4)


# --- a reader's way ------------------------------------------------------------------------------


def cells(page):
    """The map that is shown large."""
    boxes = page.get_by_label("Weights of the head shown").locator("rect[data-value]")
    return boxes.evaluate_all("es => es.map((e) => e.dataset.value)")


def look_inside(page):
    """Open what is folded away at the start."""
    page.get_by_text("Inspect one position").click()
    frame(page)
    return page


@pytest.mark.browser
def test_page_shows_one_pass_of_the_model(visit):
    model = tiny_decoder()
    figure = TransformerXray(model, "facade", layer=0, head=1, position=8)
    page = look_inside(visit(figure.to_html()))
    written = reversal.write(model, reversal.encode(["facade"])[:, :6])[0].tolist()
    tokens = reversal.encode(["facade"])[0, :7].tolist() + written[:6]
    scores, weights, adds, holds = in_pytorch(model, tokens, True, True)
    probabilities = torch.tensor([shown(page, f"bar-{i}") for i in range(10)])
    torch.testing.assert_close(probabilities, scores[8].softmax(-1), atol=1e-5, rtol=0)
    drawn = torch.tensor([0.0 if x == "masked" else float(x) for x in cells(page)]).view(13, 13)
    torch.testing.assert_close(drawn, weights[0, 1], atol=1e-5, rtol=0)
    for part in range(4):
        assert shown(page, f"adds-{part + 2}") == pytest.approx(adds[part, 8].item(), abs=1e-4)
        assert shown(page, f"holds-{part + 2}") == pytest.approx(holds[part, 8].item(), abs=1e-4)
    truth = reversal.encode(["facade"])[0, 7:].tolist()
    assert shown(page, "right") == sum(a == b for a, b in zip(written, truth, strict=True))
