"""Flows of learning rules, with a rule's module, state and constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any, Self

import numpy as np

from symderiv.foundation.packing import Packing, families_of, order_name
from symderiv.integrate.flows.courses import Goal
from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.integrate.flows.study_flow import FIELDS, ErrorsOf, Flow, modes_of_layout, sums_of
from symderiv.integrate.flows.trajectory import Trajectory
from symderiv.integrate.steppers.coupled_modes import CoupledModes
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.problem.rule_of import StudyRule

_BIASES = "teacher_biases", "student_biases"

_PLAIN = StudyRule(LearningRule())
_DRAWN = ("label_flip", "keep", "evaluation_scale")
_SHIFTS = (0.0, 0.3183, 0.5772, 0.8713)
"""Shifts of the lattice of quadrature points; runs use the first."""
_SAFETY = 3.0
"""The factor between the error of the lattice at the start and the smallest tolerance of steps. The
error grows along the run, and the steps of such a tolerance added up to a tenth of it."""


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


@dataclass(frozen=True)
class RuleFlow(Flow):
    """The flow of a study's learning rule from an initial state.

    Schedules and tasks, which change in time, are in
    :class:`symderiv.integrate.rules.phases.PhasedFlow`.
    """

    rule: StudyRule = _PLAIN

    @property
    def layout(self) -> Mapping[str, Any]:
        """The layout of the module's flat vectors."""
        layout: Mapping[str, Any] = self.kernel.module.LAYOUT
        return layout

    @property
    def learning_rule(self) -> LearningRule:
        """The learning rule for which the module is derived."""
        return self.rule.rule

    @property
    def fixed_bias(self) -> float:
        """The largest modulus of the biases that are not trained."""
        named = ("teacher_biases",) if self.rule.rule.trained_biases else _BIASES
        largest = [np.max(np.abs(self.rule.parameters.get(name, 0.0))) for name in named]
        return float(max(largest))

    @classmethod
    def constants_of(cls, flows: Sequence[Self]) -> np.ndarray:
        """Return the constants of plain descent, followed by those of the rule."""
        flat, _, added = _extended(flows[0].packing("parameters"), super().constants_of(flows))
        for name, field in added.items():
            _fill(field, [flow.rule.parameters[name] for flow in flows])
        return flat

    @classmethod
    def begun(cls, flows: Sequence[Self]) -> np.ndarray:
        """Return the flat states at alpha = 0, followed by what the rule adds to them."""
        flat, plain, added = _extended(flows[0].packing("state"), super().begun(flows))
        overlaps = begun_overlaps(plain["student_overlap"], plain["cross_overlap"], added)
        for name, field in added.items():
            if name in overlaps and name not in flows[0].rule.state:
                field[...] = overlaps[name]
            else:
                _fill(field, [flow.rule.state[name] for flow in flows])
        return flat

    def modes(self, begin: np.ndarray, parameters: np.ndarray) -> CoupledModes:
        """Return how the entries of a flat state are coupled, for given constants.

        The names in modules of stated rules tell which sums of overlaps they compute. Rules that
        keep weights on a sphere also sum the rates of squared lengths.
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
        return np.array([self.error_at(row, parameters) for row in states])

    def error_at(self, state: np.ndarray, parameters: np.ndarray) -> float:
        """Return the generalisation error of a flat state."""
        K, M = self.state.K, self.state.M
        Q, R = np.empty((K, K)), np.empty((K, M))
        error = self.kernel.module.flat_observables(state, self.sizes, parameters, Q, R)
        return float(error)

    @classmethod
    def further_of(
        cls, flows: Sequence[Self], states: np.ndarray, errors: ErrorsOf
    ) -> dict[str, np.ndarray]:
        """Return the rule's own arrays along runs; overlaps of velocities as covariances."""
        fields = flows[0].packing("state").views(states)
        further = {"b": fields["b"].copy()} if "b" in fields else {}
        weight = np.array([flow.state.weight for flow in flows])
        variance = weight * np.array([flow.state.eigenvalue for flow in flows])
        for field, values in fields.items():
            name, families = order_name(field), families_of(field)
            if families and name not in ("Q", "R"):
                factors = weight if families[1] == "B" else variance
                further[name] = np.einsum("na...l,nl->na...", values, factors)
        if flows[0].rule.rule.input_noise:
            noisy = [
                [math.nan if np.isnan(row[0]) else flow.noisy_error_at(row) for row in rows]
                for flow, rows in zip(flows, states, strict=True)
            ]
            further["noisy_error"] = np.array(noisy)
        return further

    @cached_property
    def goal(self) -> Goal:
        """The times and tolerances that are asked for.

        The relative tolerance is no smaller than the error of means on a lattice: these have kinks
        in the state, which would take thousands of steps that follow nothing but the lattice.
        """
        asked: Goal = super().goal
        return asked._replace(relative_tolerance=max(asked.relative_tolerance, self._of_lattice))

    def least_tolerance(self, result: FlatResult | None = None) -> float:
        """Return the smallest tolerance that makes sense, for a run or before the first one."""
        return max(super().least_tolerance(result), self._of_lattice)

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
