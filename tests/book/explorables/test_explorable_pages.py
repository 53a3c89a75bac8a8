"""Explorables as a reader without a kernel meets them: in a page, by mouse and by keyboard."""

import re

import pytest
import torch
from explorable_pages import EXAMPLES, HOSTILE, all_shown, assert_words_are_text, frame, shown
from few_examples import few
from hypothesis import given
from hypothesis import strategies as st
from lab_pages import moves_something

from d2lattn.analysis.metrics import attention_entropy
from d2lattn.book.explorables import CueMixer, NadarayaWatsonBench
from d2lattn.kernel_regression import KERNELS, leave_one_out_error, nadaraya_watson

pytestmark = pytest.mark.browser

COLOURS = ["color-contrast", "link-in-text-block"]


# The scheme decides what loads, width and theme how it looks: no need to meet each with each.
@pytest.mark.parametrize(
    ("scheme", "theme", "width"), [("file", "light", 1280), ("http", "dark", 360)]
)
def test_renders_without_network(visit, example, scheme, theme, width):
    page = visit(example, theme=theme, width=width, scheme=scheme)
    assert page.locator(".d2lx-title").count() == 1
    assert len(page.locator(".d2lx > .d2lx").inner_text()) > 100
    sideways = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(sideways) <= 0
    controls = page.locator(".d2lx :is(input, select, button):visible")
    sides = controls.evaluate_all(
        "all => all.map(e => e.getBoundingClientRect()).map(box => [box.left, box.right])"
    )
    assert sides
    assert all(0 <= left <= right <= width for left, right in sides)


@pytest.mark.parametrize(
    ("theme", "width"), [pytest.param("light", 1280, marks=pytest.mark.weekly), ("dark", 360)]
)
def test_axe_finds_nothing_in_any_view(visit, accessible, theme, width):
    # Under a heading of the second level, as on the pages of the book.
    page = visit(*EXAMPLES.values(), theme=theme, width=width)

    def clean(what, **options):
        frame(page)
        accessible(page, what, **options)

    # Colours are looked at where these figures stand, on their pages: there each view has both
    # themes. Here they are where no page is tested, after a guess.
    shapes = {"rules": {rule: {"enabled": False} for rule in COLOURS}}
    clean("at the start", **shapes)
    predict = page.get_by_role("button", name="Predict first", disabled=False)
    while predict.count():
        predict.first.click()
        frame(page)  # its name changes, and the next one is the first
    clean("while the reader predicts", **shapes)
    for guess in page.locator(".d2lx-guess input:visible").all():
        guess.press("ArrowRight")
    for stage in page.get_by_role("application", name=re.compile("Enter marks one")).all():
        stage.press("Enter")
    frame(page)
    for reveal in page.get_by_role("button", name="Reveal").all()[::-1]:
        reveal.click()
    clean("after the guess")
    for choose in page.get_by_label(re.compile("View|Read links by")).all():
        choose.select_option(index=1)
    clean("in the second view", **shapes)


def test_says_something_without_scripts(visit, example):
    page = visit(example, scripts=False)
    assert "Interactive figure" in page.inner_text("main")
    assert page.locator("table tr").count() > 1


def test_keyboard_reaches_and_moves_everything(visit, example):
    page = visit(example)
    wanted = page.evaluate(
        """() => {
          const all = '.d2lx :is(input, select, button, [tabindex="0"])';
          const there = [...document.querySelectorAll(all)].filter((e) => e.checkVisibility());
          there.forEach((e, i) => (e.dataset.stop = i));
          return there.length;
        }"""
    )
    assert wanted  # one control may be enough
    reached = set()
    for _ in range(wanted + 2):
        page.keyboard.press("Tab")
        stop = page.evaluate("document.activeElement.dataset.stop ?? null")
        if stop is None or stop in reached:
            continue
        reached.add(stop)
        before = _state(page)
        # Without this JupyterLab would use the key itself.
        assert page.evaluate("document.activeElement.dataset.lmSuppressShortcuts") == "true"
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", f"stop {stop} does not show that it has the focus"
        changed = False
        if page.evaluate("document.activeElement.matches('input, [role=slider], .d2lx-stage')"):
            for key in ("ArrowRight", "ArrowLeft", "ArrowLeft", " "):
                page.keyboard.press(key)
                frame(page)
                if _state(page) != before:
                    break
            else:
                pytest.fail(f"arrow keys and space move nothing at stop {stop}")
        elif page.evaluate("document.activeElement.matches('select')"):
            for key in ("ArrowDown", "ArrowUp", "ArrowUp"):  # to another choice and back
                page.keyboard.press(key)
                frame(page)
                changed = changed or _state(page) != before
            assert changed
    assert len(reached) == wanted


