"""Factors of means of products of activations: which functions of which fields they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from symderiv.foundation.errors import SymderivError
from symderiv.learning.derivation import symbols as s


@dataclass(frozen=True, order=True)
class Slot:
    """One factor of a mean: the derivative of order ``order`` of an activation at one field.

    ``biased``: whether the bias of the unit is added; ``family``: the family of the field's
    vectors.
    """

    teacher: bool
    order: int
    index: str
    biased: bool = False
    family: str = "J"

    @property
    def kind(self) -> tuple[bool, int]:
        """The function in the slot, whatever its field: teacher or student, and order."""
        return self.teacher, self.order

    def identity(self, same_activation: bool) -> tuple[bool, int]:
        """Return the kind, with a teacher's counted as a student's if both have the same
        activation.
        """
        return self.teacher and not same_activation, self.order


def slots(mean: sp.Expr) -> tuple[Slot, ...]:
    """Return the factors of ``Average(product of activations)``, high derivatives first, then
    students first.

    Raises:
        SymderivError: The mean contains something else than activations at fields x_i, y_n.
    """
    factors: list[Slot] = []
    for factor in sp.Mul.make_args(mean.args[0]):
        base, exponent = factor.as_base_exp()
        if not isinstance(base, s.StudentActivation) or not exponent.is_Integer:
            raise SymderivError(f"{factor} is not an activation at a field")
        order, field = base.args
        (index,) = field.atoms(sp.Idx)
        teacher = isinstance(base, s.TeacherActivation)
        bare = next(e.base for e in field.atoms(sp.Indexed) if s.is_random(e))
        family = "B" if teacher else "J" if bare == s.x else str(bare.label).removeprefix("x_")
        slot = Slot(teacher, int(order), str(index), isinstance(field, sp.Add), family)
        factors += [slot] * int(exponent)
    return tuple(
        sorted(factors, key=lambda slot: (-slot.order, slot.teacher, slot.index, slot.family))
    )


def _rank(slot: Slot) -> tuple[int, bool, str, str]:
    return -slot.order, slot.teacher, slot.index, slot.family


def index_symbol(slot: Slot) -> Any:
    """Return the index of the slot's field in the equations."""
    pool = s.TEACHERS if slot.teacher else s.STUDENTS
    return next(index for index in pool if str(index) == slot.index)


def field_of(slot: Slot) -> sp.Expr:
    """Return the field of the slot, with its bias if it has one."""
    field = s.field(slot.family)[index_symbol(slot)]
    return field + bias_of(slot) if slot.biased else field


def bias_of(slot: Slot) -> sp.Indexed:
    """Return the bias of the slot's unit."""
    return (s.teacher_bias if slot.teacher else s.bias)[index_symbol(slot)]


_INTEGRALS = {(0, 0): "I_2", (1, 1, 0, 0): "I_4"}


def with_integral_names(expression: sp.Expr) -> sp.Expr:
    """Return the expression with means of activations written as I2(x_i, x_j) and I4(x_i,
    x_j, …).
    """
    replaced: dict[sp.Expr, sp.Expr] = {}
    for mean in expression.atoms(s.Average):
        if mean.has(s.LossSlope, s.label):
            continue
        factors = slots(mean)
        name = _INTEGRALS.get(tuple(slot.order for slot in factors))
        if name is not None:
            replaced[mean] = sp.Function(name)(*(field_of(slot) for slot in factors))
    return expression.xreplace(replaced)
