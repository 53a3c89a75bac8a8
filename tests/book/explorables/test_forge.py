"""Forge: what it accepts, its numbers beside d2l's own, and a forger's way."""

import pytest
import torch
from explorable_pages import shown
from few_examples import few
from hypothesis import given
from hypothesis import strategies as st

from d2lattn.analysis.metrics import alignment_links, alignment_scores, diagonal_links, shift_links
from d2lattn.book.explorables import Forge


@st.composite
def judged(draw):
    """A sentence, the weights of two translators, and what hiding each state changes."""
    num_source, num_target = draw(st.integers(1, 6)), draw(st.integers(2, 6))
    places = st.tuples(st.integers(0, num_source - 1), st.integers(0, num_target - 1))
    possible = draw(st.frozensets(places, max_size=8))
    sure = frozenset(link for link in possible if draw(st.booleans()))
    row = st.lists(st.integers(0, 40), min_size=num_source, max_size=num_source).filter(any)
    rows = st.lists(row, min_size=num_target, max_size=num_target)
    weights = [torch.tensor(draw(rows), dtype=torch.float32) for _ in range(2)]
    flags = st.lists(st.booleans(), min_size=num_source, max_size=num_source)
    changes = [draw(st.lists(flags, min_size=num_target, max_size=num_target)) for _ in range(2)]
    sentence = {
        "source": [f"s{i}" for i in range(num_source)],
        "target": [f"t{i}" for i in range(num_target)],
        "sure": sure,
        "possible": possible,
    }
    return sentence, [w / w.sum(-1, keepdim=True) for w in weights], changes


@pytest.mark.browser
@given(
    st.lists(judged(), min_size=1, max_size=3),
    st.integers(0, 1),
    st.integers(-1, 1),
    st.integers(0, 19),
)
@few
def test_evidence_is_that_of_the_metrics(visit, given_, drawn, shift, twentieths):
    sentences, weights, changes = zip(*given_, strict=True)
    threshold = twentieths / 20
    models = {
        name: {
            "bleu": 90,
            "translations": ["t"] * len(sentences),
            "weights": [pair[who] for pair in weights],
            "changes": [pair[who] for pair in changes],
        }
        for who, name in enumerate("ab")
    }
    figure = Forge(sentences, models, [0], drawn=drawn, shift=shift, threshold=threshold)
    page = visit(figure.to_html(), again=True)
    # Links are read off the picture: the largest weight of a row, where it is not left white.
    links, diagonal, gold, changed, other = [], [], [], [], []
    for one, pair, effects in given_:
        matrix, height, size = pair[drawn], len(one["target"]), len(one["source"])
        reached = alignment_links(matrix, threshold - 1e-6)
        seen = shift_links(alignment_links(matrix) & reached, shift, height)
        links.append(seen)
        diagonal.append(diagonal_links(size, height))
        gold.append((one["sure"], one["possible"]))
        for source, target in seen:
            effect = torch.tensor(effects[drawn][target]).double()
            changed.append(effect[source].item())
            rest = torch.cat((effect[:source], effect[source + 1 :]))
            other.append(rest.mean().item() if size > 1 else 0.0)

    def error(found, where):
        sure, possible = zip(*gold[where], strict=True)
        try:
            return alignment_scores(found[where], sure, possible).error_rate
        except ValueError:
            return float("nan")

    close = lambda x: pytest.approx(x, abs=1e-6, nan_ok=True)  # noqa: E731
    for name, where in (("here", slice(0, 1)), ("all", slice(None))):
        assert shown(page, f"{name}-error") == close(error(links, where))
        assert shown(page, f"{name}-diagonal") == close(error(diagonal, where))
    mean = lambda xs: sum(xs) / len(xs) if xs else float("nan")  # noqa: E731
    assert shown(page, "all-changed") == close(mean(changed))
    # Sent with three decimals.
    assert shown(page, "all-other") == pytest.approx(mean(other), abs=1e-3, nan_ok=True)
