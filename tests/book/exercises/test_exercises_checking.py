"""What every check does with what it is given: copies, numbers and truths of every kind."""

import math
import runpy
from fractions import Fraction

import numpy as np
import pytest
import torch

from d2lattn.book.exercises import chapter01
from d2lattn.book.exercises.checking import (
    Differs,
    agrees,
    apart,
    call,
    number,
    several,
    tensor_like,
    truth,
)


def test_the_pairs_of_chapter_1_are_on_the_cpu_whoever_imports_them():
    with torch.device("meta"):
        imported = runpy.run_path(chapter01.__file__)
    assert imported["KEYS"].device == imported["VALUES"].device == torch.device("cpu")


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
    ("change", "given"),
    [
        (lambda places: places.extend([3, 4]), [1, 2]),
        (lambda places: places.clear(), [1, 2]),
        (lambda rows: rows[0].append(2), [[1], [2]]),
        (lambda table: table.pop("a"), {"a": 1}),
    ],
)
def test_a_changed_list_is_named_and_the_checks_own_stays(change, given):
    before = repr(given)
    with pytest.raises(Differs, match="changes its argument number 1"):
        call(lambda places: change(places) or 1, given)
    assert repr(given) == before


def test_an_argument_that_is_not_a_number_is_unchanged():
    given = torch.tensor([math.nan, 1.0])
    assert call(lambda tensor: 7, given) == 7
    with pytest.raises(Differs, match="changes its argument"):
        call(lambda tensor: tensor.nan_to_num_(), given)
    with pytest.raises(Differs, match="changes its argument"):
        call(lambda tensor: tensor.unsqueeze_(0), given)


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


@pytest.mark.parametrize("wanted", [True, False])
def test_truths_of_every_kind_are_read(wanted):
    for given in (
        wanted,
        np.bool_(wanted),
        np.array(wanted),
        np.array([wanted]),
        torch.tensor(wanted),
        torch.tensor([[wanted]]),
    ):
        assert truth(given) is wanted, repr(given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (1, "True or False; this is 1."),
        (0.0, "True or False; this is 0.0."),
        (None, "True or False; this is None."),
        (lambda: True, "True or False; this is function."),
        ("True", "True or False; this is 'True'."),
        ([True], "True or False; this is [True]."),
        (torch.tensor(1), "True or False; this is tensor(1)."),
        (torch.ones(2, 3) > 0, "one True or False; this has shape (2, 3)."),
        (np.array([True, False]), "one True or False; this has shape (2,)."),
        (torch.zeros(0) > 0, "one True or False; this has shape (0,)."),
        (list(range(999)), "True or False; this is [0, 1, 2, 3, 4, 5, ...]."),
    ],
)
def test_what_is_no_truth_is_refused(given, said):
    with pytest.raises(Differs) as refused:
        truth(given, "claim 2")
    assert str(refused.value) == f"claim 2 should be {said}"


def test_two_results_agree_in_shape_and_within_the_tolerance():
    wanted = torch.tensor([0.0, 100.0])
    assert agrees(wanted + torch.tensor([0.9e-5, 0.9e-2]), wanted)
    assert not agrees(wanted + torch.tensor([1.1e-5, 0.0]), wanted)
    assert not agrees(wanted + torch.tensor([0.0, 1.1e-2]), wanted)
    assert agrees(wanted + torch.tensor([1.1e-5, 0.0]), wanted, atol=1e-4)
    assert agrees(wanted + torch.tensor([0.0, 1.1e-2]), wanted, rtol=1e-3)
    assert not agrees(wanted[:1], torch.zeros(2))  # though it would broadcast
