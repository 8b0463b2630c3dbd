"""Derivatives of a run by numbers of its problem: the variational equations beside the flow.

With s' = f(s, θ) the derivative S of the state by a number p follows S' = ∂f/∂s S + ∂f/∂θ θ_p from
S(0) = ∂s(0)/∂p. All of them are integrated together with the flow by the same stepper, whose
tolerance holds for them too. S is continuous if something jumps at a fixed time. For steps s ← s +
f(s, θ) of order one, the same right-hand side gives the product of the tangent maps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from symderiv.compiled_code.composed import composed
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.foundation.packing import Packing
from symderiv.integrate.flows.courses import Course, driven
from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.integrate.flows.study_flow import Flow
from symderiv.integrate.flows.tangents import (
    observables_tangent,
    reverse_function,
    tangent_function,
    tangent_program_of,
)
from symderiv.problem.flat_layout import fields_of

if TYPE_CHECKING:
    from symderiv_codegen import Program

#: Order parameters and averages by name, or their rates.
Observed = Mapping[str, Any]

# steps keep a twentieth of the tolerance; those of measured runs a sixtieth
_TIGHTER = 20.0
# the relative step of differences; those of order six then have rounding errors alone
_STEP = 2e-3
_CENTRAL = {1: 45 / 60, -1: -45 / 60, 2: -9 / 60, -2: 9 / 60, 3: 1 / 60, -3: -1 / 60}
_FORWARD = dict(enumerate((-147 / 60, 360 / 60, -450 / 60, 400 / 60, -225 / 60, 72 / 60, -10 / 60)))


class Direction(NamedTuple):
    """Derivatives of the flat initial state and the flat constants of a flow by a number."""

    state: np.ndarray
    parameters: np.ndarray


@dataclass(frozen=True)
class VariedRun(ABC):
    """A run that is integrated with derivatives along some directions.

    Attributes:
        flow: The run, in one piece or in several.
        directions: The directions by their names.
    """

    flow: Any
    directions: Mapping[str, Direction]

    @property
    def course(self) -> Course:
        """The pieces of the run."""
        course: Course = self.flow.course
        return course

    @abstractmethod
    def functions(self, moving: tuple[str, ...] | None) -> tuple[Callable[..., None], ...]:
        """Return the right-hand side and its tangent, or it alone if ``moving`` is None.

        The tangent is its derivative along a direction of the state and of parameters ``moving``.
        """

    @abstractmethod
    def tangent_program(self, moving: tuple[str, ...]) -> Program:
        """Return the program of the tangent, see :meth:`functions`.

        Raises:
            NotYetError: A mean has no derivative.
        """

    def tangent(self, moving: tuple[str, ...] = ()) -> Callable[..., np.ndarray]:
        """Return the function of the rates' derivative at α = 0, for flat vectors.

        Its arguments are a state, the direction of the state, and that of the parameters
        ``moving``.

        Raises:
            NotYetError: A mean has no derivative.
        """
        evaluated, course = self.functions(moving)[1], self.course
        held = course.held(np.zeros(1))[0]

        def along(
            state: np.ndarray, direction: np.ndarray, change: Sequence[float] | np.ndarray = ()
        ) -> np.ndarray:
            given, slopes = np.concatenate([state, held, change]), np.empty_like(state)
            evaluated(0.0, np.ascontiguousarray(direction), course.sizes, given, slopes)
            return slopes

        return along

    @abstractmethod
    def reverse(self, moving: tuple[str, ...]) -> Callable[..., None]:
        """Return the function of weights times the Jacobian by named fields and parameters.

        See :func:`symderiv.integrate.flows.tangents.reverse_function`.
        """

    def slopes_of(self, average: str, directions: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return a function from a flat state to an average's derivatives along directions.

        The directions are flat, shape (D, n).
        """
        still = np.zeros(self.course.flat.size)
        along = [Direction(each, still) for each in directions]
        return lambda row: np.array([self.changes(row, each)[average] for each in along])

    @abstractmethod
    def seen(
        self, rows: np.ndarray, alpha: np.ndarray, needs: Container[str] | None = None
    ) -> Iterable[Observed]:
        """Return order parameters and averages at states.

        Args:
            rows: States, perhaps with derivatives behind them, shape (P, …).
            alpha: Times, shape (P,).
            needs: The averages that are evaluated; all when left out.
        """

    def observed(self, row: np.ndarray, alpha: float = 0.0) -> Observed:
        """Return order parameters and averages at a state."""
        return next(iter(self.seen(row[None], np.array([alpha]))))

    @abstractmethod
    def changes(
        self, row: np.ndarray, along: Direction, alpha: float = 0.0, time: float = 0.0
    ) -> Observed:
        """Return the derivatives of observables along a direction, with time at rate ``time``."""

    @property
    def tolerance(self) -> float:
        """The usual tolerance of steps."""
        flow = self.flow
        usual: float = max(flow.goal.relative_tolerance / _TIGHTER, flow.least_tolerance())
        return usual

    def around(self, row: np.ndarray, count: int) -> Iterator[Direction]:
        """Yield directions in which a state changes by the largest entry of each field, with random
        signs.
        """
        packing, still = self.course.state, np.zeros(self.course.flat.size)
        largest = np.full(self._size, np.max(np.abs(row[: self._size])))
        for place in packing.slices.values():
            largest[place] = np.max(np.abs(row[place]), initial=0.0)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (count, self._size))
        return (Direction(each * largest, still) for each in signs)

    def without_directions(self) -> Self:
        """Return the run without derivatives."""
        return replace(self, directions={})

    @cached_property
    def begin(self) -> np.ndarray:
        """The initial state, followed by its derivatives."""
        start = self.course.begin
        return np.concatenate([start, *(each.state for each in self.directions.values())])

    def run(
        self,
        asked: np.ndarray,
        begin: np.ndarray | None = None,
        looser: float = 1.0,
        since: float = 0.0,
    ) -> np.ndarray:
        """Integrate, and return states with their derivatives at times.

        They have the shape (P, n (1 + directions)).

        Args:
            asked: Ascending times, counted from ``since``.
            begin: The initial state with derivatives; that of the flow by default.
            looser: The factor by which the tolerance of steps is larger than usual.
            since: The time α of the initial state.

        Raises:
            InputError: The run ends before the last time.
        """
        asked, flow = since + asked, self.flow
        start = self.begin if begin is None else begin
        pieces = self.course.walk(asked, self._slope, start, since, self._behind, self._factored)
        result = driven(pieces, "auto", flow.step_limits(looser * self.tolerance))
        if result.reached < asked.size:
            raise InputError(
                f"the run stopped at alpha = {result.last_alpha:.6g}; ask for an earlier end",
                argument="time.end",
            )
        return result.results

    def rates(self, row: np.ndarray, alpha: float = 0.0) -> Observed:
        """Return the time derivatives of the observables."""
        slope = self.course.slope(alpha, row[: self._size], self.functions(None)[0])
        return self.changes(row, Direction(slope, np.zeros(self.course.flat.size)), alpha, 1.0)

    def derivatives(self, row: np.ndarray, alpha: float = 0.0) -> dict[str, Observed]:
        """Return the derivatives of the observables along each direction."""
        parts = row[self._size :].reshape(len(self.directions), self._size)
        return {
            name: self.changes(row, Direction(part, direction.parameters), alpha)
            for (name, direction), part in zip(self.directions.items(), parts, strict=True)
        }

    @property
    def _size(self) -> int:
        return int(self.course.begin.size)

    @cached_property
    def _moving(self) -> Packing:
        """The parameters that change along any direction."""
        packing = self.course.constants
        changes = [packing.views(self._by_law(each)) for each in self.directions.values()]
        shapes = packing.shapes.items()
        return Packing({k: shape for k, shape in shapes if any(np.any(c[k]) for c in changes)})

    def _by_law(self, along: Direction) -> np.ndarray:
        """Return the derivatives of constants, one row for each law of the course."""
        return along.parameters.reshape(-1, self.course.constants.size)

    def _moved(self, change: np.ndarray) -> np.ndarray:
        """Return those entries of a vector of parameters that belong to moving parameters."""
        views = self.course.constants.views(change)
        return self._moving.packed(**{name: views[name] for name in self._moving.shapes})

    def _behind(self, number: int) -> np.ndarray:
        """Return the derivatives of the moving parameters of a law along each direction."""
        changes = [self._moved(self._by_law(each)[number]) for each in self.directions.values()]
        return np.concatenate([np.empty(0), *changes])

    @cached_property
    def _factored(self) -> tuple[int, ...]:
        """Places of derivatives of parameters that a formula multiplies, as it does these."""
        own, size = self.course.constants, self.course.constants.size
        places = np.full(size, -1)
        for name, place in self._moving.slices.items():
            places[own.slices[name]] = np.arange(place.start, place.stop)
        factored = {place for piece in self.course.pieces for place in piece.factored}
        return tuple(
            size + number * self._moving.size + int(places[place])
            for number in range(len(self.directions))
            for place in sorted(factored)
            if places[place] >= 0
        )

    @cached_property
    def _slope(self) -> Callable[..., None]:
        if not self.directions:
            return self.functions(None)[0]
        rhs, tangent = self.functions(tuple(self._moving.shapes))
        return composed(varied_rates, rhs, tangent, len(self.directions), self._moving.size)


