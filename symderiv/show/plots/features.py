r"""Curves and their features: plateau, final decay, agreement with a simulation.

The local exponent of a curve is s(α) = −d ln ε_g / d ln α. At first it is small, because learning
has hardly begun; it then passes a first maximum (the initial transient). A *plateau* is a time
after that maximum where s has a minimum below ``FLAT`` = 0.1, that is, where ε_g loses less than 7
% while α doubles. Its height is ε_g at the minimum; it begins when ε_g comes within 10 % of the
height and ends when ε_g has fallen below half of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """The solution of the order-parameter equations at n ascending times.

    Args:
        alpha: Times, shape (n,), examples per input dimension.
        error: Generalisation error, shape (n,).
        Q: Student covariance, shape (n, K, K).
        R: Student-teacher covariance, shape (n, K, M).
        T: Teacher covariance, shape (M, M).
        v: Output weights of the student, shape (n, K).
        numbers: The rows of the table of numbers (steps, seconds, tolerance, ...).
        complete: False if the integration ended before the last asked time.
        end_reason: Why the integration ended.
        warnings: Remarks on the validity of the result, one sentence each.
    """

    alpha: Floats
    error: Floats
    Q: Floats
    R: Floats
    T: Floats
    numbers: Mapping[str, float | int | str] = field(default_factory=dict)
    complete: bool = True
    end_reason: str = ""
    warnings: tuple[str, ...] = ()
    v: Floats | None = None

    @property
    def trained_weights(self) -> Floats | None:
        """The output weights, if they change by more than rounding of interpolation."""
        if self.v is None or not self.v.size:
            return None
        moves = np.abs(self.v - self.v[0]).max() > 1e-9 * np.abs(self.v).max()
        return self.v if moves else None


@dataclass(frozen=True)
class SimulatedPoints:
    """Means over runs of the simulation with standard errors, in the shapes of ``Curve``.

    ``error_se`` is NaN for a single run, which has no standard error.
    """

    alpha: Floats
    error: Floats
    error_se: Floats
    Q: Floats
    Q_se: Floats
    R: Floats
    R_se: Floats
    runs: int
    numbers: Mapping[str, float | int | str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    v: Floats | None = None
    v_se: Floats | None = None


@dataclass(frozen=True)
class Band:
    """The generalisation error of runs at finite N, as its fluctuations are predicted.

    Args:
        alpha: Times, shape (n,).
        mean: Means over runs, with the shift of order 1/N, shape (n,).
        deviation: Standard deviations of single runs, shape (n,).
        dimension: N.
        since: The time from which on fluctuations are not Gaussian; infinite if they always are.
    """

    alpha: Floats
    mean: Floats
    deviation: Floats
    dimension: int
    since: float = math.inf


@dataclass(frozen=True)
class StudyCase:
    """One study of a sweep, with its label, swept values, results and files."""

    label: str
    settings: Mapping[str, object]
    curve: Curve
    points: SimulatedPoints | None = None
    files: tuple[str, ...] = ()
    band: Band | None = None


FLAT = 0.1
"""Largest local exponent that still counts as a plateau."""

LAST_PART = 0.2
"""The part of the time, at its end, over which the final decay is measured."""

NUMBER_OF_TIMES = 10
"""The largest number of times at which equations and simulation are compared."""

CONFIDENCE = 0.9973
"""Probability that the range which counts as agreement covers: three standard deviations of a
normal distribution. With few runs the standard error itself is uncertain, and the range is that of
Student's t distribution."""

FAR = 0.1
"""A relative difference of simulation and equations that is seen in a figure."""


@dataclass(frozen=True)
class SlowestStretch:
    """The slowest stretch of a curve after its initial transient.

    Attributes:
        alpha: Time of the smallest local exponent.
        height: ε_g there.
        exponent: The local exponent there.
        begin, end: When ε_g comes within 10 % of the height, and falls below half of it; ``end`` is
            None if that does not happen before the last time.
        last: The last time of the curve.
    """

    alpha: float
    height: float
    exponent: float
    begin: float
    end: float | None
    last: float

    @property
    def exists(self) -> bool:
        """True if the stretch is flat enough to be called a plateau; otherwise it is a shoulder."""
        return self.exponent < FLAT

    @property
    def length(self) -> float:
        """Duration in α; 0 without a plateau, a lower bound if it does not end (``end`` None)."""
        if not self.exists:
            return 0.0
        return (self.last if self.end is None else self.end) - self.begin


