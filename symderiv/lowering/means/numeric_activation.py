r"""Activations as formulas that doubles can evaluate everywhere.

exp(x)/(1 + exp(x)) and its like become hyperbolic tangents, log(1 + exp(x)) a function of its own,
and where a formula is 0/0 (sin(x)/x and its derivatives at 0) its Taylor polynomial stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import sympy as sp

from symderiv.formula.kink_places import in_doubles, places_of
from symderiv.foundation.errors import DivergentError, NotYetError
from symderiv.gaussian import derivative
from symderiv.gaussian.distributions import reduced
from symderiv.statement.slopes import ROUGH, gaps_of

X = sp.Symbol("x", real=True)
_TERMS = 26  # in a Taylor polynomial
_RADIUS = sp.Rational(1, 4)
_BESIDE = sp.Float("1e-40", 80)
_NEAR = _BESIDE, sp.Float("1e-20", 80)
_SETTLED = 1e-3
_NO_JUMP = 1e-25
_STEEP = 1e12
_EQUAL = 1e-10
_LONG = 1_000_000


class SoftPlus(sp.Function):  # type: ignore[misc]
    """log(1 + exp(x)); printers know how to compute it without overflow."""

    nargs = 1

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Return the logistic function."""
        return (1 + sp.tanh(self.args[0] / 2)) / 2

    def _eval_is_extended_real(self) -> Any:
        return self.args[0].is_extended_real

    def _eval_evalf(self, prec: int) -> Any:
        return sp.log(1 + sp.exp(self.args[0]))._eval_evalf(prec)


class Decay(sp.Function):  # type: ignore[misc]
    """exp(x) for x <= 0, in a form that modules vectorise."""

    nargs = 1


class Saturation(sp.Function):  # type: ignore[misc]
    """tanh(x), in a form that modules vectorise."""

    nargs = 1


class Ramp(sp.Function):  # type: ignore[misc]
    """log(1 + exp(x)), in a form that modules vectorise."""

    nargs = 1


class Gate(sp.Function):  # type: ignore[misc]
    """tanh(log(1 + exp(x))), in a form that modules vectorise."""

    nargs = 1


