"""The saturation lab: what it accepts, and its numbers beside PyTorch's."""

import math
import re

import pytest
import torch
from explorable_pages import frame, live, shown
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from d2lattn.analysis.metrics import attention_entropy
from d2lattn.book.explorables import SaturationLab
from d2lattn.book.explorables.saturation_lab import normals
from d2lattn.scoring import additive_scores, masked_softmax

few = settings(
    deadline=None,
    max_examples=15,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def tensors(lists):
    return [torch.tensor(one, dtype=torch.float64) for one in lists]


def close(x):
    return pytest.approx(float(x), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    "state",
    [
        {"width": 1},
        {"width": 513},
        {"width": 2.5},
        {"width": math.nan},
        {"width": "64"},
        {"width": True},
        {"scaled": 1},
        {"scaled": None},
        {"scaled": "yes"},
        {"temperature": 0},
        {"temperature": -1},
        {"temperature": math.inf},
        {"valid_length": 17},
        {"valid_length": -1},
        {"valid_length": [4]},
        {"seed": -1},
        {"seed": 0.5},
        {"view": "sideways"},
        {"score": "cosine"},
        {"query": [1]},
        {"query": [1, 2, 3]},
        {"query": [1, math.nan]},
        {"key": [9, 0]},
        {"key": []},
        {"keys": [[1, 2]]},
    ],
    ids=str,
)
def test_refuses_what_does_not_fit(state):
    ((name, value),) = state.items()
    with pytest.raises(ValueError, match=name):
        SaturationLab(**state)
    lab = SaturationLab()
    before = lab.state()
    if name in before:
        with pytest.raises(ValueError, match=name):
            setattr(lab, name, value)
        assert lab.state() == before


def test_traits_are_read_set_and_observed():
    lab, seen = SaturationLab(width=torch.tensor(8), scaled=torch.tensor(True)), []
    assert (lab.width, lab.scaled) == (8, True)
    assert type(lab.width) is int
    lab.observe(lambda change: seen.append((change.name, change.new)), ["width", "scaled", "query"])
    lab.width, lab.scaled, lab.query = 16.0, False, torch.tensor([0.5, -1.0])
    assert seen == [("width", 16), ("scaled", False), ("query", [0.5, -1.0])]


def test_random_numbers_are_standard_normal_and_nested():
    (drawn,) = tensors([normals(3, 0, 100, 512)])
    assert abs(drawn.mean()) < 0.01
    assert abs(drawn.var() - 1) < 0.02
    assert abs((drawn**4).mean() - 3) < 0.1
    correlation = torch.corrcoef(torch.cat([drawn, *tensors([normals(4, 0, 1, 512)])]))
    assert (correlation - torch.eye(101)).abs().max() < 0.25
    for width in (2, 7, 511):
        (narrower,) = tensors([normals(3, 5, 2, width)])
        assert torch.equal(narrower, drawn[5:7, :width])


def test_variance_is_the_width_on_average():
    for width in (2, 64, 512):
        ratios = []
        for seed in range(12):
            queries, keys = tensors(SaturationLab(width=width, seed=seed).pairs())
            ratios.append((queries * keys).sum(-1).var(unbiased=False).item() / width)
        assert sum(ratios) / 12 == pytest.approx(1, abs=0.12)


@pytest.mark.browser
@given(
    st.integers(2, 512),
    st.booleans(),
    st.floats(0.125, 64),
    st.integers(0, 16),
    st.integers(0, 999999),
)
@few
def test_shows_pytorchs_numbers(visit, width, scaled, temperature, valid_length, seed):
    lab = SaturationLab(
        width=width,
        scaled=scaled,
        temperature=temperature,
        valid_length=valid_length,
        seed=seed,
    )
    page = visit(lab.to_html(), again=True)
    divisor = temperature * (math.sqrt(width) if scaled else 1)
    query, keys = tensors(lab.vectors())
    scores = keys @ query / divisor  # (16, D) x (D,) -> (16,)
    weights = masked_softmax(scores[None], torch.tensor([valid_length]))[0]
    # Both lanes, whatever is chosen below them.
    for root in (False, True):
        row = (keys @ query) / (temperature * (math.sqrt(width) if root else 1))
        lane = masked_softmax(row[None], torch.tensor([valid_length]))[0]
        bars = page.locator(f"[data-scaled={str(root).lower()}] rect[data-value]")
        cells = bars.evaluate_all("es => es.map(e => e.dataset.value)")
        assert cells[valid_length:] == ["masked"] * (16 - valid_length)
        assert [float(cell) for cell in cells[:valid_length]] == [
            close(weight) for weight in lane[:valid_length].tolist()
        ]
        assert shown(page, f"lane-largest-{str(root).lower()}") == close(lane.max())
        size = (torch.diag(lane) - torch.outer(lane, lane)).norm().item()
        assert shown(page, f"lane-jacobian-{str(root).lower()}") == close(size)
    assert shown(page, "entropy") == close(attention_entropy(weights))
    assert shown(page, "largest") == close(weights.max())
    queries, keys = tensors(lab.pairs())
    pairs = (queries * keys).sum(-1) / divisor  # (256, D) -> (256,)
    assert shown(page, "variance") == close(pairs.var(unbiased=False))
    assert shown(page, "theory") == close((1 if scaled else width) / temperature**2)


@pytest.mark.browser
def test_histogram_counts_the_pairs(visit):
    lab = SaturationLab(width=64)
    page = visit(lab.to_html())
    queries, keys = tensors(lab.pairs())
    wanted = torch.histc((queries * keys).sum(-1), bins=33, min=-64, max=64) / 256
    path = page.locator(
        ".d2lx-plot path[fill='var(--d2lx-line)']:not([stroke])"
    ).first.get_attribute("d")
    bars = re.findall(r"M[\d.]+ ([\d.]+)V([\d.]+)", path)
    heights = torch.tensor([float(foot) - float(head) for foot, head in bars])
    torch.testing.assert_close(heights / heights.sum(), wanted.float(), rtol=0, atol=1e-4)


@pytest.mark.browser
def test_scaling_is_the_temperature_root_d(visit):
    shown_by = []
    for state in ({"scaled": True}, {"temperature": 8}):
        page = visit(SaturationLab(width=64, **state).to_html())
        shown_by.append([shown(page, name) for name in ("variance", "largest", "entropy")])
    assert shown_by[0] == pytest.approx(shown_by[1], rel=1e-12)


@pytest.mark.browser
@given(
    st.sampled_from(["dot", "scaled dot", "additive", "gaussian"]),
    st.tuples(st.floats(-2.5, 2.5), st.floats(-2.5, 2.5)),
    st.tuples(st.floats(-2.5, 2.5), st.floats(-2.5, 2.5)),
    st.integers(0, 999999),
)
@few
def test_field_shows_pytorchs_score(visit, score, query, key, seed):
    lab = SaturationLab(view="field", score=score, query=query, key=key, seed=seed)
    page = visit(lab.to_html(), again=True)
    W_q, W_k, w_v, q, k = tensors([*lab.network(), query, key])
    wanted = {
        "dot": q @ k,
        "scaled dot": q @ k / math.sqrt(2),
        "additive": additive_scores((W_q @ q).view(1, 1, 8), (W_k @ k).view(1, 1, 8), w_v)[0, 0, 0],
        "gaussian": -(q - k).square().sum() / 2,
    }[score]
    assert shown(page, "score") == close(wanted)
    assert shown(page, "low") - 0.3 <= wanted <= shown(page, "high") + 0.3


PIXEL = """([x, y]) => {
  const find = (name) => document.querySelector(name);
  const [canvas, svg] = ['canvas', 'canvas + .d2lx-plot svg'].map(find);
  const [from, to] = [svg.getBoundingClientRect(), canvas.getBoundingClientRect()];
  const [across, down] = [(to.width / to.height) * 3, 3];
  const at = [(x + across) / 2 / across, (down - y) / 2 / down];
  return [...canvas.getContext('2d').getImageData(
    Math.floor(at[0] * canvas.width), Math.floor(at[1] * canvas.height), 1, 1).data];
}"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 360])
def test_field_has_most_ink_where_the_score_is_highest(visit, width):
    page = visit(
        SaturationLab(view="field", score="gaussian", query=[-1, 1]).to_html(), width=width
    )
    green = lambda x, y: page.evaluate(PIXEL, [x, y])[1]  # noqa: E731
    # Beside contour lines.
    assert green(-1, 1) < green(0.2, 0.2) < green(2.4, -2.9)
    assert green(-1, 1) < 40
    page = visit(SaturationLab(view="field", query=[0, 2]).to_html(), width=width)
    assert green(0, 2.9) < green(0, 0.1) < green(0, -2.9)
    assert abs(green(-2, 0.1) - green(2, 0.1)) <= 3


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 360])
def test_the_field_lies_under_its_axes_and_the_star_above_it(visit, width):
    page = visit(SaturationLab(view="field", query=[1, 0.5]).to_html(), width=width)
    canvas = page.locator("canvas").bounding_box()
    star = page.get_by_role("slider", name="Query").bounding_box()
    across = 3 * canvas["width"] / canvas["height"]
    middle = canvas["x"] + (1 + across) / (2 * across) * canvas["width"]
    assert star["x"] + star["width"] / 2 == pytest.approx(middle, abs=3)
    assert star["y"] + star["height"] / 2 == pytest.approx(
        canvas["y"] + (3 - 0.5) / 6 * canvas["height"], abs=3
    )
    on_top = "([x, y]) => document.elementFromPoint(x, y).closest('svg') !== null"
    assert page.evaluate(on_top, [canvas["x"] + 30, canvas["y"] + 30])


@pytest.mark.browser
def test_query_and_key_move_by_keys_and_mouse(visit):
    page = visit(SaturationLab(view="field", query=[1, 0.5], key=[0.5, 1.5]).to_html())
    query = page.get_by_role("slider", name="Query")
    query.press("Shift+ArrowUp")
    frame(page)
    assert shown(page, "score") == close(1 * 0.5 + 1.0 * 1.5)
    assert "(1.00, 1.00), a = 2.000" in query.get_attribute("aria-valuetext")
    key = page.get_by_role("slider", name="Key")
    key.evaluate(  # all presses within a frame, as on a machine that draws slowly
        """element => { for (let i = 0; i < 30; i++)
          element.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' })); }"""
    )
    frame(page)
    assert shown(page, "score") == close(1 * 2.0 + 1.0 * 1.5)
    for _ in range(15):
        key.press("ArrowRight")
    frame(page)
    assert shown(page, "score") == close(1 * 2.5 + 1.0 * 1.5)
    box = key.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y, steps=3)
    page.mouse.up()
    frame(page)
    # 316 pixels for six units.
    assert shown(page, "score") == pytest.approx(4.0 - 60 * 6 / 316, abs=0.03)
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert shown(page, "score") == close(1.25)


