"""What every check does with what it is given: copies, kinds of number, calls by keyword."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from d2lattn.book.exercises import chapter01
from d2lattn.book.exercises.checking import (
    Differs,
    agrees,
    call,
    number,
    recognise,
    truth,
)


def attend(query, keys, values):
    return (keys @ query).softmax(dim=0) @ values


def test_a_check_runs_on_the_cpu_and_leaves_the_default_device_as_it_was():
    torch.set_default_device("meta")
    try:
        verdicts = [chapter01.check_attend(attend), chapter01.check_attend(lambda *a: a[0])]
        assert torch.get_default_device() == torch.device("meta")
    finally:
        torch.set_default_device(None)
    assert verdicts[0], verdicts[0]
    assert "your output has shape" in verdicts[1].sentence.replace("Your", "your")


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


def test_the_first_mistake_that_an_answer_is_gives_its_hint():
    mistakes = [(torch.ones(2), "ones"), (torch.ones(3), "more"), (torch.ones(2), "again")]
    for found in (
        torch.ones(2),
        torch.ones(2, dtype=torch.float64),
        torch.ones(2).requires_grad_(),
    ):
        with pytest.raises(Differs, match=r"^ones$"):
            recognise(found, mistakes)
    for found in (torch.zeros(2), torch.ones(4), [1.0, 1.0], "ones", None):
        recognise(found, mistakes)
