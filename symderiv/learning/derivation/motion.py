r"""Motion of all order parameters under a rule: rates, or changes in a step.

Vectors move as the statement of a rule says (:mod:`symderiv.statement.stated_motion`),

    dw_a/dα = Σ_e D_ae w_e,   d(w_a·w_b)_k/dα = Σ_e D_ae (w_e·w_b)_k + (a ↔ b) + ρ_k Γ_ab,

here for all units of a family at once. Steps of cN examples are a map, with D O Dᵀ in addition;
students with fixed Q_ii are rescaled after each step, which removes half of the growth of Q_ii.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sympy as sp

from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.indexed_sums import Term, at, contract, map_terms, spread

BATCH = sp.Symbol("batch_ratio", real=True)
"""The ratio c of examples in a step to the input dimension."""
GRADIENT_SIZE = sp.Symbol("gradient_size", positive=True)
"""The root mean square of the step."""
SEEN = sp.IndexedBase(sp.Symbol("seen_eigenvalue", real=True))
"""The eigenvalues of noisy inputs as the student sees them, before they are written out."""
STRETCH = sp.IndexedBase(sp.Symbol("stretch", real=True))
"""The relative growth of Q_ii without the constraint."""

Rates = Mapping[sp.Indexed, sp.Expr]
"""Rates by the quantities that they change."""

Drifts = Mapping[str, Mapping[str, sp.Expr]]
"""The drift D of each moving family along each other one: students "J", velocities "U", teachers
"B".

