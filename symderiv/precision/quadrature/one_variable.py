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

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, cast

import sympy as sp
from flint import acb, arb

from symderiv.formula.known_functions import KNOWN
from symderiv.formula.walker import Meaning, added, compiled_walk, constant, multiplied
from symderiv.foundation.errors import NotYetError
from symderiv.precision.balls.expression_balls import ball, ball_method
from symderiv.precision.balls.working import Ball, working_bits

#: Functions that are not analytic where their argument vanishes.
KINKED: Final = (sp.Abs, sp.sign, sp.Heaviside, sp.Max, sp.Min)

_MAX_ORDER: Final = 8
_NEAR: Final = 3  # a ball closer to x0 than this many of its radii is treated as containing it


class Undefined(Exception):  # noqa: N818
    """A function is not analytic, or not defined, on all of a ball."""


_Function = Callable[[Ball], Ball]
_Cure = tuple[arb, _Function, _Function]


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
        """Return whether no part has a kink."""
        return not self.expression.has(*KINKED)

    def parity(self) -> int:
        """Return 1 if certainly even, -1 if certainly odd, else 0."""
        mirrored = self.expression.subs(self.variable, -self.variable)
        for sign in (1, -1):
            difference = mirrored - sign * self.expression
            if difference == 0 or sp.expand(difference) == 0:
                return sign
        return 0

    def on_real(self, bits: int) -> Callable[[arb], arb]:
        """Return the function on real balls (``arb``); a ball without a value is not finite."""
        run = _BallsOfVariable(self.variable, bits, analytic=False).compiled(self.expression)
        return cast("Callable[[arb], arb]", run)

    def on_complex(self, bits: int) -> Callable[[Ball], Ball]:
        """Return the function on complex balls (``acb``) where it is analytic.

        The result raises :class:`Undefined` for balls on which this is not certain.
        """
        run = _BallsOfVariable(self.variable, bits, analytic=True).compiled(self.expression)

        def value(z: Ball) -> Ball:
            result = run(z)
            if not acb(result).is_finite():
                raise Undefined
            return result

        return value


@dataclass(frozen=True)
class _BallsOfVariable:
    """Evaluation in balls of one variable, which refuses balls that may not be in an analytic
    region.

    It refuses them only if ``analytic``.
    """

    variable: sp.Symbol
    bits: int
    analytic: bool

    def compiled(self, expression: sp.Expr) -> _Function:
        """Return an expression as a function of a ball."""
        return cast("_Function", compiled_walk(expression, self, (self.variable,)))

    def meaning(self, e: sp.Expr) -> Meaning:
        """Return the function of balls, and its arguments, that a node stands for."""
        if not e.has(self.variable):
            # integers stay exact
            return constant(int(e) if e.is_Integer else self._constant(e))
        if e.is_Add or e.is_Mul:
            plain, parts = added(e.args) if e.is_Add else multiplied(e.args)
            cures = [] if e.has(*KINKED) else self._cures(e)
            if not cures:
                return plain, parts
            return partial(_cured_value, plain, cures), (self.variable, *parts)
        if e.is_Pow:
            return self._power(*e.args)
        name = type(e).__name__
        parts = e.args if name in ("Max", "Min") else e.args[:1]
        if name in _RULES:
            return partial(_RULES[name], self.analytic), parts
        if name in KNOWN and KNOWN[name].cut:
            raise NotYetError(f"there is no enclosure of {name}")
        return ball_method(e), parts

    def _constant(self, e: sp.Expr) -> arb:
        with working_bits(self.bits):
            return ball(e, self.bits)

    def _power(self, base: sp.Expr, exponent: sp.Expr) -> Meaning:
        if not base.has(self.variable):
            rate = self._constant(sp.log(base))
            return lambda y: (rate * y).exp(), (exponent,)
        if exponent == 2:
            return multiplied((base, base))
        if exponent.is_Integer:
            return partial(_whole_power, int(exponent)), (base,)
        if exponent.is_Rational and exponent.q == 2:
            return partial(_root_power, self.analytic, int(exponent.p)), (base,)
        return partial(_general_power, self.analytic), (base, exponent)

    # -- removable singularities ------------------------------------------------------------

    def _cures(self, e: sp.Expr) -> list[_Cure]:
        """Return removable poles of parts as place, N^(k) and D^(k); the whole is N/D."""
        return [
            (self._constant(x0), self.compiled(numerator), self.compiled(denominator))
            for x0, numerator, denominator in _cured(e, self.variable)
        ]


def _cured_value(plain: Callable[..., Ball], cures: list[_Cure], z: Ball, *parts: Ball) -> Ball:
    """Return a sum or product of parts, near removable poles as a quotient of derivatives."""
    for centre, numerator, denominator in cures:
        if _touches(z, centre):
            hull = _hull(z, centre)
            return numerator(hull) / denominator(hull)
    return plain(*parts)


