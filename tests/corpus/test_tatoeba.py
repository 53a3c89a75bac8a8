"""Real sentences: what the reader accepts, what the download refuses, and what it leaves behind."""

import hashlib
import http.client
import io
import itertools
import os
import runpy
import socket
import stat
import sys
import threading
import time
import tracemalloc
import zipfile
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from urllib.request import HTTPSHandler

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import d2lattn
from d2lattn.corpus import download_tatoeba, read_tatoeba, tatoeba
from d2lattn.corpus.pairs import Pair
from d2lattn.corpus.tatoeba import DownloadError, references, split_by_source, tokenize

LINES = (
    "Go.\tVa !\tCC-BY 2.0 (France) Attribution: tatoeba.org #1 (a) & #2 (b)\n"
    "Go.\tMarche.\tCC-BY 2.0 (France) Attribution: tatoeba.org #1 (a) & #3 (b)\n"
    "I'm home.\tJe suis à l’hôtel\u202f!\tCC-BY 2.0 (France) Attribution: tatoeba.org #4 (a)\n"
)


def zipped(method=zipfile.ZIP_DEFLATED, /, **files):
    """Make an archive: names with ``__`` for the dot."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "."), text)
    return buffer.getvalue()


GOOD = zipped(fra__txt=LINES, _about__txt="about")


# --- tokens and columns ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "french", "tokens"),
    [
        ("I'm not sure.", False, "i 'm not sure ."),
        ("He can’t come, can he?", False, "he ca n't come , can he ?"),
        ("The boy's dog woke up at 7:30.", False, "the boy 's dog woke up at 7:30 ."),
        ("J’aime l'été\u00a0!", True, "j' aime l' été !"),
        ("Aujourd'hui, quelqu’un m'a vu\u202f?", True, "aujourd'hui , quelqu'un m' a vu ?"),
        ("Est-ce qu'il y en a\u2009?", True, "est-ce qu' il y en a ?"),
        ("«\u00a0Lorsqu'on s'en va...\u00a0»", True, "« lorsqu' on s' en va ... »"),
        ("L'E\u0301cole", True, "l' école"),
    ],
)
def test_tokens(text, french, tokens):
    assert list(tokenize(text, french=french)) == tokens.split()


@settings(derandomize=True, deadline=None)
@given(st.text(), st.booleans())
def test_any_text_gives_tokens_without_space_or_capital(text, french):
    for token in tokenize(text, french=french):
        assert token
        assert token.split() == [token]
    again = tokenize(" ".join(tokenize(text, french=french)), french=french)
    assert "".join(again) == "".join(tokenize(text, french=french))


def test_three_columns_are_read_and_grouped(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text(LINES + "\n" + LINES, encoding="utf-8")
    pairs = read_tatoeba(path)
    assert pairs == [
        Pair(("go", "."), ("va", "!")),
        Pair(("go", "."), ("marche", ".")),
        Pair(("i", "'m", "home", "."), ("je", "suis", "à", "l'", "hôtel", "!")),
    ]
    assert references(pairs)["go", "."] == [("va", "!"), ("marche", ".")]
    assert read_tatoeba(path, max_tokens=2) == pairs[:2]
    assert read_tatoeba(path, max_pairs=1) == pairs[:1]


def test_archive_windows_line_ends_and_byte_order_mark_make_no_difference(tmp_path):
    plain, windows, archive = (tmp_path / name for name in ("a.txt", "b.txt", "c.zip"))
    plain.write_text(LINES, encoding="utf-8")
    windows.write_bytes(b"\xef\xbb\xbf" + LINES.replace("\n", "\r\n").encode())
    archive.write_bytes(GOOD)
    assert read_tatoeba(plain) == read_tatoeba(windows) == read_tatoeba(archive)


def encrypted():
    data = bytearray(GOOD)
    for magic, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        place = -1
        while (place := data.find(magic, place + 1)) >= 0:
            data[place + offset] |= 1
    return bytes(data)


def corrupted():
    data = bytearray(GOOD)
    data[60] ^= 255
    return bytes(data)


BAD_FILES = {
    "empty": (b"", "is empty"),
    "only a byte order mark": (b"\xef\xbb\xbf", "is empty"),
    "only a byte order mark in zip": (zipped(fra__txt=b"\xef\xbb\xbf\r\n"), "is empty"),
    "endless line": (b"\0" * 100_000, "65,536 bytes or more in line 1"),
    "only blank lines": (b"\n  \n", "is empty"),
    "two columns": (b"Go.\tVa !\n", "2 columns in line 1; three are needed"),
    "four columns": (b"Go.\tVa !\ta\tb\n", "4 columns in line 1"),
    "no tabs": (b"Go. Va !\n", "1 columns in line 1"),
    "later line": (LINES.encode() + b"Go.\tVa !\n", "line 4"),
    "empty sentence": (b"Go.\t \tCC\n", "empty sentence in line 1"),
    "Latin-1": (b"x\ty\tz\nHe is.\tIl a \xe9t\xe9.\tCC\n", r"not UTF-8 \(line 2\)"),
    "web page": (b"\n<!DOCTYPE html><html><body>404</body></html>", "holds a web page"),
    "truncated zip": (GOOD[: len(GOOD) // 2], "damaged archive"),
    "corrupted zip": (corrupted(), "damaged archive"),
    "corrupted name": (zipped(é__txt=LINES).replace("é".encode(), b"\xff\xff"), "damaged archive"),
    "encrypted zip": (encrypted(), "damaged archive"),
    "path traversal": (zipped(**{"../../evil__txt": LINES}), "outside of its own folder"),
    "absolute path": (zipped(**{"/etc/evil__txt": LINES}), "outside of its own folder"),
    "drive letter": (zipped(**{"C:\\evil__txt": LINES}), "outside of its own folder"),
    "no text": (zipped(picture__png="x"), "0 texts"),
    "two texts": (zipped(a__txt=LINES, b__txt=LINES), "2 texts"),
    "no text but notes on one": (zipped(**{"__MACOSX/._fra.txt": "\0\5"}), "0 texts"),
    "empty text in zip": (zipped(fra__txt=""), "is empty"),
    "packed by bzip2": (
        zipped(zipfile.ZIP_BZIP2, fra__txt=LINES),
        "by bzip2, .* by deflate is",
    ),
    "two columns in zip": (zipped(fra__txt="Go.\tVa !"), "2 columns"),
}


@pytest.mark.parametrize(("content", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files_are_told_apart(tmp_path, content, message):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_tatoeba(path)
    assert str(path) in str(caught.value)
    assert os.listdir(tmp_path) == ["file"]


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(tatoeba, "MAX_TEXT", 10_000)
    path = tmp_path / "bomb.zip"
    path.write_bytes(zipped(fra__txt=LINES * 1000))
    with pytest.raises(ValueError, match="more than 10,000 bytes of text"):
        read_tatoeba(path, max_pairs=1)

    lying = bytearray(path.read_bytes())  # says that it is small
    for magic, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        place = lying.find(magic)
        lying[place + offset : place + offset + 4] = (50).to_bytes(4, "little")
    path.write_bytes(lying)
    with pytest.raises(ValueError, match=r"damaged|more than 10,000 bytes"):
        read_tatoeba(path)

    path.write_text(LINES * 1000, encoding="utf-8")
    with pytest.raises(ValueError, match="more than 10,000 bytes"):
        read_tatoeba(path)


METHODS = {"deflate": zipfile.ZIP_DEFLATED, "lzma": zipfile.ZIP_LZMA}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_an_archive_that_is_damaged_anywhere_is_read_right_or_refused(tmp_path, method):
    path, good = tmp_path / "fra.zip", zipped(method, fra__txt=LINES)
    path.write_bytes(good)
    wanted = read_tatoeba(path)
    refused = []
    for place in range(2, len(good)):
        path.write_bytes(good[:place] + bytes([good[place] ^ 255]) + good[place + 1 :])
        try:
            assert read_tatoeba(path) == wanted
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) > len(good) / 2
    assert all(message.startswith(str(path)) for message in refused)


def test_an_archive_by_bzip2_is_refused_damaged_or_not(tmp_path):
    path, whole = tmp_path / "fra.zip", zipped(zipfile.ZIP_BZIP2, fra__txt=LINES)
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        with pytest.raises(ValueError, match=r"fra\.zip (is|holds)"):
            read_tatoeba(path)


def test_an_archive_made_on_a_mac_holds_one_text(tmp_path):
    path = tmp_path / "fra.zip"
    notes = {"__MACOSX/._fra.txt": b"\0\5\x16\7", "._fra.txt": b"\0"}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in {"fra.txt": LINES, **notes}.items():
            archive.writestr(name, text)
    path.write_bytes(buffer.getvalue())
    assert len(read_tatoeba(path)) == 3


@pytest.mark.parametrize("suffix", ["zip", "tsv"])
def test_little_memory_is_used_however_long_the_text(tmp_path, suffix):
    path, text = tmp_path / f"fra.{suffix}", LINES.encode() * 7_000
    path.write_bytes(zipped(fra__txt=text) if suffix == "zip" else text)
    assert len(text) > 1_400_000
    tracemalloc.start()
    try:
        assert len(read_tatoeba(path, max_pairs=1)) == 1
        assert sum(1 for _ in tatoeba._columns(path)) == 21_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 500_000


def test_nothing_is_read_after_the_last_pair(tmp_path):
    path = tmp_path / "fra.tsv"
    path.write_text(LINES + "one column\n", encoding="utf-8")
    assert len(read_tatoeba(path, max_pairs=3)) == 3
    with pytest.raises(ValueError, match="1 columns in line 4"):
        read_tatoeba(path, max_pairs=4)


def test_a_missing_file_and_senseless_limits_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_tatoeba(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="max_tokens is 0"):
        read_tatoeba(tmp_path, max_tokens=0)
    with pytest.raises(ValueError, match="max_pairs is -1"):
        read_tatoeba(tmp_path, max_pairs=-1)


sentences = st.sampled_from("abcdefghij").map(lambda letter: (letter,))


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.builds(Pair, sentences, sentences)),
    st.floats(0, 0.5),
    st.floats(0, 0.5),
    st.integers(0, 5),
)
def test_no_english_sentence_is_in_two_splits(pairs, valid, test, seed):
    splits = split_by_source(pairs, valid=valid, test=test, seed=seed)
    sources = [{pair.source for pair in split} for split in splits]
    for one, other in itertools.combinations(sources, 2):
        assert not one & other
    assert sorted(map(repr, itertools.chain(*splits))) == sorted(map(repr, pairs))
    assert len(sources[2]) == round(test * len({pair.source for pair in pairs}))


def test_shares_beyond_the_whole_are_refused():
    with pytest.raises(ValueError, match="shares"):
        split_by_source([], valid=0.7, test=0.7)


SAMPLE = Path(
    os.environ.get(
        "D2LATTN_TATOEBA",
        Path(__file__).parents[3] / "shared" / "data" / "tatoeba-eng-fra" / "eng-fra.tsv",
    )
)


@pytest.mark.skipif(not SAMPLE.exists(), reason="the 5,000 Tatoeba pairs are not beside the book")
def test_the_sample_of_5000_real_pairs():
    pairs = read_tatoeba(SAMPLE)
    assert 4900 <= len(pairs) <= 5000
    assert max(map(len, references(pairs).values())) > 5
    for pair in pairs:
        for token in (*pair.source, *pair.target):
            assert token == token.lower()
            assert not set(token) & set("\u00a0\u202f\u2009’\t ")
    train, valid, test = split_by_source(pairs)
    assert len(train) + len(valid) + len(test) == len(pairs)
    assert not {pair.source for pair in train} & {pair.source for pair in test}


# --- the download ------------------------------------------------------------------------------


class ToLoopback(HTTPSHandler):
    """Speaks to a server on this machine in place of the one that is asked for."""

    def __init__(self, port):
        super().__init__()
        self.port = port

    def https_open(self, request):
        def connection(_host, **options):
            options.pop("context", None)
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=options["timeout"])

        return self.do_open(connection, request)


@contextmanager
def served(body=b"", *, status=200, headers=None, length=None, stall=None, redirect=None):
    """Serve one answer on loopback; count the requests."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.path)
            if redirect and len(seen) == 1:
                self.send_response(302)
                self.send_header("Location", redirect)
                self.end_headers()
                return
            self.send_response(status)
            if length != "unknown":
                self.send_header("Content-Length", str(len(body) if length is None else length))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(body)
                if stall:
                    self.wfile.flush()
                    stall.wait(5)
            except OSError:
                pass

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield (ToLoopback(server.server_port),), seen
    finally:
        if stall:
            stall.set()
        server.shutdown()
        server.server_close()
        thread.join()


