r"""Means of products of activations that contain tanh: sums over erf mixtures.

With :math:`g(x) = \sum_k w_k \mathrm{erf}(a_k x) + r(x)`, r affine, a mean of a product multiplies
out into means in which every slot holds either erf or r. erf(a x) is erf of the field a x, so each
of these is one closed form of erf, derived once, at covariances scaled by the a of its slots. Which
rows of the mixture the slots take stays a sum over the tables of the module. Two slopes at one
field have a table of their own, of squares of the slopes of error functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

import sympy as sp
from symderiv_codegen import Row, TableTerm

from symderiv.gaussian import covariance_symbols, derivative
from symderiv.gaussian.erf_mixture import ErfMixture, SlopeSquare
from symderiv.lowering.means.closed_means import (
    ClosedMean,
    X,
    closed_mean,
    field_symbols,
    upper_triangle,
)
from symderiv.lowering.means.patterns import Kind, Pattern
from symderiv.lowering.means.regularity import Form
from symderiv.lowering.means.stable import stable


@dataclass(frozen=True)
class MixtureTables:
    """A mixture, that of products of two slopes if it has one, and the names of their tables."""

    mixture: ErfMixture
    prefix: str
    square: SlopeSquare | None = None

    @property
    def constants(self) -> dict[str, int | tuple[float, ...]]:
        """The module's constants that hold the mixtures."""
        known: dict[str, int | tuple[float, ...]] = {}
        for prefix, sums in ((self.prefix, self.mixture), (self.of_squares, self.square)):
            if sums is not None:
                known[f"{prefix}_TERMS"] = sums.terms
                known[f"{prefix}_WEIGHT"] = sums.weights
                known[f"{prefix}_SCALE"] = sums.scales
        return known

    @property
    def of_squares(self) -> str:
        """The prefix of the tables of squares of slopes."""
        return f"{self.prefix}_SQUARE"


Tables = Mapping[bool, MixtureTables]
"""The mixtures of the student (False) and of the teacher (True), where they have one."""


@dataclass(frozen=True)
class MixtureIntegral:
    """The mean of one pattern as sums over tables.

    Attributes:
        terms: One sum for every choice of the slots that take erf and not the affine rest.
        form: The closed form with one error function in place of every mixture, by which its domain
            is examined; it has all terms, because any of them may reach an edge.
        sign_factors: The largest number of sign factors left in a term.
    """

    pattern: Pattern
    arguments: tuple[sp.Symbol, ...]
    terms: tuple[TableTerm, ...]
    form: Form
    sign_factors: int


def mixture_integral(
    pattern: Pattern,
    tables: Tables,
    factor: Callable[[Kind, sp.Expr], sp.Expr],
    biases: tuple[sp.Symbol, ...] = (),
) -> MixtureIntegral:
    """Return the mean of a pattern in which every factor of a mixture has a field of its own, or
    shares it with another slope for which a mixture of products exists.

    Args:
        pattern: Factors by field.
        tables: The mixtures.
        factor: The other factors as functions of a field.
        biases: The biases of the fields; empty if there are none.
    """
    size = len(pattern.fields)
    fields = field_symbols(size)
    covariance = covariance_symbols(size)
    arguments = (*(covariance[a, b] for a, b in upper_triangle(size)), *biases)
    places = [field + (biases[n] if biases else 0) for n, field in enumerate(fields)]
    mixed = [n for n, group in enumerate(pattern.fields) if group[0][0] in tables]
    plain = sp.Mul(
        *(
            factor(kind, places[n])
            for n, group in enumerate(pattern.fields)
            if n not in mixed
            for kind in group
        )
    )
    terms: list[TableTerm] = []
    definitions: list[tuple[sp.Symbol, sp.Expr]] = []
    value, signs = sp.Integer(0), 0
    for count in range(len(mixed), -1, -1):
        for chosen in combinations(mixed, count):
            integrand = plain
            for n in mixed:
                for teacher, order in pattern.fields[n]:
                    part = sp.erf(X) if n in chosen else tables[teacher].mixture.form.rest
                    integrand *= derivative(part, order).xreplace({X: places[n]})
            if integrand == 0:
                continue
            mean = closed_mean(integrand, (False,) * size)
            signs = max(signs, mean.sign_factors)
            if mean.value != 0:
                terms.append(_term(pattern, tables, chosen, (covariance, biases), mean))
                # the definitions of different terms may share names
                own = {s: sp.Symbol(f"{s}_{len(terms)}", real=True) for s, _ in mean.definitions}
                definitions += [(own[s], e.xreplace(own)) for s, e in mean.definitions]
                value += mean.value.xreplace(own)
    form = (arguments, tuple(definitions), value)
    return MixtureIntegral(pattern, arguments, tuple(terms), form, signs)


def _term(
    pattern: Pattern,
    tables: Tables,
    chosen: tuple[int, ...],
    given: tuple[sp.Matrix, tuple[sp.Symbol, ...]],
    mean: ClosedMean,
) -> TableTerm:
    """Return the closed form at scaled fields, with its weight, as a sum over the table rows of the
    chosen slots.
    """
    covariance, biases = given
    scales = [sp.Integer(1)] * covariance.rows
    weight = sp.Integer(1)
    rows = []
    for n in chosen:
        factors, table = pattern.fields[n], tables[pattern.fields[n][0][0]]
        scale = sp.Symbol(f"a{n + 1}", positive=True)
        amount = sp.Symbol(f"w{n + 1}", real=True)
        scales[n] = scale
        weight *= amount * scale ** sum(order for _, order in factors)
        prefix = table.prefix if len(factors) == 1 else table.of_squares
        entries = ((amount, f"{prefix}_WEIGHT"), (scale, f"{prefix}_SCALE"))
        rows.append(Row(f"{prefix}_TERMS", entries))
    scaled = {
        covariance[a, b]: scales[a] * scales[b] * covariance[a, b]
        for a, b in upper_triangle(covariance.rows)
    }
    scaled |= {bias: scales[n] * bias for n, bias in enumerate(biases)}
    definitions = tuple((s, e.xreplace(scaled)) for s, e in mean.definitions)
    value = weight * stable(mean.value).xreplace(scaled)
    return TableTerm(tuple(rows), definitions, value, _exchangeable(pattern, chosen, given))


def _exchangeable(
    pattern: Pattern,
    chosen: tuple[int, ...],
    given: tuple[sp.Matrix, tuple[sp.Symbol, ...]],
) -> tuple[tuple[tuple[sp.Symbol, sp.Symbol], ...], ...]:
    """Return the pairs of moments that an exchange of the first two chosen slots swaps, then those
    for the next two; a pair of different factors has none.
    """
    covariance, biases = given
    paired = []
    for first, second in zip(chosen[::2], chosen[1::2], strict=False):
        pairs = []
        if pattern.fields[first] == pattern.fields[second]:
            others = [n for n in range(covariance.rows) if n not in (first, second)]
            pairs = [(covariance[first, first], covariance[second, second])]
            pairs += [(covariance[first, n], covariance[second, n]) for n in others]
            if biases:
                pairs.append((biases[first], biases[second]))
        paired.append(tuple(pairs))
    return tuple(paired)
