r"""Expectations of products of one-variable functions of jointly Gaussian fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import sympy as sp

from symderiv.foundation.documents.written_derivation import Step
from symderiv.foundation.errors import InputError
from symderiv.gaussian.forms.evaluate import Value, evaluated
from symderiv.gaussian.forms.folded import Folded
from symderiv.gaussian.forms.tidy import tidied
from symderiv.gaussian.forms.unfolded import Unfolded
from symderiv.gaussian.functions import SignMean4
from symderiv.gaussian.narrate import Narrator
from symderiv.gaussian.rules import Moments
from symderiv.gaussian.setup import GaussianProblem, PreparedTerm, check_tilts, prepare
from symderiv.gaussian.signs import FormUses, SignMeans
from symderiv.gaussian.terms import weights
from symderiv.gaussian.terms.covariance import Conditions, Gaussian, Shift, validated
from symderiv.gaussian.terms.views import View
from symderiv.gaussian.terms.weights import Weight
from symderiv.gaussian.terms.working_terms import TermReader, Terms, restricted, sign_of

_Leaf = tuple[Conditions, tuple[int, ...]]  # conditions S, signs
_Sum = dict[_Leaf, dict[sp.Expr, Weight]]


@dataclass(frozen=True)
class DerivedExpectation:
    """The expectation of a product of functions of Gaussian fields.

    Args:
        statement: LaTeX of E[...].
        value: Closed form; with ``definitions`` it is written in their symbols.
        definitions: Named conditional covariances in order, each in terms of earlier ones and the
            entries of the covariance; empty unless folded.
        sign_factors: Largest number of sign factors left after all reductions.
        method: "closed-form", or "orthant-integral" if SignMean4 occurs.
        told: Returns the steps of the derivation; called late, because writing them takes longer
            than deriving.
    """

    statement: str
    value: sp.Expr
    definitions: tuple[tuple[sp.Symbol, sp.Expr], ...]
    sign_factors: int
    method: str
    told: Callable[[], tuple[Step, ...]] = field(repr=False, compare=False)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps of the derivation."""
        return self.told()

    def __getstate__(self) -> dict[str, Any]:
        # polynomials in the callback cannot be pickled, the finished steps can
        return {**self.__dict__, "steps": self.steps, "told": partial(tuple, self.steps)}

    def unfolded(self) -> sp.Expr:
        """Return the value with all definitions substituted (not tidied)."""
        value = self.value
        for symbol, definition in reversed(self.definitions):
            value = value.xreplace({symbol: definition})
        return value

    def evaluate(self, digits: int) -> Value:
        """Return the number, to ``digits`` significant digits.

        Raises:
            InputError: Symbols are left.
            ToleranceError: The digits were not reached.
        """
        return evaluated(self.unfolded(), digits, self.method)

    def _repr_latex_(self) -> str:
        return f"${self.statement} = {sp.latex(self.value)}$"


