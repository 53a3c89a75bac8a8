import math

import pytest
import torch

from d2lattn.analysis.metrics import (
    alignment_links,
    alignment_scores,
    bleu,
    chrf,
    diagonal_links,
    uniform_links,
)


def test_bleu_by_hand():
    # Precisions 4/5, 3/4, 2/3 and 1/2 of the n-grams, as long as the reference.
    score = bleu(["a b c d x"], ["a b c d e"])
    assert {"tok:none", "nrefs:1", "eff:no"} <= set(score.signature.split("|"))
    assert score.value == pytest.approx(100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)
    # Perfect n-grams, one word short of five: brevity penalty exp(1 - 5/4).
    assert bleu(["a b c d"], ["a b c d e"]).value == pytest.approx(100 * math.exp(-1 / 4))


def test_bleu_is_computed_over_the_corpus():
    hypotheses = ["a b c d", "x y z w"]
    references = ["a b c d", "q r s t"]
    # 4 of 8 words, 3 of 6 pairs, 2 of 4 triples, 1 of 2: one half each.
    assert bleu(hypotheses, references).value == pytest.approx(50)


def test_number_of_references_may_differ():
    hypotheses = ["a b c d", "e f g h"]
    score = bleu(hypotheses, [["x y z w", "a b c d"], "e f g h"])
    assert score.value == pytest.approx(100)
    assert "nrefs:var" in score.signature
    assert bleu(hypotheses, [["x y z w"], "e f g h"]).value < 100
    assert chrf(hypotheses, [["x y z w", "a b c d"], "e f g h"]).value == pytest.approx(100)


@pytest.mark.parametrize("score", [bleu, chrf])
def test_empty_translation_scores_zero(score):
    assert score([""], ["le chat dort ."]).value == 0
    assert 0 < score(["", "le chat dort ."], ["oui .", "le chat dort ."]).value < 100
    assert score(["a"], ["b"]).value == 0


@pytest.mark.parametrize("score", [bleu, chrf])
@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        ([], [], "hypotheses is empty; a corpus needs at least one sentence"),
        (["a"], ["a", "b"], "references holds 2 entries; .* each of the 1"),
        (["a", "b"], ["a", []], r"references\[1\] is empty; it needs one reference"),
    ],
)
def test_wrong_corpus_raises(score, hypotheses, references, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        score(hypotheses, references)


def test_alignment_error_rate_equals_definition():
    # One pair, worked by hand. A = 4 links, S = 2, P = 4 (the sure ones and two more).
    sure = {(0, 0), (1, 2)}
    possible = sure | {(1, 1), (2, 3)}
    predicted = {(0, 0), (1, 1), (2, 3), (3, 3)}
    scores = alignment_scores([predicted], [sure], [possible])
    assert scores.precision == pytest.approx(3 / 4)  # all but (3, 3) are possible
    assert scores.recall == pytest.approx(1 / 2)  # (0, 0) of two
    assert scores.error_rate == pytest.approx(1 - (1 + 3) / (4 + 2))


def test_alignment_counts_are_summed_over_the_corpus():
    predicted = [{(0, 0)}, {(0, 1), (1, 0), (2, 2)}]
    gold = [{(0, 0)}, {(0, 0), (1, 1), (2, 2)}]
    scores = alignment_scores(predicted, gold, gold)
    assert scores == (2 / 4, 2 / 4, 1 - 4 / 8)  # a mean over the pairs would give 2/3


def test_wrong_alignments_raise():
    message = (
        r"^sure\[1\] holds \[\(1, 1\)\], which possible\[1\] does not; every sure link needs to be "
        r"possible$"
    )
    with pytest.raises(ValueError, match=message):
        alignment_scores([set(), set()], [set(), {(1, 1)}], [set(), {(0, 0)}])
    message = (
        "^predicted, sure and possible hold {} sets; they need one for each pair of sentences$"
    )
    with pytest.raises(ValueError, match=message.format("1, 2 and 1")):
        alignment_scores([set()], [set(), set()], [set()])


def test_links_are_source_then_target():
    weights = torch.tensor([[0.1, 0.7, 0.2], [0.5, 0.1, 0.4]])  # (T, S) = (2, 3)
    assert alignment_links(weights) == {(1, 0), (0, 1)}
    assert alignment_links(weights, threshold=0.4) == {(1, 0), (0, 1), (2, 1)}
    assert alignment_links(weights, threshold=0.9) == frozenset()
    assert alignment_links(torch.zeros(0, 3)) == frozenset()
    with pytest.raises(ValueError, match=r"weights has shape \(1, 2, 3\); it needs \(T, S\)"):
        alignment_links(weights.unsqueeze(0))
    with pytest.raises(TypeError, match="weights has type list; it needs a tensor"):
        alignment_links(weights.tolist())


def test_diagonal_links():
    assert diagonal_links(3, 3) == {(0, 0), (1, 1), (2, 2)}
    assert diagonal_links(6, 2) == {(1, 0), (4, 1)}
    assert diagonal_links(2, 4) == {(0, 0), (0, 1), (1, 2), (1, 3)}
    for source_length in range(1, 9):
        for target_length in range(1, 9):
            links = diagonal_links(source_length, target_length)
            assert [t for _, t in sorted(links, key=lambda link: link[1])] == [
                *range(target_length)
            ]
            assert all(0 <= s < source_length for s, _ in links)


def test_uniform_links_are_uniform_and_reproducible():
    first = uniform_links(4, 4000, torch.Generator().manual_seed(1))
    assert first == uniform_links(4, 4000, torch.Generator().manual_seed(1))
    counts = [sum(source == place for source, _ in first) for place in range(4)]
    assert all(900 < count < 1100 for count in counts)
