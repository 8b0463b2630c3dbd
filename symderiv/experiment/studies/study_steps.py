"""One step of a study at finite N: the statement of its rule, with its numbers.

The statement describes the step on one example. A run adds what statements, which are about the
limit of large N, do not contain: batches are means over examples at one state, momentum is a
velocity that decays. Numbers that change in time (schedules, tasks, root mean squares) are given
with every example.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from symderiv.experiment.steps.step_chain import Pace
from symderiv.experiment.steps.step_program import StepForm, StepProgram
from symderiv.experiment.studies.rule_tasks import Tasks, tasks_of
from symderiv.experiment.studies.study_form import CHANCES, SECOND_LAYER_DECAY, SIZES, StudyForm
from symderiv.foundation.derivation_cache import derived_once, package_folders
from symderiv.keys.study_tables import LEARNING_RATES
from symderiv.problem.initial import Initial, LatentVectors, coordinates_of
from symderiv.problem.study import Study

# Rooms on whose sources the text of a step depends.
_ROOMS = ("formula", "numerics", "learning", "statement", "keys", "problem", "experiment")
_CODEGEN = package_folders("symderiv_codegen")


@dataclass(frozen=True)
class StudySteps:
    """The steps of a study.

    Args:
        study: The study that is simulated.
        start: Its start.
    """

    study: Study
    start: Initial

    @cached_property
    def tasks(self) -> Tasks:
        """The tasks, in the order in which they are taught."""
        return tasks_of(self.study, self.start.state.teacher_weights)

    @property
    def latent(self) -> bool:
        """True if the teacher does not see the inputs themselves."""
        return isinstance(self.start.vectors, LatentVectors)

    @cached_property
    def dimension(self) -> int:
        """The input dimension N."""
        return int(coordinates_of(self.start.data).sum())

    @cached_property
    def batch(self) -> int:
        """The number of examples in a step."""
        ratio = self.study.training.batch_ratio
        if ratio is not None:
            return max(1, round(ratio * self.dimension))
        return self.study.training.batch or 1

    @cached_property
    def pace(self) -> Pace:
        """The units of the terms of a step."""
        training, N = self.study.training, self.dimension
        # batches that grow with N take steps N times as large; velocities with rate γ/N add up N
        # steps
        size, noise, drift, memory = 1.0, 1.0, 1 / N, training.momentum
        if training.batch_ratio is not None:
            size, noise, drift = float(N), N**0.5, 1.0
        if training.momentum_rate is not None:
            size, memory = size / N, 1.0 - training.momentum_rate / N
            noise /= N
        root = N**-0.5
        return Pace(size * root, noise * root, drift, size / N, 1 / N, self.batch, memory)

    @property
    def remembers(self) -> bool:
        """True if steps go through velocities."""
        training = self.study.training
        return training.momentum > 0.0 or training.momentum_rate is not None

    @property
    def varies(self) -> bool:
        """True if the learning rates change in time."""
        training = self.study.training
        return training.schedule is not None or training.normalise == "gradient"

    @cached_property
    def form(self) -> StudyForm:
        """All properties that determine the program of a step."""
        study, training, network = self.study, self.study.training, self.study.network
        present = [name for name in SIZES[:-1] if getattr(training, name)]
        if study.second_layer_weight_decay and network.train_second_layer:
            present.append(SECOND_LAYER_DECAY)
        if np.any(study.teacher_biases):
            present.append("teacher_bias")
        if np.any(study.student_biases) and not network.train_biases:
            present.append("student_bias")
        present += [name for name, off in CHANCES.items() if getattr(training, name) != off]
        return StudyForm(
            (study.student_activation, study.teacher_activation),
            training.loss,
            training.target,
            self.tasks.heads,
            tuple(present),
            (network.train_second_layer, network.train_biases),
            (self.varies, bool(study.task), self.latent, self.remembers),
            training.normalise == "sphere",
        )

    @property
    def chances(self) -> dict[str, Fraction]:
        """The probabilities in the laws of latents, by name."""
        return {name: Fraction(str(getattr(self.study.training, name))) for name in CHANCES}

    @cached_property
    def program(self) -> StepProgram:
        """The compiled step, which serves all values of its parameters."""
        study, few = self.study, _few(self.form.heads)
        form, letters = step_of(self.form, few), [f"U{count}" for count in few]
        sizes = dict(zip(letters, (study.K, study.M), strict=True))
        if not set(letters) <= set(form.counts):
            # units that are not exchangeable are written out one by one
            form, sizes = step_of(self.form, (study.K, study.M)), {}
        keep, flip = (self.chances[name] for name in CHANCES)
        laws = {
            "kept#": ((0.0, float(1 - keep)), (1.0, float(keep))),
            "flip": ((-1.0, float(flip)), (1.0, float(1 - flip))),
        }
        own = {block: laws.get(block.parts[0], law) for block, law in form.laws.items()}
        return StepProgram(replace(form, laws=own), {**form.counts, **sizes})

    @cached_property
    def values(self) -> dict[str, float]:
        """The values of the step's parameters."""
        study, state = self.study, self.start.state
        values = {name: study.size(name) for name in (*SIZES, *LEARNING_RATES)}
        for name, numbers in (
            ("c", state.teacher_weights),
            ("v", state.student_weights),
            ("teacher_bias", study.teacher_biases),
            ("student_bias", study.student_biases),
            ("head", np.ones(self.tasks.heads)),
        ):
            values |= {f"{name}{n + 1}": float(each) for n, each in enumerate(numbers)}
        return values

    def places(self, family: str) -> list[int]:
        """Return the indices of a family of vectors."""
        members = self.program.members.values()
        return [n for n, each in enumerate(members) if each.family == family]

    def scalar_places(self, name: str) -> list[int]:
        """Return the indices of the slow scalars under a name."""
        units = {f"{name}{unit + 1}" for unit in range(self.study.K)}
        return [n for n, each in enumerate(self.program.scalars) if each in units]

    @property
    def head_names(self) -> list[str]:
        """The names of trained output weights in the rule's statement, head by head."""
        return ["v", *(f"head{n}_" for n in range(2, self.tasks.heads + 1))]

    @cached_property
    def scalars(self) -> np.ndarray:
        """Initial values of the slow scalars."""
        scalars = np.zeros(len(self.program.scalars))
        starts = dict.fromkeys(self.head_names, self.start.state.student_weights)
        for name, weights in {**starts, "b": self.study.student_biases}.items():
            if places := self.scalar_places(name):
                scalars[places] = weights
        return scalars

    def roots(self, eigenvalue: np.ndarray) -> np.ndarray:
        """Return roots of eigenvalues by input and eigenspace, or shape (0, 0) if all are 1."""
        if np.all(eigenvalue == 1.0):
            return np.zeros((0, 0))
        roots = np.ones((len(self.program.atoms), eigenvalue.size))
        roots[self.program.atoms["x"]] = np.sqrt(eigenvalue)
        return roots


def _few(heads: int) -> tuple[int, int]:
    """Return numbers of students and teachers that represent any numbers, and differ from that of
    heads.
    """
    K, M = [count for count in (4, 3, 5) if count != heads][:2]
    return K, M


@derived_once(*_ROOMS, also=_CODEGEN)
def step_of(form: StudyForm, units: tuple[int, int]) -> StepForm:
    """Return the compiled step of a form, stated for these numbers of students and teachers."""
    from symderiv.experiment.steps.step_form import form_of
    from symderiv.experiment.studies.study_statement import stated_step

    return form_of(*stated_step(form, units), form.comes[-1])
