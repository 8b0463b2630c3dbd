"""Right-hand sides made from others: rates that change in time, tasks that are mixed.

Both combine given right-hand sides: no equation is stated here. With probabilities p_c of tasks the
mean change of an example is Σ_c p_c times that of task c.

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

    Its parameters are those of ``rhs``, then the time α at which its own time is 0.

    Args:
        rhs: the right-hand side with constant rates.
        formula: the factor as a formula in ``alpha``.
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
def mixed(rhs: RightHandSide, laws: int, shown: int) -> RightHandSide:
    """Return a right-hand side for examples of several kinds, each with its own constants.

    Its parameters begin with ``shown`` numbers that are not used here. Then come the count of the
    state's entries that each kind sees, and for each kind its probability, the places and factors
    of these entries, and its constants.

    Args:
        rhs: the right-hand side of one kind.
        laws: the number of kinds.
        shown: how many numbers the parameters begin with.
    """
    rhs = for_numba(rhs)

    @numba.njit(_SIGNATURE, error_model="numpy", nogil=True)
    def right_hand_side(alpha, state, sizes, parameters, derivative):  # type: ignore[no-untyped-def]
        seen = int(parameters[shown])
        rows = parameters[shown + 1 :].reshape((laws, (parameters.size - shown - 1) // laws))
        own, change = np.empty(seen), np.empty(seen)
        derivative[:] = 0.0
        for c in range(laws):
            for a in range(seen):
                own[a] = rows[c, 1 + seen + a] * state[int(rows[c, 1 + a])]
            rhs(alpha, own, sizes, rows[c, 1 + 2 * seen :], change)
            for a in range(seen):
                part = change[a] / rows[c, 1 + seen + a]
                derivative[int(rows[c, 1 + a])] += rows[c, 0] * part

    summed: RightHandSide = right_hand_side
    return summed
