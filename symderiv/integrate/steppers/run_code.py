"""The compiled steppers: from the file that an earlier run left, or from numba.

A file (:mod:`symderiv.compiled_code.machine_code`) belongs to the stepper of a method and a number
of runs at a time; numba is not imported where it is there. The first code of a stepper is not
compiled by numba either, but comes with the package (:mod:`symderiv.compiled_code.shipped_code`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from symderiv.compiled_code.machine_code import (
    MachineCode,
    code_path,
    is_possible,
    linked,
    load,
    write,
)
from symderiv.integrate.steppers.stepper_sources import stepper_digest

# Files that were read or written in this process, and those that could not be written.
_known: dict[Path, dict[str, MachineCode] | None] = {}
_ADVANCE = "advance"


def stepper_for(
    right_hand_side: Callable[..., None], method: str, width: int = 1
) -> tuple[Callable[..., None] | None, Any]:
    """Return the stepper of a method for a right-hand side of numba's or of the kept code.

    A right-hand side that came without its compiler can be called by such code only, unless it was
    translated; where the stepper is not kept numba makes it.

    Args:
        right_hand_side: of one run, or of eight, see ``width``.
        method: of the steps.
        width: runs at a time; 8 takes the right-hand side of a lane module.

    Returns:
        The stepper, None where it cannot be kept; and the right-hand side as an argument for it.
    """
    code = _stepper_code(method, width)
    if isinstance(right_hand_side, MachineCode) and not (right_hand_side.for_c and code is None):
        path = _stepper_path(_name(method, width))
        if code is None and path not in _known:
            _known[path] = None
            _keep_stepper(method, width)
            _known.pop(path)
            code = _known[path] = _read(path)
        return (code or {}).get(_ADVANCE), right_hand_side
    # here, because a run whose code is kept does without numba
    from symderiv.compiled_code.compiled import (
        LANE_RIGHT_HAND_SIDE,
        RIGHT_HAND_SIDE,
        is_from_numba,
    )
    from symderiv.compiled_code.for_numba import for_numba
    from symderiv.compiled_code.object_code import in_memory

    kind = RIGHT_HAND_SIDE if width == 1 else LANE_RIGHT_HAND_SIDE
    if code and is_from_numba(right_hand_side):
        called = in_memory(right_hand_side, kind.signature)
        if called is not None:
            return code[_ADVANCE], called
    from symderiv.integrate.steppers.stepper import stepper

    return stepper(width, method), for_numba(right_hand_side, kind)


def _stepper_code(method: str, width: int = 1) -> dict[str, MachineCode] | None:
    """Return the stepper's code that is kept, or what came with the package, which then is."""
    path = _stepper_path(_name(method, width))
    code = _read(path) if is_possible() else None
    if code is not None or not is_possible() or path in _known:
        return code
    from symderiv.compiled_code.shipped_code import shipped

    came = shipped(shipped_path(method, width), stepper_digest())
    if came is None:
        return None
    write(path, {_ADVANCE: came})
    code = _known[path] = {_ADVANCE: linked(*came)}
    return code


def shipped_path(method: str, width: int = 1) -> Path:
    """Return the file of the stepper that comes with the package, for so many runs at a time."""
    return Path(__file__).with_name(f"{_name(method, width)}.code")


def _name(method: str, width: int) -> str:
    return method if width == 1 else f"{method}_{width}"


def _keep_stepper(method: str, width: int = 1) -> None:
    from symderiv.compiled_code import object_code
    from symderiv.integrate.steppers.stepper import stepper

    object_code.keep(_stepper_path(_name(method, width)), {_ADVANCE: stepper(width, method)})


def _read(path: Path) -> dict[str, MachineCode] | None:
    code = _known.get(path) or load(path)
    if code is not None:
        _known[path] = code
    return code


def _stepper_path(name: str) -> Path:
    return code_path(f"{name} steps", (stepper_digest(),))
