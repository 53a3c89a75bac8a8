"""Pages that repeat or map others agree with them, and paths named in guides exist."""

import re
from pathlib import Path

import nbformat
import pytest

from d2lattn.book import running_pair

ROOT = Path(__file__).resolve().parents[2]
WALKS = sorted(path for path in ROOT.glob("chapters/[0-9]*/walk.ipynb"))
NUMBERS = [path.parent.name.partition("-")[0].lstrip("0") for path in WALKS]


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def markdown(path: Path) -> str:
    cells = nbformat.read(path, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def unfolded(path: Path) -> str:
    """Return the Markdown that readers see without a click."""
    return re.sub(
        r"^(:{3,})\{dropdown\}.*?^\1$", "", markdown(path), flags=re.DOTALL | re.MULTILINE
    )


def questions(text: str) -> list[tuple[str, str]]:
    """Read number and question of each row of a table; a question may be a link."""
    rows = re.findall(r"^\| (\d+[a-z]?) \| (.*?) \|", text, re.MULTILINE)
    return [(number, re.sub(r"\[(.*?)\]\(.*?\)", r"\1", question)) for number, question in rows]


def test_landing_start_and_last_page_have_the_walks_questions():
    asked = questions(read("index.md"))
    assert [number for number, _ in asked] == NUMBERS, "give each walk a row in index.md"
    assert questions(read("chapters/the-end.md")) == asked, "see chapters/the-end.md"
    assert questions(markdown(ROOT / "chapters" / "start.ipynb")) == asked, "see start.ipynb"
    for walk, (_, question) in zip(WALKS, asked, strict=True):
        words = re.sub(r"[*_]", "", question.split(". ")[-1]).lower()
        assert words in re.sub(r"[*_]", "", markdown(walk)).lower(), f"{walk} does not ask it"


def test_every_heading_of_the_notes_map_has_a_valid_link():
    text = read("reference/notes-map.md")
    rows = re.findall(r"^\| (?!Heading|---)(.+?) \| (.+) \|$", text, re.MULTILINE)
    assert len(rows) > 50
    sources = [read(str(path.relative_to(ROOT))) for path in ROOT.glob("reference/*.md")]
    sources += [unfolded(path) for path in ROOT.glob("chapters/[0-9]*/*.ipynb")]
    labels = set(re.findall(r"^\(([\w-]+)\)=$", "\n".join(sources), re.MULTILINE))
    for heading, target in rows:
        files = re.findall(r"\]\(([^)#]+)\)", target)
        named = set(re.findall(r"\{ref\}`[^`]*<([\w-]+)>`", target))
        assert files or named, f"{heading} leads nowhere"
        assert named <= labels, f"{heading}: no section has the label {named - labels}"
        missing = [file for file in files if not (ROOT / "reference" / file).is_file()]
        assert not missing, f"{heading}: no file {missing}"
        for file, promises in re.findall(r"\]\(\.\./([^)]+\.ipynb)\)([^\[{]*)", target):
            text = unfolded(ROOT / file).replace("*", "")
            sections = set(re.findall(r"^#+ (.+)$", text, re.MULTILINE))
            lost = set(re.findall(r"\*(.+?)\*", promises)) - sections
            assert not lost, f"{heading}: {file} has no section {lost}"


def test_strip_of_the_last_page_has_the_weights_of_all_chapters():
    assert read("images/the-thread.html") == running_pair.as_html(), (
        "run: python -m d2lattn.book.running_pair > images/the-thread.html"
    )


@pytest.mark.parametrize("guide", ["README.md", "CONTRIBUTING.md"])
def test_paths_named_in_a_guide_exist(guide):
    text = re.sub(r"```.*?```", "", read(guide), flags=re.DOTALL)
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()}
    named = re.findall(r"`([\w.-]+(?:/[\w.*-]+)+/?)`|\]\(([\w./-]+)\)", text)
    paths = [a or b for a, b in named if b or a.split("/")[0] in folders]
    missing = [path for path in paths if not [*ROOT.glob(path.rstrip("/").replace("NN", "*"))]]
    missing = [path for path in missing if path.split("/")[0] not in {"_build", ".venv"}]
    assert not missing, f"mend these paths in {guide}: {missing}"
