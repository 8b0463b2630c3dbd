"""The change from steps of order 8 to implicit ones.

Steps that are limited by stability are 4 to 6 times the inverse of the fastest rate and cost 12
evaluations each. Now and then that rate is looked for. Implicit steps are made to the end where the
rest of the way is long enough. Costs are counted, not measured: results do not depend on the
machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symderiv.integrate.steppers.coupled_modes import CoupledModes

# Steps between two looks at an explicit run.
_BETWEEN = 50
# What is left of the run must be worth trying: that many explicit steps.
_REST = 100
# Of the rate that is found, which is below the fastest one.
_LIMITED = 2.0
_ITERATIONS = 8
# Evaluations of a step, implicit steps of a run of tolerance 1e-8 beside those to results, and by
# how much they must be cheaper.
_EXPLICIT_EVALUATIONS, _IMPLICIT_EVALUATIONS = 12, 27
_IMPLICIT_STEPS, _IMPLICIT_PAYS = 100.0, 1.5
# Of the numbers alone and sums, in microseconds.
_SYSTEM = 0.002


def due(status: Any, end: float) -> bool:
    """Return whether to look for stiffness now; sets when to look again.

    Args:
        status: a record of :data:`~symderiv.integrate.steppers.memory.STATUS`.
        end: the end of the run.
    """
    taken = int(status["accepted"] + status["rejected"])
    status["decide"] = taken + _BETWEEN
    return taken > 0 and end - status["alpha"] > _REST * status["step"]


def limited(
    status: Any,
    y: np.ndarray,
    slope: np.ndarray,
    rhs: Callable[[float, np.ndarray, np.ndarray], None],
) -> bool:
    """Return whether stability may limit the explicit steps, by a power iteration on differences.

    Args:
        status: see :func:`due`.
        y, slope: where the run is.
        rhs: the right-hand side, a function of time, state and the slope to fill.
    """
    direction, changed, rate = slope, np.empty_like(y), 0.0
    with np.errstate(all="ignore"):
        for _ in range(_ITERATIONS):
            length = float(np.sqrt(direction @ direction))
            if not (length > 0.0 and np.isfinite(length)):
                return False
            part = 1e-7 * max(float(np.sqrt(y @ y)), 1e-10) / length
            rhs(float(status["alpha"]), y + part * direction, changed)
            direction = (changed - slope) / (part * length)
            rate = float(np.sqrt(direction @ direction))
    status["evaluations"] += _ITERATIONS
    return rate * float(status["step"]) > _LIMITED


def implicit_pays(status: Any, asked: np.ndarray, modes: CoupledModes, tolerance: float) -> bool:
    """Return whether implicit steps to the end are likely to be faster than explicit ones.

    By rough costs in microseconds of an evaluation and of the linear systems.

    Args:
        status: see :func:`due`.
        asked: times of results.
        modes: how the state is coupled.
        tolerance: of the steps.
    """
    S, G, C, L = modes.counts
    evaluation = 1.0 + 0.004 * modes.size
    systems = L * (0.042 * S**2 + 0.001 * S**3) + _SYSTEM * (G + C) ** 3
    step = _IMPLICIT_EVALUATIONS * evaluation + systems
    results = int(np.count_nonzero(asked > status["alpha"]))
    steps = _IMPLICIT_STEPS * (1e-8 / tolerance) ** 0.1 + results
    rest = (float(asked[-1]) - float(status["alpha"])) / float(status["step"])
    return bool(rest * _EXPLICIT_EVALUATIONS * evaluation > _IMPLICIT_PAYS * steps * step)
