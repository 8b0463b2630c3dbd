"""The stepper's text as Python reads it, for one run: another route to what its compiled code does.

Compiling it for a comparison takes as long as a hundred tests; Python needs a second for a short
run, and neither numba nor LLVM.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from symderiv.integrate.steppers import (
    between_steps,
    cone,
    explicit_steps,
    implicit_jacobian,
    implicit_steps,
    implicit_systems,
    implicit_work,
    one_or_eight,
    stepper,
)

_MODULES = (
    *(between_steps, cone, explicit_steps, one_or_eight, stepper),
    *(implicit_jacobian, implicit_steps, implicit_systems, implicit_work),
)


def plain_view(vector: np.ndarray, start: int, shape: tuple[int, ...]) -> np.ndarray:
    return vector.reshape(-1)[start : start + math.prod(shape)].reshape(shape)


def _next_of(queue: np.ndarray) -> int:
    queue[0] += 1
    return int(queue[0]) - 1


#: What numba builds instructions for, as Python does it for one run.
_INSTRUCTIONS: dict[str, Callable[..., Any]] = {
    "one_view": plain_view,
    "view": plain_view,
    "zero_of": lambda rhs: 0.0,
    "width_of": lambda like: 1,
    "chosen": lambda condition, value, other: value if condition else other,
    "lane_bits": int,
    "next_of": _next_of,
}


def plain_stepper(changed: pytest.MonkeyPatch, method: str) -> Callable[..., None]:
    """Return the stepper of a method that Python runs, as long as ``changed`` is not undone."""
    for module in _MODULES:
        for name, value in list(vars(module).items()):
            if isinstance(value, Dispatcher):
                changed.setattr(module, name, value.py_func)
            elif name in _INSTRUCTIONS:
                changed.setattr(module, name, _INSTRUCTIONS[name])
    changed.setattr(stepper, "compiled", lambda *_, **__: lambda function: function)
    made = stepper._kept_with(0, 1, method, stepper._CONTROLS[method])

    def advance(rhs: Any, runs: Any, memory: Any, *limits: int) -> None:
        # records of Python have their fields as attributes
        runs = runs._replace(ended=runs.ended.view(np.recarray))
        memory = memory._replace(statuses=memory.statuses.view(np.recarray))
        with np.errstate(all="ignore"):
            made(rhs, runs, memory, *limits)

    return advance
