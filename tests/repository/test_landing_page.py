"""The landing page and the README compute what they say."""

import doctest
import re
from pathlib import Path

import torch

import d2lattn

ROOT = Path(__file__).resolve().parents[2]


def test_the_numbers_on_the_landing_page_are_what_its_lines_print():
    failed, attempted = doctest.testfile(
        str(ROOT / "index.md"), module_relative=False, encoding="utf-8"
    )
    assert attempted == 8
    assert failed == 0


def test_the_first_drawing_shows_the_numbers_of_the_lines_under_it():
    drawing = (ROOT / "images" / "one-look.svg").read_text(encoding="utf-8")
    weights = torch.softmax(torch.tensor([3.0, 1.0, 0.0]), dim=0)
    shown = re.findall(r"<text[^>]*>(0\.\d{3})</text>", drawing)
    assert shown == [f"{weight:.3f}" for weight in weights.tolist()]
    lengths = re.findall(r'one-look-weight" [^>]*width="([\d.]+)"', drawing)
    drawn = torch.tensor([float(length) for length in lengths])
    assert torch.allclose(drawn / drawn.sum(), weights, atol=2e-3)
    answer = weights @ torch.tensor([10.0, 20.0, 40.0])
    assert f">{answer:.2f}</text>" in drawing


def test_the_readme_example_gives_what_its_comments_say():
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
