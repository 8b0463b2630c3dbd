"""Measurements of a simulated run: overlaps, weights, errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.experiment.steps.step_chain import MarkovChain
from symderiv.experiment.studies.study_steps import StudySteps
from symderiv.problem.initial import LatentVectors
from symderiv.problem.study import Study
from symderiv.storage.kernels import Kernel, has_checked_in, load_kernel

if TYPE_CHECKING:
    from symderiv.experiment.studies.rule_means import SampledMeans, Student


class PlainErrors:
    """The error E(s - t)²/2 for given Q, R and output weights, by a solver module's function.

    The error does not depend on how weights were learnt: the function of plain descent serves other
    rules.

    Args:
        study: the study, whose activations must have a module in the package.
        T: covariance of the teachers' fields, shape (M, M).
    """

    def __init__(self, study: Study, T: np.ndarray) -> None:
        self.T = T
        self._kernel = load_kernel(study.student_activation, study.teacher_activation)

    @staticmethod
    def know(study: Study) -> bool:
        """Return whether a study's errors are of this kind, and the package has a module
        for them.
        """
        biased = study.network.train_biases or np.any(study.student_biases)
        return not (
            biased or np.any(study.teacher_biases) or study.training.target == "sign"
        ) and has_checked_in(study.student_activation, study.teacher_activation)

    def __call__(self, Q: np.ndarray, R: np.ndarray, v: np.ndarray, w: np.ndarray) -> float:
        """Return the error of output weights v (K,) against w (M,)."""
        return _error_of(self._kernel, Q, R, self.T, v, w)


def _error_of(kernel: Kernel, *given: np.ndarray) -> float:
    # copies, as compiled code takes contiguous and writable arrays
    return float(kernel.generalization_error(*map(np.array, given)))


_BEYOND = {"J", "B"}  # families of vectors in every study


@dataclass(frozen=True)
class _Measures:
    """Common measurements of the runs of all rules.

    Args:
        steps: The steps of the study.
        eigenvalues: The eigenvalues of every kept coordinate in each phase, followed by those of
            the study, shape (phases + 1, …).
    """

    steps: StudySteps
    eigenvalues: np.ndarray

    def covariances(self, chain: MarkovChain, variance: np.ndarray) -> np.ndarray:
        """Return the covariances of the fields of all vectors for these variances of
        coordinates.
        """
        covariance: np.ndarray = (chain.vectors * variance) @ chain.vectors.T / self.steps.dimension
        return covariance

    def block(self, covariance: np.ndarray, first: str, second: str) -> np.ndarray:
        """Return the block of two families."""
        return covariance[np.ix_(self.steps.places(first), self.steps.places(second))]

    def heads(self, chain: MarkovChain) -> np.ndarray:
        """Return the output weights of all heads, shape (H, K)."""
        steps = self.steps
        if not steps.study.network.train_second_layer:
            return np.repeat(steps.start.state.student_weights[None], steps.tasks.heads, axis=0)
        return np.array([chain.scalars[steps.scalar_places(name)] for name in steps.head_names])


@dataclass(frozen=True)
class PlainMeasures(_Measures):
    """Measurements of plain descent; the error is that of the equations at measured overlaps.

    Args:
        kernel: The module with the function of the error.
    """

    kernel: Kernel

    def __call__(self, chain: MarkovChain) -> Mapping[str, Any]:
        """Return the measurements of a run, by name."""
        start, v = self.steps.start.vectors, self.heads(chain)[0]
        if isinstance(start, LatentVectors):
            return self._latent(chain, start, v)
        covariance = self.covariances(chain, self.eigenvalues[-1])
        Q, R = (np.ascontiguousarray(self.block(covariance, "J", other)) for other in ("J", "B"))
        error = self._error(Q, R, self.steps.start.state.T, v)
        return {"Q": Q, "R": R, "v": v, "generalization_error": error}

    def _latent(self, chain: MarkovChain, start: LatentVectors, v: np.ndarray) -> Mapping[str, Any]:
        """Return overlaps as in the equations, with the covariances of the data model, and the
        error.
        """
        latent, N = start.latent, start.variance.size
        assert latent.axes is not None
        own = chain.vectors[self.steps.places("J")]
        J = own @ latent.axes
        Q = (J * start.variance) @ J.T / N
        R = J @ start.teacher_axes.T / N
        error = 0.0
        for probability, variance in latent.spectra:
            # the mean of the components' errors is not the error at averaged overlaps
            B, scaled = start.teacher, own * variance
            parts = scaled @ own.T / N, scaled @ B.T / N, (B * variance) @ B.T / N
            error += probability * self._error(*parts, v)
        if not latent.spectra:
            error = self._error(Q, R, self.steps.start.state.T, v)
        return {"Q": Q, "R": R, "v": v, "generalization_error": error}

    def _error(self, Q: np.ndarray, R: np.ndarray, T: np.ndarray, v: np.ndarray) -> float:
        return _error_of(self.kernel, Q, R, T, v, self.steps.start.state.teacher_weights)


@dataclass(frozen=True)
class RuleMeasures(_Measures):
    """Measurements of other rules: errors by their definition, from Q, R, T and the weights.

    Args:
        teachers: The vectors of the teachers, shape (M, …).
    """

    teachers: np.ndarray

    @cached_property
    def _means(self) -> SampledMeans:
        return self._means_at(self.steps.start.state.T)

    def _means_at(self, T: np.ndarray) -> SampledMeans:
        # imported here: SymPy and SciPy are not needed in plain runs
        from symderiv.experiment.studies.rule_means import SampledMeans, Teaching
        from symderiv.integrate.rules.rule_functions import activation_function, loss_function

        study, training = self.steps.study, self.steps.study.training
        g = activation_function(study.student_activation)
        loss = loss_function(training.loss)
        scale = training.size("evaluation_scale")
        teaching = Teaching(
            activation_function(study.teacher_activation),
            study.teacher_biases,
            self.steps.tasks,
            training.target == "sign",
            training.input_noise,
        )
        reported = None if training.loss == "squared" else loss
        plain = PlainErrors(study, T) if PlainErrors.know(study) else None
        return SampledMeans(teaching, study.K, T, g, reported, scale, plain)

    @cached_property
    def _of_own_inputs(self) -> dict[int, tuple[SampledMeans, int]]:
        """The means and the phase of tasks with inputs of their own, by the place of the task."""
        study = self.steps.study
        numbers = [n for n, task in enumerate(study.task) if task.teachers is not None]
        by_place, B = {}, self.teachers
        for place, phase in enumerate(numbers):
            if study.task[phase].data is not None:
                scale = self.eigenvalues[phase]
                by_place[place] = self._means_at((B * scale) @ B.T / self.steps.dimension), phase
        return by_place

    def _student(self, chain: MarkovChain, phase: int = -1) -> Student:
        from symderiv.experiment.studies.rule_means import Student

        training, own = self.steps.study.training, self.steps.scalar_places("b")
        covariance = self.covariances(chain, self.eigenvalues[phase])
        Q = self.block(covariance, "J", "J")
        Q = 0.5 * (Q + Q.T)
        seen = Q
        if training.input_noise > 0.0:
            lengths = self.covariances(chain, np.ones(1))
            seen = Q + training.input_noise**2 * self.block(lengths, "J", "J")
        b = chain.scalars[own] if own else self.steps.study.student_biases
        R = self.block(covariance, "J", "B")
        return Student(Q, R, seen, self.heads(chain), b)

    def __call__(self, chain: MarkovChain) -> Mapping[str, Any]:
        """Return the measurements of a run, by name."""
        steps, training = self.steps, self.steps.study.training
        student = self._student(chain)
        values: dict[str, Any] = {"Q": student.Q, "R": student.R, "v": student.v[0]}
        errors = self._means.of_tasks(student)
        for place, (means, phase) in self._of_own_inputs.items():
            for name, other in means.of_tasks(self._student(chain, phase)).items():
                errors[name][place] = other[place]
        last = np.array(max(chain.made - 1, 0))
        share = steps.tasks.shares[int(steps.tasks.phase_of(last, steps.dimension))]
        values |= {name: float(share @ each) for name, each in errors.items()}
        if steps.study.task:
            values["task_error"] = errors["generalization_error"]
        if steps.tasks.heads > 1:
            values["heads"] = student.v
        if steps.study.network.train_biases:
            values["b"] = student.b
        covariance = self.covariances(chain, self.eigenvalues[-1])
        if training.momentum_rate is not None:
            N, U = steps.dimension, steps.program.velocities(steps.places("J"))
            for name, places, scale in (
                ("P", steps.places("J"), N),
                ("W", U, N**2),
                ("C", steps.places("B"), N),
            ):
                values[name] = scale * covariance[np.ix_(U, places)]
        return values | self._further(covariance)

    def _further(self, covariance: np.ndarray) -> dict[str, np.ndarray]:
        """Return the overlaps with families that a stated rule adds."""
        families = list(dict.fromkeys(v.family for v in self.steps.program.members.values()))
        # teachers stand last in names of pairs, as in curves of the equations
        families.sort(key=lambda name: name == "B")
        more = [name for name in families if name not in _BEYOND]
        return {
            f"{a}.{b}": self.block(covariance, a, b)
            for n, a in enumerate(families)
            for b in families[n:]
            if a in more or b in more
        }
