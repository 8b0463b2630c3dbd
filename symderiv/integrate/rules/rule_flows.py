"""Flows of studies with learning rules: in one piece, in phases, or by steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.integrate.rules.phases import IN_PHASES, PhasedFlow
from symderiv.integrate.rules.rule_run import RuleFlow
from symderiv.problem.initial import Initial
from symderiv.problem.rule_of import rule_of
from symderiv.problem.state import State
from symderiv.problem.study import Study
from symderiv.storage.checkpoint import Checkpoint
from symderiv.storage.kernels import Kernel
from symderiv.storage.study_kernel import kernel_for


def rule_flow(
    study: Study,
    start: Initial,
    kernel: Kernel | None = None,
    notice: Callable[[str], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Callable[[State], RuleFlow]:
    """Return the flow of a study's rule from a state; see :func:`symderiv.integrate.rules.solving`.

    Raises:
        InputError: The rule uses overlaps in eigenspaces in which inputs do not vary.
    """
    rule = rule_of(study)
    rule = replace(rule, state={**rule.state, **start.further})
    if rule.rule.stated and np.any(start.state.eigenvalue == 0.0):
        raise InputError(
            "has eigenvalues that are zero, where overlaps of weights and teachers are not known; "
            "leave those inputs out",
            argument="data",
        )
    chosen = kernel or kernel_for(study, notice=notice, rule=rule.rule)
    phased = any(key in study.rule_keys for key in IN_PHASES)
    flow: type[RuleFlow] = PhasedFlow if phased else RuleFlow
    return lambda state: flow(study, chosen, state, checkpoint, rule)
