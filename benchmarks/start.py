"""What a start costs: a warm run, and commands called again with other numbers.

python -m benchmarks.start

CPU seconds of whole processes, the median of some, with byte code on and off (without it Python
compiles every imported file anew, which only importing less makes cheaper). Every row stands beside
``import numba``, measured in turn with it.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.__main__ import child_cpu_seconds

ROOT = Path(__file__).parents[1]
STUDY = ROOT / "examples" / "two-units.toml"
REPEATS = 5
# A call that fills the cache, and one with other M, L, beta, eta and times, which is measured.
AGAIN = {
    "plateau": (
        "--units 4 --learning-rate 0.1 --distinct-eigenvalues 10 --exponent 1",
        "--units 3 --learning-rate 0.2 --distinct-eigenvalues 12 --exponent 0.7",
    ),
    "linear": (
        "--distinct-eigenvalues 64 --exponent 1 --learning-rate 0.5 --student-std 0.1 --alpha 1,10",
        "--distinct-eigenvalues 48 --exponent 0.8 --learning-rate 0.4 --student-std 0.2 --alpha 3",
    ),
    "asymptotics": (
        "--units 2 --distinct-eigenvalues 64 --exponent 1 --learning-rate 0.1",
        "--units 3 --distinct-eigenvalues 32 --exponent 0.8 --learning-rate 0.2",
    ),
    "asymptotics --full": (
        "--units 2 --distinct-eigenvalues 64 --exponent 1 --learning-rate 0.1",
        "--units 3 --distinct-eigenvalues 32 --exponent 0.8 --learning-rate 0.2",
    ),
    "plateau --full": (
        "--units 4 --learning-rate 0.1 --distinct-eigenvalues 10 --exponent 1",
        "--units 3 --learning-rate 0.2 --distinct-eigenvalues 12 --exponent 0.7",
    ),
    "linear --distinct-eigenvalues 10000": (
        "--exponent 1 --learning-rate 0.5 --student-std 0.1 --alpha 1,10",
        "--exponent 0.8 --learning-rate 0.4 --student-std 0.2 --alpha 3",
    ),
    "simulate study.toml": ("--output sgd.nc --force", "--output sgd.nc --force"),
    "localise": (
        "--gain 3 --lengths 2,1 --steps 200",
        "--gain 2 --lengths 3,1 --steps 200",
    ),
    "check i2": (
        "--activation erf --formula 2/pi*asin(c12/sqrt((1+c11)*(1+c22)))",
        "--activation erf --formula 2*asin(c12/sqrt((1+c11)*(1+c22)))/pi",
    ),
    "derive": ("--activation erf", "--activation erf"),
    "export study.toml": ("--to c", "--to c"),
}
MOST_SOLVE, MOST_RATIO, MOST_AGAIN = 0.4, 2.0, 1.0
MOST_WRITTEN = dict.fromkeys(("check i2", "derive", "export study.toml"), 1.5)


def main() -> None:
    """Print the table."""
    print(f"{'what':38} {'byte code':>9} {'CPU s':>7} {'/ import numba':>15}   must be")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        shutil.copy(STUDY, "study.toml")
        without = _without_byte_code(Path(folder) / "bare")
        for byte_code, environment in (("on", {}), ("off", without)):
            _rows(byte_code, environment)


def _rows(byte_code: str, environment: dict[str, str]) -> None:
    solve = ["solve", "study.toml", "--output", "run.nc", "--force", "--json"]
    must = f"<= {MOST_SOLVE}, ratio <= {MOST_RATIO:g}" if byte_code == "on" else "said"
    _row("solve examples/two-units.toml, again", byte_code, environment, solve, solve, must)
    for name, (first, second) in AGAIN.items():
        words = name.split()
        must = f"<= {MOST_WRITTEN.get(name, MOST_AGAIN)}" if byte_code == "on" else "said"
        filling, measured = ([*words, *each.split(), "--json"] for each in (first, second))
        _row(f"{name}, other numbers", byte_code, environment, filling, measured, must)


def _row(
    what: str,
    byte_code: str,
    environment: dict[str, str],
    filling: list[str],
    measured: list[str],
    must: str,
) -> None:
    start = [sys.executable, "-m", "symderiv"]
    child_cpu_seconds([*start, *filling], environment)
    seconds, numba = [], []
    for _ in range(REPEATS):
        numba.append(child_cpu_seconds([sys.executable, "-c", "import numba"], environment))
        seconds.append(child_cpu_seconds([*start, *measured], environment))
    middle, compiler = statistics.median(seconds), statistics.median(numba)
    ratio = f"{middle / compiler:.2f} x {compiler:.2f}"
    print(f"{what:38} {byte_code:>9} {middle:7.2f} {ratio:>15}   {must}", flush=True)


def _without_byte_code(folder: Path) -> dict[str, str]:
    """Python's settings under which no byte code is found, and none is left."""
    folder.mkdir()
    return {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": str(folder)}


if __name__ == "__main__":
    main()