It is in i and j, or in i and n along teachers; a part that depends on a component of the data has
the letter d and stands for the mean over components.
"""


@dataclass(frozen=True)
class Motion:
    """Motion of the order parameters, for one component of the data.

    Attributes:
        rates: The derivatives by α of all fields of the state, or their changes in a step, in the
            order of the state, in terms of A, B, Γ and the gradients of output weights and biases.
        before: Auxiliary quantities in the rates, in the order of their computation.
        by_steps: Whether the rates are changes in a step.
    """

    rates: tuple[tuple[sp.Indexed, sp.Expr], ...]
    before: tuple[tuple[sp.Expr, sp.Expr], ...] = ()
    by_steps: bool = False


def state_overlap(first: str, second: str) -> sp.Indexed:
    """Return the field of the state with the overlaps of two families in an eigenspace.

    Teachers are stored as ρ_k B, with the eigenvalue of a component of the data.
    """
    if first == "B":
        return s.overlap(first, second)[s.c, s.d, s.k, s.i, s.j]
    if second == "B":
        return s.overlap(first, second)[s.c, s.k, s.i, s.n]
    return s.overlap(first, second)[s.k, s.i, s.j]


def overlap_rate(
    first: str, second: str, drifts: Drifts, noise: sp.Expr, by_steps: bool = False
) -> sp.Expr:
    """Return the rate of the overlaps of two families in an eigenspace, or their change in a step.

    Args:
        first, second: The families, of units i and j, or i and n of teachers.
        drifts: The drifts D.
        noise: ρ_k Γ of the two families for one component.
        by_steps: Whether steps are of order one, so that products of two drifts count.
    """
    last = s.n if second == "B" else s.j
    total = noise
    for along, drift in drifts.get(first, {}).items():
        letter = _summed(along)[0]
        moved = at(drift, {_letter(along): letter})
        total += _sum(moved * _overlap(along, second, letter, last), letter)
    for along, drift in drifts.get(second, {}).items():
        letter = _summed(along)[0]
        moved = at(drift, {s.i: last, _letter(along): letter})
        total += _sum(moved * _overlap(along, first, letter, s.i), letter)
        for other, factor in drifts.get(first, {}).items() if by_steps else ():
            second_letter = _summed(other)[1]
            both = moved * at(factor, {_letter(other): second_letter})
            overlap = _overlap(along, other, letter, second_letter)
            total += _sum(_sum(both * overlap, letter), second_letter)
    factor = s.eigenvalue[s.c, s.k] if second == "B" else sp.S.One
    return _in_order(map_terms(contract(spread(factor * total)), _mean_over_components))


def _in_order(expression: sp.Expr) -> sp.Expr:
    """Return an expression with the indices of symmetric overlaps in one order."""
    turned = {}
    for element in expression.atoms(sp.Indexed):
        families = s.families_of(element.base)
        last = element.indices[-2:]
        if len(set(families)) == 1 and last in ((s.j, s.i), (s.q, s.p)):
            turned[element] = element.base[(*element.indices[:-2], *reversed(last))]
    return expression.xreplace(turned)


def _summed(family: str) -> tuple[sp.Idx, sp.Idx]:
    return (s.m, s.o) if family == "B" else (s.p, s.q)


def _letter(family: str) -> sp.Idx:
    return s.n if family == "B" else s.j


def _sum(value: sp.Expr, letter: sp.Idx) -> sp.Expr:
    return contract(spread(sp.Sum(value, (letter, 0, letter.upper))))


def _overlap(first: str, second: str, i: sp.Idx, j: sp.Idx) -> sp.Expr:
    """Return an overlap in terms of the fields of the state; component d for moving teachers."""
    if (first, second) == ("B", "B"):
        held = s.teacher_overlap[s.c, s.d, s.k, j, i]
        return held / (s.eigenvalue[s.c, s.k] * s.eigenvalue[s.d, s.k])
    label = s.d if first == "B" else s.c
    if s.in_order(first, second) != (first, second):
        first, second, i, j = second, first, j, i
    if first == second:
        i, j = sorted((i, j), key=str)
    held = s.overlap(first, second)
    return held[label, s.k, i, j] / s.eigenvalue[label, s.k] if second == "B" else held[s.k, i, j]


def _mean_over_components(term: Term) -> Term:
    if not term.factor.has(s.d):
        return term
    return Term(s.probability[s.d] * term.factor, ((s.d, 0, s.C - 1), *term.limits))


def one_component(expression: sp.Expr) -> sp.Expr:
    """Return the special case of a single component: no component index, no sum, p = 1."""

    def bare(element: sp.Indexed) -> sp.Expr:
        others = [index for index in element.indices if index not in s.COMPONENTS]
        return sp.S.One if element.base == s.probability else element.base[tuple(others)]

    def rule(term: Term) -> Term:
        elements = term.factor.atoms(sp.Indexed)
        factor = term.factor.xreplace({element: bare(element) for element in elements})
        return Term(factor, tuple(x for x in term.limits if x[0] not in s.COMPONENTS))

    return map_terms(expression, rule)


def on_the_sphere(rates: Rates, length: sp.Expr, pairs: Sequence[tuple[str, str]]) -> Motion:
    """Return the motion of students that are rescaled after each step to keep Q_ii.

    Rescaling by (1 + x)^(-1/2) removes x/2 of a vector, where x is the relative growth of Q_ii.

    Args:
        rates: The rates without rescaling, in the order of the state.
        length: Q_ij in terms of the overlaps of the eigenspaces.
        pairs: The families whose overlaps are followed.
    """
    student = one_component(state_overlap("J", "J"))
    longer = at(rates[student], {s.j: s.i})
    grown = sp.Sum(s.weight[s.k] * s.eigenvalue[s.k] * longer, (s.k, 0, s.L - 1))
    half = sp.Rational(1, 2)
    back = {
        one_component(state_overlap(*pair)): sp.Add(
            *(STRETCH[at] for name, at in zip(pair, (s.i, s.j), strict=True) if name == "J")
        )
        for pair in pairs
    }
    rescaled = {of: rate - half * back.get(of, 0) * of for of, rate in rates.items()}
    stretch = contract(spread(grown)) / at(length, {s.j: s.i})
    return Motion(tuple(rescaled.items()), ((STRETCH[s.i], stretch),))