def left_behind(folder):
    return sorted(path.name for path in folder.rglob("*")) if folder.exists() else []


def test_a_good_archive_arrives_once_and_can_be_read(tmp_path):
    checksum = hashlib.sha256(GOOD).hexdigest()
    with served(GOOD) as (handlers, seen):
        path = download_tatoeba(tmp_path / "new" / "cache", handlers=handlers, checksum=checksum)
        assert path == tmp_path / "new" / "cache" / "fra-eng.zip"
        assert path.read_bytes() == GOOD
        assert len(read_tatoeba(path)) == 3
        again = download_tatoeba(tmp_path / "new" / "cache", handlers=handlers)
        assert again == path
        assert len(seen) == 1
    assert left_behind(tmp_path / "new" / "cache") == ["fra-eng.zip"]


def test_the_folder_is_the_argument_or_the_environments_or_the_users(tmp_path, monkeypatch):
    monkeypatch.setenv("D2LATTN_CACHE", str(tmp_path / "environment"))
    with served(GOOD) as (handlers, _):
        chosen = download_tatoeba(tmp_path / "argument", handlers=handlers)
        assert chosen.parent == tmp_path / "argument"
        assert download_tatoeba(handlers=handlers).parent == tmp_path / "environment"
        monkeypatch.delenv("D2LATTN_CACHE")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        assert download_tatoeba(handlers=handlers).parent == tmp_path / "xdg" / "d2lattn"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert tatoeba.cache_directory() == tmp_path / "home" / ".cache" / "d2lattn"


