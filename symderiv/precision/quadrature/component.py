r"""A product of one-variable functions of Gaussian variables, in independent standard normals.

z = mean + L t. Variables that enter as polynomials only come last: their normals beyond the rank of
the others are integrated out exactly, which leaves a polynomial in the normals of the others. So
E[g'(u) v g(w)] is an expectation over two normals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import sympy as sp
from flint import arb, arb_mat

from symderiv.precision.balls.expression_balls import ball
from symderiv.precision.balls.working import working_bits
from symderiv.precision.quadrature.one_variable import OneVariable
from symderiv.precision.quadrature.separation import FORM, Fields

Polynomial = dict[tuple[int, ...], arb]  # powers of t_1 ... t_d -> coefficient (arb)


@dataclass(frozen=True)
class Factor:
    """A factor f(mean + loading · t), with exact mean and loading."""

    function: OneVariable
    mean: sp.Expr
    loading: tuple[sp.Expr, ...]

    @property
    def level(self) -> int:
        """Return the last normal it depends on, counted from 1; 0 for a constant."""
        return max((i + 1 for i, v in enumerate(self.loading) if v != 0), default=0)


class FactorComponent:
    """The expectation E[∏ f_a(z_a)] over jointly Gaussian z, prepared for quadrature.

    Args:
        functions: One per variable, in :data:`FORM`.
        fields: The variables' law.
    """

    def __init__(self, functions: list[sp.Expr], fields: Fields) -> None:
        self._functions, self._fields = functions, fields
        polynomial = [g.is_polynomial(FORM) for g in functions]
        general = [a for a, simple in enumerate(polynomial) if not simple]
        rows = fields.loadings(general)
        self._all = [
            Factor(OneVariable(g, FORM), m, tuple(row))
            for g, m, row in zip(functions, fields.mean, rows, strict=True)
        ]
        constant = [a for a in general if self._all[a].level == 0]
        #: Functions of variables without fluctuations, as numbers.
        self.constants = [functions[a].subs(FORM, fields.mean[a]) for a in constant]
        chosen = [a for a in general if a not in constant]
        self.dimension = max((self._all[a].level for a in chosen), default=0)
        self.factors = [
            Factor(f.function, f.mean, f.loading[: self.dimension])
            for f in (self._all[a] for a in chosen)
        ]
        self._polynomial = [f for f, simple in zip(self._all, polynomial, strict=True) if simple]
        parities = [f.function.parity() for f in self._all]
        centred = all(f.mean == 0 for f in self._all)
        known = centred and all(parities)
        #: -1: zero by reflection; 1: t and -t contribute equally; 0: neither is known.
        self.parity = sp.prod(parities) if known else 0

    @property
    def has_polynomials(self) -> bool:
        """Return whether some variables enter as polynomials only."""
        return bool(self._polynomial)

    @property
    def reflects(self) -> bool:
        """Return whether t and -t are known to contribute equally."""
        return bool(self.parity == 1)

    def merged(self) -> FactorComponent:
        """Return the component with functions of proportional variables multiplied into one.

        E[f(x) g(c x + d)] is E[h(x)] with h(x) = f(x) g(c x + d).
        """
        functions = list(self._functions)
        distinct = list(range(len(functions)))
        rows = [f.loading for f in self._all]
        for b in range(len(functions)):
            for a in distinct:
                if a >= b or b not in distinct:
                    continue
                ratio = _ratio(rows[b], rows[a])
                if ratio is not None:
                    shifted = ratio * (FORM - self._all[a].mean) + self._all[b].mean
                    functions[a] = functions[a] * functions[b].subs(FORM, sp.expand(shifted))
                    distinct.remove(b)
        covariance, mean = self._fields.covariance, self._fields.mean
        law = Fields(
            [[covariance[i][j] for j in distinct] for i in distinct], [mean[i] for i in distinct]
        )
        return FactorComponent([functions[i] for i in distinct], law)

    def means(self, bits: int) -> list[arb]:
        """Return the means of the factors' variables."""
        with working_bits(bits):
            return [ball(f.mean, bits) for f in self.factors]

    def loading(self, bits: int) -> list[list[arb]]:
        """Return L, one row per factor, ``dimension`` columns."""
        with working_bits(bits):
            return [[ball(v, bits) for v in f.loading] for f in self.factors]

    def polynomial(self, bits: int) -> Polynomial:
        """Return the polynomial in t_1 ... t_d that the polynomial factors give on average."""
        with working_bits(bits):
            columns = len(self._all[0].loading) if self._all else 0
            total: Polynomial = {(0,) * columns: arb(1)}
            for f in self._polynomial:
                row = _affine(f, columns, bits)
                power: Polynomial = {(0,) * columns: arb(1)}
                value: Polynomial = {}
                for c in reversed(sp.Poly(f.function.expression, FORM).all_coeffs()):
                    coefficient = ball(c, bits)
                    value = _sum(value, {k: coefficient * v for k, v in power.items()})
                    power = _times(power, row)
                total = _times(total, value)
            d = self.dimension
            result: Polynomial = {}
            for powers, value_ in total.items():
                moment = 1
                for k in powers[d:]:
                    moment *= 0 if k % 2 else int(sp.factorial2(k - 1))
                if moment and not value_.is_zero():
                    result = _sum(result, {powers[:d]: value_ * moment})
            return result

    @cached_property
    def _sized(self) -> Polynomial:
        return self.polynomial(64)

    @property
    def powers(self) -> tuple[int, ...]:
        """Return the largest power of each normal in the polynomial."""
        return tuple(max((k[i] for k in self._sized), default=0) for i in range(self.dimension))

    def in_variables(self, bits: int) -> Polynomial:
        """Return the polynomial in x = z - mean of the factors' variables, which must be
        ``dimension`` many.
        """
        with working_bits(bits):
            inverse = arb_mat(self.loading(bits)).inv() if self.dimension else arb_mat(0, 0)
            d = self.dimension
            normals: list[Polynomial] = [
                {tuple(int(k == j) for k in range(d)): inverse[i, j] for j in range(d)}
                for i in range(d)
            ]
            total: Polynomial = {}
            for powers, value in self.polynomial(bits).items():
                term: Polynomial = {(0,) * d: value}
                for i, k in enumerate(powers):
                    for _ in range(k):
                        term = _times(term, normals[i])
                total = _sum(total, term)
            return {k: v for k, v in total.items() if not v.is_zero()}

    def polynomial_size(self, rate: float) -> arb:
        """Return B with |polynomial| <= B ∏ exp(rate |t_i|), over the normals that occur in it."""
        total = arb(0)
        for powers, value in self._sized.items():
            size = abs(value)
            for k in powers:
                # x^k exp(-c x) is largest at x = k/c
                size = size * (k / (arb.const_e() * rate)) ** k if k else size
            total = total + size
        return total


