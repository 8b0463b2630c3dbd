"""Right-hand sides made from others: rates that change in time, tasks that are mixed.

Both combine given right-hand sides: no equation is stated here. With probabilities p_c of tasks the
mean change of an example is Σ_c p_c times that of task c.

What differs from phase to phase is in the vector of parameters, behind those of the module, so that
one code serves all of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from symderiv.compiled_code.composed import RightHandSide, composed


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

    from symderiv.formula import parse_formula
    from symderiv.formula.as_function import as_function

    alpha = sp.Symbol("alpha", real=True)
    factor = as_function(alpha, parse_formula(formula, ("alpha",)), "floats")
    return composed(_scheduled, rhs, factor, rates)


def _scheduled(rhs: Any, factor: Any, rates: tuple[int, ...]) -> Any:
    def right_hand_side(alpha, state, sizes, parameters, derivative):  # type: ignore[no-untyped-def]
        last = parameters.size - 1
        scaled = parameters[:last].copy()
        now = factor(parameters[last] + alpha)
        for n in range(len(rates)):
            scaled[rates[n]] *= now
        rhs(alpha, state, sizes, scaled, derivative)

    return right_hand_side


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
    return composed(_mixed, rhs, laws, shown)


def _mixed(rhs: Any, laws: int, shown: int) -> Any:
    def right_hand_side(alpha, state, sizes, parameters, derivative):  # type: ignore[no-untyped-def]
        seen, first = int(parameters[shown]), shown + 1
        width = (parameters.size - first) // laws
        own, change = np.empty(seen), np.empty(seen)
        derivative[:] = 0.0
        for c in range(laws):
            row = parameters[first + c * width : first + (c + 1) * width]
            for a in range(seen):
                own[a] = row[1 + seen + a] * state[int(row[1 + a])]
            rhs(alpha, own, sizes, row[1 + 2 * seen : width], change)
            for a in range(seen):
                part = change[a] / row[1 + seen + a]
                derivative[int(row[1 + a])] += row[0] * part

    return right_hand_side
