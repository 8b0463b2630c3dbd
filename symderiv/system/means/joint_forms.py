"""The affine combinations of fields (*forms*) in which an expression is nonlinear or polynomial."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sympy as sp

from symderiv.lowering.means.closed_means import X
from symderiv.statement.field_law import FieldLaw
from symderiv.statement.register import Overlap
from symderiv.statement.slopes import ROUGH


@dataclass(frozen=True)
class FormSlot:
    """One factor of a product: a function of x at an affine combination of fields.

    Args:
        function: The function in the symbol x, with further symbols of the statement as parameters.
        form: The affine combination.
    """

    function: sp.Expr
    form: sp.Expr


def scaled(slot: FormSlot, law: FieldLaw) -> FormSlot:
    """Return a factor exp(c x²) with the symbols in c moved into its form, so that exp(-s² h²/q) is
    exp(-x²) at s h/√q; other factors unchanged.
    """
    if not isinstance(slot.function, sp.exp):
        return slot
    number, rest = (slot.function.exp / X**2).as_coeff_Mul()
    root = sp.S.One
    for base, power in rest.as_powers_dict().items():
        if base.has(X) or not ((power / 2).is_integer or _is_positive(base, law)):
            return slot
        root *= base ** (power / 2)
    return FormSlot(sp.exp(number * X**2), sp.expand(root * slot.form))


def _is_positive(base: sp.Expr, law: FieldLaw) -> bool:
    """Return whether an expression is known to be positive, as squared lengths of vectors are."""
    meaning = law.symbols.meaning.get(base)
    length = isinstance(meaning, Overlap) and meaning.first is meaning.second
    return length or bool(base.is_positive)


def directions(expression: sp.Expr, law: FieldLaw) -> tuple[list[sp.Expr], list[sp.Expr]]:
    """Return linearly independent forms in which an expression is nonlinear, and polynomial.

    Overlaps and scalars that shift a field belong to its form.
    """
    # forms with kinks first, so that the kinks are at numbers
    rough = sorted(expression.atoms(*ROUGH), key=sp.default_sort_key)
    inside = [form for each in rough for form in forms_of(each, law)]
    plain: list[sp.Expr] = []
    _sort(expression, inside, plain, law)
    symbols = law.gaussian(expression)
    chosen: list[sp.Expr] = []
    rows: list[list[sp.Expr]] = []
    counts = []
    for forms in (inside, plain):
        # A form is solved for a field that has a number as its coefficient, and an overlap or a
        # scalar may be zero: fields with those are kept.
        ordered = sorted(dict.fromkeys(forms), key=lambda form: _solvable(form, chosen, law))
        for form in ordered:
            row = [sp.diff(form, s) for s in symbols]
            if sp.Matrix([*rows, row]).rank() > len(rows):
                chosen.append(sp.expand(form))
                rows.append(row)
        counts.append(len(chosen))
    return chosen[: counts[0]], chosen[counts[0] :]


def _solvable(form: sp.Expr, others: Sequence[sp.Expr], law: FieldLaw) -> bool:
    """Return whether other forms have numbers as the coefficients of all fields in a form."""
    return all(sp.diff(other, s).is_number for other in others for s in law.gaussian(form))


def single_fields(
    nonlinear: Sequence[sp.Expr], linear: Sequence[sp.Expr], law: FieldLaw
) -> tuple[list[sp.Expr], list[sp.Expr]]:
    """Return the fields in some forms, to be used in place of the forms: nonlinear ones first.

    Forms with scalar coefficients cannot be solved for fields when a scalar is zero.
    """
    inside = list(dict.fromkeys(s for form in nonlinear for s in law.gaussian(form)))
    plain = dict.fromkeys(s for form in linear for s in law.gaussian(form))
    return inside, [s for s in plain if s not in inside]


def in_terms_of(
    expression: sp.Expr, forms: Sequence[sp.Expr], fields: Sequence[sp.Symbol], law: FieldLaw
) -> sp.Expr:
    """Return an expression in which new fields replace the forms that it depends on."""
    symbols = law.gaussian(expression)
    matrix = sp.Matrix([[sp.diff(form, s) for s in symbols] for form in forms])
    # symbols that no form determines cancel: set them to zero and solve for the others
    _, pivots = matrix.rref()
    still = dict.fromkeys(symbols, sp.S.Zero)
    shifts = [form.xreplace(still) for form in forms]
    square = matrix.extract(range(len(forms)), list(pivots))
    target = sp.Matrix([z - shift for z, shift in zip(fields, shifts, strict=True)])
    solved = map(sp.expand, square.LUsolve(target))
    places = still | {symbols[n]: place for n, place in zip(pivots, solved, strict=True)}
    # shifts are part of the new fields and cancel when forms are written in these
    written = {form: sp.expand(form.xreplace(places)) for form in forms_of(expression, law)}
    return replaced(expression, written).xreplace(places)


def at_zero(form: sp.Expr, expression: sp.Expr, law: FieldLaw) -> sp.Expr:
    """Return an expression at the zero of a form, with one of the form's fields eliminated."""
    slopes = {symbol: sp.diff(form, symbol) for symbol in law.gaussian(form)}
    pivot = min(slopes, key=lambda symbol: not slopes[symbol].is_number)
    return expression.xreplace({pivot: sp.expand(pivot - form / slopes[pivot])})


