"""The best constant value of a number: for the final error, or for a fixed point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy.optimize import brentq, minimize_scalar

from symderiv.analysis.fixed_points.continuation import LargestRate, OneParameter
from symderiv.analysis.fixed_points.exchanged_flow import ExchangedFlow
from symderiv.analysis.fixed_points.search import Found
from symderiv.api.arguments.numbers import range_of
from symderiv.api.results.answer import Answer, Rows
from symderiv.api.results.flows.stationary import points_of, value_of
from symderiv.api.results.flows.stationary_flow import StationaryFlow, constants_along
from symderiv.api.results.flows.system_points import points_of_system
from symderiv.foundation.errors import InputError, ToleranceError, check_one_of, check_whole
from symderiv.problem.key_names import study_key
from symderiv.system.system_flow import SystemFlow

GOALS = ("error", "stable", "escape")
_GRID, _NODES, _RESOLVED, _STARTS = 12, 14, 1e-12, 12
_NEAR_TOP, _ROUNDED = 0.02, 1e-6


class BestConstant(Answer):
    """The best constant value of a number.

    Attributes:
        name: the name of the number.
        value: the best one.
        goal: "error", "stable" or "escape".
        reached: the generalisation error, or the observable of a system, at the end; or the largest
            rate of the fixed point per unit of α, which is 0 at the edge of stability.
        slope: for "error", the derivative of the logarithm of the error by the number there; else
            None.
        interior: whether the value is none of the two ends.
        tried: values on the grid that was looked at first, with what was reached at each.
    """

    _title = "Best constant"
    _warned = "{}"

    def _rows(self) -> Rows:
        return [(name, self._record[name]) for name in ("name", "goal", "value", "reached")]


def best_constant(
    problem: Any,
    name: str,
    between: Sequence[float],
    goal: str,
    end: float | None,
    point: int,
) -> BestConstant:
    """Return the best value of a study's number; see :meth:`symderiv.Problem.best`."""
    ends, study = _checked(between, goal, end, point), problem._study

    def reached(value: float) -> tuple[float, float]:
        run = problem.replace(**{name: value}).solve(end=end, sensitivities=[name])
        slopes = run.sensitivity("generalization_error", name)
        return float(run.generalization_error[-1]), float(slopes[-1])

    if goal == "error":
        return _of_error(name, ends, reached)
    key = study_key(name)
    stated = StationaryFlow.of(study, None)
    followed = _Followed(
        stated.flow,
        constants_along(stated, {key: ends}),
        value_of(study, key),
        lambda: [p for p, _ in points_of(stated, _STARTS, None)[0]],
    )
    return _of_point(followed, name, ends, goal, point)


