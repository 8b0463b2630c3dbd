"""From a study with a learning rule to its learning curves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.integrate.flows.flat_run import Progress
from symderiv.integrate.flows.integrate import Check, check_equations, solve_flow
from symderiv.integrate.flows.trajectory import Trajectory
from symderiv.integrate.rules.phases import IN_PHASES, PhasedFlow
from symderiv.integrate.rules.rule_run import RuleFlow
from symderiv.problem.initial import Initial, initial
from symderiv.problem.rule_of import rule_of
from symderiv.problem.state import State
from symderiv.problem.study import Study
from symderiv.storage.checkpoint import Checkpoint
from symderiv.storage.kernels import Kernel
from symderiv.storage.study_kernel import kernel_for


def solve_rule(
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
    """Integrate the order-parameter equations of a study with its learning rule.

    Args:
        study: a study without [sweep].
        kernel, start, check, max_steps, progress, notice, checkpoint: see
            :func:`symderiv.integrate.flows.integrate.solve`.
    """
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
) -> Callable[[State], RuleFlow]:
    """The flow of a study's rule from a state.

    Args:
        study, kernel, notice, checkpoint: see :func:`solve_rule`.
        start: what is known of its inputs.

    Raises:
        InputError: The rule uses overlaps in eigenspaces in which inputs do not vary.
    """
    rule = rule_of(study)
    if rule.rule.stated and np.any(start.state.eigenvalue == 0.0):
        raise InputError(
            "has eigenvalues that are zero, where overlaps of weights and teachers are not known; "
            "leave those inputs out",
            argument="data",
        )
    chosen = kernel or kernel_for(study, notice=notice, rule=rule.rule)
    flow: type[RuleFlow] = RuleFlow
    if any(key in study.rule_keys for key in IN_PHASES):
        flow = PhasedFlow
    if rule.rule.batches:
        # schedules at steps are SymPy's
        from symderiv.integrate.rules.steps_flow import StepsFlow

        flow = StepsFlow
    return lambda state: flow(study, chosen, state, checkpoint, rule)
