r"""Gaussian variables of an integrand's normal form: signs, deltas and tilts.

erf(l) = E_w sgn(√2 l - w) with w ~ N(0, 1): the sign of one more Gaussian variable. Divided by √2
times the leading coefficient it is the field itself plus noise of variance 1/(2α²). A factor
exp(-a l²/2) is √(2π/a) times the density of l + noise of variance 1/a at zero: tilting is
conditioning, and the same noisy variables serve both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import sympy as sp

from symderiv.foundation.errors import DivergentError, InputError
from symderiv.gaussian.terms.algebra import Algebra
from symderiv.gaussian.terms.covariance import Gaussian, Shift, Variable
from symderiv.gaussian.terms.working_terms import Affine, TermKey, Terms, sign_of

_MAX_DEGREE = 400


@dataclass
class PreparedTerm:
    """One term written in Gaussian variables, to which the rules are applied."""

    coefficient: sp.Expr
    shift: Shift
    tilts: tuple[int, ...]
    powers: tuple[tuple[int, int], ...]
    signs: tuple[int, ...]
    deltas: tuple[tuple[int, int], ...]


@dataclass
class GaussianProblem:
    """All terms, their variables, and the common domain."""

    fields: tuple[sp.Symbol, ...]
    variables: list[Variable]
    terms: list[PreparedTerm]
    algebra: Algebra
    covariance: list[list[sp.Expr]]
    mean: list[sp.Expr]
    gaussians: dict[Shift, Gaussian] = field(default_factory=dict)

    def gaussian(self, shift: Shift) -> Gaussian:
        """Return the law of the variables under a linear exponent."""
        if shift not in self.gaussians:
            element = self.algebra.element
            self.gaussians[shift] = Gaussian(
                self.algebra,
                [[element(e) for e in row] for row in self.covariance],
                [element(m) for m in self.mean],
                self.variables,
                shift,
            )
        return self.gaussians[shift]


@lru_cache(maxsize=256)
def _parts_of_exponent(
    exponent: sp.Expr, fields: tuple[sp.Symbol, ...]
) -> tuple[tuple[tuple[sp.Expr, Affine], ...], Shift]:
    """Return the pairs (a, l) and the linear part of exp(exponent) = exp(-Σ a (l·z)²/2) exp(shift).

    Results are cached, because most terms of an integrand share a few exponents.
    """
    matrix, shift = _split_exponent(exponent, fields)
    return tuple(_squares(matrix, fields)), shift


def _split_exponent(exponent: sp.Expr, fields: Sequence[sp.Symbol]) -> tuple[sp.Matrix, Shift]:
    """Return the matrix A and the linear part of exp(exponent) = exp(-zᵀ A z/2) exp(shift)."""
    if not fields:
        return sp.zeros(0, 0), Shift((), ())
    imaginary = sp.expand(exponent.coeff(sp.I)) if exponent.has(sp.I) else sp.S.Zero
    real = sp.expand(exponent - sp.I * imaginary)
    poly = sp.Poly(real, *fields)
    wave = sp.Poly(imaginary, *fields)
    n = len(fields)

    def quadratic(i: int, j: int) -> sp.Expr:
        c = poly.coeff_monomial(fields[i] * fields[j])
        return -2 * c if i == j else -c

    shift = Shift(
        tuple(poly.coeff_monomial(x) for x in fields),
        tuple(wave.coeff_monomial(x) for x in fields),
        poly.coeff_monomial(sp.S.One),
        wave.coeff_monomial(sp.S.One),
    )
    return sp.Matrix(n, n, quadratic), shift


def _squares(matrix: sp.Matrix, fields: Sequence[sp.Symbol]) -> list[tuple[sp.Expr, Affine]]:
    """Return zᵀ A z as a sum Σ a (l·z)², decaying squares first."""
    n = matrix.shape[0]
    rest = matrix.copy()
    squares: list[tuple[sp.Expr, Affine]] = []
    while not rest.is_zero_matrix:
        pivot = next((k for k in range(n) if rest[k, k] != 0), None)
        if pivot is None:
            # Only products x y are left: x y = ((x+y)² - (x-y)²)/4.
            i, j = next((i, j) for i in range(n) for j in range(i) if rest[i, j] != 0)
            for sign in (1, -1):
                row = [sp.S.Zero] * n
                row[i], row[j] = sp.S.One, sp.Integer(sign)
                squares.append((sign * rest[i, j] / 2, Affine(tuple(row), sp.S.Zero)))
            rest[i, j] = rest[j, i] = 0
            continue
        head = rest[pivot, pivot]
        form = tuple(sp.cancel(rest[pivot, k] / head) for k in range(n))
        squares.append((head, Affine(form, sp.S.Zero)))
        rest = (rest - head * sp.Matrix(n, n, lambda i, j, f=form: f[i] * f[j])).applyfunc(
            sp.cancel
        )
    return sorted(squares, key=lambda item: sign_of(item[0]) == -1)


class _Variables:
    """Collects the variables of all terms, each once."""

    def __init__(self, fields: Sequence[sp.Symbol]) -> None:
        self.fields = fields
        self.noisy: dict[tuple[Affine, sp.Expr, int], None] = {}
        self.sharp: dict[Affine, None] = {}

    def unit(self, index: int) -> Affine:
        """Return the affine form that is one of the fields."""
        n = len(self.fields)
        return Affine(tuple(sp.Integer(k == index) for k in range(n)), sp.S.Zero)

    def noise_form(self, form: Affine) -> tuple[Affine, sp.Expr]:
        """Return the form and noise of erf(l) as a sign: l/α plus noise of variance 1/(2α²)."""
        lead = form.leading()
        if lead.is_number:
            return form.scaled(sp.radsimp(1 / lead)), sp.radsimp(1 / (2 * lead**2))
        return form, sp.Rational(1, 2)

    def build(self) -> tuple[list[Variable], dict[object, int]]:
        """Return the variables in canonical order (noisy, growing, plain), and their indices."""
        plain = {self.unit(i): None for i in range(len(self.fields))} | self.sharp
        variables: list[Variable] = []
        index: dict[object, int] = {}
        count: Counter[str] = Counter()

        def add(key: object, form: Affine, noise: sp.Expr, kind: str, copy: int = 0) -> None:
            label, latex = self._name(form, kind, count)
            index[key] = len(variables)
            variables.append(Variable(form, noise, label, latex, copy))

        for item in sorted(self.noisy, key=lambda t: (sign_of(t[1]) == -1, *self._key(t))):
            add(item, item[0], item[1], "s", item[2])
        rank = {form: k for k, form in enumerate(plain)}
        others = len(self.fields)
        for form in sorted(
            plain, key=lambda f: (min(rank[f], others), *self._key((f, sp.S.Zero, 0)))
        ):
            add(form, form, sp.S.Zero, "x" if form in self._units() else "l")
        return variables, index

    def _units(self) -> set[Affine]:
        return {self.unit(i) for i in range(len(self.fields))}

    def _key(self, item: tuple[Affine, sp.Expr, int]) -> tuple[object, ...]:
        form, noise, copy = item
        where = [i for i, c in enumerate(form.coefficients) if c != 0]
        return (where, tuple(map(repr, form.order())), sp.default_sort_key(noise), copy)

    def _name(self, form: Affine, kind: str, count: Counter[str]) -> tuple[str, str]:
        where = [i for i, c in enumerate(form.coefficients) if c != 0]
        if kind == "x":
            return str(where[0] + 1), sp.latex(self.fields[where[0]])
        label = kind + "".join(str(i + 1) for i in where)
        count[label] += 1
        names = "".join(sp.latex(self.fields[i]) for i in where)
        again = count[label] - 1
        letter = {"s": "s", "l": r"\ell"}[kind]
        mark = "'" * again if again < 3 else f"^{{({again})}}"
        return label + "b" * again, f"{letter}{mark}_{{{names}}}"


def prepare(
    terms: Terms,
    fields: Sequence[sp.Symbol],
    covariance: list[list[sp.Expr]],
    mean: list[sp.Expr],
    opaque_roots: bool = False,
) -> GaussianProblem:
    """Return a problem's variables, domain and terms, the starting point of the rules.

    Raises:
        DivergentError: A growing exponential that does not (or not always) have an expectation.
    """
    for key in terms:
        if sum(key.powers) > _MAX_DEGREE:
            raise InputError(
                f"a monomial of degree {sum(key.powers)} is too large; at most {_MAX_DEGREE}"
            )
    variables = _Variables(fields)
    drafts = [_draft(key, value, fields, variables) for key, value in terms.items()]
    listed, index = variables.build()
    algebra = _algebra(listed, drafts, covariance, mean, opaque_roots)
    prepared = []
    for draft in drafts:
        prepared.append(
            PreparedTerm(
                draft.coefficient,
                draft.shift,
                tuple(sorted(index[k] for k in draft.tilts)),
                tuple(sorted((index[variables.unit(i)], p) for i, p in draft.powers)),
                tuple(sorted(index[k] for k in draft.signs)),
                tuple(sorted((index[k], order) for k, order in draft.deltas)),
            )
        )
    return GaussianProblem(tuple(fields), listed, prepared, algebra, covariance, mean)


@dataclass
class _Draft:
    coefficient: sp.Expr
    shift: Shift
    tilts: list[object]
    powers: list[tuple[int, int]]
    signs: list[object]
    deltas: list[tuple[object, int]]


def _draft(
    key: TermKey, coefficient: sp.Expr, fields: Sequence[sp.Symbol], variables: _Variables
) -> _Draft:
    squares, shift = _parts_of_exponent(key.exponent, tuple(fields))
    tilts: list[object] = []
    signs: list[object] = []
    copies: Counter[tuple[Affine, sp.Expr]] = Counter()

    def noisy(form: Affine, noise: sp.Expr) -> object:
        """Return a key of a variable with noise of its own; a number tells apart equal ones."""
        item = (form, noise, copies[form, noise])
        copies[form, noise] += 1
        variables.noisy[item] = None
        return item

    for a, form in squares:
        sign = sign_of(a)
        if sign is None:
            raise InputError(
                f"the sign of {a} in a Gaussian factor is not known; declare its symbols positive"
            )
        tilts.append(noisy(form, 1 / a))
        coefficient *= sp.sqrt(2 * sp.pi / (sign * a))
    for form, count in key.erfs:
        signs += [noisy(*variables.noise_form(form)) for _ in range(count)]
    for form in key.signs:
        variables.sharp[form] = None
        signs.append(form)
    for form, _ in key.deltas:
        variables.sharp[form] = None
    powers = [(i, p) for i, p in enumerate(key.powers) if p]
    return _Draft(coefficient, shift, tilts, powers, signs, [*key.deltas])


def _algebra(
    variables: Sequence[Variable],
    drafts: Sequence[_Draft],
    covariance: list[list[sp.Expr]],
    mean: list[sp.Expr],
    opaque_roots: bool,
) -> Algebra:
    expressions = [e for row in covariance for e in row] + list(mean)
    shifts: Counter[tuple[sp.Symbol, sp.Rational]] = Counter()
    for v in variables:
        expressions += [*v.form.coefficients, v.form.constant, v.noise]
        where = [i for i, c in enumerate(v.form.coefficients) if c != 0]
        unit = len(where) == 1 and v.form.coefficients[where[0]] == 1
        if unit and v.noise.is_Rational and v.noise > 0:
            variance = covariance[where[0]][where[0]]
            if isinstance(variance, sp.Symbol):
                shifts[variance, v.noise] += 1
    for d in drafts:
        s = d.shift
        expressions += [*s.real, *s.imaginary, s.real_constant, s.imaginary_constant]
    best: dict[sp.Symbol, sp.Rational] = {}
    for (symbol, shift), _ in sorted(shifts.items(), key=lambda i: (-i[1], str(i[0]))):
        best.setdefault(symbol, shift)
    algebra = Algebra(expressions, best, opaque_roots)
    if not algebra.numeric:
        algebra.choose_reference(covariance)
    return algebra


def check_tilts(problem: GaussianProblem) -> None:
    """Refuse growing exponentials whose expectation does not exist.

    With a numeric covariance all successive variances decide; with symbols the condition is
    stated and the integrand refused.
    """
    for term in problem.terms:
        noises = [problem.variables[t].noise for t in term.tilts]
        if all(sign_of(noise) == 1 for noise in noises):
            continue
        gaussian = problem.gaussian(term.shift)
        for k, t in enumerate(term.tilts):
            strength = 1 / noises[k]
            if sign_of(strength) != -1:
                continue
            form = problem.variables[t].form.expression(problem.fields)
            factor = sp.exp(-strength * form**2 / 2)
            given = term.tilts[:k]
            message = (
                f"E[{factor} ...] exists only for Var({form}) < {sp.nsimplify(-1 / strength)}"
                + (" (variance under the other Gaussian factors)" if given else "")
            )
            if not problem.algebra.numeric:
                raise DivergentError(message + "; give a numeric covariance that satisfies this")
            algebra = problem.algebra
            ratio = algebra.expression(gaussian.n(given, t, t)) / algebra.expression(
                gaussian.d(given)
            )
            if sign_of(sp.radsimp(strength * ratio)) != 1:
                raise DivergentError(message + f", here it is {sp.radsimp(ratio - 1 / strength)}")
