"""The reader and the downloader of real sentences."""

import zipfile

import pytest

from d2lattn.corpus.pairs import Pair
from d2lattn.corpus.tatoeba import (
    download_tatoeba,
    read_tatoeba,
    references,
    split_by_source,
    tokenize,
)

ROWS = "Hi.\tSalut !\tCC-BY\nHi.\tBonjour.\tCC-BY\nIt’s late.\tIl est tard.\tCC-BY\n"


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "pairs.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("_about.txt", "a licence")
        file.writestr("fra.txt", ROWS)
    return path


def test_tokens():
    assert tokenize("Don't go at 10:30!") == ("do", "n't", "go", "at", "10:30", "!")
    text = "Aujourd’hui, l’avion n'est-il pas là\u202f?"
    expected = "aujourd'hui , l' avion n' est-il pas là ?"
    assert tokenize(text, french=True) == tuple(expected.split())


def test_archive_text_and_byte_order_mark_give_the_same_pairs(tmp_path, archive):
    text = tmp_path / "pairs.tsv"
    mark = b"\xef\xbb\xbf"  # also where two files were joined
    text.write_bytes(mark + ROWS.replace("\n", "\r\n").encode().replace(b"It", mark + b"It"))
    pairs = read_tatoeba(text)
    assert pairs == read_tatoeba(archive)
    assert pairs[0] == Pair(("hi", "."), ("salut", "!"))
    with pytest.raises(TypeError, match=r"^max_tokens has type float"):
        read_tatoeba(text, max_tokens=1.5)
    assert len(read_tatoeba(text, max_tokens=3)) == 2
    assert references(pairs)[("hi", ".")] == [("salut", "!"), ("bonjour", ".")]


@pytest.mark.parametrize("text", ["one column\n", "\tno English\tCC\n", "<html>404</html>\n"])
def test_text_of_another_format_is_refused(tmp_path, text):
    path = tmp_path / "bad.tsv"
    path.write_text(text)
    with pytest.raises(ValueError, match="line 1"):
        read_tatoeba(path)


def test_no_source_sentence_is_in_two_splits():
    pairs = [Pair((str(n // 2),), (str(n),)) for n in range(200)]
    splits = split_by_source(pairs, valid=0.2, test=0.1)
    assert [len(split) for split in splits] == [140, 40, 20]
    sources = [{pair.source for pair in split} for split in splits]
    assert not sources[0] & sources[1] | sources[0] & sources[2] | sources[1] & sources[2]


def test_download_is_checked_and_leaves_nothing_after_a_failure(tmp_path, archive):
    cache = tmp_path / "cache"
    page = tmp_path / "page.html"
    page.write_text("<html>404</html>\n")
    with pytest.raises(ValueError, match="line 1"):
        download_tatoeba(cache, url=page.as_uri())
    assert list(cache.iterdir()) == []
    path = download_tatoeba(cache, url=archive.as_uri())
    assert len(read_tatoeba(path)) == 3
    assert download_tatoeba(cache, url="https://nowhere.invalid") == path  # kept
