"""A typed way to ask numba for a compiled function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba import types

from symderiv.code_cache import kept_code

Function = TypeVar("Function", bound=Callable[..., Any])

VECTOR = types.float64[::1]
MATRIX = types.float64[:, ::1]
CUBE = types.float64[:, :, ::1]
INTEGERS = types.int64[::1]

#: A generated module's right-hand side as a value: (alpha, state, sizes, parameters, derivative).
RIGHT_HAND_SIDE = types.FunctionType(types.void(types.float64, VECTOR, INTEGERS, VECTOR, VECTOR))

#: A generated module's activation function as a value.
SCALAR_FUNCTION = types.FunctionType(types.float64(types.float64))


def records(fields: np.dtype) -> Any:
    """The type of a one-dimensional array of records, for a signature."""
    return numba.from_dtype(fields)[::1]


def compiled(*signature: Any, **options: Any) -> Callable[[Function], Function]:
    """Return numba's decorator, kept on disk, with divisions by zero giving infinities.

    Sums are made in the order in which they are written, unless ``fastmath`` says otherwise: what
    is not said numba takes from whichever function calls first. The functions are not values for
    other compiled code.

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
