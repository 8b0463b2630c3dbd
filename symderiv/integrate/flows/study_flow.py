"""The flow of a study: its initial state and constants as compiled code takes them, integrated.

A flow is cut into pieces where tasks or rates change. Examples of tasks that are mixed, and of
several classes of inputs, have constants of their own in a piece.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from symderiv_kernels.layout import LAYOUT

from symderiv.foundation.packing import (
    COVARIANCES,
    Packing,
    families_of,
    of_rule,
    orbits,
    order_name,
)
from symderiv.inputs import DataModel
from symderiv.integrate.flows.components import inputs_of_tasks, laws_of_classes, with_eigenvalues
from symderiv.integrate.flows.compression import Mode
from symderiv.integrate.flows.courses import Course, Goal, Law, Piece, PiecewiseRun
from symderiv.integrate.flows.equivalent_numbers import (
    equivalent_factors,
    exact_rate,
    shown_factor,
    velocity_factor,
)
from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.integrate.flows.trajectory import Trajectory
from symderiv.integrate.steppers.coupled_modes import CoupledModes, ModeRow, rows_of
from symderiv.keys.study_tables import LEARNING_RATES
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.problem.flat_layout import (
    fields_of,
    pack_parameters,
    pack_state,
    sizes_of,
    split_flat,
    state_size,
)
from symderiv.problem.rule_of import StudyRule
from symderiv.problem.state import State
from symderiv.problem.study import Study
from symderiv.problem.timetable import (
    Phase,
    heads,
    numbered_tasks,
    refuse_negative_rates,
    task_weights,
    timetable,
)
from symderiv.storage.checkpoint import Checkpoint
from symderiv.storage.kernels import Kernel

if TYPE_CHECKING:
    import sympy as sp

PLAIN_RULE = StudyRule(LearningRule())
_BIASES = "teacher_biases", "student_biases"
_DRAWN = ("label_flip", "keep", "evaluation_scale")
_SHIFTS = (0.0, 0.3183, 0.5772, 0.8713)
"""Shifts of the lattice of quadrature points; runs use the first."""
_SAFETY = 3.0
"""The factor between the error of the lattice at the start and the smallest tolerance of steps. The
error grows along the run, and the steps of such a tolerance added up to a tenth of it."""

#: A function from states (n, A, S) and constants (n, P) of runs to generalisation errors (n, A).
ErrorsOf = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Flow(PiecewiseRun):
    """The flow of a study from an initial state, in the form that compiled code takes.

    Output weights of further heads follow the state; a task's law maps those of its head to their
    usual place.

    Attributes:
        rule: The learning rule with its numbers.
        data: Inputs of several classes, whose rates are averaged; None for those of a single class.
    """

    study: Study
    kernel: Kernel
    state: State
    checkpoint: Checkpoint | None = None
    rule: StudyRule = PLAIN_RULE
    data: DataModel | None = None

    @cached_property
    def layout(self) -> Mapping[str, Any]:
        """The layout of the flat vectors, which begin with those of plain descent."""
        layout: Mapping[str, Any] = LAYOUT if self.rule is PLAIN_RULE else self.kernel.module.LAYOUT
        return layout

    @property
    def fixed_bias(self) -> float:
        """The largest modulus of the biases that are not trained."""
        named = ("teacher_biases",) if self.rule.rule.trained_biases else _BIASES
        largest = [np.max(np.abs(self.rule.parameters.get(name, 0.0))) for name in named]
        return float(max(largest))

    @property
    def compression(self) -> Mode:
        """The mode of the compression of the spectrum; "off" for inputs of several classes."""
        return self.study.time.compression if self.data is None else "off"

    @cached_property
    def goal(self) -> Goal:
        """The times and tolerances that are asked for.

        The relative tolerance is no smaller than the error of means on a lattice: these have kinks
        in the state, which would take thousands of steps that follow nothing but the lattice.
        """
        asked = self.study.time
        relative = max(asked.relative_tolerance, self._of_lattice)
        return Goal(self.study.alpha, relative, asked.absolute_tolerance, asked.method)

    def least_tolerance(self, result: FlatResult | None = None) -> float:
        """Return the smallest tolerance that makes sense, for a run or before the first one."""
        return max(super().least_tolerance(result), self._of_lattice)

    @cached_property
    def heads(self) -> dict[int, int]:
        """The index of each task's head, from 0 without gaps."""
        given = heads(self.study)
        numbers = {head: place for place, head in enumerate(sorted(set(given.values())))}
        return {task: numbers[head] for task, head in given.items()}

    @cached_property
    def inputs(self) -> dict[int, np.ndarray]:
        """The eigenvalues of tasks that have inputs of their own, by the number of the task."""
        return inputs_of_tasks(self.study, self.state)

    @cached_property
    def _phases(self) -> tuple[Phase, ...]:
        """The phases of the study; a single one if nothing jumps in time."""
        jumps = self.study.task or self.study.training.schedule is not None
        if jumps:
            refuse_negative_rates(self.study, self.study.alpha)
        return timetable(self.study) if jumps else (Phase(0.0, math.inf, (), 1.0),)

    @property
    def is_constant(self) -> bool:
        """True for a flow of examples of one kind within each phase, at constant rates."""
        mixed = self.step or self.data is not None
        return not mixed and all(
            len(phase.shares) <= 1 and not isinstance(phase.rate, str) for phase in self._phases
        )

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces of a run."""
        if self.data is None:
            return tuple(self._piece(phase) for phase in self._phases)
        packings = self.packing("state"), self.packing("parameters")
        laws = laws_of_classes(self.data, self.state.weight, self.parameters, packings)
        return (Piece(0.0, math.inf, laws),)

    def _piece(self, phase: Phase) -> Piece:
        places = self.packing("parameters").slices
        rates = [places[name].start for name in LEARNING_RATES if name in places]
        formula = phase.rate if isinstance(phase.rate, str) else None
        base = self.parameters.copy()
        if not isinstance(phase.rate, str):
            base[rates] *= phase.rate
        alone = len(phase.shares) == 1
        laws = [self._law(base, number, share, alone) for number, share in phase.shares]
        return Piece(phase.begin, phase.end, tuple(laws) or (Law(base),), formula, tuple(rates))

    def _law(self, base: np.ndarray, number: int, share: float, alone: bool) -> Law:
        """Return the law of a task, with its head and its teacher's weights in the usual places.

        Args:
            base: The constants without a task.
            number, share: The number of the task, and its probability.
            alone: False in mixtures, all of whose tasks have the inputs of the study.
        """
        state, constants, head = self.packing("state"), base.copy(), self.heads[number]
        places, K = np.arange(state.size), self.state.K
        if head > 0:
            first = state.size + (head - 1) * K
            places[state.slices["v"]] = np.arange(first, first + K)
        weights = task_weights(self.study, number, self.state.teacher_weights)
        constants[self.packing("parameters").slices["v_teacher"]] = weights
        law, packings = Law(constants, share, places), (state, self.packing("parameters"))
        if not (alone and number in self.inputs):
            return law
        usual = self.state.eigenvalue, self.state.weight
        return with_eigenvalues(law, self.inputs[number], *usual, packings)

    @property
    def step(self) -> float:
        """The time of a step of order one; 0 for a flow."""
        return float(self.rule.parameters["batch_ratio"]) if self.rule.rule.batches else 0.0

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
        """The length of the flat state, with the output weights of all heads."""
        return self.packing("state").size + self.state.K * max(self.heads.values(), default=0)

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
        constants: np.ndarray = self._stated_constants([self])[0]
        return constants

    @property
    def factors(self) -> list[tuple[float, dict[str, sp.Expr]]]:
        """The exact factors of constants, perhaps formulas in ``alpha``, from each time on at which
        they jump.
        """
        usual = equivalent_factors(self.study, self.in_updates, exact=True)
        factors = []
        for phase in timetable(self.study, math.inf):
            rate = exact_rate(phase.rate)
            changed = {name: rate * usual.get(name, 1) for name in LEARNING_RATES}
            factors.append((phase.begin, {**usual, **changed}))
        return factors

    @cached_property
    def begin(self) -> np.ndarray:
        """The flat state at alpha = 0."""
        begin: np.ndarray = self.begun([self])[0]
        return begin

    @classmethod
    def begun(cls, flows: Sequence[Self]) -> np.ndarray:
        """Return the flat states at alpha = 0 of flows of one module and size, shape (n, S).

        All heads have the same initial weights.
        """
        states = [flow.state for flow in flows]
        weights = np.array([state.student_weights for state in states])
        plain = pack_state(
            np.array([state.student_overlap for state in states]),
            np.array([state.cross_overlap for state in states]),
            weights,
        )
        flat, fields, added = _extended(flows[0].packing("state"), plain)
        overlaps = begun_overlaps(fields["student_overlap"], fields["cross_overlap"], added)
        for name, field in added.items():
            if name in overlaps and name not in flows[0].rule.state:
                field[...] = overlaps[name]
            else:
                _fill(field, [flow.rule.state[name] for flow in flows])
        return np.hstack([flat, *[weights] * max(flows[0].heads.values(), default=0)])

    @classmethod
    def constants_of(cls, flows: Sequence[Self]) -> np.ndarray:
        """Return the constants of flows of one module and size, shape (n, P).

        Small batches and heavy-ball momentum enter as changed rates.
        """
        constants = cls._stated_constants(flows)
        fields = flows[0].packing("parameters").views(constants)
        factors = [equivalent_factors(flow.study, flow.in_updates) for flow in flows]
        for name in set().union(*factors) & fields.keys():
            own = np.array([each.get(name, 1.0) for each in factors])
            fields[name][...] *= own.reshape(-1, *[1] * (fields[name].ndim - 1))
        return constants

    @classmethod
    def _stated_constants(cls, flows: Sequence[Self]) -> np.ndarray:
        """Return the constants of plain descent, followed by those of the rule."""
        plain = flat_constants([flow.study for flow in flows], [flow.state for flow in flows])
        flat, _, added = _extended(flows[0].packing("parameters"), plain)
        for name, field in added.items():
            _fill(field, [flow.rule.parameters[name] for flow in flows])
        return flat

    @property
    def in_updates(self) -> list[str]:
        """Names of numbers of a stated rule that act once in a step."""
        names: list[str] = getattr(self.kernel.module, "IN_UPDATES", "").split()
        return names

    @classmethod
    def prepare(cls, flows: Sequence[Self]) -> None:
        """Let flows of one module and size know their starts and constants, made all at once."""
        shared = {name: getattr(flows[0], name) for name in ("layout", "packings", "sizes")}
        for flow in flows:
            vars(flow).update(shared)
        for name, rows in (("begin", cls.begun(flows)), ("parameters", cls.constants_of(flows))):
            for flow, row in zip(flows, rows, strict=True):
                vars(flow)[name] = row

    @property
    def right_hand_side(self) -> Callable[..., None]:
        return self.kernel.right_hand_side_for(self.state.K, self.state.M)

    def modes(self, begin: np.ndarray, parameters: np.ndarray) -> CoupledModes | None:
        """Return how the entries of a flat state are coupled, for given constants.

        The names in modules of stated rules tell which sums of overlaps they compute. Rules that
        keep weights on a sphere also sum the rates of squared lengths. The result is None for
        inputs of several classes, each of which has its own sums over modes.
        """
        if self.data is not None:
            return None
        rule, summed = self.rule.rule, FIELDS
        if rule.stated:
            text = self.kernel.path.read_text(encoding="utf-8")
            families = [families_of(name) for name in self.layout["state"]]
            names = set().union(*(name for each in families if each for name in sums_of(each)))
            summed = {*FIELDS, *(name for name in names if name in text)}
        return modes_of_layout(
            self.layout, self.sizes, parameters, begin.size, summed,
            moments=rule.normalise == "sphere",
        )  # fmt: skip

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
        K, M = self.state.K, self.state.M
        if self.rule is not PLAIN_RULE:
            Q, R = np.empty((K, K)), np.empty((K, M))
            given, observed = (self.sizes, parameters, Q, R), self.kernel.module.flat_observables
            return np.array([float(observed(state, *given)) for state in states])
        known = self.packing("parameters").views(parameters)
        *_, v, Q, R = fields_of(states, known["weight"], known["eigenvalue"], K, M)
        # compiled functions take writable arrays in C order
        T, v_teacher = known["T"].copy(), known["v_teacher"].copy()
        error = self.kernel.generalization_error
        rows = zip(Q, np.ascontiguousarray(R), np.ascontiguousarray(v), strict=True)
        return np.array([error(*row[:2], T, row[2], v_teacher) for row in rows])

    def shaken(self, result: FlatResult, size: float, seed: int) -> Flow:
        twin: Flow = shaken(self, result, size, seed)
        return twin

    def compared(self, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield Q, R and v, each with its scale: max Q, sqrt(max Q max T) and max v."""
        state = self.state
        *_, v, Q, R = fields_of(rows, state.weight, state.eigenvalue, state.K, state.M)
        largest = np.max(np.abs(Q), axis=(1, 2), keepdims=True)
        yield Q, largest
        yield R, np.sqrt(largest * np.max(np.abs(state.T)))
        yield v, np.max(np.abs(v), axis=1, keepdims=True)

    def state_at(self, flat: np.ndarray) -> State:
        """Return the state of a vector, with what the rule adds."""
        plain, packing = self.state.flat().size, self.packing("state")
        added = {
            name: shown_factor(self.study, name) * value
            for name, value in packing.views(flat[: packing.size]).items()
            if of_rule(name)
        }
        return self.state.with_flat(flat[:plain], added)

    def further(self, result: FlatResult) -> dict[str, np.ndarray]:
        """Return further arrays at every row of a result, by their names in ``RUN.nc``."""

        def errors(states: np.ndarray, constants: np.ndarray) -> np.ndarray:
            return self.errors_at(np.ascontiguousarray(states[0]), constants[0])[None]

        arrays = self.further_of([self], result.results[None], errors)
        return {name: each[0] for name, each in arrays.items()}

    @classmethod
    def further_of(
        cls, flows: Sequence[Self], states: np.ndarray, errors: ErrorsOf
    ) -> dict[str, np.ndarray]:
        """Return further arrays along runs of one module, by name; shapes (n, A, …).

        They are what the rule adds, with overlaps of velocities as covariances, errors on all tasks
        and output weights of all heads.

        Args:
            flows: The runs.
            states: Their states at the same times, shape (n, A, S), with NaN in rows that were not
                reached.
            errors: The function from such states and constants (n, P) to generalisation errors.
        """
        packing, lead = flows[0].packing("state"), states.shape[:2]
        further = _added_by_rule(flows, states[..., : packing.size])
        if flows[0].study.task:
            others, first = states[..., packing.size :], states[..., packing.slices["v"]]
            taught = []
            for number in numbered_tasks(flows[0].study):
                laws = [flow._law(flow.parameters, number, 1.0, True) for flow in flows]
                seen = [law.into(rows) for law, rows in zip(laws, states, strict=True)]
                taught.append(errors(np.array(seen), np.array([law.constants for law in laws])))
            further["task_error"] = np.stack(taught, axis=-1)
            heads = np.concatenate([first, others], axis=-1)
            further["heads"] = heads.reshape(*lead, -1, flows[0].state.K)
        return further

    @cached_property
    def _of_lattice(self) -> float:
        """The error of means on a lattice, from the differences of lattices at the start and for
        students as long as teachers; zero for means without a lattice.
        """
        state, known = self.state, self.rule.parameters
        if not self._along_lattice:
            return 0.0
        lengths = [np.trace(each) / len(each) for each in (state.Q, state.T)]
        longer = max(1.0, math.sqrt(lengths[1] / lengths[0])) if lengths[0] > 0.0 else 1.0
        rest = state.T, state.student_weights, state.teacher_weights
        biases = self.rule.state.get("b", known["student_biases"]), known["teacher_biases"]
        return _SAFETY * max(
            self._lattices_apart(scale**2 * state.Q, scale * state.R, *rest, *biases)
            for scale in (1.0, longer)
        )

    @cached_property
    def _along_lattice(self) -> bool:
        """True if means use a lattice."""
        if not self.kernel.has_lattice:
            return False
        from symderiv.lowering.means.force_fields import along_lattice

        noisy = self.study.training.label_noise > 0.0
        return along_lattice(vars(self.kernel.module), self.state.K, self.state.M, noisy)

    def _lattices_apart(self, *drawn: Any) -> float:
        """Return the largest difference of shifted lattices, for overlaps, weights and biases."""
        forces = self.kernel.function("mean_forces")
        arrays = [np.array(each, dtype=np.float64, order="C") for each in drawn]
        noise = float(self.study.training.label_noise)
        numbers = [noise, *(float(self.rule.parameters[name]) for name in _DRAWN)]
        means = [_means(forces, arrays, numbers, shift) for shift in _SHIFTS]
        return float(np.max(np.abs(np.array(means[1:]) - means[0])))

    def mean_warnings(self, trajectory: Trajectory) -> list[str]:
        """Return a warning with the differences between lattices, if means use a lattice."""
        if not trajectory.alpha.size or not self._along_lattice:
            return []
        known, largest = self.rule.parameters, 0.0
        last = trajectory.alpha.size - 1
        for row in sorted({0, last // 2, last}):
            biases = trajectory.further.get("b")
            apart = self._lattices_apart(
                *(trajectory.Q[row], trajectory.R[row], trajectory.T, trajectory.v[row]),
                trajectory.teacher_weights,
                known["student_biases"] if biases is None else biases[row],
                known["teacher_biases"],
            )
            largest = max(largest, apart)
        return [
            "means over many fields go along a lattice: those of other lattices differ by up to "
            f"{largest:.1e} (the largest found at the start, in the middle and at the end)"
        ]

    def noisy_error_at(self, flat: np.ndarray) -> float:
        """Return the generalisation error at a flat state on inputs with the student's noise."""
        state, constants = (
            self.packing(vector).views(each)
            for vector, each in (("state", flat), ("parameters", self.parameters))
        )
        variance = constants["eigenvalue"] + constants["input_noise"] ** 2
        known = {
            **state,
            **constants,
            "Q": state["student_overlap"] @ (constants["weight"] * variance),
            "R": state["cross_overlap"] @ constants["weight"],
        }
        error = self.kernel.module.generalization_error
        given = (known[name] for name in signature(error).parameters)
        return float(
            error(*(np.array(each, order="C") if each.ndim else float(each) for each in given))
        )


def _added_by_rule(flows: Sequence[Flow], states: np.ndarray) -> dict[str, np.ndarray]:
    """Return the rule's own arrays along runs; overlaps of velocities as covariances."""
    fields = flows[0].packing("state").views(states)
    further = {"b": fields["b"].copy()} if "b" in fields else {}
    weight = np.array([flow.state.weight for flow in flows])
    variance = weight * np.array([flow.state.eigenvalue for flow in flows])
    scales = np.array([velocity_factor(flow.study) for flow in flows])
    for field, values in fields.items():
        name, families = order_name(field), families_of(field)
        if families and name not in ("Q", "R"):
            factors = weight if families[1] == "B" else variance
            further[name] = np.einsum("na...l,nl->na...", values, factors)
            # the velocity of a rule is a multiple of the one that is shown
            velocities = families.count("U")
            further[name] *= scales.reshape(-1, *[1] * (further[name].ndim - 1)) ** velocities
    if flows[0].rule.rule.input_noise:
        noisy = [
            [math.nan if np.isnan(row[0]) else flow.noisy_error_at(row) for row in rows]
            for flow, rows in zip(flows, states, strict=True)
        ]
        further["noisy_error"] = np.array(noisy)
    return further


def _means(
    forces: Callable[..., float], arrays: list[np.ndarray], numbers: list[float], shift: float
) -> np.ndarray:
    """Return E[F x], E[F y], dv, Γ, db and the error, computed on a shifted lattice."""
    Q, R, T = arrays[:3]
    K, M = R.shape
    A, B, dv, Gamma, db = (np.zeros(s) for s in ((K, K), (K, M), K, (K, K), K))
    error = forces(*arrays, *numbers, shift, A, B, dv, Gamma, db)
    parts = (A @ Q + B @ R.T, A @ R + B @ T, dv, Gamma, db)
    return np.concatenate([*(part.ravel() for part in parts), [error]])


def begun_overlaps(
    students: np.ndarray, teachers: np.ndarray, fields: Iterable[str]
) -> dict[str, np.ndarray]:
    """Return the overlaps at alpha = 0 of vectors that a rule keeps besides the weights.

    Averages of weights begin equal to the weights, and velocities at zero.

    Args:
        students, teachers: Overlaps of the weights with each other and with the teachers; the last
            axis is the eigenspaces.
        fields: Names of the fields of the rule's state.
    """
    overlaps = {}
    for name in fields:
        if name.startswith("overlap_"):
            first, second = families_of(name)
            like = teachers if second == "B" else students
            overlaps[name] = np.zeros_like(like) if first == "U" else like
    return overlaps


def _extended(
    packing: Packing, plain: np.ndarray
) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return vectors that begin with those of plain descent, shape (n, size), with views of their
    fields: those of plain descent, and those that the rule adds.
    """
    flat, count = np.zeros((len(plain), packing.size)), plain.shape[1]
    flat[:, :count] = plain
    views = packing.views(flat)
    added = {name: views.pop(name) for name, at in packing.slices.items() if at.start >= count}
    return flat, views, added


def _fill(field: np.ndarray, values: Sequence[float | np.ndarray]) -> None:
    """Write the values of n runs into their fields; numbers fill whole arrays."""
    given = np.array(values)
    field[...] = given.reshape(*given.shape, *[1] * (field.ndim - given.ndim))


def rates_of(study: Study) -> dict[str, float]:
    """Return the numbers of plain descent, by their names in solver modules."""
    names = ("learning_rate", "weight_decay")
    rates = {each: study.size(each) for name in names for each in (name, f"second_layer_{name}")}
    full = float(study.training.order == "full")
    return {**rates, "label_noise": study.training.label_noise, "full_order": full}


def flat_constants(studies: Sequence[Study], states: Sequence[State]) -> np.ndarray:
    """Return the constants of runs with states of one size, shape (n, P)."""
    own = [rates_of(study) for study in studies]
    return pack_parameters(
        np.array([state.eigenvalue for state in states]),
        np.array([state.weight for state in states]),
        np.array([state.teacher_overlap for state in states]),
        np.array([state.teacher_covariance for state in states]),
        np.array([state.teacher_weights for state in states]),
        {name: np.array([rates[name] for rates in own]) for name in own[0]},
    )


#: A permutation of students and one of teachers.
_Exchange = tuple[np.ndarray, np.ndarray]


def shaken(flow: Any, result: FlatResult, size: float, seed: int) -> Any:
    """Return a flow with small random changes of its start and of output weights of the teacher.

    Args:
        flow: the flow of a study, as it was integrated.
        result: the run; symmetries that it kept to the last bit are kept.
        size: the size of the changes, relative to the largest vectors and weights along the run.
        seed: the seed of the random numbers.
    """
    state = flow.state
    K, M, L = state.K, state.M, state.L
    rng = np.random.default_rng([seed, K, M, L])
    begin, constants = flow.begin.copy(), flow.parameters.copy()
    exchanges = list(_exchanges(flow, result))
    rows = np.vstack([flow.begin, result.results, result.last_state])

    # change v and further fields; entries that exchanges of units map to each other change alike
    largest = np.max(np.abs(rows), axis=0)
    moved = [_indices(flow, "state", begin.size, *each) for each in exchanges]
    noise = rng.standard_normal(begin.size)[orbits(begin.size, moved)]
    weights_from = state_size(K, M, L) - K
    begin[weights_from:] += size * largest[weights_from:] * noise[weights_from:]

    *_, Q_rows, _ = fields_of(rows, state.weight, state.eigenvalue, K, M)
    lengths = np.sqrt(np.max(np.abs(np.einsum("pii->pi", Q_rows)), axis=0))
    teachers = np.sqrt(np.maximum(np.diag(state.T), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        towards = np.where(teachers > 0.0, lengths[:, None] / teachers, 0.0)
    towards /= max(float(state.eigenvalue.max()), 1e-300)
    students = [(K * s[:, None] + s).ravel() for s, _ in exchanges]
    pairs = [(M * s[:, None] + t).ravel() for s, t in exchanges]
    a = rng.standard_normal((L, K * K))[:, orbits(K * K, students)].reshape(L, K, K)
    b = rng.standard_normal((L, K * M))[:, orbits(K * M, pairs)].reshape(L, K, M)
    Q, r, _ = split_flat(begin[: state_size(K, M, L)], K, M, L)
    t = state.teacher_overlap
    one, b = np.eye(K) + size * a, size * b * towards
    inner = one @ r
    cross = np.swapaxes(inner, 1, 2)
    Q[...] = one @ Q @ np.swapaxes(one, 1, 2) + b @ cross + inner @ np.swapaxes(b, 1, 2)
    Q += b @ t @ np.swapaxes(b, 1, 2)
    r[...] = inner + b @ t
    begin[largest == 0.0] = 0.0

    weights = flow.packing("parameters").views(constants)["v_teacher"]
    kinds = orbits(M, [exchange[1] for exchange in exchanges])
    weights *= 1.0 + size * rng.standard_normal(M)[kinds]

    twin = copy.copy(flow)
    for made in ("pieces", "course"):
        vars(twin).pop(made, None)
    vars(twin).update(begin=begin, parameters=constants)
    return twin


def _exchanges(flow: Any, result: FlatResult) -> Iterator[_Exchange]:
    """Yield exchanges of two students, two teachers, or both, that leave a whole run unchanged."""
    state = flow.state
    K, M = state.K, state.M
    Q, _, v = split_flat(flow.begin[: state_size(K, M, state.L)], K, M, state.L)
    own = [Q[:, i, i].tobytes() + v[i].tobytes() for i in range(K)]
    taught = [
        state.teacher_overlap[:, n, n].tobytes() + state.teacher_weights[n].tobytes()
        for n in range(M)
    ]
    students = [pair for pair in combinations(range(K), 2) if own[pair[0]] == own[pair[1]]]
    teachers = [pair for pair in combinations(range(M), 2) if taught[pair[0]] == taught[pair[1]]]
    for student in (None, *students):
        for teacher in (None, *teachers):
            exchange = _exchanged(K, student), _exchanged(M, teacher)
            if student is teacher is None:
                continue
            unchanged = (
                (flow.begin, _indices(flow, "state", flow.begin.size, *exchange)),
                (flow.parameters, _indices(flow, "parameters", flow.parameters.size, *exchange)),
                (result.results, _indices(flow, "state", result.results.shape[-1], *exchange)),
                (result.last_state, _indices(flow, "state", result.last_state.size, *exchange)),
            )
            if all(np.array_equal(x, x[..., p]) for x, p in unchanged):
                yield exchange


def _exchanged(count: int, pair: tuple[int, int] | None) -> np.ndarray:
    order = np.arange(count)
    if pair is not None:
        order[list(pair)] = order[list(pair)[::-1]]
    return order


def _indices(
    flow: Any, vector: str, size: int, students: np.ndarray, teachers: np.ndarray
) -> np.ndarray:
    """Return the permutation of a flat vector when students and teachers are exchanged."""
    packing, sources = flow.packing(vector), np.arange(size)
    views: dict[str, Any] = packing.views(sources[: packing.size])
    for name, axes in flow.layout[vector].items():
        view = views[name].copy()
        for place, axis in enumerate(axes):
            if axis in ("K", "M"):
                view = np.take(view, students if axis == "K" else teachers, axis=place)
        views[name][...] = view
    # output weights of further heads
    heads = sources[packing.size :].reshape(-1, students.size)
    heads[...] = heads[:, students].copy()
    return sources


#: Names of the sums over modes that every module computes.
FIELDS: Set[str] = frozenset(COVARIANCES.values())


def modes_of_layout(
    layout: Mapping[str, Any],
    sizes: np.ndarray,
    parameters: np.ndarray,
    size: int,
    summed: Set[str] = FIELDS,
    *,
    moments: bool = False,
) -> CoupledModes:
    """Return how the entries of a state are coupled through sums over modes.

    Args:
        layout: ``LAYOUT`` of the module.
        sizes: K, M, L.
        parameters: flat constants, which begin as the layout says.
        size: the length of the state, which begins as the layout says.
        summed: the names of the sums over modes that the module computes.
        moments: True if Q and R are also summed with one more power of the eigenvalue.
    """
    named = dict(zip(layout["sizes"], map(int, sizes), strict=False))
    state = Packing.of(layout, "state", **named)
    packing = Packing.of(layout, "parameters", **named)
    known = packing.views(parameters[: packing.size])
    weight = known["weight"].copy()
    # only sums with teachers divide by eigenvalues; without them some may be zero
    eigenvalue = np.where(known["eigenvalue"] == 0.0, 1.0, known["eigenvalue"])
    variance = weight * (known["eigenvalue"] + known.get("input_noise", 0.0) ** 2)
    rows: list[ModeRow] = []
    for name, axes in layout["state"].items():
        if axes[-1:] == ("L",):
            families = families_of(name)
            # overlaps with teachers contain the eigenvalue already
            weights = (weight, weight / eigenvalue) if "B" in families else (variance, weight)
            names = sums_of(families)
            chosen = [w for w, given in zip(weights, names, strict=True) if given & summed]
            if moments and families in COVARIANCES:
                chosen.append(weights[0] * known["eigenvalue"])
            rows += rows_of(
                state.slices[name].start,
                state.shapes[name],
                tuple(chosen),
                len(set(families)) == 1,
            )
    return CoupledModes(size, named["L"], tuple(rows))


def sums_of(families: tuple[str, ...]) -> tuple[set[str], set[str]]:
    """Return possible names of two sums of an overlap: its covariance and its product."""
    orders = {"_".join(each) for each in (families, families[::-1])}
    own = {name for pair, name in COVARIANCES.items() if pair == families}
    return own or {f"covariance_{each}" for each in orders}, {f"product_{each}" for each in orders}
