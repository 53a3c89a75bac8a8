"""Real sentences: a reader for Tatoeba's English-French pairs, and the command that fetches them.

The file has three columns: English, French, and the attribution that its licence (CC BY 2.0
France) asks to keep. ``python -m d2lattn.corpus.tatoeba`` downloads it; :func:`read_tatoeba` reads
it, or any file of that format that you already have, zipped or not.

Nothing is ever unpacked: the one text inside an archive is read in place, up to a limit, so a
hostile archive can neither write outside its folder nor fill the disk.
"""

import argparse
import hashlib
import os
import re
import sys
import tempfile
import time
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable
from http.client import HTTPException
from pathlib import Path
from random import Random
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from d2lattn.corpus.pairs import Pair

URL = "https://www.manythings.org/anki/fra-eng.zip"
FILE_NAME = "fra-eng.zip"
MAX_DOWNLOAD = 100 * 2**20
MAX_TEXT = 200 * 2**20
MAX_SECONDS = 600

BY_HAND = (
    f"You can also fetch {URL} with a browser and give the file to read_tatoeba(path) as it is."
)


class DownloadError(RuntimeError):
    """The data could not be fetched; the message says why and what to do."""


# --- reading ---------------------------------------------------------------------------------

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
SPACES = str.maketrans(dict.fromkeys("\u00a0\u202f\u2009", " ") | {"’": "'", "…": "..."})


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


def read_tatoeba(
    path: str | os.PathLike[str], *, max_tokens: int | None = None, max_pairs: int | None = None
) -> list[Pair]:
    """Read English-French pairs, tokenised, in the order of the file.

    Args:
        path: a text file of three columns with tabs between them, or a zip archive with one.
        max_tokens: leave out pairs with a longer side.
        max_pairs: stop after so many.

    Returns:
        Pairs without links: nobody has aligned them. A pair that comes twice is kept once. One
        English sentence may have many translations; :func:`references` groups them.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is empty, is a web page, is not UTF-8, has another number of columns,
            or is an archive that is damaged, too large or not to be trusted.
    """
    for name, limit in (("max_tokens", max_tokens), ("max_pairs", max_pairs)):
        if limit is not None and limit < 1:
            raise ValueError(f"{name} is {limit}; a number from 1 up is needed")
    pairs: dict[tuple[tuple[str, ...], tuple[str, ...]], Pair] = {}
    for english, french in _columns(Path(path)):
        source, target = tokenize(english), tokenize(french, french=True)
        if max_tokens is not None and max(len(source), len(target)) > max_tokens:
            continue
        pairs.setdefault((source, target), Pair(source, target))
        if max_pairs is not None and len(pairs) == max_pairs:
            break
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
        raise ValueError(
            f"valid is {valid} and test is {test}; shares from 0 up, at most 1 together, are needed"
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


def _columns(path: Path) -> list[tuple[str, str]]:
    """Check a file and give its first two columns."""
    data = _content(path)
    if not data.strip():
        raise ValueError(f"{path} is empty")
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<":
        raise ValueError(
            f"{path} holds a web page, not sentence pairs: the server sent an error page. {BY_HAND}"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path} is not UTF-8 (line {number}): save it as UTF-8, it may be Latin-1 now"
        ) from None
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.rstrip("\r")
        if not line.strip():
            continue
        columns = line.split("\t")
        if len(columns) != 3:
            raise ValueError(
                f"{path} has {len(columns)} columns in line {number}; three are needed, with tabs "
                f"between them: English, French, attribution"
            )
        if not (columns[0].strip() and columns[1].strip()):
            raise ValueError(f"{path} has an empty sentence in line {number}")
        rows.append((columns[0], columns[1]))
    return rows


