"""What biases of error functions cost: their right-hand side beside that of plain descent.

python -m benchmarks.biases        a minute, most of it to derive and compile the module with biases

Both are run in turn, in one process, as functions for given numbers of units; what is printed is
the least time of a call over all repeats, and the ratio, which should be at most three at
K = M = 2. How many points a pair of signs needs depends on the largest correlation of two
conditioned fields, and so on the norms of the students.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernel_limits import calls_of, packed, seconds_per_call
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.storage.kernels import load_kernel

TURNS, CALLS = 40, 1000
NUMBERS = {
    "eigenvalue": 1.0,
    "weight": 1.0,
    "learning_rate": 0.5,
    "label_noise": 0.1,
    "full_order": 1.0,
}


def vectors(layout: Any, K: int, M: int, norm: float) -> tuple[np.ndarray, ...]:
    """What a right-hand side takes, of units in general position."""
    rng = np.random.default_rng(K + M)
    rows = rng.normal(size=(K + M, 30)) / 30**0.5
    rows[:K] *= norm
    C = rows @ rows.T
    known = {
        "student_overlap": C[:K, :K, None],
        "cross_overlap": C[:K, K:, None],
        "teacher_overlap": C[K:, K:, None],
        "T": C[K:, K:],
        "v": rng.normal(size=K),
        "v_teacher": 1.0,
        "student_biases": rng.normal(size=K) / 2,
        "teacher_biases": rng.normal(size=M) / 2,
    }
    return packed(layout, K, M, NUMBERS | known)


def main() -> None:
    """Print the table."""
    plain, biased = load_kernel("erf"), load_kernel("erf", rule=LearningRule(biases=True))
    print(
        "| K = M | norm of students | plain, µs | with biases, µs | ratio |\n|---|---|---|---|---|"
    )
    for units, norm in ((2, 0.3), (2, 1.0), (2, 2.0), (4, 1.0)):
        both = [
            calls_of(
                kernel.right_hand_side_for(units, units),
                *vectors(kernel.module.LAYOUT, units, units, norm),
            )
            for kernel in (plain, biased)
        ]
        turns = [[seconds_per_call(CALLS, calls, 10) for calls in both] for _ in range(TURNS)]
        least = np.min(turns, axis=0)
        one, other = 1e6 * least
        print(f"| {units} | {norm:g} | {one:.2f} | {other:.2f} | {other / one:.1f} |")


if __name__ == "__main__":
    main()