@dataclass(frozen=True)
class NumericActivation:
    """An activation, its derivatives and the places where it is not smooth."""

    expression: sp.Expr
    text: str

    @cached_property
    def _stable(self) -> sp.Expr:
        return _on_one_side(_without_overflow(self.expression))

    def derivative(self, order: int, *, between_kinks: bool = False) -> sp.Expr:
        """Return the derivative as an expression that doubles can evaluate.

        Args:
            order: Its order.
            between_kinks: Leave out delta functions at the kinks.

        Raises:
            NotYetError: It contains a delta function.
        """
        slope = derivative(self._stable, order)
        if between_kinks or (slope.has(sp.DiracDelta) and not self._jumps_before(order)):
            slope = slope.replace(lambda e: isinstance(e, sp.DiracDelta), lambda e: sp.Integer(0))
        if slope.has(sp.nan):
            raise NotYetError(
                f"not yet: the derivative of order {order} of {self.text!r} is 0 times infinity at "
                "a kink; choose an activation whose parts on either side of a kink are finite there"
            )
        if slope.has(sp.DiracDelta):
            raise NotYetError(
                f"the derivative of order {order} of {self.text} is not a function; use "
                "an activation without jumps beside one whose means have no closed form"
            )
        return in_doubles(self._without_holes(_in_modulus(slope), order))

    @cached_property
    def jumps(self) -> bool:
        """True if the activation itself is discontinuous."""
        return derivative(self._stable).has(sp.DiracDelta) and self._jumps_before(1)

    def _jumps_before(self, order: int) -> bool:
        """Return whether a derivative below an order jumps at a kink.

        Delta functions in a formula may have factors that vanish there.
        """
        return any(any(self.jumps_of(n)) for n in range(order))

    @property
    def noise_diverges(self) -> str:
        """The first words of the message that refuses this activation for students."""
        return f"Γ_ii, the noise of the update, diverges for the student activation {self.text!r}"

    def refuse_jumps(self) -> None:
        """Refuse an activation of students that is discontinuous, with a ``DivergentError``."""
        if self.jumps:
            raise DivergentError(
                f"{self.noise_diverges}: it jumps, and the square of its derivative has no mean; "
                "choose a continuous one"
            )

    @cached_property
    def slope_jumps(self) -> bool:
        """True if its derivative is discontinuous."""
        second = derivative(derivative(self._stable))
        return second.has(sp.DiracDelta) and any(self.jumps_of_slope)

    @cached_property
    def parity(self) -> int:
        """1 for an even function, -1 for an odd one, else 0."""
        turned = self._stable.xreplace({X: -X})
        for sign in (1, -1):
            left = turned - sign * self._stable
            near = abs(sp.N(left.xreplace({X: sp.Rational(7, 10)})))
            if near < _EQUAL and all(sp.simplify(part) == 0 for part in self._parts(left)):
                return sign
        return 0

    def _parts(self, expression: sp.Expr) -> set[sp.Expr]:
        """Return the pieces of an expression between its kinks for x > 0, which simplify sooner
        than the whole.
        """
        ends = [sp.Integer(0), *sorted({abs(place) for place in self.kink_places} - {0})]
        inside = [*((a + b) / 2 for a, b in pairwise(ends)), ends[-1] + 1]
        return {
            expression.replace(lambda e: isinstance(e, ROUGH), lambda e, at=at: _smooth(e, at))
            for at in inside
        } - {sp.S.Zero}

    @property
    def kinks(self) -> tuple[float, ...]:
        """Places where the activation is not smooth, ascending."""
        return tuple(float(place) for place in self.kink_places)

    @cached_property
    def kink_places(self) -> tuple[sp.Expr, ...]:
        """Exact places where the activation is not smooth, ascending."""
        places: set[sp.Expr] = set()
        for rough in self._stable.atoms(*ROUGH):
            for gap in gaps_of(rough):
                try:
                    places |= set(places_of(sp.expand(gap), X))
                except ValueError:
                    raise NotYetError(
                        f"not yet: the kinks of {rough} are neither at zeros of a polynomial nor "
                        "where one erf, tanh or exponential takes a value; write them with "
                        "comparisons of x with numbers"
                    ) from None
        return tuple(sorted(places))

    @cached_property
    def jumps_of_value(self) -> tuple[float, ...]:
        """Size of the jump of the activation at each kink."""
        return self.jumps_of(0)

    @cached_property
    def jumps_of_slope(self) -> tuple[float, ...]:
        """Size of the jump of its derivative at each kink."""
        return self.jumps_of(1)

    def jumps_of(self, order: int) -> tuple[float, ...]:
        """Return the jump of the derivative of this order at each kink."""
        # both sides are analytic, so a step off the kink leaves an error of the size of the step
        jumps = (float(after - before) for before, after in self._beside_kinks(order))
        return tuple(jump if abs(jump) > _NO_JUMP else 0.0 for jump in jumps)

    def _beside_kinks(self, order: int) -> Iterator[tuple[sp.Expr, sp.Expr]]:
        """Yield the derivative of this order on the left and on the right of each kink."""
        function = derivative(self._stable, order)
        for place in self.kink_places:
            before, after = (
                sp.N(function.xreplace({X: sp.N(place, 80) + side}), 40)
                for side in (-_BESIDE, _BESIDE)
            )
            yield before, after

    def refuse_steepness(self) -> None:
        """Refuse an activation with a second derivative that is not bounded between its kinks, with
        a ``NotYetError``.
        """
        # the ordinary derivative: that of a distribution may be 0 times infinity at a kink
        slope = sp.diff(self._stable, X, 2).replace(sp.DiracDelta, lambda *_: sp.Integer(0))
        for place in self.kink_places:
            beside = (sp.N(place, 80) + sign * near for sign in (-1, 1) for near in _NEAR)
            sizes = [abs(float(sp.N(slope.xreplace({X: each}), 40))) for each in beside]
            # a logarithm is not large there, but it grows between the two distances
            grows = max(sizes[0] - sizes[1], sizes[2] - sizes[3]) > _SETTLED
            if grows or not max(sizes) <= _STEEP:
                raise NotYetError(
                    f"not yet: the second derivative of {self.text!r} is not bounded near "
                    f"x = {float(place):g}, and its means by quadrature would not be accurate; "
                    "choose an activation whose second derivative is bounded between its kinks"
                )

    @cached_property
    def holes(self) -> list[sp.Expr]:
        """Zeros of denominators, where the formula is 0/0 or infinite."""
        zeros: set[sp.Expr] = set()
        for power in self._stable.atoms(sp.Pow):
            base, exponent = power.as_base_exp()
            if not base.has(X) or not exponent.is_negative:
                continue
            if base.is_polynomial(X):
                zeros |= set(sp.Poly(base, X).real_roots())
            elif base.subs(X, 0) == 0:
                zeros.add(sp.Integer(0))
        return sorted(zeros)

    def _without_holes(self, expression: sp.Expr, order: int) -> sp.Expr:
        for place in self.holes:
            if self._stable.has(*ROUGH):
                raise NotYetError(f"{self.text} is 0/0 at {place} and has kinks")
            try:
                series = sp.series(self._stable, X, place, _TERMS).removeO()
            except sp.PoleError:  # no polynomial, as in cos(1/x)
                series = None
            if series is None or not series.is_polynomial(X):
                raise DivergentError(f"{self.text} is not finite at x = {place}")
            polynomial = sp.diff(series, X, order)
            near = sp.Abs(X - place) < _RADIUS
            expression = sp.Piecewise((sp.horner(polynomial), near), (expression, True))
        return expression


