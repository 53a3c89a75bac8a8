"""The landing page computes what it says."""

import doctest
from pathlib import Path

INDEX = Path(__file__).resolve().parent.parent / "index.md"


def test_the_numbers_on_the_landing_page_are_what_its_lines_print():
    failed, attempted = doctest.testfile(str(INDEX), module_relative=False, encoding="utf-8")
    assert attempted == 6
    assert failed == 0
