r"""Growth bounds of functions of one real variable: |f(x)| <= A exp(b |x|) beyond a point.

The bound is found over the expression's tree on [X, oo), X >= 1, and on its mirror image. Every
part has an interval that contains its values and numbers A, p, b with |part| <= A x^p exp(b x).
Anything that grows faster than exp(b x), or cannot be bounded, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import Final

import sympy as sp
from flint import arb

from symderiv.formula.walker import Meaning, constant, value_of
from symderiv.foundation.errors import DivergentError, NotYetError
from symderiv.gaussian import existence
from symderiv.precision.balls.expression_balls import ball
from symderiv.precision.balls.working import largest_of, working_bits

_BITS: Final = 64
_STARTS: Final = (1, 2, 4, 8, 16, 32, 64, 128)
_INF: Final = arb.pos_inf()


@dataclass(frozen=True)
class Growth:
    """The bound |f(x)| <= factor |x|^power exp(rate |x|) for all real |x| >= start; start is at
    least 1.
    """

    start: int
    factor: arb
    power: arb
    rate: arb

    def exponential(self, extra: arb) -> tuple[arb, arb]:
        """Return (A, b) with |f(x)| <= A exp(b |x|) for |x| >= start, b = rate + extra."""
        if self.power.is_zero():
            return self.factor, self.rate
        # x^p exp(-c x) is largest at x = p/c
        largest = (self.power / extra / arb.const_e()) ** self.power
        return self.factor * largest, self.rate + extra


class _Unbounded(Exception):  # noqa: N818
    pass


@dataclass(frozen=True)
class _GrownPart:
    low: arb
    high: arb
    factor: arb
    power: arb
    rate: arb


def growth(g: sp.Expr, x: sp.Symbol) -> Growth:
    """Return a bound of the growth of ``g`` at both ends.

    Raises:
        NotYetError: No such bound was found.
        DivergentError: No Gaussian expectation of ``g`` exists.
    """
    with working_bits(_BITS):
        for start in _STARTS:
            try:
                ends = [value_of(e, _Ends(x, start), {}) for e in (g, g.subs(x, -x))]
            except _Unbounded:
                continue
            return Growth(
                start,
                largest_of([e.factor for e in ends]),
                largest_of([e.power for e in ends]),
                largest_of([e.rate for e in ends]),
            )
    exists = existence(g, x)
    if exists.variance_limit == 0:
        raise DivergentError(exists.reason)
    raise NotYetError(
        f"not yet: no bound of the form A exp(b |x|) was found for {g}, so quadrature of it cannot "
        "be certified"
    )


def _least(values: list[arb]) -> arb:
    total = values[0]
    for value in values[1:]:
        total = total.min(value)
    return total.lower()


def _known(low: arb, high: arb, factor: arb, power: arb, rate: arb) -> _GrownPart:
    """Return a part whose interval and growth bound sharpen one another where one is bounded."""
    low = low.lower() if not low.is_nan() else arb.neg_inf()
    high = high.upper() if not high.is_nan() else _INF
    if low.is_finite() and high.is_finite():
        size = abs(low).max(abs(high)).upper()
        return _GrownPart(low, high, size, arb(0), arb(0))
    if power.is_zero() and rate.is_zero():
        return _GrownPart(low.max(-factor).lower(), high.min(factor).upper(), factor, power, rate)
    return _GrownPart(low, high, factor.upper(), power.upper(), rate.upper())


def _bounded(low: arb | float, high: arb | float) -> _GrownPart:
    return _known(arb(low), arb(high), arb(0), arb(0), arb(0))


@dataclass(frozen=True)
class _Ends:
    """Bounds of functions on [start, oo)."""

    x: sp.Symbol
    start: int

    def meaning(self, e: sp.Expr) -> Meaning:
        """Return the function that makes a node's bounds from those of its parts, and the parts."""
        if not e.has(self.x):
            value = ball(e, _BITS)
            return constant(_bounded(value, value))
        if e == self.x:
            return constant(_GrownPart(arb(self.start), _INF, arb(1), arb(1), arb(0)))
        if e.is_polynomial(self.x):
            return constant(self._polynomial(e))
        if e.is_Add:
            return _sum, e.args
        if e.is_Mul:
            return lambda *parts: reduce(_product, parts), e.args
        if e.is_Pow:
            return self._power(*e.args)
        name = type(e).__name__
        if name not in _FUNCTIONS:
            raise _Unbounded
        return _FUNCTIONS[name], e.args if name in ("Max", "Min") else e.args[:1]

    def _polynomial(self, e: sp.Expr) -> _GrownPart:
        """Return bounds of a polynomial; one end is sharp if it is monotone on [start, oo)."""
        poly = sp.Poly(e, self.x)
        coefficients = [ball(c, _BITS) for c in reversed(poly.all_coeffs())]
        factor = sum((abs(c) for c in coefficients), arb(0))
        degree, lead = poly.degree(), coefficients[-1]
        at_start = ball(e.subs(self.x, self.start), _BITS)
        # |c_n| n X^(n-1) above the sum of the other terms of the derivative: no root beyond X
        others = sum(
            (abs(c) * k * arb(self.start) ** (k - 1) for k, c in enumerate(coefficients[:-1]) if k),
            arb(0),
        )
        low, high = arb.neg_inf(), _INF
        if abs(lead) * degree * arb(self.start) ** (degree - 1) > others:
            if lead > 0:
                low = at_start
            elif lead < 0:
                high = at_start
        return _known(low, high, factor, arb(degree), arb(0))

    def _power(self, base: sp.Expr, exponent: sp.Expr) -> Meaning:
        if not exponent.is_Rational:
            if base.has(self.x):
                raise _Unbounded
            rate = ball(sp.log(base), _BITS)
            return lambda a: _exp(_product(a, _bounded(rate, rate))), (exponent,)
        return (_inverted if exponent < 0 else _raised)(abs(exponent)), (base,)


