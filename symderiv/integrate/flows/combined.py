"""Right-hand sides made from others: rates that change in time, tasks that are mixed.

Both are means over examples of the same equations: no equation is stated here. With probabilities
p_c of tasks the mean change of an example is Σ_c p_c times that of task c.

Compiling them takes seconds, so what differs from phase to phase is in the vector of parameters,
behind those of the module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numba
import numpy as np

from symderiv.compiled_code.compiled import INTEGERS, VECTOR
from symderiv.compiled_code.for_numba import for_numba
from symderiv.formula import parse_formula

RightHandSide = Callable[..., None]

_SIGNATURE = numba.types.void(numba.types.float64, VECTOR, INTEGERS, VECTOR, VECTOR)


@lru_cache(maxsize=64)
def scheduled(rhs: RightHandSide, formula: str, rates: tuple[int, ...]) -> RightHandSide:
    """Return a right-hand side whose learning rates are multiplied by a function of α.

    Its parameters are those of ``rhs`` and behind them the time α that is called 0.

    Args:
        rhs: with constant rates.
        formula: in ``alpha``.
        rates: where the rates lie in the vector of parameters.
    """
    import sympy as sp

    from symderiv.formula.as_function import as_function

    expression = parse_formula(formula, ("alpha",))
    alpha_symbol = sp.Symbol("alpha", real=True)
    factor = numba.njit("float64(float64)", error_model="numpy")(
        as_function(alpha_symbol, expression, "floats")
    )
    rhs = for_numba(rhs)

    @numba.njit(_SIGNATURE, error_model="numpy", nogil=True)
    def right_hand_side(alpha, state, sizes, parameters, derivative):  # type: ignore[no-untyped-def]
        scaled = parameters[:-1].copy()
        now = factor(parameters[-1] + alpha)
        for place in rates:
            scaled[place] *= now
        rhs(alpha, state, sizes, scaled, derivative)

    factored: RightHandSide = right_hand_side
    return factored


@lru_cache(maxsize=64)
def mixed(rhs: RightHandSide, tasks: int, constants: int) -> RightHandSide:
    """Return a right-hand side of tasks that are mixed at random, each with its own constants.

    Its parameters begin with those of the first task; behind them are the count of the numbers of
    the state that a task sees, and for each task its probability, their places and its constants.

    Args:
        rhs: the right-hand side of one task.
        tasks: how many there are.
        constants: how many numbers the parameters of a task are.
    """
    rhs = for_numba(rhs)

    @numba.njit(_SIGNATURE, error_model="numpy", nogil=True)
    def right_hand_side(alpha, state, sizes, parameters, derivative):  # type: ignore[no-untyped-def]
        seen = int(parameters[constants])
        rows = parameters[constants + 1 :].reshape((tasks, 1 + seen + constants))
        own, change = np.empty(seen), np.empty(seen)
        derivative[:] = 0.0
        for c in range(tasks):
            for a in range(seen):
                own[a] = state[int(rows[c, 1 + a])]
            rhs(alpha, own, sizes, rows[c, 1 + seen :], change)
            for a in range(seen):
                derivative[int(rows[c, 1 + a])] += rows[c, 0] * change[a]

    summed: RightHandSide = right_hand_side
    return summed
