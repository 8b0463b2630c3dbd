"""Transitions of Bayes-optimal learning: first-order, spinodal and continuous ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from symderiv.analysis.fixed_points.arclength import StepPace
from symderiv.equilibrium.optimal.state_evolution import (
    EvolvedPoints,
    OptimalState,
    StateEvolution,
)

# Jumps of overlaps that are smaller between two values of α are not looked for.
_JUMP = 0.1
_APART, _RANK = 1e-5, 1e-6
# How far behind the end of a branch, of the way to another state, is looked what is reached.
_BEYOND = 0.02
_PACE = StepPace(0.02, 1e-6, 0.1, 0.9, (1.5, 1.0))


@dataclass(frozen=True)
class OptimalTransition:
    """A transition at α.

    Attributes:
        kind: "continuous", "first-order" (another state has the larger free entropy) or "spinodal"
            (a state ceases to exist).
        alpha: α.
        branch: "uninformed" or "informed", whose spinodal it is; empty for others.
    """

    kind: str
    alpha: float
    branch: str = ""


class OptimalCurves:
    """Uninformed and informed states at ascending values of α.

    Args:
        evolution: The state evolution.
        values: α.
        progress: Is told the share that is done.
    """

    def __init__(
        self,
        evolution: StateEvolution,
        values: Sequence[float],
        progress: Callable[[float], None],
    ) -> None:
        self.evolution, self.values = evolution, list(values)
        count = 2 * len(self.values)
        self.uninformed: list[OptimalState] = []
        for n, alpha in enumerate(self.values):
            before = self.uninformed[-1] if n else None
            self.uninformed.append(evolution.uninformed(alpha, before))
            progress((n + 1) / count)
        informed: list[OptimalState] = []
        for n, alpha in enumerate(reversed(self.values)):
            before, own = informed[-1] if n else None, self.uninformed[-1 - n]
            # one branch, followed without a jump from here to the state before
            above = self.uninformed[-n] if n else None
            if before and above and _distance(before, above) < 1e-6 and _distance(above, own) < 0.1:
                informed.append(own)
            else:
                informed.append(evolution.informed(alpha, before))
            progress((len(self.values) + n + 1) / count)
        self.informed = informed[::-1]

    def transitions(self) -> list[OptimalTransition]:
        """Return all transitions between the smallest and the largest α."""
        transitions = []
        for n in range(len(self.values) - 1):
            transitions += self._spinodals(n)
            transitions += self._first_order(n)
            transitions += self._continuous(n)
        return sorted(transitions, key=lambda each: each.alpha)

    def _spinodals(self, n: int) -> list[OptimalTransition]:
        """Return where a branch ends between two values."""
        spinodals = []
        for name, states, step in (
            ("uninformed", self.uninformed, self.evolution.uninformed),
            ("informed", self.informed, self.evolution.informed),
        ):
            stays, other = states[n], states[n + 1]
            if name == "informed":
                stays, other = other, stays
            place = self._end(stays, other, step)
            if place is not None:
                spinodals.append(OptimalTransition("spinodal", place, name))
        return spinodals

    def _end(
        self,
        stays: OptimalState,
        other: OptimalState,
        step: Callable[[float, OptimalState], OptimalState],
    ) -> float | None:
        """Return the α at which a branch ends on its way to another one: where a step no longer
        attracts, and what is reached beyond is not near.
        """
        apart, ahead = _distance(stays, other), other.alpha - stays.alpha
        if apart < _JUMP or stays.exact:
            return None
        most = 10.0 * float(np.abs(stays.conjugate).max()) + 1.0
        curve = EvolvedPoints(self.evolution, stays.alpha, ahead, most)
        u = np.append(stays.conjugate[self.evolution.places], 0.0)
        tangent = curve.tangent(u, np.append(np.zeros(u.size - 1), 1.0))
        for there, bent, _ in curve.steps(u, tangent, _PACE):
            if curve.growth(there) > 0.0:
                break
            if there[-1] > 1.0:
                return None
            u, tangent = there, bent
        else:
            return None
        end = curve.where(curve.growth, u, there, tangent)
        if end is None:
            return None
        near = self.evolution.state(*curve.at(end))
        beyond = step(near.alpha + _BEYOND * (other.alpha - near.alpha), near)
        return near.alpha if _distance(near, beyond) > 0.25 * apart else None

    def _first_order(self, n: int) -> list[OptimalTransition]:
        """Return where the free entropies of two branches are equal."""
        low, high = self.values[n : n + 2]
        pairs = list(zip(self.uninformed, self.informed, strict=True))[n : n + 2]
        if min(_distance(*each) for each in pairs) < _APART:
            return []

        def gap(alpha: float) -> float:
            one = self.evolution.uninformed(alpha, self.uninformed[n])
            return one.entropy - self.evolution.informed(alpha, self.informed[n + 1]).entropy

        gaps = [one.entropy - other.entropy for one, other in pairs]
        if not np.isfinite(gaps).all() or gaps[0] * gaps[1] >= 0.0:
            return []
        return [OptimalTransition("first-order", float(brentq(gap, low, high, xtol=1e-11)))]

    def _continuous(self, n: int) -> list[OptimalTransition]:
        """Return where directions begin to be found, as their rate of growth reaches 1."""
        one, other = self.uninformed[n : n + 2]
        ranks = [int((np.linalg.eigvalsh(each.q) > _RANK).sum()) for each in (one, other)]
        if ranks[0] >= ranks[1] or other.exact or _distance(one, other) > 0.3:
            return []
        known = {one.alpha: one.conjugate}

        def growth(alpha: float) -> float:
            near = min(known, key=lambda each: abs(each - alpha))
            fixed = _within(self.evolution, alpha, known[near])
            known[alpha] = fixed
            return self.evolution.rate(alpha, fixed) - 1.0

        low, high = one.alpha, other.alpha
        if growth(low) * growth(high) >= 0.0:
            return []
        return [OptimalTransition("continuous", float(brentq(growth, low, high, xtol=1e-10)))]


def _within(evolution: StateEvolution, alpha: float, conjugate: np.ndarray) -> np.ndarray:
    """Return the fixed point among those that know no other directions."""
    sizes, axes = np.linalg.eigh(conjugate)
    axes = axes[:, sizes > 1e-6]
    projector = axes @ axes.T
    for _ in range(400):
        new = projector @ evolution.step(alpha, conjugate) @ projector
        size = float(np.abs(new - conjugate).max())
        conjugate = new
        if size < 1e-12:
            break
    return conjugate


def _distance(one: OptimalState, other: OptimalState) -> float:
    return float(np.abs(one.q - other.q).max())
