"""Transitions of Bayes-optimal learning: first-order, spinodal and continuous ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, root

from symderiv.equilibrium.optimal.state_evolution import OptimalState, StateEvolution

# The smallest jump of overlaps between two values of α that is examined.
_JUMP = 0.1
_APART, _RANK = 1e-5, 1e-6
_BISECTIONS = 13
#: The numbers of bisections after which a fold is searched near the last state.
_NEAR = (4, 7)


@dataclass(frozen=True)
class OptimalTransition:
    """A transition at an α.

    Attributes:
        kind: "continuous", "first-order" (another state has the larger free entropy) or "spinodal"
            (a state ceases to exist).
        alpha: α.
        branch: For spinodals, the branch that ends: "uninformed" or "informed"; empty for others.
    """

    kind: str
    alpha: float
    branch: str = ""


class OptimalCurves:
    """Uninformed and informed states at ascending values of The values of α.

    Args:
        evolution: The state evolution.
        values: α.
        progress: A function called with the completed share.
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
            # both branches coincide, without a jump from here to the state before
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
        """Return the spinodals at which a branch ends between two neighbouring values."""
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
        """Return the α at which a branch ends in a jump to another one, or None."""
        apart = _distance(stays, other)
        if apart < _JUMP or stays.exact:
            return None
        high = other.alpha
        known = [stays]
        for n in range(_BISECTIONS):
            if n in _NEAR:
                fold = self._fold(known[-1], high)
                if fold is not None:
                    return fold
            middle = step((known[-1].alpha + high) / 2, known[-1])
            if _distance(middle, known[-1]) < _distance(middle, other):
                known.append(middle)
            else:
                high, other = middle.alpha, middle
            if _distance(known[-1], other) < 0.25 * apart:
                return None  # the branch gets there continuously
        one, two = known[-2:]
        # near its end, the branch's rate of steps approaches 1 like a square root
        gaps = [(1.0 - self.evolution.rate(s.alpha, s.conjugate)) ** 2 for s in (one, two)]
        return two.alpha + gaps[1] * (two.alpha - one.alpha) / (gaps[0] - gaps[1])

    def _fold(self, near: OptimalState, high: float) -> float | None:
        """Return the α at which the rate of steps reaches 1 on the branch of a state, or None."""
        evolution, shape = self.evolution, near.conjugate.shape
        places = evolution.places

        def matrix(values: np.ndarray) -> np.ndarray:
            conjugate = np.zeros(shape)
            conjugate[places] = values[:-1]
            conjugate.T[places] = values[:-1]
            return conjugate

        def missing(values: np.ndarray) -> np.ndarray:
            conjugate, alpha = matrix(values), float(values[-1])
            gap = (evolution.step(alpha, conjugate) - conjugate)[places]
            by_state = evolution.jacobian(alpha, conjugate)
            return np.append(gap, np.linalg.det(np.eye(len(by_state)) - by_state))

        start = np.append(near.conjugate[places], near.alpha)
        with np.errstate(all="ignore"):
            solution = root(missing, start, options={"xtol": 1e-11, "maxfev": 60})
        alpha = float(solution.x[-1])
        if not (np.abs(solution.fun).max() < 1e-7 and near.alpha <= alpha <= high):
            return None
        conjugate = matrix(solution.x)
        close = np.abs(conjugate - near.conjugate).max() < 0.2 * np.abs(near.conjugate).max()
        single = abs(evolution.rate(alpha, conjugate) - 1.0) < 1e-4
        return alpha if close and single else None

    def _first_order(self, n: int) -> list[OptimalTransition]:
        """Return the α at which the free entropies of two branches are equal."""
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
        """Return the α at which new directions begin to be learned, as their growth rate
        reaches 1.
        """
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
    """Return the fixed point with no overlap in new directions."""
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
