"""What notebooks say by convention becomes what the page needs."""

import pytest
from math_core import LatexError

from website.extensions import course, formulas


def test_a_formula_is_mathml_and_one_on_its_own_line_is_large():
    assert formulas.mathml("a_i") == "<math><msub><mi>a</mi><mi>i</mi></msub></math>"
    assert formulas.mathml("a", block=True).startswith('<math display="block">')
    with pytest.raises(LatexError):
        formulas.mathml(r"\frac{1")


@pytest.mark.parametrize(
    ("title", "number", "name"),
    [
        ("3. Why divide by √d?", "3", "Why divide by √d?"),
        ("4b. Can you believe the picture?", "4b", "Can you believe the picture?"),
        ("7b.2 Deeper: what does the cache save?", "7b.2", "Deeper: what does the cache save?"),
        ("3.1 Workshop", "3.1", "Workshop"),
    ],
)
def test_a_title_has_a_number_and_a_name(title, number, name):
    found = course.NUMBERED.match(title)
    assert (found["number"], found["name"]) == (number, name)
