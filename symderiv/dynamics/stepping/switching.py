"""When a run leaves the steps of order 8 for stabilised ones, and when it comes back.

Steps that are limited by stability are 4 to 6 times the inverse of the fastest rate and cost 12
evaluations each. Then one stabilised step is tried, which says how long they could be, and they are
made as long as they need clearly fewer evaluations. Only evaluations are counted, not seconds:
results do not depend on the machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from symderiv.dynamics.stepping.walk import ENDS

# Steps between two looks at an explicit run, at a stabilised one at first and later, and after one
# that did not pay.
_EXPLICIT, _STABILISED, _FURTHER, _REFUSED = 50, 20, 100, 150
# What is left of the run must be worth trying: that many explicit steps.
_REST = 100
_LIMITED = 4.0
# Evaluations of explicit steps per unit of time over the rate: 12 in 6 over the rate.
_USUAL = 2.0
_WORTH = 0.7
_ITERATIONS, _MORE_ITERATIONS = 12, 4
#: The step that is tried, in explicit steps.
TRIED = 3.0


def stays(walk: Any) -> bool:
    """Whether stabilised steps have made their way more cheaply; sets when to look again.

    Args:
        walk: a record of :data:`~symderiv.dynamics.stepping.walk.WALK`.
    """
    taken = int(walk["accepted"] + walk["rejected"])
    way, made = float(walk["alpha"] - walk["from_alpha"]), int(walk["made"])
    walk["made"], walk["from_alpha"] = 0, walk["alpha"]
    pays = way > 0.0 and made < _USUAL * walk["rate"] * way
    walk["decide"] = taken + (_FURTHER if pays else _REFUSED)
    return pays


def limited(
    walk: Any,
    y: np.ndarray,
    slope: np.ndarray,
    direction: np.ndarray,
    rhs: Callable[[float, np.ndarray, np.ndarray], None],
    end: float,
) -> bool:
    """Whether stability limits the explicit steps; sets when to look again, and the rate.

    Args:
        walk: see :func:`stays`.
        y, slope: where the run is.
        direction: where the search for the fastest mode starts; overwritten.
        rhs: of time, state and the slope to fill.
        end: of the run.
    """
    taken = int(walk["accepted"] + walk["rejected"])
    walk["decide"] = taken + _EXPLICIT
    if taken == 0 or end - walk["alpha"] < _REST * walk["step"]:
        return False
    walk["rate"] = _rate(walk, y, slope, direction, rhs)
    return bool(walk["rate"] * walk["step"] > _LIMITED)


def pays(walk: Any, step: float) -> bool:
    """Whether stabilised steps of this length would be cheaper; sets when to look again."""
    if not step > 0.0:
        return False
    rate = float(walk["rate"])
    cheaper = stages_for(step, rate) < _WORTH * _USUAL * rate * step
    if cheaper:
        walk["decide"] = walk["accepted"] + walk["rejected"] + _STABILISED
    return cheaper


def stages_for(step: float, rate: float) -> float:
    """How many stages, about, a stabilised step takes."""
    return math.sqrt((3.0 + step * rate) / 0.353) + 1.0


def change(
    walk: Any, y: np.ndarray, slope: np.ndarray, times: np.ndarray, ends: np.ndarray
) -> None:
    """Go over to the other kind of steps; all results so far are filled.

    Args:
        walk, y, slope: see :func:`limited`.
        times, ends: see :func:`~symderiv.dynamics.stepping.stepper.advance`.
    """
    if walk["stabilised"]:
        walk["stabilised"] = 0
        newest = int(walk["accepted"])
        walk["first_end"] = newest
        times[newest % ENDS], ends[newest % ENDS] = walk["alpha"], (y, slope)
        walk["step"] = min(float(walk["step"]), 5.0 / float(walk["rate"]))
        walk["last_error"], walk["in_a_row"] = 1e-4, 0
        return
    walk["stabilised"] = 1
    walk["made"], walk["from_alpha"], walk["in_a_row"] = 0, walk["alpha"], 0
    walk["last_error"] = 1.0
    if walk["since"] == 0.0:
        walk["since"] = walk["alpha"]


def _rate(
    walk: Any,
    y: np.ndarray,
    slope: np.ndarray,
    direction: np.ndarray,
    rhs: Callable[[float, np.ndarray, np.ndarray], None],
) -> float:
    """The fastest rate, from below, by a power iteration on differences."""
    known = np.any(direction)
    if not known:
        direction[:] = slope
    iterations = _MORE_ITERATIONS if known else _ITERATIONS
    changed, rate = np.empty_like(y), 0.0
    with np.errstate(all="ignore"):
        for _ in range(iterations):
            length = float(np.sqrt(direction @ direction))
            if not (length > 0.0 and np.isfinite(length)):
                direction[:] = 1.0
                length = float(np.sqrt(y.size))
            part = 1e-7 * max(float(np.sqrt(y @ y)), 1e-10) / length
            rhs(float(walk["alpha"]), y + part * direction, changed)
            direction[:] = (changed - slope) / (part * length)
            rate = float(np.sqrt(direction @ direction))
    walk["evaluations"] += iterations
    return rate