def local_exponent(alpha: Floats, error: Floats) -> Floats:
    """Return s(α) = −d ln ε_g / d ln α by central differences on the given times.

    Times and errors must be positive.
    """
    return -np.gradient(np.log(error), np.log(alpha))


def _positive(curve: Curve) -> tuple[Floats, Floats]:
    """Return positive times and errors, as long as these are above the errors of steps."""
    end = resolved(curve.error, float(curve.numbers.get("tolerance", 0.0)))
    alpha, error = curve.alpha[:end], curve.error[:end]
    good = (alpha > 0) & (error > 0) & np.isfinite(error)
    return alpha[good], error[good]


def resolved(error: Floats, tolerance: float) -> int:
    """Return the number of first errors of a run that are above the errors of its steps."""
    low = np.flatnonzero(error < tolerance * np.max(error, initial=0.0))
    return int(low[0]) if low.size else error.size


def plateau(curve: Curve) -> SlowestStretch | None:
    """Return the flattest stretch after the initial transient, or None if there is none.

    The minimum of the local exponent counts only between two maxima or before the last time; a
    curve whose exponent only grows, or only falls after its transient, has none.
    """
    alpha, error = _positive(curve)
    if alpha.size < 5:
        return None
    exponent = local_exponent(alpha, error)
    transient = _first_maximum(exponent)
    if transient is None:
        return None
    after = exponent[transient:]
    lowest = transient + int(np.argmin(after))
    interior = lowest < alpha.size - 1 and exponent[lowest:].max() > exponent[lowest] + FLAT
    if not interior and exponent[lowest] >= FLAT:
        return None
    height = float(error[lowest])
    begin = _crossing(alpha[: lowest + 1], error[: lowest + 1], 1.1 * height)
    end = _crossing(alpha[lowest:], error[lowest:], 0.5 * height)
    return SlowestStretch(
        alpha=float(alpha[lowest]),
        height=height,
        exponent=float(exponent[lowest]),
        begin=float(alpha[0]) if begin is None else begin,
        end=end,
        last=float(alpha[-1]),
    )


def _first_maximum(exponent: Floats) -> int | None:
    """Return the index of the first maximum above ``FLAT`` that is followed by a real fall."""
    highest = 0
    for index, value in enumerate(exponent):
        if value > exponent[highest]:
            highest = index
        elif exponent[highest] > FLAT and value < 0.8 * exponent[highest]:
            return highest
    return None


def _crossing(alpha: Floats, error: Floats, level: float) -> float | None:
    """Return the first time at which ε_g falls below ``level``, interpolated in logarithms."""
    below = np.flatnonzero(error < level)
    if not below.size:
        return None
    index = int(below[0])
    if index == 0:
        return float(alpha[0])
    x0, x1 = math.log(alpha[index - 1]), math.log(alpha[index])
    y0, y1 = math.log(error[index - 1]), math.log(error[index])
    return math.exp(x0 + (x1 - x0) * (math.log(level) - y0) / (y1 - y0))


@dataclass(frozen=True)
class ErrorDecay:
    """Decay of ε_g over the last part of the time, from ``begin`` to ``end``.

    ``rate`` is −Δ ln ε_g / Δα (per unit α), ``exponent`` is −Δ ln ε_g / Δ ln α; both negative if
    ε_g grows.
    """

    begin: float
    end: float
    rate: float
    exponent: float


def final_decay(curve: Curve) -> ErrorDecay | None:
    """Return the mean decay over the last fifth of the time; None with fewer than two times."""
    alpha, error = _positive(curve)
    if alpha.size < 2 or alpha[-1] <= alpha[0]:
        return None
    begin = max(float(alpha[0]), (1 - LAST_PART) * float(alpha[-1]))
    drop = float(np.interp(math.log(begin), np.log(alpha), np.log(error)) - math.log(error[-1]))
    end = float(alpha[-1])
    return ErrorDecay(begin, end, drop / (end - begin), drop / math.log(end / begin))


