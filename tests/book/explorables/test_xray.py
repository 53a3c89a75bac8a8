"""X-ray of a Transformer: what it accepts, its numbers beside PyTorch's, and a reader's way."""

import base64
import itertools
import re
import struct
from pathlib import Path
from urllib.parse import unquote

import pytest
import torch
from explorable_pages import frame, live, shown, tiny_decoder, xray

import d2lattn as d2l
from d2lattn.book.experiments import reversal
from d2lattn.book.explorables import TransformerXray

SOURCES = Path(__file__).resolve().parents[3] / "javascript" / "src"


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


@pytest.mark.parametrize(
    ("network", "words"),
    [
        (torch.nn.Linear(1, 1), "is a Linear; a TransformerDecoder"),
        ({"parts": {}}, "is a dict"),
        (decoder(cross_attention=True), "cross_attention=False"),
        (decoder(heads=4, layers=3), "12 heads; 8 at most"),
        (decoder(width=64), "weights; 20,000 at most"),
        (decoder(vocab_size=2), "2 tokens; 1 to 26 letters"),
        (decoder(vocab_size=29), "29 tokens"),
    ],
)
def test_unusable_networks_are_told(network, words):
    with pytest.raises(ValueError, match=words):
        TransformerXray(network)


def test_networks_that_cannot_be_computed_are_told():
    learned = decoder()
    learned.pos_encoding = d2l.LearnedPositionalEncoding(8, 0)
    with pytest.raises(ValueError, match="learned positions"):
        TransformerXray(learned)
    broken = decoder()
    broken.dense.bias.data[0] = float("nan")
    with pytest.raises(ValueError, match="not finite"):
        TransformerXray(broken)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"word": "fig"}, "knows a to h, not i"),
        ({"word": "a"}, "2 to 7 letters"),
        ({"word": "ABBA"}, "2 to 7 letters"),
        ({"word": 3}, "2 to 7 letters"),
        ({"layer": 2}, "layer is 2; 0 … 1"),
        ({"head": 2}, "head is 2; 0 … 1"),
        ({"position": 15}, "0 to 14"),
        ({"mask": 1}, "True or False"),
        ({"lengths": [3]}, "shortest and the longest"),
        ({"beam": 2}, "has no beam"),
    ],
)
def test_unusable_state_is_told(state, words):
    with pytest.raises(ValueError, match=words):
        TransformerXray(decoder(), **state)


def test_weights_are_packed_as_they_are():
    made = decoder()
    figure = TransformerXray(made, "dad")
    assert (figure.layer, figure.head, figure.position) == (1, 0, 3)
    sizes, text = figure.network["parts"]["dense.weight"]
    bytes_ = base64.b64decode(text)
    assert sizes == [10, 8]
    assert list(struct.unpack("<80f", bytes_)) == made.dense.weight.flatten().tolist()
    figure.network = decoder(seed=1)
    assert figure.network["parts"]["dense.weight"][1] != text
    again = TransformerXray(figure.network)
    assert again.network == figure.network


def test_words_tell_where_the_weights_are():
    words = TransformerXray(decoder(), "dad").words()
    assert "such as “dad”" in words
    count = sum(parameter.numel() for parameter in decoder().parameters())
    assert f"It has {count:,} weights" in words
    assert "<td>embedding</td><td>80</td>" in words
    assert "<td>layer 2</td>" in words
    assert "<td>dense</td><td>90</td>" in words


# --- the forward pass beside PyTorch's -----------------------------------------------------------


@pytest.fixture
def browser_modules(chromium):
    """A page that imports the sources as they are."""
    page = chromium.new_page()

    def serve(route):
        path = SOURCES / route.request.url.split("/", 3)[3]
        text = path.read_text(encoding="utf-8") if path.is_file() else "<!doctype html>"
        kind = "text/javascript" if path.is_file() else "text/html"
        route.fulfill(body=text, content_type=kind)

    page.route("**/*", serve)
    page.goto("http://sources.test/")
    yield page
    page.close()


