"""Exact covariances at which a formula is tried: inside the positive cone and on its edge.

Special cases hide errors: a formula may be right for unit variances, for independent fields, for
weak correlation. So the points come in kinds that differ in just these respects.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import sympy as sp

from symderiv.foundation.errors import InputError

__all__ = ["CovariancePoint", "points"]

Rows = list[list[Fraction]]

_TRIES: Final = 300
_WANTED: Final = 12
_SQUARES: Final = tuple(Fraction(k) ** 2 for k in (1, 2, Fraction(1, 2), 3, Fraction(2, 3), 10))


@dataclass(frozen=True)
class CovariancePoint:
    """Values of a covariance's symbols.

    Args:
        kind: What is special about it, in words.
        values: A rational per symbol.
        covariance: The matrix, its entries numbers.
        degenerate: Is the matrix singular?
    """

    kind: str
    values: Mapping[sp.Symbol, sp.Rational]
    covariance: sp.Matrix
    degenerate: bool


def points(covariance: sp.Matrix, seed: int = 0) -> list[CovariancePoint]:
    """Return points of the cone of positive semidefinite covariances, generic ones first.

    Args:
        covariance: Shape (n, n), symmetric; entries symbols, numbers, or expressions of both.
        seed: Of the random numbers; the same seed gives the same points.

    Returns:
        For a covariance of n(n+1)/2 different symbols: generic, diagonal, strongly correlated,
        differently scaled, small, large and partly uncorrelated covariances, all positive definite;
        then singular ones (|ρ| = 1, rank one, a variance of zero). Otherwise values of the
        symbols that give admissible matrices; a single point if there are no symbols.

    Raises:
        InputError: No admissible values were found.
    """
    symbols = sorted(covariance.free_symbols, key=lambda s: s.name)
    if not symbols:
        return [CovariancePoint("the covariance given", {}, covariance, _rank_lost(covariance))]
    rng = random.Random(seed)
    n = covariance.rows
    entries = [covariance[i, j] for i in range(n) for j in range(i, n)]
    if all(e.is_Symbol for e in entries) and len(set(entries)) == len(entries):
        return [_point(covariance, kind, rows) for kind, rows in _all_kinds(n, rng)]
    found = _structured(covariance, symbols, rng)
    if not found:
        raise InputError("no values of its symbols make the covariance positive definite")
    return found


# -- covariances of independent symbols ---------------------------------------------------------


def _point(covariance: sp.Matrix, kind: str, rows: Rows) -> CovariancePoint:
    n = len(rows)
    matrix = sp.Matrix(n, n, lambda i, j: _rational(rows[i][j]))
    values = {covariance[i, j]: matrix[i, j] for i in range(n) for j in range(i, n)}
    return CovariancePoint(kind, values, matrix, _rank_lost(matrix))


def _rational(value: Fraction) -> sp.Rational:
    return sp.Rational(value.numerator, value.denominator)


def _rank_lost(matrix: sp.Matrix) -> bool:
    return bool(matrix.det() == 0)


def _all_kinds(n: int, rng: random.Random) -> Iterator[tuple[str, Rows]]:
    for _ in range(6):
        yield "generic", _generic(n, rng)
    for _ in range(2):
        yield "diagonal", _diagonal([Fraction(rng.randint(1, 12), 4) for _ in range(n)])
    for delta in (Fraction(1, 10), Fraction(1, 100), Fraction(1, 10000)):
        yield "strongly correlated", _sum(_rank_one(n, rng), _scaled(_generic(n, rng), delta))
    for _ in range(3):
        scales = [Fraction(10) ** rng.randint(-1, 1) for _ in range(n)]
        yield "different scales", _rescaled(_generic(n, rng), scales)
    yield "small variances", _scaled(_generic(n, rng), Fraction(1, 1000))
    yield "large variances", _scaled(_generic(n, rng), Fraction(1000))
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    for i, j in pairs:
        rows = _diagonal_dominant(n, rng)
        rows[i][j] = rows[j][i] = Fraction(0)
        yield "one covariance zero", rows
    for number, (i, j) in enumerate(pairs):
        # both signs where pairs are few
        for sign in (1, -1) if n < 4 else ((-1) ** number,):
            ratio = Fraction(sign * rng.randint(1, 4), 2)
            kind = f"fields {i + 1} and {j + 1} with rho = {sign}"
            yield kind, _tied(_generic(n, rng), i, j, ratio)
    if n > 2:
        yield "rank one", _rank_one(n, rng)
    yield "all fields equal", [[Fraction(2)] * n for _ in range(n)]
    for i in range(n):
        yield f"variance of field {i + 1} zero", _tied(_generic(n, rng), i, i, Fraction(0))


def _generic(n: int, rng: random.Random) -> Rows:
    """Return a Aᵀ + a diagonal: positive definite, no entry zero, small denominators."""
    rows = [[Fraction(0)] * n for _ in range(n)]
    while any(e == 0 for row in rows for e in row):
        a = [[Fraction(rng.randint(-3, 3), 2) for _ in range(n)] for _ in range(n)]
        rows = [
            [sum((x * y for x, y in zip(p, q, strict=True)), Fraction(0)) for q in a] for p in a
        ]
    return _sum(rows, _diagonal([Fraction(rng.randint(1, 6), 4) for _ in range(n)]))


def _diagonal(entries: list[Fraction]) -> Rows:
    return [
        [e if i == j else Fraction(0) for j in range(len(entries))] for i, e in enumerate(entries)
    ]


def _diagonal_dominant(n: int, rng: random.Random) -> Rows:
    """Positive definite whatever single entry is then set to zero."""
    rows = _diagonal([Fraction(rng.randint(4, 12), 2) for _ in range(n)])
    for i in range(n):
        for j in range(i):
            rows[i][j] = rows[j][i] = Fraction(rng.choice((-3, -2, -1, 1, 2, 3)), 2 * n)
    return rows


def _rank_one(n: int, rng: random.Random) -> Rows:
    v = [Fraction(rng.choice((-3, -2, -1, 1, 2, 3)), 2) for _ in range(n)]
    return [[x * y for y in v] for x in v]


def _sum(a: Rows, b: Rows) -> Rows:
    return [[x + y for x, y in zip(p, q, strict=True)] for p, q in zip(a, b, strict=True)]


def _scaled(a: Rows, factor: Fraction) -> Rows:
    return [[factor * x for x in row] for row in a]


def _rescaled(a: Rows, scales: list[Fraction]) -> Rows:
    return [
        [s * t * x for t, x in zip(scales, row, strict=True)]
        for s, row in zip(scales, a, strict=True)
    ]


def _tied(a: Rows, i: int, j: int, ratio: Fraction) -> Rows:
    """Field j replaced by ratio times field i."""
    n = len(a)
    mixing = _diagonal([Fraction(1)] * n)
    mixing[j][j] = Fraction(0)
    mixing[j][i] += ratio
    half = [
        [sum((m[k] * a[k][q] for k in range(n)), Fraction(0)) for q in range(n)] for m in mixing
    ]
    return [[sum((row[k] * m[k] for k in range(n)), Fraction(0)) for m in mixing] for row in half]


# -- covariances with a structure ---------------------------------------------------------------


def _structured(
    covariance: sp.Matrix, symbols: list[sp.Symbol], rng: random.Random
) -> list[CovariancePoint]:
    """Return values by trial: variances squares of rationals, so that |ρ| = 1 is a rational
    covariance.
    """
    n = covariance.rows
    inside: list[CovariancePoint] = []
    edge: list[CovariancePoint] = []
    for _ in range(_TRIES):
        if len(inside) >= _WANTED and len(edge) >= _WANTED // 2:
            break
        values: dict[sp.Symbol, sp.Rational] = {
            s: _rational(rng.choice(_SQUARES)) for s in symbols if s.is_positive
        }
        choices = (-16, 0, 16) if rng.random() < 0.4 else tuple(range(-15, 16))
        for symbol in symbols:
            if symbol not in values:
                scale = _scale(covariance.xreplace(values), symbol, n)
                values[symbol] = scale * sp.Rational(rng.choice(choices), 16)
        matrix = covariance.xreplace(values)
        definite = _definiteness(matrix)
        if definite is None or any(point.values == values for point in (*inside, *edge)):
            continue
        if definite and len(inside) < _WANTED:
            inside.append(CovariancePoint("generic", values, matrix, False))
        elif not definite and len(edge) < _WANTED // 2:
            edge.append(CovariancePoint("singular covariance", values, matrix, True))
    return inside + edge


def _scale(matrix: sp.Matrix, symbol: sp.Symbol, n: int) -> Any:
    """Return the size at which the symbol, standing alone as covariance of two fields, ties
    them.
    """
    for i in range(n):
        for j in range(n):
            if i != j and matrix[i, j] == symbol:
                scale = sp.sqrt(matrix[i, i] * matrix[j, j])
                if scale.is_Rational:
                    return scale
    return sp.S.One


def _definiteness(matrix: sp.Matrix) -> bool | None:
    """Return True if positive definite, False if only semidefinite, None if neither (exact)."""
    if not all(entry.is_Rational for entry in matrix):
        return None
    rows = [[Fraction(int(e.p), int(e.q)) for e in matrix.row(i)] for i in range(matrix.rows)]
    definite = True
    while rows:
        pivot = next((k for k in range(len(rows)) if rows[k][k]), None)
        if pivot is None:
            return None if any(e for row in rows for e in row) else False
        head = rows[pivot][pivot]
        if head < 0:
            return None
        definite = definite and all(rows[k][k] for k in range(len(rows)))
        rest = [k for k in range(len(rows)) if k != pivot]
        rows = [[rows[i][j] - rows[i][pivot] * rows[pivot][j] / head for j in rest] for i in rest]
    return definite
