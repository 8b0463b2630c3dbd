"""Derivatives of a run by what it begins with: the variational equations, beside the flow itself.

With s' = f(s, θ) the derivative S of the state by a number p follows S' = ∂f/∂s S + ∂f/∂θ θ_p from
S(0) = ∂s(0)/∂p. All of them are integrated together with the flow by the one stepper, whose
tolerance holds for them too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.packing import Packing
from symderiv.integrate.flows.flat_run import FlatProblem, FlatResult
from symderiv.integrate.flows.implicit_run import integrate
from symderiv.integrate.flows.study_flow import Flow
from symderiv.integrate.flows.tangents import (
    moving_packing,
    observables_tangent,
    tangent_function,
)
from symderiv.integrate.steppers.walk import DONE
from symderiv.problem.flat_layout import fields_of

__all__ = ["Direction", "Observed", "VariedFlow"]

# steps keep a twentieth of the tolerance, as those of runs do
_TIGHTER = 20.0


class Direction(NamedTuple):
    """Derivatives of the flat start and the flat constants of a flow by a number."""

    state: np.ndarray
    parameters: np.ndarray


class Observed(NamedTuple):
    """Q (K, K), R (K, M), v (K) and the generalisation error, or their rates."""

    Q: np.ndarray
    R: np.ndarray
    v: np.ndarray
    generalization_error: float


@dataclass(frozen=True)
class VariedFlow:
    """A flow, and what its state changes by along some directions.

    Attributes:
        flow: Whose rates depend on the state alone.
        directions: The directions by their names.
    """

    flow: Flow
    directions: Mapping[str, Direction]

    @cached_property
    def begin(self) -> np.ndarray:
        """The start, and its derivatives behind it."""
        return np.concatenate([self.flow.begin, *(each.state for each in self.directions.values())])

    def run(
        self, asked: np.ndarray, begin: np.ndarray | None = None, looser: float = 1.0
    ) -> np.ndarray:
        """Return states with their derivatives at times, shape (P, n (1 + directions)).

        Args:
            asked: Ascending times since the begin.
            begin: The start of the flow by default.
            looser: A factor of the tolerance that steps keep otherwise.

        Raises:
            InputError: The run ends before the last time.
        """
        flow = self.flow
        asked_tolerance = flow.study.time.relative_tolerance
        tolerance = looser * max(asked_tolerance / _TIGHTER, flow.least_tolerance())
        start = self.begin if begin is None else begin
        modes = flow.modes(flow.begin, flow.parameters).repeated(len(self.directions) + 1)
        given = FlatProblem(self._slope, start, flow.sizes, self._parameters, asked, modes)
        result = integrate("auto", given, flow.step_limits(tolerance, 100_000_000))
        if result.reached < asked.size:
            raise InputError(
                f"the run ends at alpha = {result.last_alpha:.6g}", argument="time.end"
            )
        return result.results

    def observed(self, row: np.ndarray) -> Observed:
        """Return order parameters and error at a state."""
        state, own = self.flow.state, row[None, : self._size]
        _, _, v, Q, R = fields_of(own, state.weight, state.eigenvalue, state.K, state.M)
        one = FlatResult(own, 1, 0.0, own[0], DONE, 0, 0, 0, 0.0)
        return Observed(Q[0], R[0], v[0], float(self.flow.errors(one)[0]))

    def rates(self, row: np.ndarray) -> Observed:
        """Return the rates of order parameters and error in time."""
        slope = np.empty_like(row)
        self._slope(0.0, row, self.flow.sizes, self._parameters, slope)
        return self.changes(row, slope[: self._size], np.zeros(self.flow.parameters.size))

    def derivatives(self, row: np.ndarray) -> dict[str, Observed]:
        """Return the derivatives of order parameters and error along each direction."""
        parts = row[self._size :].reshape(len(self.directions), self._size)
        return {
            name: self.changes(row, part, direction.parameters)
            for (name, direction), part in zip(self.directions.items(), parts, strict=True)
        }

    @property
    def _size(self) -> int:
        return int(self.flow.begin.size)

    def _packing(self, vector: str) -> Packing:
        state = self.flow.state
        return Packing.of(self.flow.layout, vector, K=state.K, M=state.M, L=state.L)

    @cached_property
    def _packings(self) -> tuple[Packing, Packing]:
        return self._packing("state"), self._packing("parameters")

    @cached_property
    def _observables(self) -> tuple[Callable[..., float], tuple[str, ...]]:
        return observables_tangent(self.flow)

    def changes(
        self,
        row: np.ndarray,
        state: np.ndarray,
        parameters: np.ndarray,
        constants: np.ndarray | None = None,
    ) -> Observed:
        """Return the rates of order parameters and error along a direction of state and numbers, at
        the constants of the flow or at others.
        """
        function, _ = self._observables
        K, M = self.flow.state.K, self.flow.state.M
        Q, R = np.empty((K, K)), np.empty((K, M))
        given = self._told(
            row[: self._size], self.flow.parameters if constants is None else constants
        )
        error = function(*given, *self._told(state, parameters), Q, R)
        v = self._packing("state").views(state)["v"].copy()
        return Observed(Q, R, v, float(error))

    def error_slopes(self, states: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function of the derivatives of the error by directions of the state (D, n)."""
        function, _ = self._observables
        K, M = self.flow.state.K, self.flow.state.M
        Q, R = np.empty((K, K)), np.empty((K, M))
        rates = [self._told(state, np.zeros(self.flow.parameters.size)) for state in states]

        def slopes(row: np.ndarray) -> np.ndarray:
            given = self._told(row[: self._size], self.flow.parameters)
            return np.array([function(*given, *each, Q, R) for each in rates])

        return slopes

    def _told(self, state: np.ndarray, parameters: np.ndarray) -> list[np.ndarray | float]:
        """Return what observables depend on, in their order."""
        first, second = self._packings
        views = first.views(state) | second.views(parameters)
        return [_told(views[name]) for name in self._observables[1]]

    @cached_property
    def _moving(self) -> tuple[str, ...]:
        """Names of the parameters that change along any direction."""
        packing = self._packing("parameters")
        changes = [packing.views(each.parameters) for each in self.directions.values()]
        return tuple(name for name in packing.shapes if any(np.any(c[name]) for c in changes))

    @cached_property
    def _parameters(self) -> np.ndarray:
        """Parameters of the flow, followed by the derivatives of the moving ones along each
        direction.
        """
        packing, moving = self._packing("parameters"), moving_packing(self.flow, self._moving)
        changes = []
        for direction in self.directions.values():
            views = packing.views(direction.parameters)
            changes.append(moving.packed(**{name: views[name] for name in self._moving}))
        return np.concatenate([self.flow.parameters, *changes])

    @cached_property
    def _slope(self) -> Callable[..., None]:
        flow = self.flow
        rhs = flow.kernel.right_hand_side_for(flow.state.K, flow.state.M)
        if not self.directions:
            return rhs
        moving = moving_packing(flow, self._moving).size
        return _varied(rhs, tangent_function(flow, self._moving), len(self.directions), moving)


