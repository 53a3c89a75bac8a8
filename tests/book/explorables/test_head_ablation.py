"""Head ablation bench: what it accepts, its numbers beside PyTorch's, and a reader's way."""

import itertools
import re
from urllib.parse import unquote

import pytest
import torch
from explorable_pages import HOSTILE, assert_words_are_text, bench, contrast, frame, live, shown
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import d2lattn as d2l
from d2lattn.book.explorables import HeadAblation

ONE = {
    "queries": ["q"],
    "keys": ["a", "b"],
    "weights": [[[0.5, 0.5]], [[0.0, 1.0]]],
    "lengths": [[2.0, 1.0], [0.0, 3.0]],
}
FOUR = [8, 5, 2, 1]


@pytest.mark.parametrize(
    ("examples", "losses", "words"),
    [
        ([], {"zero": FOUR}, "holds 0; 1 to 4"),
        ([ONE] * 5, {"zero": FOUR}, "holds 5"),
        ("one", {"zero": FOUR}, "is a str"),
        ([["q"]], {"zero": FOUR}, r"examples\[0\] is a list"),
        ([{"queries": ["q"]}], {"zero": FOUR}, "has no keys"),
        ([ONE | {"queries": ["q"] * 2}], {"zero": FOUR}, "queries has 2"),
        ([ONE | {"keys": ["a"]}], {"zero": FOUR}, "keys has 1"),
        ([ONE | {"keys": ["a"] * 17}], {"zero": FOUR}, "17 words; 16"),
        ([ONE | {"weights": [[[0.5, 0.5]]]}], {"zero": FOUR}, "2 to 6 heads"),
        ([ONE | {"weights": [[[0.5, 0.5]], [[1]]]}], {"zero": FOUR}, "keys has 2"),
        ([ONE | {"weights": [[[0.5, 0.5]], [[0, 1.5]]]}], {"zero": FOUR}, "from 0 to 1"),
        ([ONE | {"lengths": [[1, 2]]}], {"zero": FOUR}, "lengths has 1"),
        ([ONE | {"lengths": [[1, 2], [1, -2]]}], {"zero": FOUR}, "lengths needs numbers from 0"),
        ([ONE | {"lengths": [[1], [1]]}], {"zero": FOUR}, r"lengths\[0\] has 1"),
        ([ONE | {"name": 3}], {"zero": FOUR}, "name is"),
        ([ONE], {}, "zero, mean or both"),
        ([ONE], FOUR, "zero, mean or both"),
        ([ONE], {"none": FOUR}, "zero, mean or both"),
        ([ONE], {"zero": FOUR[:3]}, r"zero has 3 losses; .* one of \[4, 8"),
        ([ONE], {"zero": FOUR * 2}, "zero has 8 losses; 2 heads need 4"),
        ([ONE], {"zero": FOUR, "mean": FOUR * 2}, "mean has 8"),
        ([ONE], {"zero": [8, 5, 2, -1]}, "loss -1.0; 0 or more"),
        ([ONE], {"zero": [8, 5, 2, float("nan")]}, "finite"),
    ],
)
def test_unusable_data_is_told(examples, losses, words):
    with pytest.raises(ValueError, match=words):
        HeadAblation(examples, losses)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"on": [True] * 3}, "on has 3"),
        ({"on": [1, 0, 1, 0]}, "True or False"),
        ({"head": 4}, "0 … 3"),
        ({"example": 2}, "0 … 1"),
        ({"view": "both"}, "weights, contributions"),
        ({"instead": "noise"}, "zero, mean"),
        ({"keys": []}, "has no keys"),
    ],
)
def test_unusable_state_is_told(state, words):
    with pytest.raises(ValueError, match=words):
        bench(**state)


