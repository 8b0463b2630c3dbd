"""Times of events of random problems against those of runs with the smallest tolerance.

python -m benchmarks.event_times [PROBLEMS]
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import symderiv as sd

_PROBLEMS, _SEED, _FINEST, _FACTOR = 100, 7, 1e-13, 10.0
_END, _POINTS = 300.0, 30


def drawn(random: np.random.Generator) -> tuple[sd.Problem, list[str], float]:
    """Return a problem with K and M from 1 to 3, conditions, and a tolerance."""
    K, M = (int(n) for n in random.integers(1, 4, 2))
    inputs = sd.PowerLaw(
        exponent=float(random.uniform(0.2, 1.5)),
        dimension=240,
        distinct_eigenvalues=int(random.integers(1, 4)),
    )
    problem = sd.Problem(
        "erf",
        students=K,
        teachers=M,
        inputs=inputs,
        learning_rate=float(random.uniform(0.1, 2.0)),
        student_std=float(random.uniform(0.01, 0.7)),
        label_noise=float(random.choice([0.0, 0.2])),
        weight_decay=float(random.choice([0.0, 0.01])),
        seed=int(random.integers(1000)),
    )
    error = float(problem.rates().generalization_error)
    conditions = [
        f"generalization_error < {error * random.uniform(0.02, 0.95)}",
        f"Q[1,1] > {random.uniform(0.2, 1.2)}",
        f"R[1,{M}]**2 > {random.uniform(0.1, 0.9)}*Q[1,1]",
    ]
    return problem, conditions, float(10.0 ** -random.integers(5, 12))


def measured(problems: int) -> tuple[int, float, int]:
    """Return how many events there were, the largest error of a time in units of the tolerance,
    and how many were found by one run only.
    """
    random = np.random.default_rng(_SEED)
    found, worst, lost = 0, 0.0, 0
    for _ in range(problems):
        problem, conditions, tolerance = drawn(random)
        runs = [
            problem.solve(end=_END, points=_POINTS, relative_tolerance=each, events=conditions)
            for each in (tolerance, _FINEST)
        ]
        for one, other in zip(*(run.events for run in runs), strict=True):
            if (one["alpha"] is None) != (other["alpha"] is None):
                lost += 1
            elif other["alpha"]:
                found += 1
                worst = max(worst, abs(one["alpha"] / other["alpha"] - 1.0) / tolerance)
    return found, worst, lost


def rows(problems: int = _PROBLEMS) -> list[tuple[str, str, str, bool]]:
    """Return what was measured, the bound, and whether it was met."""
    found, worst, lost = measured(problems)
    said = f"{worst:.2g} x the tolerance at worst, {found} events, {lost} of one run only"
    return [
        (
            f"times of events of {problems} random problems",
            said,
            f"<= {_FACTOR:g} x",
            worst <= _FACTOR and not lost,
        )
    ]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for row in rows(int(sys.argv[1]) if sys.argv[1:] else _PROBLEMS):
        print(*row, sep=" | ")
