"""The expected values of one step of a rule at a state, computed from its statement.

Generated modules are compared with them. The numbers, the states and the names are chosen here;
their meaning is that of :mod:`symderiv.learning.rule.stated_rule` alone, averaged over points.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from symderiv.checking.field_points import LIMIT, Floats, lattice_points, plane_points
from symderiv.foundation.packing import families_of
from symderiv.keys.study_tables import Training
from symderiv.learning.derivation import symbols as s
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.learning.rule.stated_rule import RuleNumbers, state_rule
from symderiv.statement.averaged_step import MeanStep, Reading, SlowState, StateFrame
from symderiv.statement.language import Language

PLANES = (9.0, (14, 12)), (14.0, (14, 12)), (9.0, (28, 24))
"""How far points of a plane reach, and the numbers of nodes in its panels. The difference between
both numbers says how good the points are. Functions that grow like exponentials have their weight
beyond the first reach; steep ones need more nodes."""
ENOUGH = 1e-7
"""The relative difference below which averages over fine and coarse points count as equal."""
UNRESOLVED = 1e-2
"""If an average over a plane differs by more than this, its points do not resolve the activations;
other averages may agree by chance, so that a lattice is used instead."""
EXAMPLES = 1024
"""Points of a lattice, in each of its randomisations."""
LABEL_NOISE = 0.5
_SCALARS = ("v", "b", "v_velocity", "b_velocity")
_WEIGHT = np.array([0.5, 0.3, 0.2])
_EIGENVALUE = np.array([0.6, 1.5, 0.9])


Call = tuple[str, float]
"""A module, and 1 if terms of second order are included, else 0."""


@dataclass(frozen=True)
class Trial:
    """A state at which a module is compared with the statement.

    Attributes:
        K, M: Numbers of units.
        calls: The right-hand sides that are called.
        drawn: A general state, averaged over a lattice; else one whose fields lie in a plane.
        noise: The label noise.
    """

    K: int
    M: int
    calls: tuple[Call, ...] = (("fast", 1.0), ("fast", 0.0), ("readable", 1.0))
    drawn: bool = False
    noise: float = LABEL_NOISE

    @property
    def where(self) -> str:
        """Return the numbers of units, for messages."""
        return f"(K = {self.K}, M = {self.M})"


@dataclass(frozen=True)
class Expected:
    """Values that follow from the statement of a rule at a trial.

    Attributes:
        known: All arguments of functions of modules by their names.
        increments: The increments of fields of the state, with (1) and without (0) terms of second
            order, and the averages ``"error"`` and ``"loss"``; each with the error of the points.
    """

    known: Mapping[str, Any]
    increments: Mapping[tuple[str, float], tuple[Floats, Floats]]


@lru_cache(maxsize=8)
def expected_of(
    problem: LearningProblem, trial: Trial, state: tuple[str, ...], given: tuple[str, ...]
) -> Expected:
    """Return the expected values; they are cached for texts that are checked one by one.

    Args:
        problem: The rule.
        trial: The state and the numbers.
        state: Names of fields of the modules' state.
        given: Names of the modules' parameters.
    """
    numbers, reading = _stated(problem, trial.K, trial.M, trial.noise, given)
    with_fields = tuple(name for name in reading.statement.families if name != "U")
    names = _Names(problem, trial, numbers, state, with_fields)
    return names.expected(StateFrame(reading, _state(problem, trial, with_fields)))


@lru_cache(maxsize=8)
def _stated(
    problem: LearningProblem, K: int, M: int, noise: float, given: tuple[str, ...]
) -> tuple[RuleNumbers, Reading]:
    """Return the numbers and the statement of a rule; ``given`` names the numbers that it has."""
    sizes = {name: _size(name) for name in given if name in Training.RECORDS}
    if "batch_ratio" in sizes:
        sizes |= {name: 0.0 for name in sizes if name.endswith("decay")}
    rng = np.random.default_rng(K + 10 * M)
    biases = rng.uniform(-0.6, 0.6, K + M) * problem.rule.biases
    trained = problem.rule.trained_biases
    numbers = RuleNumbers(
        K=K,
        M=M,
        teacher_weights=rng.uniform(0.4, 1.0, M) * (-1.0) ** np.arange(M),
        teacher_biases=biases[K:],
        student_biases=None if trained else biases[:K],
        sizes={**sizes, "label_noise": noise},
        input_variance=float(_WEIGHT @ _EIGENVALUE),
    )
    P = Language()
    state_rule(P, problem, numbers, None)
    return numbers, Reading(P.statement)


def _size(name: str) -> float:
    """Return a value for a key, between 0.15 and 0.85 and always the same."""
    return round(float(np.random.default_rng([*name.encode()]).uniform(0.15, 0.85)), 2)


def _state(problem: LearningProblem, trial: Trial, families: tuple[str, ...]) -> SlowState:
    """Return vectors whose fields lie in a plane, or general ones, some of them almost aligned."""
    K, M = trial.K, trial.M
    rng = np.random.default_rng(7 + K + 10 * M)
    if trial.drawn:
        rows = rng.normal(size=(K + M, 3, K + M + 3)) / (K + M + 3) ** 0.5
        for first, second, distance in ((0, 2, 1e-3), (1, 0, 1e-5)):
            rows[first] = rows[second] + (2 * distance) ** 0.5 * rows[first]
    else:
        places = rng.normal(size=(K + M, 2)) / 1.5
        if problem.rule.input_noise:  # of parallel students it is one more variable, not two
            places[:K] = (
                places[:1] * rng.uniform(0.6, 1.2, (K, 1)) * (-1.0) ** np.arange(K)[:, None]
            )
        rows = np.einsum("ab,kbc->akc", places, 0.7 * rng.normal(size=(3, 2, 2)))
        rows = np.concatenate([rows, np.zeros((K + M, 3, 1))], axis=2)
    names = [f"J{i + 1}" for i in range(K)] + [f"B{n + 1}" for n in range(M)]
    vectors = dict(zip(names, rows, strict=True))
    vectors |= {f"U{i + 1}": rng.normal(size=rows.shape[1:]) / 2 for i in range(K)}
    for family in set(families) - {"J", "B"}:
        mixed = rng.normal(size=(K, K + M)) / (K + M) ** 0.5
        vectors |= {f"{family}{i + 1}": each for i, each in enumerate(np.tensordot(mixed, rows, 1))}
    numbers = {
        f"{name}{i + 1}": size * (-1.0) ** i
        for name in _SCALARS
        for i, size in enumerate(rng.uniform(0.3, 0.9, K))
    }
    return SlowState(vectors, _WEIGHT, {"x": _EIGENVALUE}, numbers)


@dataclass(frozen=True)
class _Names:
    """Increments and numbers in the arrays that modules use."""

    problem: LearningProblem
    trial: Trial
    numbers: RuleNumbers
    fields: tuple[str, ...]
    families: tuple[str, ...]

    def expected(self, frame: StateFrame) -> Expected:
        """Return all expected values at a state."""
        return Expected(self._known(frame.state), self._increments(frame))

    def _increments(self, frame: StateFrame) -> dict[tuple[str, float], tuple[Floats, Floats]]:
        """Return the increments of fields of the state and the averages, with their errors."""
        cuts = None if self.trial.drawn else frame.kinks()
        over_plane = None if cuts is None else self._over_plane(frame, cuts)
        return self._over_lattice(frame) if over_plane is None else over_plane

    def _over_lattice(self, frame: StateFrame) -> dict[tuple[str, float], tuple[Floats, Floats]]:
        """Return averages over a randomised lattice."""
        clouds = lattice_points(frame.dimension, EXAMPLES, 10 * self.trial.K + self.trial.M)
        increments = [self._arrays(*frame.mean_steps(*cloud)) for cloud in clouds]
        values = {name: np.array([each[name] for each in increments]) for name in increments[0]}
        size = LIMIT / len(increments) ** 0.5
        return {n: (v.mean(axis=0), size * v.std(axis=0, ddof=1)) for n, v in values.items()}

    def _over_plane(
        self, frame: StateFrame, cuts: Floats
    ) -> dict[tuple[str, float], tuple[Floats, Floats]] | None:
        """Return averages over points of a plane, or None if they do not resolve activations."""
        polynomial = frame.polynomial(2)
        for reach, nodes in PLANES:
            fine, coarse = (
                self._arrays(
                    *frame.mean_steps(*plane_points(frame.dimension, polynomial, cuts, n, end))
                )
                for n, end in zip(nodes, (reach, reach - 0.5), strict=True)
            )
            # compare largest elements, because single ones may agree by chance
            apart = {name: np.abs(fine[name] - coarse[name]).max(initial=0.0) for name in fine}
            sizes = {name: np.abs(value).max(initial=0.0) for name, value in fine.items()}
            # what averages over the same points differ by is the error of each, as one may agree
            # by chance
            relative = max(apart[name] / size for name, size in sizes.items() if size > 0.0)
            if relative <= ENOUGH:
                break
        if relative > UNRESOLVED:
            return None
        errors = {name: relative * size for name, size in sizes.items()}
        return {name: (value, np.full_like(value, errors[name])) for name, value in fine.items()}

    def _arrays(self, full: MeanStep, small: MeanStep) -> dict[tuple[str, float], Floats]:
        """Return increments in the modules' arrays, with and without terms of second order."""
        arrays: dict[tuple[str, float], Floats] = {}
        for order, step in ((1.0, full), (0.0, small)):
            for name in self.fields:
                if name in _SCALARS:
                    arrays[name, order] = self._scalars(name, step.scalars)
                else:
                    arrays[name, order] = self._held(name, step.overlap_rate)
            arrays["error", order] = np.array(step.observables["error"])
            arrays["loss", order] = np.array(step.observables["loss"])
        return arrays

    def _held(self, name: str, of: Callable[[str, str], Floats]) -> Floats:
        """Return overlaps in the state's units: each teacher among the two gives a factor ρ_k."""
        first, second = families_of(name)
        power = (first, second).count("B")
        return np.asarray(self._overlaps(first, second, of) * _EIGENVALUE**power)

    def _overlaps(self, first: str, second: str, of: Callable[[str, str], Floats]) -> Floats:
        sizes = {"B": self.trial.M}
        one, other = (
            [f"{family}{n + 1}" for n in range(sizes.get(family, self.trial.K))]
            for family in (first, second)
        )
        return np.array([[of(a, b) for b in other] for a in one])

    def _scalars(self, name: str, of: Mapping[str, float]) -> Floats:
        return np.array([of.get(f"{name}{i + 1}", 0.0) for i in range(self.trial.K)])

    def _known(self, state: SlowState) -> dict[str, Any]:
        """Return all arguments of the functions of modules by their names."""
        numbers, overlap = self.numbers, state.overlap
        w, rho = _WEIGHT, _EIGENVALUE
        known: dict[str, Any] = {"teacher_overlap": self._held("teacher_overlap", overlap)}
        known |= {name: self._held(name, overlap) for name in self.fields if name not in _SCALARS}
        for first, second in itertools.combinations_with_replacement(self.families, 2):
            names = s.in_order(first, second)
            each = self._overlaps(*names, overlap)
            known[str(s.product(*names).label)] = each @ w
            known[str(s.covariance(*names).label)] = each @ (w * rho)
        known |= {name: self._scalars(name, state.numbers) for name in _SCALARS}
        known |= {name: float(size) for name, size in numbers.sizes.items()}
        biases = known["b"] if numbers.student_biases is None else numbers.student_biases
        return known | {
            "eigenvalue": rho,
            "weight": w,
            "v_teacher": numbers.teacher_weights,
            "student_biases": biases,
            "teacher_biases": numbers.teacher_biases,
            # the covariance of students' fields with noise on inputs
            "seen": known["Q"] + known.get("input_noise", 0.0) ** 2 * known["product_J_J"],
        }
