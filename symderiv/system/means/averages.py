r"""Averages over one fresh example as functions of covariances.

An average is decomposed until each part is E[∏ f_i(ℓ_i)] with one-variable functions f_i of affine
combinations ℓ_i of fields (*forms*): latents with finitely many values are summed over, factors
that depend on independent inputs are separated, sums are distributed only where factors cannot be
separated. What remains is a function of the covariances and means of the ℓ_i, derived once per
product of functions by the Gaussian calculus.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import sympy as sp

from symderiv.formula.polynomials import coefficients
from symderiv.foundation.errors import DivergentError, NotClosed, NotYetError
from symderiv.lowering.means.closed_means import X, field_symbols
from symderiv.lowering.means.joint_means import Joint
from symderiv.numerics.templates import MOST_CONSTANTS
from symderiv.statement.field_law import FieldLaw
from symderiv.statement.stated_motion import Average
from symderiv.system.means.joint_forms import (
    FormSlot,
    at_zero,
    directions,
    forms_of,
    given_last,
    in_terms_of,
    replaced,
    scaled,
    single_fields,
)
from symderiv.system.means.product_means import MOST_FACTORS
from symderiv.system.means.slot_means import (
    SlotMeans,
    TakenApartError,
    almost_reduced,
    at_zeros,
    mixes,
)

_LONG = 160  # longer means are cut in messages; the error has the whole text


class Averages:
    """A decomposition of averages, which keeps the functions that their parts are.

    Args:
        law: The law of the fields.
        functions: The means, which return a call for a product of slots.
    """

    def __init__(self, law: FieldLaw, functions: SlotMeans) -> None:
        self.law, self.functions = law, functions
        self._known: dict[sp.Expr, sp.Expr] = {}
        self._known_slots: dict[sp.Expr, FormSlot | None] = {}
        self._blocks: dict[sp.Symbol, tuple[str, int]] = {}

    def lowered(self, expression: sp.Expr, statement: str = "") -> sp.Expr:
        """Return the expression with every :class:`Average` expressed by functions.

        Raises:
            NotClosed: A mean does not exist or needs more joint fields than can be integrated over.
        """
        try:
            return self._lowered(expression, statement)
        except TakenApartError:
            self._known.clear()
            return self._lowered(expression, statement)

    def _lowered(self, expression: sp.Expr, statement: str) -> sp.Expr:
        expression = self._gathered(expression)
        taken = {}
        for average in expression.atoms(Average):
            try:
                taken[average] = self.mean(average.args[0])
            except (DivergentError, NotYetError) as error:
                missing = isinstance(error, DivergentError)
                why = "does not exist" if missing else "cannot be computed"
                mean = _told(average)
                short = mean if len(mean) <= _LONG else f"{mean[: _LONG - 20]} ...]"
                raise NotClosed(
                    f"the mean {short} {why}: {error}",
                    average=mean,
                    statement=statement,
                ) from error
        return expression.xreplace(taken)

    def _open(self, expression: sp.Expr) -> bool:
        """Return whether the functions in an expression rule out a closed form of its mean."""
        return has_no_closed_form(expression, self.law) or (
            self.functions.mixed and mixes(expression)
        )

    def _gathered(self, expression: sp.Expr) -> sp.Expr:
        """Return a sum with all of its averages without closed forms joined into one average."""
        plain, inside = [], []
        for term in sp.Add.make_args(expression):
            number, rest = term.as_coeff_Mul()
            if isinstance(rest, Average) and self._open(rest.args[0]):
                inside.append(number * rest.args[0])
            else:
                plain.append(term)
        if len(inside) < 2:
            return expression
        return sp.Add(*plain, Average(sp.Add(*inside)))

    def mean(self, expression: sp.Expr) -> sp.Expr:
        """Return the average of an expression in terms of covariances, scalars and parameters."""
        latents = self.law.finite_latents(expression)
        if not latents:
            return self._before_and_after(expression)
        total = sp.S.Zero
        for values in itertools.product(*(latent.values for _, latent in latents)):
            probability = sp.S.One
            chosen = {}
            for (symbol, _), (value, p) in zip(latents, values, strict=True):
                probability *= sp.Rational(p.numerator, p.denominator)
                chosen[symbol] = value
            total += probability * self._before_and_after(expression.subs(chosen))
        return total

    def _before_and_after(self, expression: sp.Expr) -> sp.Expr:
        """Return a mean; if quadrature needs numbers, as the means before and after a jump in time.

        Raises:
            NotYetError: The mean cannot be computed.
        """
        try:
            return self._mean(expression)
        except NotYetError:
            jumps = sorted(expression.free_symbols & set(self.law.jumps), key=str)
            if not jumps:
                raise
            before, after = (
                self._before_and_after(expression.subs(jumps[0], value)) for value in (0, 1)
            )
            return (1 - jumps[0]) * before + jumps[0] * after

    def _mean(self, expression: sp.Expr) -> sp.Expr:
        if expression not in self._known:
            self._known[expression] = self._taken(expression)
        return self._known[expression]

    def _taken(self, expression: sp.Expr) -> sp.Expr:
        if isinstance(expression, sp.Add):
            return self._sum(expression.args)
        factors = list(_factors(expression))
        outside = [f for f in factors if not self.law.gaussian(f)]
        inside = [f for f in factors if self.law.gaussian(f)]
        if not inside:
            return expression
        if outside:
            return sp.Mul(*outside) * self._mean(sp.Mul(*inside))
        touched = [self._touched(f) for f in inside]
        groups = _joined(touched)
        if len(groups) > 1:
            return sp.Mul(*(self._mean(sp.Mul(*(inside[n] for n in group))) for group in groups))
        if self._open(sp.Mul(*inside)):
            delta = next((f for f in inside if isinstance(f, sp.DiracDelta)), None)
            if delta is not None:
                rest = sp.Mul(*(f for f in inside if f is not delta))
                given = self._given(delta, rest)
                if given is not None:
                    return given
            # exponentials that were split for the Gaussian calculus have one direction here
            exponents = [f.exp for f in inside if isinstance(f, sp.exp)]
            others = [f for f in inside if not isinstance(f, sp.exp)]
            joint = self._whole(sp.Mul(*others, sp.exp(sp.Add(*exponents))))
            if joint is not None:
                return joint
        for place, factor in enumerate(inside):
            if isinstance(factor, sp.Add) and len(touched[place]) > 1:
                rest = sp.Mul(*(f for n, f in enumerate(inside) if n != place))
                return sp.Add(*(self._mean(term * rest) for term in factor.args))
        terms = self._written_out(sp.Mul(*inside))
        if len(terms) > 1:
            return sp.Add(*map(self._mean, self._collected(terms)))
        product = _even_signs(sp.Mul(*inside))
        if product != sp.Mul(*inside):
            return self._mean(product)
        joint = self._where_closed_forms_fail(inside)
        if joint is not None:
            return joint
        return self.functions.mean(self._slots(inside), self.law)

    def _sum(self, terms: Sequence[sp.Expr]) -> sp.Expr:
        """Return the mean of a sum; terms without closed forms share a quadrature if that is no
        slower.
        """
        terms, total = self._deltas_taken(terms)
        if total != 0:
            return total + self._mean(sp.Add(*terms))
        hard = sp.Add(*filter(self._open, terms))
        if isinstance(hard, sp.Add):
            joint = self._whole(hard)
            if joint is not None:
                return joint + sp.Add(*map(self._mean, itertools.filterfalse(self._open, terms)))
        written: list[sp.Expr] = []
        for term in terms:
            apart = self._open(term) and term.has(*_EDGES)
            written += self._written_out(term) if apart else [term]
        return sp.Add(*map(self._mean, self._collected(written)))

    def _where_closed_forms_fail(self, factors: Sequence[sp.Expr]) -> sp.Expr | None:
        """Return a mean for which there is no closed form: of functions of several fields, or of
        steps of linearly dependent fields with means. None if it is neither of these.
        """
        product = sp.Mul(*factors)
        if all(map(self._separable, factors)):
            forms = self._bases(factors)
            steps = product.has(*_EDGES, sp.DiracDelta)
            if not steps or not _shifted_and_dependent(forms, self.law):
                return None
        delta = next((f for f in factors if isinstance(f, sp.DiracDelta)), None)
        if delta is None:
            return self._whole(product)
        given = self._given(delta, product / delta, forced=True)
        return self._at_zeros(delta, product / delta) if given is None else given

    def _at_zeros(self, delta: sp.DiracDelta, rest: sp.Expr) -> sp.Expr | None:
        """Return the mean of a delta function of a curve of one form as those at its zeros.

        Closed forms take a step at half its height where the delta function leaves it no variance.
        """
        slot = self._slot(delta)
        if slot is None or list(forms_of(delta.args[0], self.law)) == [delta.args[0]]:
            return None
        terms = sp.Add.make_args(sp.expand(slot.function))
        return sp.Add(
            *(
                self._mean(factor * rest * sp.DiracDelta(slot.form - place))
                for term in terms
                for factor, place in at_zeros(term)
            )
        )

    def _deltas_taken(self, terms: Sequence[sp.Expr]) -> tuple[list[sp.Expr], sp.Expr]:
        """Return the terms except open ones with a delta function, and the mean of those."""
        at: dict[sp.Expr, list[sp.Expr]] = {}
        left = []
        for term in terms:
            deltas = [f for f in sp.Mul.make_args(term) if isinstance(f, sp.DiracDelta)]
            if len(deltas) == 1 and self._open(term):
                at.setdefault(deltas[0], []).append(term)
            else:
                left.append(term)
        total = sp.S.Zero
        for delta, group in at.items():
            given = self._given(delta, sp.Add(*(term / delta for term in group)))
            total += given or sp.S.Zero
            left += group if given is None else []
        return left, total

    def _given(self, delta: sp.DiracDelta, rest: sp.Expr, forced: bool = False) -> sp.Expr | None:
        """Return the mean of a delta function times a function without closed mean: a density times
        a conditional mean. None if the product is better decomposed, unless ``forced``.
        """
        form = delta.args[0]
        if (
            len(delta.args) > 1
            or rest.has(sp.DiracDelta)
            or list(forms_of(form, self.law)) != [form]
        ):
            return None
        there = at_zero(form, rest, self.law)
        outside, inside = there.as_independent(*self.law.gaussian(there), as_Add=False)
        if there != rest and not self._open(inside):
            return outside * self._mean(delta * inside)
        if not forced and not self._open(inside):
            return None
        mean = self._whole(inside, form)
        return None if mean is None else outside * mean

    def _written_out(self, term: sp.Expr) -> list[sp.Expr]:
        """Return a term expanded into products of functions of fields."""
        factors = list(_factors(term))
        sums = [f for f in factors if isinstance(f, sp.Add) and self.law.gaussian(f)]
        if self._open(term):
            sums = [f for f in sums if not self._of_one_field(f)]
        if (
            not sums
            or len(_joined([self._touched(f) for f in factors if self.law.gaussian(f)])) > 1
        ):
            return [term]
        rest = sp.Mul(*(f for f in factors if f not in sums))
        terms = [_even_signs(product * rest) for product in _distributed(sums)]
        if not term.has(*_EDGES):
            return terms
        return [t for each in terms for t in self._written_out(each)]

    def _collected(self, terms: Sequence[sp.Expr]) -> list[sp.Expr]:
        """Return terms, joining those without closed forms whose factors differ at one
        field only.
        """
        if not any(map(self._open, terms)):
            return [*terms]
        joined: list[sp.Expr] = []
        alike: dict[tuple[sp.Expr, ...], list[tuple[sp.Expr, list[sp.Expr]]]] = {}
        for term in terms:
            slots = self._by_field(term) if self._open(term) or term.has(*_EDGES) else None
            if slots is None:
                joined.append(term)
                continue
            outside, functions = slots
            forms = sorted(functions, key=str)
            if 0 not in functions.values():
                row = [functions[form] for form in forms]
                alike.setdefault((outside, *forms), []).append((term, row))
        for (outside, *forms), group in alike.items():
            if not any(self._open(term) for term, _ in group):
                joined += [term for term, _ in group]
                continue
            for row in _joined_rows([row for _, row in group]):
                placed = (f.xreplace({X: form}) for f, form in zip(row, forms, strict=True))
                joined.append(outside * sp.Mul(*placed))
        return joined

    def _by_field(self, term: sp.Expr) -> tuple[sp.Expr, dict[sp.Expr, sp.Expr]] | None:
        """Return the factor of a product without fields, and a function of x for each form.

        None if it is not a product of several such functions, or has delta functions.
        """
        functions: dict[sp.Expr, sp.Expr] = {}
        outside = sp.S.One
        number, product = term.as_coeff_Mul()
        for factor in _factors(product):
            if not self.law.gaussian(factor):
                outside *= factor
                continue
            slot = None if factor.has(sp.DiracDelta) else self._slot(factor)
            if slot is None:
                return None
            functions[slot.form] = functions.get(slot.form, number) * slot.function
            number = sp.S.One
        functions = {form: almost_reduced(f) for form, f in functions.items()}
        return (outside, functions) if len(functions) > 1 else None

    def _whole(self, expression: sp.Expr, given: sp.Expr | None = None) -> sp.Expr | None:
        """Return a mean without closed form by one quadrature, or None if it is better decomposed.

        Functions of few directions, and those that cannot be decomposed, are integrated as they
        are. Terms of a sum share the points.

        Args:
            expression: The integrand.
            given: A form that a delta function in front of the expression sets to zero.
        """
        outside, expression = self._factored(expression)
        if expression.has(sp.DiracDelta):
            return None
        nonlinear, linear = directions(expression, self.law)
        terms = sp.Add.make_args(expression)
        most = max(len(directions(term, self.law)[0]) for term in terms)
        if most < len(nonlinear):
            return None
        atoms = [e for term in terms for f in _factors(term) for e in _atoms_of(f)]
        if self._better_apart(terms, atoms) and all(map(self._separable, atoms)):
            return None
        joint, forms, roots = self._joint(expression, nonlinear, linear)
        if _divides_by(joint.function, joint.constants):
            own = single_fields(nonlinear, linear, self.law)
            joint, forms, roots = self._joint(expression, *own)
        if len(joint.constants) > MOST_CONSTANTS:
            return None
        if given is None:
            value = self.functions.joints.mean(joint, *self.law.moments(forms))
            return outside * value.xreplace(roots)
        moments = self.law.moments([*forms, given])
        left, means, density = given_last(*moments, sp.S.Zero)
        return outside * density * self.functions.joints.mean(joint, left, means).xreplace(roots)

    def _better_apart(self, terms: Sequence[sp.Expr], atoms: Sequence[sp.Expr]) -> bool:
        """Return whether terms, if they are products, are better integrated by rules of
        products.
        """
        expression = sp.Add(*terms)
        kinked = expression.has(*_EDGES)
        if kinked and any(len(self._bases(_factors(term))) > MOST_FACTORS for term in terms):
            return False
        nonlinear, linear = directions(expression, self.law)
        if len(linear) > 3 or len(nonlinear) > _FEW:
            return True
        beyond = any(self.law.gaussian(e) and not self._of_one_field(e) for e in atoms)
        if kinked and linear and len(nonlinear) <= _PAIR:
            # linear directions cost no points: two joint fields are cheaper than a product of four
            return False
        if kinked:
            # rules of products resolve kinks, but take no parameters and no linearly dependent
            # fields
            return not beyond and len(self._bases(atoms)) <= len(nonlinear)
        # rules of products of functions of single fields need fewer points
        crowded = any(sum(map(len, directions(t, self.law))) > MOST_FACTORS for t in terms)
        if beyond or crowded or len(nonlinear) > _PAIR:
            return not beyond and not crowded
        # an exponential is merged into the function of its field
        others = [e for e in atoms if not isinstance(e, sp.exp)]
        return not linear and len(self._bases(others)) <= len(nonlinear)

    def _bases(self, atoms: Iterable[sp.Expr]) -> set[sp.Expr]:
        """Return the forms of which factors are non-polynomial functions."""
        slots = {e: self._slot(e) for e in atoms if self.law.gaussian(e)}
        return {
            slot.form
            for slot in slots.values()
            if slot is not None and not slot.function.is_polynomial(X)
        }

    def _joint(
        self, expression: sp.Expr, nonlinear: list[sp.Expr], linear: list[sp.Expr]
    ) -> tuple[Joint, list[sp.Expr], dict[sp.Symbol, sp.Expr]]:
        """Return an expression as a function of forms, with these forms and its named roots."""
        forms = [*nonlinear, *linear]
        fields = field_symbols(len(forms))
        written, roots = _named_roots(in_terms_of(expression, forms, fields, self.law), fields)
        constants = sorted(written.free_symbols - set(fields), key=str)
        return Joint(written, len(nonlinear), len(forms), tuple(constants)), forms, roots

    def _factored(self, expression: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
        """Return the powers of parameters common to all terms of an expression, and the
        cofactor.
        """
        outside = sp.S.One
        for symbol in sorted(expression.free_symbols, key=str):
            if not self.law.is_gaussian(symbol):
                by_power = coefficients(expression, [symbol]) or {}
                if len(by_power) == 1:
                    (((power,), expression),) = by_power.items()
                    outside *= symbol**power
        return outside, expression

    def _of_one_field(self, factor: sp.Expr) -> bool:
        """Return whether rules of products take a factor: a function of one form, without
        parameters.
        """
        slot = self._slot(factor)
        return slot is not None and slot.function.free_symbols <= {X}

    def _separable(self, factor: sp.Expr) -> bool:
        return not self.law.gaussian(factor) or self._slot(factor) is not None

    def _touched(self, factor: sp.Expr) -> set[tuple[str, int]]:
        blocks = set()
        for symbol in self.law.gaussian(factor):
            if symbol not in self._blocks:
                self._blocks[symbol] = self.law.block(symbol)
            blocks.add(self._blocks[symbol])
        return blocks

    def _slots(self, factors: Iterable[sp.Expr]) -> list[FormSlot]:
        """Return the factors as functions of one form each."""
        slots = []
        for factor in factors:
            slot = self._slot(factor)
            if slot is None:
                raise NotYetError(f"{factor} is not a function of one affine combination of fields")
            slots.append(slot)
        return slots

    def _slot(self, factor: sp.Expr) -> FormSlot | None:
        if factor not in self._known_slots:
            self._known_slots[factor] = self._slot_of(factor)
        return self._known_slots[factor]

    def _slot_of(self, factor: sp.Expr) -> FormSlot | None:
        forms = list(dict.fromkeys(forms_of(factor, self.law)))
        base = _normalised(forms[0], self.law)
        symbols = self.law.gaussian(base)
        pivot = symbols[0]
        slope = sp.diff(base, pivot)
        places = {}
        for form in forms:
            ratio = sp.cancel(sp.diff(form, pivot) / slope)
            rest = sp.expand(form - ratio * base)
            if self.law.gaussian(rest):
                return None
            places[form] = ratio * X + rest
        return scaled(FormSlot(replaced(factor, places), base), self.law)


def _shifted_and_dependent(forms: Iterable[sp.Expr], law: FieldLaw) -> bool:
    """Return whether forms are linearly dependent and some has a mean."""
    forms = [*forms]
    symbols = law.gaussian(sp.Add(*forms))
    rows = [[sp.diff(form, s) for s in symbols] for form in forms]
    if len(forms) < 2 or sp.Matrix(rows).rank() == len(forms):
        return False
    return any(form.xreplace(dict.fromkeys(symbols, sp.S.Zero)) != 0 for form in forms)


def _joined_rows(rows: list[list[sp.Expr]]) -> list[list[sp.Expr]]:
    """Return products, as rows of factors, after adding up those that differ in one factor only."""
    for place in range(len(rows[0])):
        joined: dict[tuple[sp.Expr, ...], list[sp.Expr]] = {}
        for row in rows:
            joined.setdefault((*row[:place], *row[place + 1 :]), []).append(row[place])
        rows = [
            [*rest[:place], sp.Add(*factors), *rest[place:]] for rest, factors in joined.items()
        ]
    return rows


def _atoms_of(factor: sp.Expr) -> Iterable[sp.Expr]:
    """Yield the factors of all terms of a factor, which may be a sum."""
    for term in sp.Add.make_args(factor):
        for part in _factors(term):
            if isinstance(part, sp.Add):
                yield from _atoms_of(part)
            else:
                yield part


def _named_roots(
    expression: sp.Expr, fields: Sequence[sp.Symbol]
) -> tuple[sp.Expr, dict[sp.Symbol, sp.Expr]]:
    """Return an expression with symbols for roots and functions of numbers alone, and these.

    Rules are searched with numbers of both signs, but an overlap under a root is not negative.
    """
    apart = [
        each
        for each in expression.atoms(sp.Pow, sp.Function)
        if each.free_symbols and not each.has(*fields) and not (each.is_Pow and each.exp.is_Integer)
    ]
    whole = [e for e in apart if not any(e is not other and other.has(e) for other in apart)]
    names = {e: sp.Symbol(f"root{n}", real=True) for n, e in enumerate(sorted(whole, key=str))}
    return expression.xreplace(names), {name: e for e, name in names.items()}


def _divides_by(function: sp.Expr, constants: Iterable[sp.Symbol]) -> bool:
    """Return whether a function has a denominator made of constants alone."""
    powers = (e for e in function.atoms(sp.Pow) if e.exp.is_negative)
    return any(e.base.free_symbols and e.base.free_symbols <= {*constants} for e in powers)


_PAIR, _FEW = 2, 3
"""With up to two nonlinear directions a function is integrated over them jointly if some field
depends on others or a polynomial multiplies it; with three if it is no product of functions of
single fields; with more never."""

_EDGES = (sp.sign, sp.Heaviside, sp.Abs, sp.Max, sp.Min, sp.Piecewise)
_CLOSED = (
    sp.erf,
    sp.exp,
    sp.sign,
    sp.Heaviside,
    sp.Abs,
    sp.Max,
    sp.Min,
    sp.sin,
    sp.cos,
    sp.DiracDelta,
)


def has_no_closed_form(expression: sp.Expr, law: FieldLaw) -> bool:
    """Return whether an expression has functions of fields outside of the Gaussian calculus."""
    outside = {f for f in expression.atoms(sp.Function) if not isinstance(f, _CLOSED)}
    outside |= {
        e
        for e in expression.atoms(sp.Pow)
        if not (e.exp.is_Integer and e.exp > 0) and e.base is not sp.E and not e.is_number
    }
    return any(map(law.gaussian, outside))


def _told(average: sp.Expr) -> str:
    return f"E[{average.args[0]}]"


def _factors(expression: sp.Expr) -> Iterable[sp.Expr]:
    """Yield the factors of a product; powers of sums and products are expanded."""
    for factor in sp.Mul.make_args(expression):
        base, power = factor.as_base_exp()
        if isinstance(base, sp.Add | sp.Mul) and power.is_Integer and power > 0:
            for _ in range(int(power)):
                yield from (base,) if isinstance(base, sp.Add) else _factors(base)
        elif isinstance(factor, sp.exp) and isinstance(factor.exp, sp.Add):
            yield from _exponentials(factor.exp)
        elif isinstance(base, sp.erf) and power.is_Integer and power > 1:
            for _ in range(int(power)):
                yield base
        else:
            yield factor


def _exponentials(exponent: sp.Add) -> Iterable[sp.Expr]:
    """Yield factors of exp of a sum, one for each group of terms that share symbols."""
    terms = sp.expand(exponent).args
    for places in _joined([term.free_symbols for term in terms]):
        yield sp.exp(sp.Add(*(terms[n] for n in places)))


def _distributed(factors: Sequence[sp.Expr]) -> list[sp.Expr]:
    """Return the terms of a product of sums; arguments of functions stay as they are."""
    products: dict[sp.Expr, sp.Expr] = {sp.S.One: sp.S.One}
    for factor in factors:
        new: dict[sp.Expr, sp.Expr] = {}
        for term in sp.Add.make_args(factor):
            number, rest = term.as_coeff_Mul()
            for key, coefficient in products.items():
                product = key * rest
                new[product] = new.get(product, sp.S.Zero) + coefficient * number
        products = new
    return [coefficient * key for key, coefficient in products.items() if coefficient != 0]


def _even_signs(term: sp.Expr) -> sp.Expr:
    """Return a product with squares of signs and powers of steps reduced, almost everywhere."""
    factors = []
    for factor in sp.Mul.make_args(term):
        base, power = factor.as_base_exp()
        if power.is_Integer and power > 1 and isinstance(base, sp.sign):
            factors.append(base if power % 2 else sp.S.One)
        elif power.is_Integer and power > 1 and isinstance(base, sp.Heaviside):
            factors.append(base)
        else:
            factors.append(factor)
    return sp.Mul(*factors)


def _joined(touched: Sequence[set[Any]]) -> list[list[int]]:
    """Return the indices of sets, grouped so that sets of different groups are disjoint."""
    groups: list[tuple[set[Any], list[int]]] = []
    for place, blocks in enumerate(touched):
        blocks, places = set(blocks), [place]
        apart = []
        for others, members in groups:
            if others & blocks:
                blocks |= others
                places = members + places
            else:
                apart.append((others, members))
        groups = [*apart, (blocks, places)]
    return [places for _, places in groups]


def _normalised(form: sp.Expr, law: FieldLaw) -> sp.Expr:
    """Return an affine form divided by the numerical coefficient of its first field."""
    form = sp.expand(form)
    slope = sp.diff(form, law.gaussian(form)[0])
    return sp.expand(form / (slope if slope.is_number else slope.as_coeff_Mul()[0]))
