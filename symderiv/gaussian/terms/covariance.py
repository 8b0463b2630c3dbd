r"""Covariances: symbols, validation, and the conditioned covariances the rules produce.

Conditioning on fields, and tilting (which is conditioning on a field with added noise), are Schur
complements. They are formed without fractions: with S the conditioned set, every conditional
entry is C_ij|S = n(S,i,j)/d(S), both minors of the original covariance, and
n(S+a,i,j) = (n(S,i,j) n(S,a,a) - n(S,i,a) n(S,a,j)) / d(S) divides exactly (Sylvester's identity).
The mean is one more row of the same matrix whose corner, after elimination, is the exponent of the
density: ln p(s = 0) = corner/2 + normalisation. A factor exp(b z) adds b times the field's row to
the mean's row, and exp(i b z) uses a second, imaginary, row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from symderiv.foundation.errors import InexactError, InputError, ShapeError
from symderiv.gaussian.terms.algebra import Algebra
from symderiv.gaussian.terms.working_terms import Affine, sign_of

Conditions = tuple[int, ...]


def covariance_symbols(count: int) -> sp.Matrix:
    """Return the covariance in symbols c11 (positive), c12 (real), ..., shape (count, count)."""
    if count < 1:
        raise ShapeError(f"a covariance needs at least one field, not {count}")

    def entry(i: int, j: int) -> sp.Symbol:
        i, j = min(i, j) + 1, max(i, j) + 1
        name = f"c{i}{j}" if count < 10 else f"c{i}_{j}"
        return sp.Symbol(name, positive=True) if i == j else sp.Symbol(name, real=True)

    return sp.Matrix(count, count, lambda i, j: entry(i, j))


def validated(
    covariance: sp.Matrix, mean: sp.Matrix | None, count: int
) -> tuple[list[list[sp.Expr]], list[sp.Expr]]:
    """Return the covariance and mean as nested lists of exact entries.

    Raises:
        ShapeError: Wrong shapes.
        InexactError: A Float.
        InputError: Not symmetric, or numeric and not positive semidefinite.
    """
    for name, given in (("covariance", covariance), ("mean", mean)):
        # Nothing else: SymPy would evaluate text as Python.
        if given is not None and not isinstance(given, sp.MatrixBase):
            raise InputError(f"must be a SymPy matrix, not {type(given).__name__}", argument=name)
    matrix = sp.Matrix(covariance)
    if matrix.shape != (count, count):
        rows, columns = matrix.shape
        raise ShapeError(
            f"must be {count} x {count}, not {rows} x {columns}", argument="covariance"
        )
    entries = [[sp.sympify(matrix[i, j]) for j in range(count)] for i in range(count)]
    means = [sp.S.Zero] * count if mean is None else [sp.sympify(m) for m in sp.Matrix(mean)]
    if len(means) != count:
        raise ShapeError(f"must have {count} entries, not {len(means)}", argument="mean")
    for i, value in enumerate(means):
        _check_entry(value, "mean", f"[{i}]")
    for i, row in enumerate(entries):
        for j, value in enumerate(row):
            _check_entry(value, "covariance", f"[{i}][{j}]")
    for i in range(count):
        for j in range(i):
            if sp.expand(entries[i][j] - entries[j][i]) != 0:
                raise InputError(
                    f"is not symmetric: entry [{i}][{j}] is {entries[i][j]}, "
                    f"entry [{j}][{i}] is {entries[j][i]}",
                    argument="covariance",
                )
    _check_semidefinite(entries)
    return entries, means


def _check_entry(value: sp.Expr, argument: str, entry: str) -> None:
    if value.has(sp.nan, sp.zoo, sp.oo, -sp.oo) or value.is_real is False:
        raise InputError(f"{value} is not a finite real number", argument=argument, entry=entry)
    if value.has(sp.Float):
        raise InexactError(
            f"{value} is a float; write it as an exact decimal", argument=argument, entry=entry
        )


def _check_semidefinite(entries: list[list[sp.Expr]]) -> None:
    """Check the variances, and the largest numeric block by exact symmetric elimination."""
    for i, row in enumerate(entries):
        if sign_of(row[i]) == -1:
            raise InputError(
                f"is not positive semidefinite: the variance of field {i + 1} is {row[i]}",
                argument="covariance",
            )
    numeric = [
        i
        for i in range(len(entries))
        if all(entries[i][j].is_number for j in range(len(entries)) if entries[j][j].is_number)
        and entries[i][i].is_number
    ]
    block = [[entries[i][j] for j in numeric] for i in numeric]
    names = [i + 1 for i in numeric]
    while block:
        pivot = next((k for k in range(len(block)) if sign_of(block[k][k]) != 0), None)
        if pivot is None:
            pivot = 0
        head = block[pivot][pivot]
        sign = sign_of(head)
        if sign == -1:
            raise InputError(
                "is not positive semidefinite: the conditional variance of field "
                f"{names[pivot]} is {head}",
                argument="covariance",
            )
        if sign == 0:
            if any(sign_of(e) != 0 for row in block for e in row):
                raise InputError(
                    "is not positive semidefinite: a field of zero variance is correlated with "
                    "another",
                    argument="covariance",
                )
            return
        rest = [k for k in range(len(block)) if k != pivot]
        block = [
            [
                sp.radsimp(sp.expand(block[i][j] - block[i][pivot] * block[pivot][j] / head))
                for j in rest
            ]
            for i in rest
        ]
        names = [names[k] for k in rest]


@dataclass(frozen=True)
class Variable:
    """One of the jointly Gaussian variables to which the rules apply.

    Args:
        form: Affine form of the fields.
        noise: Variance of the independent Gaussian added to it (erf, tilt); 0 for none.
        label: Short ASCII name used in the names of conditional covariances.
        latex: Name in formulas.
        copy: Tells apart variables with the same form and independent noise.
    """

    form: Affine
    noise: sp.Expr
    label: str
    latex: str
    copy: int = 0


@dataclass(frozen=True)
class Shift:
    """A factor exp(real·z + i imaginary·z + constants), which shifts the mean."""

    real: tuple[sp.Expr, ...]
    imaginary: tuple[sp.Expr, ...]
    real_constant: sp.Expr = sp.S.Zero
    imaginary_constant: sp.Expr = sp.S.Zero


class Gaussian:
    """Mean and covariance of the variables, conditioned on any of them being zero.

    Args:
        algebra: Domain of the entries.
        covariance: Covariance of the fields, domain elements.
        mean: Mean of the fields, domain elements.
        variables: The variables.
        shift: Linear exponent.

    Index ``real`` (``imaginary``) is the row of the real (imaginary) part of the mean. ``centred``
    says that there is no mean at all, ``reflects`` that it is purely imaginary.
    """

    def __init__(
        self,
        algebra: Algebra,
        covariance: Sequence[Sequence[Any]],
        mean: Sequence[Any],
        variables: Sequence[Variable],
        shift: Shift,
    ) -> None:
        self.algebra = algebra
        self.variables = list(variables)
        self.shift = shift
        self.real = len(self.variables)
        self.imaginary = self.real + 1
        self._covariance = covariance
        self._mean = mean
        zero, element = algebra.domain.zero, algebra.element
        self._coefficients = [[element(c) for c in v.form.coefficients] for v in variables]
        self._constants = [element(v.form.constant) for v in variables]
        self._coefficients += [
            [element(c) for c in shift.real],
            [element(c) for c in shift.imaginary],
        ]
        self._constants += [zero, zero]
        self._memo: dict[tuple[Conditions, int, int], Any] = {}
        size = range(self.real)
        self.reflects = not any(self.n((), i, self.real) for i in (*size, self.imaginary))
        self.centred = all(not self.n((), i, r) for i in size for r in (self.real, self.imaginary))

    def n(self, given: Conditions, i: int, j: int) -> Any:
        """Return the numerator of entry (i, j), given that the variables in ``given`` are zero."""
        if i > j:
            i, j = j, i
        key = (given, i, j)
        if key not in self._memo:
            self._memo[key] = self._eliminate(given, i, j) if given else self._base(i, j)
        return self._memo[key]

    def d(self, given: Conditions) -> Any:
        """Return the common denominator of conditional entries, the determinant of ``given``."""
        if not given:
            return self.algebra.domain.one
        return self.n(given[:-1], given[-1], given[-1])

    def _eliminate(self, given: Conditions, i: int, j: int) -> Any:
        if i in given or j in given:
            return self.algebra.domain.zero
        before, a = given[:-1], given[-1]
        left, right = self.n(before, i, a), self.n(before, j, a)
        whole = self.n(before, i, j) * self.n(before, a, a)
        if left and right:
            whole = whole - left * right
        return self.algebra.exquo(whole, self.d(before))

    def _base(self, i: int, j: int) -> Any:
        zero = self.algebra.domain.zero
        a, b = self._coefficients[i], self._coefficients[j]
        total = zero
        for k, x in enumerate(a):
            for m, y in enumerate(b):
                if x and y and self._covariance[k][m]:
                    total = total + x * y * self._covariance[k][m]
        if i == j and i < self.real:
            total = total + self.algebra.element(self.variables[i].noise)
        if j >= self.real:
            total = total + self._base_mean(i, j)
        return total

    def _base_mean(self, i: int, j: int) -> Any:
        """Return what constants and the fields' mean contribute to an entry of a mean row."""
        zero = self.algebra.domain.zero
        projection = [
            sum((x * m for x, m in zip(row, self._mean, strict=True)), zero)
            for row in (self._coefficients[i], self._coefficients[j])
        ]
        if i < self.real:
            return projection[0] + self._constants[i] if j == self.real else zero
        if i == j == self.real:
            return 2 * (projection[0] + self.algebra.element(self.shift.real_constant))
        if i == j:
            return zero
        return projection[1] + self.algebra.element(self.shift.imaginary_constant)

    # -- questions the rules ask -----------------------------------------------------------

    def is_zero(self, given: Conditions, i: int, j: int) -> bool:
        """Return whether the conditional entry vanishes."""
        return not self.n(given, i, j)

    def collinear(self, given: Conditions, i: int, j: int) -> bool:
        """Return whether fluctuations of i and j are proportional, with variances above zero."""
        cross = self.n(given, i, j)
        return bool(cross) and not (cross * cross - self.n(given, i, i) * self.n(given, j, j))

    def conditioned(self, given: Conditions, i: int) -> Conditions:
        """Return ``given`` with i added, in canonical order."""
        return tuple(sorted((*given, i)))
