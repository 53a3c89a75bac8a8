"""Permute and encode: what it accepts, and its numbers beside PyTorch's."""

import math

import pytest
import torch
from explorable_pages import HOSTILE, assert_words_are_text, frame, live, shown
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from d2lattn.book.explorables import PermuteAndEncode

few = settings(
    deadline=None,
    max_examples=12,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
PHONE = {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True}


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


@pytest.mark.parametrize(
    "state",
    [
        {"tokens": []},
        {"tokens": "the cow"},
        {"tokens": ["a"] * 9, "embeddings": [[1] * 8] * 9},
        {"tokens": ["a", "b"]},
        {"embeddings": [[1.0] * 8] * 5},
        {"embeddings": [[1.0] * 7] * 6},
        {"embeddings": [[1.0] * 17] * 6},
        {"W_q": [[1.0] * 8] * 3},
        {"W_k": [[1.0] * 7] * 4},
        {"W_v": [[1.0] * 8] * 7},
        {"W_v": [[math.nan] * 8]},
        {"order": [0, 1, 2]},
        {"order": [0, 1, 2, 3, 4, 4]},
        {"order": [1, 2, 3, 4, 5, 6]},
        {"order": [0.5, 1, 2, 3, 4, 5]},
        {"order": 3},
        {"positions": 1},
        {"clock": 1},
        {"word": 6},
        {"word": -1},
        {"view": "clock"},
        {"position": 41},
        {"offset": -1},
        {"offset": 2.5},
        {"frequencies": [True] * 7},
        {"frequencies": [1] * 8},
        {"frequencies": True},
    ],
    ids=str,
)
def test_refuses_what_does_not_fit(state):
    name = next(iter(state))
    with pytest.raises(ValueError, match=name):
        PermuteAndEncode(**state)
    figure = PermuteAndEncode()
    before = figure.state()
    if len(state) == 1:
        with pytest.raises(ValueError, match=name):
            setattr(figure, name, state[name])
        assert figure.state() == before


def test_traits_are_read_set_and_observed():
    figure, seen = PermuteAndEncode(order=torch.arange(6), positions=torch.tensor(True)), []
    assert figure.order == [0, 1, 2, 3, 4, 5]
    assert figure.positions is True
    figure.observe(lambda change: seen.append((change.name, change.new)), ["order", "frequencies"])
    figure.order = range(5, -1, -1)
    figure.frequencies = torch.arange(8) < 1
    assert seen == [("order", [5, 4, 3, 2, 1, 0]), ("frequencies", [True] + [False] * 7)]


def test_other_words_start_in_their_order():
    figure = PermuteAndEncode(["a", "b"], embeddings=torch.ones(2, 8))
    assert (figure.order, figure.word) == ([0, 1], 0)
    same = PermuteAndEncode(["a", "b"], embeddings=torch.ones(2, 8), order=[1, 0], word=1)
    assert (same.order, same.word) == ([1, 0], 1)


def test_without_scripts_the_places_are_told():
    words = PermuteAndEncode().words()
    assert "<td>cow</td><td>3</td><td>6</td>" in words
    assert "<td>dog</td><td>6</td><td>3</td>" in words


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
def test_the_curve_is_the_same_wherever_i_is(visit):
    page = visit(PermuteAndEncode(view="waves").to_html())
    curves = ".d2lx-result path[stroke-width='2.5']"
    split = "e => e.getAttribute('d').slice(1).split('L').map(p => p.split(',').map(Number))"
    read = lambda: page.locator(curves).evaluate_all(f"es => es.map({split})")  # noqa: E731
    before = torch.tensor(read()).double()
    assert before.shape == (2, 41, 2)
    torch.testing.assert_close(before[0], before[1])
    page.get_by_role("slider", name="Position i").press("End")
    frame(page)
    torch.testing.assert_close(torch.tensor(read()).double(), before)
    # In the units of the axes: 8 at the top, 0 at the line below.
    top, foot = before[0, 0, 1], 16 + 112
    P = encoding(torch.arange(41), 16)
    torch.testing.assert_close(8 * (foot - before[0, :, 1]) / (foot - top), P @ P[0])


@pytest.mark.browser
def test_one_hand_repeats_where_others_tell_places_apart(visit):
    page = visit(PermuteAndEncode(view="waves", offset=25).to_html())
    assert shown(page, "here") < 6
    page.get_by_role("button", name="Fastest hand alone").click()
    frame(page)
    assert shown(page, "here") == close(math.cos(25))
    assert page.locator(".d2lx-off").count() == 7
    for tick in page.locator(".d2lx-clocks input").all():
        tick.set_checked(False)
    frame(page)
    assert shown(page, "here") == 0
    assert "= 0 = 0.000" in page.locator(".d2lx-formula:visible").first.inner_text()


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


@pytest.mark.browser
def test_buttons_give_the_first_order_a_shuffled_one_and_the_start(visit):
    page = visit(PermuteAndEncode(positions=True).to_html())
    first = ["the₁", "happy", "cow", "saw", "the₅", "dog"]
    page.get_by_role("button", name="First order").click()
    frame(page)
    assert tokens(page) == first
    assert [shown(page, f"change-{t}") for t in range(6)] == [0] * 6
    assert "this is the first order" in page.locator(".d2lx-result:visible").inner_text()
    orders = set()
    for _ in range(12):
        page.get_by_role("button", name="Shuffle").click()
        frame(page)
        orders.add(tuple(tokens(page)))
        assert sorted(tokens(page)) == sorted(first)
    assert len(orders) > 6
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert tokens(page) == ["the₁", "happy", "dog", "saw", "the₅", "cow"]


@pytest.mark.browser
def test_in_the_first_order_only_the_picked_word_is_lit_and_nothing_is_compared(visit):
    figure = PermuteAndEncode(
        ["a", "b", "c"],
        embeddings=torch.eye(3, 8),
        W_v=torch.ones(1, 8),
        positions=True,
        word=1,
    )
    page = visit(figure.to_html())
    svg, side = page.locator(".d2lx-moved svg"), page.locator(".d2lx-moved > div").nth(1)
    wide = lambda: svg.evaluate("e => e.clientWidth / e.parentNode.clientWidth")  # noqa: E731
    seen = lambda: side.evaluate("e => getComputedStyle(e).opacity")  # noqa: E731
    fill = "es => es.map(e => e.getAttribute('fill-opacity') > 0)"
    cells = page.locator("rect[data-output]")
    assert wide() < 0.5
    assert seen() == "0"
    assert cells.evaluate_all(fill) == [False, False, True, True, False, False]
    page.get_by_role("slider", name="b").press("ArrowRight")
    frame(page)
    assert wide() == pytest.approx(1, abs=0.01)
    assert seen() == "1"


@pytest.mark.browser
def test_a_line_is_solid_for_a_row_that_is_the_same_and_dashed_for_one_that_is_not(visit):
    page = visit(PermuteAndEncode().to_html())
    said = page.locator(".d2lx-result:visible")
    links = page.locator(".d2lx-moved path")
    assert links.count() == 6
    assert "none changed" in said.inner_text()
    assert page.locator(".d2lx-moved path[stroke-dasharray]").count() == 0
    page.get_by_label("Add positions").check()
    frame(page)
    assert page.locator(".d2lx-moved path[stroke-dasharray]").count() == 6
    _, now = attention(PermuteAndEncode(positions=True), [0, 1, 5, 3, 4, 2])
    _, first = attention(PermuteAndEncode(positions=True), range(6))
    changes = (now[[0, 1, 5, 3, 4, 2]] - first).norm(dim=-1)
    assert "6 of 6 answers changed." in said.inner_text()
    assert shown(page, "change-2") == close(changes[2])


@pytest.mark.browser
def test_predicting_covers_the_rows_and_not_what_one_predicts_from(visit):
    page = visit(PermuteAndEncode().to_html())
    page.get_by_role("button", name="Predict first").click()
    assert "“cow”" in page.locator(".d2lx-guess").inner_text()
    page.get_by_label("Add positions").check()
    frame(page)
    for hidden in ("[data-name='change-2']", ".d2lx-moved svg"):
        assert not page.locator(hidden).is_visible(), hidden
    assert page.get_by_role("application").is_visible()
    page.get_by_role("slider", name="Your guess").press("Home")
    page.get_by_role("button", name="Reveal").click()
    frame(page)
    truth = shown(page, "change-2")
    assert truth > 0.1
    verdict = page.locator(".d2lx-verdict:visible").inner_text()
    assert verdict == f"You said 0.00; it is {truth:.2f}: {truth:.2f} apart."
    page.get_by_role("slider", name="cow").press("ArrowLeft")
    frame(page)
    assert page.locator(".d2lx-predict .d2lx-verdict").inner_text() == ""


@pytest.mark.browser
def test_a_link_holds_order_and_waves(visit):
    html = PermuteAndEncode().to_html()
    page = visit(html)
    page.get_by_role("slider", name="cow").press("Home")
    page.get_by_label("Add positions").check()
    page.get_by_label("View").select_option(index=1)
    page.locator(".d2lx-clocks input").nth(2).uncheck()
    page.get_by_role("slider", name="Offset").press("ArrowRight")
    page.wait_for_timeout(400)
    before = page.locator(".d2lx > .d2lx").inner_text()
    sent = visit(html, hash=page.evaluate("location.hash"))
    assert sent.locator(".d2lx > .d2lx").inner_text() == before
    sent.get_by_label("View").select_option(index=0)
    frame(sent)
    assert tokens(sent)[0] == "cow"
    assert sent.get_by_label("Add positions").is_checked()


@pytest.mark.browser
def test_a_link_with_a_place_given_twice_shows_the_first_order(visit):
    bad = "#d2lx.permute_and_encode.order=[0,0,1,2,3,4]&d2lx.permute_and_encode.word=9"
    page = visit(PermuteAndEncode().to_html(), hash=bad)
    assert tokens(page) == ["the₁", "happy", "cow", "saw", "the₅", "dog"]
    page.get_by_role("slider", name="cow").press("ArrowLeft")
    frame(page)
    assert tokens(page)[:3] == ["the₁", "cow", "happy"]


@pytest.mark.browser
def test_live_figure_tells_python_and_follows_it(visit):
    page = visit()
    live(page, PermuteAndEncode())
    page.get_by_role("slider", name="cow").press("Home")
    frame(page)
    assert page.evaluate("sent.order") == [2, 0, 1, 5, 3, 4]
    page.evaluate("() => { model.set('order', [5, 4, 3, 2, 1, 0]); model.set('positions', true) }")
    frame(page)
    assert tokens(page) == ["dog", "the₅", "saw", "cow", "happy", "the₁"]
    assert shown(page, "change-0") > 0.1
    page.evaluate("stop()")


@pytest.mark.browser
def test_hostile_words_are_text(visit):
    words = [HOSTILE[place] for place in (0, 1, 3, 5)]
    for width in (1280, 360):
        page = visit(PermuteAndEncode(words, embeddings=torch.eye(4, 8)).to_html(), width=width)
        assert_words_are_text(page)
        page.close()


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_waves_by_finger_and_by_ear(visit, accessible, theme):
    page = visit(PermuteAndEncode(view="waves").to_html(), theme=theme, **PHONE)
    accessible(page)
    top = page.locator(".d2lx-result:visible").bounding_box()["y"]
    for control in page.locator(".d2lx-controls input:visible, .d2lx-clocks input").all():
        box = control.bounding_box()
        assert box["height"] >= 24
        assert box["y"] + box["height"] - top <= 640
    over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(over) <= 0
    page.get_by_role("slider", name="Offset").press("ArrowRight")
    page.wait_for_timeout(700)
    said = page.locator(".d2lx-quiet[role=status]").inner_text()
    assert said.startswith("p(10)·p(14) = ")
