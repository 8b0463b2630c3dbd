r"""Functions of one variable on real and complex balls, refused where they are not analytic.

An expression becomes a list of operations once; a call runs the list. On a complex ball every
operation with a branch cut or a kink refuses arguments that touch it, so a finite result proves
that the function is analytic on the ball and encloses its values there.

A quotient N/D of functions analytic near x0, where D has a zero of order k and N one of at least
that order (decided exactly), is analytic at x0. By Taylor's formula with the remainder as an
integral, on every convex set B that contains x0,

.. math:: \frac{N(z)}{D(z)} = \frac{\int_0^1 (1-s)^{k-1} N^{(k)}(x_0 + s(z-x_0))\,ds}
                                  {\int_0^1 (1-s)^{k-1} D^{(k)}(x_0 + s(z-x_0))\,ds}
          \in \frac{N^{(k)}(B)}{D^{(k)}(B)} ,

because balls are convex: that is how sin(x)/x and its derivatives are enclosed around 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

import sympy as sp
from flint import acb, arb

from symderiv.foundation.errors import NotYetError
from symderiv.precision.balls.expression_balls import ball
from symderiv.precision.balls.working import Ball, working_bits

__all__ = ["OneVariable", "Undefined"]

_ENTIRE: Final[dict[Any, str]] = {
    sp.exp: "exp",
    sp.erf: "erf",
    sp.erfc: "erfc",
    sp.sin: "sin",
    sp.cos: "cos",
    sp.sinh: "sinh",
    sp.cosh: "cosh",
    sp.tanh: "tanh",
}
#: Functions that are not analytic where their argument vanishes.
KINKED: Final = (sp.Abs, sp.sign, sp.Heaviside, sp.Max, sp.Min)

_MAX_ORDER: Final = 8
_NEAR: Final = 3  # a ball closer to x0 than this many of its radii is treated as containing it


class Undefined(Exception):  # noqa: N818
    """A function is not analytic, or not defined, on all of a ball."""


_Step = Callable[[list[Ball]], Ball]
_Function = Callable[[Ball], Ball]


@dataclass(frozen=True)
class OneVariable:
    """A function of one real variable.

    Args:
        expression: Exact, real, of functions that formulas may contain.
        variable: Its only symbol.
    """

    expression: sp.Expr
    variable: sp.Symbol

    @property
    def smooth(self) -> bool:
        """Is nothing with a kink in it?"""
        return not self.expression.has(*KINKED)

    def parity(self) -> int:
        """1 if certainly even, -1 if certainly odd, else 0."""
        mirrored = self.expression.subs(self.variable, -self.variable)
        for sign in (1, -1):
            difference = mirrored - sign * self.expression
            if difference == 0 or sp.expand(difference) == 0:
                return sign
        return 0

    def on_real(self, bits: int) -> Callable[[arb], arb]:
        """The function on real balls (``arb``); a ball without a value is not finite."""
        run = _Program(self.variable, bits, analytic=False).compiled(self.expression)
        return cast("Callable[[arb], arb]", run)

    def on_complex(self, bits: int) -> Callable[[Ball], Ball]:
        """The function on complex balls (``acb``) where it is analytic.

        The result raises :class:`Undefined` for balls on which this is not certain.
        """
        run = _Program(self.variable, bits, analytic=True).compiled(self.expression)

        def value(z: Ball) -> Ball:
            found = run(z)
            if not acb(found).is_finite():
                raise Undefined
            return found

        return value


class _Program:
    """Turns an expression into steps; equal subexpressions are computed once."""

    def __init__(self, variable: sp.Symbol, bits: int, *, analytic: bool) -> None:
        self.variable = variable
        self.bits = bits
        self.analytic = analytic
        self.steps: list[_Step] = []
        self.slots: dict[sp.Expr, int] = {variable: 0}
        self.poles: dict[sp.Expr, frozenset[sp.Expr]] = {}

    def compiled(self, expression: sp.Expr) -> Callable[[Ball], Ball]:
        last = self._slot(expression)
        steps = tuple(self.steps)

        def run(x: Ball) -> Ball:
            values = [x]
            for step in steps:
                values.append(step(values))
            return values[last]

        return run

    def _slot(self, e: sp.Expr) -> int:
        if e not in self.slots:
            step = self._removable(e) or self._step(e)
            self.steps.append(step)
            self.slots[e] = len(self.steps)
        return self.slots[e]

    def _step(self, e: sp.Expr) -> _Step:
        if not e.has(self.variable):
            if e.is_Integer:
                # balls times a whole number are exact
                whole = cast("Ball", int(e))
                return lambda v: whole
            with working_bits(self.bits):
                constant = ball(e, self.bits)
            return lambda v: constant
        if isinstance(e, sp.Add | sp.Mul):
            return self._chain(e)
        if isinstance(e, sp.Pow):
            return self._power(e)
        name = _ENTIRE.get(type(e))
        if name is not None:
            i = self._slot(e.args[0])
            # the methods of real and complex balls are called alike
            return lambda v: getattr(v[i], name)()
        rule = {
            sp.log: _log,
            sp.atan: _atan,
            sp.Abs: _abs,
            sp.sign: _sign,
            sp.Heaviside: _step_at_zero,
        }.get(type(e))
        if rule is not None:
            i, analytic = self._slot(e.args[0]), self.analytic
            return lambda v: rule(v[i], analytic)
        if isinstance(e, sp.Max | sp.Min):
            return self._extremum(e)
        raise NotYetError(f"no enclosure of {type(e).__name__}")

    def _chain(self, e: sp.Expr) -> _Step:
        slots = [self._slot(a) for a in e.args]
        if len(slots) == 2:
            i, j = slots
            if isinstance(e, sp.Add):
                return lambda v: v[i] + v[j]
            return lambda v: v[i] * v[j]
        first, *rest = slots

        def summed(v: list[Ball]) -> Ball:
            total = v[first]
            for k in rest:
                total = total + v[k]
            return total

        def multiplied(v: list[Ball]) -> Ball:
            total = v[first]
            for k in rest:
                total = total * v[k]
            return total

        return summed if isinstance(e, sp.Add) else multiplied

    def _power(self, e: sp.Pow) -> _Step:
        base, exponent = e.args
        if not base.has(self.variable):
            return self._step_of(sp.exp(exponent * sp.log(base)))
        i = self._slot(base)
        if exponent.is_Integer:
            n = int(exponent)
            return lambda v: _whole_power(v[i], n)
        analytic = self.analytic
        if exponent.is_Rational and exponent.q == 2:
            n = int(exponent.p)

            def rooted(v: list[Ball]) -> Ball:
                _check_cut(v[i], analytic)
                return _whole_power(v[i].sqrt(), n)

            return rooted
        j = self._slot(exponent)

        def general(v: list[Ball]) -> Ball:
            _check_cut(v[i], analytic)
            return (v[i].log() * v[j]).exp()

        return general

    def _step_of(self, e: sp.Expr) -> _Step:
        k = self._slot(e)
        return lambda v: v[k]

    def _extremum(self, e: sp.Expr) -> _Step:
        slots = [self._slot(a) for a in e.args]
        sense = 1 if isinstance(e, sp.Max) else -1
        analytic = self.analytic

        def chosen(v: list[Ball]) -> Ball:
            best = v[slots[0]]
            for k in slots[1:]:
                best = _larger(best, v[k], sense, analytic)
            return best

        return chosen

    # -- removable singularities ------------------------------------------------------------

    def _removable(self, e: sp.Expr) -> _Step | None:
        """The step of a sum or product with a pole in a part, if the whole is analytic there."""
        if not isinstance(e, sp.Add | sp.Mul) or e.has(*KINKED):
            return None
        places = _cured(e, self.variable)
        if not places:
            return None
        plain = self._chain(e)
        cures: list[tuple[arb, _Function, _Function]] = []
        for x0, numerator, denominator in places:
            with working_bits(self.bits):
                centre = ball(x0, self.bits)
            over, under = (
                _Program(self.variable, self.bits, analytic=self.analytic).compiled(part)
                for part in (numerator, denominator)
            )
            cures.append((centre, over, under))

        def step(v: list[Ball]) -> Ball:
            z = v[0]
            for centre, numerator, denominator in cures:
                if _touches(z, centre):
                    hull = _hull(z, centre)
                    return numerator(hull) / denominator(hull)
            return plain(v)

        return step


# -- single operations -------------------------------------------------------------------------


def _real_part(z: Ball) -> arb:
    return z.real if isinstance(z, acb) else z


def _whole_power(z: Ball, n: int) -> Ball:
    """By squaring: FLINT's power of a real ball around 0 goes through the logarithm."""
    if n < 0:
        return 1 / _whole_power(z, -n)
    if n == 0:
        return arb(1)
    half = _whole_power(z, n // 2) if n > 1 else None
    if half is None:
        return z
    return half * half * z if n % 2 else half * half


def _check_cut(z: Ball, analytic: bool) -> None:
    if analytic and isinstance(z, acb) and z.imag.contains(0) and not z.real > 0:
        raise Undefined


def _log(z: Ball, analytic: bool) -> Ball:
    _check_cut(z, analytic)
    return z.log()


def _atan(z: Ball, analytic: bool) -> Ball:
    if analytic and isinstance(z, acb) and z.real.contains(0) and not abs(z.imag) < 1:
        raise Undefined
    return z.atan()


def _side(z: Ball, analytic: bool) -> int:
    """The sign of the real part, 0 if it is not certain (refused where analytic)."""
    real = _real_part(z)
    if real > 0:
        return 1
    if real < 0:
        return -1
    if analytic:
        raise Undefined
    return 0


def _abs(z: Ball, analytic: bool) -> Ball:
    side = _side(z, analytic)
    return side * z if side else abs(z)


def _sign(z: Ball, analytic: bool) -> Ball:
    side = _side(z, analytic)
    return arb(side) if side else _real_part(z).sgn()


def _step_at_zero(z: Ball, analytic: bool) -> Ball:
    return (_sign(z, analytic) + arb(1)) / 2


def _larger(a: Ball, b: Ball, sense: int, analytic: bool) -> Ball:
    side = _side((a - b) * sense, analytic)
    if side:
        return a if side > 0 else b
    one, other = arb(cast("arb", a)), cast("arb", b)
    return one.max(other) if sense > 0 else one.min(other)


def _touches(z: Ball, centre: arb) -> bool:
    apart = z - centre
    size = apart.rad() if isinstance(z, arb) else apart.real.rad() + apart.imag.rad()
    return bool(abs(apart.mid()).lower() <= _NEAR * size)


def _hull(z: Ball, centre: arb) -> Ball:
    if isinstance(z, acb):
        return acb(z.real.union(centre), z.imag.union(arb(0)))
    return z.union(centre)


# -- where singularities are, and whether they are removable -----------------------------------


def _zeros(base: sp.Expr, x: sp.Symbol) -> frozenset[sp.Expr]:
    """Real zeros that can be found exactly: rational ones of polynomials, otherwise 0 itself."""
    if base.is_polynomial(x):
        roots = sp.roots(sp.Poly(base, x)) if base.has(x) else {}
        return frozenset(r for r in roots if r.is_Rational)
    return frozenset({sp.S.Zero} if base.subs(x, 0).is_zero else ())


def _poles(e: sp.Expr, x: sp.Symbol) -> frozenset[sp.Expr]:
    """Where a part of ``e`` divides by zero."""
    if not e.has(x) or e == x:
        return frozenset()
    found = frozenset().union(*(_poles(a, x) for a in e.args))
    if isinstance(e, sp.Pow) and e.args[1].is_negative:
        found |= _zeros(e.args[0], x)
    return found


def _cured(e: sp.Expr, x: sp.Symbol) -> list[tuple[sp.Expr, sp.Expr, sp.Expr]]:
    """Places where parts of ``e`` have poles and ``e`` has none: (x0, N^(k), D^(k))."""
    places = _poles(e, x)
    if not places:
        return []
    numerator, denominator = sp.together(e).as_numer_denom()
    found = []
    for x0 in sorted(places, key=sp.default_sort_key):
        if x0 in _poles(numerator, x) | _poles(denominator, x):
            continue
        top, bottom = numerator, denominator
        for order in range(_MAX_ORDER + 1):
            if not bottom.subs(x, x0).is_zero:
                if order:
                    found.append((x0, top, bottom))
                break
            if sp.expand(top.subs(x, x0)) != 0:
                break  # a true pole
            top, bottom = sp.diff(top, x), sp.diff(bottom, x)
    return found
