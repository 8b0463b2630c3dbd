"""What results between steps cost, and how accurate they are: 300 times asked for against 30.

python -m benchmarks.outputs     a table over sizes, tolerances and ways to place the times
"""

from __future__ import annotations

import sys
import time

import numpy as np
from symderiv_kernels.fast import erf

from benchmarks.numpy_baseline import power_law_problem
from benchmarks.symderiv_solver import CompiledSolver
from symderiv.integrate.flows.flat_run import FlatProblem, FlatResult, StepLimits, integrate_flat
from symderiv.problem.flat_layout import pack_state, split_flat

#: K, M, L, learning rate, end, exponent of the spectrum.
PROBLEMS = (
    (2, 2, 10, 0.3, 300.0, 1.0),
    (2, 3, 1, 0.5, 200.0, 1.0),
    (3, 2, 4, 1.0, 100.0, 1.0),
    (2, 2, 3, 0.5, 2000.0, 0.5),
)
TOLERANCES = 1e-6, 1e-8, 1e-10
_REFERENCE = 1e-13


class _Problem:
    def __init__(self, K: int, M: int, L: int, rate: float, end: float, exponent: float) -> None:
        problem, state = power_law_problem(K, M, L, learning_rate=rate, exponent=exponent)
        self.solver, self.sizes, self.end = CompiledSolver(problem), (K, M, L), end
        Q_k = state[: L * K * K].reshape(L, K, K)
        self.state = pack_state(Q_k, state[L * K * K :].reshape(L, K, M), self.solver.v)

    def run(self, asked: np.ndarray, tolerance: float) -> FlatResult:
        rhs, solver = erf.specialised(*self.sizes[:2]), self.solver
        problem = FlatProblem(rhs, self.state, solver.sizes, solver.parameters, asked)
        return integrate_flat(problem, StepLimits(tolerance, 1e-4 * tolerance, 1e-6))

    def error(self, found: FlatResult, reference: FlatResult) -> float:
        """The largest difference of Q_k at a time, relative to the largest entry then."""
        ours, exact = (split_flat(run.results, *self.sizes)[0] for run in (found, reference))
        largest = np.max(np.abs(exact), axis=(1, 2, 3))
        return float(np.max(np.max(np.abs(ours - exact), axis=(1, 2, 3)) / largest))


def measured() -> list[tuple[str, float, float, float]]:
    """Problem, evaluations and seconds with 300 times over those with 30, error / tolerance."""
    lines = []
    for sizes in PROBLEMS:
        problem = _Problem(*sizes)
        for spacing, asked in (
            ("logarithmic", np.geomspace(1e-2, problem.end, 300)),
            ("linear", np.linspace(0.0, problem.end, 301)[1:]),
        ):
            exact = problem.run(asked, _REFERENCE)
            for tolerance in TOLERANCES:
                many, few = (_timed(problem, times, tolerance) for times in (asked, asked[9::10]))
                lines.append(
                    (
                        f"K, M, L = {sizes[:3]}, {spacing}, {tolerance:.0e}, {many[0].steps} steps",
                        many[0].rhs_evaluations / few[0].rhs_evaluations,
                        many[1] / few[1],
                        problem.error(many[0], exact) / tolerance,
                    )
                )
    return lines


def _timed(problem: _Problem, asked: np.ndarray, tolerance: float) -> tuple[FlatResult, float]:
    times = []
    for _ in range(7):
        started = time.process_time()
        result = problem.run(asked, tolerance)
        times.append(time.process_time() - started)
    return result, min(times)


def rows() -> list[tuple[str, str, str, bool]]:
    """The worst of the table, for ``python -m benchmarks``."""
    lines = measured()
    evaluations, seconds = max(line[1] for line in lines), max(line[2] for line in lines)
    return [
        (
            "300 times asked for against 30, the worst of 24 runs",
            f"{evaluations:.2f}x evaluations, {seconds:.2f}x time",
            "<= 1.3x",
            evaluations <= 1.3 and seconds <= 1.3,
        )
    ]


def main() -> int:
    print(f"{'':58} evaluations  time  error / tolerance")
    for what, evaluations, seconds, error in measured():
        print(f"{what:58} {evaluations:10.2f}x {seconds:5.2f}x {error:10.2g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