CALL = """async ([name, network, ...given]) => {
  const all = await import("/xray/forward.js");
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
    with torch.no_grad():
        if mask:
            scores, _ = made(torch.tensor([tokens]), made.init_state())
        else:
            with reversal.without_causal_mask():
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
@pytest.mark.parametrize("mask", [True, False])
def test_what_leaks_from_later_places_is_pytorchs(browser_modules, mask):
    made = decoder(seed=5)
    packed = TransformerXray(made).network
    tokens = [1, 4, 0, 3, 8, 3, 0, 4, 1]
    whole = in_pytorch(made, tokens, mask, True)[0]
    for place in (0, 4, 8):
        alone = in_pytorch(made, tokens[: place + 1], mask, True)[0]
        wanted = (whole[place] - alone[place]).abs().max().item()
        given = [tokens, whole.tolist(), place, {"mask": mask}]
        found = browser_modules.evaluate(CALL, ["leak", packed, *given])
        assert found == pytest.approx(wanted, abs=1e-4)
        if not mask and place < 8:
            assert found > 0.1


@pytest.mark.slow
@pytest.mark.browser
def test_a_pass_takes_less_than_a_frame(browser_modules):
    made = decoder(width=40)
    count = sum(parameter.numel() for parameter in made.parameters())
    assert 14_000 < count <= 20_000
    took = browser_modules.evaluate(
        """async (network) => {
          const { forward, unpack } = await import("/xray/forward.js");
          const net = unpack(network);
          const took = [];
          for (let i = 0; i < 60; i++) {
            const start = performance.now();
            forward(net, Array.from({ length: 15 }, (_, k) => (i + k) % 10));
            took.push(performance.now() - start);
          }
          return took.slice(10).sort((a, b) => a - b)[25];
        }""",
        TransformerXray(made).network,
    )
    assert took < 16


# --- a reader's way ------------------------------------------------------------------------------


def cells(page, label):
    found = page.get_by_label(label).locator("rect[data-value]")
    return found.evaluate_all("es => es.map((e) => e.dataset.value)")


NEXT, MAP = "What it would write next", "Weights of the head shown"


def probabilities(page):
    return torch.tensor([shown(page, f"bar-{i}") for i in range(10)])


def look_inside(page):
    """Open what is folded away at the start."""
    page.get_by_text("Look inside").click()
    frame(page)
    return page


@pytest.mark.browser
def test_it_opens_with_the_word_and_a_tap_on_a_cell_asks_for_more(visit):
    page = visit(xray().to_html())
    assert page.get_by_label("Letter 1").is_visible()
    assert page.get_by_label("Causal mask").is_visible()
    assert page.get_by_role("application").count() == 1
    heads = page.locator("button[aria-pressed]").first
    assert not heads.is_visible()
    page.get_by_role("application").press("Enter")
    frame(page)
    assert heads.is_visible()
    assert page.get_by_role("slider", name="Place", exact=True).input_value() == "7"
    # A link to what is inside shows it.
    linked = visit(xray().to_html(), hash="#d2lx.xray.position=3")
    assert linked.locator("button[aria-pressed]").first.is_visible()


@pytest.mark.browser
def test_the_page_shows_one_pass_of_the_model(visit):
    made = tiny_decoder()
    page = look_inside(
        visit(TransformerXray(made, "facade", layer=0, head=1, position=8).to_html())
    )
    written = reversal.write(made, reversal.encode(["facade"])[:, :6])[0].tolist()
    tokens = reversal.encode(["facade"])[0, :7].tolist() + written[:6]
    scores, weights, adds, holds = in_pytorch(made, tokens, True, True)
    chances = scores.softmax(-1)
    close = {"atol": 1e-5, "rtol": 0}
    torch.testing.assert_close(probabilities(page), chances[8], **close)
    most = torch.tensor([float(x) for x in cells(page, NEXT)]).view(3, 7)[2]
    torch.testing.assert_close(most, chances[6:].max(-1).values, **close)
    marks = page.get_by_label(NEXT).locator(".d2lx-number").all_text_contents()[14:]
    assert [mark[0] for mark in marks] == [reversal.TOKENS[token] for token in written]
    truth = "edacaf."
    rightly = [mark == truth[i] for i, mark in enumerate(marks)]
    assert rightly == [reversal.TOKENS[token] == truth[i] for i, token in enumerate(written)]
    assert shown(page, "right") == sum(rightly)
    drawn = cells(page, MAP)
    for k, x in enumerate(drawn):
        i, j = divmod(k, 13)
        if j > i:
            assert x == "masked"
        else:
            assert float(x) == pytest.approx(weights[0, 1, i, j].item(), abs=1e-5)
    for part in range(4):
        assert shown(page, f"adds-{part + 2}") == pytest.approx(adds[part, 8].item(), abs=1e-4)
        assert shown(page, f"holds-{part + 2}") == pytest.approx(holds[part, 8].item(), abs=1e-4)
    assert shown(page, "leak") == 0
    pressed = page.locator("button[aria-pressed=true]")
    assert pressed.get_attribute("aria-label").startswith("Layer 1, head 2: ")


@pytest.mark.browser
def test_the_mask_lifted_lets_later_letters_in(visit):
    page = look_inside(visit(xray().to_html()))
    assert shown(page, "leak") == 0
    assert "masked" in cells(page, MAP)
    page.get_by_role("checkbox", name="Causal mask").uncheck()
    frame(page)
    assert shown(page, "leak") > 0.01
    assert "masked" not in cells(page, MAP)
    page.get_by_role("slider", name="Place").press("End")
    frame(page)
    assert shown(page, "leak") == 0, "nothing is behind the last place"


@pytest.mark.browser
def test_what_is_said_once_all_is_there_is_told_where_it_differs(visit):
    made = decoder(width=24, seed=2)
    page = look_inside(visit(TransformerXray(made, "facade").to_html()))
    told = page.locator(".d2lx-formula")
    assert "Once all" not in told.inner_text()
    page.get_by_role("checkbox", name="Causal mask").uncheck()
    frame(page)
    # Step by step, each place sees all there is by then.
    tokens = reversal.encode(["facade"])[0, :7].tolist()
    for _ in range(7):
        best = in_pytorch(made, tokens, False, True)[0].argmax(-1).tolist()
        tokens.append(best[-1])
    spell = lambda some: "".join(reversal.TOKENS[token] for token in some)  # noqa: E731
    wanted = f"writes “{spell(tokens[7:])}”: "
    assert wanted in told.inner_text()
    assert best[6:] != tokens[7:], "another network is needed for this test"
    assert told.inner_text().endswith(f"it says “{spell(best[6:])}”.")


@pytest.mark.browser
def test_without_positions_equal_letters_are_alike(visit):
    page = look_inside(visit(xray(word="dad", layer=0, positions=False, position=0).to_html()))
    assert shown(page, "adds-1") == 0
    first = probabilities(page)
    page.get_by_role("checkbox", name="Positions").check()
    frame(page)
    assert shown(page, "adds-1") == pytest.approx(12**0.5), "twelve waves"
    assert not torch.equal(probabilities(page), first)


@pytest.mark.browser
def test_the_true_answer_is_given_and_its_prediction_judged(visit):
    page = look_inside(visit(xray().to_html()))
    told = page.locator(".d2lx-formula")
    assert told.inner_text().startswith("It reads “facade” and writes “")
    page.get_by_role("checkbox", name="Give the true answer").check()
    frame(page)
    assert told.inner_text().startswith("It is given “facade>edacaf” and says “")
    labels = page.get_by_label(MAP).locator(".d2lx-tick").all_text_contents()
    assert "".join(labels[:13]) == "facade>edacaf"


@pytest.mark.browser
def test_letters_and_length_change_and_come_back(visit):
    page = look_inside(visit(xray(position=12).to_html()))
    page.get_by_role("combobox", name="Letter 2").select_option("h")
    length = page.get_by_role("combobox", name="Letters (it learned 3 to 6)")
    told = page.locator(".d2lx-formula")
    for count, word in {2: "fh", 7: "fhcadea"}.items():
        length.select_option(str(count))
        frame(page)
        assert f"reads “{word}”" in told.inner_text()
        assert page.get_by_role("combobox", name=re.compile(r"Letter \d")).count() == len(word)
        size = 2 * len(word) + 1
        assert len(cells(page, MAP)) == size**2
        place = page.get_by_role("slider", name="Place", exact=True)
        assert place.get_attribute("max") == str(size)
        # What is looked at stays inside the word.
        at = min(13, size)
        assert place.get_attribute("aria-valuetext").startswith(f"{at} of {size}, ")
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert "reads “facade”" in told.inner_text()


@pytest.mark.browser
def test_a_guess_stays_inside_a_word_that_is_made_shorter(visit):
    page = look_inside(visit(xray().to_html()))
    page.get_by_role("button", name="Predict first").click()
    guess = page.get_by_role("slider", name="Your guess")
    guess.press("End")
    page.get_by_role("combobox", name="Letters (it learned 3 to 6)").select_option("2")
    frame(page)
    assert guess.get_attribute("aria-valuetext") == "5"
    page.get_by_role("button", name="Reveal").click()
    assert page.locator(".d2lx-verdict").inner_text().startswith("You said 5; it is ")


@pytest.mark.browser
def test_a_head_is_hidden_until_the_guess(visit):
    made = tiny_decoder()
    page = look_inside(visit(TransformerXray(made, "facade", layer=1, head=1).to_html()))
    heads = page.locator("button[aria-pressed]")
    assert heads.count() == 4
    page.get_by_role("button", name="Predict first").click()
    assert not page.get_by_label(MAP).is_visible()
    assert not heads.first.is_visible()
    assert page.get_by_label(NEXT).is_visible()
    guess = page.get_by_role("slider", name="Your guess")
    guess.press("Home")
    page.get_by_role("button", name="Reveal").click()
    frame(page)
    written = reversal.write(made, reversal.encode(["facade"])[:, :6])[0].tolist()
    tokens = reversal.encode(["facade"])[0, :7].tolist() + written[:6]
    most = in_pytorch(made, tokens, True, True)[1][1, 1, 6].argmax().item() + 1
    verdict = page.locator(".d2lx-verdict")
    assert verdict.inner_text() == f"You said 1; it is {most}: {most - 1} apart."
    # It was said of this head.
    heads.first.click()
    frame(page)
    assert verdict.inner_text() == ""
    assert page.locator(".d2lx-head").nth(1).inner_text() == "Layer 1, head 1"


@pytest.mark.browser
def test_a_cell_says_its_places_and_what_is_right(visit):
    page = look_inside(visit(xray().to_html()))
    stage = page.get_by_label(MAP)
    for _ in range(7):
        stage.press("ArrowDown")
    for _ in range(4):
        stage.press("ArrowRight")
    said = page.locator(".d2lx-cell").nth(1).inner_text()
    assert said.endswith("from place 8 to place 5, the letter that comes next")
    nexts = page.get_by_label(NEXT)
    nexts.press("End")
    nexts.press("Enter")
    frame(page)
    place = page.get_by_role("slider", name="Place", exact=True)
    assert place.get_attribute("aria-valuetext").startswith("13 of 13, ")


@pytest.mark.browser
def test_python_sees_what_is_moved_and_may_change_the_network(visit):
    page = visit()
    figure = xray()
    live(page, figure)
    look_inside(page)
    page.get_by_role("checkbox", name="Causal mask").press(" ")
    page.get_by_role("combobox", name="Letters").select_option("2")
    page.locator("button[aria-pressed]").first.click()
    frame(page)
    assert page.evaluate("sent.mask") is False
    assert page.evaluate("sent.word") == "fa"
    assert page.evaluate("[sent.layer, sent.head]") == [0, 0]
    before = probabilities(page)
    page.evaluate("(net) => model.set('network', net)", TransformerXray(decoder(seed=7)).network)
    frame(page)
    assert not torch.allclose(probabilities(page), before, atol=1e-2)
    page.evaluate("stop()")


@pytest.mark.browser
def test_the_address_holds_the_word_and_nothing_that_does_not_fit(visit):
    page = look_inside(visit(xray().to_html()))
    page.get_by_role("combobox", name="Letters").select_option("5")
    page.get_by_role("checkbox", name="Positions").press(" ")
    page.wait_for_timeout(400)
    hash = page.evaluate("location.hash")
    assert unquote(hash) == '#d2lx.xray.word="facad"&d2lx.xray.positions=false'
    sent = visit(xray().to_html(), hash=hash)
    assert "reads “facad”" in sent.locator(".d2lx-formula").inner_text()
    for bad in (
        'word="f"',
        'word="zebra"',
        'word="f<b>"',
        "word=3",
        "layer=2",
        "head=-1",
        "mask=1",
    ):
        sent = visit(xray().to_html(), hash=f"#d2lx.xray.{bad}")
        assert "reads “facade”" in sent.locator(".d2lx-formula").inner_text(), bad
        assert sent.locator("[aria-pressed=true]").get_attribute("aria-label").startswith("Layer 2")
        assert sent.get_by_role("checkbox", name="Causal mask").is_checked()
        sent.close()
