"""Algebra of closed forms with square roots: factored bases, known signs, short results.

Closed forms at the plateau are rational functions of M, T, D (and the length c) and of square roots
of such, inside and outside of arcsines. SymPy leaves √(ab) alone as long as it does not know that a
and b are positive. Here every factor under a root is looked at: if it has one sign at all sample
points (teachers that are admissible), it becomes a root of its own. After that a root is one more
variable u with u² = factor, and fractions can be brought to lowest terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sympy as sp

from symderiv.gaussian.forms.evaluate import number


@dataclass(frozen=True)
class AlgebraFrame:
    """The variables of closed forms and exact points at which signs and roots are decided.

    Attributes:
        symbols: The variables, all real.
        points: Values of all variables, each point admissible.
    """

    symbols: tuple[sp.Symbol, ...]
    points: tuple[tuple[sp.Expr, ...], ...]

    def at(self, expression: sp.Expr, point: Sequence[sp.Expr]) -> Any:
        """Return the number of an expression at a point, to 30 digits."""
        return number(expression.xreplace(dict(zip(self.symbols, point, strict=True))), _DIGITS)


_DIGITS = 30
_TINY = sp.Rational(1, 10**20)


def _is_root(e: sp.Expr) -> bool:
    return bool(e.is_Pow and e.exp.is_Rational and not e.exp.is_Integer)


def with_split_roots(expression: sp.Expr, frame: AlgebraFrame) -> sp.Expr:
    """Return the expression with bases of roots split into factors and reduced arguments of
    arcsines.

    Args:
        expression: Built from the variables and symbols that are declared positive.
        frame: The variables and sample points.
    """
    return expression.replace(_is_root, lambda e: _root(e.base, e.exp, frame)).replace(
        lambda e: isinstance(e, sp.asin), lambda e: sp.asin(_reduced(e.args[0], frame))
    )


@lru_cache(maxsize=4096)
def _root(base: sp.Expr, exponent: sp.Rational, frame: AlgebraFrame) -> sp.Expr:
    """Return base**exponent, where every factor whose sign is known gets a root of its own."""
    if not base.is_rational_function():
        return base**exponent
    top, bottom = sp.fraction(sp.together(base))
    number_above, above = sp.factor_list(top)
    number_below, below = sp.factor_list(bottom)
    result, rest = sp.Integer(1), number_above / number_below
    for factor, power in (*above, *((f, -p) for f, p in below)):
        sign = _sign(factor, frame)
        if sign == 0:
            rest *= factor**power
            continue
        rest *= sp.Integer(sign) ** power
        result *= sp.expand(sign * factor) ** (power * exponent)
    return result * rest**exponent


@lru_cache(maxsize=4096)
def _sign(factor: sp.Expr, frame: AlgebraFrame) -> int:
    """Return the sign of a polynomial if it is the same at all sample points, else 0."""
    if factor.is_positive:
        return 1
    if factor.free_symbols - set(frame.symbols):
        return 0
    values = [frame.at(factor, point) for point in frame.points]
    if all(value > 0 for value in values):
        return 1
    return -1 if all(value < 0 for value in values) else 0


def _reduced(expression: sp.Expr, frame: AlgebraFrame) -> sp.Expr:
    """Return a fraction in lowest terms, with roots as variables whose squares are known."""
    rational, squares = _named_roots(expression)
    if not rational.is_rational_function(*rational.free_symbols):
        return expression
    top, bottom = (
        sp.expand(sp.Add(*(c * sp.Mul(*odd) for odd, c in _by_roots(part, squares).items())))
        if squares
        else part
        for part in sp.fraction(sp.together(rational))
    )
    fraction = sp.factor(sp.cancel(top / bottom))
    back = {root: sp.sqrt(base) for root, base in squares.items()}
    return _oriented(fraction.xreplace(back), frame)


def _named_roots(
    expression: sp.Expr, unknown: sp.Symbol | None = None
) -> tuple[sp.Expr, dict[sp.Symbol, sp.Expr]]:
    """Return an expression with its square roots as variables, and the squares of these.

    Args:
        unknown: If given, only roots that contain it become variables, and their bases are
            expanded.
    """
    roots: dict[sp.Expr, sp.Symbol] = {}

    def variable(e: sp.Expr) -> sp.Expr:
        base = e.base if unknown is None else sp.expand(e.base)
        if e.exp.q != 2 or not (unknown is None or base.has(unknown)):
            return e
        root = roots.setdefault(base, sp.Symbol(f"root{len(roots)}", positive=True))
        return root**e.exp.p

    named = expression.replace(_is_root, variable)
    return named, {root: base for base, root in roots.items()}


def _by_roots(
    part: sp.Expr, squares: dict[sp.Symbol, sp.Expr]
) -> dict[tuple[sp.Symbol, ...], sp.Expr]:
    """Return the coefficients of a polynomial, keyed by the roots that occur to an odd power.

    Even powers of roots become powers of their bases.
    """
    coefficients: dict[tuple[sp.Symbol, ...], sp.Expr] = {}
    for exponents, coefficient in sp.Poly(part, *squares).terms():
        term, odd = coefficient, []
        for exponent, (root, base) in zip(exponents, squares.items(), strict=True):
            term *= base ** (exponent // 2)
            odd += [root] * (exponent % 2)
        coefficients[tuple(odd)] = coefficients.get(tuple(odd), sp.Integer(0)) + term
    return coefficients


def _oriented(product: sp.Expr, frame: AlgebraFrame) -> sp.Expr:
    """Return the product with the sign of every sum chosen positive, so that roots cancel against
    it.
    """
    factors = []
    for factor in sp.Mul.make_args(product):
        base, exponent = factor.as_base_exp()
        if exponent.is_Integer and base.is_Add and _sign(base, frame) < 0:
            factors += [sp.Integer(-1) ** exponent, sp.expand(-base) ** exponent]
        else:
            factors.append(factor)
    return sp.Mul(*factors)


def tidy(expression: sp.Expr, frame: AlgebraFrame) -> sp.Expr:
    """Return a closed form in lowest terms: fractions with roots reduced, arcsines kept apart."""
    split = with_split_roots(expression, frame)
    calls = sorted(split.atoms(sp.asin), key=sp.default_sort_key)
    names = {call: sp.Symbol(f"call{n}", real=True) for n, call in enumerate(calls)}
    plain = split.xreplace(names)
    if not names:
        return _reduced(plain, frame)
    back = {name: call for call, name in names.items()}
    if not plain.is_polynomial(*back):
        return _reduced(plain, frame).xreplace(back)
    collected = sp.Poly(plain, *back).terms()
    return sp.Add(
        *(
            _reduced(coefficient, frame)
            * sp.Mul(*(call**power for call, power in zip(calls, exponents, strict=True)))
            for exponents, coefficient in collected
        )
    )


def positive_root(
    equation: sp.Expr, unknown: sp.Symbol, frame: AlgebraFrame, height: sp.Expr
) -> sp.Expr | None:
    """Return the positive solution of an equation with roots that has the least height, or None.

    Terms are sorted by their roots; two kinds are squared away. The remaining polynomial must have
    factors of degree at most two in the unknown or its square. Candidates are checked in the
    equation at the sample points, because squaring adds solutions.

    Args:
        equation: Sum that must vanish, bases of roots factored.
        unknown: The positive symbol to solve for.
        frame: The variables and sample points.
        height: An expression that decides between several solutions.
    """
    polynomial = _without_roots(equation, unknown)
    if polynomial is None:
        return None
    candidates: list[sp.Expr] = []
    for factor, _ in sp.factor_list(polynomial)[1]:
        candidates += _candidates(sp.Poly(factor, unknown), unknown)
    valid = []
    for candidate in candidates:
        split = with_split_roots(candidate, frame)
        heights = [_height(equation, height, unknown, split, frame, p) for p in frame.points]
        if all(value is not None for value in heights):
            valid.append((heights, split))
    if not valid:
        return None
    lowest = [
        min(range(len(valid)), key=lambda n: valid[n][0][p]) for p in range(len(frame.points))
    ]
    return _reduced(valid[lowest[0]][1], frame) if len(set(lowest)) == 1 else None


def _without_roots(equation: sp.Expr, unknown: sp.Symbol) -> sp.Expr | None:
    """Return a polynomial in the unknown that vanishes where the equation holds."""
    rational, squares = _named_roots(equation, unknown)
    if not rational.is_rational_function(unknown, *squares):
        return None
    top = sp.numer(sp.together(rational))
    if not squares:
        return top
    kinds = list(_by_roots(top, squares).items())
    if len(kinds) > 2:
        return None
    if len(kinds) == 1:
        return kinds[0][1]
    (first, a), (second, b) = ((sp.Mul(*(squares[r] for r in odd)), each) for odd, each in kinds)
    return sp.expand(a**2 * first - b**2 * second)


def _candidates(factor: sp.Poly, unknown: sp.Symbol) -> list[sp.Expr]:
    if factor.degree() == 0:
        return []
    even = all(exponents[0] % 2 == 0 for exponents, _ in factor.terms())
    square = sp.Symbol("square")
    reduced = sp.Poly(factor.as_expr().subs(unknown, sp.sqrt(square)), square) if even else factor
    if reduced.degree() > 2:
        return []
    solutions = sp.roots(reduced)
    return [sp.sqrt(root) if even else root for root in solutions]


def _height(
    equation: sp.Expr,
    height: sp.Expr,
    unknown: sp.Symbol,
    candidate: sp.Expr,
    frame: AlgebraFrame,
    point: Sequence[Any],
) -> Any:
    """Return the height at a sample if the candidate is a positive solution there, else None."""
    values = dict(zip(frame.symbols, point, strict=True))
    length = sp.N(candidate.xreplace(values), _DIGITS)
    if not length.is_real or length <= 0:
        return None
    at = {**values, unknown: length}
    residual, scale = sp.N(equation.xreplace(at), _DIGITS), 1
    if not residual.is_real or abs(residual) > _TINY * scale:
        return None
    return sp.N(height.xreplace(at), _DIGITS)