def test_a_user_without_a_home_is_told_to_choose_a_folder(tmp_path, monkeypatch, capsys):
    def nobody(path):
        raise RuntimeError("Could not determine home directory.")

    for name in ("D2LATTN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "expanduser", nobody)  # as where HOME is not set and the user unknown
    wanted = "Could not determine home directory: choose another folder by D2LATTN_CACHE or the ca"
    with pytest.raises(DownloadError, match=f"^{wanted}"):
        download_tatoeba()
    assert tatoeba.main([]) == 1
    assert f"Not downloaded: {wanted}" in capsys.readouterr().err
    monkeypatch.undo()
    for name in ("D2LATTN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(DownloadError, match="choose another folder by"):
        download_tatoeba("~nosuchuser/x")
    monkeypatch.setenv("D2LATTN_CACHE", "~nosuchuser/x")
    with pytest.raises(DownloadError, match="choose another folder by"):
        download_tatoeba()
    (tmp_path / "fra-eng.zip").write_bytes(GOOD)
    assert download_tatoeba(tmp_path).parent == tmp_path, "no home is needed where one is chosen"


def test_a_folder_that_may_not_be_looked_into_is_told(tmp_path, monkeypatch):
    def locked(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "exists", locked)
    with pytest.raises(DownloadError, match=r"cannot be read \(Permission denied\): move it away"):
        download_tatoeba(tmp_path)


HTML = b"<html><body>Sorry, try later.</body></html>"
BAD_ANSWERS = {
    "web page, so named": ({"body": HTML, "headers": {"Content-Type": "text/html"}}, "web page"),
    "web page in disguise": ({"body": HTML}, "web page"),
    "empty": ({"body": b""}, "is empty"),
    "refusal": ({"body": b"no", "status": 403}, "answers 403"),
    "not there": ({"body": HTML, "status": 404}, "answers 404"),
    "broken server": ({"body": b"", "status": 500}, "answers 500"),
    "cut off": ({"body": GOOD[:200], "length": len(GOOD)}, "broke off after 200 of"),
    "cut off, length unknown": ({"body": GOOD[:200], "length": "unknown"}, "damaged archive"),
    "truncated at the source": ({"body": GOOD[:200]}, "damaged archive"),
    "path traversal": ({"body": zipped(**{"../evil__txt": LINES})}, "not to be trusted"),
    "two columns": ({"body": zipped(fra__txt="Go.\tVa !")}, "2 columns"),
    "Latin-1": ({"body": zipped(fra__txt=b"a\t\xe9\tb")}, "not UTF-8"),
    "redirect to HTTP": ({"body": GOOD, "redirect": "http://example.org/"}, "not HTTPS"),
    "redirect to a file": ({"body": GOOD, "redirect": "file:///etc/passwd"}, "not allowed"),
}


@pytest.mark.parametrize(("answer", "message"), BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_bad_answers_are_told_apart_and_leave_nothing(tmp_path, answer, message):
    with served(**answer) as (handlers, _), pytest.raises(DownloadError, match=message):
        download_tatoeba(tmp_path / "cache", handlers=handlers, timeout=5)
    assert left_behind(tmp_path / "cache") == []


def test_a_redirect_to_https_is_followed(tmp_path):
    with served(GOOD, redirect="https://example.org/there") as (handlers, seen):
        assert download_tatoeba(tmp_path, handlers=handlers).read_bytes() == GOOD
    assert seen[-1] == "/there"


def test_a_wrong_checksum_leaves_nothing(tmp_path):
    with served(GOOD) as (handlers, _), pytest.raises(DownloadError, match="SHA-256"):
        download_tatoeba(tmp_path / "cache", handlers=handlers, checksum="0" * 64)
    assert left_behind(tmp_path / "cache") == []


@pytest.mark.parametrize("length", [None, "unknown", "²"])
def test_more_than_the_limit_is_refused(tmp_path, length):
    with (
        served(GOOD + bytes(300_000), length=length) as (handlers, _),
        pytest.raises(DownloadError, match="more than 100,000 bytes"),
    ):
        download_tatoeba(tmp_path / "cache", handlers=handlers, max_bytes=100_000)
    assert left_behind(tmp_path / "cache") == []


def test_a_server_that_falls_silent_is_given_up(tmp_path):
    with (
        served(GOOD[:100], length=len(GOOD), stall=threading.Event()) as (handlers, _),
        pytest.raises(DownloadError, match="cannot be reached"),
    ):
        download_tatoeba(tmp_path / "cache", handlers=handlers, timeout=0.2)
    assert left_behind(tmp_path / "cache") == []


@contextmanager
def saying(parts):
    """Answer one request on loopback with these bytes, and with no more when the test is over."""
    over = threading.Event()

    def speak(server):
        connection, _ = server.accept()
        with connection, suppress(OSError):
            connection.recv(1000)
            for part in parts:
                if over.is_set():
                    return
                connection.sendall(part)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=speak, args=(server,))
        thread.start()
        try:
            yield (ToLoopback(server.getsockname()[1]),)
        finally:
            over.set()
            thread.join()


def dripping(data, seconds=0.02, at_most=200):
    for byte in data[:at_most]:
        time.sleep(seconds)
        yield bytes([byte])


HEADERS = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(GOOD)


@pytest.mark.parametrize(
    "parts",
    [
        lambda: itertools.chain([HEADERS], dripping(GOOD)),
        lambda: dripping(HEADERS),
        lambda: dripping(b"HTTP/1.1 200 OK\r\nX-Slow: " + b"z" * 1000),
    ],
    ids=["data", "headers", "one header"],
)
def test_a_server_that_drips_is_given_up_in_time(tmp_path, monkeypatch, parts):
    monkeypatch.setattr(tatoeba, "MAX_SECONDS", 0.3)
    start = time.monotonic()
    with (
        saying(parts()) as handlers,
        pytest.raises(DownloadError, match=r"took more than 0\.3 s"),
    ):
        download_tatoeba(tmp_path / "cache", handlers=handlers)
    assert time.monotonic() - start < 1.5  # dripping to the end takes longer, nothing else does
    assert left_behind(tmp_path / "cache") == []


def test_a_server_that_never_stops_sending_is_given_up_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr(tatoeba, "MAX_SECONDS", -1)
    with served(GOOD) as (handlers, _), pytest.raises(DownloadError, match="took more than"):
        download_tatoeba(tmp_path / "cache", handlers=handlers)


def test_what_has_arrived_too_late_is_not_written(monkeypatch):
    """News wait in line while a piece is written: then no wait for them is ever too long."""
    written = []

    def write(piece):
        written.append(piece)
        time.sleep(0.1)

    def monotonic():
        return time.monotonic() + tatoeba.MAX_SECONDS * len(written)

    monkeypatch.setattr(tatoeba, "time", SimpleNamespace(monotonic=monotonic))
    with (
        served(b"x" * 2**20) as (handlers, _),
        pytest.raises(DownloadError, match="took more than 600 s"),
    ):
        tatoeba._fetch(tatoeba.URL, write, 30, 2**30, handlers)
    assert len(written) == 1


def test_an_answer_that_is_not_http_is_told(tmp_path):
    with (
        saying([b"SSH-2.0 hello\r\n\r\n"]) as handlers,
        pytest.raises(DownloadError, match="cannot be reached"),
    ):
        download_tatoeba(tmp_path / "cache", handlers=handlers)
    assert left_behind(tmp_path / "cache") == []


def test_an_answer_without_headers_is_read(tmp_path):
    with saying([b"HTTP/1.0 200 OK\r\n\r\n", GOOD]) as handlers:
        assert download_tatoeba(tmp_path, handlers=handlers).read_bytes() == GOOD


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")
@pytest.mark.parametrize("umask", [0o022, 0o027])
def test_the_file_is_as_private_as_the_user_wants(tmp_path, umask):
    before = os.umask(umask)
    try:
        with served(GOOD) as (handlers, _):
            path = download_tatoeba(tmp_path, handlers=handlers)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def test_without_a_network_the_message_says_what_to_do(tmp_path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(DownloadError, match=r"check the connection.*read_tatoeba\(path\)"):
        download_tatoeba(tmp_path / "cache", handlers=(ToLoopback(port),))
    assert left_behind(tmp_path / "cache") == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with served(GOOD) as (handlers, seen):
        for folder in (tmp_path / "file", tmp_path / "file" / "below"):
            with pytest.raises(DownloadError, match="D2LATTN_CACHE"):
                download_tatoeba(folder, handlers=handlers)
    assert seen == []
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_folder_without_write_permission_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    if os.access(folder, os.W_OK):  # the superuser may write anywhere: let the call say no

        def refuse(*_):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", refuse)
    with served(GOOD) as (handlers, _), pytest.raises(DownloadError, match="Permission denied"):
        download_tatoeba(folder, handlers=handlers)
    folder.chmod(stat.S_IRWXU)
    assert left_behind(folder) == []


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    class Full(io.FileIO):
        def write(self, _chunk):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "open", lambda path, mode: Full(path, mode))
    with served(GOOD) as (handlers, _), pytest.raises(DownloadError, match="No space left"):
        download_tatoeba(tmp_path / "cache", handlers=handlers)
    assert left_behind(tmp_path / "cache") == []


def test_an_interrupted_download_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(tatoeba, "_check", interrupt)
    with served(GOOD) as (handlers, _), pytest.raises(KeyboardInterrupt):
        download_tatoeba(tmp_path / "cache", handlers=handlers)
    assert left_behind(tmp_path / "cache") == []


def test_a_damaged_file_in_the_cache_is_told_and_kept(tmp_path):
    (tmp_path / "fra-eng.zip").write_bytes(GOOD[:100])
    with served(GOOD) as (handlers, seen), pytest.raises(DownloadError, match="delete it"):
        download_tatoeba(tmp_path, handlers=handlers)
    assert seen == []


def test_a_folder_in_the_place_of_the_file_is_told(tmp_path):
    (tmp_path / "fra-eng.zip").mkdir()
    with pytest.raises(DownloadError, match=r"fra-eng\.zip cannot be read .*move it away"):
        download_tatoeba(tmp_path)
    assert tatoeba.main(["--cache", str(tmp_path)]) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [({"url": "http://example.org/"}, "https://"), ({"checksum": "abc"}, "64 hexadecimal")],
)
def test_senseless_arguments_are_refused(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        download_tatoeba(tmp_path, **options)


def test_the_command_says_what_it_did(tmp_path, capsys, monkeypatch):
    (tmp_path / "fra-eng.zip").write_bytes(GOOD)
    assert tatoeba.main(["--cache", str(tmp_path)]) == 0
    assert "3 pairs" in capsys.readouterr().out
    assert tatoeba.main(["--cache", str(tmp_path), "--checksum", "0" * 64]) == 1
    assert "Not downloaded: the file has the SHA-256" in capsys.readouterr().err


@pytest.mark.filterwarnings("error")
def test_the_command_runs_without_a_warning(tmp_path, monkeypatch, capsys):
    """As ``python -W error -m`` does in a process of its own, which takes seconds to start."""
    (tmp_path / "fra-eng.zip").write_bytes(GOOD)
    monkeypatch.setattr(d2lattn, "corpus", d2lattn.corpus)  # put back what is imported anew
    for name in [name for name in sys.modules if name.startswith("d2lattn.corpus")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "argv", ["tatoeba", "--cache", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("d2lattn.corpus.tatoeba", run_name="__main__")
    assert ended.value.code == 0
    assert "3 pairs" in capsys.readouterr().out
