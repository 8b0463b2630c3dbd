"""Right-hand sides made from others: rates that change in time, tasks that are mixed.

Both are means over examples of the same equations: no equation is stated here. With probabilities
p_c of tasks the mean change of an example is Σ_c p_c times that of task c.

Compiling them takes seconds, so what differs from phase to phase is in the vector of parameters,
behind those of the module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Mixing:
    """Layout of the states and parameters of mixed tasks in one vector.

    The state is that of one task with the other heads' output weights behind it, those of head 0
    in the usual place; the parameters are those of one task and behind them, for each task, its
    probability, its head and the teacher's output weights.

    Attributes:
        others: heads besides head 0.
        tasks: C.
        weights: where the student's output weights lie in the state: begin, end.
        teacher_weights: where the teacher's lie in the parameters: begin, end.
        parameters: length of those of one task.
    """

    others: int
    tasks: int
    weights: tuple[int, int]
    teacher_weights: tuple[int, int]
    parameters: int

    def packed(
        self, parameters: np.ndarray, shares: np.ndarray, heads: np.ndarray, teachers: np.ndarray
    ) -> np.ndarray:
        """Return the parameters, from probabilities (C,), heads (C,) and output weights (C, M)."""
        rows = np.column_stack([shares, heads, teachers])
        return np.concatenate([parameters, rows.ravel()])


@lru_cache(maxsize=64)
def mixed(rhs: RightHandSide, mixing: Mixing) -> RightHandSide:
    """Return a right-hand side of tasks mixed at random, each with its own head and teachers.

    Args:
        rhs: the right-hand side of one task.
        mixing: how its vectors are packed.
    """
    others, tasks = mixing.others, mixing.tasks
    first, K = mixing.weights[0], mixing.weights[1] - mixing.weights[0]
    begin_teacher, end_teacher = mixing.teacher_weights
    count = mixing.parameters
    rhs = for_numba(rhs)

    @numba.njit(_SIGNATURE, error_model="numpy", nogil=True)
    def right_hand_side(alpha, state, sizes, parameters, derivative):  # type: ignore[no-untyped-def]
        length = state.size - others * K
        own, change, told = np.empty(length), np.empty(length), parameters[:count].copy()
        rows = parameters[count:].reshape((tasks, 2 + end_teacher - begin_teacher))
        derivative[:] = 0.0
        for c in range(tasks):
            share, head = rows[c, 0], int(rows[c, 1])
            begin = first if head == 0 else length + (head - 1) * K
            own[:] = state[:length]
            own[first : first + K] = state[begin : begin + K]
            told[begin_teacher:end_teacher] = rows[c, 2:]
            rhs(alpha, own, sizes, told, change)
            for a in range(length):
                if a < first or a >= first + K:
                    derivative[a] += share * change[a]
            for i in range(K):
                derivative[begin + i] += share * change[first + i]

    summed: RightHandSide = right_hand_side
    return summed
