"""Runs of learning rules: the flow of a rule's module, in one piece or in several."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np

from symderiv.foundation.packing import families_of, order_name
from symderiv.integrate.flows.courses import Goal
from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.integrate.flows.layout_modes import FIELDS, modes_of_layout, sums_of
from symderiv.integrate.flows.study_flow import Flow
from symderiv.integrate.flows.trajectory import Trajectory
from symderiv.integrate.steppers.coupled_modes import CoupledModes
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.problem.rule_of import StudyRule

_BIASES = "teacher_biases", "student_biases"
#: Generalisation errors of states, shape (P, S), with constants.
Observed = Callable[[np.ndarray, np.ndarray], np.ndarray]

_PLAIN = StudyRule(LearningRule())
_DRAWN = ("label_flip", "keep", "evaluation_scale")
_SHIFTS = (0.0, 0.3183, 0.5772, 0.8713)
"""The shifts of lattices; the first is that of runs."""
_SAFETY = 3.0
"""How often the error of a lattice at the start counts as the tolerance of steps: it grows on the
way, and what steps of that tolerance add up to was a tenth of it."""


def _means(
    forces: Callable[..., float], arrays: list[np.ndarray], numbers: list[float], shift: float
) -> np.ndarray:
    """E[F x], E[F y], dv, Γ, db and the error by a lattice."""
    Q, R, T = arrays[:3]
    K, M = R.shape
    A, B, dv, Gamma, db = (np.zeros(s) for s in ((K, K), (K, M), K, (K, K), K))
    error = forces(*arrays, *numbers, shift, A, B, dv, Gamma, db)
    parts = (A @ Q + B @ R.T, A @ R + B @ T, dv, Gamma, db)
    return np.concatenate([*(part.ravel() for part in parts), [error]])


def begun_overlaps(
    students: np.ndarray, teachers: np.ndarray, fields: Iterable[str]
) -> dict[str, np.ndarray]:
    """Return the overlaps at alpha = 0 of what a rule follows besides the weights.

    Averages begin as the weights, and velocities at rest.

    Args:
        students, teachers: Overlaps of the weights with each other and with the teachers, with
            the eigenspaces last.
        fields: Names of the fields of the rule's state.
    """
    overlaps = {}
    for name in fields:
        if name.startswith("overlap_"):
            first, second = families_of(name)
            like = teachers if second == "B" else students
            overlaps[name] = np.zeros_like(like) if first == "U" else like
    return overlaps


@dataclass(frozen=True)
class RuleFlow(Flow):
    """The flow of a study's rule from a state.

    What changes in time (schedules, tasks) is made of several pieces.
    """

    rule: StudyRule = _PLAIN
    #: What gives the errors of many states at once; None for one after the other.
    observed: Observed | None = None

    @property
    def layout(self) -> Mapping[str, Any]:
        """Layout of the module's vectors."""
        layout: Mapping[str, Any] = self.kernel.module.LAYOUT
        return layout

    @property
    def learning_rule(self) -> LearningRule:
        """The rule for which the module is derived."""
        return self.rule.rule

    @property
    def fixed_bias(self) -> float:
        """The largest bias, in modulus, of those that are not trained."""
        named = ("teacher_biases",) if self.rule.rule.trained_biases else _BIASES
        largest = [np.max(np.abs(self.rule.parameters.get(name, 0.0))) for name in named]
        return float(max(largest))

    @cached_property
    def parameters(self) -> np.ndarray:
        """The constants of the run, those of the rule behind."""
        return self._extended("parameters", super().parameters, self.rule.parameters)

    @cached_property
    def begin(self) -> np.ndarray:
        """The flat state at alpha = 0, what the rule adds behind."""
        students, teachers = (
            np.moveaxis(each, 0, -1)
            for each in (self.state.student_overlap, self.state.cross_overlap)
        )
        known = {**begun_overlaps(students, teachers, self.layout["state"]), **self.rule.state}
        return self._extended("state", self.state.flat(), known)

    def _extended(
        self, vector: str, plain: np.ndarray, added: Mapping[str, float | np.ndarray]
    ) -> np.ndarray:
        """Return a flat vector of plain descent with the fields of the rule behind."""
        packing = self.packing(vector)
        flat = np.zeros(packing.size)
        flat[: plain.size] = plain
        views = packing.views(flat)
        for name, place in packing.slices.items():
            if place.start >= plain.size:
                views[name][...] = added[name]
        return flat

    def modes(self, begin: np.ndarray, parameters: np.ndarray) -> CoupledModes:
        """Return how a flat state is coupled, of a run with these constants.

        Modules of stated rules name the sums of overlaps that they make, and what keeps weights on
        a sphere sums the rates of the squared lengths.
        """
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

    def errors_at(self, states: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Return the generalisation errors of flat states, shape (P, S)."""
        if self.observed is not None and len(states):
            return self.observed(states, parameters)
        return np.array([self.error_at(row, parameters) for row in states])

    def error_at(self, state: np.ndarray, parameters: np.ndarray) -> float:
        """Return the generalisation error of a flat state."""
        K, M = self.state.K, self.state.M
        Q, R = np.empty((K, K)), np.empty((K, M))
        error = self.kernel.module.flat_observables(state, self.sizes, parameters, Q, R)
        return float(error)

    def further(self, result: FlatResult) -> dict[str, np.ndarray]:
        """Return what the rule adds to the state, at every row; overlaps of velocities as
        covariances.
        """
        fields = self.packing("state").views(result.results)
        further = {"b": fields["b"].copy()} if "b" in fields else {}
        variance = self.state.weight * self.state.eigenvalue
        for field, values in fields.items():
            name, families = order_name(field), families_of(field)
            if families and name not in ("Q", "R"):
                further[name] = values @ (self.state.weight if families[1] == "B" else variance)
        if self.rule.rule.input_noise:
            rows = result.results
            further["noisy_error"] = np.array([self.noisy_error_at(row) for row in rows])
        return further

    @cached_property
    def goal(self) -> Goal:
        """The times and tolerances that are asked for, of which the relative one is no smaller than
        the error of means along a lattice: their kinks in the state would take thousands of steps,
        which follow nothing but the lattice.
        """
        asked: Goal = super().goal
        return asked._replace(relative_tolerance=max(asked.relative_tolerance, self._of_lattice))

    def least_tolerance(self, result: FlatResult | None = None) -> float:
        """Return the smallest tolerance that steps still follow: of a run, or to begin with."""
        return max(super().least_tolerance(result), self._of_lattice)

    @cached_property
    def _of_lattice(self) -> float:
        """The error of means along a lattice, from how far other ones are at the start, and where
        students are as long as teachers; zero where means go along none.
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
        """True if means go along a lattice."""
        module = self.kernel.module
        if not hasattr(module, "FORCE_LATTICE"):
            return False
        from symderiv.lowering.means.force_fields import along_lattice

        noisy = self.study.training.label_noise > 0.0
        return along_lattice(vars(module), self.state.K, self.state.M, noisy)

    def _lattices_apart(self, *drawn: Any) -> float:
        """Return how far other lattices are: of Q, R, T, weights and biases of both networks."""
        forces = self.kernel.function("mean_forces")
        arrays = [np.array(each, dtype=np.float64, order="C") for each in drawn]
        noise = float(self.study.training.label_noise)
        numbers = [noise, *(float(self.rule.parameters[name]) for name in _DRAWN)]
        means = [_means(forces, arrays, numbers, shift) for shift in _SHIFTS]
        return float(np.max(np.abs(np.array(means[1:]) - means[0])))

    def mean_warnings(self, trajectory: Trajectory) -> list[str]:
        """Return a line where means go along a lattice: how far other lattices are from it."""
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
        said = (
            "means over many fields go along a lattice: those of other lattices differ by up to "
            f"{largest:.1e} (the largest found at the start, in the middle and at the end)"
        )
        asked, kept = self.study.time.relative_tolerance, self.goal.relative_tolerance
        if kept > asked:
            said += f"; steps keep {kept:.1e} in place of time.relative_tolerance = {asked:g}"
        return [said]

    def noisy_error_at(self, flat: np.ndarray) -> float:
        """Return the generalisation error of a flat state at inputs as the student sees them."""
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
