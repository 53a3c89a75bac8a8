"""Real sentences: a reader for Tatoeba's English-French pairs, and the command that fetches them.

The file has three columns: English, French, and the attribution that its licence (CC BY 2.0
France) asks to keep. ``python -m d2lattn.corpus.tatoeba`` downloads it; :func:`read_tatoeba` reads
it, or any file of that format that you already have, zipped or not.

Nothing is ever unpacked: the one text inside an archive is read in place, line by line and up to a
limit, so a hostile archive can neither write outside its folder nor fill the disk or the memory.
"""

import argparse
import hashlib
import lzma
import os
import queue
import re
import secrets
import sys
import threading
import time
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from random import Random
from typing import IO, Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from d2lattn.checks import argument_error
from d2lattn.corpus.pairs import Pair

URL = "https://www.manythings.org/anki/fra-eng.zip"
FILE_NAME = "fra-eng.zip"
MAX_DOWNLOAD = 100 * 2**20
MAX_TEXT = 200 * 2**20
MAX_LINE = 2**16
MAX_SECONDS = 600

ANOTHER_FOLDER = "choose another folder by D2LATTN_CACHE or the cache argument"
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
        max_pairs: stop after so many, and read (and check) no further.

    Returns:
        Pairs without links: nobody has aligned them. A pair that comes twice is kept once. One
        English sentence may have many translations; :func:`references` groups them.

    Raises:
        OSError: there is no such file, or it cannot be read.
        ValueError: the file is empty, is a web page, is not UTF-8, has another number of columns,
            is too large, or is an archive that is damaged or not to be trusted.
    """
    for name, limit in (("max_tokens", max_tokens), ("max_pairs", max_pairs)):
        if limit is not None and limit < 1:
            raise argument_error(ValueError, name, limit, "to be 1 or more")
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


DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    OSError,  # a seek to before the beginning
    EOFError,
    UnicodeDecodeError,  # a name within
    NotImplementedError,  # a method of compression that Python does not know
    RuntimeError,  # encrypted
)


def _columns(path: Path) -> Iterator[tuple[str, str]]:
    """Check a text file, or the one text in an archive, line by line; give its first columns."""
    with path.open("rb") as file:
        zipped = file.read(2) == b"PK"
        file.seek(0)
        if not zipped:
            yield from _rows(path, file)
            return
        try:
            with zipfile.ZipFile(file) as archive, _only_text(path, archive) as text:
                yield from _rows(path, text)
        except DAMAGED as error:
            raise ValueError(
                f"{path} is a damaged archive ({error}): delete it and download it again. {BY_HAND}"
            ) from None


def _rows(path: Path, text: IO[bytes]) -> Iterator[tuple[str, str]]:
    number, size, empty, encoding = 0, 0, True, "utf-8-sig"
    while line := text.readline(MAX_LINE):
        number, size = number + 1, size + len(line)
        if size > MAX_TEXT:
            raise _too_large(path)
        if empty and line.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
            raise ValueError(
                f"{path} holds a web page, not sentence pairs: the server sent an error page. "
                f"{BY_HAND}"
            )
        if len(line) == MAX_LINE:
            raise ValueError(f"{path} has {MAX_LINE:,} bytes or more in line {number}")
        try:
            row = line.decode(encoding).rstrip("\r\n")
        except UnicodeDecodeError:
            raise ValueError(
                f"{path} is not UTF-8 (line {number}): save it as UTF-8, it may be Latin-1 now"
            ) from None
        encoding = "utf-8"  # only the first line may begin with a byte order mark
        if not row.strip():
            continue
        empty = False
        columns = row.split("\t")
        if len(columns) != 3:
            raise ValueError(
                f"{path} has {len(columns)} columns in line {number}; three are needed, with tabs "
                f"between them: English, French, attribution"
            )
        if not (columns[0].strip() and columns[1].strip()):
            raise ValueError(f"{path} has an empty sentence in line {number}")
        yield columns[0], columns[1]
    if empty:
        raise ValueError(f"{path} is empty")


def _only_text(path: Path, archive: zipfile.ZipFile) -> IO[bytes]:
    """Open the one text in an archive, in place."""
    names = archive.namelist()
    for name in names:
        if name.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", name) or ":" in name:
            raise ValueError(
                f"{path} is not to be trusted: it holds a file named {name!r}, outside of "
                f"its own folder. {BY_HAND}"
            )
    texts = [  # what begins with a point or a line, or lies in __MACOSX, is about other files
        name
        for name in names
        if name.endswith((".txt", ".tsv")) and not re.search(r"(^|/)([._][^/]*|__MACOSX/.*)$", name)
    ]
    if len(texts) != 1:
        raise ValueError(
            f"{path} holds {len(texts)} texts ({', '.join(names[:5])}); one .txt or .tsv "
            f"file is needed"
        )
    text = archive.getinfo(texts[0])
    if text.compress_type == zipfile.ZIP_BZIP2:  # whose pieces Python unpacks whole
        raise ValueError(
            f"{path} is packed by bzip2, of which 4 KB may unpack to 9 GB; a text packed by "
            f"deflate is needed"
        )
    if text.file_size > MAX_TEXT:  # as it says; it may lie
        raise _too_large(path)
    return archive.open(texts[0])


def _too_large(path: Path) -> ValueError:
    return ValueError(
        f"{path} is not to be trusted: it holds more than {MAX_TEXT:,} bytes of text, and no list "
        f"of pairs does. {BY_HAND}"
    )


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
    """Where the file is kept: the argument, or ``D2LATTN_CACHE``, or the user's own cache.

    >>> str(cache_directory("here"))
    'here'

    Raises:
        DownloadError: it lies in a home folder that nobody knows.
    """
    chosen = os.environ.get("D2LATTN_CACHE") or None if cache is None else cache
    try:
        if chosen is not None:
            return Path(chosen).expanduser()
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "d2lattn"
    except RuntimeError as error:
        raise DownloadError(f"{str(error).rstrip('.')}: {ANOTHER_FOLDER}") from None


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
        timeout: seconds of silence after which the server is given up. However it sends, the
            whole download ends after ``MAX_SECONDS``.
        max_bytes: the largest file to accept.
        handlers: ``urllib.request`` handlers to add, for a proxy.

    Raises:
        DownloadError: no network, a refusal, a wrong checksum, an unusable answer, or a folder
            that is not known or cannot be written; the message says what to do.
    """
    if not url.lower().startswith("https://"):
        raise argument_error(ValueError, "url", url, "to begin with https://")
    if checksum is not None and not re.fullmatch("[0-9a-fA-F]{64}", checksum):
        raise argument_error(
            ValueError, "checksum", checksum, "the 64 hexadecimal digits of SHA-256"
        )
    folder = cache_directory(cache)
    path = folder / FILE_NAME
    try:
        if path.exists():
            _check(path, checksum)
            return path
    except OSError as error:
        raise DownloadError(
            f"{path} cannot be read ({error.strerror or error}): move it away, or {ANOTHER_FOLDER}"
        ) from error
    part = folder / f".tatoeba-{secrets.token_hex(8)}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = part.open("xb")
    except OSError as error:
        raise DownloadError(
            f"the cache folder {folder} cannot be written ({error.strerror or error}): "
            f"{ANOTHER_FOLDER}"
        ) from error
    try:
        with file:
            _fetch(url, file.write, timeout, max_bytes, handlers)
        _check(part, checksum)
        os.replace(part, path)
    except OSError as error:  # the disk is full, or the folder went away
        raise DownloadError(
            f"{path} could not be written ({error.strerror or error}): make room, or "
            f"{ANOTHER_FOLDER}"
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
    """Write an answer as it comes; refuse one that is too large, too slow, cut off or a web page.

    A thread of its own waits for the server. So the limit on the whole time holds wherever the
    server is slow: in looking up its name, in its headers, in its data.
    """
    arrived: queue.SimpleQueue[HTTPMessage | bytes | Exception] = queue.SimpleQueue()
    given_up = threading.Event()

    def receive() -> None:
        request = Request(url, headers={"User-Agent": "d2lattn (Attention You Can Run)"})
        try:
            with build_opener(_HttpsOnly, *handlers).open(request, timeout=timeout) as answer:
                arrived.put(answer.headers)
                while not given_up.is_set():
                    chunk = answer.read1(2**16)
                    arrived.put(chunk)
                    if not chunk:
                        return
        except Exception as error:
            arrived.put(error)

    deadline = time.monotonic() + MAX_SECONDS
    received, expected = 0, None
    threading.Thread(target=receive, daemon=True).start()
    try:
        while (news := arrived.get(timeout=max(0, deadline - time.monotonic()))) != b"":
            if time.monotonic() > deadline:
                raise queue.Empty
            if isinstance(news, Exception):
                raise _unreachable(url, news) from news
            if isinstance(news, HTTPMessage):
                announced = news.get("Content-Length", "")
                expected = int(announced) if announced.isdecimal() else None
                if "html" in news.get("Content-Type", ""):
                    raise DownloadError(
                        f"{url} answers with a web page in place of the data. {BY_HAND}"
                    )
                continue
            received += len(news)
            if max(received, expected or 0) > max_bytes:
                raise DownloadError(
                    f"{url} sends more than {max_bytes:,} bytes; the download was stopped"
                )
            write(news)
    except queue.Empty:
        raise DownloadError(
            f"{url} took more than {MAX_SECONDS} s; the download was stopped. {BY_HAND}"
        ) from None
    finally:
        given_up.set()
    if expected is not None and received != expected:
        raise DownloadError(
            f"{url} broke off after {received:,} of {expected:,} bytes: try again. {BY_HAND}"
        )


def _unreachable(url: str, error: Exception) -> Exception:
    """What to say of an error on the way."""
    if isinstance(error, HTTPError):
        return DownloadError(f"{url} answers {error.code} {error.reason}. {BY_HAND}")
    if isinstance(error, OSError | HTTPException | ValueError):
        reason = getattr(error, "reason", error)
        return DownloadError(
            f"{url} cannot be reached ({reason}): check the connection and try again. {BY_HAND}"
        )
    return error


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
        for _ in _columns(path):
            pass
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
    number = sum(1 for _ in _columns(path))
    print(f"{path}: {number:,} pairs, read them by read_tatoeba({str(path)!r})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
