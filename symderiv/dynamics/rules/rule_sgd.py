"""Simulation of a study with a learning rule: on vectors, from the definition of the rule.

Runs are made in groups that share NumPy's calls; a run's numbers depend on the seed and its index
alone. Nothing of what is derived for a rule is used.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from symderiv.data.blas_threads import one_blas_thread
from symderiv.dynamics.rules.plain_errors import PlainErrors
from symderiv.dynamics.rules.rule_descent import Descent, Updates
from symderiv.dynamics.rules.rule_examples import Source, Teaching
from symderiv.dynamics.rules.rule_functions import (
    activation_functions,
    loss_functions,
    schedule_of,
)
from symderiv.dynamics.rules.rule_gram import GramDescent, GramSource, Span, span_of, vectors_in
from symderiv.dynamics.rules.rule_means import Means, Student
from symderiv.dynamics.rules.rule_tasks import tasks_of
from symderiv.dynamics.rules.task_inputs import inputs_of_tasks
from symderiv.dynamics.sgd.simulate_study import checked_runs
from symderiv.dynamics.sgd.simulated_runs import SimulationProgress
from symderiv.dynamics.sgd.simulation import Simulation
from symderiv.dynamics.storage.checkpoint import Checkpoint, identity
from symderiv.dynamics.studies.initial import (
    Initial,
    Vectors,
    coordinates_of,
    initial,
    vectors_with_overlaps,
)
from symderiv.dynamics.studies.state import State
from symderiv.dynamics.studies.study import Study
from symderiv.errors import InputError, NotYetError
from symderiv.expressions import activation

# Runs of a group, and the examples between two looks at signals and checkpoints.
_GROUP, _PIECE = 32, 256


def simulate_rule(
    study: Study,
    *,
    runs: int | None = None,
    start: Initial | None = None,
    progress: SimulationProgress | None = None,
    checkpoint: Checkpoint | None = None,
    **unused: Any,
) -> Simulation:
    """Simulate a study with a learning rule; see "Keys of learning rules" in the manual.

    Args:
        study: with keys of a rule.
        runs, start, progress, checkpoint: see
            :func:`~symderiv.dynamics.sgd.simulate_study.simulate`.
        unused: its other options; there is no solver module, and one thread.

    Raises:
        InputError: the keys are not simulated together; named by one of them.
    """
    count = checked_runs(study, runs)
    start = start or initial(study)
    _check(study, start)
    vectors, span = start.vectors, None
    if study.simulation.method == "gram":
        span = span_of(study, start.state, start.data)
        vectors = vectors_in(span, start.state, start.data)
    elif not isinstance(vectors, Vectors):
        vectors = vectors_with_overlaps(start.state, start.data, study.initial.seed)
    if checkpoint is not None:
        checkpoint.open(identity(study, "none", command="simulate", runs=count))
    started = time.perf_counter()
    work = _Work(study, start, vectors, count, span)
    interrupted = work.go(progress, checkpoint)
    reached, N = work.recorded, work.N
    cause, message = work.ending(interrupted)
    results = {name: values[:, :reached] for name, values in work.results.items()}
    return Simulation(
        alpha=study.simulation_alpha[:reached].copy(),
        examples=work.steps[:reached] * work.batch,
        Q=results.pop("Q"),
        R=results.pop("R"),
        v=results.pop("v"),
        generalization_error=results.pop("generalization_error"),
        further=results,
        T=start.state.T,
        teacher_weights=start.state.teacher_weights,
        initial=start.state,
        dimension=N,
        runs=count,
        method="vectors" if span is None else "gram",
        alpha_end=work.made / N,
        cause=cause,
        message=message,
        wall_seconds=checkpoint.seconds if checkpoint else time.perf_counter() - started,
        warnings=start.warnings,
        study_text=study.text,
        student_activation=activation(study.student_activation).text,
        teacher_activation=activation(study.teacher_activation).text,
        kernel_sha256="none",
        kernel_name="none",
    )


def _check(study: Study, start: Initial) -> None:
    """Refuse what is not simulated together, by name."""
    training, data = study.training, start.data
    if data is not None and (data.latent is not None or len(data.components) > 1):
        raise NotYetError(
            f"inputs of this model are not simulated together with {study.rule_keys[0]}; "
            "Gaussian inputs that the teacher sees itself are",
            argument="data.model",
        )
    if training.normalise == "sphere" and np.min(np.diag(start.state.Q)) <= 0.0:
        raise InputError("a student of length 0 has no sphere", argument="training.normalise")


class _Work:
    """All runs of a study, in groups that go forward together.

    Args:
        study, start, runs: what is simulated.
        vectors: where it starts, of N coordinates or those of a span.
        span: for runs without vectors of N coordinates.
    """

    def __init__(
        self, study: Study, start: Initial, vectors: Vectors, runs: int, span: Span | None = None
    ) -> None:
        training, state = study.training, start.state
        self.study, self.state, self.vectors, self.runs = study, state, vectors, runs
        self.N, K = int(coordinates_of(start.data).sum()), state.K
        self.tasks = tasks_of(study, state.teacher_weights)
        self.batch = training.batch or 1
        if training.batch_ratio is not None:
            self.batch = max(1, round(training.batch_ratio * self.N))
        asked = study.simulation_alpha * (self.N / self.batch)
        self.steps = np.rint(asked).astype(np.int64)
        g, derivative = activation_functions(study.student_activation)
        loss, slope = loss_functions(training.loss)
        teaching = Teaching(
            vectors,
            self.N,
            activation_functions(study.teacher_activation)[0],
            study.teacher_biases,
            self.tasks,
            training.target == "sign",
            training.label_flip,
            training.label_noise,
            training.input_noise,
            training.keep,
            training.update_noise > 0.0,
            np.sqrt(_variances(study, state, vectors)),
        )
        scale = training.keep if training.evaluation_scale is None else training.evaluation_scale
        reported = None if training.loss == "squared" else loss

        def means(T: np.ndarray) -> Means:
            plain = PlainErrors(study, T) if PlainErrors.know(study) else None
            return Means(teaching, K, T, g, derivative, reported, slope, scale, plain)

        self.means = means(state.T)
        # of tasks with inputs of their own, by their places: means, variances of the coordinates
        self.own_inputs = {
            place: (means((B * variance) @ B.T / self.N), variance)
            for B in (vectors.teacher,)
            for place, variance in _own_variances(study, teaching.scale**2)
        }
        updates = _updates(study, self.batch, self.N)
        heads = np.repeat(state.student_weights[None], self.tasks.heads, axis=0)
        most = int(self.steps[-1]) * self.batch
        seed, rms = study.initial.seed, training.normalise == "gradient"

        def source(runs: range) -> Source:
            if span is not None:
                return GramSource(span, teaching, K, seed, runs, most)
            return Source(teaching, K, seed, runs, most)

        self.groups = [
            (Descent if span is None else GramDescent)(
                updates,
                source(range(first, last)),
                vectors.student,
                heads,
                study.student_biases,
                last - first,
                self._root_mean_square if rms else None,
            )
            for first, last in _pieces(runs)
        ]
        self.results: dict[str, np.ndarray] = {}
        self.recorded, self.diverged = 0, False

    @property
    def made(self) -> int:
        """Examples learnt by all runs."""
        return min(group.made for group in self.groups)

    def go(self, progress: SimulationProgress | None, checkpoint: Checkpoint | None) -> bool:
        """Make all runs; return whether they were interrupted."""
        if checkpoint is not None:
            self._restore(checkpoint)
        interrupted = False
        listening = nullcontext() if checkpoint is None else checkpoint.listening()
        with listening, one_blas_thread(), np.errstate(all="ignore"):
            try:
                while self.recorded < self.steps.size and not self.diverged and not interrupted:
                    interrupted = self._advance(progress, checkpoint)
            except KeyboardInterrupt:
                interrupted = True
        if checkpoint is not None:
            self._keep(checkpoint)
            if interrupted:
                checkpoint.stop()
        return interrupted

    def _advance(self, progress: SimulationProgress | None, checkpoint: Checkpoint | None) -> bool:
        """Go on to the next time of results, or until asked to stop."""
        goal = int(self.steps[self.recorded]) * self.batch
        while self.made < goal:
            upto = min(goal, self.made + max(_PIECE, self.batch))
            for group in self.groups:
                while group.made < upto:
                    if not group.step():
                        self.diverged = True
                        return False
            if progress is not None:
                progress(self.made * self.runs, int(self.steps[-1]) * self.batch * self.runs)
            if checkpoint is not None:
                if checkpoint.stop_asked:
                    return True
                if checkpoint.due:
                    self._keep(checkpoint)
                    checkpoint.write()
        self._record()
        return False

    def _record(self) -> None:
        """Everything that is reported, of all runs."""
        found = [self._of(group, run) for group in self.groups for run in range(len(group.J))]
        if not self.results:
            self.results = {
                name: np.zeros((self.runs, self.steps.size, *np.shape(value)))
                for name, value in found[0].items()
            }
        for run, values in enumerate(found):
            for name, value in values.items():
                self.results[name][run, self.recorded] = value
        self.recorded += 1

    def _of(self, group: Descent, run: int) -> dict[str, np.ndarray | float]:
        student = self._student(group, run)
        phase = int(self.tasks.phase_of(np.array(max(group.made - 1, 0)), self.N))
        values = {"Q": student.Q, "R": student.R, "v": student.v[0]}
        errors = self.means.of_tasks(student)
        for place, (means, variance) in self.own_inputs.items():
            for name, other in means.of_tasks(self._student(group, run, variance)).items():
                errors[name][place] = other[place]
        share = self.tasks.shares[phase]
        values |= {name: float(share @ each) for name, each in errors.items()}
        network, training = self.study.network, self.study.training
        if self.study.task:
            values["task_error"] = errors["generalization_error"]
        if self.tasks.heads > 1:
            values["heads"] = student.v
        if network.train_biases:
            values["b"] = student.b
        if training.momentum_rate is not None:
            J, U = group.J[run : run + 1], self.N * group.velocity[0][run : run + 1]
            B = self.vectors.teacher
            for name, other in (("P", J), ("W", U), ("C", B)):
                values[name] = group.overlaps(U, other)[0]
        return values

    def _student(self, group: Descent, run: int, variance: np.ndarray | None = None) -> Student:
        """At the study's inputs, or where coordinates have other variances."""
        J = group.J[run : run + 1]
        Q = group.overlaps(J, J, variance)[0]
        Q = 0.5 * (Q + Q.T)
        seen = Q
        if self.study.training.input_noise > 0.0:
            seen = Q + self.study.training.input_noise**2 * (J[0] @ J[0].T) / self.N
        R = group.overlaps(J, self.vectors.teacher, variance)[0]
        return Student(Q, R, seen, group.v[run], group.b[run])

    def _root_mean_square(self, group: Descent) -> np.ndarray:
        """Of the length of a step over √N, each run's: sqrt(E Σ_i F_i² |ξ|²/N)."""
        phase = int(self.tasks.phase_of(np.array(group.made), self.N))
        forces = np.array(
            [
                self.means.root_mean_square(self._student(group, run), phase)
                for run in range(len(group.J))
            ]
        )
        power = self.state.weight @ self.state.eigenvalue
        length = power + self.study.training.input_noise**2
        found: np.ndarray = np.sqrt(length) * forces
        return found

    def ending(self, interrupted: bool) -> tuple[str, str]:
        """How the runs ended, as a cause and in one line."""
        if self.diverged:
            return "not-a-number", (
                f"a run diverged at alpha = {self.made / self.N:.6g}; "
                "the learning rate may be too large"
            )
        if interrupted:
            return "interrupted", "interrupted"
        return "done", f"reached alpha = {self.made / self.N:.10g}"

    def _keep(self, checkpoint: Checkpoint) -> None:
        entry = {"recorded": np.array([self.recorded, self.diverged])}
        for at, group in enumerate(self.groups):
            entry |= {f"{at} {name}": array for name, array in group.memory().items()}
            entry |= {f"{at} {name}": array for name, array in group.source.memory().items()}
        entry |= {f"result {name}": values.copy() for name, values in self.results.items()}
        checkpoint.keep(_ENTRY, entry, f"alpha = {self.made / self.N:.6g}")

    def _restore(self, checkpoint: Checkpoint) -> None:
        entry = checkpoint.entry(_ENTRY)
        if entry is None:
            return
        self.recorded, self.diverged = int(entry["recorded"][0]), bool(entry["recorded"][1])
        for at, group in enumerate(self.groups):
            own = {
                name.removeprefix(f"{at} "): array
                for name, array in entry.items()
                if name.startswith(f"{at} ")
            }
            group.restore(own)
            group.source.restore(own)
        self.results = {
            name.removeprefix("result "): array.copy()
            for name, array in entry.items()
            if name.startswith("result ")
        }


