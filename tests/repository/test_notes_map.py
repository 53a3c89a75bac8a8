"""The map from the study notes to the chapters is complete, and tells the truth."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTES = ROOT.parent / "shared" / "notes"
MAP = (ROOT / "reference" / "notes-map.md").read_text(encoding="utf-8")


def plain(text):
    """A heading without spaces and emphasis: what tells it from another."""
    return re.sub(r"[\s_*]", "", text)


def headings(note):
    """Every heading of a note: its title, and each line with hashes outside of code listings."""
    found = re.findall(r'^title: *"?(.+?)"?$', note, flags=re.MULTILINE)
    body = re.sub(r"^ *```.*?^ *```", "", note, flags=re.MULTILINE | re.DOTALL)
    found += re.findall(r"^#+ +(.+)$", body, flags=re.MULTILINE)
    if "On this page" in note:  # a page saved as text has no hashes: its own list of contents
        page = note.split("On this page")[1]
        found += [re.search(r"^([A-Z]\w+(?: \w+)+)\n\nPrevious", page, flags=re.MULTILINE)[1]]
        contents = page.split("1. Deep Learning")[0]
        found += re.findall(r"^  • (.+)$", contents, flags=re.MULTILINE)
    return found


def sections():
    """The map's tables: one list of (heading, where) for each note."""
    return [
        re.findall(r"^\| (?!Heading|---)(.+?) \| (.+) \|$", section, flags=re.MULTILINE)
        for section in re.split(r"^## ", MAP, flags=re.MULTILINE)[1:]
    ]


ROWS = [row for section in sections() for row in section]


def chapter(number):
    """The chapter's notebook, if it is written."""
    return next((ROOT / "chapters").glob(f"{number:02}-*/walk.ipynb"), None)


def labels():
    """Every section label of the book."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "reference").glob("*.md")]
    for notebook in (ROOT / "chapters").glob("[0-9]*/*.ipynb"):
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        texts += ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
    return set(re.findall(r"^\(([\w-]+)\)=$", "\n".join(texts), flags=re.MULTILINE))


@pytest.mark.skipif(not NOTES.is_dir(), reason="the study notes are not beside the checkout")
def test_every_heading_of_every_note_is_in_the_map_in_order():
    notes = [path.read_text(encoding="utf-8") for path in sorted(NOTES.glob("*.txt"))]
    # the files stand in the order in which the book numbers the notes
    assert len(notes) == len(sections()) == 5
    for note, section in zip(notes, sections(), strict=True):
        wanted = [plain(heading) for heading in headings(note)]
        assert len(wanted) >= 4
        assert [plain(heading) for heading, _ in section] == wanted


@pytest.mark.parametrize(("heading", "where"), ROWS, ids=[heading for heading, _ in ROWS])
def test_every_row_leads_somewhere(heading, where):
    linked = re.findall(r"\]\(([^)#]+)\)", where)
    referred = re.findall(r"\{ref\}`[^`]*<([\w-]+)>`", where)
    to_come = re.findall(r"Chapter (\d) \*\(to come\)\*", where)
    assert linked or referred or to_come, f"{heading} leads nowhere"
    for target in linked:
        assert (ROOT / "reference" / target).resolve().is_file(), f"{target} does not exist"
    for label in referred:
        assert label in labels(), f"no section has the label {label}"
    for number in map(int, to_come):
        assert chapter(number) is None, f"chapter {number} is written: link to it"


def test_the_landing_page_has_a_place_and_a_drawing_for_each_written_chapter_and_no_other():
    places = (ROOT / "website" / "theme" / "parts" / "questions.html").read_text(encoding="utf-8")
    numbers = re.findall(r'{{ chapter\("(\w+)"\) }}', places)
    walks = [path.parent.name for path in (ROOT / "chapters").glob("*/walk.ipynb")]
    assert sorted(numbers) == sorted(name.partition("-")[0].lstrip("0") for name in walks)
    assert all(
        (ROOT / "website" / "theme" / "drawings" / f"{number}.svg").is_file() for number in numbers
    )


def test_the_landing_page_calls_no_written_chapter_to_come():
    index = (ROOT / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \|(.*)$", index, flags=re.MULTILINE)
    written = {int(path.parent.name[:2]) for path in (ROOT / "chapters").glob("[0-9]*/walk.ipynb")}
    numbers = [int(number) for number, _ in rows]
    assert numbers == sorted(written | set(numbers))
    for number, row in rows:
        if "*(to come)*" in row:
            assert chapter(int(number)) is None, f"chapter {number} is written: say so"