def expectation(
    integrand: sp.Expr,
    fields: Sequence[sp.Symbol],
    covariance: sp.Matrix,
    mean: sp.Matrix | None = None,
    *,
    folded: bool = False,
) -> DerivedExpectation:
    r"""Return E[integrand] over jointly Gaussian fields, derived by rules.

    Args:
        integrand: Products and sums of polynomials, exp of quadratics, sin, cos, erf, sign,
            Heaviside, abs, Max, Min, DiracDelta (and derivatives) of affine functions of fields.
        fields: The n fields.
        covariance: Shape (n, n), symmetric positive semidefinite, entries exact: numbers (also
            square roots) or rational functions of symbols; dimensionless. Symbols on the diagonal
            are taken as positive.
        mean: n entries; zero by default.
        folded: Name the conditional covariances instead of writing them out (for generated code).

    Returns:
        The closed form with its derivation. For numeric covariances degenerate cases (zero
        variance, |ρ| = 1, rank loss) come out as limits.

    Raises:
        InputError: A field is also a parameter; the covariance is not positive semidefinite.
        ShapeError, InexactError: See :func:`covariance.validated`.
        DivergentError: The expectation does not exist; says for which variances it would.
        NotYetError: Too many sign factors, or a factor outside the class.
    """
    if not isinstance(integrand, sp.Expr | int):
        raise InputError(
            f"the integrand must be a SymPy expression, not {type(integrand).__name__}"
        )
    integrand = sp.sympify(integrand)
    entries, means = validated(covariance, mean, len(fields))
    _check_names(fields, entries, means)
    used, terms = restricted(TermReader(fields).read(integrand), fields)
    used_fields = [fields[i] for i in used]
    block = [[entries[i][j] for j in used] for i in used]

    def run(opaque_roots: bool) -> DerivedExpectation:
        problem = prepare(terms, used_fields, block, [means[i] for i in used], opaque_roots)
        check_tilts(problem)
        shifted = bool(integrand.free_symbols - set(fields)) or any(m.free_symbols for m in means)
        return _Engine(problem, integrand, terms, folded, shifted).run()

    try:
        return run(opaque_roots=False)
    except InputError:
        raise
    except ValueError:
        # SymPy failed to take a square out of a large integer.
        return run(opaque_roots=True)


def _check_names(
    fields: Sequence[sp.Symbol], entries: list[list[sp.Expr]], means: list[sp.Expr]
) -> None:
    if len(set(fields)) != len(fields):
        raise InputError("the fields must be different symbols")
    names = {x.name for x in fields}
    for e in [*means, *(e for row in entries for e in row)]:
        for s in e.free_symbols:
            if s.name in names:
                raise InputError(f"{s.name} is a field and also occurs in the covariance or mean")


