"""What a step of a study is, at finite N: the statement of its rule, with its numbers.

The statement is that of one example. What a run adds to it is not said in statements, which are
about the limit of large N: batches are means over examples at one state, momentum is a velocity
that remembers a part of itself. What changes in time (schedules, tasks, root mean squares) are
numbers that come with every example.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from symderiv.dynamics.rules.rule_of import rule_of
from symderiv.dynamics.rules.rule_tasks import Tasks, tasks_of
from symderiv.dynamics.rules.stated_module import OfEigenspaces
from symderiv.dynamics.studies.initial import Initial, LatentVectors, coordinates_of
from symderiv.dynamics.studies.study import Study
from symderiv.expressions import activation
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.learning.rule.stated_rule import RuleNumbers, exact, state_rule
from symderiv.statement.language import Language
from symderiv.statement.stated_problem import Descent
from symderiv.system.step_chain import Pace
from symderiv.system.step_program import StepProgram

__all__ = ["RATES", "StudySteps"]

RATES = ("learning_rate", "second_layer_learning_rate", "bias_learning_rate")
"""Parameters that schedules multiply."""


@dataclass(frozen=True)
class StudySteps:
    """The steps of a study.

    Args:
        study: What is simulated.
        start: Where it starts.
    """

    study: Study
    start: Initial

    @cached_property
    def tasks(self) -> Tasks:
        """What is taught when."""
        return tasks_of(self.study, self.start.state.teacher_weights)

    @property
    def latent(self) -> bool:
        """Whether the teacher sees something else than the inputs."""
        return isinstance(self.start.vectors, LatentVectors)

    @cached_property
    def dimension(self) -> int:
        """N."""
        return int(coordinates_of(self.start.data).sum())

    @cached_property
    def batch(self) -> int:
        """Examples of a step."""
        ratio = self.study.training.batch_ratio
        if ratio is not None:
            return max(1, round(ratio * self.dimension))
        return self.study.training.batch or 1

    @cached_property
    def pace(self) -> Pace:
        """How large steps are."""
        training, N = self.study.training, self.dimension
        # batches that grow with N take steps N times as large, velocities of rate γ/N add up N
        size, noise, memory = 1.0, 1.0, training.momentum
        if training.batch_ratio is not None:
            size, noise = float(N), N**0.5
        if training.momentum_rate is not None:
            size, memory = size / N, 1.0 - training.momentum_rate / N
            noise /= N
        root = N**-0.5
        return Pace(size * root, noise * root, 1 / N, size / N, 1 / N, self.batch, memory)

    @property
    def remembers(self) -> bool:
        """Whether there are velocities."""
        training = self.study.training
        return training.momentum > 0.0 or training.momentum_rate is not None

    @property
    def varies(self) -> bool:
        """Whether the rates change."""
        training = self.study.training
        return training.schedule is not None or training.normalise == "gradient"

    @cached_property
    def stated(self) -> tuple[Language, dict[str, float]]:
        """The statement of one example, and the values of its parameters."""
        study, P, values = self.study, Language(), {}
        training, network, state = study.training, study.network, self.start.state

        def number(name: str, value: float) -> Any:
            values[name] = float(value)
            return P.parameter(name, exact(value))

        def size(name: str, value: float) -> Any:
            return number(name, value) if value else 0

        def numbers(name: str, given: np.ndarray) -> np.ndarray:
            named = [number(f"{name}{n + 1}", each) for n, each in enumerate(given)]
            return np.array(named, dtype=object)

        heads = [number(f"head{h + 1}", 1.0) for h in range(self.tasks.heads)]
        trained, several = network.train_second_layer, len(heads) > 1
        v: Any = None if trained else numbers("v", state.student_weights)
        if trained and several:
            own = [P.scalars(f"v{h + 1}", study.K) for h in range(len(heads))]
            v = sum(head * np.asarray(each) for head, each in zip(heads, own, strict=True))
        eta_b = training.bias_learning_rate
        eta_v, decay_v = study.second_layer_learning_rate, study.second_layer_weight_decay
        state_rule(
            P,
            self._problem,
            RuleNumbers(
                K=study.K,
                M=study.M,
                teacher_weights=numbers("c", state.teacher_weights),
                teacher_biases=_if_any(numbers, "teacher_bias", study.teacher_biases),
                student_weights=v,
                student_biases=None
                if network.train_biases
                else _if_any(numbers, "student_bias", study.student_biases),
                learning_rate=number(RATES[0], training.learning_rate),
                second_layer_learning_rate=number(RATES[1], eta_v),
                bias_learning_rate=number(
                    RATES[2], training.learning_rate if eta_b is None else eta_b
                ),
                weight_decay=size("weight_decay", training.weight_decay),
                second_layer_weight_decay=0
                if several
                else size("second_layer_weight_decay", decay_v),
                label_noise=size("label_noise", training.label_noise),
                label_flip=training.label_flip,
                input_noise=size("input_noise", training.input_noise),
                update_noise=size("update_noise", training.update_noise),
                keep=training.keep,
                sobolev_weight=size("sobolev_weight", training.sobolev_weight),
                consistency_weight=size("consistency_weight", training.consistency_weight),
                averaging_rate=size("averaging_rate", training.averaging_rate or 0.0),
            ),
            OfEigenspaces(),
        )
        if trained and several:
            rate = sp.Symbol(RATES[1], real=True)
            loss = next(each.loss for each in P.statement.lines if isinstance(each, Descent))
            for head, each in zip(heads, own, strict=True):
                P.descend(loss, {each: rate})
                if decay_v:
                    P.update({each: -exact(decay_v) * head * each})
        return P, values

    @property
    def _problem(self) -> LearningProblem:
        study, rule = self.study, rule_of(self.study).rule
        if rule.normalise == "gradient":
            rule = replace(rule, normalise="none")
        g, h = activation(study.student_activation), activation(study.teacher_activation)
        return LearningProblem(g, h, rule)

    @cached_property
    def given(self) -> tuple[sp.Symbol, ...]:
        """The numbers that come with every example, in order."""
        P, _ = self.stated
        named = {str(symbol): symbol for symbol in P.statement.symbols.parameters}
        names = [*(RATES if self.varies else ())]
        if self.study.task:
            names += [f"c{n + 1}" for n in range(self.study.M)]
            names += [f"head{h + 1}" for h in range(self.tasks.heads)]
        found = [named[name] for name in names]
        if self.latent:
            vectors = {each.name: each for each in P.statement.vectors}
            x = P.statement.inputs[0].atoms[0]
            register = P.statement.symbols
            found += [register.product(vectors[f"B{n + 1}"], x) for n in range(self.study.M)]
        return tuple(found)

    @cached_property
    def program(self) -> StepProgram:
        """The compiled step."""
        return StepProgram(self.stated[0].statement, self.given, self.remembers)

    def places(self, family: str) -> list[int]:
        """Return the rows of a family of vectors."""
        return [n for v, n in self.program.vectors.items() if v.family == family]

    def scalar_places(self, name: str) -> list[int]:
        """Return the places of slow scalars under a name."""
        known = self.program.statement.symbols.scalars
        return [n for n, symbol in enumerate(self.program.scalars) if known[symbol] == name]

    @cached_property
    def scalars(self) -> np.ndarray:
        """Where slow scalars start."""
        found = np.zeros(len(self.program.scalars))
        for symbol, name in self.program.statement.symbols.scalars.items():
            place = self.program.scalars.index(symbol)
            unit = self.scalar_places(name).index(place)
            source = self.study.student_biases if name == "b" else self.start.state.student_weights
            found[place] = source[unit]
        return found

    def roots(self, eigenvalue: np.ndarray) -> np.ndarray:
        """Return roots of eigenvalues by input and eigenspace, (0, 0) for ones."""
        if np.all(eigenvalue == 1.0):
            return np.zeros((0, 0))
        found = np.ones((len(self.program.atoms), eigenvalue.size))
        for atom, place in self.program.atoms.items():
            if atom.source == "x":
                found[place] = np.sqrt(eigenvalue)
        return found


def _if_any(numbers: Any, name: str, values: np.ndarray) -> Any:
    """Return biases as parameters, or as zeros where all are."""
    return numbers(name, values) if np.any(values) else np.zeros(len(values))
