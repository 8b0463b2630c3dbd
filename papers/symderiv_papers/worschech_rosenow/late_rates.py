"""Late rates and power laws: what governs the error at last, and between its modes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import mpmath
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed

from symderiv_papers.references.homogeneous import Committee, at_precision
from symderiv_papers.worschech_rosenow.escape_points import converted, label
from symderiv_papers.worschech_rosenow.late_modes import late_modes, stiffness
from symderiv_papers.worschech_rosenow.late_points import (
    LATE,
    late_times,
    overlap_flow,
    response,
    sizes,
    start_near,
)

__all__ = [
    "power_laws",
    "slowest_rates",
]


def _late_error(committee: Committee) -> Callable[[Any], Any]:
    """ε_g(α) to consistent second order from a generic start, by eigenvalues, so also very late."""
    L = committee.modes
    start = start_near(committee, mpmath.mpf(1))
    weight, rho, teacher = (
        [converted(x, mpmath) for x in values]
        for values in (committee.weight, committee.eigenvalue, committee.diagonal)
    )
    eta, multiplicity = converted(committee.learning_rate, mpmath), (1, committee.units - 1)
    values, vectors = mpmath.eig(overlap_flow(committee))
    amounts = mpmath.lu_solve(vectors, mpmath.matrix([x for row in start.overlap for x in row]))

    def error(alpha: Any) -> Any:
        grown = [mpmath.exp(x * alpha) * y for x, y in zip(values, amounts, strict=True)]
        overlap = (vectors * mpmath.matrix(grown)).apply(mpmath.re)
        rows = [[overlap[a * L + k] for k in range(L)] for a in range(2)]
        moved = [mpmath.fsum(weight[k] * rho[k] * rows[a][k] for k in range(L)) for a in range(2)]
        total = mpmath.mpf(0)
        for a, stiff in enumerate(stiffness(committee)):
            for k in range(L):
                left = start.distance[a][k] * mpmath.exp(-2 * eta * stiff * rho[k] * alpha)
                square = left + rows[a][k] ** 2 / teacher[k]
                total += multiplicity[a] * stiff * weight[k] * rho[k] * square / 2
            for b in range(2):
                total += multiplicity[a] * moved[a] * response(committee)[a][b] * moved[b] / 2
        return total

    return error


def slowest_rates(numbers: Any) -> Iterator[Point]:
    """Yield how fast the error falls at last; the small parameter is one over the time."""
    for committee in LATE:
        with at_precision():
            error = _late_error(committee)
            rates = [-value for value, _ in late_modes(committee).rest]
            slow = float(late_times(committee)[1])
            fixed = {
                **sizes(committee, numbers),
                "lambda_34": Indexed([numbers.mpf(x) for x in rates], (1, len(rates))),
            }
            for times in (200, 400, 800):
                alpha = mpmath.mpf(slow) * times
                rate = mpmath.log(error(alpha) / error(2 * alpha)) / alpha
                yield Point(
                    f"{label(committee)}, alpha = {float(alpha):.3g}",
                    {**fixed, "rate": numbers.mpf(rate)},
                    1 / float(alpha),
                    label(committee),
                )


def power_laws(numbers: Any) -> Iterator[Point]:
    """Yield the slope of ln ε_g over ln α in the middle of the power law, for more and more
    modes.
    """
    for units, beta in ((2, 0.5), (3, 1.0), (5, 1.5)):
        for modes in (64, 256):
            slope = _slope(units, beta, modes)
            known = {
                "slope": numbers.mpf(slope),
                "beta": numbers.mpf(beta),
                "scale": numbers.mpf(1),
                "M": units,
                "L": modes,
            }
            words = f"M = {units}, beta = {beta:g}"
            yield Point(f"{words}, L = {modes}", known, 1 / modes, words)


def _slope(units: int, beta: float, modes: int) -> float:
    """Return the slope by consistent second order; students that start at zero, teachers of unit
    length.
    """
    import numpy as np

    one = (Fraction(1),)
    committee = Committee(units, one, one, one, (Fraction(0),))
    stiff = np.array([float(x) for x in stiffness(committee)])
    table = np.array([[float(x) for x in row] for row in response(committee)])
    multiplicity = np.array([1.0, units - 1.0])
    rho = np.arange(1, modes + 1) ** -(1 + beta)
    rho *= modes / rho.sum()
    # in √(weight multiplicity) r the flow is -√ρ (symmetric) √ρ
    root = np.sqrt(multiplicity)
    coupling = root[:, None] * table / root
    size = 2 * modes
    inner = np.einsum("k,ab,l->akbl", rho, coupling, rho).reshape(size, size) / modes
    matrix = np.diag((stiff[:, None] * rho).ravel()) + inner
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    start = -(np.sqrt(multiplicity)[:, None] * np.ones(modes) / np.sqrt(modes)).ravel()
    square = (vectors.T @ start) ** 2
    middle = 1 / (2 * stiff[1] * np.sqrt(rho[0] * rho[-1]))
    # the quadratic form of the error is the one of the flow: both come from one potential
    logs = [
        np.log(np.sum(values * square * np.exp(-2 * values * alpha)))
        for alpha in (middle / 1.1, middle * 1.1)
    ]
    return float((logs[1] - logs[0]) / np.log(1.21))
