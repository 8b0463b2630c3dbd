"""Derivatives of a run by what it begins with: the variational equations, beside the flow itself.

With s' = f(s, θ) the derivative S of the state by a number p follows S' = ∂f/∂s S + ∂f/∂θ θ_p from
S(0) = ∂s(0)/∂p. All of them are integrated together with the flow by the one stepper, whose
tolerance holds for them too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.packing import Packing
from symderiv.integrate.flows.flat_run import FlatProblem, FlatResult, StepLimits
from symderiv.integrate.flows.implicit_run import integrate
from symderiv.integrate.flows.study_flow import Flow
from symderiv.integrate.flows.tangents import observables_tangent, tangent_function
from symderiv.integrate.steppers.coupled_modes import CoupledModes
from symderiv.integrate.steppers.walk import DONE
from symderiv.problem.flat_layout import fields_of

__all__ = [
    "Direction",
    "FlatMotion",
    "Observed",
    "VariedFlow",
    "VariedRun",
    "difference_of",
    "direction_by",
]

Seen = TypeVar("Seen")

# steps keep a twentieth of the tolerance, as those of runs do
_TIGHTER = 20.0
# differences of this size, relative: those of order six leave nothing but rounding
_STEP = 2e-3
_CENTRAL = {1: 45 / 60, -1: -45 / 60, 2: -9 / 60, -2: 9 / 60, 3: 1 / 60, -3: -1 / 60}
_FORWARD = dict(enumerate((-147 / 60, 360 / 60, -450 / 60, 400 / 60, -225 / 60, 72 / 60, -10 / 60)))


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


class FlatMotion(NamedTuple):
    """A right-hand side on vectors, and where it begins.

    Attributes:
        begin, constants: The flat state and the flat constants.
        sizes: As compiled code takes them.
        state, parameters: Where fields lie in both.
        modes: How states are coupled.
        limits: The limits of steps whose tolerance is larger by a factor.
    """

    begin: np.ndarray
    constants: np.ndarray
    sizes: np.ndarray
    state: Packing
    parameters: Packing
    modes: CoupledModes
    limits: Callable[[float], StepLimits]


class VariedRun(ABC, Generic[Seen]):
    """A right-hand side, and what its state changes by along some directions.

    Attributes:
        directions: The directions by their names.
    """

    directions: Mapping[str, Direction]

    @property
    @abstractmethod
    def motion(self) -> FlatMotion:
        """The right-hand side without its functions, and where it begins."""

    @abstractmethod
    def functions(self, moving: tuple[str, ...] | None) -> tuple[Callable[..., None], ...]:
        """Return the right-hand side, and unless ``moving`` is None its rates along a direction of
        the state and of these parameters.
        """

    @abstractmethod
    def observed(self, row: np.ndarray, alpha: float = 0.0) -> Seen:
        """Return order parameters and averages at a state."""

    @abstractmethod
    def changes(
        self, row: np.ndarray, along: Direction, alpha: float = 0.0, time: float = 0.0
    ) -> Seen:
        """Return the rates of what is observed along a direction, at a time and with its rate."""

    @abstractmethod
    def named(self, observed: Seen) -> Mapping[str, Any]:
        """Return by name what is observed."""

    @abstractmethod
    def alone(self) -> VariedRun[Seen]:
        """Return the run without directions."""

    def since(self, alpha: float) -> np.ndarray:
        """Return the constants and directions of a run that begins at a time."""
        return self._parameters

    @cached_property
    def begin(self) -> np.ndarray:
        """The start, and its derivatives behind it."""
        start = self.motion.begin
        return np.concatenate([start, *(each.state for each in self.directions.values())])

    def run(
        self,
        asked: np.ndarray,
        begin: np.ndarray | None = None,
        looser: float = 1.0,
        since: float = 0.0,
    ) -> np.ndarray:
        """Return states with their derivatives at times, shape (P, n (1 + directions)).

        Args:
            asked: Ascending times since the begin.
            begin: The start of the flow by default.
            looser: A factor of the tolerance that steps keep otherwise.
            since: The time α of the begin.

        Raises:
            InputError: The run ends before the last time.
        """
        motion = self.motion
        start = self.begin if begin is None else begin
        modes = motion.modes.repeated(start.size // self._size)
        given = FlatProblem(self._slope, start, motion.sizes, self.since(since), asked, modes)
        result = integrate("auto", given, motion.limits(looser))
        if result.reached < asked.size:
            raise InputError(
                f"the run ends at alpha = {since + result.last_alpha:.6g}", argument="time.end"
            )
        return result.results

    def rates(self, row: np.ndarray, alpha: float = 0.0) -> Seen:
        """Return the rates in time of what is observed."""
        slope = np.empty_like(row)
        self._slope(alpha, row, self.motion.sizes, self._parameters, slope)
        still = np.zeros(self.motion.constants.size)
        return self.changes(row, Direction(slope[: self._size], still), alpha, 1.0)

    def derivatives(self, row: np.ndarray, alpha: float = 0.0) -> dict[str, Seen]:
        """Return the derivatives of what is observed along each direction."""
        parts = row[self._size :].reshape(len(self.directions), self._size)
        return {
            name: self.changes(row, Direction(part, direction.parameters), alpha)
            for (name, direction), part in zip(self.directions.items(), parts, strict=True)
        }

    @property
    def _size(self) -> int:
        return int(self.motion.begin.size)

    @cached_property
    def _moving(self) -> Packing:
        """The parameters that change along any direction."""
        packing = self.motion.parameters
        changes = [packing.views(each.parameters) for each in self.directions.values()]
        shapes = packing.shapes.items()
        return Packing({k: shape for k, shape in shapes if any(np.any(c[k]) for c in changes)})

    def _moved(self, change: np.ndarray) -> np.ndarray:
        """Return those of a direction of all parameters."""
        views = self.motion.parameters.views(change)
        return self._moving.packed(**{name: views[name] for name in self._moving.shapes})

    @cached_property
    def _parameters(self) -> np.ndarray:
        """Parameters of the flow, followed by the derivatives of the moving ones along each
        direction.
        """
        changes = [self._moved(each.parameters) for each in self.directions.values()]
        return np.concatenate([self.motion.constants, *changes])

    @cached_property
    def _slope(self) -> Callable[..., None]:
        if not self.directions:
            return self.functions(None)[0]
        rhs, tangent = self.functions(tuple(self._moving.shapes))
        return _varied(rhs, tangent, len(self.directions), self._moving.size)


@dataclass(frozen=True)
class VariedFlow(VariedRun[Observed]):
    """The flow of a study, and what its state changes by along some directions.

    Attributes:
        flow: Whose rates depend on the state alone.
        directions: The directions by their names.
    """

    flow: Flow
    directions: Mapping[str, Direction]

    @cached_property
    def motion(self) -> FlatMotion:
        flow, state = self.flow, self.flow.state
        sizes = {"K": state.K, "M": state.M, "L": state.L}
        return FlatMotion(
            flow.begin,
            flow.parameters,
            flow.sizes,
            Packing.of(flow.layout, "state", **sizes),
            Packing.of(flow.layout, "parameters", **sizes),
            flow.modes(flow.begin, flow.parameters),
            self._limits,
        )

    def _limits(self, looser: float) -> StepLimits:
        asked = self.flow.study.time.relative_tolerance
        tolerance = looser * max(asked / _TIGHTER, self.flow.least_tolerance())
        return self.flow.step_limits(tolerance, 100_000_000)

    def functions(self, moving: tuple[str, ...] | None) -> tuple[Callable[..., None], ...]:
        flow = self.flow
        rhs = flow.kernel.right_hand_side_for(flow.state.K, flow.state.M)
        return (rhs,) if moving is None else (rhs, tangent_function(flow, moving))

    def named(self, observed: Observed) -> Mapping[str, Any]:
        return observed._asdict()

    def alone(self) -> VariedFlow:
        return VariedFlow(self.flow, {})

    def observed(self, row: np.ndarray, alpha: float = 0.0) -> Observed:
        """Return order parameters and error at a state."""
        state, own = self.flow.state, row[None, : self._size]
        _, _, v, Q, R = fields_of(own, state.weight, state.eigenvalue, state.K, state.M)
        one = FlatResult(own, 1, 0.0, own[0], DONE, 0, 0, 0, 0.0)
        return Observed(Q[0], R[0], v[0], float(self.flow.errors(one)[0]))

    @cached_property
    def _observables(self) -> tuple[Callable[..., float], tuple[str, ...]]:
        return observables_tangent(self.flow)

    def changes(
        self, row: np.ndarray, along: Direction, alpha: float = 0.0, time: float = 0.0
    ) -> Observed:
        """Return the rates of order parameters and error along a direction."""
        return self.changes_at(self.flow.parameters, row, along)

    def changes_at(self, constants: np.ndarray, row: np.ndarray, along: Direction) -> Observed:
        """Return them at other constants than those of the flow."""
        function, _ = self._observables
        K, M = self.flow.state.K, self.flow.state.M
        Q, R = np.empty((K, K)), np.empty((K, M))
        given = self._told(row[: self._size], constants)
        error = function(*given, *self._told(*along), Q, R)
        v = self.motion.state.views(along.state)["v"].copy()
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
        motion = self.motion
        views = motion.state.views(state) | motion.parameters.views(parameters)
        return [_told(views[name]) for name in self._observables[1]]


def direction_by(
    packed: Callable[[float], tuple[np.ndarray, np.ndarray]], value: float
) -> Direction:
    """Return how a flat start and flat constants change with a number, by differences.

    Args:
        packed: Both for a value of the number.
        value: The number.
    """
    step = _STEP * (abs(value) or 1.0)
    change = difference_of(packed, value, step, (_CENTRAL, _FORWARD)) / step
    begin = packed(value)
    # what differences leave of numbers that stand still
    change[np.abs(change) < 1e-13 * np.abs(np.concatenate(begin)) / step] = 0.0
    return Direction(*np.split(change, [begin[0].size]))


def difference_of(
    packed: Callable[[float], tuple[np.ndarray, np.ndarray]],
    value: float,
    step: float,
    weights: tuple[Mapping[int, float], Mapping[int, float]],
) -> np.ndarray:
    """Return a difference of start and constants: central, or forward at an edge of a number."""

    def difference(each: Mapping[int, float]) -> np.ndarray:
        terms = [w * np.concatenate(packed(value + n * step)) for n, w in each.items()]
        total: np.ndarray = np.sum(terms, axis=0)
        return total

    try:
        return difference(weights[0])
    except InputError:  # the number is at the edge of where it may be
        return difference(weights[1])


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
