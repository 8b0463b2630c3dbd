r"""Committees of K students and K teachers with three order parameters: R, S and C.

R_im = R for i = m, else S; Q_ij = C for i ≠ j; Q_ii = 1, and output weights are 1/√K. In the sum
m = R + (K − 1)S and the difference Δ = R − S, the free energy per unit is

    α̂ ε_g − ½ [(1 − 1/K) ln a + (1/K) ln b],   a = 1 − C − Δ²,   b = 1 + (K − 1)C − m²,

with α = K α̂. For given Δ, C, m and α̂ follow: stationary states are a curve over Δ, on which a
minimum of α̂ is a fold, and at Δ → 0 equal students lose stability. With the mean h(c) of g(x) g(y)
at correlation c the derivatives are

    C: α h'(C) = 1/b − 1/a,   m: α̂ [h'(R) + (K − 1) h'(S)] = m/b,   Δ: α̂ [h'(R) − h'(S)] = Δ/a.

For K → ∞ the sums C and S are of order 1/K and follow from R, and per unit there remains
α̂ [h(1) − h(R) − h'(0)(1 − R)] − ½ ln(1 − R²).

Equal units lose stability where the second derivative by Δ vanishes as well, which is solved in
symbols or with proved digits: with α per unit, a = 1 − C and b = 1 + (K − 1)C − K²R²,

    α a h''(R) = 1,   b h'(R) = a R h''(R),   K b h'(C) = (a − b) h''(R).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import sympy as sp
from scipy.optimize import brentq, minimize_scalar, root

from symderiv.equilibrium.pair_means import closed_mean, pair_mean, square_mean
from symderiv.foundation.errors import NotYetError, ToleranceError
from symderiv.gaussian.distributions import variable_of
from symderiv.gaussian.terms.covariance import covariance_symbols
from symderiv.numerics.nodes import gauss_legendre

_NEAR = 0.05  # for smaller Δ, a difference of slopes is an integral of h''
_GRID, _LAST = 48, 0.995
_SETTLED, _LEAST_STEP, _FLAT = 1e-11, 1e-5, 1e-13
#: C, R and α/K of equal units, in the order of starting values.
_UNKNOWNS = sp.symbols("C R alpha", real=True)
_UNITS = sp.Symbol("K", positive=True)
_BITS = 160


@dataclass(frozen=True)
class CommitteeState:
    """A stationary state: Δ, C, m, α/K, the free energy per unit and ε_g."""

    difference: float
    C: float
    m: float
    alpha: float
    free_energy: float
    error: float


@dataclass(frozen=True)
class Specialising:
    """The transition of a committee from equal to specialised students.

    Attributes:
        kind: "continuous" or "first-order".
        alpha: α/K at which specialised students have the smaller free energy.
        equal_until: α/K up to which equal students are stable; infinite if they always are.
        specialised_from: The smallest α/K of a stable specialised state.
        before, after: The states of equal and of specialised students at ``alpha``.
    """

    kind: str
    alpha: float
    equal_until: float
    specialised_from: float
    before: CommitteeState
    after: CommitteeState


class SymmetricCommittee:
    """Stationary states of a committee of K units, or of infinitely many.

    Args:
        g: The activation of students and teachers.
        K: The number of units, at least 2; may be infinite.
    """

    def __init__(self, g: sp.Expr, K: float) -> None:
        self.K, self._mean = K, pair_mean(g, g)
        self._square = float(square_mean(g)(np.array(1.0))[0])

    def at(self, difference: float, near: CommitteeState | None = None) -> CommitteeState:
        """Return the state for a Δ, found from a state near it.

        Raises:
            ToleranceError: No state is found.
        """
        if math.isinf(self.K):
            bend = self._bend(0.0, difference)
            alpha = 1.0 / ((1.0 - difference**2) * bend) if abs(bend) > _FLAT else math.inf
            return self._state(difference, 0.0, 1.0, alpha)

        def missing(x: np.ndarray) -> list[float]:
            C, m = float(x[0]), float(x[1])
            alpha = self._alpha(difference, C, m)
            return self._missing(difference, C, m, alpha)

        C, m = self._solved(missing, near)
        return self._state(difference, C, m, self._alpha(difference, C, m))

    def equal(self, alpha: float, near: CommitteeState | None = None) -> CommitteeState:
        """Return the state of equal students, Δ = 0, at an α/K.

        Raises:
            ToleranceError: No state is found.
        """
        if math.isinf(self.K):
            return self._state(0.0, 0.0, 1.0, alpha)

        def missing(x: np.ndarray) -> list[float]:
            return self._missing(0.0, float(x[0]), float(x[1]), alpha)

        C, m = self._solved(missing, near)
        return self._state(0.0, C, m, alpha)

    @cached_property
    def states(self) -> list[CommitteeState]:
        """The states with Δ from 0 to nearly perfect knowledge of the teachers."""
        states: list[CommitteeState] = []
        for difference in np.linspace(0.0, _LAST, _GRID):
            states.append(self.at(float(difference), states[-1] if states else None))
        return states

    @cached_property
    def specialising(self) -> Specialising:
        """The transition from equal to specialised students as α grows.

        Raises:
            ToleranceError: The kind of transition cannot be decided.
        """
        states = self.states
        alphas = np.array([each.alpha for each in states])
        least = int(np.argmin(alphas))
        if least == 0 and self.at(_LEAST_STEP, states[0]).alpha >= alphas[0] * (1 - 1e-14):
            first = states[0]
            alpha = first.alpha
            return Specialising("continuous", alpha, alpha, alpha, first, first)
        fold = self._fold(least)
        after = self._equal_energy(fold)
        before = self.equal(after.alpha, states[0])
        return Specialising("first-order", after.alpha, states[0].alpha, fold.alpha, before, after)

    def _fold(self, least: int) -> CommitteeState:
        """Return the state of the smallest α, near the state with index ``least``."""
        states = self.states
        low, high = states[max(least - 1, 0)], states[min(least + 1, len(states) - 1)]
        least_alpha = minimize_scalar(
            lambda difference: self.at(float(difference), states[least]).alpha,
            bounds=(low.difference, high.difference),
            method="bounded",
            options={"xatol": 1e-9},
        )
        return self.at(float(least_alpha.x), states[least])

    def _equal_energy(self, fold: CommitteeState) -> CommitteeState:
        """Return the state beyond the fold with the same free energy as equal students."""

        def gap(state: CommitteeState) -> float:
            return state.free_energy - self.equal(state.alpha, self.states[0]).free_energy

        beyond = [fold, *(each for each in self.states if each.difference > fold.difference)]
        n = next((n for n, state in enumerate(beyond) if gap(state) <= 0.0), None)
        if n is None:
            raise ToleranceError(f"specialised committees of {self.K} units are never preferred")
        if n == 0:
            return fold  # both agree up to rounding
        low, high = beyond[n - 1 : n + 1]
        equal = brentq(
            lambda difference: gap(self.at(float(difference), high)),
            low.difference,
            high.difference,
            xtol=1e-13,
        )
        return self.at(float(equal), high)

    def _alpha(self, difference: float, C: float, m: float) -> float:
        R, S = self._overlaps(difference, m)
        return 1.0 / ((1.0 - C - difference**2) * self._bend(S, R))

    def _missing(self, difference: float, C: float, m: float, alpha: float) -> list[float]:
        K = self.K
        R, S = self._overlaps(difference, m)
        a, b = 1.0 - C - difference**2, 1.0 + (K - 1) * C - m * m
        slopes = self._h(np.array([C, R, S]))[1]
        # scaled to order one for any number of units and any α
        push = alpha * K * self._h(np.zeros(1))[1][0] + 1.0
        return [
            (K * alpha * slopes[0] * a * b - a + b) / push,
            (alpha * (slopes[1] + (K - 1) * slopes[2]) * b - m) / push,
        ]

    def _solved(self, missing: Any, near: CommitteeState | None) -> tuple[float, float]:
        starts = [(near.C, near.m)] if near is not None else []
        starts += [(0.5 / self.K, 1.0), (0.1 / self.K, 0.8), (-0.5 / self.K, 0.5)]
        for start in starts:
            with np.errstate(all="ignore"):
                solution = root(missing, start, tol=1e-14)
            if np.abs(solution.fun).max() < _SETTLED and self._inside(*solution.x):
                return float(solution.x[0]), float(solution.x[1])
        raise ToleranceError(f"no state of {self.K} equal units is found")

    def _inside(self, C: float, m: float) -> bool:
        return -1.0 / (self.K - 1) < C < 1.0 and 0.0 < m * m < 1.0 + (self.K - 1) * C

    def _overlaps(self, difference: float, m: float) -> tuple[float, float]:
        S = (m - difference) / self.K
        return S + difference, S

    def _h(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return h, h' and h'' at correlations c."""
        one = np.ones_like(c)
        value, slope, bend = self._mean(one, c, one)
        return value, slope[1], bend[1, 1]

    def _bend(self, S: float, R: float) -> float:
        """Return [h'(R) − h'(S)]/(R − S)."""
        if abs(R - S) > _NEAR:
            low, high = self._h(np.array([S, R]))[1]
            return float(high - low) / (R - S)
        nodes, weights = gauss_legendre(10)
        return float(self._h(S + (R - S) * (nodes + 1) / 2)[2] @ weights) / 2

    def _state(self, difference: float, C: float, m: float, alpha: float) -> CommitteeState:
        K, many = self.K, math.isinf(self.K)
        if many:
            value, slope, _ = self._h(np.array([difference, 0.0]))
            error = self._square - value[0] - slope[1] * (1.0 - difference)
            entropy = 0.5 * math.log1p(-difference * difference)
        else:
            R, S = self._overlaps(difference, m)
            value = self._h(np.array([C, R, S, 0.0]))[0]
            error = self._square - value[1] - (K - 1) * (value[2] - (value[0] + value[3]) / 2)
            a, b = 1.0 - C - difference**2, 1.0 + (K - 1) * C - m * m
            entropy = 0.5 * ((1 - 1 / K) * math.log(a) + math.log(b) / K)
        return CommitteeState(difference, C, m, alpha, alpha * float(error) - entropy, float(error))


