"""The error curve of a linear network to as many digits as asked for, by three methods.

The number of working digits is planned (by :func:`symderiv.precision.moment_digits` for methods
that use moments), everything is computed a second time with more, and the digits that agree are
reported.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from flint import arb

from symderiv.analysis.linear.companion import STEP_DIGITS, companion_rates, moment_error
from symderiv.analysis.linear.decay import ExponentialSum
from symderiv.analysis.linear.error_curve import (
    eigendirections,
    generalization_error,
    stability_limit,
)
from symderiv.analysis.linear.exact_spectrum import (
    Balls,
    ExactLinear,
    secular_rates,
    sum_of_exponentials,
)
from symderiv.analysis.linear.system import linear_system
from symderiv.foundation.errors import InputError, ToleranceError, check_one_of
from symderiv.precision.balls.working import bits_of, working_bits
from symderiv.precision.moments.agreement import Agreed, computed_twice
from symderiv.precision.moments.digits import DOUBLE_DIGITS, moment_digits, require_double

METHODS: Final = ("secular", "companion", "moments")
#: Largest number of eigenvalues for each method; more would take hours.
MOST_EIGENVALUES: Final = {"secular": 2000, "companion": 300, "moments": 300}
# The coefficients of the characteristic polynomial lose digits once; the left eigenvectors, at
# rates that are known that well, once more; balls overestimate both.
_COMPANION_LOSS: Final = 2.2
# Extra digits, for offsets from poles and slopes there.
_GUARD: Final = 20


@dataclass(frozen=True)
class DigitsAnswer:
    """Numbers with ``digits`` correct digits.

    The numbers of the secular equation are balls that contain the exact ones. Other methods have
    rounding errors: the middles of their balls are shown, and their distances from the balls of
    ``enclosures`` are proved.

    Attributes:
        rates: s_j, ascending.
        weights: W_j, sum 1.
        generalization_error: ⟨ε_g⟩ at each time.
        small_learning_rate: the limit η → 0 at each time.
        final_error: ⟨ε_g⟩ at infinite time.
        digits_used: the number of decimal digits of the computation.
        agreement: number of digits in which a second computation with more digits agrees
            everywhere.
        difference_from_secular: largest relative difference of ``generalization_error`` from the
            certified one of the secular equation; None for that method itself.
        reason: why so many digits are needed.
        enclosures: balls that contain the exact rates, weights and errors, in this order.
    """

    rates: Balls
    weights: Balls
    generalization_error: Balls
    small_learning_rate: Balls
    final_error: arb
    digits_used: int
    agreement: int
    difference_from_secular: float | None
    reason: str
    enclosures: Balls


def linear_digits(
    problem: ExactLinear,
    alpha: list[Fraction],
    method: str = "secular",
    digits: int = 30,
    working_digits: int | None = None,
) -> DigitsAnswer:
    """Return the exact error curve to so many digits.

    Args:
        problem: the network; its learning rate must be below the stability limit.
        alpha: times ≥ 0.
        method: one of :data:`METHODS`; ``moments`` gives rates and weights of the secular equation,
            because following moments in time finds none.
        digits: decimal digits of every number, at least 1.
        working_digits: the number of digits to work with in place of the planned one; 15 or 16 mean
            double precision.

    Raises:
        InputError: an argument is out of range.
        ToleranceError: ``working_digits`` are too few for moments, with the reason; or the second
            computation does not agree.
    """
    check_one_of("method", method, METHODS)
    if problem.trainable > MOST_EIGENVALUES[method]:
        raise InputError(
            f"{problem.trainable} eigenvalues are more than the "
            f"{MOST_EIGENVALUES[method]} that {method} does with many digits; use 15 digits and "
            "the method secular",
            argument="digits",
        )
    agreed, reason = _agreed(problem, alpha, method, digits, working_digits)
    values, number = list(agreed.values), problem.trainable
    enclosures, difference = values, None
    if method != "secular":
        enclosures = list(_agreed(problem, alpha, "secular", digits, None)[0].values)
        with working_bits(bits_of(digits + _GUARD)):
            pairs = zip(values[len(values) - len(alpha) :], enclosures[2 * number :], strict=True)
            difference = max((float(abs(x / y - 1).mid()) for x, y in pairs), default=0.0)
        if method == "moments":
            values = [*enclosures[: 2 * number], *values]
    with working_bits(bits_of(digits + _GUARD)):
        small = [problem.small_learning_rate(time) for time in alpha]
        _, limit = problem.amplitude_and_limit()
    return DigitsAnswer(
        values[:number],
        values[number : 2 * number],
        values[2 * number :],
        small,
        limit,
        agreed.digits_used,
        agreed.agreement,
        difference,
        reason,
        enclosures,
    )


def _agreed(
    problem: ExactLinear, alpha: list[Fraction], method: str, digits: int, working: int | None
) -> tuple[Agreed, str]:
    """Return two computations of rates, weights and errors, and the reason for their digits.

    The method of moments gives no rates and weights.
    """
    planned, reason = _planned(problem, alpha, method, digits, working)

    def compute() -> Balls:
        if method == "moments":
            known, decayed = [], moment_error(problem, alpha)
        else:
            by = secular_rates if method == "secular" else companion_rates
            rates, weights = by(problem)
            known = [*rates, *weights]
            decayed = [sum_of_exponentials(rates, weights, time) for time in alpha]
        amplitude, limit = problem.amplitude_and_limit()
        return [*known, *(limit + amplitude * part for part in decayed)]

    chosen = planned if working is None else working
    return computed_twice(compute, chosen, digits, fixed=working is not None), reason


def _planned(
    problem: ExactLinear, alpha: list[Fraction], method: str, digits: int, working: int | None
) -> tuple[int, str]:
    """Return the number of digits to work with, and why; refuse ``working`` if it is too small."""
    with working_bits(64):
        rho, weight = (np.array([float(x) for x in balls]) for balls in problem.trained())
    eta = float(problem.learning_rate)
    directions = eigendirections(rho, weight)
    near = max(0.0, -math.log10(1.0 - eta / stability_limit(directions)))
    if method == "secular":
        needed = digits + _GUARD + math.ceil(near)
        return needed, "offsets from the poles of the secular equation and slopes there"
    last = float(max(alpha, default=Fraction(0)))
    late = _digits_below_start(generalization_error(directions, eta), last)
    wanted = digits + late + math.ceil(near)
    if method == "moments":
        rate = float(linear_system().numbers(eta, 1.0, 1.0)[0])
        plan = moment_digits(rho, weight, wanted, alpha=last, rate=rate)
        needed = plan.digits + STEP_DIGITS
    else:
        plan = moment_digits(rho, weight, wanted)
        needed = plan.digits + math.ceil((_COMPANION_LOSS - 1.0) * plan.lost) + _GUARD
    if working is not None and working <= math.ceil(DOUBLE_DIGITS):
        require_double(plan)
    elif working is not None and working + _GUARD < needed:
        raise ToleranceError(
            f"{working} are too few for the method {method}, which takes about "
            f"{needed}: {plan.reason}; leave it out, or use the method secular",
            argument="working_digits",
        )
    return needed, plan.reason


def _digits_below_start(curve: ExponentialSum, time: float) -> int:
    """Return the decimal logarithm of the factor by which ε_g has decayed."""
    start, end = float(curve(0.0)), float(curve(time))
    if not end > 0.0:
        return 330
    return max(0, math.ceil(math.log10(start / end)))
