"""Means that a module computes together: those of values and slopes of all pairs of fields, and
those of four factors in the noise of a rule.

They share the series of a field (``symderiv.numerics.quadratures.pair_series``) or the points of
quadrature of a pair of students (``noise_mean``, and ``plane_mean`` for factors with kinks), so
they are no calls of functions but elements of arrays that one procedure fills.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sympy as sp
from symderiv_codegen import Array, Assignment, Call, Procedure

from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.mean_factors import Slot, index_symbol
from symderiv.lowering.solver_arrays import B_STATE, B_STUDENT, B_TEACHER, Q, R, T

__all__ = [
    "KINKED_NOISE_MEANS",
    "KINKED_PAIR_MEANS",
    "NOISE_MEANS",
    "PAIR_MEANS",
    "before_shared",
    "shared_mean",
]

_FIELDS = (Q, R, T, B_STUDENT, B_TEACHER)
_OF_FOUR = (
    Array("means_of_students", ("K", "K", "K", "K"), "E[g'(x_i) g'(x_j) g(x_p) g(x_q)]"),
    Array("means_of_both", ("K", "K", "K", "M"), "E[g'(x_i) g'(x_j) g(x_p) h(y_n)]"),
    Array("means_of_teachers", ("K", "K", "M", "M"), "E[g'(x_i) g'(x_j) h(y_m) h(y_n)]"),
)
_SLOPES = Array("slopes_of_students", ("K", "K"), "E[g'(x_i) g'(x_j)]", True)
_OF_TWO = (
    Array("values_of_students", ("K", "K"), "E[g(x_i) g(x_j)]", True),
    Array("values_of_both", ("K", "M"), "E[g(x_i) h(y_n)]"),
    Array("values_of_teachers", ("M", "M"), "E[h(y_m) h(y_n)]", True),
    _SLOPES,
    Array("slopes_of_both", ("K", "M"), "E[g'(x_i) h'(y_n)]"),
    Array("curvatures_of_students", ("K", "K"), "E[g''(x_i) g(x_j)] / 2"),
    Array("curvatures_of_both", ("K", "M"), "E[g''(x_i) h(y_n)] / 2"),
)
_OF_STUDENTS = tuple(array for array in _OF_TWO if array.name != "values_of_teachers")
_KINDS = {(1, 1, 0, 0): "means", (0, 0): "values", (1, 1): "slopes", (2, 0): "curvatures"}
"""The names of shared means by the orders of their factors; the networks of the last two fields are
appended."""

NOISE_MEANS = Procedure(
    "noise_means",
    "Means of four factors in the noise, in one pass for each pair of students.",
    _FIELDS,
    (*_OF_FOUR, _SLOPES),
    (),
    (),
    template="noise_means",
)

KINKED_NOISE_MEANS = replace(
    NOISE_MEANS,
    doc="Means of four factors in the noise, in one pass for each two students.",
    template="kinked_noise_means",
)

PAIR_MEANS = Procedure(
    "pair_means",
    "Means of two factors, in one pass over the fields.",
    _FIELDS,
    _OF_TWO,
    (),
    (),
    template="pair_means",
)

KINKED_PAIR_MEANS = replace(
    PAIR_MEANS,
    doc="Means of two factors of which one is a student's, from the same points for each pair.",
    outputs=_OF_STUDENTS,
    template="polar_pair_means",
)


def shared_mean(factors: Sequence[Slot], procedures: Sequence[Procedure]) -> sp.Expr | None:
    """Return the element of a procedure's array that holds a mean, or None for another mean."""
    ordered = sorted(factors, key=lambda slot: (-slot.order, slot.teacher))
    kind = _KINDS.get(tuple(slot.order for slot in ordered))
    whose = ("students", "both", "teachers")[sum(slot.teacher for slot in ordered[-2:])]
    arrays = {array.name: array for each in procedures for array in each.outputs}
    array = arrays.get(f"{kind}_of_{whose}")
    axes = tuple("M" if slot.teacher else "K" for slot in ordered)
    plain = all(slot.family == ("B" if slot.teacher else "J") for slot in factors)
    if array is None or array.shape != axes or not plain:
        return None
    return sp.IndexedBase(array.name)[tuple(map(index_symbol, ordered))]


def before_shared(
    body: Sequence[Assignment | Call], fields: Sequence[Array], procedures: Sequence[Procedure]
) -> tuple[tuple[Array, ...], tuple[Assignment | Call, ...]]:
    """Return the local arrays and the steps that compute the shared means which some steps read.

    Args:
        body: The steps that read shared means, or none.
        fields: The arrays of the moments of fields: overlaps, and biases if the rule has any.
        procedures: The procedures that compute shared means; those that compute most of them are
            called first.
    """
    read = {
        str(element.base.label)
        for step in body
        if isinstance(step, Assignment)
        for element in step.value.atoms(sp.Indexed)
    }
    own = {array.name: array for array in fields}
    if B_STATE.name in own:
        own[B_STUDENT.name] = own[B_STATE.name]
    missing = tuple(array for array in (B_STUDENT, B_TEACHER) if array.name not in own)
    zero = tuple(
        Assignment(sp.IndexedBase(array.name)[s.i if array == B_STUDENT else s.n], sp.Integer(0))
        for array in missing
    )
    arrays: dict[str, Array] = {}
    calls: list[Call] = []
    known = {array.name for each in procedures for array in each.outputs}
    while left := (read & known) - set(arrays):
        most = max(procedures, key=lambda each: len(left & {a.name for a in each.outputs}))
        names = (*(own.get(each.name, each) for each in most.inputs), *most.outputs)
        calls.append(Call(most.name, tuple(array.name for array in names)))
        arrays |= {array.name: array for array in most.outputs}
    return ((*missing, *arrays.values()), (*zero, *calls)) if calls else ((), ())
