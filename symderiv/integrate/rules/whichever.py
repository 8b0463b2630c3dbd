"""Integration of a study, whatever its learning rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symderiv.problem.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable

    from symderiv.integrate.flows.trajectory import Trajectory
    from symderiv.learning.rule.learning_rule import LearningRule
    from symderiv.storage.kernels import Kernel


def rule_of_study(study: Study) -> LearningRule:
    """The rule that a study's equations are derived for.

    Raises:
        InputError: the equations of one of its keys are not derived.
    """
    from symderiv.learning.rule.learning_rule import PLAIN

    if not study.rule_keys:
        return PLAIN
    from symderiv.problem.rule_of import rule_of

    return rule_of(study).rule


def solver_module(study: Study, *, notice: Callable[[str], None] | None = None) -> Kernel:
    """As :func:`symderiv.storage.study_kernel.kernel_for`, for every rule."""
    from symderiv.storage.study_kernel import kernel_for

    rule = rule_of_study(study) if study.rule_keys else None
    return kernel_for(study, notice=notice, rule=rule)


def solve(study: Study, **options: Any) -> Trajectory:
    """As :func:`symderiv.integrate.flows.integrate.solve`, for every rule that is derived."""
    from symderiv.integrate.flows import integrate

    if study.rule_keys and not study.sweep:
        from symderiv.integrate.rules.solving import solve_rule

        return solve_rule(study, **options)
    return integrate.solve(study, **options)
