"""One simulated run of a study: its chain of steps, with the numbers that change in time."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from symderiv.experiment.steps.step_chain import MarkovChain, Space
from symderiv.experiment.studies.study_steps import StudySteps
from symderiv.keys.study_tables import LEARNING_RATES
from symderiv.problem.initial import RUNS, LatentVectors, stream

PER_UNIT_OF_TIME = 50
"""How often per unit of time root mean squares are measured; they are constant in between."""

_TASKS = 6  # the random stream that assigns examples of mixtures to tasks


class StudyChain(MarkovChain):
    """A run of a study.

    Args:
        steps: The steps of the study.
        space: The coordinates of the run.
        vectors: The initial vectors, shape (V, …).
        eigenvalues: The eigenvalues of the eigenspaces in each phase, followed by those of the
            study, shape (phases + 1, L).
        index: The index of the run.
        most: The largest number of examples that is needed.
        root_mean_square: A function from this chain to the root mean square of steps that are
            divided by it.
    """

    def __init__(
        self,
        steps: StudySteps,
        space: Space,
        vectors: np.ndarray,
        eigenvalues: np.ndarray,
        index: int,
        most: int,
        root_mean_square: Callable[[StudyChain], float] | None = None,
    ) -> None:
        self.steps, seed = steps, steps.study.initial.seed
        if root_mean_square is not None:
            most = min(most, max(1, steps.dimension // PER_UNIT_OF_TIME))
        one = np.all(eigenvalues == eigenvalues[-1])
        super().__init__(
            steps.program,
            space,
            (vectors, steps.scalars),
            steps.roots(eigenvalues[-1]) if one and not steps.latent else np.zeros((0, 0)),
            steps.values,
            (seed, RUNS, index),
            most,
            steps.pace,
        )
        # if the law of inputs depends on the phase, they are scaled when they are drawn
        self._scales = None if one else np.sqrt(np.repeat(eigenvalues, np.diff(space.bounds), 1))
        self.measure_spheres(eigenvalues[-1])
        self.generators = (*self.generators, stream(seed, RUNS, index, _TASKS))
        self._root_mean_square, self._rms = root_mean_square, np.ones(1)

    @property
    def weights(self) -> dict[str, np.ndarray]:
        """The arrays that steps change."""
        return {**super().weights, "rms": self._rms}

    @cached_property
    def _schedule(self) -> Callable[[np.ndarray], np.ndarray]:
        """The factor of the rates at given times; formulas need SymPy, which plain runs avoid."""
        from symderiv.integrate.rules.rule_functions import schedule_of

        return schedule_of(self.steps.study.training.schedule)

    def draw(self) -> None:
        """Draw the random numbers of a block, and update the numbers that change in time."""
        if isinstance(self.steps.start.vectors, LatentVectors):
            self._draw_latent(self.steps.start.vectors)
        else:
            super().draw()
        first = self.made - self.made % self.block
        examples = first + np.arange(self.block)
        phases = self.steps.tasks.phase_of(examples, self.steps.dimension)
        if self._scales is not None:
            place = self.program.atoms["x"]
            self._inputs[place :: self.space.inputs] *= self._scales[phases]
        columns = {name: n for n, name in enumerate(self.program.drawn)}
        if self.steps.varies:
            self._draw_rates(examples, columns)
        if self.steps.study.task:
            self._draw_tasks(phases, columns)

    def _draw_rates(self, examples: np.ndarray, columns: dict[str, int]) -> None:
        if self._root_mean_square is not None and self.made % self.block == 0:
            self._rms[0] = self._root_mean_square(self)
        begun = examples - examples % self.steps.batch
        factor = self._schedule(begun / self.steps.dimension)
        for name in LEARNING_RATES:
            rate = self.steps.values[name] * factor
            self._latents[:, columns[name]] = rate / (
                self._rms[0] if name == LEARNING_RATES[0] else 1.0
            )

    def _draw_tasks(self, phases: np.ndarray, columns: dict[str, int]) -> None:
        tasks = self.steps.tasks
        task = np.zeros(self.block, dtype=np.int64)
        if tasks.count > 1:
            chances = self.generators[-1].random((self.block, 1))
            task = np.sum(chances >= tasks.cumulative[phases], axis=1)
        for n in range(tasks.teachers.shape[1]):
            self._latents[:, columns[f"c{n + 1}"]] = tasks.teachers[task, n]
        for h in range(tasks.heads):
            self._latents[:, columns[f"head{h + 1}"]] = tasks.head[task] == h

    def _draw_latent(self, start: LatentVectors) -> None:
        """Draw inputs and the teacher's fields from latent vectors."""
        super().draw_latents()
        sampler = start.latent.sampler
        assert sampler is not None
        x, c = sampler(self.generators[0], self.block)
        self.use(x, c @ start.teacher.T / math.sqrt(start.teacher.shape[1]))
