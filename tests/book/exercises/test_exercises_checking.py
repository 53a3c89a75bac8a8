"""What every check does with what it is given: copies, numbers and truths of every kind."""

import math
import runpy

import pytest
import torch

from d2lattn.book.exercises import chapter01
from d2lattn.book.exercises.checking import (
    Differs,
    agrees,
    apart,
    call,
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


def test_an_argument_that_is_not_a_number_is_unchanged():
    given = torch.tensor([math.nan, 1.0])
    assert call(lambda tensor: 7, given) == 7
    with pytest.raises(Differs, match="changes its argument"):
        call(lambda tensor: tensor.nan_to_num_(), given)
    with pytest.raises(Differs, match="changes its argument"):
        call(lambda tensor: tensor.unsqueeze_(0), given)


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


def test_two_results_agree_in_shape_and_within_the_tolerance():
    wanted = torch.tensor([0.0, 100.0])
    assert agrees(wanted + torch.tensor([0.9e-5, 0.9e-2]), wanted)
    assert not agrees(wanted + torch.tensor([1.1e-5, 0.0]), wanted)
    assert not agrees(wanted + torch.tensor([0.0, 1.1e-2]), wanted)
    assert agrees(wanted + torch.tensor([1.1e-5, 0.0]), wanted, atol=1e-4)
    assert agrees(wanted + torch.tensor([0.0, 1.1e-2]), wanted, rtol=1e-3)
    assert not agrees(wanted[:1], torch.zeros(2))  # though it would broadcast
