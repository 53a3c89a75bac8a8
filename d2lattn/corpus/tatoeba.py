"""Real sentences: English-French pairs from Tatoeba, and the command that downloads them.

The file has three columns: English, French, and the attribution that its licence (CC BY 2.0
France) requires. ``python -m d2lattn.corpus.tatoeba`` downloads it; :func:`read_tatoeba` reads it,
or any file of that format, zipped or not.
"""

import argparse
import io
import os
import re
import shutil
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from urllib.request import Request, urlopen

from d2lattn.checks import argument_error, check_sizes
from d2lattn.corpus.pairs import Pair

URL = "https://www.manythings.org/anki/fra-eng.zip"

TOKEN = re.compile(
    r"""
    \d+(?:[.,:]\d+)*               # 10:30, 3.5
    | (?:\w+?(?=n't\b)) | n't\b    # do n't
    | '(?:s|m|re|ve|ll|d)\b        # boy 's
    | \w+(?:[-.]\w+)*              # est-ce, a.m
    | \.\.\. | \S                  # everything else stands alone
    """,
    re.VERBOSE,
)
ELISION = re.compile(r"\b((?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)')(?=\w)")
FRENCH_TOKEN = re.compile(
    r"""
    \d+(?:[.,:]\d+)*
    | (?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)'(?=[\s\w])   # l' avion
    | \w+(?:[-.']\w+)*                                          # est-ce, aujourd'hui
    | \.\.\. | \S
    """,
    re.VERBOSE,
)
SPACES = str.maketrans(
    dict.fromkeys("\u00a0\u202f\u2009", " ") | {"’": "'", "…": "...", "\ufeff": ""}
)


def tokenize(text: str, *, french: bool = False) -> tuple[str, ...]:
    """Lower the case, split off punctuation, and write each elided word apart.

    No-break spaces become spaces and both apostrophes one.

    >>> tokenize("Don't go!"), tokenize("L’avion n'est pas là\u202f!", french=True)
    (('do', "n't", 'go', '!'), ("l'", 'avion', "n'", 'est', 'pas', 'là', '!'))
    """
    text = unicodedata.normalize("NFC", text).translate(SPACES).lower()
    if french:
        return tuple(FRENCH_TOKEN.findall(ELISION.sub(r"\1 ", text)))
    return tuple(TOKEN.findall(text))


def read_tatoeba(path: str | os.PathLike[str], *, max_tokens: int | None = None) -> list[Pair]:
    """Read English-French pairs, tokenized, in the order of the file.

    Args:
        path: a text file of three columns with tabs between them, or a zip archive with one.
        max_tokens: leave out pairs with a longer side.

    Returns:
        Pairs without links, because they are not aligned; duplicates are dropped. An English
        sentence may have many translations; :func:`references` groups them.

    Raises:
        OSError: there is no such file, or it cannot be read.
        ValueError: a line has not three columns, is not UTF-8, or the archive is not one text.
    """
    if max_tokens is not None:
        check_sizes(max_tokens=max_tokens)
    pairs: dict[tuple[tuple[str, ...], tuple[str, ...]], Pair] = {}
    for english, french in _read_columns(Path(path)):
        source, target = tokenize(english), tokenize(french, french=True)
        if max_tokens is not None and max(len(source), len(target)) > max_tokens:
            continue
        pairs.setdefault((source, target), Pair(source, target))
    return list(pairs.values())


def references(pairs: Iterable[Pair]) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    """Group all translations of each source sentence.

    >>> references([Pair(("hi",), ("salut",)), Pair(("hi",), ("bonjour",))])
    {('hi',): [('salut',), ('bonjour',)]}
    """
    grouped: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for pair in pairs:
        grouped.setdefault(pair.source, []).append(pair.target)
    return grouped