class _Engine:
    """One derivation: reduces every term to means of signs, then writes the sum in closed form."""

    def __init__(
        self,
        problem: GaussianProblem,
        integrand: sp.Expr,
        terms: Terms,
        folded: bool,
        shifted: bool,
    ) -> None:
        self.problem = problem
        self.folded = folded and not problem.algebra.numeric
        # True if symbols of any size are added to fields
        self.shifted = shifted
        self.names: dict[str, sp.Expr] = {}
        self.forms: FormUses = {}
        self.narrator = Narrator(problem, integrand, terms)
        self.sign_factors = 0

    def run(self) -> DerivedExpectation:
        by_shift: dict[Shift, list[PreparedTerm]] = {}
        for term in self.problem.terms:
            by_shift.setdefault(term.shift, []).append(term)
        parts = []
        for shift, terms in by_shift.items():
            orientation = _orientation(shift)
            if orientation < 0:
                continue  # the complex conjugate exponent is counted twice instead
            parts.append(self._part(self.problem.gaussian(shift), terms, orientation > 0))
        value = tidied(sp.Add(*parts), self.folded)
        definitions = self._definitions(value)
        return DerivedExpectation(
            self.narrator.statement,
            value,
            definitions,
            self.sign_factors,
            "orthant-integral" if value.has(SignMean4) else "closed-form",
            partial(self.narrator.steps, value, definitions, self.forms),
        )

    def _part(
        self, gaussian: Gaussian, terms: Iterable[PreparedTerm], oscillating: bool
    ) -> sp.Expr:
        """Return the sum of all terms with one linear exponent, or twice its real part if it
        oscillates.
        """
        moments = Moments(gaussian, self.narrator.witness(gaussian))
        total: _Sum = {}
        for term in terms:
            coefficient = sp.expand(term.coefficient)
            unit_parts = [(coefficient.coeff(sp.I, 0), 0), (coefficient.coeff(sp.I, 1), 1)]
            start = (term.tilts, term.powers, term.signs, term.deltas)
            leaves = moments.reduce(start)
            for value, power in unit_parts:
                for rational, unit in _units(value):
                    weight = weights.scaled(_imaginary(power), rational)
                    self._collect(total, leaves, weight, unit)
        return self._sum(gaussian, moments, total, oscillating)

    def _collect(
        self,
        total: _Sum,
        leaves: dict[tuple[Conditions, tuple[int, ...]], Weight],
        weight: Weight,
        unit: sp.Expr,
    ) -> None:
        for (given, signs), value in leaves.items():
            slot = total.setdefault((given, signs), {}).setdefault(unit, {})
            weights.add(slot, weights.times(weight, value))

    def _sum(self, gaussian: Gaussian, moments: Moments, total: _Sum, oscillating: bool) -> sp.Expr:
        view = self._view(gaussian)
        means = SignMeans(view, self.forms)
        reflects = gaussian.reflects
        result = []
        for (given, signs), by_unit in sorted(total.items(), key=lambda item: item[0]):
            real, imaginary = sp.S.Zero, sp.S.Zero
            for unit, weight in by_unit.items():
                x, y = weights.real_and_imaginary(weight)
                real += unit * view.weight(x, moments.symbolic, given)
                imaginary += unit * view.weight(y, moments.symbolic, given)
            if reflects:
                # z -> -z conjugates the mean of the signs and changes its sign if they are odd in
                # number: only one part of the weight can contribute to a real result.
                real, imaginary = (sp.S.Zero, imaginary) if len(signs) % 2 else (real, sp.S.Zero)
            if real == 0 and imaginary == 0:
                continue
            self.sign_factors = max(self.sign_factors, len(signs))
            density, phase = view.density(given)
            value = _complex_product(
                [
                    (real, imaginary),
                    (sp.cos(phase), sp.sin(phase)),
                    means.mean(given, signs),
                ]
            )
            factors = [*_primitive_factors(value[0]), *sp.Mul.make_args(density)]
            result.append(sp.Mul(2 if oscillating else 1, *factors))
        return sp.Add(*result)

    def _view(self, gaussian: Gaussian) -> View:
        if not self.folded:
            return Unfolded(gaussian)
        position = list(self.problem.gaussians.values()).index(gaussian)
        mark = str(position + 1) if position else ""
        return Folded(gaussian, self.names, mark, self.shifted)

    def _definitions(self, value: sp.Expr) -> tuple[tuple[sp.Symbol, sp.Expr], ...]:
        """Return the definitions the value needs, in an order in which each uses earlier ones."""
        needed: dict[sp.Symbol, sp.Expr] = {}

        def visit(e: sp.Expr) -> None:
            for s in sorted(e.free_symbols, key=str):
                if s.name in self.names and s not in needed:
                    visit(self.names[s.name])
                    needed[s] = self.names[s.name]

        visit(value)
        return tuple(needed.items())


def _orientation(shift: Shift) -> int:
    """Return 0 for a real exponent, else ±1, opposite for the complex conjugate exponent."""
    for b in (*shift.imaginary, shift.imaginary_constant):
        if b != 0:
            sign = sign_of(b)
            if sign is None:
                return -1 if b.could_extract_minus_sign() else 1
            return sign
    return 0


def _units(value: sp.Expr) -> list[tuple[sp.Rational, sp.Expr]]:
    """Return a coefficient as rationals times units (roots, powers of π, parameters)."""
    return [
        term.as_coeff_Mul(rational=True) for term in sp.Add.make_args(sp.expand(value)) if term != 0
    ]


def _primitive_factors(value: sp.Expr) -> list[sp.Expr]:
    """Return the factors with numbers taken out of sums, which then cancel against roots of equal
    sums.
    """
    primitive: list[sp.Expr] = []
    for factor in sp.Mul.make_args(value):
        primitive += factor.primitive() if factor.is_Add else [factor]
    return primitive


def _imaginary(power: int) -> Weight:
    return weights.of_entry(weights.IMAGINARY) if power else weights.ONE


def _complex_product(factors: Iterable[tuple[sp.Expr, sp.Expr]]) -> tuple[sp.Expr, sp.Expr]:
    real, imaginary = sp.S.One, sp.S.Zero
    for x, y in factors:
        real, imaginary = real * x - imaginary * y, real * y + imaginary * x
    return real, imaginary
