"""What a step of a study is, at finite N: the statement of its rule, with its numbers.

The statement is that of one example. What a run adds to it is not said in statements, which are
about the limit of large N: batches are means over examples at one state, momentum is a velocity
that remembers a part of itself. What changes in time (schedules, tasks, root mean squares) are
numbers that come with every example.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
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
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.learning.rule.stated_rule import RuleNumbers, state_rule
from symderiv.statement.language import Language
from symderiv.statement.stated_problem import Descent
from symderiv.system.step_chain import Pace
from symderiv.system.step_program import StepProgram

__all__ = ["RATES", "StudySteps"]

RATES = ("learning_rate", "second_layer_learning_rate", "bias_learning_rate")
"""Parameters that schedules multiply."""


_SIZES = (
    "weight_decay",
    "label_noise",
    "input_noise",
    "update_noise",
    "sobolev_weight",
    "consistency_weight",
    "averaging_rate",
    "second_layer_weight_decay",
)


@dataclass(frozen=True)
class Form:
    """What the program of a step depends on; all other numbers are its parameters.

    Args:
        rule: The learning rule.
        activations: Of students and teachers, as typed.
        units: K, M and the number of heads.
        present: Names of what is not zero.
        trains: Whether output weights and biases are trained.
        label_flip, keep: Probabilities.
        comes: Whether rates vary, there are tasks, the teacher sees something else than the inputs,
            there are velocities.
    """

    rule: LearningRule
    activations: tuple[str, str]
    units: tuple[int, int, int]
    present: frozenset[str]
    trains: tuple[bool, bool]
    label_flip: float
    keep: float
    comes: tuple[bool, bool, bool, bool]


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
    def form(self) -> Form:
        """All that the program of a step depends on."""
        study, training, network = self.study, self.study.training, self.study.network
        rule = rule_of(study).rule
        if rule.normalise == "gradient":
            rule = replace(rule, normalise="none")
        present = {name for name in _SIZES[:-1] if getattr(training, name)}
        if study.second_layer_weight_decay and network.train_second_layer:
            present.add("second_layer_weight_decay")
        if np.any(study.teacher_biases):
            present.add("teacher_bias")
        if np.any(study.student_biases) and not network.train_biases:
            present.add("student_bias")
        return Form(
            rule,
            (study.student_activation, study.teacher_activation),
            (study.K, study.M, self.tasks.heads),
            frozenset(present),
            (network.train_second_layer, network.train_biases),
            training.label_flip,
            training.keep,
            (self.varies, bool(study.task), self.latent, self.remembers),
        )

    @property
    def program(self) -> StepProgram:
        """The compiled step, one for all numbers."""
        return _program(self.form)

    @cached_property
    def values(self) -> dict[str, float]:
        """The values of its parameters."""
        study, training, state = self.study, self.study.training, self.start.state
        eta_b = training.bias_learning_rate
        found = {name: float(getattr(training, name) or 0.0) for name in _SIZES[:-1]}
        found |= {
            _SIZES[-1]: study.second_layer_weight_decay,
            RATES[0]: training.learning_rate,
            RATES[1]: study.second_layer_learning_rate,
            RATES[2]: training.learning_rate if eta_b is None else eta_b,
        }
        for name, numbers in (
            ("c", state.teacher_weights),
            ("v", state.student_weights),
            ("teacher_bias", study.teacher_biases),
            ("student_bias", study.student_biases),
            ("head", np.ones(self.tasks.heads)),
        ):
            found |= {f"{name}{n + 1}": float(each) for n, each in enumerate(numbers)}
        return found

    def places(self, family: str) -> list[int]:
        """Return the rows of a family of vectors."""
        own = self.program.statement.families.get(family, ())
        return [self.program.vectors[vector] for vector in own]

    def scalar_places(self, name: str) -> list[int]:
        """Return the places of slow scalars under a name."""
        own = self.program.statement.scalars.get(name, ())
        return [self.program.scalars.index(symbol) for symbol in own]

    @cached_property
    def scalars(self) -> np.ndarray:
        """Where slow scalars start."""
        found = np.zeros(len(self.program.scalars))
        for name in self.program.statement.scalars:
            source = self.study.student_biases if name == "b" else self.start.state.student_weights
            places = self.scalar_places(name)
            found[places] = source[: len(places)]
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


@lru_cache(maxsize=32)
def _program(form: Form) -> StepProgram:
    """The step of a form: the statement of one example, compiled when it is first run."""
    P, trained = Language(most=1000), form.trains[0]
    K, M, count = form.units
    heads, several = _named(P, "head", count), count > 1
    v: Any = None if trained else _named(P, "v", K)
    own: list[Any] = []
    if trained and several:
        own = [P.scalars(f"head_weights{h + 1}_", K) for h in range(count)]
        v = sum(head * np.asarray(each) for head, each in zip(heads, own, strict=True))
    sizes = {name: P.parameter(name, 1) for name in _SIZES if name in form.present}
    decay_v = sizes.get(_SIZES[-1], 0)
    if several:
        sizes.pop(_SIZES[-1], None)
    rates = {name: P.parameter(name, 1) for name in RATES}
    biases: dict[str, Any] = {
        f"{who}_biases": _named(P, f"{who}_bias", n)
        if f"{who}_bias" in form.present
        else np.zeros(n)
        for who, n in (("student", K), ("teacher", M))
    }
    if form.trains[1]:
        biases["student_biases"] = None
    g, h = (activation(each) for each in form.activations)
    numbers = RuleNumbers(
        K=K,
        M=M,
        teacher_weights=_named(P, "c", M),
        student_weights=v,
        label_flip=form.label_flip,
        keep=form.keep,
        **rates,
        **sizes,
        **biases,
    )
    state_rule(P, LearningProblem(g, h, form.rule), numbers, OfEigenspaces())
    if own:
        loss = next(each.loss for each in P.statement.lines if isinstance(each, Descent))
        for head, each in zip(heads, own, strict=True):
            P.descend(loss, {each: rates[RATES[1]]})
            if decay_v != 0:
                P.update({each: -decay_v * head * each})
    return StepProgram(P.statement, _given(P, form), form.comes[-1])


def _named(P: Language, name: str, count: int) -> np.ndarray:
    """Declare parameters of a name, numbered."""
    return np.array([P.parameter(f"{name}{n + 1}", 1) for n in range(count)], dtype=object)


def _given(P: Language, form: Form) -> tuple[sp.Symbol, ...]:
    """The numbers that come with every example, in order."""
    (_, M, heads), (varies, tasks, latent, _) = form.units, form.comes
    named = {str(symbol): symbol for symbol in P.statement.symbols.parameters}
    names = [*(RATES if varies else ())]
    if tasks:
        names += [f"c{n + 1}" for n in range(M)] + [f"head{h + 1}" for h in range(heads)]
    found = [named[name] for name in names]
    if latent:
        vectors = {each.name: each for each in P.statement.vectors}
        x = P.statement.inputs[0].atoms[0]
        found += [P.statement.symbols.product(vectors[f"B{n + 1}"], x) for n in range(M)]
    return tuple(found)
