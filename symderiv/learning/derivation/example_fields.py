r"""Fields of one example and the overlaps of weights: definitions, and means from E[ξ ξᵀ] = Ω.

Conventions: x_i = J_i·ξ/√N; in component c of the data E_c[ξ_ka ξ_hb] = ρ^c_k δ_kh δ_ab and
E_c[ξ_ka y_n] = φ^c_nka/√N. Everything else (that Q_ij = Σ_k w_k ρ_k Q_k,ij, that the covariance of
the mode field x_i^k with x_j is ρ_k Q_k,ij, …) is worked out here from these two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp
from sympy.functions.special.tensor_functions import KroneckerDelta

from symderiv.errors import SymderivError
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.indexed_sums import (
    Definition,
    Term,
    contract,
    spread,
    terms,
    together,
)

_COORDINATE = (s.a, 1, s.multiplicity[s.k])
_PER_MODE = 1 / s.multiplicity[s.k]


def _mean_over_mode(product: sp.Expr) -> sp.Expr:
    return _PER_MODE * sp.Sum(product, _COORDINATE)


STUDENT_OVERLAP = Definition(
    s.student_overlap[s.k, s.i, s.j], _mean_over_mode(s.J[s.i, s.k, s.a] * s.J[s.j, s.k, s.a])
)
CROSS_OVERLAP = Definition(
    s.cross_overlap[s.c, s.k, s.i, s.n],
    _mean_over_mode(s.J[s.i, s.k, s.a] * s.phi[s.c, s.n, s.k, s.a]),
)
TEACHER_OVERLAP = Definition(
    s.teacher_overlap[s.c, s.d, s.k, s.n, s.m],
    _mean_over_mode(s.phi[s.c, s.n, s.k, s.a] * s.phi[s.d, s.m, s.k, s.a]),
)
MOMENTUM_OVERLAP = Definition(
    s.momentum_overlap[s.k, s.i, s.j], _mean_over_mode(s.U[s.i, s.k, s.a] * s.J[s.j, s.k, s.a])
)
MOMENTUM_SQUARE = Definition(
    s.momentum_square[s.k, s.i, s.j], _mean_over_mode(s.U[s.i, s.k, s.a] * s.U[s.j, s.k, s.a])
)
MOMENTUM_CROSS = Definition(
    s.momentum_cross[s.c, s.k, s.i, s.n],
    _mean_over_mode(s.U[s.i, s.k, s.a] * s.phi[s.c, s.n, s.k, s.a]),
)
STUDENT_MODE = Definition(
    s.x_mode[s.k, s.i], sp.sqrt(s.N) * _mean_over_mode(s.J[s.i, s.k, s.a] * s.xi[s.k, s.a])
)
TEACHER_MODE = Definition(
    s.y_mode[s.c, s.k, s.n],
    sp.sqrt(s.N) * _mean_over_mode(s.phi[s.c, s.n, s.k, s.a] * s.xi[s.k, s.a]),
)
VELOCITY_MODE = Definition(
    s.u_mode[s.k, s.i], sp.sqrt(s.N) * _mean_over_mode(s.U[s.i, s.k, s.a] * s.xi[s.k, s.a])
)
INPUT_POWER = Definition(s.xi_square[s.k], _mean_over_mode(s.xi[s.k, s.a] ** 2))
OVERLAPS = (STUDENT_OVERLAP, CROSS_OVERLAP, TEACHER_OVERLAP)
FIELDS = (STUDENT_MODE, TEACHER_MODE, INPUT_POWER)
OF_VELOCITIES = (MOMENTUM_OVERLAP, MOMENTUM_SQUARE, MOMENTUM_CROSS, VELOCITY_MODE)


def recognise(expression: sp.Expr, definitions: tuple[Definition, ...]) -> sp.Expr:
    """The defining sums replaced by their names, multiplicities by N w_k."""
    for definition in definitions:
        expression = definition.recognise(expression)
    return spread(expression)


def with_weights(expression: sp.Expr) -> sp.Expr:
    """Multiplicities n_k written as N w_k."""
    replaced = {
        element: s.N * s.weight[element.indices]
        for element in expression.atoms(sp.Indexed)
        if str(element.base.label) == "multiplicity"
    }
    return expression.xreplace(replaced)


def change(definition: Definition, updated: Mapping[str, Callable[[Any], sp.Expr]]) -> sp.Expr:
    """How much one example changes an overlap, as one sum over the eigenspace.

    ``updated`` gives, by the names of the vectors that move, those of unit i after the example.
    """
    (total,) = definition.value.atoms(sp.Sum)
    new = total.function.xreplace(
        {
            element: updated[str(element.base.label)](element.indices[0])
            for element in total.function.atoms(sp.Indexed)
            if str(element.base.label) in updated
        }
    )
    return definition.value / total * sp.Sum(sp.expand(new - total.function), *total.limits)


def linear_form(field: sp.Indexed) -> sp.Expr:
    """A field as a sum over input components; those and teacher fields y_n stand for themselves."""
    name = str(field.base.label)
    if name in ("xi", "y"):
        return field
    if name == "x":
        inner = sp.Sum(s.J[field.indices[0], s.k, s.a] * s.xi[s.k, s.a], _COORDINATE)
        return sp.Sum(inner, (s.k, 0, s.L - 1)) / sp.sqrt(s.N)
    for definition in (STUDENT_MODE, TEACHER_MODE, VELOCITY_MODE):
        if str(definition.name.base.label) == name:
            match = dict(zip(definition.name.indices, field.indices, strict=True))
            return definition.value.xreplace(match)
    raise SymderivError(f"{field} is not a field of the example")


def covariance(first: sp.Expr, second: sp.Expr, component: Any) -> sp.Expr:
    """E_c[first · second] in terms of the order parameters of component ``component``."""
    if s.z in (first, second):  # any Gaussian field
        return s.ComponentAverage(first * second, component)
    return gaussian_mean(linear_form(first) * linear_form(second), component)


def gaussian_mean(product: sp.Expr, component: Any) -> sp.Expr:
    """The mean of a product of linear forms in input components and teacher fields.

    By Wick's rule: the sum over all pairings of the products of the pairs' means.
    """
    paired = together(
        Term(mean * rest, term.limits)
        for term in terms(product)
        for random, rest in [_random_factors(term.factor)]
        for mean in _pairings(random, component)
    )
    known = OVERLAPS + (OF_VELOCITIES if product.has(s.U) else ())
    return spread(with_weights(recognise(contract(paired), known)))


def _random_factors(product: sp.Expr) -> tuple[list[sp.Indexed], sp.Expr]:
    """Input components and teacher fields, powers written out, and all other factors."""
    random: list[sp.Indexed] = []
    rest = sp.Integer(1)
    for factor in sp.Mul.make_args(product):
        base, exponent = factor.as_base_exp()
        if isinstance(base, sp.Indexed) and str(base.base.label) in ("xi", "y"):
            random += [base] * int(exponent)
        elif s.is_random(factor):
            raise SymderivError(f"{factor} is no linear form in the input")
        else:
            rest *= factor
    return random, rest


def _pairings(random: list[sp.Indexed], component: Any) -> list[sp.Expr]:
    """The product of the pairs' means for each pairing; none for an odd number of factors."""
    if not random:
        return [sp.Integer(1)]
    first, *others = random
    return [
        _paired(first, other, component) * rest
        for place, other in enumerate(others)
        for rest in _pairings(others[:place] + others[place + 1 :], component)
    ]


def _paired(one: sp.Indexed, other: sp.Indexed, component: Any) -> sp.Expr:
    first, second = sorted((one, other), key=lambda e: str(e.base.label))
    names = (str(first.base.label), str(second.base.label))
    if names == ("xi", "xi"):
        (mode, place), (other_mode, other_place) = first.indices, second.indices
        same = KroneckerDelta(mode, other_mode) * KroneckerDelta(place, other_place)
        return s.eigenvalue[component, mode] * same
    if names == ("xi", "y"):
        mode, place = first.indices
        return s.phi[component, second.indices[0], mode, place] / sp.sqrt(s.N)
    return s.T[component, first.indices[0], second.indices[0]]
