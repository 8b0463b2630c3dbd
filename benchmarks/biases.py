"""What biases of error functions cost: their right-hand side beside that of plain descent.

python -m benchmarks.biases        a minute, most of it to derive and compile the module with biases

Both are run in turn, in one process, as functions for given numbers of units; what is printed is
the least time of a call over all repeats, and the ratio, which should be at most three at
K = M = 2. How many points a pair of signs needs depends on the largest correlation of two
conditioned fields, and so on the norms of the students.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numba import njit

from symderiv.foundation.packing import Packing
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.storage.kernels import load_kernel

REPEATS, CALLS = 400, 1000
NUMBERS = {
    "eigenvalue": 1.0,
    "weight": 1.0,
    "learning_rate": 0.5,
    "label_noise": 0.1,
    "full_order": 1.0,
}


def vectors(layout: dict[str, dict[str, tuple[str, ...]]], K: int, M: int, norm: float) -> Packed:
    """State, sizes, parameters and room for the derivative of units in general position."""
    rng = np.random.default_rng(K + M)
    rows = rng.normal(size=(K + M, 30)) / 30**0.5
    rows[:K] *= norm
    C = rows @ rows.T
    known = {
        **NUMBERS,
        "student_overlap": C[:K, :K, None],
        "cross_overlap": C[:K, K:, None],
        "teacher_overlap": C[K:, K:, None],
        "T": C[K:, K:],
        "v": rng.normal(size=K),
        "v_teacher": np.ones(M),
        "student_biases": rng.normal(size=K) / 2,
        "teacher_biases": rng.normal(size=M) / 2,
    }
    packed = []
    for vector in ("state", "parameters"):
        packing = Packing.of(layout, vector, K=K, M=M, L=1)
        shaped = {
            name: np.broadcast_to(known.get(name, 0.0), shape)
            for name, shape in packing.shapes.items()
        }
        packed.append(packing.packed(**shaped))
    return packed[0], np.array([K, M, 1]), packed[1], np.zeros_like(packed[0])


Packed = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def timed(function: Callable[..., None]) -> Callable[[Packed], float]:
    """Seconds of a call among many."""

    @njit
    def run(state, sizes, parameters, derivative):  # type: ignore[no-untyped-def]
        for _ in range(CALLS):
            function(0.0, state, sizes, parameters, derivative)

    def seconds(packed: Packed) -> float:
        begun = time.perf_counter()
        run(*packed)
        return (time.perf_counter() - begun) / CALLS

    return seconds


def main() -> None:
    """Print the table."""
    plain, biased = load_kernel("erf"), load_kernel("erf", rule=LearningRule(biases=True))
    print(
        "| K = M | norm of students | plain, µs | with biases, µs | ratio |\n|---|---|---|---|---|"
    )
    for units, norm in ((2, 0.3), (2, 1.0), (2, 2.0), (4, 1.0)):
        both = [
            (timed(kernel.right_hand_side_for(units, units)),
             vectors(kernel.module.LAYOUT, units, units, norm))
            for kernel in (plain, biased)
        ]  # fmt: skip
        for run, packed in both:
            run(packed)
        least = np.min([[run(packed) for run, packed in both] for _ in range(REPEATS)], axis=0)
        one, other = 1e6 * least
        print(f"| {units} | {norm:g} | {one:.2f} | {other:.2f} | {other / one:.1f} |")


if __name__ == "__main__":
    main()