def _told(value: np.ndarray) -> np.ndarray | float:
    return np.ascontiguousarray(value) if value.ndim else float(value)


@lru_cache(maxsize=64)
def _varied(
    rhs: Callable[..., None], tangent: Callable[..., None], count: int, moving: int
) -> Callable[..., None]:
    """Return the right-hand side of a flow with directions behind its state.

    Args:
        rhs, tangent: the right-hand sides of the flow, and of its rates along a direction.
        count: the number of the directions.
        moving: how many numbers behind the parameters belong to each direction.
    """
    # every solve reads this module, and few ask for derivatives
    import numba

    from symderiv.compiled_code.compiled import RIGHT_HAND_SIDE
    from symderiv.compiled_code.for_numba import for_numba

    rhs, tangent = for_numba(rhs), for_numba(tangent)

    @numba.njit(RIGHT_HAND_SIDE.signature, error_model="numpy", nogil=True)
    def right_hand_side(alpha, state, sizes, parameters, derivative):  # type: ignore[no-untyped-def]
        size, constants = state.size // (count + 1), parameters.size - count * moving
        rhs(alpha, state[:size], sizes, parameters[:constants], derivative[:size])
        given = np.empty(size + constants + moving)
        given[:size] = state[:size]
        given[size : size + constants] = parameters[:constants]
        for n in range(count):
            begin, first = (n + 1) * size, constants + n * moving
            given[size + constants :] = parameters[first : first + moving]
            end = begin + size
            tangent(alpha, state[begin:end], sizes, given, derivative[begin:end])

    varied: Callable[..., None] = right_hand_side
    return varied
