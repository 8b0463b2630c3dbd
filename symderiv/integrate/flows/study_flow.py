"""The flow of a study: its initial state and constants as compiled code takes them, integrated."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from symderiv_kernels.layout import LAYOUT

from symderiv.foundation.packing import Packing
from symderiv.integrate.flows import rounding
from symderiv.integrate.flows.compression import Mode
from symderiv.integrate.flows.courses import Course, Goal, Law, Piece, PiecewiseRun
from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.integrate.flows.layout_modes import modes_of_layout
from symderiv.integrate.flows.trajectory import Trajectory
from symderiv.integrate.steppers.coupled_modes import CoupledModes
from symderiv.problem.flat_layout import fields_of, pack_parameters, pack_state, sizes_of
from symderiv.problem.state import State
from symderiv.problem.study import Study
from symderiv.storage.checkpoint import Checkpoint
from symderiv.storage.kernels import Kernel

if TYPE_CHECKING:
    import sympy as sp

    from symderiv.learning.rule.learning_rule import LearningRule

_RATES = (
    *("learning_rate", "second_layer_learning_rate", "weight_decay"),
    *("second_layer_weight_decay", "label_noise", "full_order"),
)
#: A function from states (n, A, S) and constants (n, P) of runs to generalisation errors (n, A).
ErrorsOf = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Flow(PiecewiseRun):
    """The flow of a study from an initial state, in the form that compiled code takes."""

    study: Study
    kernel: Kernel
    state: State
    checkpoint: Checkpoint | None = None

    @property
    def layout(self) -> Mapping[str, Any]:
        """The layout of the flat vectors."""
        layout: Mapping[str, Any] = LAYOUT
        return layout

    @property
    def learning_rule(self) -> LearningRule | None:
        """The rule for which the module is derived; None for plain descent."""
        return None

    @property
    def fixed_bias(self) -> float:
        """The largest modulus of the biases that are not trained."""
        return 0.0

    @property
    def compression(self) -> Mode:
        """The mode of the compression of the spectrum: ``"on"``, ``"off"`` or ``"auto"``."""
        return self.study.time.compression

    @cached_property
    def goal(self) -> Goal:
        asked = self.study.time
        tolerances = asked.relative_tolerance, asked.absolute_tolerance
        return Goal(self.study.alpha, *tolerances, asked.method)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces of a run; a single one if nothing jumps in time."""
        return (Piece(0.0, math.inf, (Law(self.parameters),)),)

    @property
    def step(self) -> float:
        """The time of a step of order one; 0 for a flow."""
        return 0.0

    @cached_property
    def course(self) -> Course:
        packings = self.packing("state"), self.packing("parameters")
        known = self.begin, self.sizes, self.pieces
        return Course(*known, *packings, self.modes, self.parameters, self.step)

    def packing(self, vector: str) -> Packing:
        """Return how the module packs ``"state"`` or ``"parameters"``."""
        return self.packings[vector]

    @cached_property
    def packings(self) -> dict[str, Packing]:
        """The packings of the module's vectors, ``"state"`` and ``"parameters"``."""
        named = {"K": self.state.K, "M": self.state.M, "L": self.state.L}
        return {each: Packing.of(self.layout, each, **named) for each in ("state", "parameters")}

    @property
    def size(self) -> int:
        """The length of the flat state."""
        return self.packing("state").size

    @cached_property
    def sizes(self) -> np.ndarray:
        return sizes_of(self.state.K, self.state.M, self.state.L)

    @cached_property
    def parameters(self) -> np.ndarray:
        """The constants of the run."""
        constants: np.ndarray = self.constants_of([self])[0]
        return constants

    @property
    def unfactored(self) -> np.ndarray:
        """The constants of the run without :attr:`factors`."""
        return self.parameters

    @property
    def factors(self) -> list[tuple[float, dict[str, sp.Expr]]]:
        """The exact factors of constants, perhaps formulas in ``alpha``, from each time on at which
        they jump.
        """
        return [(0.0, {})]

    @cached_property
    def begin(self) -> np.ndarray:
        """The flat state at alpha = 0."""
        begin: np.ndarray = self.begun([self])[0]
        return begin

    @classmethod
    def begun(cls, flows: Sequence[Self]) -> np.ndarray:
        """Return the flat states at alpha = 0 of flows of one module and size, shape (n, S)."""
        states = [flow.state for flow in flows]
        return pack_state(
            np.array([state.student_overlap for state in states]),
            np.array([state.cross_overlap for state in states]),
            np.array([state.student_weights for state in states]),
        )

    @classmethod
    def constants_of(cls, flows: Sequence[Self]) -> np.ndarray:
        """Return the constants of flows of one module and size, shape (n, P)."""
        return _flat_constants([flow.study for flow in flows], [flow.state for flow in flows])

    @classmethod
    def prepare(cls, flows: Sequence[Self]) -> None:
        """Let flows of one module and size know their starts and constants, made all at once."""
        shared = {name: getattr(flows[0], name) for name in ("packings", "sizes")}
        for flow in flows:
            vars(flow).update(shared)
        for name, rows in (("begin", cls.begun(flows)), ("parameters", cls.constants_of(flows))):
            for flow, row in zip(flows, rows, strict=True):
                vars(flow)[name] = row

    def mean_warnings(self, trajectory: Trajectory) -> list[str]:
        """Return warnings about means whose errors depend on the run."""
        del trajectory
        return []

    @property
    def right_hand_side(self) -> Callable[..., None]:
        return self.kernel.right_hand_side_for(self.state.K, self.state.M)

    def modes(self, begin: np.ndarray, parameters: np.ndarray) -> CoupledModes | None:
        """Return how the entries of a flat state are coupled, for given constants."""
        return modes_of_layout(self.layout, self.sizes, parameters, begin.size)

    @property
    def extent(self) -> tuple[str, str]:
        """The size of the results in words, and the argument that determines it."""
        K, M, L, points = self.state.K, self.state.M, self.state.L, self.study.alpha.size
        words = f"{points} points of {L} eigenvalues, {K} students and {M} teachers"
        return words, "time.points"

    def errors(self, result: FlatResult, alpha: np.ndarray | None = None) -> np.ndarray:
        """Return the generalisation error at every row of a result.

        At each time it is that on the examples taught then: before a jump at a jump, and the mean
        over a mixture.
        """
        rows, numbers = result.results, np.zeros(len(result.results), dtype=int)
        if len(self.pieces) > 1:
            times = self.goal.alpha[: len(rows)] if alpha is None else alpha
            numbers = np.array([self.course.number_at(float(time)) for time in times])
        errors = np.zeros(len(rows))
        for number, piece in enumerate(self.pieces):
            here = numbers == number
            for law in piece.laws if here.any() else ():
                inside = np.ascontiguousarray(law.into(rows[here]))
                errors[here] += law.share * self.errors_at(inside, law.constants)
        return errors

    def errors_at(self, states: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Return the generalisation errors of flat states, shape (P, S), with constants."""
        known, error = (
            self.packing("parameters").views(parameters),
            self.kernel.generalization_error,
        )
        K, M = self.state.K, self.state.M
        *_, v, Q, R = fields_of(states, known["weight"], known["eigenvalue"], K, M)
        # compiled functions take writable arrays in C order
        T, v_teacher = known["T"].copy(), known["v_teacher"].copy()
        rows = zip(Q, np.ascontiguousarray(R), np.ascontiguousarray(v), strict=True)
        return np.array([error(*row[:2], T, row[2], v_teacher) for row in rows])

    def shaken(self, result: FlatResult, size: float, seed: int) -> Flow:
        twin: Flow = rounding.shaken(self, result, size, seed)
        return twin

    def compared(self, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield Q, R and v, each with its scale: max Q, sqrt(max Q max T) and max v."""
        state = self.state
        *_, v, Q, R = fields_of(rows, state.weight, state.eigenvalue, state.K, state.M)
        largest = np.max(np.abs(Q), axis=(1, 2), keepdims=True)
        yield Q, largest
        yield R, np.sqrt(largest * np.max(np.abs(state.T)))
        yield v, np.max(np.abs(v), axis=1, keepdims=True)

    def further(self, result: FlatResult) -> dict[str, np.ndarray]:
        """Return further arrays at every row of a result, by their names in ``RUN.nc``."""

        def errors(states: np.ndarray, constants: np.ndarray) -> np.ndarray:
            return self.errors_at(np.ascontiguousarray(states[0]), constants[0])[None]

        found = self.further_of([self], result.results[None], errors)
        return {name: each[0] for name, each in found.items()}

    @classmethod
    def further_of(
        cls, flows: Sequence[Self], states: np.ndarray, errors: ErrorsOf
    ) -> dict[str, np.ndarray]:
        """Return further arrays along runs of one module, by name; shapes (n, A, …).

        Args:
            flows: The runs.
            states: Their states at the same times, shape (n, A, S), with NaN in rows that were not
                reached.
            errors: The function from such states and constants (n, P) to generalisation errors.
        """
        del flows, states, errors
        return {}


def flat_parameters(study: Study, state: State) -> np.ndarray:
    """Return the constants of a run in the layout of the generated modules."""
    constants: np.ndarray = _flat_constants([study], [state])[0]
    return constants


def _flat_constants(studies: Sequence[Study], states: Sequence[State]) -> np.ndarray:
    """Return the constants of runs with states of one size, shape (n, P)."""
    own = [
        (
            study.training.learning_rate,
            study.second_layer_learning_rate,
            study.training.weight_decay,
            study.second_layer_weight_decay,
            study.training.label_noise,
            1.0 if study.training.order == "full" else 0.0,
        )
        for study in studies
    ]
    return pack_parameters(
        np.array([state.eigenvalue for state in states]),
        np.array([state.weight for state in states]),
        np.array([state.teacher_overlap for state in states]),
        np.array([state.teacher_covariance for state in states]),
        np.array([state.teacher_weights for state in states]),
        dict(zip(_RATES, np.array(own).T, strict=True)),
    )
