"""The best constant value of a number: for the error at an end, or for a fixed point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy.optimize import brentq, minimize_scalar

from symderiv.analysis.fixed_points.continuation import LargestRate
from symderiv.api.results.answer import Answer
from symderiv.api.results.flows.stationary import points_of, value_of
from symderiv.api.results.flows.stationary_flow import StationaryFlow, constants_along
from symderiv.foundation.documents.document import Summary
from symderiv.foundation.errors import InputError, ToleranceError, check_one_of
from symderiv.problem.key_names import study_key

GOALS = ("error", "stable", "escape")
_GRID, _NODES, _RESOLVED = 12, 14, 1e-12


class BestConstant(Answer):
    """The best constant value of a number.

    Attributes:
        name: the name of the number.
        value: the best one.
        goal: "error", "stable" or "escape".
        reached: the generalisation error at the end; or the largest rate of the fixed point per
            unit of α, which is 0 at the edge of stability.
        slope: for "error", the derivative of the logarithm of the error by the number there; else
            None.
        interior: whether the value is none of the two ends.
        tried: values on the grid that was looked at first, with what was reached at each.
    """

    _title = "Best constant"

    def _summary(self) -> Summary:
        rows = [(name, self._record[name]) for name in ("name", "goal", "value", "reached")]
        return Summary(self._title, rows, self._record["warnings"])


def best_constant(
    problem: Any,
    name: str,
    between: Sequence[float],
    goal: str,
    end: float | None,
    point: int,
) -> BestConstant:
    """Return the best value; see :meth:`symderiv.Problem.best`."""
    check_one_of("goal", goal, GOALS)
    if len(between) != 2 or not between[0] < between[1]:
        raise InputError("must be two numbers, the smaller one first", argument="between")
    ends = float(between[0]), float(between[1])
    if goal == "error":
        return _of_error(problem, name, ends, end)
    if end is not None:
        raise InputError("is allowed only with goal='error'", argument="end")
    return _of_point(problem, name, ends, goal, point)


def _of_error(
    problem: Any, name: str, ends: tuple[float, float], end: float | None
) -> BestConstant:
    """Return where the derivative of the final error by the number vanishes, or the best end."""
    known: dict[float, tuple[float, float]] = {}

    def reached(value: float) -> tuple[float, float]:
        """Return the logarithm of the final error, and its derivative."""
        if value not in known:
            run = problem.replace(**{name: value}).solve(end=end, sensitivities=[name])
            slopes = run.sensitivity("generalization_error", name)
            error = float(run.generalization_error[-1])
            known[value] = float(np.log(error)), float(slopes[-1]) / error
        return known[value]

    grid = np.linspace(*ends, _GRID)
    first = np.array([reached(float(value)) for value in grid])
    best = int(np.argmin(first[:, 0]))
    value = float(grid[best])
    # between neighbours of the best the derivative goes from below zero to above it
    side = best + 1 if first[best, 1] < 0 else best - 1
    if 0 <= side < len(grid) and first[side, 1] * first[best, 1] < 0:
        value = _root(lambda x: reached(x)[1], (float(grid[best]), float(grid[side])))
    logarithm, slope = reached(value)
    tried = [[float(x), float(np.exp(y))] for x, y in zip(grid, first[:, 0], strict=True)]
    return _answer(name, "error", value, float(np.exp(logarithm)), slope, ends, tried)


def _of_point(
    problem: Any, name: str, ends: tuple[float, float], goal: str, number: int
) -> BestConstant:
    """Return the largest value with a stable fixed point, or that at which it is left fastest."""
    key = study_key(name)
    study = problem._study
    begin = value_of(study, key)
    if not ends[0] <= begin <= ends[1]:
        raise InputError(f"must contain {begin:g}, the value of the problem", argument="between")
    stated = StationaryFlow.of(study, None)
    points = [p for p, _ in points_of(stated, 12, None)[0] if stated.flow.physical(p.values)]
    if not 1 <= number <= len(points):
        raise InputError(
            f"{number} is not from 1 to {len(points)}, the number of points", argument="point"
        )
    at = constants_along(stated, {key: ends})
    rate = LargestRate(stated.flow, at, points[number - 1].values, begin, ends)
    grid = [value for value in np.linspace(*ends, _GRID) if np.isfinite(rate(float(value)))]
    rates = np.array([rate(float(value)) for value in grid])
    tried = [[float(x), float(y)] for x, y in zip(grid, rates, strict=True)]
    if goal == "escape":
        best = int(np.argmax(rates))
        around = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)])
        maximum = minimize_scalar(
            lambda x: -rate(float(x)), bounds=around, method="bounded", options={"xatol": 1e-9}
        )
        value = float(maximum.x) if -maximum.fun > rates[best] else float(grid[best])
        return _answer(name, goal, value, rate(value), None, ends, tried)
    if rate(begin) >= 0:
        raise InputError(f"point {number} is not stable at {begin:g}", argument="point")
    lost = next((n for n, x in enumerate(grid) if x > begin and rates[n] > 0), None)
    if lost is None:
        raise ToleranceError(f"the point is stable up to {grid[-1]:g}, as far as it was followed")
    before = max(begin, float(grid[lost - 1]))
    value = _crossing(rate, (before, float(grid[lost])))
    return _answer(name, goal, value, 0.0, None, ends, tried)


def _crossing(rate: LargestRate, ends: tuple[float, float]) -> float:
    """Return where a rate vanishes, by a polynomial through values on both sides: where another
    branch crosses, the fixed point itself is known to the root of rounding only.
    """
    middle, half = sum(ends) / 2, (ends[1] - ends[0]) / 2
    nodes = chebyshev.chebpts1(_NODES)
    polynomial = chebyshev.chebfit(nodes, [rate(middle + half * x) for x in nodes], _NODES - 1)
    return middle + half * _root(lambda x: float(chebyshev.chebval(x, polynomial)), (-1.0, 1.0))


def _root(function: Callable[[float], float], ends: tuple[float, float]) -> float:
    return float(brentq(function, *ends, xtol=_RESOLVED * max(map(abs, ends)), rtol=_RESOLVED))


def _answer(
    name: str,
    goal: str,
    value: float,
    reached: float,
    slope: float | None,
    ends: tuple[float, float],
    tried: list[Any],
) -> BestConstant:
    interior = ends[0] < value < ends[1]
    warnings = [] if interior else ["the best value is an end of what was allowed"]
    return BestConstant(
        {
            "name": name,
            "goal": goal,
            "value": value,
            "reached": reached,
            "slope": slope,
            "interior": interior,
            "tried": tried,
            "warnings": warnings,
        }
    )
