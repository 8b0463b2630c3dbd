r"""Closed forms as balls: real and complex numbers with proved radii, from an exact SymPy tree.

Rational leaves are exact, every operation rounds outwards. The two places where a radius could blow
up although the value is fine are the edges of domains. arcsin near ±1: the arguments in our closed
forms are correlations, so the part of a ball outside [-1, 1] is cut off. Roots near 0: the root of
a ball that contains 0 is the ball that covers the roots of both signs of the argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Rational
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final, cast

from flint import acb, arb, fmpq

from symderiv.formula.known_functions import KNOWN
from symderiv.formula.walker import Meaning, added, constant, multiplied, value_of, values_of
from symderiv.foundation.errors import NotYetError, ToleranceError
from symderiv.gaussian.orthant import sign_mean4
from symderiv.gaussian.owen_balls import owen_t
from symderiv.precision.balls.working import Ball, working_bits

if TYPE_CHECKING:
    import sympy as sp


def ball(expression: sp.Expr, bits: int) -> arb:
    """Return the real number ``expression`` as a python-flint ``arb``.

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
    return ball_at(expression, {}, bits)


def ball_at(expression: Any, values: Mapping[Any, arb], bits: int) -> arb:
    """Return :func:`ball` for an expression with symbols that stand for balls.

    Args:
        expression: Real at the given values; of SymPy, or plain
            (:mod:`symderiv.formula.kept_trees`).
        values: The ``arb`` of every symbol that occurs, or of its name.
        bits: Working precision.
    """
    return balls_at([expression], values, bits)[0]


def balls_at(expressions: Sequence[Any], values: Mapping[Any, arb], bits: int) -> list[arb]:
    """Return :func:`ball_at` of several expressions, with common parts computed once."""
    with working_bits(bits):
        enclosures = values_of(expressions, _Balls(bits, values), values)
    return [_real_ball(*each) for each in zip(expressions, enclosures, strict=True)]


def _real_ball(expression: Any, value: Ball) -> arb:
    if not isinstance(value, acb):
        return value
    # The value is known to be real, so the imaginary part is rounding.
    if value.is_finite() and not value.imag.contains(0):
        raise ToleranceError(f"{str(expression)[:200]} is not real")
    return value.real


def complex_ball(
    expression: sp.Expr, bits: int, known: Mapping[sp.Expr, Ball] | None = None
) -> Ball:
    """Return :func:`ball` for a number that may be complex: an ``arb`` or an ``acb``.

    Args:
        expression: Exact, without symbols other than those in ``known``.
        bits: Working precision.
        known: The balls of symbols.
    """
    with working_bits(bits):
        balls = _Balls(bits, known or {})
        return cast("Ball", value_of(expression, balls, balls.known))


@dataclass(frozen=True)
class _Balls:
    """Evaluation in balls, which stay real as long as values are real.

    ``known`` are the balls of symbols.
    """

    bits: int
    known: Mapping[Any, Ball]

    def meaning(self, e: Any) -> Meaning:
        """Return the function of balls, and its arguments, that a node stands for."""
        if (number := exact_ball(e)) is not None:
            return constant(number)
        name = type(e).__name__
        if name == "Symbol":
            return constant(self.known[e.name])
        if name == "Add":
            return added(e.args)
        if name == "Mul":
            return multiplied(e.args)
        if name == "Pow":
            return _power(*e.args)
        if name == "SignMean4":
            # its arguments are evaluated separately, with more bits
            return lambda: self._sign_mean4(e), ()
        if name == "OwenT":
            return self._owen_t(*e.args)
        own = _OWN.get(name)
        if own is not None:
            return partial(own, e.args[0]), e.args
        return ball_method(e), e.args

    def _sign_mean4(self, e: sp.Expr) -> Ball:
        # The mean has half of the correlations' accuracy where fields align.
        bits = 2 * self.bits + 60
        correlations = [_real(complex_ball(r, bits, self.known)) for r in e.args]
        return sign_mean4(cast("list[arb]", correlations), self.bits)

    def _owen_t(self, h: sp.Expr, a: sp.Expr) -> Meaning:
        if a.is_infinite:
            raise NotYetError("there is no enclosure of OwenT with an infinite slope")
        return lambda x, slope: owen_t(x, cast("arb", _real(slope)), self.bits), (h, a)