def _state(page) -> str:
    """Everything that is shown: words, numbers, and where sliders stand."""
    return page.evaluate(
        """() => document.querySelector('.d2lx').innerText + [...document.querySelectorAll(
          'input, [role=slider], data')].map((e) => e.value ?? e.getAttribute('aria-valuetext'))"""
    )


def test_tap_changes_the_figure(visit, example):
    page = visit(example, width=360, has_touch=True)
    targets = "input[type=range], rect[data-value], [role=slider], [tabindex='0'], button"
    for target in page.locator(f".d2lx > .d2lx :is({targets}):visible").all():
        target.scroll_into_view_if_needed()
        box = target.bounding_box()
        before = _state(page)
        page.touchscreen.tap(box["x"] + 0.8 * box["width"], box["y"] + 0.5 * box["height"])
        frame(page)
        if _state(page) != before:
            return
    pytest.fail("nothing moves where it is tapped")


def test_predict_hides_then_judges_and_reset_restores(visit):
    page = visit(CueMixer().to_html())
    before = shown(page, "pooled")
    page.get_by_role("button", name="Predict first").click()
    assert not page.locator("[data-name='pooled']").is_visible()
    page.get_by_role("slider", name="Strength of the query").press("End")
    guess = page.get_by_role("slider", name="Your guess")
    assert guess.get_attribute("aria-valuetext") == "no guess yet"
    guess.press("Home")
    frame(page)
    page.get_by_role("button", name="Reveal").click()
    assert page.locator("[data-name='pooled']").is_visible()
    # The coffee has the largest salience, so its weight is to be guessed.
    truth = shown(page, "bar-2")
    verdict = page.locator(".d2lx-verdict").inner_text()
    assert verdict == f"You said 0.00; it is {truth:.2f}: {truth:.2f} apart."
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert page.locator(".d2lx-verdict").inner_text() == ""
    assert shown(page, "pooled") == before


def test_two_figures_on_a_page_are_independent(visit, example):
    page = visit(example, example)
    texts = [one.inner_text() for one in page.locator(".d2lx > .d2lx").all()]
    assert texts[0] == texts[1]
    assert moves_something(page.locator(".d2lx > .d2lx").nth(1))
    after = [one.inner_text() for one in page.locator(".d2lx > .d2lx").all()]
    assert after[0] == texts[0]
    assert after[1] != texts[1]
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


def test_hostile_labels_are_text(visit):
    n = len(HOSTILE)
    mixer = CueMixer(
        items=HOSTILE,
        queries=HOSTILE[:3],
        matches=[[1, 0, 0.5]] * n,
        values=range(n),
        salience=[0] * n,
    )
    for width in (1280, 360):
        page = visit(mixer.to_html(), width=width)
        page.get_by_role("application").press("ArrowDown")
        assert_words_are_text(page)
        names = page.locator(".d2lx-name").all_inner_texts()
        assert names[0].startswith("<img src=x onerror")
        assert names[1].startswith("</script><script>")
        assert names[2].startswith("${document.title=")
        assert "👩🏽‍🚀" in names[4]
        assert max(map(len, names)) < 60
        page.close()
    page = visit(mixer.to_html(), scripts=False)
    assert page.locator("img").count() == 0


number = st.floats(-20, 20).map(lambda x: round(x, 4))


