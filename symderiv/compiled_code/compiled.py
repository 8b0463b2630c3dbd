"""A typed decorator that asks numba for a compiled function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.experimental.function_type import _get_wrapper_address

from symderiv.compiled_code.code_cache import kept_code

Function = TypeVar("Function", bound=Callable[..., Any])

VECTOR = types.float64[::1]
MATRIX = types.float64[:, ::1]
CUBE = types.float64[:, :, ::1]
INTEGERS = types.int64[::1]

#: A generated module's right-hand side as a value: (alpha, state, sizes, parameters, derivative).
RIGHT_HAND_SIDE = types.FunctionType(types.void(types.float64, VECTOR, INTEGERS, VECTOR, VECTOR))
#: That of a lane module, whose first argument is a vector of times, one for each of eight runs.
LANE_RIGHT_HAND_SIDE = types.FunctionType(types.void(VECTOR, VECTOR, INTEGERS, VECTOR, VECTOR))


class _RightHandSide(types.WrapperAddressProtocol):  # type: ignore[misc]
    """A right-hand side whose address is looked up once, not at every call.

    It holds a reference to the function, whose code would otherwise be freed.
    """

    def __init__(self, address: int, kind: Any, function: object) -> None:
        self._address, self._kind, self._function = address, kind, function

    def __wrapper_address__(self) -> int:
        return self._address

    def signature(self) -> Any:
        return self._kind.signature


def is_from_numba(function: object) -> bool:
    """Return whether a function is one that numba compiles."""
    return isinstance(function, Dispatcher)


def as_argument(right_hand_side: Callable[..., None], kind: Any = RIGHT_HAND_SIDE) -> Any:
    """Return a compiled right-hand side as an argument for compiled code that is often called."""
    if not isinstance(right_hand_side, Dispatcher):
        return right_hand_side
    address = _get_wrapper_address(right_hand_side, kind.signature)
    return _RightHandSide(address, kind, right_hand_side)


def records(fields: np.dtype) -> Any:
    """Return the type of a one-dimensional array of records, for a signature."""
    return numba.from_dtype(fields)[::1]


def compiled(*signature: Any, **options: Any) -> Callable[[Function], Function]:
    """Return numba's decorator with a cache on disk, in which division by zero gives infinities.

    Sums are evaluated in the order in which they are written, unless ``fastmath`` says otherwise:
    if the option is not given, numba takes it from whichever function calls first. The functions
    cannot be values in other compiled code.

    An explicit signature makes the function compile (or load) at import, so that a later call does
    not depend on what was passed first.
    """
    given = {"error_model": "numpy", "fastmath": False, "nogil": True, "no_cfunc_wrapper": True}
    decorator: Callable[[Function], Function] = numba.njit(
        *signature, cache=True, **{**given, **options}
    )

    def decorate(function: Function) -> Function:
        with kept_code():
            return decorator(function)

    return decorate


_PART: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract"},
    "forceinline": True,
}
#: The decorator for functions that are inlined into their callers and cached only with these. Sums
#: may be made in any order, as vector instructions need; infinities and NaN are kept. Passing many
#: arrays as arguments would cost more than the work on them.
part_of_compiled: Any = numba.njit(**_PART)
#: The decorator for such functions that Python never calls (the process would crash): wrappers for
#: Python take long to compile if arguments are tuples of many arrays.
hidden_part: Any = numba.njit(**_PART, no_cpython_wrapper=True, no_cfunc_wrapper=True)