def ball_method(e: sp.Expr) -> Callable[[Ball], Ball]:
    """Return the method of real and complex balls that computes a function.

    Raises:
        NotYetError: There is none.
    """
    known = KNOWN.get(type(e).__name__)
    if known is None or not known.ball:
        raise NotYetError(f"there is no enclosure of {type(e).__name__}")
    return methodcaller(known.ball)


def exact_ball(e: Any) -> Ball | None:
    """Return the ball of a rational number or a named constant, None for anything else."""
    if isinstance(e, Rational):
        return arb(fmpq(int(e.numerator), int(e.denominator)))
    known = _CONSTANTS.get(type(e).__name__)
    return None if known is None else known()


def _power(base: Any, exponent: Any) -> Meaning:
    if not isinstance(exponent, Rational):
        if type(base).__name__ == "Exp1":
            return methodcaller("exp"), (exponent,)
        return lambda x, y: acb(x).pow(acb(y)), (base, exponent)
    power, order = int(exponent.numerator), int(exponent.denominator)
    if order == 1:
        return lambda x: x**power, (base,)
    if order == 2:
        return lambda x: _root(x) ** power, (base,)
    if type(base).__name__ == "Exp1":
        return methodcaller("exp"), (exponent,)

    def rational_power(x: Ball, y: Ball) -> Ball:
        positive = isinstance(x, arb) and x > 0
        return x.root(order) ** power if positive else acb(x).pow(acb(y))

    return rational_power, (base, exponent)


def _log(_: sp.Expr, x: Ball) -> Ball:
    return x.log() if isinstance(x, acb) or x > 0 else acb(x).log()


def _asin(argument: Any, x: Ball) -> Ball:
    # SymPy reduces the square of a root to its rational: ±1 is recognised exactly.
    inside = isinstance(x, arb) and x > -1 and x < 1
    if not inside and hasattr(argument, "is_zero") and (argument**2 - 1).is_zero:
        edge = arb.pi() / 2
        return edge if cast("arb", x) > 0 else -edge
    x = _real(x)
    if isinstance(x, acb) or x > 1 or x < -1:
        return acb(x).asin()
    return arcsine(x)


def _acos(argument: sp.Expr, x: Ball) -> Ball:
    return arb.pi() / 2 - _asin(argument, x)


def _sign(argument: sp.Expr, x: Ball) -> Ball:
    return arb(0) if argument.is_zero else x.sgn()


def _re(_: sp.Expr, x: Ball) -> Ball:
    return x.real if isinstance(x, acb) else x


def _im(_: sp.Expr, x: Ball) -> Ball:
    return x.imag if isinstance(x, acb) else arb(0)


def _real(x: Ball) -> Ball:
    """Return a number that is known to be real without the imaginary part that rounding left."""
    return x.real if isinstance(x, acb) and x.imag.contains(0) else x


def arcsine(x: arb) -> arb:
    """Return arcsin of a real ball, or of its part in [-1, 1] if it overlaps an end of that."""
    return _cut_asin(x) if _sticks_out(x) else x.asin()


def _sticks_out(x: arb) -> bool:
    return bool(x.is_finite() and not (x > -1 and x < 1) and x.overlaps(arb(0, 1)))


def _cut_asin(x: arb) -> arb:
    """Return arcsin of the part of a ball in [-1, 1], from its ends, because arcsin increases."""
    half_pi = arb.pi() / 2
    low = x.lower().asin() if x.lower() > -1 else -half_pi
    high = x.upper().asin() if x.upper() < 1 else half_pi
    return low.union(high)


def _root(x: Ball) -> Ball:
    """Return the principal square root; of a real ball around 0, a ball with the roots of its
    numbers.
    """
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


_CONSTANTS: Final[Mapping[str, Callable[[], Ball]]] = {
    "Pi": arb.pi,
    "Exp1": arb.const_e,
    "ImaginaryUnit": lambda: acb(0, 1),
}
#: Functions that must check their domain; they take the argument as expression and as ball.
_OWN: Final[Mapping[str, Callable[[sp.Expr, Ball], Ball]]] = {
    "log": _log,
    "asin": _asin,
    "acos": _acos,
    "Abs": lambda _, x: abs(x),
    "sign": _sign,
    "re": _re,
    "im": _im,
    "OpaqueRoot": lambda _, x: _root(x),
}
