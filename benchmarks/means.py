"""Means without closed form: time of the right-hand side beside erf's, and its true error.

python -m benchmarks.means                    the whole table, about three CPU minutes
python -m benchmarks.means --only silu        the activations with this in their names

Every activation is asked for means at 1e-9; a rule of quadrature that cannot takes its best. Times
are the least of repeats, of the compiled right-hand side for two students and two teachers with
isotropic inputs, as called from Python, at four states of learning: fields nearly independent, a
plateau, anything, and students near their teachers. The row of erf, whose means are closed, says
what the call costs. Beside the stated error of a mean stands the largest difference of a rate from
the same with a much finer rule, at these and at random states; ``make quadrature-errors`` has
independent integrals.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.kernel_limits import packed
from symderiv.compiled_code.translated_functions import TranslatedModule
from symderiv.lowering.means.quadrature_rules import MeanRule, finer
from symderiv.storage.kernels import load_kernel

ACTIVATIONS = ("erf", "softplus", "silu", "mish", "softsign", "elu", "selu", "arctan", "tanh")
K = M = 2
TOLERANCE = 1e-9

_RULES = ("QUADRATURE_RULE", "QUADRATURE_PAIR_RULE")
_SAME = np.eye(4)
STATES = {
    "early": _SAME + 0.05 * (np.ones((4, 4)) - _SAME) * (1 - np.kron(np.eye(2), np.ones((2, 2)))),
    "plateau": np.array(
        [
            [0.5, 0.499, 0.499, 0.499],
            [0.499, 0.5, 0.499, 0.499],
            [0.499, 0.499, 1, 0],
            [0.499, 0.499, 0, 1.0],
        ]
    ),
    "between": np.array(
        [[1, 0.3, 0.5, 0.2], [0.3, 1, 0.1, 0.4], [0.5, 0.1, 1, 0], [0.2, 0.4, 0, 1.0]]
    ),
    "late": np.array([[1, 0, 0.999, 0], [0, 1, 0, 0.999], [0.999, 0, 1, 0], [0, 0.999, 0, 1.0]]),
}
"""Covariances of the students' and the teachers' fields."""


Call = Callable[[], NDArray[np.float64]]


def called(layout: Any, rhs: Any, covariance: NDArray[np.float64]) -> Call:
    """Return a call of the right-hand side at a state."""
    values = {
        "student_overlap": covariance[:K, :K, None],
        "cross_overlap": covariance[:K, K:, None],
        "v": np.full(K, K**-0.5),
        "eigenvalue": 1.0,
        "weight": 1.0,
        "teacher_overlap": covariance[K:, K:, None],
        "T": covariance[K:, K:],
        "v_teacher": np.full(M, M**-0.5),
        "learning_rate": 0.5,
        "full_order": 1.0,
    }
    state, sizes, parameters, derivative = packed(layout, K, M, values)

    def call() -> NDArray[np.float64]:
        rhs(0.0, state, sizes, parameters, derivative)
        return derivative

    return call


def error_of(kernel: Any, count: int = 20) -> float:
    """Return the largest difference of a rate from that of a finer rule."""
    text = vars(kernel.fast).get("_text", "")
    found = re.findall(
        r"^(QUADRATURE_(?:PAIR_)?RULE) = np.array\((.*?)\)$", text, re.MULTILINE | re.DOTALL
    )
    if not found:
        return 0.0
    numbers = {name: tuple(map(float, re.findall(r"[-+.e\d]+", row))) for name, row in found}
    rule = MeanRule(0.0, numbers["QUADRATURE_RULE"], numbers["QUADRATURE_PAIR_RULE"])
    better = finer(rule)
    for name, row in zip(_RULES, (better.four, better.two), strict=True):
        text = re.sub(
            rf"^{name} = np.array\(.*?\)$",
            f"{name} = np.array({row})".replace("inf", "math.inf"),
            text,
            flags=re.MULTILINE | re.DOTALL,
        )
    exact, own = TranslatedModule(text).specialised(K, M), kernel.right_hand_side_for(K, M)
    rng, largest = np.random.default_rng(5), 0.0
    loads = [rng.normal(size=(K + M, K + M)) / np.sqrt(K + M) for _ in range(count)]
    for covariance in (*STATES.values(), *(load @ load.T for load in loads)):
        rates = [called(kernel.module.LAYOUT, each, covariance)() for each in (exact, own)]
        largest = max(largest, float(np.abs(rates[0] - rates[1]).max()))
    return largest


def microseconds(call: Callable[[], Any]) -> float:
    """CPU time of a call, the least of many."""
    call()
    best = np.inf
    for _ in range(40):
        begin = time.process_time()
        for _ in range(5):
            call()
        best = min(best, (time.process_time() - begin) / 5)
    return 1e6 * best


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.means", description=__doc__)
    parser.add_argument("--only", default="", help="activations with this in their names")
    options = parser.parse_args()
    heads = " | ".join(f"{each}, µs" for each in STATES)
    print(f"| activation | {heads} | erf, µs | stated | found |")
    print("|---" * (4 + len(STATES)) + "|")
    baseline = None
    for name in ACTIVATIONS:
        if name != "erf" and options.only not in name:
            continue
        kernel = load_kernel(name, None, tolerance=TOLERANCE)
        rhs, layout = kernel.right_hand_side_for(K, M), kernel.module.LAYOUT
        times = [microseconds(called(layout, rhs, covariance)) for covariance in STATES.values()]
        baseline = baseline or times[0]
        stated = getattr(kernel.module, "ACTIVATION_ERROR", 0.0)
        cells = " | ".join(f"{each:.0f}" for each in times)
        errors = f"{stated:.1e} | {error_of(kernel):.1e}"
        print(f"| {name} | {cells} | {baseline:.1f} | {errors} |", flush=True)


if __name__ == "__main__":
    main()