def _smooth(rough: sp.Expr, place: sp.Expr) -> sp.Expr:
    """Return the smooth function that a piecewise one is around a place away from its kinks."""

    def value(argument: sp.Expr) -> sp.Expr:
        return sp.N(argument.xreplace({X: place}))

    if isinstance(rough, sp.Max | sp.Min):
        choose = max if isinstance(rough, sp.Max) else min
        return choose(rough.args, key=value)
    above = bool(value(rough.args[0]) > 0)
    if isinstance(rough, sp.Heaviside):
        return sp.Integer(above)
    side = sp.Integer(1 if above else -1)
    return side * rough.args[0] if isinstance(rough, sp.Abs) else side


def _in_modulus(expression: sp.Expr) -> sp.Expr:
    """Return a rational function of x, |x| and the sign of x as factors in |x|, if that is shorter.

    Its derivatives have terms that nearly cancel, each with a quotient of its own.
    """
    modulus, sign = sp.Dummy("modulus", positive=True), sp.sign(X)
    if not expression.has(sp.Abs, sp.sign):
        return expression
    sides = []
    for side in (1, -1):
        one = expression.xreplace({sp.Abs(X): modulus, sign: sp.Integer(side)})
        one = one.xreplace({X: side * modulus})
        if not one.is_rational_function(modulus):
            return expression
        sides.append(sp.factor(one))
    if sp.expand(sides[0] - sides[1]) == 0:
        shorter = sides[0]
    elif sp.expand(sides[0] + sides[1]) == 0:
        shorter = sides[0] * sign
    else:
        return expression
    shorter = shorter.xreplace({modulus: sp.Abs(X)})
    return min(expression, shorter, key=sp.count_ops)


def _without_overflow(g: sp.Expr) -> sp.Expr:
    """Return softplus and rational functions of exponentials in forms without large numbers."""
    g = with_softplus(g)
    exponentials = [e for e in g.atoms(sp.exp) if not e.args[0].has(*ROUGH)]
    rates = {e: e.args[0] / X for e in exponentials}
    if not rates or any(rate.has(X) or not rate.is_real for rate in rates.values()):
        return reduced(g, X)
    base = min((abs(rate) for rate in rates.values()), key=sp.default_sort_key)
    powers = {e: rate / base for e, rate in rates.items()}
    if not all(power.is_Integer and abs(power) <= 4 for power in powers.values()):
        return reduced(g, X)
    tau = sp.Dummy("tau", real=True)
    grown = {e: ((1 + tau) / (1 - tau)) ** power for e, power in powers.items()}
    rational = sp.cancel(sp.together(g.xreplace(grown)))
    if rational.is_rational_function(tau) and not sp.denom(rational).has(tau):
        return reduced(rational.xreplace({tau: sp.tanh(base * X / 2)}), X)
    return reduced(g, X)


def _on_one_side(g: sp.Expr) -> sp.Expr:
    """Return a function with exponentials on one side of a kink only written as such.

    Where ``exp(x) - exp(x)*Heaviside(x)`` is zero, doubles would leave the rounding of exp(x).
    """
    terms = set(sp.Add.make_args(sp.expand(g)))
    for step in sorted(g.atoms(sp.Heaviside), key=sp.default_sort_key):
        for term in sorted(terms, key=sp.default_sort_key):
            if term.has(sp.exp) and {term, -term * step} <= terms:
                terms -= {term, -term * step}
                terms.add(term * sp.Heaviside(-step.args[0]))
                g = sp.Add(*terms)
    return g


def for_many(expression: sp.Expr) -> sp.Expr:
    """Return an expression in a form that compilers vectorise: decaying exponentials as ``Decay``,
    hyperbolic tangents and softplus as functions of their own.

    Compilers vectorise loops that call no function of the C library.
    """

    def decaying(product: sp.Mul) -> sp.Expr:
        steps = [each.args[0] for each in product.args if isinstance(each, sp.Heaviside)]

        def below_one(e: sp.Basic) -> bool:
            ratios = [e.args[0] / step for step in steps] if isinstance(e, sp.exp) else []
            return any(ratio.is_number and ratio.is_negative for ratio in ratios)

        return product.replace(below_one, lambda e: Decay(sp.Min(e.args[0], 0)))

    gated = expression.replace(lambda e: e.is_Mul and e.has(sp.Heaviside), decaying)
    gated = gated.replace(sp.tanh, lambda y: Gate(*y.args) if y.func is SoftPlus else Saturation(y))
    gated = gated.replace(SoftPlus, Ramp)
    # the nearest double as a quotient by a power of two, which costs no division
    long = [e for e in gated.atoms(sp.Rational) if e.q > _LONG]
    return gated.xreplace({e: sp.Rational(float(e)) for e in long})


def with_softplus(expression: sp.Expr) -> sp.Expr:
    """Return an expression with log(1 + exp(u)) in a form without overflow."""
    return expression.replace(
        lambda e: isinstance(e, sp.log) and _exponent_of_softplus(e.args[0]) is not None,
        lambda e: SoftPlus(_exponent_of_softplus(e.args[0])),
    )


def _exponent_of_softplus(inside: sp.Expr) -> sp.Expr | None:
    """Return u if the expression is 1 + exp(u), else None."""
    rest = inside - 1
    return rest.args[0] if isinstance(rest, sp.exp) else None
