"""Integration of a study, whatever its learning rule."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.integrate.flows.equivalent_numbers import shown_factor
from symderiv.problem.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable

    from symderiv.integrate.flows.flat_run import Progress
    from symderiv.integrate.flows.run_errors import Check
    from symderiv.integrate.flows.study_flow import Flow
    from symderiv.integrate.flows.trajectory import Trajectory
    from symderiv.learning.rule.learning_rule import LearningRule
    from symderiv.problem.initial import Initial
    from symderiv.problem.state import State
    from symderiv.storage.checkpoint import Checkpoint
    from symderiv.storage.kernels import Kernel


def rule_of_study(study: Study) -> LearningRule:
    """Return the learning rule for which a study's equations are derived.

    Raises:
        InputError: the equations of one of its keys are not derived.
    """
    from symderiv.learning.rule.learning_rule import PLAIN

    if not study.rule_keys:
        return PLAIN
    from symderiv.problem.rule_of import rule_of

    return rule_of(study).rule


def solver_module(study: Study, *, notice: Callable[[str], None] | None = None) -> Kernel:
    """Return the solver module of a study, whatever its learning rule.

    See :func:`symderiv.storage.study_kernel.kernel_for`.
    """
    from symderiv.storage.study_kernel import kernel_for

    rule = rule_of_study(study) if study.rule_keys else None
    return kernel_for(study, notice=notice, rule=rule)


def solve(
    study: Study,
    *,
    kernel: Kernel | None = None,
    start: Initial | None = None,
    check: Check = "auto",
    max_steps: int = 100_000_000,
    progress: Progress | None = None,
    notice: Callable[[str], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Trajectory:
    """Integrate the order-parameter equations of a study.

    A run that cannot reach its end is returned up to where it got, with ``cause`` and ``message``;
    so is a run that is interrupted from the keyboard.

    Args:
        study: a study without [sweep].
        kernel: its solver module; None loads it.
        start: its initial state; None makes it.
        check: how the error is known. "always" compares with the same integration at smaller
            tolerances, "never" adds up what is estimated step by step, and "auto" estimates it from
            a run with a larger tolerance, and compares where that estimate is above what is asked.
        max_steps: steps after which to give up.
        progress: called about ten times a second with the time reached and the steps made.
        notice: see :func:`~symderiv.storage.kernels.load_kernel`.
        checkpoint: the file from which to resume, and in which the state is kept; the results are
            those of an undisturbed run. The caller removes it.

    Raises:
        InputError: the study cannot be run as it is.
    """
    from symderiv.integrate.flows.integrate import solve_flow
    from symderiv.problem.initial import check_equations, initial

    if study.sweep:
        raise InputError(
            "a study with [sweep] is several runs; use symderiv sweep or symderiv study",
            argument="sweep",
        )
    start = start or initial(study)
    check_equations(start)
    flow_at = flow_of(study, start, kernel=kernel, notice=notice, checkpoint=checkpoint)
    return solve_flow(flow_at, start, check=check, max_steps=max_steps, progress=progress)


def flow_of(
    study: Study,
    start: Initial,
    *,
    kernel: Kernel | None = None,
    notice: Callable[[str], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Callable[[State], Flow]:
    """Return a function from an initial state to the flow of a study.

    Args:
        study, kernel, notice, checkpoint: see :func:`solve`.
        start: the initial state, for its input model and what a rule adds.

    Raises:
        InputError: The rule uses overlaps in eigenspaces in which inputs do not vary, or the study
            asks for something that does not exist for inputs of several components.
    """
    from symderiv.integrate.flows.study_flow import PLAIN_RULE, Flow

    rule, data, several = (
        PLAIN_RULE,
        None,
        start.data is not None and len(start.data.components) > 1,
    )
    if study.rule_keys:
        from symderiv.problem.rule_of import rule_of

        rule = rule_of(study)
        begun = {name: value / shown_factor(study, name) for name, value in start.further.items()}
        rule = replace(rule, state={**rule.state, **begun})
        if rule.rule.stated and np.any(start.state.eigenvalue == 0.0):
            raise InputError(
                "has eigenvalues that are zero, where overlaps of weights and teachers are not "
                "known; leave those inputs out",
                argument="data",
            )
    elif several:
        if study.time.method == "implicit" or study.time.compression == "on":
            raise InputError(
                "inputs of several components need explicit steps and all eigenvalues",
                argument="time",
            )
        data, checkpoint = start.data, None
    chosen = kernel or solver_module(study, notice=notice)
    return lambda state: Flow(study, chosen, state, checkpoint, rule, data)