def _content(path: Path) -> bytes:
    """Read a text file, or the one text inside a zip archive."""
    with path.open("rb") as file:
        if file.read(2) == b"PK":
            return _zipped(path)
        file.seek(0)
        data = file.read(MAX_TEXT + 1)
    if len(data) > MAX_TEXT:
        raise ValueError(f"{path} is larger than {MAX_TEXT:,} bytes; no list of pairs is")
    return data


def _zipped(path: Path) -> bytes:
    """Read the one text in an archive, in place and no further than the limit."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            for name in names:
                if name.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", name) or ":" in name:
                    raise ValueError(
                        f"{path} is not to be trusted: it holds a file named {name!r}, outside of "
                        f"its own folder. {BY_HAND}"
                    )
            texts = [
                name
                for name in names
                if name.endswith((".txt", ".tsv")) and not Path(name).name.startswith("_")
            ]
            if len(texts) != 1:
                raise ValueError(
                    f"{path} holds {len(texts)} texts ({', '.join(names[:5])}); one .txt or .tsv "
                    f"file is needed"
                )
            data = b""
            too_large = archive.getinfo(texts[0]).file_size > MAX_TEXT
            if not too_large:  # as it says; it may lie
                with archive.open(texts[0]) as file:
                    data = file.read(MAX_TEXT + 1)
                too_large = len(data) > MAX_TEXT
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(
            f"{path} is a damaged archive ({error}): delete it and download it again. {BY_HAND}"
        ) from None
    if too_large:
        raise ValueError(
            f"{path} is not to be trusted: it unpacks to more than {MAX_TEXT:,} bytes. {BY_HAND}"
        )
    return data


# --- downloading -----------------------------------------------------------------------------


class _HttpsOnly(HTTPRedirectHandler):
    """Follows redirects, but none to a plain connection."""

    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        if not newurl.lower().startswith("https://"):
            raise DownloadError(f"the server redirects to {newurl}, which is not HTTPS. {BY_HAND}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def cache_directory(cache: str | os.PathLike[str] | None = None) -> Path:
    """Where downloads go: the argument, or ``D2LATTN_CACHE``, or the user's own cache.

    >>> str(cache_directory("here"))
    'here'
    """
    if cache is not None:
        return Path(cache).expanduser()
    chosen = os.environ.get("D2LATTN_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "d2lattn"


def download_tatoeba(
    cache: str | os.PathLike[str] | None = None,
    *,
    url: str = URL,
    checksum: str | None = None,
    timeout: float = 30.0,
    max_bytes: int = MAX_DOWNLOAD,
    handlers: tuple[Any, ...] = (),
) -> Path:
    """Download Tatoeba's English-French pairs, check them, and give the path of the archive.

    The file appears under its name only when it is whole and has been read through; whatever
    fails before leaves nothing behind. A file that is already there is checked and kept.

    Args:
        cache: the folder; by default that of :func:`cache_directory`.
        url: where from; HTTPS alone is spoken.
        checksum: the SHA-256 that the file must have, in hexadecimal digits. The data grows every
            week, so there is none by default.
        timeout: seconds to wait for each answer of the server.
        max_bytes: the largest file to accept.
        handlers: ``urllib.request`` handlers to add, for a proxy.

    Raises:
        DownloadError: no network, a refusal, a wrong checksum, an unusable answer, or a folder
            that cannot be written; the message says what to do.
    """
    if not url.lower().startswith("https://"):
        raise ValueError(f"url is {url}; an address that begins with https:// is needed")
    if checksum is not None and not re.fullmatch("[0-9a-fA-F]{64}", checksum):
        raise ValueError(
            f"checksum is {checksum!r}; the 64 hexadecimal digits of SHA-256 are needed"
        )
    folder = cache_directory(cache)
    path = folder / FILE_NAME
    if path.exists():
        _check(path, checksum)
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=".tatoeba-", suffix=".part")
    except OSError as error:
        raise DownloadError(
            f"the cache folder {folder} cannot be written ({error.strerror or error}): choose "
            f"another by D2LATTN_CACHE or the cache argument"
        ) from error
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            _fetch(url, file.write, timeout, max_bytes, handlers)
        _check(part, checksum)
        os.replace(part, path)
    except OSError as error:  # the disk is full, or the folder went away
        raise DownloadError(
            f"{path} could not be written ({error.strerror or error}): make room, or choose "
            f"another folder by D2LATTN_CACHE or the cache argument"
        ) from error
    finally:
        part.unlink(missing_ok=True)
    return path


def _fetch(
    url: str,
    write: Callable[[bytes], Any],
    timeout: float,
    max_bytes: int,
    handlers: tuple[Any, ...],
) -> None:
    """Stream an answer, and refuse one that is too large, too slow, cut off or a web page."""
    request = Request(url, headers={"User-Agent": "d2lattn (Attention You Can Run)"})
    deadline = time.monotonic() + MAX_SECONDS
    received = 0
    try:
        with build_opener(_HttpsOnly, *handlers).open(request, timeout=timeout) as answer:
            announced = answer.headers.get("Content-Length")
            expected = int(announced) if announced and announced.isdigit() else None
            if "html" in answer.headers.get("Content-Type", ""):
                raise DownloadError(
                    f"{url} answers with a web page in place of the data. {BY_HAND}"
                )
            while chunk := answer.read(2**16):
                received += len(chunk)
                if received > max_bytes or (expected or 0) > max_bytes:
                    raise DownloadError(
                        f"{url} sends more than {max_bytes:,} bytes; the download was stopped"
                    )
                if time.monotonic() > deadline:
                    raise DownloadError(
                        f"{url} took more than {MAX_SECONDS} s; the download was stopped. {BY_HAND}"
                    )
                _write(write, chunk)
    except _WriteError as error:
        raise error.cause from None
    except HTTPError as error:
        raise DownloadError(f"{url} answers {error.code} {error.reason}. {BY_HAND}") from error
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise DownloadError(
            f"{url} cannot be reached ({reason}): check the connection and try again. {BY_HAND}"
        ) from error
    if expected is not None and received != expected:
        raise DownloadError(
            f"{url} broke off after {received:,} of {expected:,} bytes: try again. {BY_HAND}"
        )


class _WriteError(Exception):
    """Tells an error of the disk from one of the network: both are ``OSError``."""

    def __init__(self, cause: OSError) -> None:
        self.cause = cause


def _write(write: Callable[[bytes], Any], chunk: bytes) -> None:
    try:
        write(chunk)
    except OSError as error:
        raise _WriteError(error) from None


def _check(path: Path, checksum: str | None) -> None:
    """Raise :class:`DownloadError` unless a file is what was asked for."""
    if checksum is not None:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != checksum.lower():
            raise DownloadError(
                f"the file has the SHA-256 {found}, and {checksum.lower()} was asked for: it is "
                f"another edition, or was altered. Delete {path} if it stands there, or give the "
                f"checksum of the edition you want"
            )
    try:
        _columns(path)
    except ValueError as error:
        raise DownloadError(f"what arrived is not the data: {error}") from error


def main(arguments: list[str] | None = None) -> int:
    """Run the download command and give its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m d2lattn.corpus.tatoeba",
        description="Download Tatoeba's English-French sentence pairs (CC BY 2.0 France).",
    )
    parser.add_argument("--cache", help="the folder to keep the file in (or set D2LATTN_CACHE)")
    parser.add_argument("--checksum", help="the SHA-256 that the file must have")
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds to wait for an answer")
    chosen = parser.parse_args(arguments)
    try:
        path = download_tatoeba(chosen.cache, checksum=chosen.checksum, timeout=chosen.timeout)
    except (DownloadError, ValueError) as error:
        print(f"Not downloaded: {error}", file=sys.stderr)
        return 1
    print(f"{path}: {len(_columns(path)):,} pairs, read them by read_tatoeba({str(path)!r})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
