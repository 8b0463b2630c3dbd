r"""How conditional covariances are written: unfolded and tidied, or folded into named symbols.

Both views answer the same questions (a covariance, a correlation, a standardised mean, a density),
so that the closed forms of signs are written once.
"""

from __future__ import annotations

from typing import Any, Protocol

import sympy as sp

from symderiv.gaussian.covariance import Conditions, Gaussian
from symderiv.gaussian.weights import Entry, Weight

_HALF = sp.Rational(1, 2)


class View(Protocol):
    """What the closed forms need to know about a conditional Gaussian."""

    g: Gaussian

    def weight(self, weight: Weight, symbolic: dict[int, sp.Expr]) -> sp.Expr:
        """A polynomial in conditional entries."""

    def correlation(self, given: Conditions, i: int, j: int) -> sp.Expr:
        """C_ij / sqrt(C_ii C_jj)."""

    def standard_mean(self, given: Conditions, i: int, row: int) -> sp.Expr:
        """Mean over standard deviation, of the real or imaginary mean row."""

    def slope(self, given: Conditions, i: int, j: int, row: int) -> sp.Expr:
        """(h_j - ρ h_i)/(h_i sqrt(1 - ρ²)) of the standardised means h: Owen's second argument."""

    def tangent(self, given: Conditions, i: int, j: int) -> sp.Expr:
        """ρ / sqrt(1 - ρ²)."""

    def density(self, given: Conditions, tilts: dict[int, sp.Expr]) -> tuple[sp.Expr, sp.Expr]:
        """Density of ``given`` at zero over the constants of the tilts, and its phase."""


