"""Bars in docstrings are mathematics on the package pages, and nothing else is touched."""

import pytest

from website.extensions import docstring_bars


@pytest.mark.parametrize(
    ("line", "escaped"),
    [
        ("|A ∩ S| over |S|", r"\|A ∩ S\| over \|S\|"),
        ("weights for |u| ≤ 1, in code ``a | b``", r"weights for \|u\| ≤ 1, in code ``a | b``"),
        (":type lengths: int | None", ":type lengths: int | None"),
        (r"\|already\|", r"\|already\|"),
        ("no bars", "no bars"),
    ],
)
def test_a_line_outside_of_examples(line, escaped):
    assert docstring_bars.escape_bars([line]) == [escaped]


def test_examples_stay_as_they_are_until_they_end():
    lines = [">>> print(1 | 2)", "3 | not a sum", "", "|u|"]
    assert docstring_bars.escape_bars(lines) == [*lines[:3], r"\|u\|"]
