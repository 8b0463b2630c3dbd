r"""Closed forms in the entries of the original covariance, common factors cancelled."""

from __future__ import annotations

from typing import Any

import sympy as sp

from symderiv.gaussian.terms.covariance import Conditions, Gaussian
from symderiv.gaussian.terms.roots import exact_power
from symderiv.gaussian.terms.weights import Entry, Weight

_HALF = sp.Rational(1, 2)
# Above this many terms a weight is left as a sum of products of conditional entries: bringing
# it over one denominator would be slow and would not be shorter.
_LONG = 1500
_SPLIT = 40
_FEW = 12

Denominators = dict[Any, int]


class Unfolded:
    """A form written in the entries of the original covariance.

    Args:
        gaussian: The variables; principal minors orient the factors of polynomials.
    """

    folded = False
    shifted = False

    def __init__(self, gaussian: Gaussian) -> None:
        self.g = gaussian
        self._entries: dict[Entry, sp.Expr] = {}
        # Variances are positive, so their factors of odd multiplicity are.
        for i in range(gaussian.real):
            if gaussian.n((), i, i):
                gaussian.algebra.declare_positive(gaussian.n((), i, i))

    def _sign(self, given: Conditions) -> sp.Expr:
        """Return the sign of d(S), negative only for growing exponentials (numeric covariance)."""
        if not self.g.algebra.numeric:
            return sp.S.One
        return sp.sign(self.g.algebra.expression(self.g.d(given)))

    # -- weights ---------------------------------------------------------------------------

    def weight(self, weight: Weight, symbolic: dict[int, sp.Expr], given: Conditions) -> sp.Expr:
        rational: dict[sp.Expr, Weight] = {}
        for monomial, c in weight.items():
            signs = sp.Mul(
                *(sp.sign(symbolic[int(str(e[1]))]) ** p for e, p in monomial if e[0] == "s")
            )
            rest = tuple(item for item in monomial if item[0][0] != "s")
            rational.setdefault(signs, {})[rest] = c
        return sp.Add(*(s * self._rational(w, given) for s, w in rational.items()))

    def _rational(self, weight: Weight, given: Conditions) -> sp.Expr:
        """Return a weight over one denominator and factored, or as products of entries.

        The shorter form is taken.
        """
        algebra = self.g.algebra
        if not algebra.numeric and self._length(weight) > _LONG:
            return self._as_products(weight)
        terms, common = self._terms(weight)
        total = algebra.domain.zero
        for value, below in terms:
            for d, p in common.items():
                value = value * d ** (p - below.get(d, 0))
            total = total + value
        if not total:
            return sp.S.Zero
        if algebra.numeric:
            return self._written(total, common)
        total, common = self._cancelled(total, common)
        fraction = self._shortest(total, common, {self.g.d(given), *common})
        if len(weight) == 1 or len(weight) > _FEW:
            return fraction
        return min(fraction, self._as_products(weight), key=sp.count_ops)

    def _as_products(self, weight: Weight) -> sp.Expr:
        return sp.Add(
            *(
                sp.Rational(c.numerator, c.denominator)
                * sp.Mul(*(self._entry_expression(entry) ** p for entry, p in monomial))
                for monomial, c in weight.items()
            )
        )

    def _length(self, weight: Weight) -> int:
        """Return a bound on the number of terms of the numerator before anything cancels."""
        total = 0
        bottoms = {self._entry(e)[1] for monomial in weight for e, _ in monomial}
        for monomial in weight:
            size = 1
            for entry, p in monomial:
                top, _ = self._entry(entry)
                size *= _terms_of(top) ** abs(p)
            total += size
        for bottom in bottoms:
            total *= _terms_of(bottom) if len(weight) > 1 else 1
        return total

    def _terms(self, weight: Weight) -> tuple[list[tuple[Any, Denominators]], Denominators]:
        """Return each monomial as numerator and denominators, and the common denominator."""
        algebra = self.g.algebra
        terms: list[tuple[Any, Denominators]] = []
        common: Denominators = {}
        for monomial, c in weight.items():
            value = algebra.element(sp.Rational(c.numerator, c.denominator))
            below: Denominators = {}
            for entry, p in monomial:
                top, bottom = self._entry(entry)
                if p < 0:
                    top, bottom = bottom, top
                value *= top ** abs(p)
                if bottom != algebra.domain.one:
                    below[bottom] = below.get(bottom, 0) + abs(p)
            terms.append((value, below))
            for d, p in below.items():
                common[d] = max(common.get(d, 0), p)
        return terms, common

    def _cancelled(self, total: Any, common: Denominators) -> tuple[Any, Denominators]:
        """Return numerator and denominators after dividing out minors that divide the numerator."""
        left = dict(common)
        for d in common:
            while left[d] > 0:
                quotient = self.g.algebra.divides(d, total)
                if quotient is None:
                    break
                total = quotient
                left[d] -= 1
        return total, {d: p for d, p in left.items() if p}

    def _written(self, total: Any, common: Denominators) -> sp.Expr:
        items = [(total, sp.S.One), *((d, sp.Integer(-p)) for d, p in common.items())]
        return self.g.algebra.product(items)

    def _shortest(
        self, total: Any, common: Denominators, minors: set[Any], depth: int = 2
    ) -> sp.Expr:
        """Return one fraction, or quotient plus remainder by a minor, whichever is shorter."""
        best = self._written(total, common)
        if not depth or not 3 < _terms_of(total) < _SPLIT:
            return best
        for d in sorted(minors, key=lambda d: (-_terms_of(d), str(d))):
            if _terms_of(d) < 2:
                continue
            quotient, rest = divmod(total, d)
            if not quotient or not rest:
                continue
            reduced = dict(common)
            reduced[d] = reduced.get(d, 0) - 1
            split = self._shortest(quotient, reduced, minors, depth - 1)
            split += self._shortest(rest, common, minors, depth - 1)
            if sp.count_ops(split) < sp.count_ops(best):
                best = split
        return best

    def _entry(self, entry: Entry) -> tuple[Any, Any]:
        kind, given = entry[0], entry[1]
        if kind == "s":
            return self.g.algebra.domain.one, self.g.algebra.domain.one
        assert isinstance(given, tuple)
        i = int(str(entry[2]))
        j = int(str(entry[3])) if kind == "c" else self.g.real + int(str(entry[3]))
        return self.g.n(given, i, j), self.g.d(given)

    def _entry_expression(self, entry: Entry) -> sp.Expr:
        if entry not in self._entries:
            above, below = self._entry(entry)
            self._entries[entry] = self.g.algebra.product([(above, sp.S.One), (below, -sp.S.One)])
        return self._entries[entry]

    # -- signs and densities ---------------------------------------------------------------

    def correlation(self, given: Conditions, i: int, j: int) -> sp.Expr:
        g = self.g
        n_ij, n_ii, n_jj = g.n(given, i, j), g.n(given, i, i), g.n(given, j, j)
        if g.algebra.numeric:
            items = [(n_ij, sp.S.One), (n_ii * n_jj, -_HALF)]
        else:
            items = [(n_ij, sp.S.One), (n_ii, -_HALF), (n_jj, -_HALF)]
        return self._sign(given) * g.algebra.product(items)

    def standard_mean(self, given: Conditions, i: int, row: int) -> sp.Expr:
        g = self.g
        mean, variance, size = g.n(given, i, row), g.n(given, i, i), g.d(given)
        if g.algebra.numeric:
            root = g.algebra.product([(mean, sp.S.One), (variance * size, -_HALF)])
            return self._sign(given) * root
        return g.algebra.product([(mean, sp.S.One), (variance, -_HALF), (size, -_HALF)])

    def slope(self, given: Conditions, i: int, j: int, row: int) -> sp.Expr:
        g = self.g
        # m_j C_ii - C_ij m_i over m_i sqrt(C_ii C_jj - C_ij²), in minors.
        above = g.n(given, j, row) * g.n(given, i, i) - g.n(given, i, row) * g.n(given, i, j)
        if not above:
            return sp.S.Zero
        ratio = g.algebra.product([(above, sp.S.One), (g.n(given, i, row), -sp.S.One)])
        return self._sign(given) * ratio / self._minor_root(given, i, j)

    def tangent(self, given: Conditions, i: int, j: int) -> sp.Expr:
        cross = self.g.algebra.expression(self.g.n(given, i, j))
        return self._sign(given) * cross / self._minor_root(given, i, j)

    def _minor_root(self, given: Conditions, i: int, j: int) -> sp.Expr:
        g = self.g
        minor = g.n(given, i, i) * g.n(given, j, j) - g.n(given, i, j) ** 2
        return g.algebra.product([(minor, _HALF)])

    def density(self, given: Conditions) -> tuple[sp.Expr, sp.Expr]:
        g = self.g
        size = (2 * sp.pi) ** sp.Rational(-len(given), 2)
        if given and g.algebra.numeric:
            positive = self._sign(given) * g.algebra.expression(g.d(given))
            size *= exact_power(positive, -_HALF, g.algebra.opaque_roots)
        elif given:
            size *= g.algebra.product([(g.d(given), -_HALF)])
        real, imaginary = g.real, g.imaginary
        exponent = g.n(given, real, real) - g.n(given, imaginary, imaginary)
        phase = self._quotient(g.n(given, real, imaginary), given)
        return size * sp.exp(self._quotient(exponent, given) / 2), phase

    def _quotient(self, above: Any, given: Conditions) -> sp.Expr:
        if not above:
            return sp.S.Zero
        below = self.g.d(given)
        quotient = self.g.algebra.divides(below, above)
        if quotient is not None:
            return sp.expand(self.g.algebra.expression(quotient))
        return self.g.algebra.product([(above, sp.S.One), (below, -sp.S.One)])


def _terms_of(element: Any) -> int:
    """Return the number of terms of a polynomial; 1 for anything else."""
    return len(element) if hasattr(element, "terms") else 1