@dataclass(frozen=True)
class Agreement:
    """Deviations of the simulated means from the equations, in standard errors.

    Attributes:
        alpha: The compared times.
        deviations: (mean of the runs − equations) / standard error at those times.
        differences: |mean of the runs / equations − 1| at those times.
        runs: The number of runs of each mean, at least 2.
    """

    alpha: tuple[float, ...]
    deviations: tuple[float, ...]
    differences: tuple[float, ...]
    runs: int

    @property
    def bound(self) -> float:
        """The deviation that counts as agreement, in standard errors: 3 for many runs."""
        return self._quantile(1)

    def _quantile(self, times: int) -> float:
        """Return the deviation that chance exceeds at any of so many times as rarely as at one."""
        from scipy.special import stdtrit

        return float(stdtrit(self.runs - 1, 1 - 0.5 * (1 - CONFIDENCE) / times))

    @property
    def far(self) -> int:
        """Number of times at which the mean is off by more than :data:`FAR`, and not by chance."""
        bound = self._quantile(len(self.deviations))
        pairs = zip(self.deviations, self.differences, strict=True)
        return sum(abs(d) > bound and difference > FAR for d, difference in pairs)

    @property
    def within(self) -> int:
        """Number of times at which the deviation is at most ``bound``."""
        return sum(abs(d) <= self.bound for d in self.deviations)

    @property
    def within_three(self) -> int:
        """Number of times at which the deviation is at most 3 standard errors."""
        return sum(abs(d) <= 3.0 for d in self.deviations)

    @property
    def largest(self) -> float:
        """The largest absolute deviation."""
        return max(abs(d) for d in self.deviations)

    @property
    def root_mean_square(self) -> float:
        """Root mean square of the deviations."""
        return math.sqrt(sum(d * d for d in self.deviations) / len(self.deviations))

    @property
    def agrees(self) -> bool:
        """True if nine tenths of the times are within ``bound``, and none is ``far`` off."""
        return self.within >= 0.9 * len(self.deviations) and not self.far


def agreement_within(case: StudyCase) -> Agreement | None:
    """Return the deviations of a simulation from its predicted mean, in predicted errors.

    It has the times at which fluctuations are Gaussian, or is None if there are none.
    """
    band, points = case.band, case.points
    if band is None or points is None:
        return None
    error = np.interp(points.alpha, band.alpha, band.deviation) / math.sqrt(points.runs)
    error[points.alpha >= band.since] = 0.0
    predicted = replace(case.curve, alpha=band.alpha, error=band.mean)
    return agreement(predicted, replace(points, error_se=error))


def agreement(curve: Curve, points: SimulatedPoints) -> Agreement | None:
    """Return the deviations of simulation and equations at up to ten times, or None.

    The times are spread over ln α, and values of the equations are interpolated in ln ε_g over ln
    α. The result is None without a common time or a standard error (for a single run).
    """
    last = float(curve.alpha[-1]) * (1 + 1e-12)
    usable = (points.alpha > 0) & (points.alpha <= last) & (points.error_se > 0)
    usable &= points.alpha >= curve.alpha[curve.alpha > 0][0] * (1 - 1e-12)
    candidates = np.flatnonzero(usable)
    if not candidates.size:
        return None
    logs = np.log(points.alpha[candidates])
    wanted = np.linspace(logs[0], logs[-1], NUMBER_OF_TIMES)
    chosen = candidates[sorted({int(np.argmin(np.abs(logs - w))) for w in wanted})]
    alpha, error = _positive(curve)
    expected = np.exp(np.interp(np.log(points.alpha[chosen]), np.log(alpha), np.log(error)))
    apart = points.error[chosen] - expected
    return Agreement(
        tuple(map(float, points.alpha[chosen])),
        tuple(map(float, apart / points.error_se[chosen])),
        tuple(map(float, np.abs(apart) / expected)),
        points.runs,
    )
