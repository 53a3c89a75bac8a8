"""The alignment judge: what it accepts, and its scores beside those of d2lattn.analysis.metrics."""

import itertools
import math
from typing import NamedTuple

import pytest
import torch
from explorable_pages import shown
from few_examples import few
from hypothesis import given
from hypothesis import strategies as st

from d2lattn.analysis.metrics import (
    alignment_links,
    alignment_scores,
    diagonal_links,
    shift_links,
)
from d2lattn.book.explorables import AlignmentJudge

# Two sentences, with weights that are not all right.
SENTENCES = [
    {
        "source": ["the", "red", "cat", "does", "not", "sleep"],
        "target": ["le", "chat", "rouge", "ne", "dort", "pas"],
        "weights": [
            [0.9, 0.02, 0.08, 0, 0, 0],
            [0.05, 0.15, 0.8, 0, 0, 0],
            [0, 0.7, 0.3, 0, 0, 0],
            [0, 0, 0, 0.6, 0.4, 0],
            [0, 0, 0, 0.05, 0.05, 0.9],
            [0, 0, 0, 0.15, 0.55, 0.3],
        ],
        "sure": [(0, 0), (1, 2), (2, 1), (4, 5), (5, 4)],
        "possible": [(0, 0), (1, 2), (2, 1), (3, 3), (4, 3), (3, 5), (4, 5), (5, 4)],
    },
    {
        "source": ["she", "sings"],
        "target": ["elle", "chante", "."],
        "weights": [[0.75, 0.25], [0.125, 0.875], [0.5, 0.5]],
        "sure": [(0, 0), (1, 1)],
        "possible": [(0, 0), (1, 1)],
    },
]


class Record(NamedTuple):
    source: list
    target: list
    weights: torch.Tensor
    sure: frozenset
    possible: frozenset


@st.composite
def records(draw, longest=5):
    """A sentence of random links and weights, some of them alike."""
    num_source, num_target = draw(st.integers(1, longest)), draw(st.integers(1, longest))
    every = list(itertools.product(range(num_source), range(num_target)))
    possible = draw(st.frozensets(st.sampled_from(every)))
    sure = draw(st.frozensets(st.sampled_from(sorted(possible)))) if possible else frozenset()
    raw = draw(
        st.lists(
            st.lists(st.integers(0, 40), min_size=num_source, max_size=num_source).filter(any),
            min_size=num_target,
            max_size=num_target,
        )
    )
    weights = torch.tensor(raw, dtype=torch.float32)
    return Record(
        [f"s{i}" for i in range(num_source)],
        [f"t{i}" for i in range(num_target)],
        weights / weights.sum(-1, keepdim=True),
        sure,
        possible,
    )


SCORES = ("precision", "recall", "error")


def assert_shows(page, row, wanted, everything):
    for name, value in zip(SCORES, wanted, strict=True):
        assert shown(page, f"{row}-{name}") == pytest.approx(value, abs=1e-6, nan_ok=True)
    assert shown(page, f"{row}-all") == pytest.approx(everything, abs=1e-6, nan_ok=True)


def scores_of(predicted, record_list):
    """Alignment scores, or nan for all where there is nothing to count."""
    sure, possible = [one.sure for one in record_list], [one.possible for one in record_list]
    if not any(map(len, [*predicted, *sure])):
        return (math.nan,) * 3
    return alignment_scores(predicted, sure, possible)


def mean_over_random_links(record):
    """What uniform_links scores on average, by going through all that it can draw."""
    every = itertools.product(range(len(record.source)), repeat=len(record.target))
    found = [
        alignment_scores(
            [{(source, target) for target, source in enumerate(sources)}],
            [record.sure],
            [record.possible],
        )
        for sources in every
    ]
    return [sum(column) / len(found) for column in zip(*found, strict=True)]


@pytest.mark.browser
@given(
    st.lists(records(longest=4), min_size=1, max_size=3),
    st.sampled_from([None, 0.0, 0.05, 0.1, 0.25, 0.5, 0.7, 1.0]),
    st.sampled_from([-1, 0, 1]),
    st.data(),
)
@few
def test_shows_the_scores_of_the_metrics(visit, record_list, threshold, shift, data):
    current = data.draw(st.integers(0, len(record_list) - 1))
    one = record_list[current]
    places = list(itertools.product(range(len(one.source)), range(len(one.target))))
    marked = data.draw(st.frozensets(st.sampled_from(places)))
    marks = [[] for _ in record_list]
    marks[current] = marked
    judge = AlignmentJudge(
        record_list,
        sentence=current,
        rule="argmax" if threshold is None else "threshold",
        threshold=threshold or 0,
        shift=shift,
        marks=marks,
    )
    page = visit(judge.to_html(), again=True)

    predicted = [
        shift_links(alignment_links(r.weights, threshold), shift, len(r.target))
        for r in record_list
    ]
    everything = scores_of(predicted, record_list)
    assert_shows(page, "model", scores_of([predicted[current]], [one]), everything[2])
    diagonals = [diagonal_links(len(r.source), len(r.target)) for r in record_list]
    everything = scores_of(diagonals, record_list)
    assert_shows(page, "diagonal", scores_of([diagonals[current]], [one]), everything[2])
    num_sure = sum(len(r.sure) for r in record_list)
    num_drawn = sum(len(r.target) for r in record_list)
    hits = sum((len(r.sure) + len(r.possible)) / len(r.source) for r in record_list)
    wanted = mean_over_random_links(one)
    assert_shows(page, "uniform", wanted, 1 - hits / (num_drawn + num_sure))
    if marked:
        wanted = scores_of([marked], [one])
        assert_shows(page, "you", wanted, wanted[2])
    else:
        assert_shows(page, "you", [math.nan] * 3, math.nan)
    cells = page.locator("rect[data-value]").evaluate_all("es => es.map(e => +e.dataset.value)")
    cells = torch.tensor(cells, dtype=torch.float32)
    torch.testing.assert_close(cells, one.weights.flatten(), rtol=0, atol=1.001e-4)


def with_end(one):
    """A sentence with the sign for its end, to which a model may attend."""
    weights = [[*row[:-1], row[-1] / 2, row[-1] / 2] for row in one["weights"]]
    return {**one, "source": [*one["source"], "<eos>"], "weights": weights}


@pytest.mark.browser
def test_end_of_sentence_is_no_word_to_the_baselines(visit):
    names = [f"{row}-{of}" for row in ("diagonal", "uniform") for of in ("error", "all")]
    page = visit(AlignmentJudge(SENTENCES).to_html())
    expected = [shown(page, name) for name in names]
    page = visit(AlignmentJudge([with_end(one) for one in SENTENCES]).to_html())
    assert [shown(page, name) for name in names] == expected


@pytest.mark.browser
def test_lowest_error_is_that_of_all_thresholds(visit):
    page = visit(AlignmentJudge(SENTENCES, rule="threshold", threshold=0.5).to_html())
    sure, possible = (
        [{tuple(link) for link in one[kind]} for one in SENTENCES] for kind in ("sure", "possible")
    )
    matrices = [torch.tensor(one["weights"], dtype=torch.float64) for one in SENTENCES]
    lowest = min(
        alignment_scores([alignment_links(m, i / 50) for m in matrices], sure, possible).error_rate
        for i in range(51)
    )
    assert f"{lowest:.3f}" in page.get_by_text("Lowest AER").inner_text()
