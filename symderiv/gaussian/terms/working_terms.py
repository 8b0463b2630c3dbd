r"""Normal form of an integrand: a sum of products of atoms of affine arguments of the fields.

A term is  coefficient × monomial × exp(quadratic) × ∏ sgn(l) × ∏ erf(l)^m × ∏ δ^{(k)}(l)  with
every l affine in the fields. sin and cos are exponentials with imaginary linear part, Heaviside,
|·|, Max and Min are signs. sgn² = 1 holds as soon as two terms are multiplied.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product as cartesian

import sympy as sp
from sympy.core.sorting import default_sort_key

from symderiv.foundation.errors import DivergentError, InexactError, InputError, NotYetError
from symderiv.gaussian.terms.existence import growth_obstacle

_MAX_TERMS = 20_000
_MAX_KINKS = 5


@dataclass(frozen=True)
class Affine:
    """An affine form of the fields: one coefficient per field, and a constant."""

    coefficients: tuple[sp.Expr, ...]
    constant: sp.Expr

    def scaled(self, factor: sp.Expr) -> Affine:
        """Return this form times a number or symbol."""
        return Affine(
            tuple(sp.expand(c * factor) for c in self.coefficients),
            sp.expand(self.constant * factor),
        )

    def leading(self) -> sp.Expr:
        """Return the first coefficient that is not zero; 0 for a constant."""
        return next((c for c in self.coefficients if c != 0), sp.S.Zero)

    def expression(self, fields: Sequence[sp.Symbol]) -> sp.Expr:
        """Return the form written in the given field symbols."""
        return sp.Add(*(c * x for c, x in zip(self.coefficients, fields, strict=True))) + (
            self.constant
        )

    def order(self) -> tuple[object, ...]:
        """Return a sort key that does not depend on the run."""
        return tuple(default_sort_key(c) for c in (*self.coefficients, self.constant))


@dataclass(frozen=True)
class TermKey:
    """The parts of a term apart from its coefficient; terms with equal keys are added."""

    powers: tuple[int, ...]
    exponent: sp.Expr = sp.S.Zero
    signs: tuple[Affine, ...] = ()
    erfs: tuple[tuple[Affine, int], ...] = ()
    deltas: tuple[tuple[Affine, int], ...] = ()


Terms = dict[TermKey, sp.Expr]


def sign_of(value: sp.Expr) -> int | None:
    """Return the sign of an exact expression where it is decidable, else None."""
    if value.is_zero:
        return 0
    if value.is_positive:
        return 1
    if value.is_negative:
        return -1
    if value.is_number and value.is_real is not False:
        number = value.evalf(50)
        if number.is_comparable and abs(number) > sp.Float("1e-40"):
            return 1 if number > 0 else -1
    return None


def _merge_signs(left: Iterable[Affine], right: Iterable[Affine]) -> tuple[Affine, ...]:
    """Return the signs of a product: sgn(l)² = 1, so a sign in both factors drops out."""
    return tuple(sorted(set(left) ^ set(right), key=Affine.order))


def _merge_erfs(
    left: Iterable[tuple[Affine, int]], right: Iterable[tuple[Affine, int]]
) -> tuple[tuple[Affine, int], ...]:
    count: dict[Affine, int] = {}
    for form, power in (*left, *right):
        count[form] = count.get(form, 0) + power
    return tuple(sorted(count.items(), key=lambda item: item[0].order()))


def multiply_keys(a: TermKey, b: TermKey) -> TermKey:
    """Return the key of the product of two terms."""
    return TermKey(
        tuple(p + q for p, q in zip(a.powers, b.powers, strict=True)),
        sp.expand(a.exponent + b.exponent),
        _merge_signs(a.signs, b.signs),
        _merge_erfs(a.erfs, b.erfs),
        tuple(sorted((*a.deltas, *b.deltas), key=lambda item: (item[0].order(), item[1]))),
    )


def add_terms(*parts: Terms) -> Terms:
    """Return the sum of normal forms, equal keys merged and zero coefficients dropped."""
    total: Terms = {}
    for part in parts:
        for key, value in part.items():
            total[key] = total.get(key, sp.S.Zero) + value
    return {key: value for key, value in total.items() if sp.expand(value) != 0}


def multiply_terms(left: Terms, right: Terms) -> Terms:
    """Return the product of normal forms, expanded."""
    if len(left) * len(right) > _MAX_TERMS:
        raise InputError("the integrand expands into too many terms; split it into smaller ones")
    total: Terms = {}
    for a, x in left.items():
        for b, y in right.items():
            key = multiply_keys(a, b)
            total[key] = total.get(key, sp.S.Zero) + x * y
    return {key: value for key, value in total.items() if sp.expand(value) != 0}


class _PoleError(DivergentError):
    """A power of a field is not integrable at zero, but the product that contains it may be."""

    factor: sp.Expr
    field: sp.Symbol | None


def _pole(factor: sp.Pow) -> _PoleError:
    error = _PoleError(f"E[{factor} ...] does not exist: {factor} is not integrable at zero")
    base = factor.base.args[0] if isinstance(factor.base, sp.Abs) else factor.base
    error.factor, error.field = factor, base if base.is_Symbol else None
    return error


def _cancels(e: sp.Expr, field: sp.Symbol) -> bool:
    """Return whether the pole of a factor cancels in the product e: x e(x) → 0 from both sides."""
    parts = [a for a in sp.Mul.make_args(e) if a.has(field)]
    try:
        ends = [sp.limit(field * sp.Mul(*parts), field, 0, side) for side in "+-"]
    except (NotImplementedError, ValueError, sp.PoleError):
        return False
    return ends == [0, 0]


class TermReader:
    """Reader of an integrand into its normal form.

    Args:
        fields: The Gaussian fields; every other symbol is a parameter.
    """

    def __init__(self, fields: Sequence[sp.Symbol]) -> None:
        self.fields = tuple(fields)
        self._set = set(fields)
        self._unit = TermKey((0,) * len(fields))
        self._memo: dict[sp.Expr, Terms] = {}

    def read(self, expression: sp.Expr) -> Terms:
        """Return the normal form of ``expression``.

        Raises:
            NotYetError: A factor is outside the class of functions with closed expectations.
            DivergentError: A factor grows too fast for any Gaussian expectation.
            InexactError: A Float occurs.
        """
        terms = self._memo.get(expression)
        if terms is None:
            terms = self._memo[expression] = self._read(expression)
        return terms

    def constant(self, value: sp.Expr) -> Terms:
        """Return the normal form of a factor without fields."""
        if value.has(sp.Float):
            raise InexactError(f"the number {value} is a float; write it as an exact decimal")
        if value.has(sp.nan, sp.zoo, sp.oo, -sp.oo, sp.I):
            raise InputError(f"the factor {value} is not a finite real number")
        return {self._unit: value} if value != 0 else {}

    def affine(self, expression: sp.Expr) -> Affine | None:
        """Return ``expression`` as an affine form, or None."""
        try:
            poly = sp.Poly(sp.expand(expression), *self.fields)
        except sp.PolynomialError:
            return None
        if poly.total_degree() > 1:
            return None
        form = Affine(
            tuple(poly.coeff_monomial(x) for x in self.fields), poly.coeff_monomial(sp.S.One)
        )
        for value in (*form.coefficients, form.constant):
            self.constant(value)
        return form

    def _read(self, e: sp.Expr) -> Terms:
        if not (e.free_symbols & self._set):
            return self.constant(e)
        if e in self._set:
            index = self.fields.index(e)
            powers = tuple(int(i == index) for i in range(len(self.fields)))
            return {TermKey(powers): sp.S.One}
        if isinstance(e, sp.Add | sp.Mul):
            try:
                return self._combined(e)
            except _PoleError as pole:
                if pole.field is None or not _cancels(e, pole.field):
                    raise
                raise NotYetError(
                    f"no closed form: {e} may have a mean, but its parts have none: {pole.factor} "
                    "is not integrable at zero"
                ) from None
        if isinstance(e, sp.exp):
            return self._exponential(e.args[0], e)
        if isinstance(e, sp.Pow):
            return self._power(e)
        return self._function(e)

    def _combined(self, e: sp.Expr) -> Terms:
        if isinstance(e, sp.Add):
            return add_terms(*(self.read(a) for a in e.args))
        total = {self._unit: sp.S.One}
        for factor in e.args:
            total = multiply_terms(total, self.read(factor))
        return total

    def _power(self, e: sp.Pow) -> Terms:
        base, exponent = e.args
        if exponent.is_Integer and exponent > 0:
            if isinstance(base, sp.Heaviside):
                return self.read(base)
            if base in self._set:
                index = self.fields.index(base)
                powers = tuple(int(exponent) * (i == index) for i in range(len(self.fields)))
                return {TermKey(powers): sp.S.One}
            factor = self.read(base)
            total = {self._unit: sp.S.One}
            for _ in range(int(exponent)):
                total = multiply_terms(total, factor)
            return total
        if exponent.is_negative and isinstance(base, sp.Abs | sp.Symbol) and exponent <= -1:
            raise _pole(e)
        if not (base.free_symbols & self._set) and base.is_positive:
            return self.read(sp.exp(sp.expand(exponent * sp.log(base))))
        raise self._unknown(e)

    def _unknown(self, factor: sp.Expr) -> InputError:
        obstacle = growth_obstacle(factor, self.fields)
        if obstacle is not None:
            return DivergentError(obstacle)
        return NotYetError(
            f"no closed form: the factor {factor} is not built from polynomials, exp, sin, cos, "
            "erf, sign, Heaviside, |x|, Max"
        )

    def _exponential(self, argument: sp.Expr, e: sp.Expr, imaginary: bool = False) -> Terms:
        """Return exp(argument), or exp(i argument), for an argument of degree one or two."""
        argument = sp.expand(argument)
        try:
            poly = sp.Poly(argument, *self.fields)
        except sp.PolynomialError:
            return self._on_pieces(e)
        if poly.total_degree() > (1 if imaginary else 2):
            raise self._unknown(e)
        for value in poly.coeffs():
            self.constant(value)
        if imaginary:
            return {TermKey(self._unit.powers, sp.expand(sp.I * argument)): sp.S.One}
        outside = poly.coeff_monomial(sp.S.One)
        inside = sp.expand(argument - outside)
        return {TermKey(self._unit.powers, inside): sp.exp(outside)}

    def _function(self, e: sp.Expr) -> Terms:
        name, args = type(e), e.args
        if name in (sp.sin, sp.cos):
            forward = self._oscillation(args[0], e)
            if forward is None:
                return self._on_pieces(e)
            backward = {TermKey(k.powers, sp.expand(-k.exponent)): v for k, v in forward.items()}
            i = sp.I if name is sp.sin else sp.S.One
            return add_terms(
                {k: v / (2 * i) for k, v in forward.items()},
                {k: v / (2 * i) * (-1 if name is sp.sin else 1) for k, v in backward.items()},
            )
        if name in (sp.sinh, sp.cosh):
            return self.read(
                (sp.exp(args[0]) + (1 if name is sp.cosh else -1) * sp.exp(-args[0])) / 2
            )
        if name is sp.erfc:
            return self.read(1 - sp.erf(args[0]))
        if name is sp.Heaviside:
            return self.read((1 + sp.sign(args[0])) / 2)
        if name is sp.Abs:
            return self._absolute(args[0])
        if name in (sp.Max, sp.Min):
            return self._extremum(e)
        if name in (sp.sign, sp.erf, sp.DiracDelta):
            return self._of_affine(e)
        raise self._unknown(e)

    def _oscillation(self, argument: sp.Expr, e: sp.Expr) -> Terms | None:
        if self.affine(argument) is None:
            try:
                sp.Poly(sp.expand(argument), *self.fields)
            except sp.PolynomialError:
                return None
            raise self._unknown(e)
        return self._exponential(argument, e, imaginary=True)

    def _absolute(self, argument: sp.Expr) -> Terms:
        if isinstance(argument, sp.Mul):
            total = {self._unit: sp.S.One}
            for factor in argument.args:
                total = multiply_terms(total, self.read(sp.Abs(factor)))
            return total
        return self.read(argument * sp.sign(argument))

    def _extremum(self, e: sp.Expr) -> Terms:
        """Return Max(f_1, ..., f_n) = Σ f_i ∏_{j≠i} H(f_i - f_j); ties have probability zero."""
        sense = 1 if isinstance(e, sp.Max) else -1
        total: Terms = {}
        for i, value in enumerate(e.args):
            part = self.read(value)
            for j, other in enumerate(e.args):
                if j != i:
                    step = (1 + sp.sign(sp.expand(sense * (value - other)))) / 2
                    part = multiply_terms(part, self.read(step))
            total = add_terms(total, part)
        return total

    def _of_affine(self, e: sp.Expr) -> Terms:
        """Return sgn, erf or δ^{(k)} of an affine argument, which is scaled.

        Its leading coefficient becomes 1 (sgn, δ) or positive (erf).
        """
        argument = e.args[0]
        form = self.affine(argument)
        if form is None:
            if isinstance(e, sp.sign) and isinstance(argument, sp.Mul):
                return self.read(sp.Mul(*(sp.sign(a) for a in argument.args)))
            if isinstance(e, sp.sign) and isinstance(argument, sp.Pow):
                base, power = argument.args
                if power.is_Integer and power > 0:
                    return self.read(sp.sign(base)) if power % 2 else self.constant(sp.S.One)
            if isinstance(e, sp.sign) and isinstance(argument, sp.exp):
                return self.constant(sp.S.One)
            return self._on_pieces(e)
        lead = form.leading()
        sign = sign_of(lead)
        if isinstance(e, sp.erf):
            flip = -1 if sign == -1 else 1
            return {TermKey(self._unit.powers, erfs=((form.scaled(sp.Integer(flip)), 1),)): flip}
        size = sp.Abs(lead) if sign is not None else lead
        if sign is None and isinstance(e, sp.DiracDelta):
            raise InputError(f"the sign of {lead} in {e} must be known; declare it positive")
        if sign is None:
            return {TermKey(self._unit.powers, signs=(form,)): sp.S.One}
        unit = form.scaled(1 / lead)
        if isinstance(e, sp.sign):
            return {TermKey(self._unit.powers, signs=(unit,)): sp.Integer(sign)}
        order = int(e.args[1]) if len(e.args) > 1 else 0
        weight = sp.Integer(sign) ** order / size ** (order + 1)
        return {TermKey(self._unit.powers, deltas=((unit, order),)): weight}

    def _on_pieces(self, e: sp.Expr) -> Terms:
        """Return f(p) for p polynomial on pieces cut by signs: Σ_ε ∏ (1 + ε σ)/2 · f(p_ε)."""
        inner = self.read(e.args[0])
        kinks = sorted({form for key in inner for form in key.signs}, key=Affine.order)
        plain = all(not (k.erfs or k.deltas) and k.exponent == 0 for k in inner)
        if not plain or not 0 < len(kinks) <= _MAX_KINKS:
            raise self._unknown(e)
        total: Terms = {}
        for sides in cartesian((1, -1), repeat=len(kinks)):
            side = dict(zip(kinks, sides, strict=True))
            value = sp.Add(
                *(
                    c
                    * sp.Mul(*(side[form] for form in key.signs))
                    * sp.Mul(*(x**p for x, p in zip(self.fields, key.powers, strict=True)))
                    for key, c in inner.items()
                )
            )
            part = self.read(e.func(sp.expand(value), *e.args[1:]))
            for form, s in side.items():
                half = sp.Rational(1, 2)
                indicator = {self._unit: half, TermKey(self._unit.powers, signs=(form,)): s * half}
                part = multiply_terms(part, indicator)
            total = add_terms(total, part)
        return total


def write_term(key: TermKey, coefficient: sp.Expr, fields: Sequence[sp.Symbol]) -> sp.Expr:
    """Return the term as an ordinary expression in the fields."""
    factors: list[sp.Expr] = [coefficient, sp.exp(key.exponent)]
    factors += [x**p for x, p in zip(fields, key.powers, strict=True)]
    factors += [sp.sign(form.expression(fields)) for form in key.signs]
    factors += [sp.erf(form.expression(fields)) ** power for form, power in key.erfs]
    factors += [
        sp.DiracDelta(form.expression(fields), order)
        if order
        else sp.DiracDelta(form.expression(fields))
        for form, order in key.deltas
    ]
    return sp.Mul(*factors)


def restricted(terms: Terms, fields: Sequence[sp.Symbol]) -> tuple[list[int], Terms]:
    """Return the fields on which a normal form depends, and the normal form in these alone."""
    used = [i for i, x in enumerate(fields) if any(_depends(key, i, x) for key in terms)]

    def form(f: Affine) -> Affine:
        return Affine(tuple(f.coefficients[i] for i in used), f.constant)

    return used, {
        TermKey(
            tuple(key.powers[i] for i in used),
            key.exponent,
            tuple(form(f) for f in key.signs),
            tuple((form(f), n) for f, n in key.erfs),
            tuple((form(f), n) for f, n in key.deltas),
        ): value
        for key, value in terms.items()
    }


def _depends(key: TermKey, index: int, field: sp.Symbol) -> bool:
    forms = [*key.signs, *(f for f, _ in key.erfs), *(f for f, _ in key.deltas)]
    return (
        key.powers[index] > 0
        or key.exponent.has(field)
        or any(f.coefficients[index] != 0 for f in forms)
    )
