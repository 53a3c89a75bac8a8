"""Writer's memory: what it accepts, its bytes and its mask beside PyTorch's, and a reader's way."""

import re

import pytest
import torch
from explorable_pages import shown
from few_examples import few
from hypothesis import given
from hypothesis import strategies as st

from d2lattn import MultiHeadAttention
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
@few
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
    asked = min(asked, written - 1)
    answer = page.locator(".d2lx-said").inner_text()
    assert answer.startswith("Yes" if kept[asked] else "No")
    assert f"“{TOKENS[asked]}”" in answer
    if not kept[asked]:
        rows = causal_window_mask(len(TOKENS), window, num_first)[:written, asked]
        ago = (
            written - 1 - int(rows.nonzero()[-1])
        )  # since it could be attended to for the last time
        assert re.search(rf"deleted {ago} steps? ago", answer)
        news = page.locator(".d2lx-news").inner_text().replace("\u00a0", " ")
        assert ("may have come" in news) == bool(reached[asked])
