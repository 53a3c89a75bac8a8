"""What a walk says of one training is what stands on its page, whatever another processor gives."""

import json
import re
from pathlib import Path

import nbformat
import pytest
import torch

from d2lattn.book import running_pair

CHAPTERS = Path(__file__).resolve().parents[2] / "chapters"
FRENCH = "ses vieux chiens et la vache heureuse l' ont souvent vue ici ."  # walk 4's sentence
ENGLISH = "his old dogs and the cow happy her saw often saw here ."  # a word for each
BELIEVE, AT_WORK = "04b-believe-the-picture/walk", "07b-transformer-at-work/walk"
OBJECTS, GENDERS = "objects = swapped", "exchanged, hidden = {}, {}"


def stored(name: str, code: str) -> str:
    """What the one cell with this code shows: text, or an explorable's page."""
    notebook = nbformat.read(CHAPTERS / f"{name}.ipynb", as_version=4)
    (cell,) = (c for c in notebook.cells if c.cell_type == "code" and code in c.source)
    (output,) = cell.outputs
    return output.text if "text" in output else output.data["text/html"]


def row(table: str, label: str) -> list[float]:
    """The numbers of the one line that begins with this label."""
    (line,) = (x for x in table.splitlines() if re.match(rf"{re.escape(label)} {{2,}}", x))
    return [float(number) for number in re.findall(r"\d\.\d\d", line)]


def test_one_word_alone_looks_beside_on_the_page_of_4():
    page = stored("04-bahdanau/walk", "Storyboard(\n    english")
    source, target, scores = (
        json.JSONDecoder().raw_decode(page.split(f'"{field}":')[1])[0]
        for field in ("source", "target", "scores")
    )
    weights = torch.tensor(scores).softmax(dim=-1)[:-1]  # but for <eos>
    assert target[:-1] == FRENCH.split()
    its_own = [source.index(word) for word in ENGLISH.split()]
    assert [target[t] for t, own in enumerate(its_own) if weights[t, own] <= 0.15] == ["l'"]


def test_the_object_is_read_where_4b_says():
    table = stored(BELIEVE, OBJECTS)
    (one_way, _, both_ways, _), (_, turned, kept, _) = row(table, "none"), row(table, "at her")
    assert min(one_way, both_ways, kept) > 0.6
    assert turned > 0.5
    assert row(table, "at often and saw")[3] > 0.6


def test_the_gender_is_read_where_7b_says():
    table = stored(AT_WORK, GENDERS)
    assert row(table, "the")[0] > 0.5
    assert row(table, "cow")[1] > 0.6
    assert row(table, "cow, for this head")[1] > 0.2
    assert row(table, "cow, for the other 7")[0] > 0.95
    assert row(table, "the, with cow hidden")[1] > 0.5


@pytest.mark.parametrize(
    ("said", "label", "column"),
    [
        ("at *cow*: *le* gets {}", "cow", 1),
        ("*la* keeps {}", "the", 0),
        ("*la* falls to {}", "the", 2),
        ("fourth head alone, *le* gets {}", "cow, for this head", 1),
        ("for the seven others together, {}", "cow, for the other 7", 1),
        ("while *cow* is hidden, and *le* gets {}", "the, with cow hidden", 1),
    ],
)
def test_7b_says_the_numbers_that_stand_above(said, label, column):
    notebook = nbformat.read(CHAPTERS / f"{AT_WORK}.ipynb", as_version=4)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    number = row(stored(AT_WORK, GENDERS), label)[column]
    assert said.format(f"{number:.2f}") in text


def test_the_strip_ends_as_7b_says():
    the, _, happy = running_pair.LEARNED["7 self, head 4"]
    assert the[2] > 0.75
    assert happy[2] > 0.6
    assert torch.tensor(running_pair.LEARNED["7 cross"]).argmax(dim=1).tolist() == [0, 2, 1]


@pytest.mark.parametrize("name", [BELIEVE, AT_WORK])
def test_what_forge_and_audit_shows_was_translated_without_a_mistake(name):
    page = stored(name, "forge = Forge(")
    found = re.findall(
        r'"source":(\[[^]]*\]),"target":(\[[^]]*\]),"sure".*?"translations":(\[[^]]*\])', page
    )
    assert len(found) == 5
    assert " ".join(json.loads(found[0][0])).startswith("his old dogs and the happy cow")
    for _, target, translations in found:
        assert json.loads(translations) == [" ".join(json.loads(target))] * 2


def test_4b_says_what_stands_behind_case_5():
    tallies = re.search(r'"tallies":(\{.*?\}\}),', stored(BELIEVE, "forge = Forge("))[1]
    links, _, _, changed, other = map(
        sum, zip(*json.loads(tallies)["1 0 0 form"]["bins"], strict=True)
    )
    said = f"changes {changed / links:.0%} of the words, hiding another {100 * other / links:.0f}."
    notebook = nbformat.read(CHAPTERS / f"{BELIEVE}.ipynb", as_version=4)
    assert any(said.replace("%", " %") in cell.source for cell in notebook.cells)