@pytest.mark.browser
def test_other_numbers_are_the_next_seed(visit):
    page = visit(SaturationLab(seed=7).to_html(), SaturationLab(seed=8).to_html())
    assert shown(page, "variance", 0) != shown(page, "variance", 1)
    page.get_by_role("button", name="Other random numbers").first.click()
    frame(page)
    assert shown(page, "variance", 0) == shown(page, "variance", 1)


@pytest.mark.browser
def test_predict_hides_all_that_would_tell(visit):
    page = visit(SaturationLab(scaled=True).to_html())
    page.get_by_role("button", name="Predict first").click()
    names = ("entropy", "lane-largest-true", "lane-jacobian-true", "variance")
    for name in names:
        assert page.locator(f"[data-name='{name}']").count() == 1
        assert not page.locator(f"[data-name='{name}']").is_visible()
    page.get_by_role("slider", name="Your guess").press("End")
    page.get_by_role("button", name="Reveal").click()
    said = page.locator(".d2lx-verdict").inner_text()
    assert said.startswith(f"You said 1024.00; it is {shown(page, 'variance'):.2f}")


@pytest.mark.browser
def test_live_host_sends_what_python_accepts_and_follows_it(visit):
    lab = SaturationLab()
    page = visit()
    live(page, lab)
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Width d").press("ArrowRight")
    page.get_by_label("Divide by √d").press(" ")
    page.get_by_label("Temperature").press("ArrowLeft")
    page.get_by_label("Valid keys").press("Home")
    page.get_by_role("button", name="Other random numbers").click()
    frame(page)
    sent = page.evaluate("sent")
    for name, value in sent.items():
        setattr(lab, name, value)
    assert (lab.width, lab.scaled, lab.valid_length, lab.seed) == (128, True, 0, 191)
    assert lab.temperature == pytest.approx(2**-0.25)
    assert (
        page.locator(".d2lx-formula:visible").first.inner_text()
        == "No key is valid: all weights are 0."
    )
    # A width between the slider's steps, as Python may set it.
    page.evaluate("model.set('width', 100)")
    frame(page)
    assert page.get_by_label("Width d").get_attribute("aria-valuetext") == "100"
    lab.width = 100
    queries, keys = tensors(lab.pairs())
    wanted = (queries * keys).sum(-1).var(unbiased=False) / 100 / lab.temperature**2
    assert shown(page, "variance") == close(wanted)
    page.evaluate("stop()")
    page.evaluate("model.set('width', 4)")
    frame(page)
    assert shown(page, "variance") == close(wanted)


@pytest.mark.browser
@pytest.mark.parametrize(("score", "more"), [("gaussian", []), ("additive", ["additive"])])
def test_two_scores_are_offered_and_another_one_where_it_is_shown(visit, score, more):
    page = visit(SaturationLab(view="field", score=score).to_html())
    menu = page.locator('label:has(> span:text-is("Score")) select')
    assert menu.locator("option").all_inner_texts() == [
        "dot product",
        "Gaussian",
        *more,
    ]
    assert menu.locator("option:checked").inner_text() == (more or ["Gaussian"])[0]
    menu.select_option("dot product")
    assert menu.locator("option:checked").inner_text() == "dot product"
