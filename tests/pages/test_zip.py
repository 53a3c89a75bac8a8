"""The book as one file: unpacked, it is read from a folder, without a server."""

from zipfile import ZipFile

import pytest

from tools import make_zip

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def unpacked(book, tmp_path_factory):
    folder = tmp_path_factory.mktemp("a folder with spaces, ü and #")
    make_zip.write(folder / "book.zip")
    with ZipFile(folder / "book.zip") as packed:
        assert packed.testzip() is None
        packed.extractall(folder)
    return folder / make_zip.NAME


def test_all_pages_are_in_it(unpacked, pages):
    inside = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*.html")}
    assert {str(name) for name in inside if not name.startswith("_static/")} == set(
        pages
    ) - make_zip.LEFT_OUT


@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "chapters/03-scoring-functions/walk.html",
        "chapters/07-transformer/walk.html",
        "reference/quizzes.html",
        "search.html?q=bandwidth",
    ],
)
def test_it_opens_from_a_folder(visit_folder, unpacked, name):
    seen = visit_folder(unpacked, name)
    assert seen.look() + seen.end() == []


def test_a_book_that_is_not_built_gets_one_line(tmp_path):
    with pytest.raises(SystemExit, match="make book"):
        make_zip.write(tmp_path / "book.zip", tmp_path)
