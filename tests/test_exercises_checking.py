"""What every check does with what it is given: copies, kinds of number, calls by keyword."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from d2lattn.exercises import chapter01, chapter02, chapter03
from d2lattn.exercises.checking import Differs, apart, call, number, several, tensor_like


def attend(query, keys, values):
    return (keys @ query).softmax(dim=0) @ values


def scores_in_a_buffer(queries, keys, bandwidth):
    scores = torch.zeros(len(queries), queries.shape[1], keys.shape[1])
    scores += queries @ keys.transpose(1, 2)
    norms = queries.square().sum(-1).unsqueeze(2) + keys.square().sum(-1).unsqueeze(1)
    return (scores - norms / 2) / bandwidth**2


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (chapter01.check_query, torch.tensor([-4.0, -4.0], dtype=torch.float64)),
        (chapter02.check_by_hand, torch.tensor(22 / 7, dtype=torch.float64)),
        (chapter03.check_gaussian_scores, scores_in_a_buffer),
    ],
)
def test_other_right_answers_pass_where_double_precision_is_the_default(check, answer):
    torch.set_default_dtype(torch.float64)
    try:
        verdict = check(answer)
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert verdict, verdict


def test_the_chapters_pairs_are_in_single_precision_whoever_imports_them():
    assert chapter01.KEYS.dtype == chapter01.VALUES.dtype == torch.float32


def test_a_check_can_be_called_by_keyword():
    assert chapter01.check_attend(attend=attend)
    assert chapter01.check_overtaking(strength_at_2=2.0, strength_at_3=3.0)
    assert "not attempted" in chapter01.check_attend(attend=None).sentence
    assert "could not read" in chapter01.check_attend(answer=attend).sentence
    assert "could not read" in chapter01.check_attend().sentence


def test_a_changed_argument_is_named():
    tensor, links = torch.zeros(2), frozenset({(0, 0)})
    with pytest.raises(Differs, match="your function changes its argument number 1"):
        call(lambda t: t.add_(1), tensor)
    with pytest.raises(Differs, match="with one link, your function changes its argument number 2"):
        call(lambda t, s: s.clear() or 1, tensor, links, case="with one link")
    assert tensor.tolist() == [0, 0]
    assert links == {(0, 0)}
    assert call(lambda t, s: type(s), tensor, links) is set


@pytest.mark.parametrize(
    "given", [3, 3.0, Fraction(6, 2), np.float32(3), np.array([3]), torch.tensor([[3]]), [3]]
)
def test_numbers_of_every_kind_are_read(given):
    assert number(given) == 3.0


@pytest.mark.parametrize("given", ["3", b"3", bytearray(b"3"), np.array("3"), 3j, [3, 3], {}])
def test_what_is_no_number_is_refused(given):
    with pytest.raises(Differs, match="should be one number"):
        number(given)


@pytest.mark.parametrize(
    "given",
    [
        [[1, Fraction(1, 2)]],
        ([1.0, 0.5],),
        np.array([[1, 0.5]]),
        [torch.tensor([1, 0.5], dtype=torch.float64)],
        [(torch.tensor(1.0, requires_grad=True), np.float16(0.5))],
    ],
)
def test_tensors_of_every_kind_are_read(given):
    assert tensor_like(given, torch.zeros(1, 2)).tolist() == [[1, 0.5]]


@pytest.mark.parametrize(
    "given", [["1", "2"], [b"1", b"2"], b"ab", "ab", torch.ones(2) * 1j, [[1], [1, 2]]]
)
def test_what_is_no_tensor_is_refused(given):
    with pytest.raises(Differs, match="should be a tensor"):
        tensor_like(given, torch.zeros(2))


@pytest.mark.parametrize("given", [(1, 2), [1, 2], np.array([1, 2]), torch.tensor([1, 2])])
def test_a_pair_may_come_in_every_kind_of_list(given):
    assert several(given, 2, "two, please") == [1, 2]


@pytest.mark.parametrize("given", ["ab", b"ab", {1, 2}, 7, np.array(7), [1], (1, 2, 3)])
def test_what_is_no_pair_gets_the_hint(given):
    with pytest.raises(Differs, match="two, please"):
        several(given, 2, "two, please")


@pytest.mark.parametrize(
    ("found", "wanted", "said"),
    [
        (0.5, 0.25, "0.5; 0.25"),
        (0.2308, 0.230769, "0.2308; 0.23077"),
        (math.inf, 1.0, "inf; 1"),
        (1e9 + 1, 1e9, "1000000001; 1000000000"),
    ],
)
def test_two_numbers_are_told_in_digits_that_differ(found, wanted, said):
    assert apart(found, wanted) == f"{said} was expected."
