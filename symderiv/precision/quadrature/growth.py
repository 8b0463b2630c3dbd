r"""How fast a function of one real variable can grow: |f(x)| <= A exp(b |x|) beyond a point.

The bound is found over the expression's tree on [X, oo), X >= 1, and on its mirror image. Every
part carries an interval that contains its values and numbers A, p, b with |part| <= A x^p exp(b x).
Anything that grows faster than exp(b x), or cannot be bounded, is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import sympy as sp
from flint import arb

from symderiv.foundation.errors import DivergentError, NotYetError
from symderiv.gaussian import existence
from symderiv.precision.balls.expression_balls import ball
from symderiv.precision.balls.working import working_bits

__all__ = ["Growth", "growth"]

_BITS: Final = 64
_STARTS: Final = (1, 2, 4, 8, 16, 32, 64, 128)
_INF: Final = arb.pos_inf()


@dataclass(frozen=True)
class Growth:
    """|f(x)| <= factor |x|^power exp(rate |x|) for all real |x| >= start; powers of x >= 1."""

    start: int
    factor: arb
    power: arb
    rate: arb

    def exponential(self, extra: arb) -> tuple[arb, arb]:
        """(A, b) with |f(x)| <= A exp(b |x|) for |x| >= start, b = rate + extra."""
        if self.power.is_zero():
            return self.factor, self.rate
        # x^p exp(-c x) is largest at x = p/c
        largest = (self.power / extra / arb.const_e()) ** self.power
        return self.factor * largest, self.rate + extra


class _Unbounded(Exception):  # noqa: N818
    pass


@dataclass(frozen=True)
class _Part:
    low: arb
    high: arb
    factor: arb
    power: arb
    rate: arb


def growth(g: sp.Expr, x: sp.Symbol) -> Growth:
    """A bound of the growth of ``g`` at both ends.

    Raises:
        NotYetError: No such bound was found.
        DivergentError: No Gaussian expectation of ``g`` exists.
    """
    with working_bits(_BITS):
        for start in _STARTS:
            try:
                ends = [_Ends(x, start).part(e) for e in (g, g.subs(x, -x))]
            except _Unbounded:
                continue
            return Growth(
                start,
                _most([e.factor for e in ends]),
                _most([e.power for e in ends]),
                _most([e.rate for e in ends]),
            )
    exists = existence(g, x)
    if exists.variance_limit == 0:
        raise DivergentError(exists.reason)
    raise NotYetError(
        f"not yet: no bound of the form A exp(b |x|) was found for {g}, so quadrature of it cannot "
        "be certified"
    )


def _most(values: list[arb]) -> arb:
    total = values[0]
    for value in values[1:]:
        total = total.max(value)
    return total.upper()


def _least(values: list[arb]) -> arb:
    total = values[0]
    for value in values[1:]:
        total = total.min(value)
    return total.lower()


def _known(low: arb, high: arb, factor: arb, power: arb, rate: arb) -> _Part:
    """A part; the interval and the growth sharpen one another where one is bounded."""
    low = low.lower() if not low.is_nan() else arb.neg_inf()
    high = high.upper() if not high.is_nan() else _INF
    if low.is_finite() and high.is_finite():
        size = abs(low).max(abs(high)).upper()
        return _Part(low, high, size, arb(0), arb(0))
    if power.is_zero() and rate.is_zero():
        return _Part(low.max(-factor).lower(), high.min(factor).upper(), factor, power, rate)
    return _Part(low, high, factor.upper(), power.upper(), rate.upper())


def _bounded(low: arb | float, high: arb | float) -> _Part:
    return _known(arb(low), arb(high), arb(0), arb(0), arb(0))


class _Ends:
    """Walks over the tree of a function on [start, oo)."""

    def __init__(self, x: sp.Symbol, start: int) -> None:
        self.x, self.start = x, start
        self.memo: dict[sp.Expr, _Part] = {}

    def part(self, e: sp.Expr) -> _Part:
        if e not in self.memo:
            self.memo[e] = self._part(e)
        return self.memo[e]

    def _part(self, e: sp.Expr) -> _Part:
        if not e.has(self.x):
            value = ball(e, _BITS)
            return _bounded(value, value)
        if e == self.x:
            return _Part(arb(self.start), _INF, arb(1), arb(1), arb(0))
        if e.is_polynomial(self.x):
            return self._polynomial(e)
        if isinstance(e, sp.Add):
            return self._sum([self.part(a) for a in e.args])
        if isinstance(e, sp.Mul):
            total = self.part(e.args[0])
            for a in e.args[1:]:
                total = _product(total, self.part(a))
            return total
        if isinstance(e, sp.Pow):
            return self._power(e)
        if isinstance(e, sp.Max | sp.Min):
            return self._extremum(e)
        return self._function(e, self.part(e.args[0]))

    def _polynomial(self, e: sp.Expr) -> _Part:
        """Sharp ends: beyond the roots of the derivative a polynomial is monotone."""
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

    def _sum(self, parts: list[_Part]) -> _Part:
        low = sum((p.low for p in parts), arb(0))
        high = sum((p.high for p in parts), arb(0))
        factor = sum((p.factor for p in parts), arb(0))
        return _known(
            low, high, factor, _most([p.power for p in parts]), _most([p.rate for p in parts])
        )

    def _power(self, e: sp.Pow) -> _Part:
        base, exponent = self.part(e.args[0]), e.args[1]
        if not exponent.is_Rational:
            if e.args[0].has(self.x):
                raise _Unbounded
            return self.part(sp.exp(exponent * sp.log(e.args[0])))
        if exponent < 0:
            # |base| is bounded from below, as it keeps its sign
            least = base.low if base.low > 0 else -base.high if base.high < 0 else None
            if least is None or not least > 0:
                raise _Unbounded
            inverse = 1 / least
            one = _bounded(0, inverse) if base.low > 0 else _bounded(-inverse, 0)
            return one if exponent == -1 else self._raised(one, -exponent)
        return self._raised(base, exponent)

    def _raised(self, base: _Part, exponent: sp.Rational) -> _Part:
        power = ball(exponent, _BITS)
        whole = exponent.is_Integer
        if not whole and not base.low >= 0:
            raise _Unbounded
        factor = base.factor**power
        even = whole and exponent % 2 == 0
        low = arb(0) if even or not whole else arb.neg_inf()
        if base.low > 0:
            low = base.low**power
        high = _INF
        if base.low.is_finite() and base.high.is_finite():
            high = factor
            low = low if low.is_finite() else -factor
        return _known(low, high, factor, base.power * power, base.rate * power)

    def _extremum(self, e: sp.Expr) -> _Part:
        parts = [self.part(a) for a in e.args]
        pick = _most if isinstance(e, sp.Max) else _least
        return _known(
            pick([p.low for p in parts]),
            pick([p.high for p in parts]),
            _most([p.factor for p in parts]),
            _most([p.power for p in parts]),
            _most([p.rate for p in parts]),
        )

    def _function(self, e: sp.Expr, a: _Part) -> _Part:
        kind = type(e)
        if kind is sp.exp:
            return _exp(a)
        if kind in (sp.sinh, sp.cosh):
            up, down = _exp(a), _exp(_product(a, _bounded(-1, -1)))
            if kind is sp.sinh:
                down = _product(down, _bounded(-1, -1))
            return _product(self._sum([up, down]), _bounded(0.5, 0.5))
        if kind is sp.log:
            return _log(a)
        if kind in (sp.tanh, sp.erf):
            return _monotone(a, lambda v: getattr(v, kind.__name__)(), arb(1))
        if kind is sp.erfc:
            return self._sum([_bounded(1, 1), _negated(_monotone(a, lambda v: v.erf(), arb(1)))])
        if kind is sp.atan:
            return _monotone(a, lambda v: v.atan(), arb.pi() / 2)
        if kind in (sp.sin, sp.cos):
            return _bounded(-1, 1)
        if kind is sp.Abs:
            least = a.low if a.low > 0 else -a.high if a.high < 0 else arb(0)
            return _known(least, abs(a.low).max(abs(a.high)), a.factor, a.power, a.rate)
        if kind in (sp.sign, sp.Heaviside):
            below = arb(-1) if kind is sp.sign else arb(0)
            return _bounded(1 if a.low > 0 else below, below if a.high < 0 else 1)
        raise _Unbounded


def _negated(a: _Part) -> _Part:
    return _Part(-a.high, -a.low, a.factor, a.power, a.rate)


def _product(a: _Part, b: _Part) -> _Part:
    ends = []
    for u in (a.low, a.high):
        for v in (b.low, b.high):
            # an end at zero times one at infinity: the interval's other points decide
            ends.append(arb(0) if u.is_zero() or v.is_zero() else u * v)
    low, high = ends[0], ends[0]
    for end in ends[1:]:
        low, high = low.min(end), high.max(end)
    return _known(low, high, a.factor * b.factor, a.power + b.power, a.rate + b.rate)


def _exp(a: _Part) -> _Part:
    low = a.low.exp() if a.low.is_finite() else arb(0)
    if a.high.is_finite():
        return _bounded(low, a.high.exp())
    # the argument is at most A x^p: only p <= 1 grows like exp(b x)
    if a.power > 1 or not a.rate.is_zero():
        raise _Unbounded
    return _known(low, _INF, arb(1), arb(0), a.factor)


def _log(a: _Part) -> _Part:
    if not a.low > 0:
        raise _Unbounded
    low, high = a.low.log(), a.high.log() if a.high.is_finite() else _INF
    # log(A x^p exp(b x)) <= |log A| + (p + b) x
    factor = abs(low) + abs(a.factor.log()) + a.power + a.rate
    return _known(low, high, factor, arb(1), arb(0))


def _monotone(a: _Part, f: Callable[[arb], arb], limit: arb) -> _Part:
    low = f(a.low) if a.low.is_finite() else -limit
    high = f(a.high) if a.high.is_finite() else limit
    return _bounded(low, high)
