"""Writer's memory: what it accepts, its bytes and its mask beside PyTorch's, and a reader's way."""

import re

import pytest
import torch
from explorable_pages import MODELS, frame, live, shown, writers_memory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from d2lattn import MultiHeadAttention, TransformerDecoder
from d2lattn.bare_after import causal_window_mask, grouped_attention
from d2lattn.book.explorables import WritersMemory

DTYPES = {1: torch.int8, 2: torch.bfloat16, 4: torch.float32}
TOKENS = WritersMemory().tokens


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"kv_heads": 3}, "kv_heads of the figure is 3; a divisor of query_heads, 8,"),
        ({"number_bytes": 3}, "1, 2 or 4"),
        ({"window": 22}, "window is 22; with 21 tokens, 21 at most"),
        ({"written": 22}, "written is 22"),
        ({"asked": 21}, "asked is 21; with 21 tokens, 20 at most"),
        ({"num_first": 5}, "from 0 to 4"),
        ({"tokens": ["a"] * 25}, "at most 24"),
        ({"tokens": []}, "at least one"),
        ({"models": {"ours": {"layers": 2}}}, "ours has layers; layers, query_heads, kv_heads"),
        ({"models": {"ours": {**MODELS["GPT-3"], "kv_heads": 5}}}, "kv_heads of ours is 5"),
        ({"models": {"ours": {**MODELS["GPT-3"], "layers": 1000}}}, "layers is 1000"),
    ],
)
def test_unusable_state_is_told(state, words):
    with pytest.raises(ValueError, match=words):
        WritersMemory(**state)


def test_a_text_of_ones_own_starts_within_it():
    memory = WritersMemory(["la"])
    assert (memory.written, memory.asked) == (1, 0)
    memory = WritersMemory(["la", "vache"], asked=0)
    assert (memory.written, memory.asked) == (2, 0)


def test_without_scripts_the_sizes_and_bytes_are_told():
    words = WritersMemory(kv_heads=2).words()
    assert "<td>32</td><td>8</td><td>2</td><td>64</td><td>2</td><td>16384</td>" in words


def sees(window, num_first, written):
    """Which tokens the last one may ask, (written,)."""
    return causal_window_mask(len(TOKENS), window or len(TOKENS), num_first)[written - 1][:written]


def real_bytes(state):
    """Bytes of the keys and values that attention gives, of those tokens that may be asked."""
    heads, width = state["query_heads"], state["query_heads"] * state["head_dim"]
    options = {"window": state["window"] or None, "num_kv_heads": state["kv_heads"]}
    if state["window"]:
        options["num_first"] = state["num_first"]
    attention = MultiHeadAttention(1, 1, 1, width, heads, 0, **options)
    X = torch.zeros(1, state["written"], 1)
    kept = sees(state["window"], state["num_first"], state["written"])
    cache = [one[:, :, kept].to(DTYPES[state["number_bytes"]]) for one in attention.project(X, X)]
    return state["layers"] * sum(one.nelement() * one.element_size() for one in cache)


def cells(page):
    """Of each token, what is seen: the word or nothing, and the height of its ink in marks."""
    return page.locator(".d2lx-text > span").evaluate_all(
        """es => es.map((e) => {
          const [path, word] = [e.querySelector('path'), e.querySelector('bdi')];
          const [foot, head] = path.getAttribute('d').slice(3).split('V').map(Number);
          const style = getComputedStyle(path);
          const seen = style.visibility === 'visible' && Number(style.strokeOpacity);
          return [
            getComputedStyle(word).visibility === 'visible' ? word.innerText : '',
            seen ? foot - head : 0,
            getComputedStyle(word).textDecorationStyle === 'dotted',
          ];
        })"""
    )


def said(page):
    return page.locator(".d2lx-said").inner_text()


def news(page):
    return page.locator(".d2lx-news").inner_text().replace("\u00a0", " ")  # no formula is broken


