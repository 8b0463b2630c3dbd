"""A run whose control is constant in pieces, and the gradient by all pieces at once.

With s' = f(s, u), steps of the classical method of Runge and Kutta are made inside every piece, and
the discrete adjoint goes back through the same steps, so that the gradient is that of the run as it
is computed, to rounding. The transposed Jacobian is made of products with it: one tangent for each
order parameter that moves, and one for the control, at each of the four stages. A gradient thus
costs as much as that many tangents, whatever the number of pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numba
import numpy as np

from symderiv.compiled_code.compiled import INTEGERS, VECTOR
from symderiv.compiled_code.for_numba import for_numba
from symderiv.foundation.packing import Packing, families_of
from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.integrate.flows.sensitivities import VariedFlow
from symderiv.integrate.flows.study_flow import Flow
from symderiv.integrate.flows.tangents import moving_packing, tangent_function
from symderiv.integrate.steppers.walk import DONE

__all__ = ["ControlSteps", "ControlledFlow", "Path"]

_TABLE = numba.types.float64[:, ::1]
_STAGES = numba.types.float64[:, :, ::1]
_FORWARD = numba.types.void(VECTOR, INTEGERS, _TABLE, VECTOR, VECTOR, INTEGERS, _STAGES)
_BACKWARD = numba.types.void(
    numba.types.Tuple((VECTOR, VECTOR, INTEGERS, _STAGES)),
    numba.types.Tuple((INTEGERS, _TABLE, VECTOR)),
    numba.types.Tuple((_TABLE, INTEGERS)),
    _TABLE,
    VECTOR,
)


class ControlSteps(NamedTuple):
    """Steps in time: lengths (S,), and the number of the piece that each lies in (S,)."""

    lengths: np.ndarray
    pieces: np.ndarray

    @property
    def alpha(self) -> np.ndarray:
        """The times of their ends, from 0 on, shape (S + 1,)."""
        return np.concatenate([[0.0], np.cumsum(self.lengths)])


class Path(NamedTuple):
    """A run in steps.

    Attributes:
        values: the values of the control in each piece.
        steps: the steps.
        stages: flat states, shape (S + 1, 4, n): those of step k in row k, and the last state as
            the first of row S.
    """

    values: np.ndarray
    steps: ControlSteps
    stages: np.ndarray

    @property
    def states(self) -> np.ndarray:
        """States at the ends of the steps, shape (S + 1, n)."""
        return self.stages[:, 0]


@dataclass(frozen=True)
class ControlledFlow:
    """A flow with constants ``base + u * change``, in which u is the control.

    Attributes:
        flow: whose rates depend on the state alone.
        base, change: flat constants.
    """

    flow: Flow
    base: np.ndarray
    change: np.ndarray

    def run(self, values: np.ndarray, steps: ControlSteps, begin: np.ndarray | None = None) -> Path:
        """Return the run with a control, from the begin of the flow or elsewhere."""
        start = self.flow.begin if begin is None else begin
        stages = np.empty((steps.lengths.size + 1, 4, start.size))
        table = np.stack([self.base, self.change])
        given = np.ascontiguousarray(values, dtype=np.float64)
        self._forward(start, self.flow.sizes, table, given, *steps, stages)
        return Path(given, steps, stages)

    def rates(self, state: np.ndarray, value: float) -> np.ndarray:
        """Return the rates of the order parameters that move."""
        found = np.empty_like(state)
        constants = self.base + value * self.change
        self._rhs(0.0, np.ascontiguousarray(state), self.flow.sizes, constants, found)
        moving: np.ndarray = found[self.moving]
        return moving

    def gradient(self, path: Path, covectors: np.ndarray) -> np.ndarray:
        """Return the derivatives by the control in each piece.

        Args:
            path: a run.
            covectors: derivatives of what is differentiated by the order parameters that move, at
                the ends of the steps, shape (S + 1, r).
        """
        found = np.zeros(path.values.size)
        table = np.stack([self.base, self.change])
        self._backward(
            (path.values, *path.steps, path.stages),
            (self.flow.sizes, table, self._moved),
            (self._directions, self.moving),
            np.ascontiguousarray(covectors),
            found,
        )
        return found

    def errors(self, states: np.ndarray) -> np.ndarray:
        """Return the generalisation error at flat states (P, n)."""
        rows = np.ascontiguousarray(states)
        result = FlatResult(rows, len(rows), 0.0, rows[-1], DONE, 0, 0, 0, 0.0)
        return self.flow.errors(result)

    def error_slopes(self, state: np.ndarray) -> np.ndarray:
        """Return the derivatives of the error by the order parameters that move."""
        return self._error_slopes(np.ascontiguousarray(state))

    @cached_property
    def moving(self) -> np.ndarray:
        """Places in the flat state of the order parameters that move."""
        return np.ascontiguousarray(self._kept[self._moves])

    @cached_property
    def _directions(self) -> np.ndarray:
        """Directions of those order parameters that move, shape (r, n)."""
        return np.ascontiguousarray(self._basis[self._moves])

    @cached_property
    def _moves(self) -> np.ndarray:
        """True for each order parameter that changes; output weights often do not."""
        flow, found = self.flow, np.zeros((3, self.flow.begin.size))
        state = flow.begin.copy()
        for row in found:
            self._rhs(0.0, state, flow.sizes, flow.parameters, row)
            state += 1e-3 * row
        moved: np.ndarray = np.any(found[:, self._kept] != 0.0, axis=0)
        return moved

    @cached_property
    def _kept(self) -> np.ndarray:
        """The place of every order parameter; the first of two equal ones."""
        found: np.ndarray = np.argmax(self._basis != 0.0, axis=1)
        return found

    @cached_property
    def _basis(self) -> np.ndarray:
        """The direction in which every order parameter changes, shape (r, n)."""
        found = []
        packing = self._packing("state")
        for name, shape in packing.shapes.items():
            pair = families_of(name)
            symmetric = len(pair) == 2 and pair[0] == pair[1]
            for index in np.ndindex(shape):
                if symmetric and index[0] > index[1]:
                    continue
                direction = np.zeros(packing.size)
                view = packing.views(direction)[name]
                view[index] = 1.0
                if symmetric:
                    view[(index[1], index[0], *index[2:])] = 1.0
                found.append(direction)
        return np.array(found)

    def _packing(self, vector: str) -> Packing:
        state = self.flow.state
        return Packing.of(self.flow.layout, vector, K=state.K, M=state.M, L=state.L)

    @cached_property
    def changing(self) -> tuple[str, ...]:
        """Names of the constants that the control changes."""
        views = self._packing("parameters").views(self.change)
        return tuple(name for name, value in views.items() if np.any(value))

    @cached_property
    def _moved(self) -> np.ndarray:
        views = self._packing("parameters").views(self.change)
        packing = moving_packing(self.flow, self.changing)
        return packing.packed(**{name: views[name] for name in self.changing})

    @cached_property
    def _error_slopes(self) -> Callable[[np.ndarray], np.ndarray]:
        return VariedFlow(self.flow, {}).error_slopes(self._directions)

    @cached_property
    def _rhs(self) -> Callable[..., None]:
        found: Callable[..., None] = self.flow.kernel.right_hand_side_for(
            self.flow.state.K, self.flow.state.M
        )
        return found

    @cached_property
    def _forward(self) -> Callable[..., None]:
        return _forward(self._rhs)

    @cached_property
    def _backward(self) -> Callable[..., None]:
        return _backward(tangent_function(self.flow, self.changing))


@lru_cache(maxsize=64)
def _forward(rhs: Callable[..., None]) -> Callable[..., None]:
    """Return the steps of a right-hand side."""
    rhs = for_numba(rhs)

    @numba.njit(_FORWARD, error_model="numpy", nogil=True)
    def forward(begin, sizes, table, values, lengths, pieces, stages):  # type: ignore[no-untyped-def]
        k = np.empty((4, begin.size))
        given = np.empty(table.shape[1])
        stages[0, 0] = begin
        for row in range(lengths.size):
            h, value = lengths[row], values[pieces[row]]
            given[:] = table[0] + value * table[1]
            own = stages[row]
            rhs(0.0, own[0], sizes, given, k[0])
            own[1] = own[0] + 0.5 * h * k[0]
            rhs(0.0, own[1], sizes, given, k[1])
            own[2] = own[0] + 0.5 * h * k[1]
            rhs(0.0, own[2], sizes, given, k[2])
            own[3] = own[0] + h * k[2]
            rhs(0.0, own[3], sizes, given, k[3])
            stages[row + 1, 0] = own[0] + h / 6.0 * (k[0] + 2.0 * k[1] + 2.0 * k[2] + k[3])

    found: Callable[..., None] = forward
    return found


@lru_cache(maxsize=64)
def _backward(tangent: Callable[..., None]) -> Callable[..., None]:
    """Return the discrete adjoint of these steps, from the rates along a direction."""
    tangent = for_numba(tangent)

    @numba.njit(_BACKWARD, error_model="numpy", nogil=True)
    def backward(path, numbers, directions, covectors, gradient):  # type: ignore[no-untyped-def]
        values, lengths, pieces, stages = path
        sizes, table, moved = numbers
        basis, kept = directions
        size, constants, count = stages.shape[2], table.shape[1], basis.shape[0]
        given = np.zeros(size + constants + moved.size)
        rates, still = np.empty(size), np.zeros(size)
        pulled, own = np.empty((4, count)), np.empty(count)
        costate = covectors[lengths.size].copy()
        for row in range(lengths.size - 1, -1, -1):
            h, piece = lengths[row], pieces[row]
            given[size : size + constants] = table[0] + values[piece] * table[1]
            for stage in range(3, -1, -1):
                if stage == 3:
                    own[:] = h / 6.0 * costate
                elif stage == 2:
                    own[:] = h / 3.0 * costate + h * pulled[3]
                elif stage == 1:
                    own[:] = h / 3.0 * costate + 0.5 * h * pulled[2]
                else:
                    own[:] = h / 6.0 * costate + 0.5 * h * pulled[1]
                given[:size] = stages[row, stage]
                given[size + constants :] = 0.0
                for a in range(count):
                    tangent(0.0, basis[a], sizes, given, rates)
                    total = 0.0
                    for b in range(count):
                        total += own[b] * rates[kept[b]]
                    pulled[stage, a] = total
                given[size + constants :] = moved
                tangent(0.0, still, sizes, given, rates)
                for b in range(count):
                    gradient[piece] += own[b] * rates[kept[b]]
            costate += pulled[0] + pulled[1] + pulled[2] + pulled[3] + covectors[row]

    found: Callable[..., None] = backward
    return found
