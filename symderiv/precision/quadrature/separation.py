r"""An integrand as a sum of products of one-variable functions of affine forms of the fields.

tanh(x + 2 y) is a function of the one Gaussian variable x + 2 y: forms are directions in the space
of fields, functions of parallel forms are functions of the same variable. Covariances and means of
the forms are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import sympy as sp

from symderiv.foundation.errors import InputError, NotYetError

#: The variable of every one-variable function.
FORM: Final = sp.Symbol("x", real=True)

_MAX_PRODUCTS: Final = 200

Form = tuple[sp.Expr, ...]  # coefficients of the fields, the first that is not zero being 1


@dataclass(frozen=True)
class Product:
    """A product, coefficient × ∏ factors[form](form · z)."""

    coefficient: sp.Expr
    factors: dict[Form, sp.Expr]


@dataclass(frozen=True)
class Fields:
    """Jointly Gaussian variables with exact covariance and mean."""

    covariance: list[list[sp.Expr]]
    mean: list[sp.Expr]

    def of_forms(self, forms: Sequence[Form]) -> Fields:
        """Return the joint law of the forms."""
        rows = [
            [
                _exact(sp.Add(*(c * self.covariance[i][j] for i, c in enumerate(form))))
                for j in range(len(self.mean))
            ]
            for form in forms
        ]
        return Fields(
            [
                [_exact(sp.Add(*(c * row[j] for j, c in enumerate(form)))) for form in forms]
                for row in rows
            ],
            [
                _exact(sp.Add(*(c * m for c, m in zip(form, self.mean, strict=True))))
                for form in forms
            ],
        )

    def components(self) -> list[list[int]]:
        """Return groups of variables that are independent of one another."""
        groups: list[set[int]] = []
        for i in range(len(self.mean)):
            linked = [g for g in groups if any(self.covariance[i][j] != 0 for j in g)]
            groups = [g for g in groups if g not in linked] + [{i}.union(*linked)]
        return [sorted(g) for g in groups]

    def loadings(self, first: Iterable[int]) -> list[list[sp.Expr]]:
        """Return L of z = mean + L t with independent standard normal t, by exact elimination.

        Args:
            first: Variables to be expressed by the leading components of t, in any order; the one
                with the largest remaining variance is taken first.

        Returns:
            One row per variable; as many columns as the covariance has rank. The variables of
            ``first`` have zeros beyond the rank of their own covariance.
        """
        n = len(self.mean)
        rest = [list(row) for row in self.covariance]
        columns: list[list[sp.Expr]] = []
        waiting = [list(first)]
        waiting.append([i for i in range(n) if i not in waiting[0]])
        for group in waiting:
            left = list(group)
            while left:
                pivot = max(left, key=lambda i: (float(rest[i][i]), -i))
                if _exact(rest[pivot][pivot]) == 0:
                    left.remove(pivot)
                    continue
                left.remove(pivot)
                head = rest[pivot][pivot]
                ratio = [_exact(rest[i][pivot] / head) for i in range(n)]
                columns.append([r * sp.sqrt(head) for r in ratio])
                row = list(rest[pivot])
                rest = [
                    [_exact(rest[i][j] - ratio[i] * row[j]) for j in range(n)] for i in range(n)
                ]
        return [[column[i] for column in columns] for i in range(n)]


def _exact(value: sp.Expr) -> sp.Expr:
    value = sp.expand(value)
    return value if value.is_Rational else sp.radsimp(value)


def separated(integrand: sp.Expr, fields: Sequence[sp.Symbol]) -> list[Product]:
    """Return the integrand as products of one-variable functions, in :data:`FORM`.

    Raises:
        NotYetError: A factor depends on several fields and not through one affine form.
        InputError: Too many products.
    """
    coefficients: dict[tuple[tuple[Form, sp.Expr], ...], sp.Expr] = {}
    for coefficient, factors in _Separation(fields).split(sp.sympify(integrand)):
        key = tuple(sorted(factors.items(), key=lambda item: (str(item[0]), str(item[1]))))
        coefficients[key] = coefficients.get(key, sp.S.Zero) + coefficient
    return [Product(value, dict(key)) for key, value in coefficients.items() if value != 0]


_Split = list[tuple[sp.Expr, dict[Form, sp.Expr]]]


class _Separation:
    def __init__(self, fields: Sequence[sp.Symbol]) -> None:
        self.fields = tuple(fields)

    def split(self, e: sp.Expr) -> _Split:
        if not e.has(*self.fields):
            return [(e, {})]
        if isinstance(e, sp.Add):
            form = self._single(e)
            return [form] if form else [part for a in e.args for part in self.split(a)]
        if isinstance(e, sp.Mul):
            return self._multiplied([self.split(a) for a in e.args])
        if isinstance(e, sp.Pow) and e.args[1].is_Integer and e.args[1] > 0:
            form = self._single(e)
            return [form] if form else self._multiplied([self.split(e.args[0])] * int(e.args[1]))
        form = self._single(e)
        if form:
            return [form]
        if isinstance(e, sp.exp):
            exponent = sp.expand(e.args[0])
            if isinstance(exponent, sp.Add):
                return self._multiplied([self.split(sp.exp(a)) for a in exponent.args])
        raise NotYetError(
            f"not yet: the factor {e} depends on several fields, and not through one linear form "
            "of them; write the integrand as a sum of products of one-variable functions"
        )

    def _multiplied(self, parts: list[_Split]) -> _Split:
        total: _Split = [(sp.S.One, {})]
        for part in parts:
            if len(total) * len(part) > _MAX_PRODUCTS:
                raise InputError("the integrand expands into too many terms; split it")
            total = [(a * b, _merged(f, g)) for (a, f), (b, g) in product(total, part)]
        return total

    def _single(self, e: sp.Expr) -> tuple[sp.Expr, dict[Form, sp.Expr]] | None:
        """Return ``e`` as a function of one affine form, or None."""
        used = [i for i, x in enumerate(self.fields) if e.has(x)]
        if len(used) == 1:
            (i,) = used
            form = tuple(sp.Integer(k == i) for k in range(len(self.fields)))
            return sp.S.One, {form: e.xreplace({self.fields[i]: FORM})}
        if not isinstance(e, sp.Function | sp.Pow | sp.exp):
            return None
        forms: set[Form] = set()
        try:
            inner = self._in_form(e, forms)
        except sp.PolynomialError:
            return None
        return (sp.S.One, {forms.pop(): inner}) if len(forms) == 1 else None

    def _in_form(self, e: sp.Expr, forms: set[Form]) -> sp.Expr:
        """Return ``e`` with every affine part written in :data:`FORM`; collect the forms found."""
        if not e.has(*self.fields):
            return e
        if e.is_polynomial(*self.fields):
            poly = sp.Poly(e, *self.fields)
            if poly.total_degree() > 1:
                raise sp.PolynomialError
            weights = [poly.coeff_monomial(x) for x in self.fields]
            lead = next(c for c in weights if c != 0)
            forms.add(tuple(sp.radsimp(c / lead) for c in weights))
            return lead * FORM + poly.coeff_monomial(sp.S.One)
        return e.func(*(self._in_form(a, forms) for a in e.args))


def _merged(left: dict[Form, sp.Expr], right: dict[Form, sp.Expr]) -> dict[Form, sp.Expr]:
    total = dict(left)
    for form, factor in right.items():
        total[form] = total[form] * factor if form in total else factor
    return total
