"""Fluctuations at finite N against simulated SGD: variances, the law in N, and escape times.

python -m benchmarks.finite_size
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np

import symderiv as sd

Row = tuple[str, str, str, bool]

_RUNS = 1000
_SIZES = {100: 1000, 1000: 1000, 10_000: 300, 100_000: 200, 1_000_000: 30}
"""Runs by N of the law in N; with few of them only the mean ratio of variances is compared."""
_EVENT = "abs(R[1,1]) > 0.5"


def general(N: int) -> sd.Problem:
    """Return a problem with K ≠ M, T ≠ 1, label noise and large steps."""
    return sd.Problem(
        "erf",
        students=2,
        teachers=3,
        learning_rate=1.2,
        student_std=0.5,
        label_noise=0.2,
        inputs=sd.Isotropic(N),
    )


def start(problem: sd.Problem) -> dict[str, Any]:
    """Return one start for all N."""
    T = np.array([[1.2, 0.3, 0.0], [0.3, 0.8, -0.2], [0.0, -0.2, 1.0]])
    Q = np.array([[0.5, 0.1], [0.1, 0.3]])
    R = np.array([[0.2, -0.1, 0.15], [0.05, 0.2, 0.0]])
    return {"Q": Q, "R": R, "T": T}


def escaping(N: int) -> tuple[sd.Problem, dict[str, Any]]:
    """Return a quadratic unit that leaves the unstable point R = 0."""
    problem = sd.Problem(
        "x**2",
        students=1,
        teachers=1,
        student_weights=1.0,
        teacher_weights=1.0,
        learning_rate=0.1,
        inputs=sd.Isotropic(N),
    )
    return problem, {"Q": [[1 / 3]], "R": [[0.01]], "T": [[1.0]]}


def entries(found: Any, run: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return simulated values of Q and R, shape (runs, P, n), with their law: means, variances."""
    K = run.Q.shape[-1]
    rows, columns = np.triu_indices(K)
    values = np.concatenate(
        [run.Q[:, :, rows, columns], run.R.reshape(*run.R.shape[:2], -1)], axis=2
    )
    names = found.names[: values.shape[2]]
    mean = np.array([found.mean_of(name) for name in names]).T
    return values, mean, np.array([found.deviation_of(name) for name in names]).T ** 2


def spreads() -> list[Row]:
    """Return how many variances and means are within three standard errors, N = 10⁴."""
    N, alpha = 10_000, np.linspace(0.5, 8.0, 12)
    problem = general(N)
    begin = start(problem)
    found = problem.fluctuations(alpha=alpha, initial=begin)
    run = problem.simulate(alpha=alpha, initial=begin, runs=_RUNS, method="gram", progress=False)
    values, mean, variance = entries(found, run)
    measured = values.var(axis=0, ddof=1)
    inside = np.abs(measured - variance) <= 3 * measured * np.sqrt(2 / (_RUNS - 1))
    shifted = np.abs(values.mean(axis=0) - mean) <= 3 * np.sqrt(measured / _RUNS)
    return [
        (
            f"variances of {variance.shape[1]} entries at {alpha.size} times, N = {N}, "
            f"{_RUNS} runs",
            f"{inside.mean():.1%} within 3 standard errors",
            ">= 97 %",
            bool(inside.mean() >= 0.97),
        ),
        (
            "means of the same, with the shift of order 1/N",
            f"{shifted.mean():.1%} within 3 standard errors",
            ">= 97 %",
            bool(shifted.mean() >= 0.97),
        ),
    ]


def sizes() -> list[Row]:
    """Return N times the variances, over those in the limit, for all N."""
    alpha, rows = np.array([0.4, 0.8]), []
    for N, runs in _SIZES.items():
        problem = general(N)
        begin = start(problem)
        found = problem.fluctuations(alpha=alpha, initial=begin)
        run = problem.simulate(alpha=alpha, initial=begin, runs=runs, method="gram", progress=False)
        values, _, variance = entries(found, run)
        ratio = float(np.mean(values.var(axis=0, ddof=1) / variance))
        # entries are correlated, so that their mean has almost the error of one
        error = 3 * np.sqrt(2 / (runs - 1)) + 3 / N
        rows.append(
            (
                f"mean variance over Σ/N, N = {N}, {runs} runs",
                f"{ratio:.3f}",
                f"1 ± {error:.2g}",
                abs(ratio - 1) <= error,
            )
        )
    return rows


def distance(N: int, runs: int, end: float = 22.0) -> tuple[float, bool]:
    """Return the largest distance of distribution functions of escape times, and whether the result
    warns.
    """
    problem, begin = escaping(N)
    alpha = np.linspace(0.0, end, 221)[1:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = problem.fluctuations(alpha=alpha[::10], initial=begin, events=[_EVENT])
        run = problem.simulate(alpha=alpha, initial=begin, runs=runs, method="gram", progress=False)
    held = np.abs(run.R[:, :, 0, 0]) > 0.5
    first = np.where(held.any(axis=1), alpha[held.argmax(axis=1)], np.inf)
    # runs are looked at from time to time, so distribution functions are compared there
    share = np.array([np.mean(first <= t) for t in alpha])
    law = found.law(_EVENT)
    return float(np.abs(share - law.distribution(alpha)).max()), bool(law.warnings)


def escapes() -> list[Row]:
    """Return the distances of laws of escape times."""
    found, _ = distance(10_000, _RUNS)
    rows = [
        (
            f"escape times, N = 10000, {_RUNS} runs",
            f"Kolmogorov-Smirnov distance {found:.3f}",
            "<= 0.06",
            found <= 0.06,
        )
    ]
    for N in (100, 1000):
        apart, warned = distance(N, _RUNS)
        said = f"Kolmogorov-Smirnov distance {apart:.3f}, {'' if warned else 'no '}warning"
        rows.append((f"escape times, N = {N}", said, "small, or a warning", apart < 0.1 or warned))
    return rows


def main() -> int:
    """Print all rows; 1 if a bound was not met."""
    begun, missed = time.process_time(), 0
    for part in (spreads, sizes, escapes):
        for row in part():
            print(*row, sep=" | ", flush=True)
            missed += not row[-1]
    print(f"{time.process_time() - begun:.0f} CPU seconds")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