@dataclass(frozen=True)
class VariedFlow(VariedRun):
    """The flow of a study, integrated with derivatives along some directions."""

    flow: Flow

    def functions(self, moving: tuple[str, ...] | None) -> tuple[Callable[..., None], ...]:
        flow = self.flow
        rhs = flow.kernel.right_hand_side_for(flow.state.K, flow.state.M)
        return (rhs,) if moving is None else (rhs, tangent_function(flow, moving))

    def tangent_program(self, moving: tuple[str, ...]) -> Program:
        return tangent_program_of(self.flow, moving)

    def seen(
        self, rows: np.ndarray, alpha: np.ndarray, needs: Container[str] | None = None
    ) -> Iterable[Observed]:
        state, own = self.flow.state, np.ascontiguousarray(rows[:, : self._size])
        *_, v, Q, R = fields_of(own, state.weight, state.eigenvalue, state.K, state.M)
        errors = np.zeros(len(own))
        if needs is None or "generalization_error" in needs:
            errors = self.flow.errors(FlatResult.of_rows(own), alpha)
        return (named(*each) for each in zip(Q, R, v, errors, strict=True))

    @cached_property
    def _observables(self) -> tuple[Callable[..., float], tuple[str, ...]]:
        return observables_tangent(self.flow)

    def changes(
        self, row: np.ndarray, along: Direction, alpha: float = 0.0, time: float = 0.0
    ) -> Observed:
        """Return the derivatives of order parameters and error along a direction."""
        number, row, by_law = self.course.number_at(alpha), row[: self._size], self._by_law(along)
        piece, laws, size = (
            self.course.pieces[number],
            by_law[self.course.laws_of(number)],
            self._usual,
        )
        still = np.zeros_like(laws[0]) if piece.laws[0].scale is not None else laws[0]
        here = Direction(along.state[:size], still)
        changes = self.changes_at(self.flow.parameters, row[:size], here)
        if self.course.plain:
            return changes
        error = 0.0
        for law, change in zip(piece.laws, laws, strict=True):
            inside = Direction(law.into(along.state), change)
            there = self.changes_at(law.constants, law.into(row), inside)
            error += law.share * there["generalization_error"]
        return {**changes, "generalization_error": error}

    @property
    def _usual(self) -> int:
        """The length of the state that the module knows; further heads follow it."""
        return self.course.state.size

    def changes_at(self, constants: np.ndarray, row: np.ndarray, along: Direction) -> Observed:
        """Return the derivatives of order parameters and error for given constants."""
        function, _ = self._observables
        K, M = self.flow.state.K, self.flow.state.M
        Q, R = np.empty((K, K)), np.empty((K, M))
        given = self._told(row[: self._usual], constants)
        error = function(*given, *self._told(*along), Q, R)
        v = self.course.state.views(along.state)["v"].copy()
        return named(Q, R, v, error)

    def reverse(self, moving: tuple[str, ...]) -> Callable[..., None]:
        return reverse_function(self.flow, moving)

    def slopes_of(self, average: str, directions: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        # as in the base class, but without the derivatives of Q, R and v
        function, _ = self._observables
        K, M = self.flow.state.K, self.flow.state.M
        Q, R = np.empty((K, K)), np.empty((K, M))
        rates = [self._told(state, np.zeros(self.flow.parameters.size)) for state in directions]

        def slopes(row: np.ndarray) -> np.ndarray:
            given = self._told(row[: self._size], self.flow.parameters)
            return np.array([function(*given, *each, Q, R) for each in rates])

        return slopes

    def _told(self, state: np.ndarray, parameters: np.ndarray) -> list[np.ndarray | float]:
        """Return the arguments on which the observables depend, in their order."""
        views = self.course.state.views(state) | self.course.constants.views(parameters)
        return [as_argument(views[name]) for name in self._observables[1]]


def named(Q: np.ndarray, R: np.ndarray, v: np.ndarray, error: float) -> dict[str, Any]:
    """Return the observables of a study by name: Q (K, K), R (K, M), v (K,) and the error."""
    return {"Q": Q, "R": R, "v": v, "generalization_error": float(error)}


def direction_by(course_of: Callable[[float], Course], value: float, name: str) -> Direction:
    """Return the derivatives of flat start and constants by a number, from differences.

    Args:
        course_of: The course of a run for a value of the number.
        value, name: The value and the name of the number.

    Raises:
        NotYetError: The number changes the time of a jump, or how pieces are made.
    """
    step = _STEP * (abs(value) or 1.0)
    return differences_by(course_of, value, name, step, (_CENTRAL, _FORWARD))


def differences_by(
    course_of: Callable[[float], Course],
    value: float,
    name: str,
    step: float,
    weights: tuple[Mapping[int, float], Mapping[int, float]],
    order: int = 1,
) -> Direction:
    """Return a derivative of flat start and constants by a number; see :func:`direction_by`.

    Args:
        course_of, value, name: See :func:`direction_by`.
        step: The distance between values of the number.
        weights: The weights of a central difference, and of a forward one at the edge of the range.
        order: The order of the derivative.
    """
    here = course_of(value)

    def packed(number: float) -> tuple[np.ndarray, np.ndarray]:
        there = course_of(number)
        if not there.same(here):
            raise NotYetError(
                f"{name!r} changes the time of a jump or of a step, or inputs that tasks share; "
                "there are no such derivatives yet; leave it out",
                argument="sensitivities",
            )
        return there.begin, there.flat

    def difference(each: Mapping[int, float]) -> np.ndarray:
        terms = [w * np.concatenate(packed(value + n * step)) for n, w in each.items()]
        total: np.ndarray = np.sum(terms, axis=0)
        return total

    try:
        change = difference(weights[0]) / step**order
    except InputError:  # the number is at the edge of its range
        change = difference(weights[1]) / step**order
    begin = packed(value)
    # entries that do not depend on the number differ by rounding
    change[np.abs(change) < 1e-13 * np.abs(np.concatenate(begin)) / step**order] = 0.0
    return Direction(*np.split(change, [begin[0].size]))


def as_argument(value: Any) -> Any:
    """Return an array or a number as compiled functions take it."""
    return np.ascontiguousarray(value) if np.ndim(value) else float(value)


def varied_rates(rhs: Any, tangent: Any, count: int, moving: int) -> Any:
    """Return the right-hand side of a flow whose state is followed by its derivatives.

    Args:
        rhs, tangent: the right-hand side of the flow, and its derivative along a direction.
        count: the number of the directions.
        moving: the count of numbers behind the parameters that belong to each direction.
    """

    def right_hand_side(alpha, state, sizes, parameters, derivative):  # type: ignore[no-untyped-def]
        size, constants = state.size // (count + 1), parameters.size - count * moving
        rhs(alpha, state[:size], sizes, parameters[:constants], derivative[:size])
        given = np.empty(size + constants + moving)
        # entry by entry, as the translated part of Python has no assignment to slices
        for a in range(size):
            given[a] = state[a]
        for a in range(constants):
            given[size + a] = parameters[a]
        for n in range(count):
            begin, first = (n + 1) * size, constants + n * moving
            for a in range(moving):
                given[size + constants + a] = parameters[first + a]
            end = begin + size
            tangent(alpha, state[begin:end], sizes, given, derivative[begin:end])

    return right_hand_side