# The key of the runs in a checkpoint.
_ENTRY = "simulation by a rule"


def _variances(study: Study, state: State, vectors: Vectors) -> np.ndarray:
    """Variances of the coordinates in each phase, shape (phases, N)."""
    own = inputs_of_tasks(study, state)
    counts = np.diff(vectors.first)
    return np.array(
        [
            np.repeat(own[n].eigenvalue, counts) if n in own else vectors.variance
            for n in range(max(1, len(study.task)))
        ]
    )


def _own_variances(study: Study, variances: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Of tasks with inputs of their own: place among the tasks that have teachers, variances."""
    numbers = [n for n, task in enumerate(study.task) if task.teachers is not None]
    for place, number in enumerate(numbers):
        if study.task[number].data is not None:
            yield place, variances[number]


def _pieces(runs: int) -> list[tuple[int, int]]:
    return [(first, min(first + _GROUP, runs)) for first in range(0, runs, _GROUP)]


def _updates(study: Study, batch: int, N: int) -> Updates:
    training = study.training
    g, derivative = activation_functions(study.student_activation)
    size, memory = 1.0, None
    noise = training.update_noise / np.sqrt(N)
    if training.batch_ratio is not None:
        size, noise = float(N), training.update_noise
    if training.momentum > 0.0:
        memory = training.momentum
    if training.momentum_rate is not None:
        size, memory = size / N, 1.0 - training.momentum_rate / N
        noise /= N
    eta = training.learning_rate
    eta_b = training.bias_learning_rate
    return Updates(
        g,
        derivative,
        loss_functions(training.loss)[1],
        (
            eta,
            study.second_layer_learning_rate,
            (eta if eta_b is None else eta_b) if study.network.train_biases else 0.0,
        ),
        (training.weight_decay, study.second_layer_weight_decay),
        batch,
        size,
        memory,
        schedule_of(study.training.schedule),
        training.normalise == "sphere",
        noise,
    )
