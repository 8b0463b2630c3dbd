"""Right-hand sides that are made of others, without compiling these again.

Such a function is written inside of one that is given what it is made of. It is translated, kept on
disk and linked with the code of the others. Where that cannot be, numba compiles it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

from symderiv.compiled_code.machine_code import MachineCode, can_link
from symderiv.compiled_code.translated_functions import RIGHT_HAND_SIDE_KINDS, kept, kept_path
from symderiv.compiled_code.translation.ir_values import UntranslatableError
from symderiv.compiled_code.translation.module_source import FromElsewhere, FunctionSource

RightHandSide = Callable[..., None]


@lru_cache(maxsize=64)
def composed(make: Callable[..., Any], *parts: Any) -> RightHandSide:
    """Return the compiled right-hand side that a function makes of its parts.

    Args:
        make: Returns the right-hand side as Python has it, which needs nothing but its parts and
            NumPy.
        parts: Right-hand sides that are compiled, functions of one float in Python, numbers, and
            tuples of numbers.
    """
    try:
        return _translated(make, parts)
    except UntranslatableError:
        return _by_numba(make, parts)


def _translated(make: Callable[..., Any], parts: tuple[Any, ...]) -> MachineCode:
    if not can_link():
        raise UntranslatableError("code needs numba on this system")
    others: dict[str, MachineCode] = {}
    given: list[Any] = []
    texts = [inspect.getsource(make)]
    for number, part in enumerate(parts):
        if isinstance(part, MachineCode):
            symbol = f"part_{number}"
            others[symbol] = part
            given.append(FromElsewhere(symbol))
        elif isinstance(part, FunctionType):
            given.append(FunctionSource.of(part))
        elif callable(part):
            raise UntranslatableError("a function that numba compiled")
        else:
            given.append(part)
        texts.append(inspect.getsource(part) if isinstance(part, FunctionType) else repr(given[-1]))

    def made() -> tuple[dict[str, Any], bytes]:
        from symderiv.compiled_code.translation.translated import translated

        return translated(FunctionSource.of(make(*given)), RIGHT_HAND_SIDE_KINDS, others)

    return kept(kept_path("composed", *texts), "composed", made, others)


def _by_numba(make: Callable[..., Any], parts: tuple[Any, ...]) -> RightHandSide:
    import numba

    from symderiv.compiled_code.compiled import RIGHT_HAND_SIDE
    from symderiv.compiled_code.for_numba import for_numba

    number = numba.njit("float64(float64)", error_model="numpy")
    given = [number(each) if isinstance(each, FunctionType) else for_numba(each) for each in parts]
    decorate = numba.njit(RIGHT_HAND_SIDE.signature, error_model="numpy", nogil=True)
    compiled: RightHandSide = decorate(make(*given))
    return compiled
