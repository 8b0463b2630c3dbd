r"""Expectations without a closed form, as numbers with proved bounds.

The integrand is a sum of products of one-variable functions. Independent groups of variables
factorise, odd products of centred variables vanish, polynomial variables are integrated out, all
exactly. The remaining integrals are summed by the trapezoid rule
(:mod:`symderiv.precision.quadrature.trapezoid`) where every function is analytic, else integrated
between the kinks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import sympy as sp
from flint import arb

from symderiv.foundation.documents.written_derivation import Step
from symderiv.foundation.errors import ToleranceError
from symderiv.gaussian import Value
from symderiv.gaussian.forms.evaluate import check_asked
from symderiv.gaussian.terms.covariance import validated
from symderiv.precision.balls.decimals import upwards, written, zero
from symderiv.precision.balls.expression_balls import ball
from symderiv.precision.balls.working import working_bits
from symderiv.precision.quadrature.chosen_rule import CertifiedRule, rule_of
from symderiv.precision.quadrature.component import FactorComponent
from symderiv.precision.quadrature.narration import opening_steps, quadrature_step
from symderiv.precision.quadrature.separation import Fields, separated

_LN10: Final = math.log(10)
# The first estimate only has to tell the size of the result.
_FIRST: Final = 9.0
_CHEAP: Final = 2  # up to this dimension the first attempt has the accuracy of the result
# A result that cannot be told from zero with this many extra digits is shown as zero.
_ZERO_DIGITS: Final = 15
MAX_EVALUATIONS: Final = 6e6
_ROUNDS: Final = 12


@dataclass(frozen=True)
class Evaluated:
    """A number and the derivation that led to it."""

    value: Value
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class _Term:
    """A term, coefficient × ∏ expectations of independent groups."""

    coefficient: sp.Expr
    components: tuple[FactorComponent, ...]


@dataclass(frozen=True)
class NumericMean:
    """A mean E[integrand] that can be computed, but not written in closed form.

    Args:
        statement: LaTeX of E[...].
        reason: Why there is no closed form.
        symbols: Names in the covariance or mean; numbers can be given only if there are none.
        terms: The terms that have to be integrated.
        steps: The exact reductions.
    """

    statement: str
    reason: str
    symbols: tuple[str, ...]
    terms: tuple[_Term, ...]
    steps: tuple[Step, ...]

    def evaluate(self, digits: int, evaluations: float | None = None) -> Evaluated:
        """Return the number with ``digits`` significant digits and a proved bound of its error.

        Args:
            digits: At least 1.
            evaluations: The largest number of evaluations of functions (:data:`MAX_EVALUATIONS`),
                which bounds the time.

        Raises:
            InputError: Symbols are left.
            NotYetError: A function was not proved to be analytic and bounded.
            ToleranceError: The digits were not reached; says how many were.
        """
        check_asked(digits, self.symbols)
        return _Evaluation(self, digits, evaluations or MAX_EVALUATIONS).run()

    def _repr_latex_(self) -> str:
        return f"${self.statement}$"


def numeric_mean(
    integrand: sp.Expr,
    fields: Sequence[sp.Symbol],
    covariance: sp.Matrix,
    mean: sp.Matrix | None = None,
    reason: str = "",
) -> NumericMean:
    r"""Return E[integrand] over jointly Gaussian fields, for functions outside the closed class.

    Args:
        integrand: Sums of products of functions of one affine form of the fields each.
        fields: The n fields.
        covariance: Shape (n, n), symmetric positive semidefinite, exact; dimensionless.
        mean: n entries; zero by default.
        reason: Why there is no closed form; kept for messages.

    Raises:
        InputError, ShapeError, InexactError: The covariance or mean is not acceptable.
        NotYetError: The integrand is not of this form.
    """
    entries, means = validated(covariance, mean, len(fields))
    statement = rf"\mathbb{{E}}\left[{sp.latex(integrand)}\right]"
    products = separated(integrand, fields)
    names = {s.name for e in [*means, *(e for row in entries for e in row)] for s in e.free_symbols}
    names |= {s.name for s in integrand.free_symbols - set(fields)}
    if names:
        steps = opening_steps(statement, products, (), fields)
        return NumericMean(statement, reason, tuple(sorted(names)), (), steps)
    law = Fields(entries, means)
    terms = []
    for product in products:
        forms = list(product.factors)
        joint = law.of_forms(forms)
        components = []
        for group in joint.components():
            block = Fields(
                [[joint.covariance[i][j] for j in group] for i in group],
                [joint.mean[i] for i in group],
            )
            components.append(FactorComponent([product.factors[forms[i]] for i in group], block))
        terms.append(_Term(product.coefficient, tuple(components)))
    steps = opening_steps(statement, products, tuple(t.components for t in terms), fields)
    return NumericMean(statement, reason, (), tuple(terms), steps)


def _odd(term: _Term) -> bool:
    """Return whether the term vanishes by reflection; raise an error if it does not exist."""
    if all(c.parity != -1 for c in term.components):
        return False
    for component in term.components:
        # planning a rule raises an error unless the functions are analytic and bounded
        rule_of(component).cost(_FIRST)
    return True


class _Evaluation:
    """An evaluation that raises the accuracy of all integrals until the digits are reached."""

    def __init__(self, asked: NumericMean, digits: int, most: float) -> None:
        self.asked, self.digits, self.most = asked, digits, most
        self.terms = [t for t in asked.terms if not _odd(t)]
        self.rules: dict[int, CertifiedRule] = {
            id(c): rule_of(c) for t in self.terms for c in t.components
        }

    def run(self) -> Evaluated:
        if not self.terms:
            return Evaluated(
                Value("0", "0", True, "parity", (Fraction(0), Fraction(0))), self.asked.steps
            )
        deepest = max(rule.dimension for rule in self.rules.values())
        wanted = (self.digits + 2) * _LN10
        accuracy = wanted if deepest <= _CHEAP else min(_FIRST, wanted)
        for _ in range(_ROUNDS):
            affordable = self._affordable(accuracy)
            total, scale = self._total(affordable)
            with working_bits(self._bits(accuracy)):
                if total.is_finite():
                    done = self._shown(total, scale)
                    if done is not None:
                        return done
                if affordable < accuracy:
                    raise self._exceeded(total)
                accuracy += self._missing(total)
        raise self._exceeded(total)

    def _bits(self, accuracy: float) -> int:
        return math.ceil(accuracy / math.log(2)) + 200

    def _affordable(self, accuracy: float) -> float:
        """Return the accuracy, or the largest one that the budget of evaluations allows."""
        if self._cost(accuracy) <= self.most:
            return accuracy
        low, high = 2.0, accuracy
        for _ in range(8):
            middle = (low + high) / 2
            if self._cost(middle) <= self.most:
                low = middle
            else:
                high = middle
        return low

    def _cost(self, accuracy: float) -> float:
        return sum(rule.cost(accuracy) for rule in self.rules.values())

    def _total(self, accuracy: float) -> tuple[arb, arb]:
        """Return the expectation as a ball, and a bound on the expectation of the modulus."""
        evaluated = {key: rule.evaluated(accuracy) for key, rule in self.rules.items()}
        bits = self._bits(accuracy)
        with working_bits(bits):
            total, scale = arb(0), arb(0)
            for term in self.terms:
                part = ball(term.coefficient, bits)
                size = abs(part)
                for component in term.components:
                    value, modulus = evaluated[id(component)]
                    for constant in component.constants:
                        value, modulus = (
                            value * ball(constant, bits),
                            modulus * abs(ball(constant, bits)),
                        )
                    part, size = part * value, size * modulus
                total, scale = total + part, scale + size
            return total, scale.upper()

    def _shown(self, total: arb, scale: arb) -> Evaluated | None:
        """Return the result if the ball is small enough, else None."""
        value = None
        if total.contains(0):
            if total.abs_upper() <= scale * arb(10) ** -(self.digits + _ZERO_DIGITS):
                value = zero(total, self._method())
        elif total.rad() * self._resolution() <= abs(total).lower():
            value = written(total, None, self.digits, self._method())
        if value is None:
            return None
        steps = [quadrature_step(rule) for rule in self.rules.values() if rule.dimension]
        return Evaluated(value, (*self.asked.steps, *steps))

    def _resolution(self) -> arb:
        """Return the required ratio of value to radius, half a digit more than asked for."""
        return 3 * arb(10) ** self.digits

    def _missing(self, total: arb) -> float:
        """Return the increase of accuracy (natural logarithm) for the next attempt."""
        if not total.is_finite() or total.contains(0):
            return 10 * _LN10
        short = total.rad() * self._resolution() / abs(total).lower()
        return max(float(short.log()), 0.0) + 0.5

    def _exceeded(self, total: arb) -> ToleranceError:
        reached, bound = 0, "infinite"
        if total.is_finite():
            bound = upwards(arb(total.rad()))
            if not total.contains(0):
                ratio = float((abs(total).lower() / total.rad()).log()) / _LN10
                reached = max(0, math.floor(ratio))
        return ToleranceError(
            f"{self.digits} digits were asked for, but {self.most:.0e} evaluations reached "
            f"{reached}, with the error bound {bound}; ask for fewer digits"
        )

    def _method(self) -> str:
        points: dict[str, int] = {}
        for rule in self.rules.values():
            if rule.dimension:
                points[rule.name] = points.get(rule.name, 0) + rule.points()
        return " and ".join(f"{name} ({n} points)" for name, n in points.items()) or "exact"
