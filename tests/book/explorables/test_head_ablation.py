"""Head ablation bench: what it accepts, its numbers beside PyTorch's, and a reader's way."""

import itertools
import re

import pytest
import torch
from explorable_pages import all_shown, frame, shown
from few_examples import few
from hypothesis import given
from hypothesis import strategies as st

import d2lattn as d2l
from d2lattn.book.explorables import HeadAblation

ONE = {
    "queries": ["q"],
    "keys": ["a", "b"],
    "weights": [[[0.5, 0.5]], [[0.0, 1.0]]],
    "lengths": [[2.0, 1.0], [0.0, 3.0]],
}


def shares(losses, num_heads):
    """What each head saves on average, by going through every order."""
    found = [0.0] * num_heads
    orders = list(itertools.permutations(range(num_heads)))
    for order in orders:
        on = 0
        for head in order:
            found[head] += (losses[on] - losses[on | 2**head]) / len(orders)
            on |= 2**head
    return found


@st.composite
def ablated(draw):
    """Losses of every subset, and which heads are on."""
    num_heads = draw(st.integers(2, 5))
    loss = st.floats(0, 20).map(lambda x: round(x, 3))
    losses = draw(st.lists(loss, min_size=2**num_heads, max_size=2**num_heads))
    return losses, draw(st.lists(st.booleans(), min_size=num_heads, max_size=num_heads))


@pytest.mark.browser
@given(ablated())
@few
def test_worth_of_heads_equals_the_mean_over_all_orders(visit, drawn):
    losses, on = drawn
    num_heads = len(on)
    example = ONE | {name: [ONE[name][0]] * num_heads for name in ("weights", "lengths")}
    figure = HeadAblation([example], {"zero": losses}, on=on)
    page = visit(figure.to_html(), again=True)
    now = all_shown(page)
    assert now["all"] == losses[-1]
    assert now["none"] == losses[0]
    assert now["now"] == losses[sum(2**h for h in range(num_heads) if on[h])]
    wanted = shares(losses, num_heads)
    for h in range(num_heads):
        others = [j != h for j in range(num_heads)]
        last = losses[sum(2**j for j in range(num_heads) if others[j])] - losses[-1]
        found = [now[f"{name}-{h}"] for name in ("last", "first", "mean")]
        assert found == pytest.approx([last, losses[0] - losses[2**h], wanted[h]], abs=1e-9)
        assert figure.worth()[h] == pytest.approx(found, abs=1e-9)
    assert sum(wanted) == pytest.approx(losses[0] - losses[-1], abs=1e-9)


@pytest.fixture(scope="module")
def trained():
    """An attention, what it is measured on, and its ablations."""
    torch.manual_seed(4)
    attention = d2l.MultiHeadAttention(5, 5, 5, 6, 3, dropout=0.2, bias=True).eval()
    inputs = torch.randn(2, 4, 5), torch.randn(2, 3, 5), torch.randn(2, 3, 5), torch.tensor([3, 2])
    aim = torch.randn(2, 4, 6)
    error = lambda: (attention(*inputs) - aim).square().mean()  # noqa: E731
    means = d2l.head_means(attention, error)
    losses = {
        "zero": d2l.every_subset(attention, error),
        "mean": d2l.every_subset(attention, error, means),
    }
    attention(*inputs)
    lengths = d2l.value_lengths(attention, inputs[2])
    examples = [
        {"queries": list("abcd"), "keys": list("xyz"), "weights": weights, "lengths": length}
        for weights, length in zip(attention.attention_weights, lengths, strict=True)
    ]
    contributions = d2l.head_contributions(attention, inputs[2])
    return attention, error, means, examples, losses, contributions


def cells(page):
    found = page.locator("rect[data-value]").evaluate_all("es => es.map(e => +e.dataset.value)")
    return torch.tensor(found).view(4, 3)


@pytest.mark.browser
@pytest.mark.parametrize("place", [0, 1])
def test_maps_are_pytorchs_weights_and_contributions(visit, trained, place):
    *_, examples, losses, contributions = trained
    page = visit(HeadAblation(examples, losses, example=place).to_html())
    for head in range(3):
        weights = examples[place]["weights"][head]
        torch.testing.assert_close(cells(page), weights, atol=1.01e-4, rtol=0)
        page.get_by_label("View").select_option("contributions")
        frame(page)
        mine = contributions[place]
        torch.testing.assert_close(cells(page), mine[head] / mine.max(), atol=5e-4, rtol=0)
        page.get_by_role("application").press("Home")
        said = page.locator(".d2lx-cell").inner_text()
        parts = re.search(r"weight ([\d.]+) × length ([\d.]+) = ([\d.]+)$", said).groups()
        weight, length, product = map(float, parts)
        assert weight == pytest.approx(weights[0, 0].item(), abs=6e-4)
        assert product == pytest.approx(mine[head, 0, 0].item(), abs=2e-3)
        assert length == pytest.approx((mine[head] / weights)[0, 0].item(), rel=1e-2)
        page.get_by_label("View").select_option("weights")
        page.get_by_role("slider").press("ArrowRight")
        frame(page)


@pytest.mark.browser
@pytest.mark.parametrize("instead", ["zero", "mean"])
def test_switching_heads_shows_the_loss_that_pytorch_measures(visit, trained, instead):
    attention, error, means, examples, losses, _ = trained
    page = visit(HeadAblation(examples, losses).to_html())
    page.get_by_label("A head that is off").select_option(index=["zero", "mean"].index(instead))
    boxes = page.get_by_role("checkbox").all()
    off = set()
    for head in (0, 2, 0, 1, 0):
        boxes[head].press(" ")
        off ^= {head}
        frame(page)
        with d2l.without_heads(attention, off, means if instead == "mean" else None):
            wanted = error().item()
        assert shown(page, "now") == pytest.approx(wanted, rel=1e-5)
    other = "mean" if instead == "zero" else "zero"
    page.get_by_label("A head that is off").select_option(index=["zero", "mean"].index(other))
    frame(page)
    with d2l.without_heads(attention, off, means if other == "mean" else None):
        assert shown(page, "now") == pytest.approx(error().item(), rel=1e-5)


# --- a reader's way ------------------------------------------------------------------------------
