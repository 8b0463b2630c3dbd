"""Catalogues of fixed points: CPU seconds in a process of its own, and how many are proved.

python -m benchmarks.fixed_points
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys

_PROGRAM = """
import json, sys, symderiv as sd
units = int(sys.argv[1])
problem = sd.Problem(
    "erf", students=units, teachers=units, learning_rate=0.5, teacher="orthogonal", draw="mean"
)
points = problem.fixed_points().points
print(json.dumps([len(points), sum(each["certified"] for each in points)]))
"""
_LIMITS = {2: 5.0, 3: 60.0}


def catalogue(units: int) -> tuple[float, int, int]:
    """Return CPU seconds with all imports, how many points were found, and how many are proved."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(units)], check=True, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found, proved = json.loads(ended.stdout)
    return seconds, found, proved


def rows() -> list[tuple[str, str, str, bool]]:
    """Return what was measured, the bound, and whether it was met."""
    result = []
    for units, limit in _LIMITS.items():
        seconds, found, proved = catalogue(units)
        result.append(
            (
                f"fixed points of K = M = {units}, full flow, eta = 0.5",
                f"{seconds:.1f} s CPU ({found} found, {proved} proved; not shown to be all)",
                f"< {limit:g} s",
                seconds < limit and proved == found,
            )
        )
    return result


if __name__ == "__main__":
    for row in rows():
        print(*row, sep=" | ")