@pytest.mark.browser
@given(
    st.sampled_from([(8, 8), (8, 2), (8, 1), (12, 4), (1, 1), (64, 8)]),
    st.integers(1, 6),
    st.sampled_from([16, 48, 128]),
    st.sampled_from([1, 2, 4]),
    st.integers(0, 9),
    st.integers(0, 4),
    st.integers(1, 21),
    st.integers(0, 20),
)
@settings(
    deadline=None,
    max_examples=14,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_bytes_and_mask_are_pytorchs(
    visit, heads, layers, head_dim, number_bytes, window, num_first, written, asked
):
    state = {
        **dict(zip(("query_heads", "kv_heads"), heads, strict=True)),
        **{"layers": layers, "head_dim": head_dim, "number_bytes": number_bytes},
        **{"window": window, "num_first": num_first, "written": written, "asked": asked},
    }
    page = visit(WritersMemory(**state).to_html(), again=True)
    assert shown(page, "kept") == real_bytes(state)
    every = {**state, "window": 0, "written": 1}
    assert shown(page, "token") == real_bytes(every) == WritersMemory(**state).token_bytes
    kept = sees(window, num_first, written)
    assert f"{int(kept.sum())} of {written} token" in page.locator(".d2lx-formula").inner_text()

    # News travels from state to state, a layer at a time: what the power of the mask reaches.
    mask = causal_window_mask(len(TOKENS), window or len(TOKENS), num_first).double()
    reached = torch.linalg.matrix_power(mask, layers)[written - 1][:written] > 0
    found = cells(page)
    assert [word for word, *_ in found[:written]] == TOKENS[:written]
    assert [word for word, *_ in found[written:]] == [""] * (len(TOKENS) - written)
    height = 40 * heads[1] / heads[0]
    wanted = [height if yes else 0 for yes in kept.tolist()] + [0] * (len(TOKENS) - written)
    assert [ink for _, ink, _ in found] == pytest.approx(wanted)
    dotted = [news for *_, news in found]
    assert dotted[:written] == (reached & ~kept).tolist()

    asked = min(asked, written - 1)
    answer = said(page)
    assert answer.startswith("Yes" if kept[asked] else "No")
    assert f"“{TOKENS[asked]}”" in answer
    if not kept[asked]:
        rows = causal_window_mask(len(TOKENS), window, num_first)[:written, asked]
        ago = written - 1 - int(rows.nonzero()[-1])  # since it was asked for the last time
        assert re.search(rf"forgotten {ago} steps? ago", answer)
        assert ("may have come" in news(page)) == bool(reached[asked])


@pytest.mark.browser
def test_the_number_is_what_a_decoder_carries(visit):
    sizes = {"query_heads": 4, "kv_heads": 2, "head_dim": 16, "layers": 3, "number_bytes": 4}
    page = visit(WritersMemory(**sizes, written=1).to_html())
    decoder = TransformerDecoder(9, 64, 8, 4, 3, cross_attention=False, num_kv_heads=2).eval()
    state = decoder.init_state()
    for _ in range(5):
        _, state = decoder(torch.tensor([[1]]), state)
        carried = [one for block in state.blocks for one in block.past]
        assert shown(page, "kept") == sum(one.nelement() * one.element_size() for one in carried)
        page.get_by_role("button", name="Write the next token").press("Enter")
        frame(page)


@pytest.mark.browser
def test_the_lines_join_the_heads_that_share(visit):
    queries, keys = torch.zeros(1, 8, 1, 1), torch.zeros(1, 4, 1, 1)
    values = torch.arange(4.0).view(1, 4, 1, 1)
    shares = grouped_attention(queries, keys, values).flatten().tolist()  # whose values it gets
    page = visit(WritersMemory(kv_heads=4).to_html())
    lines = page.locator(".d2lx-ask").get_attribute("d")
    ends = [float(y) for y in re.findall(r"L[\d.]+ ([\d.]+)", lines)]
    assert len(ends) == 8
    assert [sorted(set(ends)).index(y) for y in ends] == shares
    # Keys and values stand where the lines end.
    heads = page.locator(".d2lx-k").get_attribute("d")
    assert [float(y) for y in re.findall(r"M[\d.]+ ([\d.]+)l", heads)] == sorted(set(ends))


@pytest.mark.browser
def test_the_first_moves_of_a_reader(visit):
    page = visit(WritersMemory().to_html())
    assert page.locator("[data-name=kept]").inner_text() == "786,432"
    assert page.get_by_text("12 tokens · 65,536 bytes", exact=True).is_visible()
    assert "= 65,536 bytes a token; 12 of 12 tokens kept" in page.inner_text(".d2lx-formula")
    # Share the key: an eighth is left, of bytes and of ink.
    share = page.get_by_role("slider", name="Heads that share a key")
    before = cells(page)
    share.press("End")
    frame(page)
    assert share.get_attribute("aria-valuetext") == "8, so 1 key"
    assert page.locator("[data-name=kept]").inner_text() == "98,304"
    assert [8 * ink for _, ink, _ in cells(page)] == [ink for _, ink, _ in before]
    assert said(page) == "Yes: “cow” can be asked by all 8 query heads, through one shared key."
    # Forget, from the far end on; the first ones may stay.
    first = page.get_by_role("slider", name="First tokens that stay")
    assert not first.is_visible()
    window = page.get_by_role("slider", name="Window")
    window.press("Home")
    for _ in range(4):
        window.press("ArrowRight")
    frame(page)
    assert [j for j, (_, ink, _) in enumerate(cells(page)) if ink] == [7, 8, 9, 10, 11]
    assert said(page) == "No: “cow” was forgotten 5 steps ago."
    assert "may have come" in news(page)
    layers = page.get_by_role("slider", name="Layers")
    layers.press("Home")
    layers.press("ArrowRight")
    frame(page)
    assert "2 layers reach 2 · (5 − 1) = 8 tokens back; it stands 9 back" in news(page)
    assert "16 GB are never full: no more than 5 tokens kept." in page.inner_text("details")
    for _ in range(3):
        first.press("ArrowRight")
    frame(page)
    assert said(page).endswith("It is among the first 3, which stay.")
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert cells(page) == before
    assert page.locator("[data-name=kept]").inner_text() == "786,432"


@pytest.mark.browser
def test_a_token_is_picked_by_keys_and_by_hand_and_written_by_a_button(visit):
    page = visit(WritersMemory(written=19, window=6).to_html())
    line = page.get_by_role("slider", name="Token to ask")
    picked = lambda: page.locator(".d2lx-text [data-role=asked]").inner_text()  # noqa: E731
    line.press("ArrowLeft")
    frame(page)
    assert picked() == "happy"
    assert line.get_attribute("aria-valuetext") == "2 of 19, happy: forgotten"
    ways = {"Home": "the", "ArrowLeft": "the", "End": "see", "ArrowRight": "see"}
    for key, word in ways.items():
        line.press(key)
        frame(page)
        assert picked() == word
    write = page.get_by_role("button", name="Write the next token")
    write.click()
    frame(page)
    assert picked() == "see"  # the end was no place beyond it
    page.locator(".d2lx-text").get_by_text("slept").click()
    frame(page)
    assert said(page).startswith("No: “slept” was forgotten 2 steps ago.")
    for _ in range(3):  # more than there are
        write.press("Enter")
    frame(page)
    assert write.get_attribute("aria-disabled") == "true"
    assert page.get_by_role("slider", name="Tokens written").input_value() == "21"
    assert said(page).startswith("No: “slept” was forgotten 3 steps ago.")
    # Back before it was written, the last one is asked.
    page.get_by_role("slider", name="Tokens written").press("Home")
    frame(page)
    assert picked() == "the"
    assert said(page).startswith("Yes: “the”")


@pytest.mark.browser
def test_sizes_of_named_models(visit):
    page = visit(writers_memory().to_html())
    page.get_by_role("button", name="GPT-3").click()
    frame(page)
    assert shown(page, "token") == 2 * 96 * 96 * 128 * 2
    assert page.locator("[data-name=full]").inner_text() == "3,390"
    page.get_by_role("button", name="PaLM 540B").click()
    frame(page)
    assert shown(page, "token") == 2 * 118 * 1 * 256 * 2
    assert shown(page, "full") == 16 * 10**9 // 120832
    assert page.get_by_role("slider", name="share a key").get_attribute("aria-valuetext") == (
        "48, so 1 key"
    )


@pytest.mark.browser
def test_the_guess_is_judged_and_the_answer_was_hidden(visit):
    page = visit(WritersMemory().to_html())
    page.get_by_role("button", name="Predict first").click()
    frame(page)
    assert not page.locator("[data-name=full]").is_visible()
    assert page.locator("[data-name=token]").is_visible()  # what one predicts from
    page.get_by_role("slider", name="Your guess").press("Home")
    frame(page)
    page.get_by_role("button", name="Reveal").click()
    frame(page)
    verdict = page.locator(".d2lx-verdict").inner_text()
    assert verdict == "You said 0.1; it is 244.1: 244.0 apart."
    assert page.locator("[data-name=full]").inner_text() == "244,140"
    page.get_by_role("slider", name="Window").press("Home")  # what was said holds no longer
    frame(page)
    assert page.locator(".d2lx-verdict").inner_text() == ""


@pytest.mark.browser
def test_a_link_holds_the_memory_and_no_nonsense(visit):
    link = "#d2lx.writers_memory.kv_heads=2&d2lx.writers_memory.window=4"
    page = visit(WritersMemory().to_html(), hash=link)
    assert shown(page, "kept") == 4 * 2 * 32 * 2 * 64 * 2
    page = visit(WritersMemory().to_html(), hash=link.replace("=2", "=3").replace("=4", "=40"))
    assert page.locator("[data-name=kept]").inner_text() == "786,432"
    assert not page.get_by_role("slider", name="First tokens that stay").is_visible()  # no window
    # Three heads cannot have eight keys: as many as they can share.
    page = visit(WritersMemory().to_html(), hash="#d2lx.writers_memory.query_heads=3")
    assert shown(page, "token") == 2 * 32 * 3 * 64 * 2


@pytest.mark.browser
def test_news_is_told_where_more_is_open(visit):
    figure = WritersMemory(window=6).to_html()
    assert any(dotted for *_, dotted in cells(visit(figure)))
    page = visit(figure, folded=True)
    assert not any(dotted for *_, dotted in cells(page))
    assert not page.locator(".d2lx-news").is_visible()


@pytest.mark.browser
def test_python_hears_of_it(visit):
    page = visit()
    live(page, writers_memory(window=3))
    page.get_by_role("slider", name="Heads that share a key").press("End")
    page.get_by_role("slider", name="Window").press("End")
    assert page.evaluate("[sent.kv_heads, sent.window]") == [1, 0]
    page.evaluate("model.set('written', 1)")
    frame(page)
    assert said(page).startswith("Yes: “the”")


@pytest.mark.browser
def test_forced_colours_underline_no_other_word(visit):
    page = visit(WritersMemory().to_html())
    page.emulate_media(forced_colors="active")
    lines = page.locator(".d2lx-text > span:not([data-is=later])").evaluate_all(
        "es => es.map(e => parseFloat(getComputedStyle(e).borderBottomWidth))"
    )
    assert [j for j, wide in enumerate(lines) if wide] == [2, 11]  # who is asked, and who asks
