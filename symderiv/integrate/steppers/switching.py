"""Changes between steps of order 8 and stabilised steps.

Steps that are limited by stability are 4 to 6 times the inverse of the fastest rate and cost 12
evaluations each. Now and then a stabilised step is tried, which finds that rate and how long such
steps could be, and they are made as long as they need clearly fewer evaluations. Only evaluations
are counted, not seconds: results do not depend on the machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

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


def change(walk: Any) -> None:
    """Go over to the other kind of steps; all results so far are filled.

    Args:
        walk: see :func:`stays`.
    """
    if walk["stabilised"]:
        walk["stabilised"] = 0
        walk["step"] = min(float(walk["step"]), 5.0 / float(walk["rate"]))
        walk["last_log"], walk["in_a_row"] = math.log(1e-4), 0
        return
    walk["stabilised"] = 1
    walk["made"], walk["from_alpha"], walk["in_a_row"] = 0, walk["alpha"], 0
    walk["last_log"] = 0.0
    if walk["since"] == 0.0:
        walk["since"] = walk["alpha"]
