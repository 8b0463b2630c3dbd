"""Catalogues of fixed points: CPU seconds in a process of its own, and how many are proved; and
the time of one product of a Jacobian with a vector against that of one right-hand side.

python -m benchmarks.fixed_points
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from timeit import repeat
from typing import Any

import numpy as np

import symderiv as sd
from symderiv.api.results.flows.jacobian import study_point

_PROGRAM = """
import json, sys, symderiv as sd
K, M = map(int, sys.argv[1:3])
problem = sd.Problem(
    "erf", students=K, teachers=M, learning_rate=0.5, teacher="orthogonal", draw="mean"
)
asked = {"complete": float(sys.argv[3]), "unconnected": True} if sys.argv[3:] else {}
found = problem.fixed_points(**asked)
points, spaces = found.points, found.proved_spaces
proved = [each for each in spaces if not each["left"]]
names = {each["boxes"]: "all states" if each["whole"] else each["symmetry"] for each in proved}
said = ", ".join(f"{name} ({parts} parts)" for parts, name in names.items())
certified = sum(each["certified"] for each in points)
print(json.dumps([len(points), certified, said, found.complete]))
"""
_STATED = """
import json, symderiv as sd
P = sd.System()
x, g, eta = P.inputs("x"), sd.activation("erf"), P.parameter("eta", 0.5)
w, B = P.vectors("w", 2), P.vectors("B", 2, fixed=True)
gap = (g(w @ x).sum() - g(B @ x).sum()) / 2**0.5
P.descend(gap**2 / 2, {w: eta})
P.observe(error=gap**2 / 2)
start = {"w.w": [[0.5, 0.1], [0.1, 0.5]], "w.B": [[0.3, 0.1], [0.1, 0.2]], "B.B": [[1, 0], [0, 1]]}
found = P.fixed_points(start, follow={"eta": (0.2, 3)})
proved = sum(each["certified"] for each in found.points)
print(json.dumps([len(found.points), proved, len(found.branches), len(found.connections)]))
"""
_LIMITS = {2: 5.0, 3: 60.0}
#: Limits of CPU seconds by students, teachers, and the largest Q_ii of proofs that no point is
#: missing.
_PROOFS = {
    (1, 1, 2.0): 5.0,
    (2, 1, 2.0): 5.0,
    (2, 2, 1.1): 5.0,
    (2, 2, 2.0): 15.0,
    (2, 3, 1.1): 60.0,
    (3, 3, 0.2025): 60.0,
}
_DIRECTIONS, _REPEATS, _PRODUCT_LIMIT = 300, 9, 4.0


def catalogue(students: int, teachers: int, *box: float) -> tuple[float, int, int, str, bool]:
    """Return CPU seconds with all imports, how many points were found, how many are proved, in
    which states up to a largest Q_ii none is missing, and whether these are all states.
    """
    seconds, told = _in_a_process(_PROGRAM, students, teachers, *box)
    found, proved, spaces, complete = told
    return seconds, found, proved, spaces, complete


def _in_a_process(program: str, *given: float) -> tuple[float, list[Any]]:
    """Return the CPU seconds of a program with all imports, and what it prints as JSON."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", program, *map(str, given)]
    ended = subprocess.run(command, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, json.loads(ended.stdout)


def stated_row() -> tuple[str, str, str, bool]:
    """Return the catalogue of K = M = 2 as a stated system, with its branches in η."""
    seconds, (found, proved, branches, edges) = _in_a_process(_STATED)
    said = f"{seconds:.1f} s CPU ({found} found, {proved} proved, {branches} branches)"
    met = proved == found and branches > 0 and edges > 0
    return "the same of K = M = 2 as a system, with branches in eta", said, "all proved", met


def product_row() -> tuple[str, str, str, bool]:
    """Return the ratio of the least times, K = M = 4 with 512 eigenvalues."""
    inputs = sd.PowerLaw(exponent=1.0, dimension=2048, distinct_eigenvalues=512)
    problem = sd.Problem("erf", students=4, teachers=4, learning_rate=0.5, inputs=inputs)
    rates, (run, _) = problem.rhs(), study_point(problem._study, None)
    along, begin = run.tangent(), run.course.begin
    direction = np.random.default_rng(0).standard_normal(rates.initial.size)
    rates(0.0, rates.initial)
    along(begin, direction)
    sides = (lambda: rates(0.0, rates.initial)), (lambda: along(begin, direction))
    least = [min(repeat(side, number=_DIRECTIONS, repeat=_REPEATS)) for side in sides]
    ratio = least[1] / least[0]
    said = f"{ratio:.1f} right-hand sides of {1e6 * least[0] / _DIRECTIONS:.0f} us"
    what = "Jacobian times a vector, erf, K = M = 4, L = 512"
    return what, said, f"<= {_PRODUCT_LIMIT:g}", ratio <= _PRODUCT_LIMIT


def rows() -> list[tuple[str, str, str, bool]]:
    """Return what was measured, the bound, and whether it was met."""
    result = [product_row(), stated_row()]
    for units, limit in _LIMITS.items():
        seconds, found, proved, *_ = catalogue(units, units)
        result.append(
            (
                f"fixed points of K = M = {units}, full flow, eta = 0.5",
                f"{seconds:.1f} s CPU ({found} found, {proved} proved)",
                f"< {limit:g} s",
                seconds < limit and proved == found,
            )
        )
    for (students, teachers, largest), limit in _PROOFS.items():
        seconds, *_, spaces, complete = catalogue(students, teachers, largest)
        result.append(
            (
                f"the same, K = {students}, M = {teachers}, proved to be all, Q_ii <= {largest:g}",
                f"{seconds:.1f} s CPU, {spaces or 'not finished'}",
                f"< {limit:g} s, all states",
                seconds < limit and complete,
            )
        )
    return result


if __name__ == "__main__":
    for row in rows():
        print(*row, sep=" | ")
