"""What is made once and kept, and who waits for it. (What a training depends on: see test_once.)"""

import importlib.util
import os
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from d2lattn import cache
from d2lattn.cache import do_once


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    folder = tmp_path / "not" / "there yet"
    monkeypatch.setenv("D2LATTN_CACHE", str(folder))
    return folder / "once"


def test_who_wants_what_another_makes_waits_for_it():
    made, others_come = [], threading.Barrier(3)

    def make():
        time.sleep(0.3)  # time enough for the others to find nothing, if they looked
        made.append("once")
        return {"made": len(made)}

    def want(_):
        others_come.wait(timeout=10)
        return do_once("a long training", make)

    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(want, range(3))) == [{"made": 1}] * 3
    assert do_once("another", make) == {"made": 2}


def test_nobody_waits_for_ever(monkeypatch):
    monkeypatch.setattr(cache, "PATIENCE", 0.1)
    begun, over = threading.Event(), threading.Event()

    def hang():
        begun.set()
        assert over.wait(timeout=10)
        return {"made": 1}

    with ThreadPoolExecutor(1) as thread:
        slow = thread.submit(do_once, "a long training", hang)
        assert begun.wait(timeout=10)
        try:
            assert do_once("a long training", lambda: {"made": 2}) == {"made": 2}
        finally:
            over.set()
        assert slow.result(timeout=10) == {"made": 1}


def test_after_a_failure_the_next_one_tries():
    def fail():
        raise ValueError("no training")

    with pytest.raises(ValueError, match="no training"):
        do_once("a long training", fail)
    assert do_once("a long training", lambda: {"made": 1}) == {"made": 1}


@pytest.mark.parametrize("used", ["0", "1", "2"])
def test_what_was_not_used_for_longest_goes(used, kept, monkeypatch):
    monkeypatch.setattr(cache, "MOST", 3)
    for name in ["0", "1", "2", used, "3", "4"]:
        do_once(name, dict)
        for path in kept.glob("*.pt"):  # a while passes: not every disk tells milliseconds apart
            before = path.stat().st_mtime - 10
            os.utime(path, (before, before))
    assert len(list(kept.glob("*.pt"))) == 3
    assert len(list(kept.iterdir())) == 6  # each with its lock
    made = []
    for name in [used, "3", "4"]:
        do_once(name, lambda name=name: made.append(name) or {})
    assert made == []


def test_a_file_is_read_and_not_run(kept, tmp_path):
    class Runs:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "it ran"),)

    do_once("a training", dict)
    (path,) = kept.glob("*.pt")
    torch.save({"made": Runs()}, path)
    assert do_once("a training", lambda: {"made": 2}) == {"made": 2}
    assert not (tmp_path / "it ran").exists()


def test_a_result_is_written_beside_its_place(kept, tmp_path, monkeypatch):
    """From another disk it could not be moved there whole."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "no such disk"))
    do_once("a training", lambda: {"made": 1})
    assert do_once("a training", lambda: {"made": 2}) == {"made": 1}


@pytest.mark.parametrize("error", [OSError, RuntimeError])  # PyTorch says "disk full" by the second
def test_where_nothing_can_be_written_the_result_is_given(kept, monkeypatch, error):
    def full(result, path):
        path.write_bytes(b"half of it")
        raise error("unexpected pos 1280 vs 1174")

    monkeypatch.setattr(torch, "save", full)
    assert do_once("a training", lambda: {"made": 1}) == {"made": 1}
    assert [path.suffix for path in kept.iterdir()] == [".lock"]


def test_code_that_was_edited_after_the_import_is_not_what_ran(kept, monkeypatch):
    imported = importlib.util.spec_from_file_location("imported", cache.__file__)
    module = importlib.util.module_from_spec(imported)
    imported.loader.exec_module(module)
    monkeypatch.setattr(Path, "read_bytes", lambda path: b"edited")
    module.do_once("a training", dict)
    monkeypatch.undo()
    monkeypatch.setenv("D2LATTN_CACHE", str(kept.parent))
    assert do_once("a training", lambda: {"made": "anew"}) == {}


def test_where_there_are_no_locks_nobody_waits(monkeypatch):
    def none_here(*arguments, **options):
        raise NotImplementedError

    monkeypatch.setattr(cache, "FileLock", none_here)
    assert do_once("a training", lambda: {"made": 1}) == {"made": 1}
