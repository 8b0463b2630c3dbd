r"""The Gaussian law of order parameters around a run, and the shift of their mean, at large N.

With steps of one example, order parameters s are a Markov chain whose steps have the mean
(f + f₁/N)/N and the covariance D/N². Around the solution s̄ of s' = f(s), √N (s - s̄) is Gaussian
with the covariance Σ, and N E[s - s̄] is m, in the limit of large N:

    Σ' = A Σ + Σ Aᵀ + D,    m' = A m + ½ H:Σ + f₁ - ½ A f,

A being the Jacobian and H the second derivative of f; the last term is what steps of length 1/N do
instead of a flow. A and D are taken at nodes along the run, splines between them, and the linear
equations are integrated by Magnus' expansion of fourth order.
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
"""Nodes along a run: to begin with, for what shifts means, and at most for the Jacobian and for the
noise of steps.
"""
_APART, _NOISE_APART = 2e-3, 1e-2
"""Relative distance of splines from what they go through, at new nodes; it falls by sixteen from
one to the next.
"""
_SUBSTEPS = 4
_TERMS = 13
"""The number of terms of the series of exponentials, for matrices whose norm is 1/2 at most."""
_DIRECTION = 1e-4
"""Length of differences of the Jacobian, in units of the state."""


@dataclass(frozen=True)
class GaussianMotion:
    """A flow, in the coordinates that fluctuate.

    Attributes:
        begin: The flat state at α = 0, shape (F,).
        rates: The rates of a flat state.
        product: The Jacobian at a flat state, times a flat direction.
        noise: The moments of a step at a flat state, and whether of fewer points.
        places: Places of the coordinates in flat states, shape (n,).
        spread: Flat directions of the coordinates, shape (F, n).
    """

    begin: Floats
    rates: Callable[[Floats], Floats]
    product: Callable[[Floats, Floats], Floats]
    noise: Callable[[Floats, bool], StepMoments]
    places: list[int]
    spread: Floats

    def jacobian(self, state: Floats) -> Floats:
        """Return A at a flat state, shape (n, n)."""
        columns = [self.product(state, each)[self.places] for each in self.spread.T]
        return np.array(columns).reshape(len(columns), len(self.places)).T

    def bending(self, state: Floats, covariance: Floats) -> Floats:
        """Return H:Σ, the sum of second derivatives times covariances, shape (n,)."""
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
        error: The largest error of Σ that was found, relative to its largest entry: of means over
            examples, of splines and of integration together.
    """

    alpha: Floats
    states: Floats
    covariance: Floats
    shift: Floats
    jacobian: Floats
    noise: Floats
    error: float


def gaussian_run(motion: GaussianMotion, alpha: Floats, begin: Floats) -> GaussianRun:
    """Return the law of fluctuations along a run.

    Args:
        motion: The flow.
        alpha: Ascending times.
        begin: Σ at α = 0, shape (n, n).

    Raises:
        InputError: The run ends early, or goes where its Jacobian is not finite.
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
    """Return what Σ would be from a time on if there were no noise after it.

    Args:
        run: The law along the run.
        place: Where the time is in ``run.alpha``.

    Returns:
        Shape (P - place, n, n).
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
    """Times along a run at which Jacobian and noise are known, each where its spline needs it."""

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
        """All nodes."""
        return np.union1d(self.linear.alpha, self.noise.alpha)

    @property
    def apart(self) -> float:
        """The largest relative distance of a spline from what it foresaw."""
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
        """Return the largest error of means over examples that was found, relative."""
        worst = 0.0
        for time in self.noise.alpha[:: max(1, self.noise.alpha.size // 4)]:
            fine = self._moments[float(time)].covariance
            rough = self.motion.noise(self.states(np.array(time)), True).covariance
            worst = max(worst, float(np.abs(fine - rough).max() / (np.abs(fine).max() or 1.0)))
        return worst

    def pushes(self, covariance: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
        """Return ½ H:Σ + f₁ - ½ A f as a function of time, for Σ as one."""
        from scipy.interpolate import CubicSpline

        times, motion = self.noise.alpha, self.motion
        further = [self._moments[float(time)].further for time in times]
        steady = CubicSpline(times, np.array(further))

        def pushed(time: float) -> Floats:
            now = np.array(time)
            state = self.states(now)
            late = self.linear.spline(now) @ motion.rates(state)[motion.places]
            bend = motion.bending(state, covariance(now))
            return np.asarray(bend / 2 - late / 2 + steady(now))[None]

        first = np.unique(self._run.ts[np.linspace(0, self._run.ts.size - 1, _PUSHES).astype(int)])
        pushes = _KnownRates(pushed, first, _NOISE_APART, _MOST_NOISES).spline
        return lambda asked: pushes(asked)[:, 0]


class _KnownRates:
    """A matrix known at some times, with a spline in between that foresees it at others.

    Args:
        at: The matrix at a time.
        first: Times to begin with.
        apart: What the spline may be off, relative to the largest entry.
        most: Times at most.
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
        """Look at the middles of some intervals; return which of the new ones are to be halved."""
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
    """Return propagators over all steps, of fourth order, shape (steps, m, m)."""
    step = np.diff(times)[:, None, None]
    middle, away = (times[1:] + times[:-1]) / 2, np.sqrt(3) / 6 * np.diff(times)
    first, last = matrix(middle - away), matrix(middle + away)
    turned = last @ first - first @ last
    return _exponentials(step / 2 * (first + last) + np.sqrt(3) / 12 * step**2 * turned)


def _exponentials(matrices: Floats) -> Floats:
    """Return exponentials: a series of matrices that are small enough, squared.

    SciPy's wait for threads of its own, for small matrices longer than they compute.
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
    """Return Σ at the edges."""
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
    """Return m at the edges, from 0 on."""
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
