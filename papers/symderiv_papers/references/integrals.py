"""I2, I3, I4 of an activation at given covariances, from the engine's own closed forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import sympy as sp
from symderiv_ledger.formulas.points import points

from symderiv.formula import activation as named_activation
from symderiv.gaussian import DerivedExpectation, covariance_symbols, i2, i3, i4
from symderiv.precision.balls.expression_balls import ball
from symderiv_papers.references.exact import as_number

__all__ = [
    "Integrals",
    "covariances",
    "is_singular",
]

Rows = tuple[tuple[Fraction, ...], ...]

_FUNCTIONS = ("sqrt", "asin", "acos", "atan", "exp", "log", "erf", "mpf")


def covariances(size: int, seed: int = 0) -> list[tuple[str, Rows]]:
    """Return exact covariances of ``size`` fields with words on what is special about each.

    Generic ones, diagonal, strongly correlated, of different scales, small, large; then singular
    ones: |ρ| = 1, rank one, all fields equal, a variance of zero.

    Args:
        size: 2 to 4.
        seed: Of the random numbers.
    """
    return [
        (
            point.kind,
            tuple(
                tuple(Fraction(int(e.p), int(e.q)) for e in point.covariance.row(i))
                for i in range(size)
            ),
        )
        for point in points(covariance_symbols(size), seed)
    ]


def is_singular(rows: Sequence[Sequence[Fraction]]) -> bool:
    """Return whether an exact covariance is singular."""
    return bool(_matrix(rows).det() == 0)


class Integrals:
    """I2 = E[g g], I3 = E[g' z g], I4 = E[g' g' g g] as numbers.

    Args:
        activation: Name or formula in ``x``.
        numbers: The arithmetic, see :mod:`symderiv.precision.balls.contexts`.
    """

    def __init__(self, activation: str, numbers: Any) -> None:
        self.activation = activation
        self.numbers = numbers
        self._found: dict[Any, Any] = {}
        self._functions: dict[Any, Callable[..., Any]] = {}

    def at(self, rows: Sequence[Sequence[Any]], pattern: tuple[int, ...] = ()) -> Any:
        """Return the integral of as many factors as the pattern has entries, or else as there are
        rows.

        Args:
            rows: Covariance of the different fields; entries Fractions, or numbers of the
                arithmetic (then it must not be singular).
            pattern: Which field each factor sees, e.g. (0, 1, 0) for g'(u) v g(u).
        """
        pattern = pattern or tuple(range(len(rows)))
        upper = tuple(rows[i][j] for i in range(len(rows)) for j in range(i, len(rows)))
        key = (pattern, upper)
        if key not in self._found:
            exact = all(isinstance(entry, Fraction | int) for entry in upper)
            if exact and is_singular(rows):
                self._found[key] = self._at_exact(rows, pattern)
            else:
                function = self._function(pattern)
                self._found[key] = function(*(self._number(entry) for entry in upper))
        return self._found[key]

    def _number(self, value: Any) -> Any:
        if isinstance(value, Fraction):
            return as_number(value, self.numbers)
        return self.numbers.mpf(value)

    def _at_exact(self, rows: Sequence[Sequence[Fraction]], pattern: tuple[int, ...]) -> Any:
        """Return the value by the engine's limits, from a ball."""
        value = _expectation(self.activation, pattern, _matrix(rows)).unfolded()
        found = ball(value, self.numbers.prec + 20)
        if hasattr(self.numbers.one, "mid"):
            return found
        mantissa, exponent = found.mid().man_exp()
        return self.numbers.ldexp(self.numbers.mpf(int(mantissa)), int(exponent))

    def _function(self, pattern: tuple[int, ...]) -> Callable[..., Any]:
        if pattern not in self._functions:
            fields = len(set(pattern))
            symbols = covariance_symbols(fields)
            arguments = [symbols[i, j] for i in range(fields) for j in range(i, fields)]
            names = {name: getattr(self.numbers, name) for name in _FUNCTIONS}
            names["pi"] = +self.numbers.pi
            self._functions[pattern] = sp.lambdify(
                arguments, _closed_form(self.activation, pattern), modules=[names, "mpmath"]
            )
        return self._functions[pattern]


def _matrix(rows: Sequence[Sequence[Fraction]]) -> sp.Matrix:
    return sp.Matrix([[sp.Rational(e.numerator, e.denominator) for e in row] for row in rows])


@lru_cache(maxsize=64)
def _closed_form(activation: str, pattern: tuple[int, ...]) -> sp.Expr:
    return _expectation(activation, pattern, None).unfolded()


def _expectation(
    activation: str, pattern: tuple[int, ...], covariance: sp.Matrix | None
) -> DerivedExpectation:
    g = named_activation(activation).expression
    if len(pattern) == 4:
        return i4(g, g, g, g, covariance, fields=pattern)
    return (i2 if len(pattern) == 2 else i3)(g, g, covariance, fields=pattern)
