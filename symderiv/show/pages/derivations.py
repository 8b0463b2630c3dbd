"""The derivation that is shown for a learning problem: its equations and integrals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symderiv.foundation.derivation_cache import derived_once
from symderiv.foundation.documents.written_derivation import Derivation, Section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symderiv.formula import Activation
    from symderiv.learning.rule.learning_rule import LearningRule


def learning_derivation(
    student: Activation,
    teacher: Activation,
    tolerance: float | None = None,
    *,
    plateau: bool = False,
    rule: LearningRule | None = None,
    rates: Sequence[Section] = (),
) -> Derivation:
    """Derive from the update of one example to the equations, then the integrals that they need.

    Args:
        student, teacher: The activations.
        tolerance: The bound on the error of means without closed form; None for the default.
        plateau: True adds the symmetric plateau of equal activations under plain descent, with its
            linearisation and escape.
        rule: The learning rule, plain descent of the squared loss when left out. The integrals are
            shown for plain descent only.
        rates: Sections on keys of rules that change rates only.

    Raises:
        InputError: The dynamics of this pair does not exist (a divergent noise term).
        ToleranceError: The tolerance is out of reach.
    """
    alike = student.text == teacher.text
    dynamics, integrals = _derived(
        student, teacher, tolerance, plateau and alike and not rates, rule
    )
    if alike:
        title = f"Learning dynamics of the activation {_name(student)}"
    else:
        title = f"Learning dynamics: student {_name(student)}, teacher {_name(teacher)}"
    return Derivation(title, (*dynamics, *rates, *integrals))


@derived_once(
    *("formula", "gaussian", "keys", "statement", "learning", "numerics", "lowering"),
    *("precision", "analysis", "show", "foundation/documents"),
)
def _derived(
    student: Activation,
    teacher: Activation,
    tolerance: float | None,
    plateau: bool,
    rule: LearningRule | None,
) -> tuple[tuple[Section, ...], tuple[Section, ...]]:
    """Return the sections of the dynamics, and those of the integrals and the plateau."""
    from symderiv.learning.derivation.learning_equations import derive_equations
    from symderiv.learning.narration.narrator import sections as told
    from symderiv.learning.rule.learning_problem import LearningProblem
    from symderiv.learning.rule.learning_rule import PLAIN
    from symderiv.show.pages.approximations import integral_parts

    problem = LearningProblem(student, teacher, rule or PLAIN)
    equations = derive_equations(problem)
    integrals = []
    if problem.rule == PLAIN:
        integrals += integral_parts(problem, tolerance)
        if plateau:
            from symderiv.show.pages.plateau_sections import plateau_sections

            integrals += plateau_sections(student, equations)
    return tuple(told(equations)), tuple(integrals)


def _name(activation: Activation) -> str:
    if activation.name is None or activation.name == activation.text:
        return f"g(x) = {activation.text}"
    return f"{activation.name}, g(x) = {activation.text}"