def split_by_source(
    pairs: Iterable[Pair], *, valid: float = 0.05, test: float = 0.1, seed: int = 0
) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """Split into training, validation and test: no English sentence is in two of them.

    Args:
        pairs: what to split.
        valid: the share of English sentences for validation.
        test: the share of English sentences for the test.
        seed: decides which.
    """
    if min(valid, test) < 0 or valid + test > 1:
        shares = f"{valid} and {test}"
        raise argument_error(
            ValueError, "valid and test", shares, "shares from 0 up, at most 1 together"
        )
    rng = Random(seed)
    pairs = list(pairs)
    dice = {pair.source: 0.0 for pair in pairs}
    for source in dice:
        dice[source] = rng.random()
    ranked = sorted(dice, key=dice.__getitem__)
    num_test, num_valid = round(test * len(ranked)), round(valid * len(ranked))
    place = {source: 2 for source in ranked[:num_test]}
    place |= {source: 1 for source in ranked[num_test : num_test + num_valid]}
    splits: tuple[list[Pair], list[Pair], list[Pair]] = ([], [], [])
    for pair in pairs:
        splits[place.get(pair.source, 0)].append(pair)
    return splits


def _read_columns(path: Path) -> Iterator[tuple[str, str]]:
    """Read English and French, line by line, from a text file or an archive with one text."""
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            file.seek(0)
            yield from _read_rows(path, io.TextIOWrapper(file, "utf-8-sig"))
            return
        with zipfile.ZipFile(file) as archive:
            texts = [
                name
                for name in archive.namelist()
                if re.search(r"(^|/)[^._/][^/]*\.(txt|tsv)$", name) and "__MACOSX" not in name
            ]
            if len(texts) != 1:
                raise ValueError(f"{path} holds {len(texts)} texts; one .txt or .tsv is needed")
            with archive.open(texts[0]) as text:
                yield from _read_rows(path, io.TextIOWrapper(text, "utf-8-sig"))


def _read_rows(path: Path, text: Iterable[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        columns = line.rstrip("\r\n").split("\t")
        if len(columns) != 3 or not (columns[0].strip() and columns[1].strip()):
            raise ValueError(
                f"{path}, line {number}: three columns with tabs between them are needed "
                "(English, French, attribution)"
            )
        yield columns[0], columns[1]


def cache_directory(cache: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder for downloads: the argument, ``D2LATTN_CACHE``, or the user's cache.

    >>> str(cache_directory("here"))
    'here'
    """
    chosen = cache or os.environ.get("D2LATTN_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "d2lattn"


def download_tatoeba(cache: str | os.PathLike[str] | None = None, *, url: str = URL) -> Path:
    """Download Tatoeba's English-French pairs and return the path of the archive.

    A file that is already there is kept. A new one gets its name only when it is complete and has
    been read once, so that a failure leaves nothing behind.

    Args:
        cache: the folder; by default :func:`cache_directory`.
        url: the archive's address.

    Raises:
        OSError: no network, an HTTP error, or a folder that cannot be written.
        ValueError: the file does not hold sentence pairs.
    """
    path = cache_directory(cache) / "fra-eng.zip"
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    try:
        request = Request(url, headers={"User-Agent": "d2lattn (Attention You Can Run)"})
        with urlopen(request, timeout=30) as answer, part.open("wb") as file:
            shutil.copyfileobj(answer, file)
        for _ in _read_columns(part):
            pass
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path


def main() -> None:
    """Download the pairs and say where they are."""
    parser = argparse.ArgumentParser(
        prog="python -m d2lattn.corpus.tatoeba",
        description="Download Tatoeba's English-French sentence pairs (CC BY 2.0 France).",
    )
    parser.add_argument("--cache", help="the folder to keep the file in (or set D2LATTN_CACHE)")
    path = download_tatoeba(parser.parse_args().cache)
    pairs = sum(1 for _ in _read_columns(path))
    print(f"{path}: {pairs:,} pairs; read them with read_tatoeba({str(path)!r})")


if __name__ == "__main__":
    main()