# -- single operations -------------------------------------------------------------------------


def _real_part(z: Ball) -> arb:
    return z.real if isinstance(z, acb) else z


def _whole_power(n: int, z: Ball) -> Ball:
    """Take an integer power by squaring; FLINT's power of a real ball around 0 uses logarithms."""
    if n < 0:
        return 1 / _whole_power(-n, z)
    if n == 0:
        return arb(1)
    half = _whole_power(n // 2, z) if n > 1 else None
    if half is None:
        return z
    return half * half * z if n % 2 else half * half


def _check_cut(z: Ball, analytic: bool) -> None:
    if analytic and isinstance(z, acb) and z.imag.contains(0) and not z.real > 0:
        raise Undefined


def _root_power(analytic: bool, n: int, z: Ball) -> Ball:
    _check_cut(z, analytic)
    return _whole_power(n, z.sqrt())


def _general_power(analytic: bool, z: Ball, exponent: Ball) -> Ball:
    return (_log(analytic, z) * exponent).exp()


def _log(analytic: bool, z: Ball) -> Ball:
    _check_cut(z, analytic)
    return z.log()


def _atan(analytic: bool, z: Ball) -> Ball:
    if analytic and isinstance(z, acb) and z.real.contains(0) and not abs(z.imag) < 1:
        raise Undefined
    return z.atan()


def _side(z: Ball, analytic: bool) -> int:
    """Return the sign of the real part; if it is not certain, 0, or an error if ``analytic``."""
    real = _real_part(z)
    if real > 0:
        return 1
    if real < 0:
        return -1
    if analytic:
        raise Undefined
    return 0


def _abs(analytic: bool, z: Ball) -> Ball:
    side = _side(z, analytic)
    return side * z if side else abs(z)


def _sign(analytic: bool, z: Ball) -> Ball:
    side = _side(z, analytic)
    return arb(side) if side else _real_part(z).sgn()


def _step_at_zero(analytic: bool, z: Ball) -> Ball:
    return (_sign(analytic, z) + arb(1)) / 2


def _extremum(sense: int, analytic: bool, *values: Ball) -> Ball:
    """Return the largest (sense 1) or least (sense -1) of balls."""
    best, *others = values
    for other in others:
        side = _side((best - other) * sense, analytic)
        if side:
            best = best if side > 0 else other
        else:
            one, two = arb(cast("arb", best)), cast("arb", other)
            best = one.max(two) if sense > 0 else one.min(two)
    return best


#: Functions that are not analytic everywhere; they take ``analytic``, then their arguments.
_RULES: Final[Mapping[str, Callable[..., Ball]]] = {
    "log": _log,
    "atan": _atan,
    "Abs": _abs,
    "sign": _sign,
    "Heaviside": _step_at_zero,
    "Max": lambda analytic, *values: _extremum(1, analytic, *values),
    "Min": lambda analytic, *values: _extremum(-1, analytic, *values),
}


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
    """Return the real zeros that are found exactly: rational ones of polynomials, else 0 itself."""
    if base.is_polynomial(x):
        roots = sp.roots(sp.Poly(base, x)) if base.has(x) else {}
        return frozenset(r for r in roots if r.is_Rational)
    return frozenset({sp.S.Zero} if base.subs(x, 0).is_zero else ())


def _poles(e: sp.Expr, x: sp.Symbol) -> frozenset[sp.Expr]:
    """Return the places where a part of ``e`` divides by zero."""
    if not e.has(x) or e == x:
        return frozenset()
    poles = frozenset().union(*(_poles(a, x) for a in e.args))
    if isinstance(e, sp.Pow) and e.args[1].is_negative:
        poles |= _zeros(e.args[0], x)
    return poles


def _cured(e: sp.Expr, x: sp.Symbol) -> list[tuple[sp.Expr, sp.Expr, sp.Expr]]:
    """Return places where parts of ``e`` have poles but ``e`` has none, as (x0, N^(k), D^(k))."""
    places = _poles(e, x)
    if not places:
        return []
    numerator, denominator = sp.together(e).as_numer_denom()
    quotients = []
    for x0 in sorted(places, key=sp.default_sort_key):
        if x0 in _poles(numerator, x) | _poles(denominator, x):
            continue
        top, bottom = numerator, denominator
        for order in range(_MAX_ORDER + 1):
            if not bottom.subs(x, x0).is_zero:
                if order:
                    quotients.append((x0, top, bottom))
                break
            if sp.expand(top.subs(x, x0)) != 0:
                break  # a true pole
            top, bottom = sp.diff(top, x), sp.diff(bottom, x)
    return quotients