@given(
    st.lists(st.tuples(number, number), min_size=2, max_size=20),
    number,
    st.floats(0.02, 20),
    st.sampled_from(sorted(KERNELS)),
)
@few
def test_bench_shows_pytorchs_numbers(visit, points, query, bandwidth, kernel):
    keys, values = torch.tensor(points, dtype=torch.float64).T
    bench = NadarayaWatsonBench(keys, values, query=query, bandwidth=bandwidth, kernel=kernel)
    page = visit(bench.to_html(), again=True)
    function = KERNELS[kernel]
    prediction, weights = nadaraya_watson(
        torch.tensor([query], dtype=torch.float64), keys, values, bandwidth, function
    )
    close = lambda x: pytest.approx(x.item(), rel=1e-6, abs=1e-6, nan_ok=True)  # noqa: E731
    assert shown(page, "prediction") == close(prediction)
    assert shown(page, "loo") == close(leave_one_out_error(keys, values, bandwidth, function))
    cells = page.locator("rect[data-value]").evaluate_all("es => es.map(e => +e.dataset.value)")
    order = sorted(range(len(keys)), key=lambda i: points[i][0])
    wanted = weights[0][torch.tensor(order)]
    torch.testing.assert_close(torch.tensor(cells).double(), wanted, rtol=1e-6, atol=1e-6)
    printed = page.locator("[data-name='prediction']").inner_text().replace("−", "-")
    if prediction.isfinite():
        assert float(printed) == pytest.approx(prediction.item(), abs=5.1e-4)
    else:
        assert printed == "none"


@given(st.floats(0, 8), st.lists(st.floats(0, 4), min_size=5, max_size=5), st.integers(0, 2))
@few
def test_mixer_shows_pytorchs_numbers(visit, strength, salience, query):
    mixer = CueMixer(strength=strength, salience=salience, query=query)
    page = visit(mixer.to_html(), again=True)
    matches = torch.tensor(mixer.matches, dtype=torch.float64)  # (n, m)
    every = torch.softmax(strength * matches.T + torch.tensor(salience).double(), -1)  # (m, n)
    weights = every[query]
    now = all_shown(page)
    for i, weight in enumerate(weights):
        assert now[f"bar-{i}"] == pytest.approx(weight.item(), rel=1e-6, abs=1e-9)
    values = torch.tensor(mixer.values, dtype=torch.float64)
    assert now["pooled"] == pytest.approx((weights @ values).item(), rel=1e-6)
    assert now["entropy"] == pytest.approx(attention_entropy(weights).item(), abs=1e-6)
    cells = page.locator("rect[data-value]").evaluate_all("es => es.map(e => +e.dataset.value)")
    torch.testing.assert_close(torch.tensor(cells).double(), every.flatten(), rtol=1e-6, atol=1e-9)


def test_norms_agree_until_they_are_broken(visit):
    page = visit(NadarayaWatsonBench(view="norms").to_html())
    assert shown(page, "gap") < 1e-12
    page.get_by_role("slider", name="Length of every second key").press("End")
    frame(page)
    gap = shown(page, "gap")

    bench = NadarayaWatsonBench()
    xs = torch.tensor(bench.xs, dtype=torch.float64)
    middle, span = (xs.min() + xs.max()) / 2, xs.max() - xs.min()
    angle = lambda x: 2.6 * (x - middle) / span  # noqa: E731
    lengths = torch.tensor([1.0, 2.0], dtype=torch.float64).repeat(6)
    keys = torch.stack([angle(xs).cos(), angle(xs).sin()], -1) * lengths[:, None]  # (K, 2)
    turn = angle(torch.tensor(bench.query, dtype=torch.float64))
    q = torch.stack([turn.cos(), turn.sin()])  # (2,)
    by_distance = torch.softmax(-((q - keys) ** 2).sum(-1) / (2 * bench.bandwidth**2), 0)
    by_product = torch.softmax(keys @ q / bench.bandwidth**2, 0)
    assert gap == pytest.approx((by_distance - by_product).abs().max().item(), rel=1e-6)
    assert gap > 0.1


def test_points_move_by_mouse_and_by_keys(visit):
    page = visit(NadarayaWatsonBench([0, 1, 2], [0, 1, 0], query=1, bandwidth=0.5).to_html())
    before = shown(page, "prediction")
    point = page.get_by_role("slider", name="Point 2")
    page.get_by_role("slider", name="Point 1").press("PageDown")
    assert point.evaluate("e => e === document.activeElement")
    page.keyboard.press("Shift+ArrowUp")
    frame(page)
    raised = shown(page, "prediction")
    assert raised > before
    box = point.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 60, steps=4)
    page.mouse.up()
    frame(page)
    assert shown(page, "prediction") < raised
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert shown(page, "prediction") == before
