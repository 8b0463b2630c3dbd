"""Simulations without vectors: time per example, plateau lengths, and examples that lose nothing.

python -m benchmarks.gram              time per example at N = 10^9 and N = 10^4; plateau lengths
python -m benchmarks.gram --examples 100000000    also positivity over so many examples
"""

from __future__ import annotations

import argparse
import math
import statistics
import time

import numpy as np

from symderiv.experiment.studies.simulating import recorded_chain, simulate
from symderiv.problem.initial import initial
from symderiv.problem.study import Study, parse_study


def study_of(dimension: int, times: list[float], method: str = "gram", runs: int = 1) -> Study:
    """Two erf units learn two, a power law with four eigenvalues."""
    return parse_study(
        f"""
        [network]
        activation = "erf"
        students = 2
        teachers = 2
        [data]
        model = "power-law"
        dimension = {dimension}
        distinct_eigenvalues = 4
        exponent = 1.0
        [training]
        learning_rate = 0.3
        [initial]
        student_std = 0.01
        seed = 1
        [simulation]
        method = "{method}"
        runs = {runs}
        [time]
        values = {times}
        """
    )


def time_per_example(examples: int = 1_000_000, repeats: int = 9) -> dict[int, float]:
    """CPU seconds of an example at both dimensions, taken in turn; medians."""
    sizes = (10**4, 10**9)
    studies = {N: study_of(N, [examples / N]) for N in sizes}
    starts = {N: initial(study) for N, study in studies.items()}
    seconds: dict[int, list[float]] = {N: [] for N in sizes}
    for attempt in range(repeats + 1):
        for N in sizes:
            begin = time.process_time()
            simulate(studies[N], start=starts[N], workers=1)
            if attempt:  # the first loads the compiled code
                seconds[N].append((time.process_time() - begin) / examples)
    return {N: statistics.median(values) for N, values in seconds.items()}


def plateau_lengths(method: str, dimension: int, runs: int) -> np.ndarray:
    """The time (800 at most) at which each run's error is half of that at alpha = 50."""
    times = [50.0, *np.arange(51.0, 800.1).tolist()]
    study = study_of(dimension, times, method, runs)
    result = simulate(study, workers=1)
    error = result.generalization_error
    below = error < 0.5 * error[:, :1]
    first = np.where(below.any(axis=1), below.argmax(axis=1), len(times) - 1)
    return np.asarray(result.alpha[first])


def lowest_eigenvalue(examples: int) -> tuple[float, float]:
    """Least scaled Gram eigenvalue and last error of a run without noise."""
    study = study_of(64, [examples / 64])
    chain, measured = recorded_chain(study, initial(study), 128 * 1024)
    eigenvalue = math.inf
    for _ in range(math.ceil(examples / chain.block)):
        if not chain.reach(chain.made + chain.block):
            raise SystemExit("the run diverged")
        gram = chain.space.overlaps(chain.vectors)
        scale = np.sqrt(np.einsum("kii->ki", gram))
        scaled = gram / scale[:, :, None] / scale[:, None, :]
        eigenvalue = min(eigenvalue, float(np.linalg.eigvalsh(scaled).min()))
    return eigenvalue, float(measured(chain)["generalization_error"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=0)
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--dimension", type=int, default=400)
    options = parser.parse_args()
    seconds = time_per_example()
    ratio = seconds[10**9] / seconds[10**4]
    print(
        f"per example, L = 4, K = M = 2: N = 10^4 {1e9 * seconds[10**4]:.0f} ns, "
        f"N = 10^9 {1e9 * seconds[10**9]:.0f} ns, ratio {ratio:.2f} (must be <= 1.2)"
    )
    spread = {}
    for method in ("vectors", "gram"):
        begin = time.process_time()
        lengths = np.log(plateau_lengths(method, options.dimension, options.runs))
        # the standard deviation of n normal numbers is known to 1 / sqrt(2 n)
        spread[method] = lengths.std(ddof=1)
        print(
            f"plateau, N = {options.dimension}, {options.runs} runs, {method}: alpha = "
            f"{math.exp(lengths.mean()):.1f} (geometric mean, +- "
            f"{spread[method] / math.sqrt(options.runs):.1%}), run to run "
            f"{spread[method]:.1%} +- {spread[method] / math.sqrt(2 * options.runs):.1%}; "
            f"{time.process_time() - begin:.1f} CPU s"
        )
    if options.examples:
        eigenvalue, error = lowest_eigenvalue(options.examples)
        print(
            f"{options.examples} examples, N = 64, no noise: least "
            f"eigenvalue of a scaled Gram matrix {eigenvalue:.2g}, last error {error:.2g}"
        )


if __name__ == "__main__":
    main()
