r"""Closed forms as balls: real and complex numbers with proved radii, from an exact SymPy tree.

Rational leaves are exact, every operation rounds outwards. The two places where a radius could
blow up although the value is fine are the edges of domains. arcsin near ±1: the arguments in our
closed forms are correlations, so what sticks out of [-1, 1] is cut off. Roots near 0: the root of
a ball that contains 0 is the ball that covers the roots of both signs of the argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import sympy as sp
from flint import acb, arb, fmpq

from symderiv.foundation.errors import NotYetError, ToleranceError
from symderiv.gaussian import OwenT, SignMean4
from symderiv.gaussian.roots import OpaqueRoot
from symderiv.precision.balls.orthant import sign_mean4
from symderiv.precision.balls.owen import owen_t
from symderiv.precision.balls.working import Ball, working_bits

__all__ = ["arcsine", "ball", "ball_at", "complex_ball"]

# Functions that real and complex balls know under the same name.
_DIRECT: Final[dict[Any, str]] = {
    sp.exp: "exp",
    sp.erf: "erf",
    sp.erfc: "erfc",
    sp.erfi: "erfi",
    sp.atan: "atan",
    sp.sin: "sin",
    sp.cos: "cos",
    sp.tan: "tan",
    sp.sinh: "sinh",
    sp.cosh: "cosh",
    sp.tanh: "tanh",
    sp.asinh: "asinh",
}


def ball(expression: sp.Expr, bits: int) -> arb:
    """The real number ``expression`` as a python-flint ``arb``.

    Args:
        expression: Exact and real, without symbols, of what Gaussian expectations are made of.
        bits: Working precision; the radius is what comes out of it, and may be infinite.

    Returns:
        A ball that contains the exact value.

    Raises:
        NotYetError: There is no enclosure of a function that occurs.
        ToleranceError: A correlation is not enclosed well enough at this precision, or the
            expression is not real.
    """
    value = complex_ball(expression, bits)
    if not isinstance(value, acb):
        return value
    # The value is known to be real, so the imaginary part is rounding.
    if value.is_finite() and not value.imag.contains(0):
        raise ToleranceError(f"{str(expression)[:200]} is not real")
    return value.real


def ball_at(expression: sp.Expr, values: Mapping[sp.Symbol, arb], bits: int) -> arb:
    """As :func:`ball` for an expression with symbols that stand for balls.

    Args:
        expression: Real at the given values.
        values: The ``arb`` of every symbol that occurs.
        bits: Working precision.
    """
    with working_bits(bits):
        enclosure = _Enclosure(bits)
        enclosure.bind(values)
        value = enclosure.value(expression)
    if not isinstance(value, acb):
        return value
    if value.is_finite() and not value.imag.contains(0):
        raise ToleranceError(f"{str(expression)[:200]} is not real")
    return value.real


def complex_ball(
    expression: sp.Expr, bits: int, known: Mapping[sp.Expr, Ball] | None = None
) -> Ball:
    """As :func:`ball` for a number that may be complex: an ``arb`` or an ``acb``.

    Args:
        expression: Exact, without symbols.
        bits: Working precision.
        known: Balls of parts of it.
    """
    with working_bits(bits):
        enclosure = _Enclosure(bits)
        enclosure.bind(known or {})
        return enclosure.value(expression)


class _Enclosure:
    """Walks over an expression tree, each node once."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self._memo: dict[sp.Expr, Ball] = {}
        self._bound: dict[sp.Expr, Ball] = {}
        self._rules: dict[Any, Callable[[sp.Expr], Ball]] = {
            sp.Add: self._sum,
            sp.Mul: self._product,
            sp.Pow: self._power,
            sp.asin: self._asin,
            sp.acos: lambda e: arb.pi() / 2 - self._asin(e),
            sp.log: self._log,
            sp.Abs: lambda e: abs(self.value(e.args[0])),
            sp.sign: self._sign,
            sp.re: self._re,
            sp.im: self._im,
            OpaqueRoot: lambda e: _root(self.value(e.args[0])),
            SignMean4: self._sign_mean4,
            OwenT: self._owen_t,
        }

    def bind(self, values: Mapping[sp.Expr, Ball]) -> None:
        """Let symbols, or other parts of an expression, stand for balls."""
        self._bound.update(values)
        self._memo.update(values)

    def value(self, e: sp.Expr) -> Ball:
        if e not in self._memo:
            self._memo[e] = self._value(e)
        return self._memo[e]

    def _value(self, e: sp.Expr) -> Ball:
        if e.is_Rational:
            return arb(fmpq(int(e.p), int(e.q)))
        if e is sp.pi:
            return arb.pi()
        if e is sp.E:
            return arb.const_e()
        if e is sp.I:
            return acb(0, 1)
        name = _DIRECT.get(e.func)
        if name is not None:
            found: Ball = getattr(self.value(e.args[0]), name)()
            return found
        rule = self._rules.get(e.func)
        if rule is None:
            raise NotYetError(f"no enclosure of {e.func.__name__}")
        return rule(e)

    def _sum(self, e: sp.Expr) -> Ball:
        total: Ball = arb(0)
        for part in e.args:
            total = total + self.value(part)
        return total

    def _product(self, e: sp.Expr) -> Ball:
        total: Ball = arb(1)
        for part in e.args:
            total = total * self.value(part)
        return total

    def _power(self, e: sp.Expr) -> Ball:
        base, exponent = e.args
        if exponent.is_Integer:
            return self.value(base) ** int(exponent)
        if exponent.is_Rational and exponent.q == 2:
            return _root(self.value(base)) ** int(exponent.p)
        if base is sp.E:
            return self.value(exponent).exp()
        if exponent.is_Rational and base.is_positive:
            return self.value(base).root(int(exponent.q)) ** int(exponent.p)
        return acb(self.value(base)).pow(acb(self.value(exponent)))

    def _log(self, e: sp.Expr) -> Ball:
        x = self.value(e.args[0])
        return x.log() if isinstance(x, acb) or x > 0 else acb(x).log()

    def _asin(self, e: sp.Expr) -> Ball:
        (argument,) = e.args
        # SymPy reduces the square of a root to its rational: ±1 is recognised exactly.
        if (argument**2 - 1).is_zero:
            edge = arb.pi() / 2
            return edge if cast("arb", self.value(argument)) > 0 else -edge
        x = _real(self.value(argument))
        if isinstance(x, acb) or x > 1 or x < -1:
            return acb(x).asin()
        return arcsine(x)

    def _sign(self, e: sp.Expr) -> Ball:
        (argument,) = e.args
        return arb(0) if argument.is_zero else self.value(argument).sgn()

    def _re(self, e: sp.Expr) -> Ball:
        value = self.value(e.args[0])
        return value.real if isinstance(value, acb) else value

    def _im(self, e: sp.Expr) -> Ball:
        value = self.value(e.args[0])
        return value.imag if isinstance(value, acb) else arb(0)

    def _sign_mean4(self, e: sp.Expr) -> Ball:
        # The mean has half of the correlations' accuracy where fields align.
        with working_bits(2 * self.bits + 60):
            inner = _Enclosure(2 * self.bits + 60)
            inner.bind(self._bound)
            correlations = [cast("arb", _real(inner.value(r))) for r in e.args]
        return sign_mean4(correlations, self.bits)

    def _owen_t(self, e: sp.Expr) -> Ball:
        h, a = e.args
        if a in (sp.oo, -sp.oo):
            raise NotYetError("no enclosure of OwenT with an infinite slope")
        return owen_t(self.value(h), cast("arb", _real(self.value(a))), self.bits)


