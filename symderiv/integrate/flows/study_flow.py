"""The flow of a study: its initial state and constants as compiled code takes them, integrated."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from symderiv_kernels.layout import LAYOUT

from symderiv.foundation.packing import COVARIANCES, Packing, families_of, orbits
from symderiv.integrate.flows.compression import Mode
from symderiv.integrate.flows.courses import Course, Goal, Law, Piece, PiecewiseRun
from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.integrate.flows.trajectory import Trajectory
from symderiv.integrate.steppers.coupled_modes import CoupledModes, ModeRow, rows_of
from symderiv.problem.flat_layout import (
    fields_of,
    pack_parameters,
    pack_state,
    sizes_of,
    split_flat,
    state_size,
)
from symderiv.problem.state import State
from symderiv.problem.study import Study
from symderiv.storage.checkpoint import Checkpoint
from symderiv.storage.kernels import Kernel

if TYPE_CHECKING:
    import sympy as sp

    from symderiv.learning.rule.learning_rule import LearningRule

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
        return flat_constants([flow.study for flow in flows], [flow.state for flow in flows])

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

        Args:
            flows: The runs.
            states: Their states at the same times, shape (n, A, S), with NaN in rows that were not
                reached.
            errors: The function from such states and constants (n, P) to generalisation errors.
        """
        del flows, states, errors
        return {}


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
