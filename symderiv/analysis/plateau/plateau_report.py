"""The plateau of an activation for a teacher: numbers with their digits, forms, matrices."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from flint import arb

from symderiv.analysis.plateau.closed_plateau import (
    MATRICES,
    FullFlow,
    LinearisedMatrices,
    PlateauForms,
)
from symderiv.analysis.plateau.full_plateau import FullPlateau, equal_students, full_plateau
from symderiv.analysis.plateau.stability import PlateauNumbers, plateau_numbers
from symderiv.analysis.plateau.teacher import HomogeneousTeacher
from symderiv.analysis.shipped_derivations import MODULES, SHIPPED
from symderiv.formula import Activation
from symderiv.foundation.derivation_cache import derived_once
from symderiv.foundation.errors import InputError, NotYetError, ToleranceError
from symderiv.precision.balls.expression_balls import balls_at

if TYPE_CHECKING:
    from symderiv.learning.derivation.learning_equations import LearningEquations

_BITS_PER_DIGIT = 3.33
# With fewer units than this, terms of four different units are left out. Up to this learning rate
# the existence of the plateau of the full flow is not tested.
_MANY_UNITS = 4
_SMALL_RATE = 1


@dataclass(frozen=True)
class PlateauReport:
    """The plateau of an activation for a teacher.

    Attributes:
        activation: The resolved formula.
        teacher: The teacher.
        learning_rate: η, exact.
        digits: Significant digits of every number.
        forms: The plateau in closed form.
        numbers: The plateau in balls.
        matrices: The linearised matrices, or None where they do not exist.
        spread: The plateau with Q > C of the O(η) flow, if equal students are unstable (κ < 0).
        full: The plateau of the full flow, if asked for.
        equal: The stationary state of the full flow with Q = C, where it could be enclosed.
    """

    activation: str
    teacher: HomogeneousTeacher
    learning_rate: Fraction
    digits: int
    forms: PlateauForms
    numbers: PlateauNumbers
    matrices: LinearisedMatrices | None
    spread: FullPlateau | None = None
    full: FullPlateau | None = None
    equal: FullPlateau | None = None

    @cached_property
    def matrix_numbers(self) -> dict[str, list[list[Any]]]:
        """The linearised matrices at this teacher, by name, as balls."""
        if self.matrices is None:
            return {}
        bits = int(self.digits * _BITS_PER_DIGIT) + 60
        T1, D1, _, _ = self.teacher.moments(bits)
        values = {"M": arb(self.teacher.units), "T": T1, "D": D1}
        return {
            name: [balls_at(row, values, bits) for row in getattr(self.matrices.plain, name)]
            for name in MATRICES
        }


def plateau_report(
    activation: Activation,
    teacher: HomogeneousTeacher,
    learning_rate: Fraction,
    digits: int,
    *,
    full: bool = False,
) -> PlateauReport:
    """Derive the plateau of an activation and evaluate it for a teacher.

    Args:
        activation: The activation of students and teachers.
        teacher: Its moments or modes.
        learning_rate: η, positive.
        digits: Significant digits.
        full: Also the plateau of the flow with the terms of order η².

    Raises:
        InputError: The activation or the teacher is outside what can be done (see
            :func:`~symderiv.analysis.plateau.stability.plateau_numbers`), or η is so large that the
            full flow has no stationary plateau.
        ToleranceError: The digits were not reached.
    """
    forms, matrices = derived(activation)
    numbers, bits = _numbers(forms, teacher, learning_rate, digits)
    spread, noisy, equal = None, None, None
    units = teacher.units if teacher.units < _MANY_UNITS else None
    escapes = numbers.escape_time is not None
    if numbers.rates["difference_stiffness"] < 0:
        spread = full_plateau(kept_flow(activation, False, units), teacher, learning_rate, bits)
    if full and not escapes:
        raise InputError(
            "--full: nothing escapes from this state, and students with the same sum are equally "
            "good, so the full flow has no isolated plateau"
        )
    # With a large rate the full flow is solved even if not asked for: the plateau may not exist.
    if full or (learning_rate > _SMALL_RATE and escapes):
        try:
            noisy = full_plateau(kept_flow(activation, True, units), teacher, learning_rate, bits)
        except (ToleranceError, NotYetError):
            if full:
                raise
    if noisy is not None:
        start = float(numbers.Q), float(numbers.R)
        with suppress(ToleranceError, NotYetError):
            equal = equal_students(
                kept_flow(activation, True, units), teacher, learning_rate, bits, start
            )
    return PlateauReport(
        *(activation.text, teacher, learning_rate, digits, forms, numbers, matrices),
        *(spread, noisy, equal),
    )


def _numbers(
    forms: PlateauForms, teacher: HomogeneousTeacher, learning_rate: Fraction, digits: int
) -> tuple[PlateauNumbers, int]:
    """Return the plateau to so many digits, and the bits that this took."""
    least = int((digits + 5) * _BITS_PER_DIGIT) + 40
    for bits in (least << doubled for doubled in range(4)):
        numbers = plateau_numbers(forms, teacher, learning_rate, bits)
        if _accurate(numbers, digits):
            return numbers, bits
    raise ToleranceError(f"{digits} digits of the plateau were not reached")


@lru_cache(maxsize=8)
def _equations(activation: Activation) -> LearningEquations:
    from symderiv.learning.derivation.learning_equations import derive_equations
    from symderiv.learning.rule.learning_problem import LearningProblem

    return derive_equations(LearningProblem(activation, activation))


@derived_once(imports=MODULES, shipped=SHIPPED)
def kept_flow(activation: Activation, noise: bool, units: int | None = None) -> FullFlow:
    """Return the flow of the plateau with or without the noise of the examples, for M units.

    Without ``units`` M is four or more.
    """
    from symderiv.analysis.plateau.plateau_forms import full_flow

    return full_flow(_equations(activation), noise=noise, units=units)


@derived_once(imports=MODULES, shipped=SHIPPED)
def derived(activation: Activation) -> tuple[PlateauForms, LinearisedMatrices | None]:
    """Return the closed forms and matrices of an activation, derived once in a process."""
    from symderiv.analysis.plateau.plateau_forms import linearised_matrices, plateau_forms
    from symderiv.analysis.symmetric import reduced_equations

    equations = _equations(activation)
    forms = plateau_forms(equations)
    reduced = reduced_equations(equations, paired=True, noise=False)
    return forms, linearised_matrices(reduced, forms)


def _accurate(numbers: PlateauNumbers, digits: int) -> bool:
    wanted = int((digits + 2) * _BITS_PER_DIGIT)
    values = [numbers.R, numbers.Q, numbers.generalization_error, numbers.unstable_eigenvalue]
    values += [value for group in numbers.groups for value in group.values or ()]
    for value in values:
        if value.is_zero() or value.rel_accuracy_bits() >= wanted:
            continue
        if not (value.contains(0) and value.abs_upper() < 2.0**-wanted):
            return False
    return True
