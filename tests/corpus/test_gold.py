"""A hundred pairs that a person read word by word, and that the generator still makes."""

import re
from pathlib import Path

import pytest

from d2lattn.corpus import generate

FIXTURE = Path(__file__).with_name("gold_100.txt")
LINK = re.compile(r"(\S+)\[(\d+)\]=(\S+)\[(\d+)\]")


def read():
    text = "\n".join(
        line for line in FIXTURE.read_text(encoding="utf-8").splitlines() if line[:1] != "#"
    )
    for block in text.strip().split("\n\n"):
        _, english, french, *rows = block.splitlines()
        yield english[2:].split(), french[2:].split(), [LINK.findall(row) for row in rows]


HUNDRED = list(read())
MADE = generate(100, seed=100)


@pytest.mark.parametrize("number", range(100))
def test_generator_still_produces_the_gold_pairs(number):
    english, french, rows = HUNDRED[number]
    pair = MADE[number]
    assert list(pair.source) == english
    assert list(pair.target) == french
    read_links = []
    for row in rows:
        for source_word, source, target_word, target in row:
            assert english[int(source)] == source_word
            assert french[int(target)] == target_word
        read_links.append({(int(source), int(target)) for _, source, _, target in row})
    assert read_links == [pair.sure, pair.possible - pair.sure, pair.agreement]
