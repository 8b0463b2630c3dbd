"""The compiled stabilised stepper: numba's, or the file that an earlier run left.

A right-hand side that came without its compiler can be called by such code only, so the stepper is
then read from a file of its own; where there is none numba makes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symderiv.compiled_code.machine_code import MachineCode, code_path, load
from symderiv.integrate.steppers.run_code import stepper_digest

#: The vectors of the state's size that ``advance_stabilised`` works with.
ROOM = 10

_NAME = "advance_stabilised"
# One in each process, or None.
_known: list[MachineCode | None] = []


def stabilised_code(rhs: Callable[..., None]) -> Callable[..., Any] | None:
    """``advance_stabilised`` for a right-hand side of numba's or of the kept code.

    None for one of the kept code where no more code can be kept.
    """
    if not isinstance(rhs, MachineCode):
        from symderiv.integrate.steppers.stabilised import advance_stabilised

        return advance_stabilised
    if not _known:
        path = code_path("stabilised steps", (stepper_digest(),))
        found = load(path)
        if found is None:
            from symderiv.compiled_code import object_code
            from symderiv.integrate.steppers.stabilised import advance_stabilised

            object_code.keep(path, {_NAME: advance_stabilised})
            found = load(path)
        _known.append((found or {}).get(_NAME))
    return _known[0]
