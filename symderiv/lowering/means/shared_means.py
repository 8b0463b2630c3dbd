"""Means that a module computes together: those of four factors in the noise of a rule.

They share the points of quadrature of a pair of students
(``symderiv.numerics.quadratures.noise_mean``, and ``plane_mean`` for factors with kinks), so they
are no calls of functions but elements of arrays that one procedure fills.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sympy as sp
from symderiv_codegen import Array, Assignment, Call, Procedure

from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.mean_factors import Slot, index_symbol
from symderiv.lowering.solver_arrays import B_STATE, B_STUDENT, B_TEACHER, Q, R, T

__all__ = ["KINKED_NOISE_MEANS", "NOISE_MEANS", "before_shared", "shared_mean"]

_ARRAYS = (
    Array("means_of_students", ("K", "K", "K", "K"), "E[g'(x_i) g'(x_j) g(x_p) g(x_q)]"),
    Array("means_of_both", ("K", "K", "K", "M"), "E[g'(x_i) g'(x_j) g(x_p) h(y_n)]"),
    Array("means_of_teachers", ("K", "K", "M", "M"), "E[g'(x_i) g'(x_j) h(y_m) h(y_n)]"),
)
"""By how many of the last two fields are teachers'."""

NOISE_MEANS = Procedure(
    "noise_means",
    "Means of four factors in the noise, in one pass for each pair of students.",
    (Q, R, T, B_STUDENT, B_TEACHER),
    _ARRAYS,
    (),
    (),
    template="noise_means",
)

KINKED_NOISE_MEANS = replace(
    NOISE_MEANS,
    doc="Means of four factors in the noise, in one pass for each two students.",
    template="kinked_noise_means",
)


def shared_mean(factors: Sequence[Slot]) -> sp.Expr | None:
    """Return the element that is E[g'(x_i) g'(x_j) f(z) f(w)]; None for another mean."""
    slopes = [slot for slot in factors if slot.order == 1 and not slot.teacher]
    values = sorted((slot for slot in factors if slot.order == 0), key=lambda slot: slot.teacher)
    plain = all(slot.family == ("B" if slot.teacher else "J") for slot in factors)
    if not plain or (len(slopes), len(values), len(factors)) != (2, 2, 4):
        return None
    array = sp.IndexedBase(_ARRAYS[sum(slot.teacher for slot in values)].name)
    return array[tuple(index_symbol(slot) for slot in (*slopes, *values))]


def before_shared(
    body: Sequence[Assignment | Call], fields: Sequence[Array]
) -> tuple[tuple[Array, ...], tuple[Assignment | Call, ...]]:
    """Return locals and steps that compute the shared means before some steps that read them.

    Args:
        body: The steps; nothing is needed if they read none.
        fields: What the fields of means are: overlaps, and biases that a rule has.
    """
    names = {array.name for array in _ARRAYS}
    read = {
        str(element.base.label)
        for step in body
        if isinstance(step, Assignment)
        for element in step.value.atoms(sp.Indexed)
    }
    if not names & read:
        return (), ()
    own = {array.name: array for array in fields}
    if B_STATE.name in own:
        own[B_STUDENT.name] = own[B_STATE.name]
    missing = tuple(array for array in (B_STUDENT, B_TEACHER) if array.name not in own)
    zero = tuple(
        Assignment(sp.IndexedBase(array.name)[s.i if array == B_STUDENT else s.n], sp.Integer(0))
        for array in missing
    )
    inputs = (own.get(array.name, array).name for array in NOISE_MEANS.inputs)
    call = Call(NOISE_MEANS.name, (*inputs, *(array.name for array in _ARRAYS)))
    return (*missing, *_ARRAYS), (*zero, call)
