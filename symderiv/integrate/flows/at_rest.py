"""States that stay where they are: all that is left of their slopes is rounding.

Steps end up shorter than accuracy asks for where a state has come to rest at one of many: there its
slope is nothing but rounding, which nothing damps along the directions to the others, so that it
adds up over a step to more than the tolerance, and iterations do not get below that. Nor are the
linear systems of such directions solved to any digit by doubles where steps are longer than 1e16
over the fastest rate. Smaller steps gain nothing: what they add up is the same rounding.

A state stays if its slope is rounding, if changes of it do not grow, and if those that do not die
out lead to other states that stay, a thousandth of its numbers away. Then states at rest fill the
neighbourhood along these directions, all others are led there exponentially, and the solution ends
at one that is as close as the slope over the slowest rate. A slow decay by a power of time or a
slow escape is no such case: at a thousandth its slope is far above rounding, down to rates of about
1e-11.

Numbers that are never changed, and numbers with the same slope at all states, as both entries of an
angle, are changed together or not at all: their differences do not move.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: A right-hand side: of time and state, with the slope to fill.
RightHandSide = Callable[[float, np.ndarray, np.ndarray], None]

# Rounding is seen in slopes of as many states that differ by the last place of the largest number;
# slopes up to so many times the largest difference are taken for it, if no more than so many times
# what a smooth right-hand side makes of it.
_ROUNDING, _NEAR = float(np.finfo(float).eps), 1e-10
_DRAWS, _TIMES, _SMOOTH = 16, 4.0, 1e3
# Differences for derivatives, in the numbers of the state, and the least of these, in the largest.
_DIFFERENCE, _SMALLEST = 1e-5, 1e-3
# Slower rates, in the fastest one, count as none until other states at rest are found; how much
# smaller than others the singular values of these are.
_NONE, _APART = 1e-8, 0.3
# How far away other states at rest are looked for, in the largest number; in how many times as many
# directions as there are; with how many iterations; and how much larger rounding is at their ends.
_AWAY, _DIRECTIONS, _ITERATIONS, _CORRECTED = 1e-3, 2, 12, 16.0
# Times that are tried for a right-hand side that depends on time, and the largest state for which
# rates are computed.
_LATER, _MOST = 10, 1000


class Rest:
    """The right-hand side around a state, at one time.

    Attributes:
        evaluations: So many of the right-hand side were made.
        undecided: True where :meth:`stays` found no slope above rounding and yet no rest.
    """

    def __init__(self, rhs: RightHandSide, alpha: float, y: np.ndarray, slope: np.ndarray) -> None:
        self._rhs, self._alpha, self._y, self._here = rhs, alpha, y.copy(), slope.copy()
        self._largest = float(np.max(np.abs(y)))
        self._random = np.random.default_rng(1)
        self.evaluations, self.undecided = 0, False

    def stays(self, relative: float, later: np.ndarray) -> bool:
        """Return whether the solution stays at the state.

        Args:
            relative: the change that is allowed, in the largest number of the state.
            later: times to come, at which the right-hand side must be the same; shape (P,).
        """
        y, size, slope = self._y, self._y.size, self._here
        # slopes of most states are told from rounding without another one
        if size > _MOST or not np.max(np.abs(slope)) <= _NEAR * self._largest < np.inf:
            return False
        last = _ROUNDING * self._largest * self._random.integers(-2, 3, (_DRAWS, size))
        drawn = np.array([self._slope(y + each) for each in last])
        rounding = _TIMES * np.max(np.abs(drawn - slope), axis=0)
        if not np.all(np.abs(slope) <= rounding):
            return False
        self.undecided = True
        near = y + _AWAY * self._largest * self._random.standard_normal(size)
        now, times = self._slope(near), later[:: max(1, later.size // _LATER)]
        if not all(np.array_equal(now, self._slope(near, float(time))) for time in times):
            return False
        _, first, group = np.unique(
            np.vstack([drawn, now]), axis=1, return_index=True, return_inverse=True
        )
        moving = np.any(drawn[:, first] != 0.0, axis=0)
        together = (group.reshape(-1, 1) == np.flatnonzero(moving)).astype(float)
        return self._attracts(slope, rounding, first[moving], together, relative)

    def _slope(self, state: np.ndarray, alpha: float | None = None) -> np.ndarray:
        slope = np.empty_like(state)
        with np.errstate(all="ignore"):
            self._rhs(self._alpha if alpha is None else alpha, state, slope)
        self.evaluations += 1
        return slope

    def _attracts(
        self,
        slope: np.ndarray,
        rounding: np.ndarray,
        rows: np.ndarray,
        together: np.ndarray,
        relative: float,
    ) -> bool:
        """Return whether the states at rest around this one attract all others.

        ``rows`` are the places of numbers that differ, shape (m,), and ``together`` what changes
        with each, shape (n, m).
        """
        rates = np.empty((rows.size, rows.size))
        for column, row in enumerate(rows):
            size = _DIFFERENCE * max(abs(self._y[row]), _SMALLEST * self._largest)
            change = size * together[:, column]
            apart = self._slope(self._y + change) - self._slope(self._y - change)
            rates[:, column] = apart[rows] / (2.0 * size)
        if not np.all(np.isfinite(rates)):
            return False
        each = np.linalg.eigvals(rates)
        fastest, rounded = np.max(np.abs(each), initial=0.0), np.max(rounding)
        left, values, right = np.linalg.svd(rates)
        decaying = np.arange(rows.size) < np.sum(each.real < -_NONE * fastest)
        # as many directions without a rate as there are rates of zero: no change grows linearly
        none = np.max(values[~decaying], initial=0.0) <= _APART * np.min(
            values[decaying], initial=np.inf
        )
        smooth = rounded <= _SMOOTH * _ROUNDING * self._largest * fastest
        if np.any(each.real > _NONE * fastest) or not (none and smooth):
            return False
        back = together @ (right[decaying].T / values[decaying]) @ left[:, decaying].T
        if np.max(np.abs(back @ slope[rows]), initial=0.0) > relative * self._largest:
            return False
        free = _AWAY * self._largest * right[~decaying] @ together.T
        weights = self._random.standard_normal((_DIRECTIONS * len(free), len(free)))
        weights /= np.linalg.norm(weights, axis=1, keepdims=True)
        for state in self._y + weights @ free:
            for _ in range(_ITERATIONS):
                slope = self._slope(state)
                if np.all(np.abs(slope) <= _CORRECTED * rounded):
                    break
                state -= back @ slope[rows]
            else:
                return False
        return True