def _sum(*parts: _GrownPart) -> _GrownPart:
    low = sum((p.low for p in parts), arb(0))
    high = sum((p.high for p in parts), arb(0))
    factor = sum((p.factor for p in parts), arb(0))
    return _known(
        low, high, factor, largest_of([p.power for p in parts]), largest_of([p.rate for p in parts])
    )


def _inverted(exponent: sp.Rational) -> Callable[[_GrownPart], _GrownPart]:
    """Return the bounds' map for a negative power, given the size of its exponent."""

    def inverse_power(base: _GrownPart) -> _GrownPart:
        # |base| is bounded from below, as it keeps its sign
        least = base.low if base.low > 0 else -base.high if base.high < 0 else None
        if least is None or not least > 0:
            raise _Unbounded
        inverse = 1 / least
        one = _bounded(0, inverse) if base.low > 0 else _bounded(-inverse, 0)
        return one if exponent == 1 else _raised(exponent)(one)

    return inverse_power


def _raised(exponent: sp.Rational) -> Callable[[_GrownPart], _GrownPart]:
    """Return the bounds' map for a positive power."""
    power, whole = ball(exponent, _BITS), exponent.is_Integer
    even = whole and exponent % 2 == 0

    def power_of(base: _GrownPart) -> _GrownPart:
        if not whole and not base.low >= 0:
            raise _Unbounded
        factor = base.factor**power
        low = arb(0) if even or not whole else arb.neg_inf()
        if base.low > 0:
            low = base.low**power
        high = _INF
        if base.low.is_finite() and base.high.is_finite():
            high = factor
            low = low if low.is_finite() else -factor
        return _known(low, high, factor, base.power * power, base.rate * power)

    return power_of


def _extremum(pick: Callable[[list[arb]], arb], *parts: _GrownPart) -> _GrownPart:
    return _known(
        pick([p.low for p in parts]),
        pick([p.high for p in parts]),
        largest_of([p.factor for p in parts]),
        largest_of([p.power for p in parts]),
        largest_of([p.rate for p in parts]),
    )


def _half_of_exponentials(side: int, a: _GrownPart) -> _GrownPart:
    """Return the bounds of cosh (side 1) or sinh (side -1)."""
    down = _product(_exp(_negated(a)), _bounded(side, side))
    return _product(_sum(_exp(a), down), _bounded(0.5, 0.5))


def _abs(a: _GrownPart) -> _GrownPart:
    least = a.low if a.low > 0 else -a.high if a.high < 0 else arb(0)
    return _known(least, abs(a.low).max(abs(a.high)), a.factor, a.power, a.rate)


def _jump(below: int, a: _GrownPart) -> _GrownPart:
    """Return the bounds of a step that is ``below`` under zero and 1 above."""
    return _bounded(1 if a.low > 0 else below, below if a.high < 0 else 1)


def _negated(a: _GrownPart) -> _GrownPart:
    return _GrownPart(-a.high, -a.low, a.factor, a.power, a.rate)


def _product(a: _GrownPart, b: _GrownPart) -> _GrownPart:
    ends = []
    for u in (a.low, a.high):
        for v in (b.low, b.high):
            # zero times infinity counts as 0, the limit of products with inner points
            ends.append(arb(0) if u.is_zero() or v.is_zero() else u * v)
    low, high = ends[0], ends[0]
    for end in ends[1:]:
        low, high = low.min(end), high.max(end)
    return _known(low, high, a.factor * b.factor, a.power + b.power, a.rate + b.rate)


def _exp(a: _GrownPart) -> _GrownPart:
    low = a.low.exp() if a.low.is_finite() else arb(0)
    if a.high.is_finite():
        return _bounded(low, a.high.exp())
    # the argument is at most A x^p: only p <= 1 grows like exp(b x)
    if a.power > 1 or not a.rate.is_zero():
        raise _Unbounded
    return _known(low, _INF, arb(1), arb(0), a.factor)


def _log(a: _GrownPart) -> _GrownPart:
    if not a.low > 0:
        raise _Unbounded
    low, high = a.low.log(), a.high.log() if a.high.is_finite() else _INF
    # log(A x^p exp(b x)) <= |log A| + (p + b) x
    factor = abs(low) + abs(a.factor.log()) + a.power + a.rate
    return _known(low, high, factor, arb(1), arb(0))


def _monotone(a: _GrownPart, f: Callable[[arb], arb], limit: arb) -> _GrownPart:
    low = f(a.low) if a.low.is_finite() else -limit
    high = f(a.high) if a.high.is_finite() else limit
    return _bounded(low, high)


_FUNCTIONS: Final[Mapping[str, Callable[..., _GrownPart]]] = {
    "exp": _exp,
    "sinh": partial(_half_of_exponentials, -1),
    "cosh": partial(_half_of_exponentials, 1),
    "log": _log,
    "tanh": lambda a: _monotone(a, arb.tanh, arb(1)),
    "erf": lambda a: _monotone(a, arb.erf, arb(1)),
    "erfc": lambda a: _sum(_bounded(1, 1), _negated(_monotone(a, arb.erf, arb(1)))),
    "atan": lambda a: _monotone(a, arb.atan, arb.pi() / 2),
    "sin": lambda a: _bounded(-1, 1),
    "cos": lambda a: _bounded(-1, 1),
    "Abs": _abs,
    "sign": partial(_jump, -1),
    "Heaviside": partial(_jump, 0),
    "Max": partial(_extremum, largest_of),
    "Min": partial(_extremum, _least),
}
