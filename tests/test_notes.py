"""The listings of the study notes run with the package, and give what it gives."""

import math
import re
from pathlib import Path
from textwrap import dedent

import pytest
import torch
from torch import nn

import d2lattn as d2l

NOTES = sorted((Path(__file__).parents[2] / "shared" / "notes").glob("004*.txt"))
pytestmark = pytest.mark.skipif(not NOTES, reason="the notes are not beside this checkout")
LENS = torch.tensor([2, 5])


@pytest.fixture(scope="module")
def notes():
    """What the listings define."""
    names = {"torch": torch, "nn": nn, "math": math, "d2l": d2l}
    for listing in re.findall(r"```py\n(.*?)```", NOTES[0].read_text("utf-8"), re.DOTALL):
        exec(dedent(listing), names)
    return names


@pytest.mark.parametrize(
    ("name", "arguments", "inputs"),
    [
        ("NWKernelRegression", (), [(4,), (4, 6), (4, 6)]),
        ("AdditiveAttention", (4, 6, 8, 0.1), [(2, 3, 6), (2, 5, 4), (2, 5, 4), LENS]),
        ("DotProductAttention", (0.1,), [(2, 3, 4), (2, 5, 4), (2, 5, 4), LENS]),
        ("PositionalEncoding", (32, 0), [(1, 60, 32)]),
    ],
)
def test_class_of_the_notes_gives_what_ours_gives(notes, name, arguments, inputs):
    theirs, ours = notes[name](*arguments).eval(), getattr(d2l, name)(*arguments).eval()
    theirs.load_state_dict(ours.state_dict())
    inputs = [torch.randn(shape) if isinstance(shape, tuple) else shape for shape in inputs]
    torch.testing.assert_close(theirs(*inputs), ours(*inputs), rtol=1e-5, atol=1e-5)
    if hasattr(theirs, "attention_weights"):
        torch.testing.assert_close(theirs.attention_weights, ours.attention_weights)


def test_other_listings_use_names_of_the_package(notes):
    assert isinstance(notes["attention"], d2l.MultiHeadAttention)
    theirs = notes["Seq2SeqAttentionDecoder"](10, 8, 16, 2)
    ours = d2l.Seq2SeqAttentionDecoder(10, 8, 16, 2)
    assert isinstance(theirs, d2l.Decoder)
    assert dict(theirs.named_parameters()).keys() == dict(ours.named_parameters()).keys()
