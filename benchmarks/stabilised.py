"""Long runs of mildly stiff spectra: stabilised steps where they pay against explicit ones alone.

python -m benchmarks.stabilised     K = M = 2, L = 10 to alpha = 1e4 at three tolerances
"""

from __future__ import annotations

import sys
import time

import numpy as np

from benchmarks.numpy_baseline import power_law_problem
from benchmarks.symderiv_solver import CompiledSolver

_END = 1e4


def measured(tolerance: float) -> tuple[float, str]:
    """How much faster, and a line that says it."""
    problem, state = power_law_problem(2, 2, 10, learning_rate=0.3)
    solver = CompiledSolver(problem)
    exact, _ = solver.solution(state, _END, 1e-12, stabilise=False)

    def run(stabilise: bool) -> tuple[float, int, float]:
        times = []
        for _ in range(8):
            started = time.process_time()
            found, evaluations = solver.solution(state, _END, tolerance, stabilise=stabilise)
            times.append(time.process_time() - started)
        # the first one compiles or loads
        return min(times[1:]), evaluations, float(np.max(np.abs(found - exact)))

    seconds, evaluations, error = run(True)
    plain, more, plain_error = run(False)
    return plain / seconds, (
        f"{plain / seconds:.1f}x ({1e3 * seconds:.1f} ms, {evaluations} evaluations, error at the "
        f"end {error:.0e} / {1e3 * plain:.1f} ms, {more}, {plain_error:.0e})"
    )


def rows() -> list[tuple[str, str, str, bool]]:
    """For ``python -m benchmarks``."""
    found = []
    for tolerance in (1e-6, 1e-8):
        ratio, line = measured(tolerance)
        what = f"stabilised steps against explicit ones alone, tolerance {tolerance:.0e}"
        found.append((what, line, ">= 2x", ratio >= 2.0))
    return found


def main() -> int:
    for tolerance in (1e-6, 1e-8, 1e-10):
        print(f"{tolerance:.0e}  {measured(tolerance)[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
