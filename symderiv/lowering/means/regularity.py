"""Tests of closed forms by evaluating them at exact points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import sympy as sp

from symderiv.foundation.derivation_cache import derived_once
from symderiv.gaussian.functions import ShiftedSigns, SignMean2, SignMean4

Form = tuple[tuple[sp.Symbol, ...], tuple[tuple[sp.Symbol, sp.Expr], ...], sp.Expr]
"""Arguments (upper triangle of a covariance matrix), definitions and value of a function."""

CLOSED_MEANS = Path(__file__).with_name("closed_means.pickle")
"""Shipped means of named activations and results of these tests; see ``ship_closed_means``."""

_once = derived_once(
    imports=("symderiv.lowering.means.closed_means",),
    shipped=CLOSED_MEANS,
    kept=False,
    remembered=4096,
)
_DIGITS = 30
_TOLERANCE = sp.Float("1e-20", _DIGITS)


def _covariance(size: int) -> sp.Matrix:
    """Return a generic exact positive definite matrix."""
    factor = sp.Matrix(
        size, size, lambda a, b: sp.Rational(7 + 3 * a - 5 * b, 9 + a + b) if b <= a else 0
    )
    return factor * factor.T + sp.Rational(1, 5) * sp.eye(size)


_BIASES = [sp.Rational(n, 7) for n in (3, -2, 5, -4, 1, -6, 2, -1)]


def _size(arguments: Sequence[sp.Symbol], biased: bool = False) -> int:
    """Return the number of fields that has this number of arguments."""
    count = 0
    while count * (count + 1) // 2 + biased * count < len(arguments):
        count += 1
    return count


def _entries(matrix: sp.Matrix) -> list[sp.Expr]:
    return [matrix[a, b] for a in range(matrix.rows) for b in range(a, matrix.rows)]


def _evaluated(form: Form, point: Sequence[sp.Expr]) -> tuple[sp.Expr, dict[Any, sp.Expr]]:
    """Return the value at exact covariances, and the values of all definitions."""
    arguments, definitions, value = form
    known: dict[Any, sp.Expr] = dict(zip(arguments, point, strict=True))
    for symbol, expression in definitions:
        known[symbol] = _at(expression, known)
    return _at(value, known), known


class _SingularError(ArithmeticError):
    """An expression has no finite real value at the point."""


def _at(expression: sp.Expr, known: Mapping[Any, sp.Expr]) -> sp.Expr:
    try:
        value = expression.xreplace(dict(known))
    except (TypeError, ZeroDivisionError) as error:  # SymPy compares with nan
        raise _SingularError(str(expression)) from error
    if value.has(sp.nan, sp.zoo, sp.oo, sp.S.NegativeInfinity):
        raise _SingularError(str(expression))
    return value


def _check_finite(expression: sp.Expr) -> None:
    """Require a finite real number, without evaluating the integrals of means of four signs.

    Those lie between -1 and 1 wherever their correlations are finite.
    """
    if isinstance(expression, sp.Float | sp.Rational):
        return
    means = expression.atoms(SignMean4)
    for correlation in {each for mean in means for each in mean.args}:
        _number(correlation)
    _number(expression.xreplace(dict.fromkeys(means, sp.Rational(1, 3))))


def _number(expression: sp.Expr) -> sp.Expr:
    """Return an expression as a finite real number, or raise."""
    value = sp.N(expression, _DIGITS)
    if value is sp.nan or not (value.is_Float or value.is_Rational):
        raise _SingularError(str(expression))
    return value


@_once
def agrees(general: Form, reduced: Form, places: Sequence[int], biased: bool = False) -> bool:
    """Return whether the general function can be used where fields coincide.

    It can if its value there is finite and right and no arcsine or root is at the edge of its
    domain, where rounding of the arguments would cost half of the digits.

    Args:
        general: The function of distinct fields.
        reduced: The function derived for the coinciding fields.
        places: For each field of the general function the field of the reduced one it becomes.
        biased: Whether both take a bias of each field after the covariances.
    """
    size = max(places) + 1
    small = _covariance(size)
    large = sp.Matrix(len(places), len(places), lambda a, b: small[places[a], places[b]])
    biases = _BIASES[:size] if biased else []
    inside = [*_entries(large), *(biases[place] for place in places if biased)]
    value = _inside_domain(general, inside)
    if value is None:
        return False
    first = _number(value)
    second = _number(_evaluated(reduced, [*_entries(small), *biases])[0])
    return bool(abs(first - second) <= _TOLERANCE * max(1, abs(second)))


@_once
def has_edge(
    arguments: tuple[sp.Symbol, ...],
    definitions: tuple[tuple[sp.Symbol, sp.Expr], ...],
    value: sp.Expr,
    biased: bool = False,
) -> bool:
    """Return whether an arcsine, a root or a quotient reaches the edge of its domain for some
    covariance.

    The test points have all fields equal, two fields equal, or one field without variance: there
    rounding may carry the function over the edge.
    """
    size = _size(arguments, biased)
    biases = _BIASES[:size] if biased else []
    return any(
        _inside_domain((arguments, definitions, value), [*_entries(matrix), *biases]) is None
        for matrix in _degenerate(size)
    )


def _degenerate(size: int) -> list[sp.Matrix]:
    generic = _covariance(size)
    matrices = [sp.ones(size, size) * sp.Rational(7, 5)]
    for a in range(size):
        alone = generic.copy()
        alone[a, :] = sp.zeros(1, size)
        alone[:, a] = sp.zeros(size, 1)
        matrices.append(alone)
        for b in range(a + 1, size):
            places = [a if place == b else place for place in range(size)]
            matrices.append(sp.Matrix(size, size, lambda r, c, at=places: generic[at[r], at[c]]))
    return matrices


def _inside_domain(form: Form, point: Sequence[sp.Expr]) -> sp.Expr | None:
    """Return the value at a point; None where a function is at the edge of its domain."""
    try:
        value, known = _evaluated(form, point)
        for number in (value, *known.values()):
            _check_finite(number)
        return None if any(_at_edge(node, known) for node in _bounded(form)) else value
    except _SingularError:
        return None


@lru_cache(maxsize=32)
def _bounded(form: Form) -> frozenset[sp.Basic]:
    """Return the parts of a form that are functions with a bounded domain."""
    kinds = (sp.asin, sp.acos, SignMean2, ShiftedSigns, sp.Pow)
    return frozenset().union(*(e.atoms(*kinds) for e in (*(e for _, e in form[1]), form[2])))


def _at_edge(node: sp.Basic, known: Mapping[Any, sp.Expr]) -> bool:
    """Return whether the argument of an arcsine or a root is at the edge of the function's
    domain.
    """
    if isinstance(node, sp.asin | sp.acos):
        return bool(abs(_number(_at(node.args[0], known))) >= 1 - _TOLERANCE)
    if isinstance(node, SignMean2 | ShiftedSigns):
        return bool(abs(_number(_at(node.args[2], known))) >= 1 - _TOLERANCE)
    if isinstance(node, sp.Pow) and node.exp.is_Rational and not node.exp.is_Integer:
        return bool(_number(_at(node.base, known)) <= _TOLERANCE)
    return False