class Unfolded:
    """Everything in the entries of the original covariance, common factors cancelled."""

    def __init__(self, gaussian: Gaussian) -> None:
        self.g = gaussian
        # The determinants of the conditioned sets are positive; factors inherit that.
        for i in range(gaussian.real):
            if gaussian.n((), i, i):
                gaussian.algebra.declare_positive(gaussian.n((), i, i))

    def _sign(self, given: Conditions) -> sp.Expr:
        """Orientation of d(S), negative only for growing exponentials (numeric covariance)."""
        if not self.g.algebra.numeric:
            return sp.S.One
        return sp.sign(self.g.algebra.expression(self.g.d(given)))

    def weight(self, weight: Weight, symbolic: dict[int, sp.Expr]) -> sp.Expr:
        rational: dict[sp.Expr, Weight] = {}
        for monomial, c in weight.items():
            signs = sp.Mul(*(
                sp.sign(symbolic[int(str(e[1]))]) ** p for e, p in monomial if e[0] == "s"
            ))  # fmt: skip
            rest = tuple(item for item in monomial if item[0][0] != "s")
            rational.setdefault(signs, {})[rest] = c
        return sp.Add(*(s * self._rational(w) for s, w in rational.items()))

    def _rational(self, weight: Weight) -> sp.Expr:
        """Σ ∏ n/d over one denominator, minors d divided out where they divide."""
        numerator, below = self.fraction(weight)
        if not numerator:
            return sp.S.Zero
        items = [(numerator, sp.S.One)]
        items += [(d, sp.Integer(-p)) for d, p in below if p]
        return self.g.algebra.product(items)

    def fraction(self, weight: Weight) -> tuple[Any, list[tuple[Any, int]]]:
        """Numerator, and (denominator, power) pairs."""
        algebra = self.g.algebra
        one = algebra.domain.one
        terms: list[tuple[Any, dict[Any, int]]] = []
        for monomial, c in weight.items():
            value = algebra.element(sp.Rational(c.numerator, c.denominator))
            below: dict[Any, int] = {}
            for entry, p in monomial:
                top, bottom = self._entry(entry)
                if p < 0:
                    top, bottom = bottom, top
                value *= top ** abs(p)
                if bottom != one:
                    below[bottom] = below.get(bottom, 0) + abs(p)
            terms.append((value, below))
        common: dict[Any, int] = {}
        for _, below in terms:
            for d, p in below.items():
                common[d] = max(common.get(d, 0), p)
        total = algebra.domain.zero
        for value, below in terms:
            for d, p in common.items():
                value = value * d ** (p - below.get(d, 0))
            total = total + value
        if not total:
            return total, []
        for d in common:
            while common[d] > 0:
                quotient = algebra.divides(d, total)
                if quotient is None:
                    break
                total = quotient
                common[d] -= 1
        return total, list(common.items())

    def _entry(self, entry: Entry) -> tuple[Any, Any]:
        kind, given = entry[0], entry[1]
        assert isinstance(given, tuple)
        i = int(str(entry[2]))
        j = int(str(entry[3])) if kind == "c" else self.g.real + int(str(entry[3]))
        return self.g.n(given, i, j), self.g.d(given)

    def correlation(self, given: Conditions, i: int, j: int) -> sp.Expr:
        g = self.g
        root = g.algebra.product(
            [(g.n(given, i, j), sp.S.One), (g.n(given, i, i) * g.n(given, j, j), -_HALF)]
            if g.algebra.numeric
            else [(g.n(given, i, j), sp.S.One), (g.n(given, i, i), -_HALF),
                  (g.n(given, j, j), -_HALF)]
        )  # fmt: skip
        return self._sign(given) * root

    def standard_mean(self, given: Conditions, i: int, row: int) -> sp.Expr:
        g = self.g
        variance = g.n(given, i, i)
        items = [(g.n(given, i, row), sp.S.One)]
        items += [(variance, -_HALF), (g.d(given), -_HALF)]
        if g.algebra.numeric:
            items = [items[0], (variance * g.d(given), -_HALF)]
        return g.algebra.product(items)

    def slope(self, given: Conditions, i: int, j: int, row: int) -> sp.Expr:
        g = self.g
        # m_j C_ii - C_ij m_i over m_i sqrt(C_ii C_jj - C_ij²), in minors.
        above = g.n(given, j, row) * g.n(given, i, i) - g.n(given, i, row) * g.n(given, i, j)
        if not above:
            return sp.S.Zero
        minor = g.n(given, i, i) * g.n(given, j, j) - g.n(given, i, j) ** 2
        return (
            self._sign(given)
            * g.algebra.product([(above, sp.S.One), (g.n(given, i, row), -sp.S.One)])
            * g.algebra.product([(minor, -_HALF)])
        )

    def tangent(self, given: Conditions, i: int, j: int) -> sp.Expr:
        g = self.g
        minor = g.n(given, i, i) * g.n(given, j, j) - g.n(given, i, j) ** 2
        return self._sign(given) * g.algebra.product([(g.n(given, i, j), sp.S.One),
                                                      (minor, -_HALF)])  # fmt: skip

    def density(self, given: Conditions, tilts: dict[int, sp.Expr]) -> tuple[sp.Expr, sp.Expr]:
        g = self.g
        algebra = g.algebra
        scale = algebra.element(sp.S.One)
        for a in tilts.values():
            scale = scale * algebra.element(a)
        deltas = len(given) - len(tilts)
        size = algebra.product([(g.d(given) * scale, -_HALF)]) if given else sp.S.One
        size *= (2 * sp.pi) ** sp.Rational(-deltas, 2)
        real, imaginary = g.real, g.imaginary
        exponent = self._quotient(g.n(given, real, real) - g.n(given, imaginary, imaginary), given)
        phase = self._quotient(g.n(given, real, imaginary), given)
        return size * sp.exp(exponent / 2), phase

    def _quotient(self, above: Any, given: Conditions) -> sp.Expr:
        if not above:
            return sp.S.Zero
        below = self.g.d(given)
        quotient = self.g.algebra.divides(below, above)
        if quotient is not None:
            return sp.expand(self.g.algebra.expression(quotient))
        return self.g.algebra.product([(above, sp.S.One), (below, -sp.S.One)])


