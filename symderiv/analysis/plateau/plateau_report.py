"""The output of ``symderiv plateau``: numbers with their digits, closed forms, matrices."""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from flint import arb

from symderiv.analysis.plateau.closed_plateau import (
    BASIS,
    MATRICES,
    FullFlow,
    LinearisedMatrices,
    PlateauForms,
)
from symderiv.analysis.plateau.full_plateau import FullPlateau, equal_students, full_plateau
from symderiv.analysis.plateau.stability import Group, PlateauNumbers, plateau_numbers
from symderiv.analysis.plateau.teacher import HomogeneousTeacher
from symderiv.analysis.shipped_derivations import MODULES, SHIPPED
from symderiv.formula import Activation
from symderiv.foundation.derivation_cache import derived_once
from symderiv.foundation.errors import InputError, NotYetError, ToleranceError
from symderiv.precision.balls.decimals import Outward
from symderiv.precision.balls.expression_balls import ball_at
from symderiv.precision.balls.working import working_bits

if TYPE_CHECKING:
    from symderiv.learning.derivation.learning_equations import LearningEquations

_BITS_PER_DIGIT = 3.33
_LINE = 96
# With fewer units than this, terms of four different units are left out. Up to this learning rate
# the existence of the plateau of the full flow is not tested.
_MANY_UNITS = 4
_SMALL_RATE = 1


