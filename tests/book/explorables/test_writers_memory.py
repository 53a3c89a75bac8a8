"""Writer's memory: what it accepts, its bytes and its mask beside PyTorch's, and a reader's way."""

import re

import pytest
import torch
from explorable_pages import frame, shown
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from d2lattn import MultiHeadAttention, TransformerDecoder
from d2lattn.bare_after import causal_window_mask
from d2lattn.book.explorables import WritersMemory

DTYPES = {1: torch.int8, 2: torch.bfloat16, 4: torch.float32}
TOKENS = WritersMemory().tokens


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