def _real(x: Ball) -> Ball:
    """A correlation or slope, which is real: without an imaginary part that is rounding."""
    return x.real if isinstance(x, acb) and x.imag.contains(0) else x


def arcsine(x: arb) -> arb:
    """arcsin of a real ball; of what lies in [-1, 1] where it overlaps one of the ends."""
    return _cut_asin(x) if _sticks_out(x) else x.asin()


def _sticks_out(x: arb) -> bool:
    return bool(x.is_finite() and not (x > -1 and x < 1) and x.overlaps(arb(0, 1)))


def _cut_asin(x: arb) -> arb:
    """arcsin of the part of a ball in [-1, 1]; the function increases, so its ends suffice."""
    half_pi = arb.pi() / 2
    low = x.lower().asin() if x.lower() > -1 else -half_pi
    high = x.upper().asin() if x.upper() < 1 else half_pi
    return low.union(high)


def _root(x: Ball) -> Ball:
    """The principal square root; of a real ball around 0, the roots of all its numbers."""
    if isinstance(x, acb):
        return x.sqrt()
    if x >= 0:
        return x.sqrt()
    if x < 0:
        return acb(0, (-x).sqrt())
    if not x.is_finite():
        return acb(x).sqrt()
    real = x.upper().sqrt().union(arb(0))
    imaginary = (-x).upper().sqrt().union(arb(0))
    return acb(real, imaginary)
