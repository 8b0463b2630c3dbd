r"""Random variables of the notes in statements, with every event written out.

The notes write conditions into the subscript of the mean with two meanings. Here the step function
:math:`\theta` says which event is kept: ``E1(theta(S)*X[i])`` is
:math:`\mathbb E[X_i\,\mathbf 1(S>0)\mid Y=1]`, and ``E1given(X[i], theta(S))`` is the conditional
mean, the same over ``E1(theta(S))``. Variables are polynomials in linear forms of X and in steps of
such forms; their means over Gaussian classes are closed forms of the engine, one per shape.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from symderiv_ledger.claims.statement import Relation, parse_statement
from symderiv_ledger.rules.arithmetic import evaluate

from symderiv.foundation.errors import FormulaError

__all__ = [
    "Form",
    "GaussianClasses",
    "Variable",
    "moment_formula",
    "step",
]

#: A linear form of X by its coefficients.
Form = tuple[Fraction, ...]
#: A product of forms, and the forms whose steps multiply it.
_Piece = tuple[tuple[Form, ...], frozenset[Form]]
#: Coefficients given Y = 1 and given Y = 0.
_Pair = tuple[Any, Any]


class Variable:
    """A polynomial in linear forms of X and steps of them, its coefficients depending on Y."""

    def __init__(self, terms: Mapping[_Piece, _Pair]) -> None:
        self.terms = dict(terms)

    @classmethod
    def linear(cls, form: Form) -> Variable:
        """Return the variable <form, X>."""
        return cls({((form,), frozenset()): (1, 1)})

    @classmethod
    def label(cls) -> Variable:
        """Y."""
        return cls({((), frozenset()): (1, 0)})

    def _plus(self, other: Any, sign: int) -> Any:
        others = _terms(other)
        if others is None:
            return NotImplemented
        terms = dict(self.terms)
        for piece, (one, zero) in others.items():
            before = terms.get(piece, (0, 0))
            terms[piece] = (_sum(before[0], sign * one), _sum(before[1], sign * zero))
        return Variable(terms)

    def __add__(self, other: Any) -> Any:
        return self._plus(other, 1)

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1)

    def __mul__(self, other: Any) -> Any:
        others = _terms(other)
        if others is None:
            return NotImplemented
        terms: dict[_Piece, _Pair] = {}
        pairs = itertools.product(self.terms.items(), others.items())
        for ((forms, steps), (a1, a0)), ((more, further), (b1, b0)) in pairs:
            piece = (tuple(sorted(forms + more)), steps | further)
            before = terms.get(piece, (0, 0))
            terms[piece] = (_sum(before[0], _product(a1, b1)), _sum(before[1], _product(a0, b0)))
        return Variable(terms)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Variable):
            return NotImplemented
        return self * (Fraction(1, other) if isinstance(other, int) else 1 / other)

    def __neg__(self) -> Any:
        return self * -1

    def __rsub__(self, other: Any) -> Any:
        return (-self)._plus(other, 1)

    def __pow__(self, exponent: int) -> Any:
        return functools.reduce(lambda a, b: a * b, [self] * exponent)

    __radd__ = __add__
    __rmul__ = __mul__


def _terms(value: Any) -> Mapping[_Piece, _Pair] | None:
    if isinstance(value, Variable):
        return value.terms
    number = isinstance(value, int | float | Fraction) or hasattr(value, "_mpf_")
    return {((), frozenset()): (value, value)} if number else None


def _product(one: Any, other: Any) -> Any:
    """Return exact as long as both are; numbers of other kinds do not know fractions."""
    if isinstance(other, Fraction) and not isinstance(one, int | Fraction):
        one, other = other, one
    if isinstance(one, Fraction) and not isinstance(other, int | Fraction):
        return other * one.numerator / one.denominator
    return one * other


def _sum(one: Any, other: Any) -> Any:
    exact = isinstance(one, int | Fraction), isinstance(other, int | Fraction)
    if exact == (True, False):
        return other + _product(one, other * 0 + 1)
    if exact == (False, True):
        return one + _product(other, one * 0 + 1)
    return one + other


def step(variable: Variable) -> Variable:
    """1 where a multiple of one linear form is positive, else 0."""
    ((forms, steps), (one, zero)), *more = variable.terms.items()
    if more or steps or len(forms) != 1 or one != zero:
        raise FormulaError("theta needs a multiple of one linear form of X")
    sign = 1 if one > 0 else -1
    form = tuple(sign * entry for entry in forms[0])
    return Variable({((), frozenset({form})): (1, 1)})


class GaussianClasses:
    """Means over X ~ N(0, Σ_1) for Y = 1 and N(0, Σ_0) for Y = 0, probability 1/2 each.

    Args:
        sigma1: Covariance given Y = 1, entries exact.
        sigma0: Covariance given Y = 0.
        numbers: The arithmetic of the means.
    """

    def __init__(
        self,
        sigma1: Sequence[Sequence[Fraction]],
        sigma0: Sequence[Sequence[Fraction]],
        numbers: Any,
    ) -> None:
        self.sigma = (sigma1, sigma0)
        self.numbers = numbers
        self._known: dict[tuple[int, _Piece], Any] = {}

    def covariance(self, place: int, one: Form, other: Form) -> Fraction:
        """Return covariance of two forms given Y = 1 (place 0) or Y = 0 (place 1)."""
        rows = self.sigma[place]
        return sum(
            (a * sum((r * b for r, b in zip(row, other, strict=True)), Fraction())
             for a, row in zip(one, rows, strict=True)),
            Fraction(),
        )  # fmt: skip

    def mean1(self, variable: Any) -> Any:
        """Return the mean given Y = 1."""
        return self._mean(0, variable)

    def mean0(self, variable: Any) -> Any:
        """Return the mean given Y = 0."""
        return self._mean(1, variable)

    def mean(self, variable: Any) -> Any:
        """Return the mean over both classes."""
        return (self._mean(0, variable) + self._mean(1, variable)) / 2

    def given1(self, variable: Any, event: Any) -> Any:
        """Return the mean given Y = 1 and the event of a step."""
        return self._mean(0, variable * event) / self._mean(0, event)

    def conditional1(self, variable: Variable, *given: Variable) -> Variable:
        """E[variable | given, Y = 1] for linear forms: the regression, as X is Gaussian."""
        ((forms, _), (factor, _)), *more = variable.terms.items()
        assert not more
        assert len(forms) == 1
        fixed = [next(iter(g.terms))[0][0] for g in given]
        weights = _solved(
            [[self.covariance(0, a, b) for b in fixed] for a in fixed],
            [self.covariance(0, a, forms[0]) for a in fixed],
        )
        total = tuple(
            sum((c * f[i] for c, f in zip(weights, fixed, strict=True)), Fraction())
            for i in range(len(fixed[0]))
        )
        return Variable({((total,), frozenset()): (factor, factor)})

    def _mean(self, place: int, variable: Any) -> Any:
        terms = _terms(variable)
        assert terms is not None
        total = self.numbers.mpf(0)
        for piece, coefficients in terms.items():
            if coefficients[place] != 0:
                total += _product(coefficients[place], self._moment(place, piece))
        return total

    def _moment(self, place: int, piece: _Piece) -> Any:
        key = (place, piece)
        if key not in self._known:
            fields = [*piece[0], *sorted(piece[1])]
            values = {
                f"c{i + 1}{j + 1}": self._number(self.covariance(place, fields[i], fields[j]))
                for i in range(len(fields))
                for j in range(i, len(fields))
            }
            right = moment_formula(len(piece[0]), len(piece[1])).sides[1]
            self._known[key] = self.numbers.mpf(1) * evaluate(right, values, self.numbers)
        return self._known[key]

    def _number(self, value: Fraction) -> Any:
        return self.numbers.mpf(value.numerator) / value.denominator


@functools.lru_cache(maxsize=32)
def moment_formula(factors: int, steps: int) -> Relation:
    """Return the engine's E[x1 .. xf θ(x_{f+1}) .. θ(x_{f+s})], centred, as the right of a
    statement.
    """
    import sympy as sp

    from symderiv.gaussian import covariance_symbols, expectation

    count = factors + steps
    if not count:
        return parse_statement("0 == 1")
    fields = sp.symbols(f"x1:{count + 1}")
    integrand = sp.Mul(*fields[:factors], *map(sp.Heaviside, fields[factors:]))
    found = expectation(integrand, fields, covariance_symbols(count))
    return parse_statement(f"0 == {found.value}")


def _solved(matrix: list[list[Fraction]], right: list[Fraction]) -> Iterable[Fraction]:
    if len(right) == 1:
        return [right[0] / matrix[0][0]]
    (a, b), (c, d) = matrix
    determinant = a * d - b * c
    return [
        (d * right[0] - b * right[1]) / determinant,
        (a * right[1] - c * right[0]) / determinant,
    ]