def best_of_system(
    system: Any,
    name: str,
    between: Sequence[float],
    goal: str,
    end: float | None,
    point: int,
    observable: str,
    start: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> BestConstant:
    """Return the best value of a system's parameter; see :meth:`symderiv.System.best`.

    The start is a state by name, and values of parameters that differ from their defaults.
    """
    ends, (initial, parameters) = _checked(between, goal, end, point), start
    values = system.solver.layout.parameter_values(parameters)
    if name not in values:
        known = ", ".join(values) or "none"
        raise InputError(f"{name!r} is not a parameter; there are {known}", argument="name")

    def reached(value: float) -> tuple[float, float]:
        given = {**parameters, name: value}
        run = system.solve(end=end, points=2, initial=initial, sensitivities=[name], **given)
        return float(run[observable][-1]), float(run.sensitivity(observable, name)[-1])

    if goal == "error":
        if end is None:
            raise InputError("must be given with goal='error'", argument="end")
        return _of_error(name, ends, reached)
    flow = SystemFlow.of(system.solver, initial, parameters)
    followed = _Followed(
        flow, flow.along(name), values[name], lambda: points_of_system(flow, _STARTS)[0]
    )
    return _of_point(followed, name, ends, goal, point)


def _checked(
    between: Sequence[float], goal: str, end: float | None, point: int
) -> tuple[float, float]:
    """Return the two ends as doubles; refuse invalid arguments.

    Raises:
        InputError: The ends are not two ascending numbers, or the goal is unknown or takes no
            ``end``.
    """
    check_one_of("goal", goal, GOALS)
    check_whole("point", point, 1)
    ends = range_of(between, "between")
    if goal != "error" and end is not None:
        raise InputError("is allowed only with goal='error'", argument="end")
    return ends


def _of_error(
    name: str, ends: tuple[float, float], reached: Callable[[float], tuple[float, float]]
) -> BestConstant:
    """Return the value with the smallest final error: a zero of the derivative, or an end.

    Args:
        name: The name of the number.
        ends: The smallest and the largest value of the number.
        reached: A function from a value to the final error and its derivative.

    Raises:
        InputError: An error is not positive.
    """
    known: dict[float, tuple[float, float]] = {}

    def logarithm(value: float) -> tuple[float, float]:
        """Return the logarithm of the final error, and its derivative."""
        if value not in known:
            error, slope = reached(value)
            if not error > 0.0:
                raise InputError(
                    f"is {error:.3g} at {name} = {value:g}; it must be positive to be minimised",
                    argument="observable",
                )
            known[value] = float(np.log(error)), slope / error
        return known[value]

    grid = np.linspace(*ends, _GRID)
    first = np.array([logarithm(float(value)) for value in grid])
    best = int(np.argmin(first[:, 0]))
    value = float(grid[best])
    # the derivative changes its sign between the best value and the neighbour downhill
    side = best + 1 if first[best, 1] < 0 else best - 1
    if 0 <= side < len(grid) and first[side, 1] * first[best, 1] < 0:
        value = _root(lambda x: logarithm(x)[1], (float(grid[best]), float(grid[side])))
    error, slope = logarithm(value)
    tried = [[float(x), float(np.exp(y))] for x, y in zip(grid, first[:, 0], strict=True)]
    return _answer(name, "error", value, float(np.exp(error)), slope, ends, tried)


@dataclass(frozen=True)
class _Followed:
    """A flow and its fixed points, for a number that varies.

    Attributes:
        flow: The flow.
        at: A function from the number to the flow's constants and the unit of its rates.
        begin: The value of the number for which the flow is given.
        points: A function that finds the fixed points of the flow, also unphysical ones.
    """

    flow: ExchangedFlow
    at: Callable[[float], tuple[np.ndarray, float]]
    begin: float
    points: Callable[[], Sequence[Found]]


def _of_point(
    followed: _Followed, name: str, ends: tuple[float, float], goal: str, number: int
) -> BestConstant:
    """Return the largest value for which a point is stable, or that with the fastest escape."""
    begin = followed.begin
    if not ends[0] <= begin <= ends[1]:
        raise InputError(f"must contain {begin:g}, the value of the problem", argument="between")
    points = [p for p in followed.points() if followed.flow.physical(p.values)]
    if not 1 <= number <= len(points):
        raise InputError(
            f"{number} is not from 1 to {len(points)}, the number of points", argument="point"
        )
    problem = OneParameter(followed.flow, followed.at, [ends])
    rate = LargestRate(problem, points[number - 1].values, begin)
    grid = [value for value in np.linspace(*ends, _GRID) if np.isfinite(rate(float(value)))]
    if not grid:
        where = f"{name} = {begin:g} to {ends[0]:g} or {ends[1]:g}"
        raise ToleranceError(f"point {number} could not be followed from {where}")
    rates = np.array([rate(float(value)) for value in grid])
    tried = [[float(x), float(y)] for x, y in zip(grid, rates, strict=True)]
    if goal == "escape":
        best = int(np.argmax(rates))
        around = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)])
        maximum = minimize_scalar(
            lambda x: -rate(float(x)), bounds=around, method="bounded", options={"xatol": 1e-9}
        )
        value = float(maximum.x) if -maximum.fun > rates[best] else float(grid[best])
        if around[0] < value < around[1]:
            value = _top(rate, value, _NEAR_TOP * (around[1] - around[0]))
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
    """Return the value at which a rate vanishes, by a polynomial through values on both sides.

    Where another branch crosses, rates have larger errors: the fixed point itself is known to the
    square root of rounding only.
    """
    middle, half = sum(ends) / 2, (ends[1] - ends[0]) / 2
    nodes = chebyshev.chebpts1(_NODES)
    polynomial = chebyshev.chebfit(nodes, [rate(middle + half * x) for x in nodes], _NODES - 1)
    return middle + half * _root(lambda x: float(chebyshev.chebval(x, polynomial)), (-1.0, 1.0))


def _top(rate: LargestRate, value: float, near: float) -> float:
    """Return the value at which a rate is largest, by the derivative of a local polynomial.

    A maximum of values alone is known to the square root of rounding only. If two rates cross
    there, the given value is returned.
    """
    nodes = chebyshev.chebpts1(_NODES)
    slope = chebyshev.chebder(chebyshev.chebfit(nodes, [rate(value + near * x) for x in nodes], 4))
    ends = chebyshev.chebval(-1.0, slope), chebyshev.chebval(1.0, slope)
    if not ends[0] > 0.0 > ends[1]:
        return value
    top = value + near * _root(lambda x: float(chebyshev.chebval(x, slope)), (-1.0, 1.0))
    return top if abs(top - value) < _ROUNDED * abs(value) else value


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
    warnings = [] if interior else ["the best value is at an end of the allowed range"]
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
