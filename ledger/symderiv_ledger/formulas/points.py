"""Exact covariances at which a formula is tried: inside the positive cone and on its edge.

Special cases hide errors: a formula may be right for unit variances, for independent fields, for
weak correlation. So the points come in kinds that differ in just these respects.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import sympy as sp
from flint import fmpq, fmpq_mat

from symderiv.foundation.errors import InputError

_TRIES: Final = 300
_WANTED: Final = 12
_SIGNED: Final = (-3, -2, -1, 1, 2, 3)
_SQUARES: Final = tuple(sp.Rational(k) ** 2 for k in ("1", "2", "1/2", "3", "2/3", "10"))


@dataclass(frozen=True)
class CovariancePoint:
    """Values of a covariance's symbols."""

    kind: str  # what is special about it, in words
    values: Mapping[sp.Symbol, sp.Rational]  # a rational per symbol
    covariance: sp.Matrix  # the matrix, its entries numbers
    degenerate: bool  # whether the matrix is singular


def points(covariance: sp.Matrix, seed: int = 0) -> list[CovariancePoint]:
    """Return points of the cone of positive semidefinite covariances, generic ones first.

    Entries of the covariance, shape (n, n), are symbols, numbers, or expressions of both. If all
    are different symbols, points of many kinds are positive definite, then singular (|ρ| = 1, rank
    one, a variance of zero). Otherwise they are values of the symbols that give admissible
    matrices; a single point if there are no symbols.

    Raises:
        InputError: No admissible values were found.
    """
    symbols = sorted(covariance.free_symbols, key=lambda s: s.name)
    if not symbols:
        singular = bool(covariance.det() == 0)
        return [CovariancePoint("the covariance given", {}, covariance, singular)]
    rng = random.Random(seed)
    n = covariance.rows
    entries = [covariance[i, j] for i in range(n) for j in range(i, n)]
    if all(e.is_Symbol for e in entries) and len(set(entries)) == len(entries):
        return [_point(covariance, kind, rows) for kind, rows in _all_kinds(n, rng)]
    structured = _structured(covariance, symbols, rng)
    if not structured:
        raise InputError("no values of its symbols make the covariance positive definite")
    return structured


# -- covariances of independent symbols ---------------------------------------------------------


def _point(covariance: sp.Matrix, kind: str, rows: fmpq_mat) -> CovariancePoint:
    n = covariance.rows
    matrix = sp.Matrix(n, n, [sp.Rational(int(entry.p), int(entry.q)) for entry in rows.entries()])
    values = {covariance[i, j]: matrix[i, j] for i in range(n) for j in range(i, n)}
    return CovariancePoint(kind, values, matrix, bool(matrix.det() == 0))


def _all_kinds(n: int, rng: random.Random) -> Iterator[tuple[str, fmpq_mat]]:
    for _ in range(6):
        yield "generic", _generic(n, rng)
    for _ in range(2):
        yield "diagonal", _diagonal(fmpq(rng.randint(1, 12), 4) for _ in range(n))
    for delta in (fmpq(1, 10), fmpq(1, 100), fmpq(1, 10000)):
        yield "strongly correlated", _rank_one(n, rng) + delta * _generic(n, rng)
    for _ in range(3):
        scales = _diagonal(fmpq(10) ** rng.randint(-1, 1) for _ in range(n))
        yield "different scales", scales * _generic(n, rng) * scales
    yield "small variances", fmpq(1, 1000) * _generic(n, rng)
    yield "large variances", fmpq(1000) * _generic(n, rng)
    pairs = list(itertools.combinations(range(n), 2))
    for i, j in pairs:
        # stays positive definite if any one covariance is set to zero
        rows = _diagonal(fmpq(rng.randint(4, 12), 2) for _ in range(n))
        for k in range(n):
            for m in range(k):
                rows[k, m] = rows[m, k] = fmpq(rng.choice(_SIGNED), 2 * n)
        rows[i, j] = rows[j, i] = fmpq(0)
        yield "one covariance zero", rows
    for number, (i, j) in enumerate(pairs):
        # with few pairs, correlations of both signs
        for sign in (1, -1) if n < 4 else ((-1) ** number,):
            ratio = fmpq(sign * rng.randint(1, 4), 2)
            kind = f"fields {i + 1} and {j + 1} with rho = {sign}"
            yield kind, _tied(_generic(n, rng), i, j, ratio)
    if n > 2:
        yield "rank one", _rank_one(n, rng)
    yield "all fields equal", fmpq_mat(n, n, [2] * n * n)
    for i in range(n):
        yield f"variance of field {i + 1} zero", _tied(_generic(n, rng), i, i, fmpq(0))


def _generic(n: int, rng: random.Random) -> fmpq_mat:
    """Return A Aᵀ plus a diagonal matrix: positive definite, no zero entry, small denominators."""
    rows = fmpq_mat(n, n)
    while 0 in rows.entries():
        a = fmpq_mat(n, n, [fmpq(rng.randint(-3, 3), 2) for _ in range(n * n)])
        rows = a * a.transpose()
    return rows + _diagonal(fmpq(rng.randint(1, 6), 4) for _ in range(n))


def _diagonal(entries: Iterable[fmpq]) -> fmpq_mat:
    values = list(entries)
    rows = fmpq_mat(len(values), len(values))
    for i, value in enumerate(values):
        rows[i, i] = value
    return rows


def _rank_one(n: int, rng: random.Random) -> fmpq_mat:
    v = fmpq_mat(n, 1, [fmpq(rng.choice(_SIGNED), 2) for _ in range(n)])
    return v * v.transpose()


def _tied(rows: fmpq_mat, i: int, j: int, ratio: fmpq) -> fmpq_mat:
    """Return the covariance with field j replaced by ratio times field i."""
    mixing = _diagonal([fmpq(1)] * rows.nrows())
    mixing[j, j] = fmpq(0)
    mixing[j, i] += ratio
    return mixing * rows * mixing.transpose()


# -- covariances with a structure ---------------------------------------------------------------


def _structured(
    covariance: sp.Matrix, symbols: list[sp.Symbol], rng: random.Random
) -> list[CovariancePoint]:
    """Return points of a covariance with structure, found by trial.

    Variances are squares of rationals, so that |ρ| = 1 is a rational covariance.
    """
    inside: list[CovariancePoint] = []
    edge: list[CovariancePoint] = []
    for _ in range(_TRIES):
        if len(inside) >= _WANTED and len(edge) >= _WANTED // 2:
            break
        values: dict[sp.Symbol, sp.Rational] = {
            s: rng.choice(_SQUARES) for s in symbols if s.is_positive
        }
        choices = (-16, 0, 16) if rng.random() < 0.4 else tuple(range(-15, 16))
        for symbol in symbols:
            if symbol not in values:
                scale = _scale(covariance.xreplace(values), symbol)
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


def _scale(matrix: sp.Matrix, symbol: sp.Symbol) -> Any:
    """Return the value of a symbol at which the two fields whose covariance it is coincide.

    The value is 1 if the symbol is no single covariance.
    """
    for i, j in itertools.permutations(range(matrix.rows), 2):
        scale = sp.sqrt(matrix[i, i] * matrix[j, j])
        if matrix[i, j] == symbol and scale.is_Rational:
            return scale
    return sp.S.One


def _definiteness(matrix: sp.Matrix) -> bool | None:
    """Return True if positive definite, False if only semidefinite, None if neither (exact)."""
    if not all(entry.is_Rational for entry in matrix) or not matrix.is_positive_semidefinite:
        return None
    return bool(matrix.is_positive_definite)
