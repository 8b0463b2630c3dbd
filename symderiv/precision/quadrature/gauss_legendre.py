r"""Gauss-Legendre panels: products of analytic or piecewise analytic functions, with a bound.

One factor per variable, covariance C of full rank, P = C^-1. The integral over
:math:`z = \mu + x` is taken on a product of intervals |x_i| <= X_i, each cut into panels at the
kinks. On a panel of half length l the rule with n >= 2 nodes is off by at most
:math:`(64/15)\, l\, m\, \rho^{-2n}/(1 - \rho^{-2})` if the integrand is at most m in size on the
ellipse with foci at the ends and half axes summing to :math:`l\rho`.

**One variable after the other.** At :math:`x_i + iy` the density is :math:`e^{P_{ii}y^2/2}` times
that at x in size, and that is at most :math:`p = (2\pi)^{-d/2} (\det C)^{-1/2}`. So with
:math:`W_j = 2 X_j \max |f_j|`, which bounds integrals and sums of the other factors alike, variable
i contributes at most :math:`p \prod_{j \ne i} W_j` times the sum of the panels' bounds for f_i and
:math:`e^{P_{ii}b^2/2}`, b the half axis across.

**A polynomial** in x counts with the sizes of its coefficients and the largest power of each x_j,
at |x_j| <= X_j for the others and |x_i| <= 2(X_i + 1) on ellipses.

**What is left out** has some |x_i| > X_i. By Hölder's inequality it is at most
:math:`(E|F|^q)^{1/q} \sum_i P(|x_i| > X_i)^{1-1/q}`, q = 10, with
:math:`|F| \le B \prod_j e^{\beta_j|t_j|}` in independent normals, as for the trapezoid rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import sympy as sp
from flint import acb, arb

from symderiv.foundation.errors import NotYetError, ToleranceError
from symderiv.gaussian.legendre_balls import legendre_balls
from symderiv.precision.balls.working import Ball, bits_below, working_bits
from symderiv.precision.quadrature.component import FactorComponent
from symderiv.precision.quadrature.contraction import inverse_covariance, mean_exp, rule_sum
from symderiv.precision.quadrature.growth import growth
from symderiv.precision.quadrature.one_variable import OneVariable, Undefined
from symderiv.precision.quadrature.pieces import AnalyticPiece, pieces
from symderiv.precision.quadrature.separation import FORM

_BITS: Final = 64
_RHOS: Final = (12.0, 8.0, 5.5, 4.0, 3.0, 2.4, 1.9, 1.5, 1.3)
_LENGTHS: Final = (6.0, 4.0, 2.5, 1.5, 1.0, 0.5)  # in units of the conditional deviation
_HOELDER: Final = 10
_ROUNDS: Final = 30
_POWER_RATE: Final = 0.5  # t**k is covered by exp(|t|/2)
_BOXES: Final = (6, 3)
_DEPTH: Final = 12
_FEWEST: Final = 2  # nodes of a panel
_MAX_DIMENSION: Final = 4
_MAX_PANELS: Final = 3000
_DEPENDENT: Final = 4  # with larger ratios of variance to conditional variance, panels cost more


@dataclass(frozen=True)
class _Panel:
    low: arb
    high: arb
    function: OneVariable
    nodes: int
    bound: arb  # on the rule's error for this panel, without the density


@dataclass(frozen=True)
class PanelPlan:
    """The panels of each variable and the bound of the whole rule.

    Args:
        panels: The panels per variable.
        bound: Proved bound of the difference between rule and expectation.
        scale: Proved bound of the expectation of the modulus.
    """

    panels: tuple[tuple[_Panel, ...], ...]
    bound: arb
    scale: arb

    def counts(self) -> list[int]:
        """Return the number of nodes of each variable."""
        return [sum(p.nodes for p in row) for row in self.panels]

    def bits(self) -> int:
        """Return the precision at which rounding is below the bound."""
        return bits_below(self.bound, self.scale, 60)


def reflected(component: FactorComponent) -> bool:
    """Return whether only positive values of the last variable are summed, with doubled weights."""
    return component.reflects and component.factors[-1].function.smooth


def few_panels(component: FactorComponent) -> bool:
    """Return whether smooth factors need few panels, which are as long as conditional deviations.

    That is so if variables are far from dependent.
    """
    d = component.dimension
    if len(component.factors) != d or d > _MAX_DIMENSION:
        return False
    with working_bits(_BITS):
        precision, _ = inverse_covariance(component, 4 * _BITS)
        variances = [sum((v * v for v in row), arb(0)) for row in component.loading(_BITS)]
        return all(precision[i, i] * v < _DEPENDENT for i, v in enumerate(variances))


def panel_plan(component: FactorComponent, accuracy: float) -> PanelPlan:
    """Return panels for an error below about ``exp(-accuracy)`` times the integrand's scale.

    Raises:
        NotYetError: The kinks cannot be isolated, a function is not analytic up to its kink, there
            are too many variables, or two functions share one direction of a singular covariance.
    """
    d = component.dimension
    if len(component.factors) != d or d > _MAX_DIMENSION:
        raise NotYetError(
            "not yet: functions with kinks are integrated for up to four variables whose "
            f"covariance has full rank; here {len(component.factors)} functions depend on {d} "
            "independent variables"
        )
    with working_bits(_BITS):
        return _PanelPlanner(component, accuracy).plan()


class _PanelPlanner:
    def __init__(self, component: FactorComponent, accuracy: float) -> None:
        self.component, self.accuracy = component, accuracy
        self.d = component.dimension
        self.loading = [[abs(v).upper() for v in row] for row in component.loading(_BITS)]
        self.means = component.means(_BITS)
        self.precision, self.determinant = inverse_covariance(component, 4 * _BITS)
        # |x_i^k| <= max(1, |x_i|)^q for all powers k that occur
        self.polynomial = component.in_variables(4 * _BITS)
        self.powers = [max((k[i] for k in self.polynomial), default=0) for i in range(self.d)]

    def plan(self) -> PanelPlan:
        d, component = self.d, self.component
        deviations = [math.sqrt(sum(float(v) ** 2 for v in row)) for row in self.loading]
        reach = math.sqrt(2 * self.accuracy / (1 - 1 / _HOELDER)) + 0.5
        for _ in range(_ROUNDS):
            ranges = [s * reach for s in deviations]
            bounds = [self._real_bound(i, ranges[i]) for i in range(d)]
            size = component.polynomial_size(_POWER_RATE)
            for (factor, rate, _), mean in zip(bounds, self.means, strict=True):
                size = size * factor * (rate * abs(mean)).exp()
            scale = moment = size
            for j in range(d):
                b = arb(_POWER_RATE if component.powers[j] else 0)
                for (_, rate, _), row in zip(bounds, self.loading, strict=True):
                    b = b + rate * row[j]
                scale = scale * mean_exp(b)
                moment = moment * mean_exp(_HOELDER * b) ** (arb(1) / _HOELDER)
            # the deviation's rounding is far below the last factor
            tail = (arb(reach) / arb(2).sqrt() * (1 - 1e-9)).erfc()
            rest = d * moment * tail ** (1 - arb(1) / _HOELDER)
            if rest < scale * (-arb(self.accuracy)).exp() / 2:
                break
            reach *= 1.1
        else:
            raise ToleranceError("the integrand grows too fast for the panels")
        density = 1 / ((2 * arb.pi()) ** d * self.determinant).sqrt()
        bound = rest
        chosen = []
        for i in range(d):
            others = density * sum((abs(v) for v in self.polynomial.values()), arb(0))
            for j in range(d):
                if j != i:
                    others = others * 2 * ranges[j] * bounds[j][2]
                    others = others * max(1.0, ranges[j]) ** self.powers[j]
            # the ellipses are within twice the reach and one more on each side
            others = others * max(1.0, 2 * (ranges[i] + 1)) ** self.powers[i]
            half = i == d - 1 and reflected(component)
            others = others * (2 if half else 1)
            target = scale * (-arb(self.accuracy)).exp() / (2 * d) / others
            panels = self._panels(i, ranges[i], target, half)
            chosen.append(tuple(panels))
            bound = bound + others * sum((p.bound for p in panels), arb(0))
        return PanelPlan(tuple(chosen), bound.upper(), scale.upper())

    def _real_bound(self, i: int, reach: float) -> tuple[arb, arb, arb]:
        """Return (A, b, m): |f| <= A exp(b |z|) on the reals, |f| <= m within reach of the mean."""
        f = self.component.factors[i].function
        deviation = math.sqrt(sum(float(v) ** 2 for v in self.loading[i]))
        tail = growth(f.expression, FORM)
        factor, rate = tail.exponential(arb(0.5 / deviation))
        value = f.on_real(_BITS)
        centre = float(self.means[i])
        low, high = centre - reach - 1, centre + reach + 1
        low, high = min(low, -float(tail.start)), max(high, float(tail.start))
        count = math.ceil((high - low) * 4)
        largest = arb(0)
        width = (high - low) / count
        for k in range(count):
            cell = arb(low + (k + 0.5) * width, width * 0.5000001)
            size = abs(arb(value(cell)))
            if not size.is_finite():
                raise NotYetError(f"not yet: {f.expression} has no bound on the real line")
            largest = largest.max(size.upper())
            near = max(abs(low + (k + 0.5) * width) - width, 0.0)
            factor = factor.max(size.upper() * (-rate * near).exp())
        return factor.upper(), rate, largest.upper()

    def _panels(self, i: int, reach: float, target: arb, half: bool) -> list[_Panel]:
        f = self.component.factors[i].function
        centre = float(self.means[i])
        self.centre, self.reach = self.means[i], reach + 1
        begin = 0.0 if half else centre - reach
        smooth_pieces = pieces(f.expression, FORM, begin, centre + reach, self._kink_bits())
        unit = 1 / math.sqrt(float(self.precision[i, i]))
        best: list[_Panel] | None = None
        if reach / unit > _MAX_PANELS:
            raise ToleranceError(
                "functions with kinks of variables that are nearly proportional (conditional "
                f"deviation {unit:.1e}) need too many panels"
            )
        for length in _LENGTHS:
            most = math.inf if best is None else _nodes(best)
            long = min(length * unit, reach)
            best = self._cut(smooth_pieces, long, self.precision[i, i], target, most) or best
        if best is None:
            raise NotYetError(f"not yet: {f.expression} is not analytic up to its kinks")
        return best

    def _kink_bits(self) -> int:
        return math.ceil(2 * self.accuracy / math.log(2)) + 200

    def _cut(
        self, found: list[AnalyticPiece], length: float, precision: arb, target: arb, most: float
    ) -> list[_Panel] | None:
        """Return panels of about this length, or None if they need ``most`` nodes or more."""
        waiting = []
        for piece in found:
            whole = piece.high - piece.low
            count = max(1, math.ceil(float(whole) / length))
            # inner ends are exact numbers, kinks are balls
            inner = [(piece.low + whole * k / count).mid() for k in range(1, count)]
            ends = [piece.low, *inner, piece.high]
            waiting += [(a, b, piece.expression, 0) for a, b in pairwise(ends)]
        if len(waiting) > _MAX_PANELS:
            return None
        aim = target / len(waiting)
        result, nodes = [], 0
        while waiting:
            if nodes + _FEWEST * len(waiting) >= most:
                return None
            a, b, expression, depth = waiting.pop()
            panel = self._panel(a, b, expression, precision, aim)
            if panel is not None:
                result.append(panel)
                nodes += panel.nodes
                continue
            if depth == _DEPTH:
                return None
            middle = ((a + b) / 2).mid()
            waiting += [(a, middle, expression, depth + 1), (middle, b, expression, depth + 1)]
        return result if nodes < most else None

    def _panel(
        self, a: arb, b: arb, expression: sp.Expr, precision: arb, aim: arb
    ) -> _Panel | None:
        """Return the panel with the ellipse that needs the fewest nodes, or None if no ellipse
        does.
        """
        function = OneVariable(expression, FORM)
        value = function.on_complex(_BITS)
        half, centre = ((b - a) / 2).upper(), (a + b) / 2
        best: _Panel | None = None
        for rho in _RHOS:
            long = half * (rho + 1 / rho) / 2
            across = half * (rho - 1 / rho) / 2
            if not abs(centre - self.centre) + long + across < 2 * self.reach:
                continue
            factor = arb(64) / 15 * half * (precision * across * across / 2).exp()
            factor = factor / (1 - arb(rho) ** -2)
            # with a larger bound on this ellipse, no fewer nodes would do
            most = arb("inf") if best is None else aim / factor * arb(rho) ** (2 * best.nodes - 2)
            try:
                largest = _largest(value, centre, long, across, most)
            except (Undefined, ZeroDivisionError):
                continue
            if largest is None:
                continue
            size = factor * largest
            ratio = float((size / aim).log()) if size > 0 else 0.0
            nodes = max(_FEWEST, math.ceil(ratio / (2 * math.log(rho))))
            if best is None or nodes < best.nodes:
                best = _Panel(a, b, function, nodes, (size * arb(rho) ** (-2 * nodes)).upper())
        return best


def _largest(
    value: Callable[[Ball], Ball], centre: arb, long: arb, across: arb, most: arb
) -> arb | None:
    """Return a bound of a function on the upper half of a rectangle around an ellipse.

    None as soon as the bound is above ``most``.
    """
    m, n = _BOXES
    total = arb(0)
    for j in range(m):
        for k in range(n):
            x = centre + long * arb(2 * j + 1 - m, 1 + 1e-9) / m
            y = across * arb(2 * k + 1, 1 + 1e-9) / (2 * n)
            total = total.max(abs(acb(value(acb(x, y)))).upper())
            if total > most:
                return None
    return total.upper()


def _nodes(panels: list[_Panel]) -> int:
    return sum(p.nodes for p in panels)


# -- the sum -----------------------------------------------------------------------------------


def panel_sum(component: FactorComponent, plan: PanelPlan, bits: int) -> arb:
    """Return the rule's value; see :func:`rule_sum`."""

    def row(i: int, mean: arb) -> tuple[list[arb], list[arb]]:
        xs, ws = [], []
        times = 2 if i == component.dimension - 1 and reflected(component) else 1
        for panel in plan.panels[i]:
            value = panel.function.on_real(bits)
            half, centre = (panel.high - panel.low) / 2, (panel.high + panel.low) / 2
            for u, w in legendre_balls(panel.nodes, bits):
                z = centre + half * u
                xs.append(z - mean)
                ws.append(times * half * w * value(z))
        return xs, ws

    return rule_sum(component, row, bits)