def limit_of_equal_units(g: sp.Expr) -> sp.Expr | None:
    """Return the α/K up to which infinitely many equal units are stable, 1/E[g''(x)]²; None if the
    mean has no closed form.

    Raises:
        NotYetError: E[g'(x)] = 0, so that equal units learn nothing, or g is linear.
    """
    x = variable_of(g)
    if sp.diff(g, x, 2) == 0:
        raise NotYetError(
            "is linear, so that students never specialise; take another activation",
            argument="activation",
        )
    # integrated by parts: E[g'] = E[x g] and E[g''] = E[(x² - 1) g]
    means = [_moment(g, weight) for weight in (x, x**2 - 1)]
    slope = means[0]
    if slope is not None and slope == 0:
        raise NotYetError(
            f"{g} has E[g'(x)] = 0, so that equal students learn nothing; take another activation",
            argument="activation",
        )
    bend = means[1]
    return None if bend is None else sp.oo if bend == 0 else sp.simplify(1 / bend**2)


def _moment(g: sp.Expr, weight: sp.Expr) -> sp.Expr | None:
    value = closed_mean(g, weight, (0, 0))
    return None if value is None else sp.simplify(value.subs(covariance_symbols(2)[0, 0], 1))


@lru_cache(maxsize=16)
def equations_of_equal_units(g: sp.Expr) -> tuple[sp.Expr, ...] | None:
    """Return three expressions in C, R, α/K and K that vanish where equal units lose stability;
    None if h has no closed form.
    """
    covariance = covariance_symbols(2)
    C, R, alpha = _UNKNOWNS
    value = closed_mean(g, g)
    if value is None:
        return None
    mean = value.subs({covariance[0, 0]: 1, covariance[1, 1]: 1})
    slope, bend = (sp.simplify(sp.diff(mean, covariance[0, 1], n)) for n in (1, 2))
    of_C, of_R, bend_R = (
        f.subs(covariance[0, 1], at) for f, at in ((slope, C), (slope, R), (bend, R))
    )
    a, b = 1 - C, 1 + (_UNITS - 1) * C - _UNITS**2 * R**2
    return (
        alpha * a * bend_R - 1,
        b * of_R - a * R * bend_R,
        _UNITS * b * of_C - (a - b) * bend_R,
    )


def digits_of_equal_units(
    g: sp.Expr, K: int, start: tuple[float, float, float], digits: int
) -> str | None:
    """Return α/K, rounded, from a ball in which the equations are proved to have a unique solution.

    Args:
        g: The activation.
        K: The number of units.
        start: C, R and α/K in doubles.
        digits: The number of digits, at most 30.

    Returns:
        None if there are no equations, or no enclosure is found.
    """
    from symderiv.precision.balls.krawczyk import enclosed_root

    equations = equations_of_equal_units(g)
    if equations is None:
        return None
    own = [each.subs(_UNITS, K) for each in equations]
    try:
        alpha = enclosed_root(own, _UNKNOWNS, {}, start, _BITS)[2]
    except (NotYetError, ToleranceError):
        return None
    return alpha.str(digits, radius=False)
