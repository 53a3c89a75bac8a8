"""Work that waits for no other work, done at the same time: a process for each processor."""

import multiprocessing
import os
import pickle
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import torch


def side_by_side(function: Callable[[Any], Any], each: Iterable[Any]) -> list[Any]:
    """Call a function with each of these, as `map` does, in as many processes as there is use for.

    So two models are trained in the time of the slower one. Each process is a fork of this one and
    knows all that it knows; what it changes stays there, but for what the function gives. It
    computes in one thread, and its random numbers begin where this process's stand, as those of
    the others do: a function that draws some sets a seed. Where forks are not safe (macOS,
    Windows), or this process may use one processor, call follows call.

    >>> side_by_side(len, ["la", "vache"])
    [2, 5]

    Args:
        function: has a name of its own, so it is no `lambda`. It and what it gives can be pickled.
        each: what it is called with.

    Raises:
        Whatever the function raises, if that can be pickled.
    """
    each = list(each)
    usable = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
    processes = min(len(each), usable)
    if processes < 2:
        return [function(one) for one in each]
    # As bytes: PyTorch would else share the memory of tensors, and a training change ours.
    tasks = [pickle.dumps((function, one)) for one in each]
    forks = multiprocessing.get_context("fork")
    # The threads that PyTorch has here are not in a fork, which would wait for them for ever.
    with ProcessPoolExecutor(processes, forks, torch.set_num_threads, (1,)) as pool:
        return [pickle.loads(found) for found in pool.map(_call, tasks)]


def _call(task: bytes) -> bytes:
    function, one = pickle.loads(task)
    return pickle.dumps(function(one))
