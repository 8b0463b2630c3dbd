r"""The sum of the trapezoid rule in ball arithmetic.

Factors that depend on t_1 … t_i only are taken out of the sums over the other normals. From three
dimensions on the innermost sum, which depends on the outer normals through one number m,

.. math:: S(m) = \sum_n w_n\, (nh)^k f(m + L\, nh) ,

is tabulated: it is as analytic in m as f is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import flint
from flint import arb, arb_poly

from symderiv.foundation.errors import ToleranceError
from symderiv.precision.balls.working import working_bits
from symderiv.precision.quadrature.component import FactorComponent, Polynomial
from symderiv.precision.quadrature.strip import Strip
from symderiv.precision.quadrature.trapezoid import StepPlan

_RHO: Final = 8.0
_OVERLAP: Final = 1e-6  # pieces are longer by this share than the distance of their centres


class FactorTable:
    """A table of f on [-reach, reach], from |f(x+iy)| <= factor strip.factor exp(strip.rate |x|).

    There are polynomials on equal pieces. On a piece of half length s around c the function is
    interpolated in n + 1 Chebyshev points. If it is at most M inside the ellipse with foci c ± s
    and half axes summing to s ρ, its Chebyshev coefficients are at most 2 M ρ^-k, interpolation
    folds those beyond n onto the others, and the error is at most 4 M ρ^-n/(ρ - 1). The ellipse
    lies in the strip. The error is part of the constant coefficient's radius, so that values are
    enclosures.

    Args:
        function: The function on real balls.
        strip: Where it is analytic; at least as far along the line as the table goes.
        reach: Half length of the table.
        factor: The factor by which the strip's bound has to be multiplied.
        accuracy: The interpolation error near 0 is below exp(-accuracy); far out it may grow as
            the function's bound.
    """

    def __init__(
        self,
        function: Callable[[arb], arb],
        strip: Strip,
        reach: float,
        factor: arb,
        accuracy: float,
    ) -> None:
        half = 2 * strip.width / (_RHO - 1 / _RHO) * 0.99
        long_axis = half * (_RHO + 1 / _RHO) / 2
        count = max(1, math.ceil(reach / (half * (1 - 2 * _OVERLAP))))
        half = reach / count * (1 + 2 * _OVERLAP)
        if reach + long_axis > strip.reach:
            raise ToleranceError("a table would leave the strip in which its function is bounded")
        self._low, self._inverse = -reach, count / (2 * reach)
        self._count = count
        excess = max(0.0, float((strip.factor * factor).log())) + float(strip.rate) * long_axis
        degree = math.ceil((accuracy + excess + 2) / math.log(_RHO)) + 1
        self._pieces = []
        # interpolation in powers of x loses about two bits per power
        bits = flint.ctx.prec + 4 * degree + 20
        nodes = _chebyshev(degree + 1, bits)
        self._scale = 1 / arb(half)
        for k in range(count):
            # the exact binary numbers of centre and half length define the piece
            centre = -reach + (2 * k + 1) * (reach / count) if count > 1 else 0.0
            values = [function(centre + half * u) for u in nodes]
            with working_bits(bits):
                polynomial = arb_poly.interpolate(nodes, values, algorithm="barycentric")
            largest = strip.factor * factor * (strip.rate * (abs(centre) + long_axis)).exp()
            error = 4 * largest * arb(_RHO) ** -degree / (_RHO - 1)
            self._pieces.append((arb(centre), polynomial + arb(0, error.upper())))

    def value(self, x: arb) -> arb:
        """Return f on a tiny ball inside the table."""
        k = int((float(x) - self._low) * self._inverse)
        k = min(max(k, 0), self._count - 1)
        centre, polynomial = self._pieces[k]
        return polynomial((x - centre) * self._scale)


@lru_cache(maxsize=16)
def _chebyshev(points: int, bits: int) -> list[arb]:
    """Return Chebyshev points, with this many bits."""
    with working_bits(bits):
        return [arb.cos_pi(arb(2 * j + 1) / (2 * points)) for j in range(points)]


_TABULATED: Final = 3  # the least dimension for which functions are tabulated

Value = Callable[[arb], arb]


@dataclass(frozen=True)
class _Level:
    """One of the nested sums: nodes with weights, and the factors that are known given its node."""

    nodes: list[arb]
    squares: list[float]
    weights: list[arb]
    #: Per factor of this and deeper levels: L_ai times the nodes.
    shifts: dict[int, list[arb]]
    factors: list[int]


def evaluations(component: FactorComponent, plan: StepPlan) -> float:
    """Return approximately how many evaluations of a one-variable function a plan takes."""
    d = component.dimension
    if d < _TABULATED:
        return plan.points
    *_, last = plan.nodes
    if _innermost(component) is None:
        return plan.points
    radius_nodes = plan.radius / plan.steps[-1]
    share = math.gamma(d / 2 + 1) / math.gamma((d - 1) / 2 + 1) / math.sqrt(math.pi)
    return plan.points * share / radius_nodes + 200.0 * last


def trapezoid_sum(component: FactorComponent, plan: StepPlan, bits: int) -> arb:
    """Return the value of the rule, without the rule's error.

    Raises:
        ToleranceError: A factor could not be evaluated at a node.
    """
    with working_bits(bits):
        polynomial = component.polynomial(bits)
        values = [f.function.on_real(bits) for f in component.factors]
        means = component.means(bits)
        loading = component.loading(bits)
        d = component.dimension
        total = arb(0)
        if d == 0:
            for value in polynomial.values():
                total = total + value
            return total
        levels = [_level(component, plan, i, loading) for i in range(d)]
        last = _innermost(component) if d >= _TABULATED else None
        by_power: dict[int, Polynomial] = {0: polynomial}
        if last is not None:
            by_power = {}
            for key, coefficient in polynomial.items():
                by_power.setdefault(key[-1], {})[key[:-1]] = coefficient
        for power, part in by_power.items():
            functions = list(values)
            used = levels
            if last is not None:
                functions[last] = _smoothed(component, plan, last, values[last], levels[-1], power)
                used = [*levels[:-2], _with_factor(levels[-2], last)]
            rule = _Rule(used, functions, plan.radius**2, component.reflects)
            sums = rule.sums(means, sorted(part))
            for key, coefficient in part.items():
                total = total + coefficient * sums[key]
        return total


def _accuracy(plan: StepPlan) -> float:
    return float((plan.scale / plan.bound).log()) + 5.0


def _innermost(component: FactorComponent) -> int | None:
    """Return the factor that depends on the last normal, if there is only one, else None."""
    innermost = [a for a, f in enumerate(component.factors) if f.level == component.dimension]
    return innermost[0] if len(innermost) == 1 else None


def _level(component: FactorComponent, plan: StepPlan, i: int, loading: list[list[arb]]) -> _Level:
    h, n = plan.steps[i], plan.nodes[i]
    step = arb(h)
    nodes = [k * step for k in range(-n, n + 1)]
    root = (2 * arb.pi()).sqrt()
    weights = [(-(t * t) / 2).exp() * step / root for t in nodes]
    shifts = {
        a: [loading[a][i] * t for t in nodes]
        for a, f in enumerate(component.factors)
        if f.level > i
    }
    factors = [a for a, f in enumerate(component.factors) if f.level == i + 1]
    return _Level(nodes, [(k * h) ** 2 for k in range(-n, n + 1)], weights, shifts, factors)


def _with_factor(level: _Level, factor: int) -> _Level:
    return _Level(level.nodes, level.squares, level.weights, level.shifts, [*level.factors, factor])


def _spread(
    component: FactorComponent, plan: StepPlan, a: int, columns: int, bits: int = 64
) -> float:
    """Return a bound on the size of a factor's variable over the nodes of the first columns."""
    row = component.loading(bits)[a][:columns]
    reach = float(abs(component.means(bits)[a]).upper())
    for v, h, n in zip(row, plan.steps, plan.nodes, strict=False):
        reach += float(abs(v).upper()) * h * n
    return reach * (1 + 1e-9) + 1e-9


