"""Changes between steps of order 8, stabilised steps and implicit ones.

Steps that are limited by stability are 4 to 6 times the inverse of the fastest rate and cost 12
evaluations each. Now and then a stabilised step is tried, which finds that rate and how long such
steps could be, and they are made as long as they need clearly fewer evaluations. Implicit steps are
made to the end where the rest of the way is long enough. Costs are counted, not measured: results
do not depend on the machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from symderiv.integrate.steppers.walk import EXPLICIT, KINDS

# Steps between two looks at an explicit run, at a stabilised one at first and later, and after one
# that did not pay.
_EXPLICIT, _STABILISED, _FURTHER, _REFUSED = 50, 20, 100, 150
# What is left of the run must be worth trying: that many explicit steps.
_REST = 100
_LIMITED = 4.0
# Evaluations of explicit steps per unit of time over the rate: 12 in 6 over the rate.
_USUAL = 2.0
_WORTH = 0.7
_ITERATIONS = 8
#: The step that is tried, in explicit steps.
TRIED = 3.0
# Evaluations of a step, implicit steps of a run of tolerance 1e-8 beside those to results, and by
# how much they must be cheaper.
_EXPLICIT_EVALUATIONS, _IMPLICIT_EVALUATIONS = 12, 27
_IMPLICIT_STEPS, _IMPLICIT_PAYS = 100.0, 1.5


def stays(walk: Any) -> bool:
    """Return whether stabilised steps have made their way more cheaply; sets when to look again.

    Args:
        walk: a record of :data:`~symderiv.integrate.steppers.walk.WALK`.
    """
    taken = int(walk["accepted"] + walk["rejected"])
    way, made = float(walk["alpha"] - walk["from_alpha"]), int(walk["made"])
    walk["made"], walk["from_alpha"] = 0, walk["alpha"]
    pays = way > 0.0 and made < _USUAL * walk["rate"] * way
    walk["decide"] = taken + (_FURTHER if pays else _REFUSED)
    return pays


def due(walk: Any, end: float) -> bool:
    """Return whether to try a stabilised step now; sets when to look again.

    Args:
        walk: see :func:`stays`.
        end: the end of the run.
    """
    taken = int(walk["accepted"] + walk["rejected"])
    walk["decide"] = taken + _EXPLICIT
    return taken > 0 and end - walk["alpha"] > _REST * walk["step"]


def limited(
    walk: Any,
    y: np.ndarray,
    slope: np.ndarray,
    rhs: Callable[[float, np.ndarray, np.ndarray], None],
) -> bool:
    """Return whether stability may limit the explicit steps, by a power iteration on differences.

    Args:
        walk: see :func:`stays`.
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
            rhs(float(walk["alpha"]), y + part * direction, changed)
            direction = (changed - slope) / (part * length)
            rate = float(np.sqrt(direction @ direction))
    walk["evaluations"] += _ITERATIONS
    return rate * float(walk["step"]) > _LIMITED / 2


def pays(walk: Any, step: float) -> bool:
    """Return whether explicit steps are limited by stability and stabilised ones of a length are
    cheaper.

    Sets when to look again, if so.
    """
    rate = float(walk["rate"])
    if not (step > 0.0 and walk["step"] * rate > _LIMITED):
        return False
    cheaper = stages_for(step, rate) < _WORTH * _USUAL * rate * step
    if cheaper:
        walk["decide"] = walk["accepted"] + walk["rejected"] + _STABILISED
    return cheaper


def stages_for(step: float, rate: float) -> float:
    """Return how many stages, about, a stabilised step takes."""
    return math.sqrt((3.0 + step * rate) / 0.353) + 1.0


def implicit_pays(walk: Any, asked: np.ndarray, sizes: np.ndarray, tolerance: float) -> bool:
    """Return whether implicit steps to the end are likely to be faster than explicit ones.

    By rough costs in microseconds of an evaluation and of the linear systems.

    Args:
        walk: see :func:`stays`.
        asked: times of results.
        sizes: K, M, L.
        tolerance: of the steps.
    """
    K, M, L = (int(each) for each in sizes)
    mode = K * K + K * M
    evaluation = 1.0 + 0.0006 * L * mode
    step = _IMPLICIT_EVALUATIONS * evaluation + L * (0.042 * mode**2 + 0.001 * mode**3)
    results = int(np.count_nonzero(asked > walk["alpha"]))
    steps = _IMPLICIT_STEPS * (1e-8 / tolerance) ** 0.1 + results
    rest = (float(asked[-1]) - float(walk["alpha"])) / float(walk["step"])
    return bool(rest * _EXPLICIT_EVALUATIONS * evaluation > _IMPLICIT_PAYS * steps * step)


def change(walk: Any, kind: str) -> None:
    """Go over to another kind of steps; all results so far are filled.

    Args:
        walk: see :func:`stays`.
        kind: one of :data:`~symderiv.integrate.steppers.walk.KINDS`.
    """
    walk["in_a_row"] = 0
    if kind == EXPLICIT:
        walk["step"] = min(float(walk["step"]), 5.0 / float(walk["rate"]))
        walk["last_log"] = math.log(1e-4)
    else:
        walk["made"], walk["from_alpha"], walk["last_log"] = 0, walk["alpha"], 0.0
        if walk["since"] == 0.0:
            walk["since"] = walk["alpha"]
    walk["kind"] = KINDS.index(kind)
