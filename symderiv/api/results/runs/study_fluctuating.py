"""The flow of a study with the noise of its steps, in the coordinates that fluctuate."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from symderiv.api.results.rate_function import flow_at
from symderiv.api.results.runs.fluctuating import (
    Fluctuating,
    check_size,
)
from symderiv.foundation.errors import NotYetError
from symderiv.foundation.packing import Packing, families_of
from symderiv.integrate.flows.equivalent_numbers import equivalent_factors
from symderiv.integrate.flows.sensitivities import VariedFlow
from symderiv.integrate.flows.study_flow import Flow
from symderiv.problem.flat_layout import fields_of
from symderiv.problem.initial import Initial, require_linear_teacher
from symderiv.problem.study import Study
from symderiv.statement.averaged_step import Reading, SlowState
from symderiv.statement.step_covariance import StepVariation, check_varies

_FAMILIES = {"J", "B", "U", "A"}
_SINGLE = {"v", "b", "v_velocity", "b_velocity"}


@dataclass(frozen=True)
class StudyFluctuations(Fluctuating):
    """The fluctuations of a study: its flow, and its statement for the noise of steps.

    Args:
        study: The study whose steps fluctuate.
        start: The initial state of its flow.

    Raises:
        NotYetError: Fluctuations of such a study are not known yet.
    """

    study: Study
    start: Initial
    flow: Flow = field(init=False)
    averages: tuple[str, ...] = ("generalization_error",)

    def __post_init__(self) -> None:
        training = self.study.training
        if training.momentum:
            raise NotYetError(
                f"is {training.momentum!r}: fluctuations are not known yet with momentum that does "
                "not depend on N; use momentum = 0.0",
                argument="momentum",
            )
        for name in ("normalise", "momentum_rate"):
            if self.examples > 1 and not training.at_default(name):
                raise NotYetError(
                    f"fluctuations of batches are not known yet with training.{name}; leave one "
                    "of the two out",
                    argument=name,
                )
        state = self.start.state
        require_linear_teacher(state)
        if np.any(state.eigenvalue <= 0.0):
            raise NotYetError(
                "have an eigenvalue of 0, along which fluctuations are not known yet; leave it out",
                argument="inputs",
            )
        object.__setattr__(self, "flow", flow_at(self.study, self.start))

    @property
    def examples(self) -> int:
        return self.study.training.batch or 1

    @cached_property
    def _alone(self) -> Study:
        """The study with single examples in place of batches; its numbers are smaller."""
        study = self.study
        factors = equivalent_factors(study, self.flow.in_updates)
        training = study.training
        # rates that are left out follow the learning rate
        given = [n for n in factors if n == "learning_rate" or not training.at_default(n)]
        changed = {f"training.{name}": training.size(name) * factors[name] for name in given}
        return study.changed({**changed, "training.batch": None})

    @cached_property
    def reading(self) -> Reading:
        from symderiv.system.stated_system import StatedSystem
        from symderiv.system.study_system import stated_in

        statement = stated_in(StatedSystem(self.study.training.order), self._alone).statement
        check_varies(statement)
        if not set(statement.families) <= _FAMILIES:
            raise NotYetError(
                "have a teacher that acts on latent vectors, for which fluctuations are not known "
                "yet; use inputs that the teacher sees itself",
                argument="inputs",
            )
        return Reading(statement)

    @property
    def _packing(self) -> Packing:
        state = self.flow.state
        return Packing.of(self.flow.layout, "state", K=state.K, M=state.M, L=state.L)

    @property
    def places(self) -> list[int]:
        return [place for place, _, _ in self._coordinates]

    @property
    def spread(self) -> np.ndarray:
        return np.array([row for _, row, _ in self._coordinates]).T

    @cached_property
    def _coordinates(self) -> list[tuple[int, np.ndarray, tuple[str, tuple[int, ...]]]]:
        """Places, flat directions, and array names with indices of the fluctuating coordinates."""
        moving = {str(each) for each in self.reading.statement.step().scalars}
        coordinates = []
        packing = self._packing
        for place, direction in packing.coordinates():
            name = next(n for n, part in packing.slices.items() if part.start <= place < part.stop)
            index = np.unravel_index(place - packing.slices[name].start, packing.shapes[name])
            entry = name, tuple(int(n) for n in index)
            if name not in _SINGLE or f"{name}{entry[1][0] + 1}" in moving:
                coordinates.append((place, direction, entry))
        check_size(len(coordinates))
        return coordinates

    @property
    def coordinates(self) -> tuple[str, ...]:
        places = (entry for _, _, entry in self._coordinates)
        return tuple(f"{name}[{','.join(str(n + 1) for n in place)}]" for name, place in places)

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """Names of the shown order parameters: Q, R and v if it is trained."""
        K, M = self.flow.state.K, self.flow.state.M
        pairs = [(i, j) for i in range(K) for j in range(i, K)]
        names = [f"Q[{i + 1},{j + 1}]" for i, j in pairs]
        names += [f"R[{i + 1},{n + 1}]" for i in range(K) for n in range(M)]
        if self.study.network.train_second_layer:
            names += [f"v[{i + 1}]" for i in range(K)]
        return tuple(names)

    @cached_property
    def varied(self) -> VariedFlow:
        return VariedFlow(self.flow, {})

    def order_parameters(self, states: np.ndarray) -> np.ndarray:
        state = self.flow.state
        *_, v, Q, R = fields_of(states, state.weight, state.eigenvalue, state.K, state.M)
        rows, columns = np.triu_indices(state.K)
        trained = v if self.study.network.train_second_layer else v[:, :0]
        return np.concatenate([Q[:, rows, columns], R.reshape(len(R), -1), trained], axis=1)

    def drawn(self) -> np.ndarray:
        """Return the covariance of √N times overlaps if students are drawn for every run.

        Coordinates of students are independent normal numbers with standard deviation σ, and all
        runs have the same teachers: Q^k_ij has the variance σ⁴ (1 + δ_ij)/w_k, and r^k_in has the
        covariances σ² t^k_nm/w_k.
        """
        state, n = self.flow.state, len(self._coordinates)
        square = self.study.initial.student_std**2
        covariance = np.zeros((n, n))
        entries = [entry for *_, entry in self._coordinates]
        for a, (name, index) in enumerate(entries):
            for b, (other, place) in enumerate(entries):
                if name != other or name in _SINGLE or index[2:] != place[2:]:
                    continue
                k = index[2]
                if name == "student_overlap" and index == place:
                    covariance[a, b] = square**2 * (1 + (index[0] == index[1])) / state.weight[k]
                if name == "cross_overlap" and index[0] == place[0]:
                    taught = state.teacher_overlap[k, index[1], place[1]]
                    covariance[a, b] = square * taught / state.weight[k]
        return covariance

    def cases(self, flat: np.ndarray) -> list[tuple[float, SlowState]]:
        state, views = self.flow.state, self._packing.views(flat)
        rho = state.eigenvalue
        counts = dict.fromkeys(self.reading.statement.families, state.K) | {"B": state.M}
        names = [f"{f}{n + 1}" for f, count in counts.items() for n in range(count)]
        first = dict(zip(counts, np.cumsum([0, *counts.values()]), strict=False))
        gram = np.zeros((len(names), len(names), state.L))
        held = {name: each for name, each in views.items() if name not in _SINGLE}
        held["teacher_overlap"] = np.moveaxis(state.teacher_overlap, 0, -1)
        for name, values in held.items():
            one, other = families_of(name)
            part = values / rho ** (one, other).count("B")
            rows = slice(first[one], first[one] + counts[one])
            columns = slice(first[other], first[other] + counts[other])
            gram[rows, columns] = part
            gram[columns, rows] = np.swapaxes(part, 0, 1)
        vectors = np.zeros((len(names), state.L, len(names)))
        for k in range(state.L):
            values, turn = np.linalg.eigh(gram[:, :, k])
            vectors[:, k] = turn * np.sqrt(np.maximum(values, 0.0))
        numbers = {
            f"{name}{n + 1}": float(each)
            for name in _SINGLE & set(views)
            for n, each in enumerate(views[name])
        }
        numbers |= {f"c{n + 1}": float(each) for n, each in enumerate(state.teacher_weights)}
        vectors_by_name = dict(zip(names, vectors, strict=True))
        return [(1.0, SlowState(vectors_by_name, state.weight, {"x": rho}, numbers))]

    def held(self, step: StepVariation) -> tuple[list[int], np.ndarray]:
        # overlaps with teachers contain the eigenvalue ρ
        rows, scale = [], []
        first = len(step.pairs) * step.classes
        for _, _, (name, index) in self._coordinates:
            if name in _SINGLE:
                rows.append(first + step.scalars.index(f"{name}{index[0] + 1}"))
                scale.append(1.0)
                continue
            one, other = families_of(name)
            pair = f"{one}{index[0] + 1}", f"{other}{index[1] + 1}"
            place = step.pairs.index(pair if pair in step.pairs else pair[::-1])
            rows.append(place * step.classes + index[2])
            scale.append(self.flow.state.eigenvalue[index[2]] ** (one, other).count("B"))
        return rows, np.array(scale)