def _smoothed(
    component: FactorComponent, plan: StepPlan, a: int, value: Value, level: _Level, power: int
) -> Value:
    """Return the innermost sum as a tabulated function of the outer normals' contribution."""
    weights = [w * t**power for w, t in zip(level.weights, level.nodes, strict=True)]
    shifts = level.shifts[a]
    strip = plan.strips[a]
    size = arb(0)
    for w, s in zip(weights, shifts, strict=True):
        size = size + abs(w) * (strip.rate * abs(s)).exp()

    def smooth(m: arb) -> arb:
        total = arb(0)
        for w, s in zip(weights, shifts, strict=True):
            total = total + w * value(m + s)
        return total

    reach = _spread(component, plan, a, component.dimension - 1)
    return FactorTable(smooth, strip, reach, size, _accuracy(plan)).value


class _Rule:
    """Nested sums over the nodes in a ball."""

    def __init__(
        self, levels: Sequence[_Level], values: list[Value], radius: float, reflects: bool
    ) -> None:
        self.levels, self.values = levels, values
        self.radius, self.reflects = radius, reflects

    def sums(self, means: list[arb], powers: list[tuple[int, ...]]) -> dict[tuple[int, ...], arb]:
        """Return Σ weights ∏ t_i^k_i ∏ factors for every tuple k of powers."""
        return self._sums(0, dict(enumerate(means)), self.radius, powers)

    def _sums(
        self, i: int, offsets: dict[int, arb], left: float, powers: list[tuple[int, ...]]
    ) -> dict[tuple[int, ...], arb]:
        level = self.levels[i]
        deepest = i == len(self.levels) - 1
        totals = {k: arb(0) for k in powers}
        inner_powers = sorted({k[1:] for k in powers})
        constant_only = all(k[0] == 0 for k in powers)
        later = [a for a in offsets if a not in level.factors]
        first = len(level.nodes) // 2 if i == 0 and self.reflects else 0
        for n in range(first, len(level.nodes)):
            rest = left - level.squares[n]
            if rest < 0:
                continue
            weight = level.weights[n]
            if i == 0 and self.reflects and n > first:
                weight = 2 * weight
            for a in level.factors:
                weight = weight * self.values[a](offsets[a] + level.shifts[a][n])
            if deepest:
                if constant_only:
                    totals[powers[0]] = totals[powers[0]] + weight
                else:
                    for k in powers:
                        totals[k] = totals[k] + weight * level.nodes[n] ** k[0]
                continue
            moved = {a: offsets[a] + level.shifts[a][n] for a in later}
            inner = self._sums(i + 1, moved, rest, inner_powers)
            for k in powers:
                value = weight * inner[k[1:]]
                totals[k] = totals[k] + (value * level.nodes[n] ** k[0] if k[0] else value)
        for value in totals.values():
            if not value.is_finite():
                raise ToleranceError("a factor could not be evaluated at a node of the rule")
        return totals
