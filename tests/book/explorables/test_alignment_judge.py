"""The alignment judge: what it accepts, and its scores beside those of d2lattn.analysis.metrics."""

import copy
import itertools
import math
from typing import NamedTuple

import pytest
import torch
from explorable_pages import HOSTILE, SENTENCES, assert_words_are_text, frame, live, shown
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from d2lattn.analysis.metrics import (
    alignment_links,
    alignment_scores,
    diagonal_links,
    shift_links,
)
from d2lattn.book.explorables import AlignmentJudge
from d2lattn.book.explorables.alignment_judge import cut
from d2lattn.corpus import Pair

few = settings(
    deadline=None,
    max_examples=15,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
many = settings(few, max_examples=200)


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


def changed(**fields):
    one = copy.deepcopy(SENTENCES[1]) | fields
    return [{name: value for name, value in one.items() if value is not ...}]


@pytest.mark.parametrize(
    ("sentences", "words"),
    [
        ([], "holds 0"),
        (SENTENCES * 7, "holds 14"),
        ("abc", "a list is needed"),
        (None, "a list is needed"),
        (SENTENCES[0], "a list is needed"),
        (changed(sure=...), "no sure"),
        ([3], "no source"),
        (changed(source=[]), "source"),
        (changed(target=["a", 2, "b"]), "target"),
        (changed(target=["elle", "chante"]), "2 rows"),
        (changed(weights=[[0.5, 0.5]]), "1 rows"),
        (changed(weights=torch.full((2, 3), 1 / 3)), "3 rows .target words. of 2"),
        (changed(weights=[[0.75, 0.25], [1], [0.5, 0.5]]), "3 rows of"),
        (changed(weights=[[0.75, 0.25], [math.nan, 1], [0.5, 0.5]]), "from 0 to 1"),
        (changed(weights=[[0.75, 0.25], [math.inf, 1], [0.5, 0.5]]), "from 0 to 1"),
        (changed(weights=[[0.75, 0.25], [-0.5, 1.5], [0.5, 0.5]]), "from 0 to 1"),
        (changed(weights=[[0.75, 0.25], ["1", 0], [0.5, 0.5]]), "from 0 to 1"),
        (changed(weights=[[0.75, 0.25], [0.9, 0.9], [0.5, 0.5]]), "sums to 1.8"),
        (changed(weights=[0.5, 0.5, 0.5]), "rows of numbers"),
        (changed(weights=None), "rows of numbers"),
        (changed(sure=[(2, 0)]), "sure holds .2, 0.; there are 2 source and 3 target"),
        (changed(sure=[(0, 3)]), "sure holds"),
        (changed(sure=[(-1, 0)]), "sure holds"),
        (changed(sure=[(1, 0)]), "possible does not"),
        (changed(possible=[(0, 0, 0)]), "link is"),
        (changed(possible=[(0.5, 0)]), "link is"),
        (changed(possible=[(True, 0)]), "link is"),
        (changed(possible=3), "links"),
        (changed(possible="00"), "links"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refuses_sentences_that_do_not_fit(sentences, words):
    with pytest.raises(ValueError, match=words):
        AlignmentJudge(sentences)
    judge = AlignmentJudge(SENTENCES)
    before = judge.sentences
    with pytest.raises(ValueError, match=words):
        judge.sentences = sentences
    assert judge.sentences == before


@pytest.mark.parametrize(
    "state",
    [
        {"sentence": 2},
        {"sentence": -1},
        {"rule": "best"},
        {"threshold": 1.5},
        {"threshold": math.nan},
        {"shift": 2},
        {"shift": 0.5},
        {"marking": 1},
        {"marks": [[[0, 0]]]},
        {"marks": [[[6, 0]], []]},
        {"marks": [[[0]], []]},
        {"marks": 3},
    ],
    ids=str,
)
def test_refuses_what_does_not_fit(state):
    ((name, value),) = state.items()
    with pytest.raises(ValueError, match=name):
        AlignmentJudge(SENTENCES, **state)
    judge = AlignmentJudge(SENTENCES)
    before = judge.state()
    with pytest.raises(ValueError, match=name):
        setattr(judge, name, value)
    assert judge.state() == before


def test_takes_mappings_records_and_pairs_with_matrices():
    from_mappings = AlignmentJudge(SENTENCES)
    frozen = [one | {k: frozenset(one[k]) for k in ("sure", "possible")} for one in SENTENCES]
    tensors = [one | {"weights": torch.tensor(one["weights"])} for one in frozen]
    assert AlignmentJudge([Record(**one) for one in tensors]).sentences == from_mappings.sentences
    pairs = [
        Pair(tuple(one["source"]), tuple(one["target"]), one["sure"], one["possible"])
        for one in frozen
    ]
    matrices = [one["weights"] for one in tensors]
    assert AlignmentJudge(pairs, matrices).sentences == from_mappings.sentences
    with pytest.raises(ValueError, match="weights has 1 entries"):
        AlignmentJudge(pairs, matrices[:1])
    # What it gives can be given again.
    again = AlignmentJudge(from_mappings.sentences[1:])
    assert again.sentences == from_mappings.sentences[1:]


def test_traits_are_observed():
    judge, seen = AlignmentJudge(SENTENCES), []
    judge.observe(lambda change: seen.append((change.name, change.new)))
    judge.shift, judge.rule, judge.marks = 1, "threshold", [[(1, 1)], {(0, 2), (0, 2)}]
    assert seen == [("shift", 1), ("rule", "threshold"), ("marks", [[[1, 1]], [[0, 2]]])]


@given(records(longest=6), st.integers(0, 10000))
@many
def test_cutting_changes_no_link(record, threshold):
    weights = record.weights.double()
    short = torch.tensor([cut(row) for row in weights.tolist()], dtype=torch.float64)
    assert alignment_links(short) == alignment_links(weights)
    # Weights that float32 cannot write exactly count as what they stand for.
    wanted = alignment_links(weights + 1e-7, threshold / 10000)
    assert alignment_links(short, threshold / 10000) == wanted
    assert (weights - short).max() < 1.001e-4


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


@pytest.mark.browser
def test_gold_is_drawn_over_its_cells(visit):
    page = visit(AlignmentJudge(SENTENCES).to_html())
    for kind in ("sure", "possible"):
        wanted = set(SENTENCES[0][kind])
        if kind == "possible":
            wanted -= set(SENTENCES[0]["sure"])
        outlines = page.locator(f".d2lx-stage [data-gold={kind}]")
        dashes = outlines.evaluate_all("es => es.map(e => e.getAttribute('stroke-dasharray'))")
        assert set(dashes) == ({None} if kind == "sure" else {"4 3"})
        found = outlines.evaluate_all(
            """es => es.map((e) => {
              const cells = [...document.querySelectorAll('rect[data-value]')];
              const apart = (cell, name) =>
                Math.abs(+cell.getAttribute(name) + 2 - e.getAttribute(name));
              const k = cells.findIndex((cell) => apart(cell, 'x') + apart(cell, 'y') < 0.01);
              return [k % 6, Math.floor(k / 6)];
            })"""
        )
        assert {tuple(link) for link in found} == wanted


@pytest.mark.browser
def test_mark_by_keys_and_mouse_then_reveal(visit):
    page = visit(AlignmentJudge(SENTENCES, sentence=1).to_html())
    assert page.locator("[data-name='model-error']").is_visible()
    page.get_by_role("button", name="Predict first").click()
    frame(page)
    assert not page.locator("[data-name='model-error']").is_visible()
    assert page.locator(".d2lx-stage [data-gold]").count() == 0
    stage = page.get_by_role("application")
    stage.press("Enter")
    frame(page)
    said = page.locator(".d2lx-cell")
    assert said.inner_text().endswith("0.750, your link")
    stage.press("ArrowRight")
    frame(page)
    assert said.inner_text().endswith(": 0.250")
    for key in (" ", "ArrowDown", "Enter", "Enter", " "):
        stage.press(key)
        frame(page)
    # By mouse: "." with "she", on and off, and "elle" with "sings" off again.
    boxes = page.locator("rect[data-value]")
    for cell in (4, 4, 1):
        box = boxes.nth(cell).bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        frame(page)
    page.get_by_role("button", name="Reveal").click()
    frame(page)
    wanted = alignment_scores([{(0, 0), (1, 1)}], [{(0, 0), (1, 1)}], [{(0, 0), (1, 1)}])
    assert_shows(page, "you", wanted, 0)
    verdict = page.locator(".d2lx-verdict").inner_text()
    assert verdict == "You marked 2: 2 of the 2 sure links, and 0 that gold does not have."
    stage.press("Home")
    frame(page)
    assert said.inner_text().endswith("0.125") or "your link" in said.inner_text()
    page.get_by_role("button", name="Clear marks").click()
    frame(page)
    assert page.locator("[data-name='you-error']").inner_text() == "none"
    page.get_by_role("button", name="Reset").click()
    frame(page)
    assert page.locator(".d2lx-verdict").inner_text() == ""


@pytest.mark.browser
def test_live_host_sends_what_python_accepts_and_follows_it(visit):
    judge = AlignmentJudge(SENTENCES, rule="threshold")
    page = visit()
    live(page, judge)
    page.get_by_role("slider", name="Threshold").press("ArrowRight")
    page.get_by_role("slider", name="Shift").press("ArrowRight")
    page.get_by_label("Sentence").select_option(index=1)
    page.get_by_role("application").press("ArrowDown")
    page.get_by_role("application").press("Enter")
    page.get_by_role("button", name="Predict first").click()
    frame(page)
    for name, value in page.evaluate("sent").items():
        setattr(judge, name, value)
    assert (judge.threshold, judge.shift, judge.sentence) == (0.31, 1, 1)
    assert judge.marks == [[], [[0, 1]]]
    assert judge.marking
    judge = AlignmentJudge(SENTENCES[:1])
    page.evaluate(
        "([sentences]) => { model.set('marking', false); model.set('marks', []);"
        "model.set('sentence', 0); model.set('sentences', sentences); }",
        [judge.get_state(["sentences"])["sentences"]],
    )
    frame(page)
    links = shift_links(alignment_links(torch.tensor(SENTENCES[0]["weights"]), 0.31), 1, 6)
    gold = [{tuple(link) for link in SENTENCES[0][kind]} for kind in ("sure", "possible")]
    wanted = alignment_scores([links], [gold[0]], [gold[1]])
    assert_shows(page, "model", wanted, wanted.error_rate)
    assert page.get_by_label("Sentence").locator("option").count() == 1


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 360])
def test_hostile_words_are_text(visit, width):
    n = len(HOSTILE)
    links = [(i, i) for i in range(n)]
    sentence = {"source": HOSTILE, "target": HOSTILE[::-1], "sure": links, "possible": links}
    judge = AlignmentJudge([sentence], [torch.eye(n)])
    page = visit(judge.to_html(), width=width)
    page.get_by_role("application").press("ArrowDown")
    assert_words_are_text(page)
    assert "<img src=x" in page.locator(".d2lx-stage").text_content()
    assert "</script>" in page.locator(".d2lx-stage").text_content()
    page = visit(judge.to_html(), scripts=False)
    assert page.locator("img").count() == 0


@pytest.mark.browser
def test_long_sentences_are_drawn_on_canvas_with_gold_above(visit):
    links = [(i, i) for i in range(25)]
    words = [f"w{i}" for i in range(25)]
    sentence = {"source": words, "target": words, "sure": links, "possible": links}
    page = visit(AlignmentJudge([sentence], [torch.eye(25)]).to_html(), width=360)
    assert page.locator("canvas").count() == 1
    assert page.locator(".d2lx-stage [data-gold=sure]").count() == 25
    assert shown(page, "model-error") == 0


@pytest.mark.browser
def test_who_predicts_by_keyboard_goes_on_in_the_matrix(visit):
    page = visit(AlignmentJudge(SENTENCES).to_html())
    page.get_by_role("button", name="Predict first").press("Enter")
    frame(page)
    page.keyboard.press("Enter")
    frame(page)
    page.get_by_role("button", name="Reveal").press("Enter")
    frame(page)
    assert page.locator(".d2lx-verdict").inner_text().startswith("You marked 1: ")


@pytest.mark.browser
def test_without_sure_links_there_is_no_lowest_error(visit):
    lone = {**SENTENCES[1], "sure": [], "possible": []}
    page = visit(AlignmentJudge([lone], rule="threshold").to_html())
    assert "Lowest" not in page.inner_text("main")
    assert "∞" not in page.inner_text("main")


def test_twelve_sentences_fit_into_30_kilobytes():
    generator = torch.Generator().manual_seed(0)
    links = [(i, i) for i in range(11)]
    words = ["sentence"] * 11
    # As sharp as those of a trained model: most weights are below one in ten thousand.
    matrices = (12 * torch.eye(11) + torch.randn(12, 11, 11, generator=generator)).softmax(-1)
    sentence = {"source": words, "target": words, "sure": links, "possible": links}
    assert len(AlignmentJudge([sentence] * 12, matrices).to_html().encode()) <= 30 * 1024


@pytest.mark.browser
def test_of_equal_weights_the_first_is_linked_as_by_torch(visit):
    links = [(0, 0)]
    sentence = {"source": ["a", "b"], "target": ["c"], "sure": links, "possible": links}
    page = visit(AlignmentJudge([sentence], [torch.tensor([[0.5, 0.5]])]).to_html())
    assert alignment_links(torch.tensor([[0.5, 0.5]])) == {(0, 0)}
    assert shown(page, "model-precision") == 1


def with_end(one):
    """A sentence with the sign for its end, to which a model may attend."""
    weights = [[*row[:-1], row[-1] / 2, row[-1] / 2] for row in one["weights"]]
    return {**one, "source": [*one["source"], "<eos>"], "weights": weights}


@pytest.mark.browser
def test_the_end_of_a_sentence_is_no_word_to_the_baselines(visit):
    page = visit(AlignmentJudge(SENTENCES).to_html())
    wanted = [
        shown(page, f"{row}-{of}") for row in ("diagonal", "uniform") for of in ("error", "all")
    ]
    page = visit(AlignmentJudge([with_end(one) for one in SENTENCES]).to_html())
    found = [
        shown(page, f"{row}-{of}") for row in ("diagonal", "uniform") for of in ("error", "all")
    ]
    assert found == wanted


@pytest.mark.browser
@pytest.mark.parametrize("named", [True, False])
def test_two_models_are_never_pooled(visit, named):
    # The second model looks at each word's neighbour.
    other = [
        {**one, "weights": [row[-1:] + row[:-1] for row in one["weights"]]} for one in SENTENCES
    ]
    models = ["first"] * 2 + ["second"] * 2 if named else None
    matrices = [torch.tensor(one["weights"]) for one in SENTENCES + other]
    judge = AlignmentJudge(SENTENCES + other, matrices, models=models)
    page = visit(judge.to_html())
    for place, (half, name) in enumerate(zip((SENTENCES, other), ("first", "second"), strict=True)):
        page.get_by_label("Sentence").select_option(index=2 * place)
        frame(page)
        links = [alignment_links(torch.tensor(one["weights"])) for one in half]
        gold = [
            [{tuple(link) for link in one[kind]} for one in half] for kind in ("sure", "possible")
        ]
        wanted = alignment_scores(links, *gold)
        assert shown(page, "model-all") == pytest.approx(wanted.error_rate)
        said = page.locator(".d2lx-head").first.inner_text()
        assert (name if named else f"number {place + 1}") in said
    assert page.get_by_role("columnheader", name="AER of 2").is_visible()


def test_refuses_names_that_do_not_fit():
    with pytest.raises(ValueError, match="model has 1 entries"):
        AlignmentJudge(SENTENCES, models=["one"])
    with pytest.raises(ValueError, match="a name is needed"):
        AlignmentJudge(SENTENCES, models=[1, 2])


@pytest.mark.browser
def test_curves_are_the_scores_at_every_threshold(visit):
    page = visit(AlignmentJudge(SENTENCES, rule="threshold", threshold=0.5).to_html())
    sure, possible = (
        [{tuple(link) for link in one[kind]} for one in SENTENCES] for kind in ("sure", "possible")
    )
    matrices = [torch.tensor(one["weights"], dtype=torch.float64) for one in SENTENCES]
    steps = [i / 50 for i in range(51)]
    wanted = [
        alignment_scores([alignment_links(m, step) for m in matrices], sure, possible)
        for step in steps
    ]
    curves = page.locator(".d2lx-plot path.d2lx-line").evaluate_all(
        "es => es.map((e) => e.getAttribute('d').split(/[ML]/).slice(1))"
    )
    foot, head = 150 - 38, 10
    for k, curve in enumerate(curves):
        heights = [(foot - float(point.split()[1])) / (foot - head) for point in curve]
        truth = [scores[k] for scores in wanted if not math.isnan(scores[k])]
        assert heights == pytest.approx(truth, abs=1e-3)
    lowest = min(scores.error_rate for scores in wanted)
    said = page.get_by_text("Lowest AER").inner_text()
    assert f"{lowest:.3f} at threshold" in said
    page.get_by_label("Read links by").select_option(index=0)
    frame(page)
    assert not page.get_by_text("Lowest AER").is_visible()


@pytest.mark.browser
def test_a_number_of_the_fraction_shows_its_cells(visit):
    one = SENTENCES[0]
    page = visit(AlignmentJudge(SENTENCES).to_html())
    predicted = {(row.index(max(row)), t) for t, row in enumerate(one["weights"])}
    sets = {
        "|A ∩ S|": predicted & set(one["sure"]),
        "|A ∩ P|": predicted & set(one["possible"]),
        "|A|": predicted,
        "|S|": set(one["sure"]),
    }
    cells = page.locator("rect[data-value]")
    place = "e => [e.getAttribute('x'), e.getAttribute('y')].join()"
    where = [cell.evaluate(place) for cell in cells.all()]
    for name, links in sets.items():
        term = page.get_by_role("button", name=f"{name} = {len(links)}", exact=True)
        term.press("Enter")
        frame(page)
        assert term.get_attribute("aria-pressed") == "true"
        dim = {one.evaluate(place) for one in page.locator(".d2lx-dim").all()}
        n = len(one["source"])
        bright = {(k % n, k // n) for k, at in enumerate(where) if at not in dim}
        assert bright == links, name
    term.press("Enter")
    frame(page)
    assert page.locator(".d2lx-dim").count() == 0
