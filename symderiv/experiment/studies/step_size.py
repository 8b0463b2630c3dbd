"""Sizes of the steps of simulated runs, from averages in the statement of a rule."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from symderiv.experiment.steps.fresh_means import FreshMeans
from symderiv.experiment.steps.step_chain import MarkovChain
from symderiv.experiment.studies.study_statement import stated_step
from symderiv.experiment.studies.study_steps import StudySteps
from symderiv.statement.field_law import FieldLaw
from symderiv.statement.register import Mean


class StepSize:
    """The root mean square of the length of a step over √N: sqrt(E Σ_i F_i² |ξ|²/N).

    Args:
        steps: The steps of the study.
        eigenvalue: The eigenvalues of the eigenspaces that runs keep, shape (L,).
    """

    def __init__(self, steps: StudySteps, eigenvalue: np.ndarray) -> None:
        study, state = steps.study, steps.start.state
        self._steps, self._eigenvalues = steps, {"x": eigenvalue}
        statement, _ = stated_step(steps.form, (study.K, study.M), steps.chances)
        self._law, self._symbols = FieldLaw(statement), tuple(statement.symbols.of(Mean))
        self._power = state.weight @ state.eigenvalue + study.training.input_noise**2
        self._tasks: dict[int, FreshMeans] = {}

    def __call__(self, chain: MarkovChain) -> float:
        """Return the root mean square of the next step of a run."""
        tasks = self._steps.tasks
        shares = tasks.shares[int(tasks.phase_of(np.array(chain.made), self._steps.dimension))]
        squares = [share * self._square(task, chain) for task, share in enumerate(shares) if share]
        return float(np.sqrt(self._power * sum(squares)))

    def _square(self, task: int, chain: MarkovChain) -> float:
        if task not in self._tasks:
            self._tasks[task] = FreshMeans(
                self._law, self._symbols, self._eigenvalues, self._numbers(task)
            )
        return float(self._tasks[task](chain)[0])

    def _numbers(self, task: int) -> Mapping[str, float]:
        """Return the values of parameters while a task is taught."""
        tasks = self._steps.tasks
        weights = {f"c{n + 1}": float(c) for n, c in enumerate(tasks.teachers[task])}
        heads = {f"head{h + 1}": float(h == tasks.head[task]) for h in range(tasks.heads)}
        return {**self._steps.values, **weights, **heads}
