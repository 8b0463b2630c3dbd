"""What the stepper's text is compiled with for one run and for eight at a time.

A value that is ``like`` those of the runs says how many there are: a double or a lane value of
``symderiv_kernels.lanes.runtime``. All values are kept in vectors of doubles. What is said here in
Python is what is done for one run.
"""

# numba reads these texts by their arguments' names

from __future__ import annotations

import math
from typing import Any

from numba import types
from numba.extending import overload
from symderiv_kernels.fast.runtime import view as one_view
from symderiv_kernels.lanes.runtime import (
    LANES,
    chosen,
    lane_bits,
    lanes_at,
    next_of,
    put_lanes,
    view,
    width_of,
    zero_of,
)

__all__ = [
    "chosen",
    "evaluate",
    "lane_bits",
    "next_of",
    "one_view",
    "put_value",
    "value_at",
    "values_of",
    "width_of",
    "zero_of",
]


def values_of(like: Any, vector: Any, start: Any, shape: Any) -> Any:
    """Return the values of all runs in a vector of doubles from number ``start`` on, as an
    array.
    """
    return vector[start : start + math.prod(shape)].reshape(shape)


def value_at(like: Any, vector: Any, number: Any) -> Any:
    """Value ``number`` of all runs in a vector of doubles."""
    return vector[number]


def put_value(vector: Any, number: Any, value: Any) -> None:
    """Write value ``number`` of all runs into a vector of doubles."""
    vector[number] = value


def evaluate(rhs: Any, times: Any, state: Any, sizes: Any, parameters: Any, slope: Any) -> None:
    """Evaluate the equations of all runs at their times."""
    rhs(times[0], state, sizes, parameters, slope)


@overload(values_of)
def _values_of(like, vector, start, shape):  # type: ignore[no-untyped-def]
    if like == LANES:
        return lambda like, vector, start, shape: view(vector, start, shape)
    return lambda like, vector, start, shape: one_view(vector, start, shape)


@overload(value_at)
def _value_at(like, vector, number):  # type: ignore[no-untyped-def]
    if like == LANES:
        return lambda like, vector, number: lanes_at(vector, number)
    return lambda like, vector, number: vector[number]


@overload(put_value)
def _put_value(vector, number, value):  # type: ignore[no-untyped-def]
    if value == LANES:
        return lambda vector, number, value: put_lanes(vector, number, value)

    def put(vector, number, value):  # type: ignore[no-untyped-def]
        vector[number] = value

    return put


@overload(evaluate)
def _evaluate(rhs, times, state, sizes, parameters, slope):  # type: ignore[no-untyped-def]
    if rhs.signature.args[0] == types.float64:
        return lambda rhs, times, state, sizes, parameters, slope: rhs(
            times[0], state, sizes, parameters, slope
        )
    return lambda rhs, times, state, sizes, parameters, slope: rhs(
        times, state, sizes, parameters, slope
    )
