r"""Initial value problems to any tolerance: extrapolation with variable order and step.

The explicit midpoint rule with 2, 4, 6 … substeps has an error in even powers of the substep; k
results extrapolated to substep 0 are of order 2k (Gragg, Bulirsch and Stoer). All coefficients are
integers, so nothing limits the digits. Order and step follow the work per unit of time. (Hairer,
Nørsett and Wanner, Solving Ordinary Differential Equations I, section II.9.)

When to use: smooth, not stiff problems, tolerances from 1e-8 to 1e-40. In double precision the
compiled stepper of :mod:`symderiv.integrate` is the right one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.precision.balls.contexts import RealNumber

Vector = list[RealNumber]

_FEWEST: Final = 3
_MOST: Final = 24
# Work in right-hand sides of the first k columns; the first evaluation is shared.
_WORK: Final = tuple(1 + k * (k + 1) for k in range(_MOST + 2))
_SAFETY: Final = 0.9
_LEAST_FACTOR: Final = 0.02
_LARGEST_FACTOR: Final = 8.0
# With so many more refused steps than accepted ones, errors are rounding, for any size of step.
_MOST_REJECTED: Final = 30


@dataclass
class Steps:
    """Counts of an integration; a caller may pass one and read it while the integration runs."""

    accepted: int = 0
    rejected: int = 0
    evaluations: int = 0


def trajectory(
    right_hand_side: Callable[[Vector], Vector],
    start: Sequence[RealNumber],
    times: Sequence[float],
    tolerance: float,
    *,
    size: Callable[[Vector, Vector], float],
    point: Callable[[Any], RealNumber] = lambda value: value,
    max_evaluations: int = 10_000_000,
    steps: Steps | None = None,
) -> list[Vector]:
    """Return the solution of y' = f(y), y(0) = start, at the given times.

    Args:
        right_hand_side: f, from a list of numbers to a list of numbers of the same kind (mpmath,
            balls, floats); it does not depend on time.
        start: y(0).
        times: Ascending, >= 0.
        tolerance: The local error of each step is kept below this, in units of ``size``.
        size: A function that gives, from an error and a state, the size of the error relative to
            what matters; infinite or not a number where it cannot be told, and then the step is
            refused.
        point: Applied to all entries before and after each right-hand side; ``mid`` of balls:
            along a trajectory, and already within a long step, radii grow until they say nothing,
            although the numbers are accurate.
        max_evaluations: Right-hand sides after which to give up.
        steps: Counted up.

    Returns:
        The state at each time. Its error is about the tolerance times the number of steps, unless
        the problem amplifies errors; compare with a smaller tolerance to know.

    Raises:
        InputError: The times do not ascend, or the tolerance is not between 0 and 1.
        ToleranceError: The step became too small, most steps are refused because the numbers'
            rounding is above the tolerance, or the evaluations were used up.
    """
    steps = Steps() if steps is None else steps
    times = [float(t) for t in times]
    if any(b <= a for a, b in itertools.pairwise(times)) or (times and times[0] < 0):
        raise InputError("the times must ascend from 0 or later")
    if not 0 < tolerance < 1:
        raise InputError(f"tolerance must be between 0 and 1, not {tolerance:g}")

    def slopes(y: Vector) -> Vector:
        return [point(value) for value in right_hand_side([point(value) for value in y])]

    control = _Control(slopes, size, tolerance, steps)
    march = _March(control, [point(value) for value in start], point, max_evaluations)
    return [march.until(end) for end in times]


class _March:
    """The current point of a trajectory, and the length of its next step."""

    def __init__(
        self, control: _Control, start: Vector, point: Callable[[Any], RealNumber], most: int
    ) -> None:
        self.control, self.point = control, point
        self.y, self.t, self.one = start, 0.0, start[0] * 0 + 1
        steps = control.steps
        self.last_evaluation = steps.evaluations + most
        self.most_rejected = _MOST_REJECTED + steps.rejected - steps.accepted
        self.slope = control.slope(start)
        self.h = _first_step(start, self.slope, control.size)

    def until(self, end: float) -> Vector:
        """Integrate up to a time and return the state there."""
        while self.t < end:
            left = end - self.t
            # the last two steps before a time are made equal
            step = left if self.h >= left else (left / 2 if self.h > left / 2 else self.h)
            self._refuse_hopeless(step, end)
            after = end if step == left else self.t + step
            # subtract in the numbers' own precision: rounding of the double t + step would show
            length = self.one * after - self.one * self.t
            stepped, factor = self.control.step(self.y, self.slope, length)
            proposed = step * factor
            if stepped is None:
                self.h = proposed
                continue
            # a step cut short by a time says little about how long it could have been
            self.h = max(self.h, proposed) if step < self.h else proposed
            self.t, self.y = after, [self.point(value) for value in stepped]
            self.slope = self.control.slope(self.y)
        return self.y

    def _refuse_hopeless(self, step: float, end: float) -> None:
        steps = self.control.steps
        noisy = steps.rejected - steps.accepted > self.most_rejected
        if noisy or step < 1e-13 * end or steps.evaluations > self.last_evaluation:
            raise ToleranceError(
                f"the integration stopped at alpha = {self.t:.6g} with steps of {step:.1e}; "
                "more digits or a larger tolerance may help"
            )


def _first_step(y: Vector, slope: Vector, size: Callable[[Vector, Vector], float]) -> float:
    change = size(slope, y)
    return 0.1 / change if 0 < change < math.inf else 0.1


class _Control:
    """Single steps, and the order and step size that the last step suggests."""

    def __init__(
        self,
        right_hand_side: Callable[[Vector], Vector],
        size: Callable[[Vector, Vector], float],
        tolerance: float,
        steps: Steps,
    ) -> None:
        self._f = right_hand_side
        self.size = size
        self._tolerance = tolerance
        self.steps = steps
        # the number of columns that tolerances of this size usually need
        self._columns = min(max(_FEWEST + 1, round(2 - 0.6 * math.log10(tolerance))), _MOST - 1)

    def slope(self, y: Vector) -> Vector:
        self.steps.evaluations += 1
        return self._f(y)

    def step(self, y: Vector, slope: Vector, h: RealNumber) -> tuple[Vector | None, float]:
        """Return the state after a step of ``h``, or None if the step is refused.

        The second value is the length of the next step, or of the next attempt, as a multiple of
        ``h``.
        """
        target = self._columns
        row: list[Vector] = []
        factors: list[float] = [math.nan, math.nan]  # indexed by number of columns
        for k in range(1, target + 2):
            row = self._extrapolated(row, self._midpoint(y, slope, h, 2 * k), k)
            if k < 2:
                continue
            difference = [a - b for a, b in zip(row[-1], row[-2], strict=True)]
            error = self.size(difference, row[-1]) / self._tolerance
            if not error < math.inf:
                self.steps.rejected += 1
                return None, 0.25
            factor = _SAFETY * (0.6 / max(error, 1e-30)) ** (1 / (2 * k - 1))
            factors.append(min(max(factor, _LEAST_FACTOR), _LARGEST_FACTOR))
            if k >= target - 1 and error <= 1:
                self.steps.accepted += 1
                return row[-1], self._next(factors, k)
            # one more column reduces the error by (2(k + 1)/2)**2 at most
            hopeless = math.prod((j + 1.0) ** 2 for j in range(k, target + 1))
            if k >= target - 1 and error > hopeless:
                break
        self.steps.rejected += 1
        best = min(range(2, len(factors)), key=lambda k: _WORK[k] / factors[k])
        self._columns = max(_FEWEST, min(best, target))
        return None, min(factors[min(self._columns, len(factors) - 1)], 0.8)

    def _next(self, factors: list[float], reached: int) -> float:
        """Choose the number of columns for the next step; return the factor of the step for it."""
        costs = {k: _WORK[k] / factors[k] for k in range(max(2, reached - 2), reached + 1)}
        best = min(costs, key=lambda k: costs[k])
        if (
            best == reached
            and reached < _MOST - 1
            and costs[reached] < 0.9 * costs.get(reached - 1, math.inf)
        ):
            self._columns = reached + 1
            return min(factors[reached] * _WORK[reached + 1] / _WORK[reached], _LARGEST_FACTOR)
        self._columns = max(_FEWEST, best)
        return factors[min(self._columns, reached)]

    def _midpoint(self, y: Vector, slope: Vector, h: RealNumber, substeps: int) -> Vector:
        part = h / substeps
        double = 2 * part
        before, now = y, [a + part * b for a, b in zip(y, slope, strict=True)]
        for _ in range(substeps - 1):
            rate = self._f(now)
            before, now = now, [a + double * b for a, b in zip(before, rate, strict=True)]
        self.steps.evaluations += substeps - 1
        return now

    @staticmethod
    def _extrapolated(row: list[Vector], first: Vector, k: int) -> list[Vector]:
        """Return row k of the extrapolation table from the row before and the new result."""
        result = [first]
        for i in range(1, k):
            # with n_j = 2j: 1/((k/(k-i))**2 - 1)
            above, below = (k - i) ** 2, k * k - (k - i) ** 2
            result.append(
                [a + (a - b) * above / below for a, b in zip(result[-1], row[i - 1], strict=True)]
            )
        return result
