"""How the benchmarks measure: time in turn, memory by the allocator, and on which processor."""

import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from torch.profiler import ProfilerActivity, profile

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler else tells of each start and stop


def median_times(
    functions: dict[str, Callable[[], object]],
    seconds: float = 1.0,
    least: int = 11,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Median time of each function in seconds, over rounds in which each has one turn.

    Whatever else the machine does then falls on all alike. The order of turns is drawn anew each
    round, so that no function always runs in the cache that the same other one left behind.
    """
    names, dice = list(functions), Random(0)
    for name in names:
        functions[name]()
    times: dict[str, list[float]] = {name: [] for name in names}
    end = time.perf_counter() + seconds * len(names)
    while len(times[names[0]]) < least or time.perf_counter() < end:
        for name in dice.sample(names, len(names)):
            start = clock()
            functions[name]()
            times[name].append(clock() - start)
    return {name: statistics.median(times[name]) for name in functions}


def peak_memory(function: Callable[[], object]) -> int:
    """Most bytes that tensors hold at once while the function runs, above those held before.

    The profiler notes each allocation and release of PyTorch's allocator together with the total
    at that moment. Unlike the size of the process, this is exact and the same every time.
    """
    function()  # what is made once and kept (a gradient, weights of a module) is not counted
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        function()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        recorded.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    moments = [event["args"] for event in events if event.get("name") == "[memory]"]
    if not moments:
        return 0
    before = moments[0]["Total Allocated"] - moments[0]["Bytes"]
    return max(moment["Total Allocated"] for moment in moments) - before


def processor() -> str:
    """Name the processor, where the system tells."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def load_or_run(keep: Path, wanted: dict, make: Callable[[], dict]) -> dict:
    """Give the result in `keep`, JSON lines, that has all of `wanted`; else make and add it.

    So trainings that were broken off go on where they stopped.
    """
    lines = keep.read_text("utf-8").splitlines() if keep.exists() else []
    results = (json.loads(line) for line in lines)
    result = next((kept for kept in results if kept | wanted == kept), None)
    if result is None:
        result = make()
        with keep.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
    print(result, file=sys.stderr, flush=True)
    return result


def train_missing(
    keep: Path,
    key: str,
    names: Iterable[str],
    seeds: Iterable[int],
    sizes: dict[str, Any],
    measure: Callable[[str, int], dict],
) -> dict[str, list[dict]]:
    """Give what each name's training came to with each seed, and train what is missing in `keep`.

    A result has its name under `key`, its seed, and the sizes.
    """
    runs: dict[str, list[dict]] = {name: [] for name in names}
    for seed in seeds:
        for name, results in runs.items():
            wanted = {key: name, "seed": seed} | sizes
            results.append(load_or_run(keep, wanted, partial(measure, name, seed)))
    return runs