def _ratio(row: tuple[sp.Expr, ...], other: tuple[sp.Expr, ...]) -> sp.Expr | None:
    """Return c with row = c other, or None; rows of zeros are constants and have none."""
    place = next((i for i, v in enumerate(other) if v != 0), None)
    if place is None or row[place] == 0:
        return None
    ratio = sp.radsimp(row[place] / other[place])
    pairs = zip(row, other, strict=True)
    return ratio if all(sp.radsimp(sp.expand(u - ratio * v)) == 0 for u, v in pairs) else None


def _affine(f: Factor, columns: int, bits: int) -> Polynomial:
    row: Polynomial = {}
    if f.mean != 0:
        row[(0,) * columns] = ball(f.mean, bits)
    for i, v in enumerate(f.loading):
        if v != 0:
            row[tuple(int(j == i) for j in range(columns))] = ball(v, bits)
    return row


def _sum(left: Mapping[tuple[int, ...], arb], right: Mapping[tuple[int, ...], arb]) -> Polynomial:
    total = dict(left)
    for k, v in right.items():
        total[k] = total[k] + v if k in total else v
    return total


def _times(left: Polynomial, right: Polynomial) -> Polynomial:
    total: Polynomial = {}
    for j, u in left.items():
        for k, v in right.items():
            key = tuple(a + b for a, b in zip(j, k, strict=True))
            total[key] = total[key] + u * v if key in total else u * v
    return total
