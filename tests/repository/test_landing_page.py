"""The landing page and the README compute what they say."""

import doctest
import re
from pathlib import Path

import torch

import d2lattn

ROOT = Path(__file__).resolve().parents[2]


def test_numbers_on_the_landing_page_equal_its_output():
    failed, attempted = doctest.testfile(
        str(ROOT / "index.md"), module_relative=False, encoding="utf-8"
    )
    assert attempted == 8
    assert failed == 0


def test_the_first_figure_shows_the_numbers_of_the_lines_below_it():
    figure = (ROOT / "images" / "one-look.html").read_text(encoding="utf-8")
    weights = torch.softmax(torch.tensor([0.0, 1.0, 3.0]), dim=0)
    shown = re.findall(r'<text class="share[^>]*>([\d.]+)</text>', figure)
    assert shown == [f"{weight:.2f}" for weight in weights.tolist()]
    values = [float(value) for value in re.findall(r'<text class="on" x[^>]*>(\d+)</text>', figure)]
    assert values == [40, 20, 10]
    answer = weights @ torch.tensor(values)
    assert f">{answer:.1f}</text>" in figure


def test_readme_example_gives_the_numbers_in_its_comments():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    listing = re.search(r"```python\n(.*?)```", readme, flags=re.DOTALL)[1]
    names = {}
    exec(listing.split("attention(torch.zeros")[0], names)
    attention, keys, values = names["attention"], names["keys"], names["values"]
    assert isinstance(attention, d2lattn.DotProductAttention)
    nothing_asked = torch.zeros(1, 1, 2)
    assert attention(nothing_asked, keys, values).item() == 30
    assert attention(nothing_asked, keys, values, torch.tensor([2])).item() == 15
    assert attention.attention_weights.tolist() == [[[0.5, 0.5, 0.0]]]
