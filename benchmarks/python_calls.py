"""Measure what a call of `croupier.play` costs besides the time of the bots.

    python benchmarks/python_calls.py [--rounds 9]

In each round a new process imports croupier, plays two C bots twice at 2 000 tables, and then once at 2. The bots' own
time is what one call of so many tables takes when everything is running already: the third call at 2 000 tables. So the
first row is the cost of the import, the workers and the sandboxes; the second row that of a call at which they exist.
"""

import argparse
import json
import subprocess
import sys
from statistics import median

PROGRAM = """
import json, time
began = time.perf_counter()
import croupier
def call(tables, seed):
    at = time.perf_counter()
    croupier.play("pazaak", ["sample:dumb_bold", "sample:dumb_cautious"], tables=tables, seed=seed, workers=1)
    return time.perf_counter() - at
imported = time.perf_counter() - began
first, _, own = call(2000, 1), call(2000, 2), call(2000, 3)
small = [call(2, seed) for seed in range(9)]
print(json.dumps([imported, first - own, sorted(small)[4]]))
"""


def main() -> None:
    """Print the medians of all rounds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    rounds = [
        json.loads(subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True).stdout)
        for _ in range(parser.parse_args().rounds)
    ]
    names = ("import croupier", "the first call, besides the bots", "a call of 2 tables on bots that have played")
    for name, values in zip(names, zip(*rounds, strict=True), strict=True):
        print(f"{name:<48} {1000 * median(values):7.0f} ms")


if __name__ == "__main__":
    main()