class Folded:
    """Every conditional entry that is not trivial gets a name and is defined once.

    Definitions are sequential Schur complements, each in terms of the ones before: short, and
    as stable as elimination gets.
    """

    def __init__(self, gaussian: Gaussian, names: dict[str, sp.Expr]) -> None:
        self.g = gaussian
        self.definitions = names
        self._memo: dict[tuple[Conditions, int, int], sp.Expr] = {}
        self._known: dict[tuple[Conditions, Any], sp.Expr] = {}

    def entry(self, given: Conditions, i: int, j: int) -> sp.Expr:
        """The conditional entry (also of a mean row) as a symbol or short expression."""
        if i > j:
            i, j = j, i
        key = (given, i, j)
        if key not in self._memo:
            self._memo[key] = self._write(given, i, j)
        return self._memo[key]

    def _write(self, given: Conditions, i: int, j: int) -> sp.Expr:
        g = self.g
        value = g.n(given, i, j)
        if not value:
            return sp.S.Zero
        if not given:
            return g.algebra.expression(value)
        before, a = given[:-1], given[-1]
        if g.is_zero(before, i, a) or g.is_zero(before, j, a):
            return self.entry(before, i, j)
        known = self._known.get((given, value))
        if known is not None:
            return known
        pivot = self.entry(before, a, a)
        schur = self._tilted(given, i, j, pivot)
        if schur is None:
            schur = self.entry(before, i, j) - (
                self.entry(before, i, a) * self.entry(before, j, a) / pivot
            )
        symbol = self._symbol(given, i, j)
        self.definitions[symbol.name] = schur
        self._known[given, value] = symbol
        return symbol

    def _tilted(self, given: Conditions, i: int, j: int, pivot: sp.Expr) -> sp.Expr | None:
        """C_ej (1 - C_ee/(C_ee + 1/a)) for the tilted field e itself: no cancellation."""
        g = self.g
        before, a = given[:-1], given[-1]
        noise = g.variables[a].noise
        if noise == 0:
            return None
        for e, other in ((i, j), (j, i)):
            alike = e < g.real and g.variables[e].form == g.variables[a].form
            if alike and (e != other or g.variables[e].noise == 0):
                return self.entry(before, e, other) * noise / pivot
        return None

    def _symbol(self, given: Conditions, i: int, j: int) -> sp.Symbol:
        def label(k: int) -> str:
            g = self.g
            return g.variables[k].label if k < g.real else ("m" if k == g.real else "mi")

        condition = "_".join(label(k) for k in given)
        name = f"c_{label(i)}_{label(j)}_given_{condition}"
        return sp.Symbol(name, positive=True) if i == j < self.g.real else sp.Symbol(
            name, real=True
        )

    def weight(self, weight: Weight, symbolic: dict[int, sp.Expr]) -> sp.Expr:
        def value(entry: Entry) -> sp.Expr:
            if entry[0] == "s":
                return sp.sign(symbolic[int(str(entry[1]))])
            given = entry[1]
            assert isinstance(given, tuple)
            i, k = int(str(entry[2])), int(str(entry[3]))
            return self.entry(given, i, k if entry[0] == "c" else self.g.real + k)

        return sp.Add(*(
            sp.Rational(c.numerator, c.denominator) * sp.Mul(*(value(e) ** p for e, p in monomial))
            for monomial, c in weight.items()
        ))  # fmt: skip

    def correlation(self, given: Conditions, i: int, j: int) -> sp.Expr:
        variances = self.entry(given, i, i) * self.entry(given, j, j)
        return self.entry(given, i, j) / sp.sqrt(variances)

    def standard_mean(self, given: Conditions, i: int, row: int) -> sp.Expr:
        return self.entry(given, i, row) / sp.sqrt(self.entry(given, i, i))

    def slope(self, given: Conditions, i: int, j: int, row: int) -> sp.Expr:
        mean_i, mean_j = self.entry(given, i, row), self.entry(given, j, row)
        cross, variance = self.entry(given, i, j), self.entry(given, i, i)
        return (mean_j * variance - cross * mean_i) / (mean_i * self._minor_root(given, i, j))

    def tangent(self, given: Conditions, i: int, j: int) -> sp.Expr:
        return self.entry(given, i, j) / self._minor_root(given, i, j)

    def _minor_root(self, given: Conditions, i: int, j: int) -> sp.Expr:
        cross = self.entry(given, i, j)
        return sp.sqrt(self.entry(given, i, i) * self.entry(given, j, j) - cross**2)

    def density(self, given: Conditions, tilts: dict[int, sp.Expr]) -> tuple[sp.Expr, sp.Expr]:
        g = self.g
        size = sp.S.One
        for k, a in enumerate(given):
            pivot = self.entry(given[:k], a, a)
            scale = sp.expand(tilts[a] * pivot) if a in tilts else 2 * sp.pi * pivot
            size /= sp.sqrt(scale)
        real, imaginary = g.real, g.imaginary
        exponent = self.entry(given, real, real) - self.entry(given, imaginary, imaginary)
        return size * sp.exp(exponent / 2), self.entry(given, real, imaginary)