@dataclass(frozen=True)
class PlateauReport:
    """A plateau, ready to be printed.

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
    def _outward(self) -> Outward:
        return Outward(self.digits)

    def text_of(self, value: arb) -> str:
        """Return a ball as a decimal number with the digits asked for."""
        with working_bits(4 * self.digits + 200):
            # Eigenvalues of neutral directions are zero up to a proved bound, which needs more
            # bits.
            return self._outward.text(value)

    def number(self, value: Any) -> Any:
        """Return a ball for JSON: as a number if a double holds its digits, else as text."""
        with working_bits(4 * self.digits + 200):
            return self._outward.number(value)

    def to_json(self) -> dict[str, Any]:
        """Return the record of the plateau for JSON, with what is proved of its numbers."""
        return {**copy.deepcopy(self._record), **self._outward.record()}

    @cached_property
    def _record(self) -> dict[str, Any]:
        """The record for JSON, without what is proved of the numbers shown so far."""
        numbers = self.numbers
        escape = numbers.escape_time
        return {
            "activation": self.activation,
            "units": self.teacher.units,
            "learning_rate": str(self.learning_rate),
            "teacher": self.teacher.words,
            "R": self.number(numbers.R),
            "Q": self.number(numbers.Q),
            "generalization_error": self.number(numbers.generalization_error),
            "unstable_eigenvalue": self.number(numbers.unstable_eigenvalue),
            "escape_time": None if escape is None else self.number(escape),
            "eigenvalues": [self._group(group) for group in numbers.groups],
            "closed_forms": self.forms.plain.texts,
            "matrices": self._matrices(),
            "rates": {name: self.number(value) for name, value in numbers.rates.items()},
            "spread_plateau": self._state(self.spread),
            "full_flow": self._state(self.full),
            "full_flow_equal_students": self._state(self.equal),
            "warnings": [SPREAD] if self.spread is not None else [],
            "digits": self.digits,
        }

    def _state(self, state: FullPlateau | None) -> dict[str, Any] | None:
        if state is None:
            return None
        return {k: None if v is None else self.number(v) for k, v in vars(state).items()}

    def _group(self, group: Group) -> dict[str, Any]:
        return {
            "group": group.sector.name,
            "moves": group.sector.words,
            "kind": group.kind,
            "multiplicity": group.multiplicity,
            "matrix": group.sector.formula,
            "values": None if group.values is None else [self.number(v) for v in group.values],
            "per_eigenvalue": None if group.slope is None else self.number(group.slope),
        }

    def _matrices(self) -> dict[str, Any] | None:
        if self.matrices is None:
            return None
        record: dict[str, Any] = {"basis": list(BASIS), "formula": FORMULA}
        for name in MATRICES:
            record[name] = self.matrices.plain.texts[name]
            record[f"{name}_values"] = [
                [self.number(x) for x in row] for row in self._evaluated[name]
            ]
        return record

    @cached_property
    def _evaluated(self) -> dict[str, list[list[Any]]]:
        """The linearised matrices at this teacher, by name, as balls."""
        if self.matrices is None:
            return {}
        bits = int(self.digits * _BITS_PER_DIGIT) + 60
        T1, D1, _, _ = self.teacher.moments(bits)
        values = {"M": arb(self.teacher.units), "T": T1, "D": D1}
        return {
            name: [
                [ball_at(entry, values, bits) for entry in row]
                for row in getattr(self.matrices.plain, name)
            ]
            for name in MATRICES
        }

    def to_text(self) -> str:
        """Return the lines for a terminal."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        numbers = self.numbers
        yield f"activation   {self.activation}"
        yield f"units        M = {self.teacher.units}, {self.teacher.words}"
        yield f"rates        per unit of alpha at learning rate {self.learning_rate}"
        yield ""
        escape = numbers.escape_time
        rows = {
            "R": numbers.R,
            "Q": numbers.Q,
            "generalisation error": numbers.generalization_error,
            "unstable eigenvalue": numbers.unstable_eigenvalue,
        }
        for name, value in rows.items():
            yield f"{name:<22}{self.text_of(value)}"
        lasting = "none: nothing escapes" if escape is None else self.text_of(escape)
        yield f"{'escape time':<22}{lasting}"
        for name, state in (
            ("spread plateau", self.spread),
            ("full flow", self.full),
            ("same, Q = C", self.equal),
        ):
            shown = self._state(state)
            if shown is not None:
                rows_of = ", ".join(f"{key} = {value}" for key, value in shown.items())
                yield from textwrap.wrap(f"{name:<22}{rows_of}", _LINE, subsequent_indent=" " * 22)
        _ = self._record  # what is proved is said of all numbers of the answer
        proved = self._outward.record()
        yield (
            f"{'certified':<22}numbers to {proved['relative_error_bound']} of themselves, zeros to "
            f"{proved['zero_bound']}; {proved['arithmetic']}"
        )
        yield ""
        yield "eigenvalues of the linearised flow (order η), in groups"
        for group in numbers.groups:
            yield f"  {group.sector.name:<15}{group.kind:<11}x {group.multiplicity:<6}{group.sector.words}"  # noqa: E501
            yield f"      {group.sector.formula}: {self._values(group)}"
        yield ""
        yield "closed forms"
        for name, form in self.forms.plain.texts.items():
            yield from textwrap.wrap(
                f"{name} = {form}",
                _LINE,
                initial_indent="  ",
                subsequent_indent="      ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        if self.matrices is not None:
            yield ""
            yield f"linearised matrices here (symbolic with --json), {FORMULA}"
            for name in ("G", "H_row", "H_difference"):
                matrix = self._evaluated[name]
                for a, letter in enumerate(BASIS):
                    label = name if a == 0 else ""
                    numbers_of = "".join(f"{float(x):>12.5g}" for x in matrix[a])
                    yield f"  {label:<13}{letter}{numbers_of}"

    def _values(self, group: Group) -> str:
        if group.values is None:
            if group.slope is None:
                return "needs the spectrum"
            if group.slope.is_zero():
                return "0"
            return f"{self.text_of(group.slope)} rho_k"
        values = [self.text_of(value) for value in group.values]
        if len(values) > 6:
            return f"{', '.join(values[:3])}, ... ({len(values) - 4} more) ..., {values[-1]}"
        return ", ".join(values)


SPREAD = (
    "equal students (Q = C) are themselves unstable for this activation (kappa < 0, group spread): "
    "small random students approach the plateau with Q > C in spread_plateau"
)
FORMULA = "eta (-G x Lambda + H_row x tau w^T + H_difference x theta w^T)"


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
    kappa = numbers.rates["difference_stiffness"]
    asked = full or (learning_rate > _SMALL_RATE and numbers.escape_time is not None)
    if kappa < 0:
        spread = full_plateau(kept_flow(activation, False, units), teacher, learning_rate, bits)
    if full and numbers.escape_time is None:
        raise InputError(
            "--full: nothing escapes from this state, and students with the same sum are equally "
            "good, so the full flow has no isolated plateau"
        )
    if asked:
        # With a large rate the full flow is solved even if not asked for: the plateau may not
        # exist.
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
    states = (spread, noisy, equal)
    return PlateauReport(
        activation.text, teacher, learning_rate, digits, forms, numbers, matrices, *states
    )


def _numbers(
    forms: PlateauForms, teacher: HomogeneousTeacher, learning_rate: Fraction, digits: int
) -> tuple[PlateauNumbers, int]:
    """Return the plateau to so many digits, and the bits that this took."""
    bits = int((digits + 5) * _BITS_PER_DIGIT) + 40
    for _ in range(4):
        numbers = plateau_numbers(forms, teacher, learning_rate, bits)
        if _accurate(numbers, digits):
            return numbers, bits
        bits *= 2
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
