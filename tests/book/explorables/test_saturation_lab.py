"""The saturation lab: what it accepts, and its numbers beside PyTorch's."""

import math

import pytest
import torch
from explorable_pages import all_shown, shown
from few_examples import few
from hypothesis import given
from hypothesis import strategies as st

from d2lattn.analysis.metrics import attention_entropy
from d2lattn.book.explorables import SaturationLab
from d2lattn.book.explorables.saturation_lab.figure import normals
from d2lattn.scoring import masked_softmax


def tensors(lists):
    return [torch.tensor(one, dtype=torch.float64) for one in lists]


def close(x):
    return pytest.approx(float(x), rel=1e-6, abs=1e-6)


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
    now = all_shown(page)
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
        assert now[f"lane-largest-{str(root).lower()}"] == close(lane.max())
        size = (torch.diag(lane) - torch.outer(lane, lane)).norm().item()
        assert now[f"lane-jacobian-{str(root).lower()}"] == close(size)
    assert now["entropy"] == close(attention_entropy(weights))
    assert now["largest"] == close(weights.max())
    queries, keys = tensors(lab.pairs())
    pairs = (queries * keys).sum(-1) / divisor  # (256, D) -> (256,)
    assert now["variance"] == close(pairs.var(unbiased=False))
    assert now["theory"] == close((1 if scaled else width) / temperature**2)


@pytest.mark.parametrize(("score", "of_key"), [("dot", "4"), ("gaussian", "-1")])
def test_field_without_a_script_shows_the_score_of_its_key(score, of_key):
    words = SaturationLab(view="field", score=score, query=[1, 1], key=[2, 2]).fallback_html()
    assert f"<td>{of_key}</td>" in words


@pytest.mark.browser
@given(
    st.sampled_from(["dot", "gaussian"]),
    st.tuples(st.floats(-2.5, 2.5), st.floats(-2.5, 2.5)),
    st.tuples(st.floats(-2.5, 2.5), st.floats(-2.5, 2.5)),
)
@few
def test_field_shows_pytorchs_score(visit, score, query, key):
    lab = SaturationLab(view="field", score=score, query=query, key=key)
    page = visit(lab.to_html(), again=True)
    q, k = tensors([query, key])
    wanted = q @ k if score == "dot" else -(q - k).square().sum() / 2
    assert shown(page, "score") == close(wanted)
    assert shown(page, "low") - 0.3 <= wanted <= shown(page, "high") + 0.3
