"""A run whose control is constant in pieces, and the gradient by all pieces at once.

With s' = f(s, u), steps of the classical method of Runge and Kutta are made inside every piece, and
the discrete adjoint goes back through the same steps, so that the gradient is that of the run as it
is computed, to rounding. At each of the four stages a module that is the right-hand side in reverse
multiplies by the transposed Jacobian. A gradient costs a few runs, whatever the number of pieces
and of order parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from symderiv.compiled_code.linked import Linked
from symderiv.integrate.flows.courses import Course
from symderiv.integrate.flows.sensitivities import VariedRun

_LOOPS = "symderiv.integrate.control.control_loops"
forward = Linked(_LOOPS, "forward", shipped=True)
backward = Linked(_LOOPS, "backward", shipped=True)


class ControlSteps(NamedTuple):
    """Time steps: lengths, shape (S,), and the number of the piece that holds each, shape (S,)."""

    lengths: np.ndarray
    pieces: np.ndarray

    @property
    def alpha(self) -> np.ndarray:
        """The times α of the ends of the steps, beginning with 0, shape (S + 1,)."""
        return np.concatenate([[0.0], np.cumsum(self.lengths)])


class Path(NamedTuple):
    """A run under a control, with its steps.

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
    """A flow whose constants are ``base + u * change``, with the control u.

    Attributes:
        flow: Its right-hand side, in one piece, without directions.
        base, change: Flat constants.
        average: The name of the observable that is the error.
    """

    flow: VariedRun
    base: np.ndarray
    change: np.ndarray
    average: str = "generalization_error"

    def run(self, values: np.ndarray, steps: ControlSteps, begin: np.ndarray | None = None) -> Path:
        """Return the run under a control, from the flow's initial state or from ``begin``."""
        start = self.course.begin if begin is None else begin
        stages = np.empty((steps.lengths.size + 1, 4, start.size))
        stages[0, 0] = start
        table = np.stack([self.base, self.change])
        path = Path(np.array(values, dtype=np.float64), steps, stages)
        work = np.empty(self.base.size), np.empty((4, start.size))
        loop, rhs = forward.for_function(self.rhs)
        loop(rhs, _parts(path), (self.course.sizes.copy(), table), *work)
        return path

    def rates(self, state: np.ndarray, value: float) -> np.ndarray:
        """Return the time derivatives of the moving order parameters at a state, for one control
        value.
        """
        rates = np.empty_like(state)
        constants = self.base + value * self.change
        self.rhs(0.0, np.ascontiguousarray(state), self.course.sizes, constants, rates)
        moving: np.ndarray = rates[self.moving]
        return moving

    def gradient(self, path: Path, covectors: np.ndarray) -> np.ndarray:
        """Return the derivative of an objective by the control in each piece, by the discrete
        adjoint.

        Args:
            path: a run.
            covectors: derivatives of the objective by the moving order parameters at the ends of
                the steps, shape (S + 1, r).
        """
        gradient = np.zeros(path.values.size)
        table = np.stack([self.base, self.change])
        size, count = path.stages.shape[2], self.moving.size
        fields = int(np.max(self._pulls)) + 1
        lengths = size + self.base.size, fields + self._moved.size
        work = *map(np.empty, lengths), np.zeros(size), np.empty((6, count))
        loop, reverse = backward.for_function(self._reverse)
        loop(
            reverse,
            _parts(path),
            (self.course.sizes.copy(), table, self._moved),
            (self._pulls, self.moving),
            np.array(covectors),
            gradient,
            work,
        )
        return gradient

    def errors(self, states: np.ndarray) -> np.ndarray:
        """Return the generalisation error at flat states (P, n), shape (P,)."""
        seen = self.flow.seen(states, np.zeros(len(states)), {self.average})
        return np.array([float(each[self.average]) for each in seen])

    def error_slopes(self, state: np.ndarray) -> np.ndarray:
        """Return the derivatives of the error by the order parameters that move."""
        return self._error_slopes(np.ascontiguousarray(state))

    @cached_property
    def moving(self) -> np.ndarray:
        """Places in the flat state of the order parameters that change in time, each once."""
        return np.ascontiguousarray(self._kept[self._moves])

    @cached_property
    def _directions(self) -> np.ndarray:
        """Unit directions of the order parameters that change in time, shape (r, n)."""
        return np.ascontiguousarray(self._basis[self._moves])

    @cached_property
    def _moves(self) -> np.ndarray:
        """Mask of the order parameters that change in time; output weights often do not."""
        course, rates = self.course, np.zeros((3, self.course.begin.size))
        state = course.begin.copy()
        for row in rates:
            self.rhs(0.0, state, course.sizes, course.flat, row)
            state += 1e-3 * row
        moved: np.ndarray = np.any(rates[:, self._kept] != 0.0, axis=0)
        return moved

    @cached_property
    def _kept(self) -> np.ndarray:
        """The place in the flat state of every order parameter; the first of a symmetric pair."""
        places: np.ndarray = np.argmax(self._basis != 0.0, axis=1)
        return places

    @cached_property
    def _basis(self) -> np.ndarray:
        """The unit direction of every order parameter; symmetric entries change together."""
        return np.array([direction for _, direction in self.course.state.coordinates()])

    @cached_property
    def changing(self) -> tuple[str, ...]:
        """Names of the constants that the control changes."""
        views = self.course.constants.views(self.change)
        return tuple(name for name, value in views.items() if np.any(value))

    @cached_property
    def _moved(self) -> np.ndarray:
        """The derivatives by the control of the changing constants, arrays before numbers."""
        views = self.course.constants.views(self.change)
        parts = sorted((views[name] for name in self.changing), key=lambda each: not each.shape)
        return np.concatenate([each.ravel() for each in parts])

    @cached_property
    def _fields(self) -> tuple[str, ...]:
        """Names of the fields of the state that contain moving order parameters."""
        slices = self.course.state.slices
        return tuple(
            name
            for name, part in slices.items()
            if np.any((self.moving >= part.start) & (self.moving < part.stop))
        )

    @cached_property
    def _pulls(self) -> np.ndarray:
        """Places of the two entries of each moving order parameter among the entries of moving
        fields, shape (r, 2); the second is -1 if there is only one.
        """
        slices = self.course.state.slices
        place = np.full(self.course.begin.size, -1)
        fields = np.concatenate([np.r_[slices[name]] for name in self._fields])
        place[fields] = np.arange(fields.size)
        pulls = np.full((self.moving.size, 2), -1)
        for row, direction in zip(pulls, self._directions, strict=True):
            entries = place[np.flatnonzero(direction)]
            row[: entries.size] = entries
        return pulls

    @cached_property
    def rhs(self) -> Callable[..., None]:
        """The right-hand side on flat vectors."""
        return self.flow.functions(None)[0]

    @property
    def course(self) -> Course:
        """The course of the run: its initial state, constants and pieces, without functions."""
        return self.flow.course

    @cached_property
    def _error_slopes(self) -> Callable[[np.ndarray], np.ndarray]:
        return self.flow.slopes_of(self.average, self._directions)

    @cached_property
    def _reverse(self) -> Callable[..., None]:
        return self.flow.reverse((*self._fields, *self.changing))


def _parts(path: Path) -> tuple[np.ndarray, ...]:
    return path.values, *path.steps, path.stages
