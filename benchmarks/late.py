"""Late learning at many eigenvalues: time and accuracy of the sums over modes."""

from __future__ import annotations

import time

import mpmath
import numpy as np

from symderiv.analysis.late.late_dynamics import LateDynamics
from symderiv.inputs import power_law

EIGENVALUES = 4096


def rows() -> list[tuple[str, str, str, bool]]:
    """What was measured, the result, what it must be, and whether it is."""
    component = power_law(EIGENVALUES, 1.0).single()
    theory = LateDynamics("erf", 4, component.eigenvalue, component.weight, 0.1)
    theory.generalization_error([1.0], 0.1)  # compilation
    alpha = np.geomspace(1.0, 1e6, 100)
    seconds = []
    for second_order in (False, True):
        start = time.process_time()
        value = theory.generalization_error(alpha, 0.1, second_order=second_order)
        seconds.append(time.process_time() - start)
        if not second_order:
            first = value
    worst = max(_relative_error(theory, alpha[i], first[i]) for i in (0, 50, 99))
    name = f"asymptotic error, L = {EIGENVALUES}, 100 times"
    return [
        (f"{name}, first order", f"{seconds[0]:.3f} CPU s", "< 1 s", seconds[0] < 1),
        (f"{name}, second order", f"{seconds[1]:.2f} CPU s", "< 1 s", seconds[1] < 1),
        ("the first against 60 digits", f"{worst:.1e} relative", "<= 1e-12", worst <= 1e-12),
    ]


def _relative_error(theory: LateDynamics, alpha: float, value: float) -> float:
    context = mpmath.MPContext()
    context.dps = 60
    eta, at = context.mpf(theory.learning_rate), context.mpf(float(alpha))
    start = 1 + context.mpf(0.1) ** 2
    stiffness = theory.theory.coefficients(theory.units, digits=60).stiffness
    rho = [context.mpf(float(x)) for x in theory.eigenvalue]
    exact = sum(
        mu * A * start
        * context.fsum(x * context.exp(-2 * eta * A * x * at) for x in rho) / (2 * len(rho))
        for mu, A in zip((1, theory.units - 1), stiffness, strict=True)
    )  # fmt: skip
    return float(abs(value - exact) / exact)


if __name__ == "__main__":
    for *words, _ in rows():
        print("  ".join(words))
