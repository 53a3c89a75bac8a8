"""Permute and encode: what it accepts, and its numbers beside PyTorch's."""

import math

import pytest
import torch
from explorable_pages import all_shown, frame, shown
from few_examples import few
from hypothesis import given
from hypothesis import strategies as st

from d2lattn.book.explorables import PermuteAndEncode


def close(x):
    return pytest.approx(float(x), rel=1e-6, abs=1e-6)


def encoding(places, width):
    """sin(i / 10000^(2j/d)) and cos beside it, (n, d)."""
    even = torch.arange(0, width, 2, dtype=torch.float64)
    angles = places.double()[:, None] / 10000 ** (even / width)  # (n, 1) / (d/2,) -> (n, d/2)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :width]


def attention(figure, order):
    """PyTorch's own: weights (n, n) and outputs (n, m), rows in the given order."""
    give = lambda name: torch.tensor(getattr(figure, name), dtype=torch.float64)  # noqa: E731
    X = give("embeddings")[list(order)]
    if figure.positions:
        places = torch.arange(len(X)).double()
        if figure.clock:
            angles = places * math.pi / 6
            hands = torch.stack([angles.sin(), angles.cos()], dim=1)
            X = X + 2 * torch.nn.functional.pad(hands, (X.shape[1] - 2, 0))  # (n, d)
        else:
            X = X + encoding(places, X.shape[1])
    q, k, v = (torch.nn.functional.linear(X, give(name)) for name in ("W_q", "W_k", "W_v"))
    weights = (q @ k.T / math.sqrt(k.shape[1])).softmax(-1)  # (n, k) x (k, n) -> (n, n)
    outputs = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]
    torch.testing.assert_close(weights @ v, outputs)
    return weights, outputs


def data(page, name):
    cells = page.locator(f"rect[data-{name}]:visible")
    return torch.tensor(
        [float(x) for x in cells.evaluate_all(f"es => es.map(e => e.dataset.{name})")]
    ).double()


def tokens(page):
    """The words in the order in which they stand."""
    return [
        one.split("\n")[0] for one in page.locator(".d2lx-token").evaluate_all(
            "es => es.map(e => e.textContent)"
        )
    ]  # fmt: skip


def test_at_the_start_cow_and_dog_have_changed_places_and_no_two_words_behave_alike():
    figure = PermuteAndEncode()
    assert [figure.tokens[t] for t in figure.order] == ["the", "happy", "dog", "saw", "the", "cow"]
    _, outputs = attention(figure, range(6))
    apart = torch.cdist(outputs, outputs) + 9 * torch.eye(6)
    assert apart[0, 4] == 0, "the same word has the same row, wherever it stands"
    apart[0, 4] = apart[4, 0] = 9
    assert apart.min() > 0.05
    figure.positions = True
    _, outputs = attention(figure, range(6))
    assert torch.dist(outputs[0], outputs[4]) > 0.5


@pytest.mark.browser
@given(
    st.integers(1, 8).flatmap(lambda n: st.permutations(range(n))),
    st.sampled_from([3, 4, 8, 16]),
    st.sampled_from([1, 4]),
    st.sampled_from([1, 3, 6]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**31),
)
@few
def test_shows_pytorchs_numbers(visit, order, width, hidden, size, positions, clock, seed):
    generator = torch.Generator().manual_seed(seed)
    n = len(order)
    draw = lambda *shape: torch.randn(*shape, generator=generator).double()  # noqa: E731
    figure = PermuteAndEncode(
        [f"w{t}" for t in range(n)],
        embeddings=draw(n, width),
        W_q=draw(hidden, width),
        W_k=draw(hidden, width),
        W_v=draw(size, width),
        order=order,
        positions=positions,
        clock=clock,
    )
    page = visit(figure.to_html(), again=True)
    weights, now = attention(figure, order)
    _, first = attention(figure, range(n))
    torch.testing.assert_close(data(page, "value"), weights.flatten(), rtol=1e-6, atol=1e-9)
    places = torch.tensor(order).argsort()
    both = torch.stack([first, now[places]], 1)  # (n, 2, m): by word, first and now
    torch.testing.assert_close(data(page, "output"), both.flatten(), rtol=1e-6, atol=1e-9)
    changes = (now[places] - first).norm(dim=-1)
    shown_changes = [all_shown(page)[f"change-{t}"] for t in range(n)]
    assert shown_changes == [close(change) for change in changes]
    if not positions:
        assert max(shown_changes) < 1e-12
    assert tokens(page) == [f"w{t}" for t in order]


@pytest.mark.browser
@given(
    st.integers(0, 40),
    st.integers(0, 40),
    st.lists(st.booleans(), min_size=8, max_size=8),
)
@few
def test_waves_show_pytorchs_numbers(visit, position, offset, frequencies):
    figure = PermuteAndEncode(
        view="waves", position=position, offset=offset, frequencies=frequencies
    )
    page = visit(figure.to_html(), again=True)
    on = torch.tensor(frequencies).repeat_interleave(2)
    P = encoding(torch.arange(81), 16)
    kept = P * on
    assert shown(page, "here") == close(kept[position] @ kept[position + offset])
    assert shown(page, "there") == close(kept[0] @ kept[offset])
    assert shown(page, "here") == pytest.approx(shown(page, "there"), abs=1e-12)


@pytest.mark.browser
def test_word_is_dragged(visit):
    page = visit(PermuteAndEncode().to_html())
    middle = lambda box: (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)  # noqa: E731
    dog, happy = (page.get_by_role("slider", name=name, exact=True) for name in ("dog", "happy"))
    page.mouse.move(*middle(dog.bounding_box()))
    page.mouse.down()
    x, y = middle(happy.bounding_box())
    page.mouse.move(x - 8, y, steps=10)
    frame(page)
    page.mouse.up()
    assert tokens(page)[:3] == ["the₁", "dog", "happy"]
