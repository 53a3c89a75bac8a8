"""Permute and encode: what it accepts, and its numbers beside PyTorch's."""

import math

import pytest
import torch
from explorable_pages import frame, shown
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from d2lattn.book.explorables import PermuteAndEncode

few = settings(
    deadline=None,
    max_examples=12,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


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
    for t, change in enumerate(changes):
        assert shown(page, f"change-{t}") == close(change)
    if not positions:
        assert max(shown(page, f"change-{t}") for t in range(n)) < 1e-12
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
    # The hands as drawn: 16 long at i, 12 long at i + offset, clockwise from noon.
    drawn = page.locator(".d2lx-clocks path[d^='M0 0L']").evaluate_all(
        "es => es.map(e => e.getAttribute('d').slice(5).split(' ').map(Number))"
    )
    tips = torch.tensor(drawn).double().view(8, 2, 2) * torch.tensor([1, -1])
    hands = torch.stack([16 * P[position].view(8, 2), 12 * P[position + offset].view(8, 2)], 1)
    torch.testing.assert_close(tips, hands, rtol=0, atol=0.006)
    # The map as painted: from no ink at -1 to all of it at 1, and nothing where a hand is off.
    pixels = page.locator("canvas").evaluate(
        "e => [...e.getContext('2d').getImageData(0, 0, 81, 16).data]"
    )
    colours = torch.tensor(pixels).view(16, 81, 4).transpose(0, 1)
    paper, ink = torch.tensor([[255, 253, 248], [33, 30, 26]])
    wanted = paper + (1 + P[..., None]) / 2 * (ink - paper)
    seen = on.expand(81, 16)
    torch.testing.assert_close(
        colours[..., :3][seen].double(), wanted[seen].double(), rtol=0, atol=1
    )
    assert (colours[..., 3] == 255 * seen).all()


@pytest.mark.browser
def test_a_word_moves_by_keys_and_keeps_the_focus(visit):
    page = visit(PermuteAndEncode().to_html())
    cow = page.get_by_role("slider", name="cow")
    cow.focus()
    for key, wanted in [
        ("ArrowRight", "place 6 of 6"),
        ("ArrowLeft", "place 5 of 6"),
        ("Home", "place 1 of 6"),
        ("ArrowUp", "place 2 of 6"),
        ("ArrowDown", "place 1 of 6"),
        ("ArrowDown", "place 1 of 6"),
        ("End", "place 6 of 6"),
    ]:
        page.keyboard.press(key)
        frame(page)
        assert cow.get_attribute("aria-valuetext") == wanted
        assert cow.evaluate("e => e === document.activeElement")
    page.keyboard.press("Home")
    frame(page)
    assert tokens(page) == ["cow", "the₁", "happy", "dog", "saw", "the₅"]
    assert page.locator("[role=slider][tabindex='0']:visible").count() == 1
    page.locator(".d2lx-token", has_text="dog").click()
    page.get_by_role("button", name="Move the picked word right").click()
    frame(page)
    assert tokens(page) == ["cow", "the₁", "happy", "saw", "dog", "the₅"]
    page.get_by_role("button", name="Move the picked word left").click()
    page.get_by_role("button", name="Move the picked word left").click()
    frame(page)
    assert tokens(page) == ["cow", "the₁", "dog", "happy", "saw", "the₅"]


@pytest.mark.browser
def test_a_word_is_dragged(visit):
    page = visit(PermuteAndEncode().to_html())
    middle = lambda box: (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)  # noqa: E731
    dog, happy = (page.get_by_role("slider", name=name, exact=True) for name in ("dog", "happy"))
    page.mouse.move(*middle(dog.bounding_box()))
    page.mouse.down()
    x, y = middle(happy.bounding_box())
    page.mouse.move(x + 8, y, steps=10)
    frame(page)
    assert tokens(page)[:3] == ["the₁", "happy", "dog"], "not past the middle"
    page.mouse.move(x - 8, y, steps=10)
    frame(page)
    page.mouse.up()
    assert tokens(page)[:3] == ["the₁", "dog", "happy"]
    assert dog.evaluate("e => e === document.activeElement")
    # Without the button held, nothing moves.
    page.mouse.move(*middle(page.get_by_role("slider", name="saw").bounding_box()), steps=5)
    frame(page)
    assert tokens(page)[:3] == ["the₁", "dog", "happy"]
