"""How much `import d2lattn` adds to `import torch`.

usage: python benchmarks/import_time.py [ROUNDS]

Fresh processes, one of each in turn, so that a busy moment of the machine touches both; the ratio
of the medians should stay below 1.15.
"""

import statistics
import subprocess
import sys
import time


def seconds(statement: str) -> float:
    """Wall time of one fresh process that runs one statement."""
    # In the process itself: starting Python is not what is compared.
    code = (
        f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main(rounds: int = 9) -> None:
    """Print both medians and their ratio."""
    statements = ["import torch", "import d2lattn"]
    for statement in statements:
        seconds(statement)  # the first one reads the disk
    times: dict[str, list[float]] = {statement: [] for statement in statements}
    started = time.perf_counter()
    for _ in range(rounds):
        for statement in statements:
            times[statement].append(seconds(statement))
    medians = [statistics.median(times[statement]) for statement in statements]
    for statement, median in zip(statements, medians, strict=True):
        print(f"{statement:15} {median:.3f} s (median of {rounds})")
    print(f"ratio of medians: {medians[1] / medians[0]:.3f}")
    print(f"measured in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
