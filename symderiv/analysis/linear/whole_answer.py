"""One question about a linear network, answered: exact curve, approximations, stability, window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symderiv.analysis.linear.decay import ExponentialSum
from symderiv.analysis.linear.error_curve import (
    Directions,
    check_learning_rate,
    generalization_error,
    small_learning_rate,
    stability_limit,
)
from symderiv.analysis.linear.power_law import PowerLawSum, integral_approximation, window
from symderiv.analysis.low_rank import Floats


@dataclass(frozen=True)
class LinearAnswer:
    """⟨ε_g⟩(α) of a linear network in double precision, with everything that goes with it.

    Attributes:
        curve: the exact curve, to be called with any time.
        generalization_error: its values at the given times, shape (n,).
        small_learning_rate: the limit η → 0, shape (n,).
        integral: the integral approximation of that, None without a power law.
        integral_error_estimate: exact minus that, by the next terms of the Euler–Maclaurin formula.
        integral_error_bound: its proved error, None without a power law.
        window: the α between which the power law holds, None without one.
        stability_limit: the largest η.
    """

    curve: ExponentialSum
    generalization_error: Floats
    small_learning_rate: Floats
    integral: Floats | None
    integral_error_estimate: Floats | None
    integral_error_bound: Floats | None
    window: tuple[float, float] | None
    stability_limit: float


def linear_answer(
    directions: Directions,
    learning_rate: float,
    alpha: Floats,
    deviation: float = 1.0,
    law: PowerLawSum | None = None,
) -> LinearAnswer:
    """Return everything about one linear network.

    Args:
        directions: what is trained.
        learning_rate: η.
        alpha: times ≥ 0, shape (n,).
        deviation: S² + T, variances of initial student and teacher weights.
        law: the power law behind ``directions``, for the approximation and the window.

    Raises:
        InputError: η is not positive or not below the stability limit, which is named.
    """
    check_learning_rate(directions, learning_rate)
    curve = generalization_error(directions, learning_rate, deviation)
    integral = estimate = bound = ends = None
    if law is not None:
        approximation = integral_approximation(law, learning_rate, alpha, deviation)
        integral, estimate, bound = (
            approximation.value,
            approximation.error_estimate,
            approximation.error_bound,
        )
        ends = window(law, learning_rate)
    return LinearAnswer(
        curve,
        curve(alpha),
        small_learning_rate(directions, learning_rate, alpha, deviation),
        integral,
        estimate,
        bound,
        ends,
        stability_limit(directions),
    )


def departure(finite: Floats, limit: Floats) -> float:
    """Return the largest relative difference of an exact finite-N curve from the limit N → ∞."""
    positive = limit > 0.0
    if not np.any(positive):
        return 0.0
    return float(np.max(np.abs(finite[positive] / limit[positive] - 1.0)))