def given_last(
    covariance: Sequence[Sequence[sp.Expr]], means: Sequence[sp.Expr], place: sp.Expr
) -> tuple[list[list[sp.Expr]], list[sp.Expr], sp.Expr]:
    """Return the conditional moments of fields given the last one's value, and its
    density there.
    """
    *others, last = range(len(means))
    variance, gap = covariance[last][last], place - means[last]
    share = [covariance[n][last] / variance for n in others]
    left = [[covariance[n][m] - share[n] * covariance[m][last] for m in others] for n in others]
    density = sp.exp(-(gap**2) / (2 * variance)) / sp.sqrt(2 * sp.pi * variance)
    return left, [means[n] + share[n] * gap for n in others], density


def _sort(expression: sp.Expr, inside: list[sp.Expr], plain: list[sp.Expr], law: FieldLaw) -> None:
    """Collect the forms in nonlinear functions, and those in which an expression is polynomial."""
    symbols = law.gaussian(expression)
    if not symbols:
        return
    if expression.is_Symbol or (isinstance(expression, sp.Add) and _is_affine(expression, symbols)):
        plain.append(expression)
    elif isinstance(expression, sp.Add | sp.Mul) or (
        expression.is_Pow and expression.exp.is_Integer and expression.exp > 0
    ):
        for argument in expression.args:
            _sort(argument, inside, plain, law)
    else:
        inside += list(forms_of(expression, law))


def forms_of(expression: sp.Expr, law: FieldLaw) -> Iterable[sp.Expr]:
    """Yield the largest affine combinations of fields that an expression contains."""
    symbols = law.gaussian(expression)
    if not symbols:
        return
    if _is_affine(expression, symbols):
        yield expression
        return
    if isinstance(expression, sp.Add | sp.Mul):
        # affine terms of a sum are kept together
        affine = [
            e
            for e in expression.args
            if isinstance(expression, sp.Add) and law.gaussian(e) and _is_affine(e, law.gaussian(e))
        ]
        if len(affine) > 1:
            yield sp.Add(*affine)
            rest = [e for e in expression.args if e not in affine]
        else:
            rest = list(expression.args)
        for e in rest:
            yield from forms_of(e, law)
        return
    for argument in expression.args:
        yield from forms_of(argument, law)


def replaced(expression: sp.Expr, places: dict[sp.Expr, sp.Expr]) -> sp.Expr:
    """Return an expression with some of the forms that it contains replaced."""
    if expression in places:
        return places[expression]
    if not expression.args:
        return expression
    if isinstance(expression, sp.Add):
        for form, place in places.items():
            parts = set(sp.Add.make_args(form))
            if len(parts) > 1 and parts <= set(expression.args):
                rest = [e for e in expression.args if e not in parts]
                return sp.Add(place, *(replaced(e, places) for e in rest))
    return expression.func(*(replaced(e, places) for e in expression.args))


def _is_affine(expression: sp.Expr, symbols: Sequence[sp.Symbol]) -> bool:
    """Return whether an expression is of degree one in all symbols together."""
    if expression.is_Symbol:
        return True
    if isinstance(expression, sp.Add):
        return all(
            not e.free_symbols & set(symbols) or _is_affine(e, symbols) for e in expression.args
        )
    if isinstance(expression, sp.Mul):
        inside = [e for e in expression.args if e.free_symbols & set(symbols)]
        return len(inside) == 1 and _is_affine(inside[0], symbols)
    return False
