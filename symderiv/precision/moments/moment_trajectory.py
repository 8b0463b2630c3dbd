r"""Trajectories of the moment form with as many digits as it takes.

The equations are the engine's own moment hierarchy (``learning.moment_program``), printed for
multiprecision numbers; this module supplies the numbers and integrates. Studies are solved in the
spectral form in doubles. The moment form is an independent check of it, and it is the form that
papers use.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.precision.balls.contexts import numbers
from symderiv.precision.moments.digits import Plan, moment_digits, require_double
from symderiv.precision.moments.extrapolation import Steps, trajectory
from symderiv.precision.moments.moment_system import (
    MomentSystem,
    Overlaps,
    RuleParameters,
    mapped,
    moment_module,
)

# Integrations of one trajectory, until two agree.
_MOST_RUNS: Final = 5
# Late in learning the matrix A may be larger than at the start, where it is computed.
_RATE_FACTOR: Final = 1.5


@dataclass(frozen=True)
class MomentTrajectory:
    """Learning curves from moments.

    Arrays hold mpmath numbers with all digits computed; set ``mpmath.mp.dps`` before computing with
    them, or take ``.astype(float)``.

    Attributes:
        alpha: Times, shape (P,), doubles.
        Q, R, v: Shapes (P, K, K), (P, K, M), (P, K).
        generalization_error: Shape (P,).
        digits: Digits that the result has, the least over times, as the comparison says.
        agreement: Largest relative difference of the generalisation error, and of Q, R, v relative
            to their scales, to the same trajectory with fewer digits and a larger tolerance.
        working_digits: Digits of the better run, whose numbers these are.
        compared_digits: Digits of the run that it was compared with.
        tolerance: Local tolerance of the better run.
        plan: Why so many digits.
        evaluations: Right-hand sides of all runs.
        seconds: CPU seconds of all runs.
    """

    alpha: np.ndarray
    Q: np.ndarray
    R: np.ndarray
    v: np.ndarray
    generalization_error: np.ndarray
    digits: float
    agreement: float
    working_digits: int
    compared_digits: int
    tolerance: float
    plan: Plan
    evaluations: int
    seconds: float


def moment_trajectory(
    state: Overlaps,
    rates: RuleParameters,
    times: Sequence[float] | np.ndarray,
    student: str = "erf",
    teacher: str | None = None,
    *,
    digits: int = 12,
    backend: str = "arb",
) -> MomentTrajectory:
    """Return learning curves by the moment form, with this many digits of the generalisation error.

    The working digits are planned from the spectrum and the times; the trajectory is computed again
    with more digits and a smaller tolerance, and both are compared. If they do not agree to the
    digits wanted, that is repeated with as many more as were missing.

    Args:
        state: The initial state, a :class:`symderiv.State`, taken as exact.
        rates: The learning rule.
        times: Ascending, >= 0.
        student, teacher: Activations as names or formulas in ``x``.
        digits: Relative accuracy wanted, 1 to 50.
        backend: "arb", or "mpmath", which is slower by an order of magnitude; "float64" only where
            the plan says that doubles suffice.

    Raises:
        InputError: An argument is out of range, or an eigenvalue is zero or occurs twice.
        ToleranceError: The digits were not reached, or doubles are refused.
    """
    if not 1 <= digits <= 50:
        raise InputError(f"digits must be between 1 and 50, not {digits}")
    times = _checked(times)
    module = moment_module(student, teacher)
    with numbers(30) as c:
        rate = _RATE_FACTOR * MomentSystem(module, state, rates, c).rate()
    plan = moment_digits(state.eigenvalue, state.weight, digits, float(times[-1]), rate)
    if backend == "float64":
        require_double(plan)
    steps, began = Steps(), time.process_time()
    working, tolerance = plan.digits, 10.0 ** -(digits + 1)
    before = _run(module, state, rates, times, working, tolerance, backend, steps)
    agreement = math.inf
    for _ in range(_MOST_RUNS - 1):
        compared = working
        missing = math.ceil(math.log10(agreement) + digits) if agreement < math.inf else 0
        working += 4 + max(plan.digits // 8, missing, 0)
        tolerance *= 10.0 ** -(1 + max(missing, 0))
        run = _run(module, state, rates, times, working, tolerance, backend, steps)
        agreement = _difference(before, run)
        if agreement <= 10.0**-digits:
            reached = -math.log10(agreement) if agreement > 0 else float(compared)
            return MomentTrajectory(
                *(times, *run, reached, agreement, working, compared),
                *(tolerance, plan, steps.evaluations, time.process_time() - began),
            )
        before = run
    raise ToleranceError(
        f"moments with {compared} and {working} digits differ by {agreement:.1e}, more than the "
        f"{digits} digits wanted; ask for fewer digits or an earlier end"
    )


def _checked(times: Sequence[float] | np.ndarray) -> np.ndarray:
    ascending = np.asarray(times, dtype=np.float64)
    if ascending.ndim != 1 or ascending.size == 0:
        raise InputError("times must be a list of at least one number")
    return ascending


_Curves = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _run(
    module: Any,
    state: Overlaps,
    rates: RuleParameters,
    times: np.ndarray,
    digits: int,
    tolerance: float,
    backend: str,
    steps: Steps,
) -> _Curves:
    """Return Q, R, v and the error at all times, as arrays of mpmath numbers."""
    with numbers(digits, backend) as c:
        system = MomentSystem(module, state, rates, c)
        states = trajectory(
            system.right_hand_side,
            system.start,
            times.tolist(),
            tolerance,
            size=system.size,
            point=c.point,
            steps=steps,
        )
        curves = [system.observables(y) for y in states]
        return tuple(  # type: ignore[return-value]
            np.array([mapped(c.as_mpf, curve[part]) for curve in curves], dtype=object)
            for part in range(4)
        )


def _difference(first: _Curves, second: _Curves) -> float:
    """Return the largest difference of errors, Q, R and v, relative to their scales."""
    worst = 0.0
    for part, (a, b) in enumerate(zip(first, second, strict=True)):
        axes = tuple(range(1, b.ndim))
        off, scale = abs(a - b), abs(b)
        if axes:
            off, scale = off.max(axis=axes), scale.max(axis=axes)
        if part == 1:  # R may vanish
            scale = np.maximum(scale, abs(second[0]).max(axis=(1, 2)))
        worst = max(
            worst, *(float(x / s) if s else float(x) for x, s in zip(off, scale, strict=True))
        )
    return worst