def test_a_kind_of_ablation_that_was_not_given_is_told():
    assert HeadAblation([ONE], {"mean": FOUR}).instead == "mean"
    with pytest.raises(ValueError, match="losses has mean only"):
        HeadAblation([ONE], {"mean": FOUR}, instead="zero")


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
@settings(
    deadline=None,
    max_examples=15,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_what_heads_are_worth_is_what_all_orders_say(visit, drawn):
    losses, on = drawn
    num_heads = len(on)
    example = ONE | {name: [ONE[name][0]] * num_heads for name in ("weights", "lengths")}
    figure = HeadAblation([example], {"zero": losses}, on=on)
    page = visit(figure.to_html(), again=True)
    assert shown(page, "all") == losses[-1]
    assert shown(page, "none") == losses[0]
    assert shown(page, "now") == losses[sum(2**h for h in range(num_heads) if on[h])]
    wanted = shares(losses, num_heads)
    for h in range(num_heads):
        others = [j != h for j in range(num_heads)]
        last = losses[sum(2**j for j in range(num_heads) if others[j])] - losses[-1]
        found = [shown(page, f"{name}-{h}") for name in ("last", "first", "mean")]
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


@pytest.mark.browser
def test_two_heads_of_which_either_can_go_but_not_both(visit):
    page = visit(bench().to_html())
    told = page.locator(".d2lx-formula")
    assert told.inner_text() == "All heads are on. Switch some off."
    box = lambda n: page.get_by_role("checkbox", name=f"Head {n}")  # noqa: E731
    alone = page.get_by_role("columnheader", name="alone")
    box(1).uncheck()
    frame(page)
    assert told.inner_text() == "Without head 1: 0.000."
    assert not alone.is_visible()
    assert shown(page, "now") == shown(page, "all")
    box(2).uncheck()
    frame(page)
    assert told.inner_text() == (
        "Without heads 1 and 2: +0.600. One at a time: 0.000 and 0.000, added up 0.000."
    )
    assert alone.is_visible()
    # The gap between the two bars is the lesson.
    assert shown(page, "together") == pytest.approx(0.6)
    assert shown(page, "apart") == pytest.approx(0, abs=1e-9)
    wide = lambda bar: bar.bounding_box()["width"] / bar.locator("..").bounding_box()["width"]  # noqa: E731
    bars = page.locator(".d2lx-losses .d2lx-gauge span")
    assert wide(bars.nth(0)) == pytest.approx(1, abs=0.01)  # the longer is full
    assert wide(bars.nth(1)) == 0
    box(4).uncheck()
    frame(page)
    assert told.inner_text() == (
        "Without heads 1, 2 and 4: +0.850. One at a time: 0.000, 0.000 and +0.250, "
        "added up +0.250. Together 3.4 times as much."
    )
    assert wide(bars.nth(1)) == pytest.approx(0.25 / 0.85, abs=0.01)
    # Whoever sees the ticks sees which way they are meant.
    states = page.locator(".d2lx-cards > div > span").all_inner_texts()
    assert states == ["off", "off", "on", "off"]
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert told.inner_text() == "All heads are on. Switch some off."
    assert box(1).is_checked()


@pytest.mark.browser
def test_what_tells_the_answer_is_hidden_until_the_guess(visit):
    page = visit(bench().to_html())
    page.get_by_role("button", name="Predict first").click()
    reveal = page.get_by_role("button", name="Reveal")
    assert reveal.is_disabled()
    page.get_by_role("checkbox", name="Head 3").press(" ")
    frame(page)
    for name in ("now", *(f"{kind}-2" for kind in ("last", "first", "mean"))):
        assert not page.locator(f"[data-name={name}]").is_visible()
    assert not page.locator(".d2lx-formula").is_visible()
    assert "0.002" not in page.locator("main").aria_snapshot()
    page.wait_for_timeout(700)
    voice = page.locator(".d2lx [role=status]").first
    assert voice.text_content() == (
        "The losses are hidden; the maps are not. Choose a head, then reveal."
    )
    # What one predicts from stays in sight.
    assert page.get_by_role("img", name="contributions of head 3").is_visible()
    page.get_by_role("radio", name="Head 4").check()
    reveal.click()
    verdict = page.locator(".d2lx-verdict")
    assert verdict.inner_text() == (
        "You said head 4: without it +0.250. Without head 1 only 0.000."
    )
    assert page.locator("[data-name=last-2]").is_visible()
    # The verdict was about zeros.
    page.get_by_label("A head that is off").select_option("its mean")
    frame(page)
    assert verdict.inner_text() == ""
    page.get_by_role("button", name="Predict first").click()
    page.get_by_role("radio", name="Head 2").check()
    reveal.click()
    assert verdict.inner_text() == "You said head 2, and no head is missed less: 0.000."


@pytest.mark.browser
def test_the_idle_head_is_strong_as_weights_and_faint_as_contributions(visit):
    page = visit(bench().to_html())
    darkest = """(name) => {
      const canvas = document.querySelector(`canvas[aria-label^="${name}"]`);
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return Math.min(...data.filter((_, i) => i % 4 === 1));
    }"""
    green = lambda what, head: page.evaluate(darkest, f"{what} of head {head}")  # noqa: E731
    assert green("weights", 3) == green("weights", 1)
    assert green("contributions", 3) > 230 > green("contributions", 2)
    sharp = page.get_by_role("img", name="weights of head 3: the largest is 1.00 on average")
    assert sharp.is_visible()
    page.get_by_role("img", name="contributions of head 3").click()
    frame(page)
    assert page.locator(".d2lx-head").nth(1).inner_text() == "Head 3: contributions"
    assert page.locator("canvas[data-shown]").count() == 1
    # The largest of all heads is 2.5.
    assert page.locator("rect[data-value]").nth(1).get_attribute("data-value") == "0.008"


@pytest.mark.browser
def test_another_input_has_other_words_and_maps(visit):
    page = visit(bench(view="contributions").to_html())
    page.get_by_label("Input").select_option("cow")
    frame(page)
    assert page.locator("rect[data-value]").count() == 2
    values = page.locator("rect[data-value]").evaluate_all("es => es.map(e => +e.dataset.value)")
    assert values == pytest.approx([0.9 * 2.5 / 2.25, 0.1 * 0.5 / 2.25])
    assert page.locator("canvas").first.get_attribute("width") == "2"


@pytest.mark.browser
def test_python_sees_the_switches(visit):
    page = visit()
    live(page, bench())
    page.get_by_role("checkbox", name="Head 2").press(" ")
    page.get_by_text("More", exact=True).click()
    page.get_by_role("slider").press("End")
    frame(page)
    assert page.evaluate("sent.on") == [True, False, True, True]
    assert page.evaluate("sent.head") == 3
    page.evaluate("stop()")


@pytest.mark.browser
def test_the_address_holds_the_switches_and_nothing_that_does_not_fit(visit):
    page = visit(bench().to_html())
    page.get_by_role("checkbox", name="Head 1").press(" ")
    page.get_by_label("A head that is off").select_option("its mean")
    page.wait_for_timeout(400)
    hash = page.evaluate("location.hash")
    assert unquote(hash) == (
        '#d2lx.head_ablation.on=[false,true,true,true]&d2lx.head_ablation.instead="mean"'
    )
    sent = visit(bench().to_html(), hash=hash)
    assert not sent.get_by_role("checkbox", name="Head 1").is_checked()
    assert shown(sent, "now") == shown(page, "now")
    for bad in (
        "on=[false]",
        "on=[0,0,0,0]",
        'instead="noise"',
        'instead="constructor"',
        "head=4",
        "example=2",
        'view="all"',
    ):
        other = visit(bench().to_html(), hash=f"#d2lx.head_ablation.{bad}")
        assert (
            other.locator(".d2lx-formula").inner_text() == "All heads are on. Switch some off."
        ), bad
        assert other.locator(".d2lx-head").nth(1).inner_text() == "Head 1: weights", bad
        other.close()


@pytest.mark.browser
def test_heads_that_only_harm_have_no_bars(visit):
    made = bench()
    losses = {"zero": [1 + i.bit_count() for i in range(16)]}  # each head that is on costs 1
    page = visit(HeadAblation(made.examples, losses).to_html())
    for kind in ("last", "first", "mean"):
        assert shown(page, f"{kind}-0") == -1
    bars = page.locator("td .d2lx-gauge span")
    assert bars.count() == 12
    assert max(bars.evaluate_all("all => all.map(e => e.getBoundingClientRect().width)")) == 0


@pytest.mark.browser
@pytest.mark.parametrize("look", [{"forced_colors": "active"}, {"media": "print"}], ids=str)
def test_bars_are_seen(visit, look):
    page = visit(bench(on=[False] * 4).to_html())
    page.emulate_media(**look)
    for fill in page.locator(".d2lx-gauge span").all():
        colours = fill.evaluate(
            "e => [e, e.parentElement].map((x) => getComputedStyle(x).backgroundColor)"
        )
        assert contrast(page, *colours) >= 3, colours


@pytest.mark.browser
def test_names_and_words_are_text_and_six_heads_fit_a_phone(visit):
    hostile = HOSTILE[0]
    one = {
        "name": hostile,
        "queries": [hostile] * 16,
        "keys": [hostile] * 16,
        "weights": torch.full((6, 16, 16), 1 / 16),
        "lengths": torch.ones(6, 16),
    }
    figure = HeadAblation([one] * 2, {"mean": [123.4] * 63 + [200.2]}, measure=hostile)
    for width in (1280, 360):
        page = visit(figure.to_html(), width=width)
        assert_words_are_text(page)
        edges = page.locator(".d2lx-heads data").evaluate_all(
            "es => es.map((e) => e.scrollWidth - e.parentElement.clientWidth)"
        )
        assert max(edges) <= 0
        page.close()


def test_weights_of_rows_that_see_nothing_are_taken():
    figure = HeadAblation([ONE | {"weights": torch.zeros(2, 1, 2)}], {"zero": FOUR})
    assert figure.examples[0]["weights"] == [[[0.0, 0.0]]] * 2


def test_words_tell_what_heads_are_worth():
    words = HeadAblation([ONE], {"zero": FOUR}, measure="error <b>").words()
    assert "error &lt;b&gt; of a trained attention, 1 with all 2 heads and 8 with none" in words
    assert "<td>1</td><td>1</td><td>3</td><td>2</td>" in words
