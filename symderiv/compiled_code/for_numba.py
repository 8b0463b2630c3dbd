"""Right-hand sides as values for code that numba compiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symderiv.compiled_code.compiled import RIGHT_HAND_SIDE, _RightHandSide, as_argument
from symderiv.compiled_code.machine_code import MachineCode


def for_numba(function: Callable[..., Any], kind: Any = RIGHT_HAND_SIDE) -> Any:
    """Return a function that numba's code can call many times.

    Args:
        function: A function that numba compiled, or that was translated.
        kind: Its type, as numba's ``FunctionType``.
    """
    if isinstance(function, MachineCode) and function.for_c:
        return _RightHandSide(function.for_c, kind, function)
    return as_argument(function, kind)
