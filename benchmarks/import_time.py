"""How much `import d2lattn` adds to `import torch`.

usage: python -m benchmarks.import_time [ROUNDS]

Each round is a fresh process that imports one after the other and reads the processor's clock, so
that what else the machine does counts for nothing; the median ratio should stay below 1.15.
"""

import statistics
import subprocess
import sys

ROUND = """
from time import process_time
start = process_time()
import torch
between = process_time()
import d2lattn
print(between - start, process_time() - start)
"""


def seconds() -> tuple[float, float]:
    """Time of the processor until PyTorch is there, and until d2lattn is, in a fresh process."""
    done = subprocess.run([sys.executable, "-c", ROUND], capture_output=True, text=True, check=True)
    torch, both = map(float, done.stdout.split())
    return torch, both


def main(rounds: int = 5) -> None:
    """Print both medians and the median of the ratios."""
    seconds()  # the first one reads the disk
    times = [seconds() for _ in range(rounds)]
    for place, statement in enumerate(("import torch", "import d2lattn")):
        median = statistics.median(pair[place] for pair in times)
        print(f"{statement:15} {median:.3f} s (median of {rounds})")
    print(f"median ratio: {statistics.median(both / torch for torch, both in times):.3f}")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
