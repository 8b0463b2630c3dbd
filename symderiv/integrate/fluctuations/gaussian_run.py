r"""The Gaussian law of order parameters around a run, and the shift of their mean, at large N.

With steps of one example, order parameters s are a Markov chain whose steps have the mean
(f + f₁/N)/N and the covariance D/N². Around the solution s̄ of s' = f(s), √N (s - s̄) is Gaussian
with the covariance Σ, and N E[s - s̄] is m, in the limit of large N:

    Σ' = A Σ + Σ Aᵀ + D,    m' = A m + ½ H:Σ + f₁ - ½ A f,

with the Jacobian A and the second derivative H of f; the last term corrects for steps of length 1/N
in place of a flow. It is b times as large with steps of b examples, whose f₁ has a part of every
two of them. A and D are computed at nodes along the run and interpolated by splines, and the
linear equations are integrated by Magnus' expansion of fourth order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symderiv.foundation.errors import InputError
from symderiv.statement.step_covariance import StepMoments

Floats = NDArray[np.float64]

_FIRST, _PUSHES, _MOST, _MOST_NOISES = 17, 9, 400, 90
"""Numbers of nodes along a run: the first ones, those for the shift of means, and the largest
numbers for the Jacobian and for the noise of steps.
"""
_APART, _NOISE_APART = 2e-3, 1e-2
"""Largest relative error of splines at new nodes; it falls sixteenfold with each halving of
intervals.
"""
_SUBSTEPS = 4
_TERMS = 13
"""The number of terms of the series of exponentials, for matrices whose norm is 1/2 at most."""
_DIRECTION = 1e-4
"""The step of differences of the Jacobian, in units of the state."""


@dataclass(frozen=True)
class GaussianMotion:
    """A flow with the noise of its steps, in the coordinates that fluctuate.

    Attributes:
        begin: The flat state at α = 0, shape (F,).
        rates: A function from a flat state to its time derivative.
        product: A function from a flat state and a flat direction to the Jacobian times the
            direction.
        noise: A function from a flat state to the moments of a step there; its second argument asks
            for fewer points.
        places: Places of the coordinates in flat states, shape (n,).
        spread: The flat direction of each coordinate, shape (F, n).
        examples: The number of examples in a step.
    """

    begin: Floats
    rates: Callable[[Floats], Floats]
    product: Callable[[Floats, Floats], Floats]
    noise: Callable[[Floats, bool], StepMoments]
    places: list[int]
    spread: Floats
    examples: int = 1

    def jacobian(self, state: Floats) -> Floats:
        """Return A at a flat state, shape (n, n)."""
        columns = [self.product(state, each)[self.places] for each in self.spread.T]
        return np.array(columns).reshape(len(columns), len(self.places)).T

    def bending(self, state: Floats, covariance: Floats) -> Floats:
        """Return H:Σ, the second derivatives contracted with a covariance, shape (n,)."""
        values, turn = np.linalg.eigh(covariance)
        total = np.zeros(len(self.places))
        size = _DIRECTION * (1e-2 + np.abs(state).max())
        for value, axis in zip(values, turn.T, strict=True):
            if value > 1e-12 * values[-1]:
                direction = self.spread @ axis
                ahead = self.product(state + size * direction, direction)
                before = self.product(state - size * direction, direction)
                total += value * (ahead - before)[self.places] / (2 * size)
        return total


@dataclass(frozen=True)
class GaussianRun:
    """States along a run, and the law of fluctuations around them.

    Attributes:
        alpha: Times, shape (P,).
        states: Flat states, shape (P, F).
        covariance: Σ, shape (P, n, n).
        shift: m, shape (P, n).
        jacobian: A, shape (P, n, n).
        noise: D, shape (P, n, n).
        error: The estimated error of Σ, relative to its largest entry: the sum of those of means
            over examples, of splines and of the integration.
    """

    alpha: Floats
    states: Floats
    covariance: Floats
    shift: Floats
    jacobian: Floats
    noise: Floats
    error: float


def gaussian_run(motion: GaussianMotion, alpha: Floats, begin: Floats) -> GaussianRun:
    """Return the Gaussian law of fluctuations along a run.

    Args:
        motion: The flow with its noise.
        alpha: Ascending times.
        begin: Σ at α = 0, shape (n, n).

    Raises:
        InputError: The run ends early, or reaches a state at which its Jacobian is not finite.
    """
    if alpha[-1] == 0.0:
        still = np.zeros((1, len(begin)))
        first = motion.jacobian(motion.begin)[None], motion.noise(motion.begin, False).covariance
        return GaussianRun(
            alpha, motion.begin[None], begin[None], still, first[0], first[1][None], 0.0
        )
    from scipy.interpolate import CubicSpline

    nodes = _Nodes(motion, float(alpha[-1]))
    edges = np.union1d(nodes.alpha, alpha)
    linear, noise = nodes.linear.spline, nodes.noise.spline
    covariance = _propagated(linear, noise, edges, begin, _SUBSTEPS)
    coarse = _propagated(linear, noise, edges, begin, _SUBSTEPS // 2)
    size = np.abs(covariance).max() or 1.0
    integration = np.abs(covariance - coarse).max() / size
    pushed = nodes.pushes(CubicSpline(edges, covariance))
    shift = _shifted(linear, pushed, edges)
    asked = np.searchsorted(edges, alpha)
    return GaussianRun(
        alpha,
        nodes.states(alpha),
        covariance[asked],
        shift[asked],
        linear(alpha),
        noise(alpha),
        float(integration + nodes.apart + nodes.noise_error()),
    )


def without_later_noise(run: GaussianRun, place: int) -> Floats:
    """Return Σ from a time on, if there were no noise after that time.

    Args:
        run: The law along the run.
        place: The index of the time in ``run.alpha``.

    Returns:
        The covariances, shape (P - place, n, n).
    """
    from scipy.interpolate import CubicSpline

    linear = CubicSpline(run.alpha, run.jacobian)
    return _propagated(
        linear,
        lambda times: np.zeros((times.size, *run.covariance[place].shape)),
        run.alpha[place:],
        run.covariance[place],
        1,
    )


class _Nodes:
    """Times along a run at which A and D are computed, refined until their splines are accurate."""

    def __init__(self, motion: GaussianMotion, end: float) -> None:
        from scipy.integrate import solve_ivp

        self.motion = motion
        size = np.abs(motion.begin).max() or 1.0
        run = solve_ivp(
            lambda _, y: motion.rates(y),
            (0.0, end),
            motion.begin,
            method="LSODA",
            rtol=1e-10,
            atol=1e-13 * size,
            dense_output=True,
        )
        if not run.success or not np.all(np.isfinite(run.y[:, -1])):
            raise InputError(f"the run ends at alpha = {run.t[-1]:.6g}", argument="end")
        self._run = run.sol
        steps = np.linspace(0, run.t.size - 1, _FIRST).astype(int)
        first = np.unique(run.t[steps])
        self.linear = _KnownRates(self._jacobian, first, _APART, _MOST)
        self._moments: dict[float, StepMoments] = {}
        self.noise = _KnownRates(self._covariance, first, _NOISE_APART, _MOST_NOISES)

    @property
    def alpha(self) -> Floats:
        """The times of all nodes."""
        return np.union1d(self.linear.alpha, self.noise.alpha)

    @property
    def apart(self) -> float:
        """The sum of the largest relative errors of both splines at new nodes."""
        return self.linear.apart + self.noise.apart

    def states(self, alpha: Floats) -> Floats:
        """Return flat states at times, shape (P, F)."""
        return np.ascontiguousarray(np.asarray(self._run(alpha)).T)

    def _jacobian(self, time: float) -> Floats:
        slopes = self.motion.jacobian(self.states(np.array(time)))
        if not np.all(np.isfinite(slopes)):
            raise InputError(
                f"the Jacobian is not finite at alpha = {time:.6g}, where a mean is not "
                "differentiable; end the run before, or start elsewhere",
                argument="end",
            )
        return slopes

    def _covariance(self, time: float) -> Floats:
        self._moments[time] = self.motion.noise(self.states(np.array(time)), False)
        return self._moments[time].covariance

    def noise_error(self) -> float:
        """Return the largest relative error of means over examples, from rules of fewer points."""
        worst = 0.0
        for time in self.noise.alpha[:: max(1, self.noise.alpha.size // 4)]:
            fine = self._moments[float(time)].covariance
            rough = self.motion.noise(self.states(np.array(time)), True).covariance
            worst = max(worst, float(np.abs(fine - rough).max() / (np.abs(fine).max() or 1.0)))
        return worst

    def pushes(self, covariance: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
        """Return ½ H:Σ + f₁ - ½ b A f as a function of time, for a given function Σ of time."""
        from scipy.interpolate import CubicSpline

        times, motion = self.noise.alpha, self.motion
        further = [self._moments[float(time)].further for time in times]
        steady = CubicSpline(times, np.array(further))

        def pushed(time: float) -> Floats:
            now = np.array(time)
            state = self.states(now)
            late = self.linear.spline(now) @ motion.rates(state)[motion.places]
            bend = motion.bending(state, covariance(now))
            return np.asarray(bend / 2 - motion.examples * late / 2 + steady(now))[None]

        first = np.unique(self._run.ts[np.linspace(0, self._run.ts.size - 1, _PUSHES).astype(int)])
        pushes = _KnownRates(pushed, first, _NOISE_APART, _MOST_NOISES).spline
        return lambda asked: pushes(asked)[:, 0]


class _KnownRates:
    """A matrix that is known at some times, with a spline between them.

    Args:
        at: A function from a time to the matrix.
        first: The first times.
        apart: The error of the spline that is allowed, relative to the largest entry.
        most: The number of times beyond which none are added.
    """

    def __init__(
        self, at: Callable[[float], Floats], first: Floats, apart: float, most: int
    ) -> None:
        self._at, self.alpha = at, first
        self._values = {float(time): at(float(time)) for time in first}
        self.apart = 0.0
        left = np.ones(first.size - 1, dtype=bool)
        while left.any() and self.alpha.size < most:
            left = self._refined(left, apart)

    def _refined(self, left: np.ndarray, limit: float) -> np.ndarray:
        """Add the middles of some intervals; return a mask of the new intervals to be halved."""
        middle = (self.alpha[:-1] + self.alpha[1:])[left] / 2
        foreseen = self.spline(middle)
        self._values |= {float(time): self._at(float(time)) for time in middle}
        there = self._found(middle)
        size = np.abs(there).max(axis=(1, 2)) + 1e-9 * np.abs(there).max() + 1e-300
        apart = np.abs(foreseen - there).max(axis=(1, 2)) / size
        self.apart = float(apart.max())
        bad = set(middle[apart > limit])
        self.alpha = np.sort(np.concatenate([self.alpha, middle]))
        again = np.isin(self.alpha, list(bad))
        return again[:-1] | again[1:]

    def _found(self, alpha: Floats) -> Floats:
        return np.array([self._values[float(time)] for time in alpha])

    @property
    def spline(self) -> Callable[[Floats], Floats]:
        """The matrix as a function of time."""
        from scipy.interpolate import CubicSpline

        spline: Callable[[Floats], Floats] = CubicSpline(self.alpha, self._found(self.alpha))
        return spline


def _times(edges: Floats, substeps: int) -> Floats:
    parts = np.arange(substeps) / substeps
    inside = (edges[:-1, None] + np.diff(edges)[:, None] * parts).ravel()
    return np.append(inside, edges[-1])


def _magnus(matrix: Callable[[Floats], Floats], times: Floats) -> Floats:
    """Return the propagators of all steps, of fourth order, shape (steps, m, m)."""
    step = np.diff(times)[:, None, None]
    middle, away = (times[1:] + times[:-1]) / 2, np.sqrt(3) / 6 * np.diff(times)
    first, last = matrix(middle - away), matrix(middle + away)
    turned = last @ first - first @ last
    return _exponentials(step / 2 * (first + last) + np.sqrt(3) / 12 * step**2 * turned)


def _exponentials(matrices: Floats) -> Floats:
    """Return matrix exponentials, by the Taylor series of scaled matrices and squaring.

    For small matrices SciPy's ``expm`` spends more time waiting for its threads than computing.
    """
    size = np.abs(matrices).sum(axis=2).max(initial=0.0)
    halvings = max(0, int(np.ceil(np.log2(max(size, 1e-300)))) + 1)
    small, one = matrices / 2.0**halvings, np.eye(matrices.shape[1])
    result = one + small / _TERMS
    for n in range(_TERMS - 1, 0, -1):
        result = one + small @ result / n
    for _ in range(halvings):
        result = result @ result
    return np.asarray(result)


def _propagated(
    linear: Callable[[Floats], Floats],
    noise: Callable[[Floats], Floats],
    edges: Floats,
    begin: Floats,
    substeps: int,
) -> Floats:
    """Return Σ at the edges, from ``begin`` at the first one."""
    n = len(begin)

    def whole(times: Floats) -> Floats:
        generator = np.zeros((times.size, 2 * n, 2 * n))
        A = linear(times)
        generator[:, :n, :n], generator[:, :n, n:] = A, noise(times)
        generator[:, n:, n:] = -np.swapaxes(A, 1, 2)
        return generator

    covariance, covariances = begin, [begin]
    for number, step in enumerate(_magnus(whole, _times(edges, substeps)), start=1):
        covariance = (step[:n, :n] @ covariance + step[:n, n:]) @ step[:n, :n].T
        covariance = (covariance + covariance.T) / 2
        if number % substeps == 0:
            covariances.append(covariance)
    return np.array(covariances)


def _shifted(
    linear: Callable[[Floats], Floats], push: Callable[[Floats], Floats], edges: Floats
) -> Floats:
    """Return m at the edges, from 0 at the first one."""
    n = push(edges[:1]).shape[1]

    def whole(times: Floats) -> Floats:
        generator = np.zeros((times.size, n + 1, n + 1))
        generator[:, :n, :n], generator[:, :n, n] = linear(times), push(times)
        return generator

    shift, shifts = np.append(np.zeros(n), 1.0), [np.zeros(n)]
    for number, step in enumerate(_magnus(whole, _times(edges, _SUBSTEPS)), start=1):
        shift = step @ shift
        if number % _SUBSTEPS == 0:
            shifts.append(shift[:n])
    return np.array(shifts)


_TIMES, _FINER = 129, 17


def normal_points(mean: Floats, covariance: Floats, count: int) -> Floats:
    """Return points of a Gaussian law with equal weights, evenly spread, shape (count, n).

    Args:
        mean, covariance: The mean and the covariance of the law.
        count: A power of two.
    """
    from scipy.special import ndtri
    from scipy.stats import qmc

    values, axes = np.linalg.eigh(covariance)
    order = np.argsort(-values)
    some = order[values[order] > 1e-14 * values.max()]
    if not some.size:
        return np.tile(mean, (count, 1))
    uniform = qmc.Sobol(some.size, seed=7).random(count)
    z = ndtri(np.clip(uniform, 1e-12, 1 - 1e-12))
    return np.asarray(mean + (z * np.sqrt(values[some])) @ axes[:, some].T)


def distance_of_widths(share: float) -> float:
    """Return a bound of how far apart the laws of the moduli of two normal numbers are.

    The two numbers have the same mean, and the variance of one is ``share`` times that of the
    other. If both moduli grow by the same factor, the laws of the times at which they reach a bound
    are as far apart. The distance is largest if the mean is zero.

    Args:
        share: The smaller variance over the larger one, between 0 and 1.

    Returns:
        The largest difference of the two distribution functions, between 0 and 1.
    """
    from scipy.special import ndtr

    if share <= 0.0:
        return 1.0
    if share >= 1.0:
        return 0.0
    # where both densities are the same, in units of the narrower law
    bound = np.sqrt(-np.log(share) / (1.0 - share))
    return float(2.0 * (ndtr(bound) - ndtr(bound * np.sqrt(share))))


def first_times(
    states: Floats,
    run: Callable[[Floats, Floats], Floats],
    gaps: Callable[[Floats, Floats], Floats],
    begin: float,
    end: float,
) -> Floats:
    """Return the first times at which a gap is positive, infinite if it never is.

    Args:
        states: Flat states at the begin, shape (S, F).
        run: A function from ascending times and an initial state to the states at these times.
        gaps: A function from states (P, F) and times (P,) to the gap, which becomes positive.
        begin, end: The time of the given states, and the last time.

    Returns:
        The first times, shape (S,); NaN if the integration from a state fails.
    """
    from symderiv.foundation.errors import SymderivError

    times = np.linspace(begin, end, _TIMES)
    firsts = np.full(len(states), np.inf)
    for number, state in enumerate(states):
        try:
            firsts[number] = _first(state, run, gaps, times)
        except SymderivError:
            firsts[number] = np.nan
    return firsts


def _first(
    state: Floats,
    run: Callable[[Floats, Floats], Floats],
    gaps: Callable[[Floats, Floats], Floats],
    times: Floats,
) -> float:
    rows = run(times - times[0], state)
    place = np.flatnonzero(gaps(rows, times) > 0.0)
    if not place.size:
        return np.inf
    if place[0] == 0:
        return float(times[0])
    finer = np.linspace(times[place[0] - 1], times[place[0]], _FINER)
    there = gaps(run(finer - finer[0], rows[place[0] - 1]), finer)
    after = max(1, int(np.flatnonzero(there > 0.0)[0])) if (there > 0.0).any() else _FINER - 1
    below, above = there[after - 1], there[after]
    share = below / (below - above) if above > below else 1.0
    return float(finer[after - 1] + share * (finer[after] - finer[after - 1]))
