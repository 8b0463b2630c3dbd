"""CPU seconds of ``symderiv generate`` for pairs of activations, with empty caches.

python -m benchmarks.generated_pairs [NUMBER]

Whole processes for the first NUMBER (40 without it) of a fixed random order of ordered pairs.
"""

from __future__ import annotations

import itertools
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.__main__ import SYMDERIV, child_cpu_seconds

ACTIVATIONS = ("erf", "relu", "gelu", "tanh", "softplus", "silu", "x*tanh(log(1+exp(x)))")
MOST, MOST_MEDIAN = 6.0, 3.0


def main() -> None:
    """Print the table."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    pairs = list(itertools.permutations(ACTIVATIONS, 2))
    random.Random(1).shuffle(pairs)
    seconds = []
    for student, teacher in pairs[:number]:
        with tempfile.TemporaryDirectory() as folder:
            caches = {"NUMBA_CACHE_DIR": folder, "XDG_CACHE_HOME": folder}
            words = ["--activation", student, "--teacher-activation", teacher]
            words += ["--name", "pair", "--output", str(Path(folder) / "modules")]
            try:
                seconds.append(child_cpu_seconds([SYMDERIV, "generate", *words], caches))
            except subprocess.CalledProcessError as refused:
                print(f"{student} | {teacher}: {refused.stderr.decode().strip()}", flush=True)
                continue
        print(f"{student + ' | ' + teacher:50} {seconds[-1]:6.1f} CPU s", flush=True)
    print(f"median {statistics.median(seconds):.1f} (must be <= {MOST_MEDIAN:g}), ", end="")
    print(f"largest {max(seconds):.1f} (must be <= {MOST:g})")


if __name__ == "__main__":
    main()
