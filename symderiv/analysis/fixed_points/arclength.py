r"""Curves in one parameter by pseudo-arclength, through folds.

The unknown :math:`u` is the coordinates, followed by the parameter in units of its range. A step
along the tangent, the null vector of the derivatives by u, is corrected by Newton's method in the
plane across it, so that a curve is followed around folds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from symderiv.analysis.fixed_points.newton_steps import Floats, newton
from symderiv.foundation.errors import ToleranceError

_FEW = 5


@dataclass(frozen=True)
class StepPace:
    """The control of step lengths along a curve.

    Attributes:
        first, least: The length of the first step, and that below which the curve counts as lost.
        most: The largest length, in units of :meth:`CurveEquations.size`.
        straight: The smallest cosine of the angle by which the tangent may turn in a step.
        growth: The growth of steps after few Newton iterations, and after more.
    """

    first: float
    least: float
    most: float
    straight: float
    growth: tuple[float, float]


class CurveEquations(ABC):
    """The equations of a curve, one fewer than there are unknowns."""

    _rounds: ClassVar[int]
    _small: ClassVar[float]
    """The largest number of Newton iterations, and the size of a change that ends them."""
    _flat: ClassVar[float] = 1e-12
    """Singular values below this share of the largest one count as zero."""

    @abstractmethod
    def equations(self, u: Floats) -> tuple[Floats, Floats]:
        """Return residuals that vanish on the curve, shape (n,), and derivatives, (n, n + 1)."""

    @abstractmethod
    def settled(self, u: Floats, size: float) -> bool:
        """Return whether Newton's last step, of this size, ended on the curve."""

    def tangent(self, u: Floats, before: Floats | None = None) -> Floats:
        """Return the unit tangent, in the direction of the one before.

        If several directions are tangent to rounding, it is the one nearest to that.
        """
        _, values, rows = np.linalg.svd(self.equations(u)[1])
        if before is None:
            return np.asarray(rows[-1])
        free = rows[np.count_nonzero(values > self._flat * values[0]) :]
        along = free.T @ (free @ before)
        return np.asarray(along / np.linalg.norm(along))

    def corrected(self, start: Floats, across: Floats, level: Any = None) -> Floats | None:
        """Return the point of the curve near ``start`` with ``across @ u == level``.

        The level is that of ``start`` by default. The result is None if Newton's method fails.
        """
        solved = self._solved(start, across, across @ start if level is None else level)
        return None if solved is None else solved[0]

    def _solved(self, start: Floats, across: Floats, goal: Any) -> tuple[Floats, int] | None:
        """Return the point with ``across @ u == goal``, and the number of Newton iterations."""

        def equations(u: Floats) -> tuple[Floats, Floats]:
            missing, slopes = self.equations(u)
            return np.append(missing, across @ u - goal), np.vstack([slopes, across])

        solved = newton(equations, start, self._rounds, self._small, smallest=self._flat)
        if solved is None or not self.settled(*solved[:2]):
            return None
        return solved[0], solved[2]

    def size(self, u: Floats) -> float:
        """Return the unit of step lengths: one plus the largest coordinate."""
        return 1 + float(np.max(np.abs(u)))

    def between(self, low: Floats, high: Floats, share: float, across: Floats) -> Floats | None:
        """Return the point of the curve across a given share of the chord between two points."""
        return self.corrected(low + share * (high - low), across)

    def where(
        self, value: Callable[[Floats], float], low: Floats, high: Floats, across: Floats
    ) -> Floats | None:
        """Return the point between two at which a function vanishes; None if its sign is the same.

        Raises:
            ToleranceError: The curve is lost between them.
        """
        from scipy.optimize import brentq

        def at(share: float) -> Floats:
            point = self.between(low, high, share, across)
            if point is None:
                raise ToleranceError("a curve was lost between two of its points")
            return point

        if value(at(0.0)) * value(at(1.0)) >= 0.0:
            return None
        return at(float(brentq(lambda s: value(at(s)), 0.0, 1.0, xtol=1e-15, rtol=1e-14)))

    def at_parameter(self, values: Floats, level: float) -> Floats | None:
        """Return the point at a given level of the parameter near some coordinates."""
        return self.corrected(np.append(values, level), np.eye(values.size + 1)[-1], level)

    def at_end(self, before: Floats, after: Floats) -> Floats | None:
        """Return the point at the end of the parameter's range that lies between two points."""
        end = float(np.clip(after[-1], 0.0, 1.0))
        return self.corrected((before + after) / 2, np.eye(after.size)[-1], end)

    def steps(
        self, u: Floats, tangent: Floats, pace: StepPace
    ) -> Iterator[tuple[Floats, Floats, float]]:
        """Yield points of the curve, tangents and lengths of steps until even short steps fail."""
        step = pace.first
        while step >= pace.least:
            solved = self._solved(u + step * tangent, tangent, tangent @ u + step)
            bent = None if solved is None else self.tangent(solved[0], tangent)
            if solved is None or bent is None or bent @ tangent < pace.straight:
                step *= 0.5
                continue
            u, rounds = solved
            yield u, bent, step
            tangent = bent
            step = min(pace.growth[rounds >= _FEW] * step, pace.most * self.size(u))
