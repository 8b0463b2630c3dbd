"""Changes in time under a study's rule, as expressions in the time of its statement.

A schedule is a factor of the learning rates. Tasks that follow each other are one statement on the
same vectors: the output weights of teachers and heads have factors that are 1 while a task is
taught and 0 else; in a mixture of tasks a fresh latent says which one an example belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from symderiv.experiment.studies.rule_tasks import Tasks, tasks_of
from symderiv.formula import parse_formula
from symderiv.learning.rule.stated_rule import exact
from symderiv.problem.study import Study
from symderiv.statement.language import Language


def schedule_of(study: Study, P: Language, examples: sp.Expr) -> sp.Expr:
    """Return what multiplies the learning rates.

    Args:
        study: With its schedule, in examples over N.
        P: The statement, whose time is asked for where it is needed.
        examples: How many examples over N a unit of its time is.
    """
    given = study.training.schedule
    if given is None:
        return sp.S.One
    time = examples * P.alpha
    if isinstance(given, str):
        return parse_formula(given, ("alpha",)).xreplace({P.alpha: time})
    if "times" in given:
        times, rates = given["times"], given["rates"]
        assert isinstance(times, list)
        assert isinstance(rates, list)
        rate = exact(rates[0])
        for after, now, before in zip(times[1:], rates[1:], rates, strict=False):
            rate += (exact(now) - exact(before)) * sp.Heaviside(time - exact(after))
        return rate
    assert isinstance(given["after"], float)
    return sp.Max(1, time / exact(given["after"])) ** -exact(given["power"])


@dataclass(frozen=True)
class StatedTasks:
    """The tasks of a study as factors in its statement.

    Args:
        study: The study with at least one task.
        P: The statement; latents of mixtures are declared in it.
        examples: How many examples over N a unit of its time is.
    """

    study: Study
    P: Language
    examples: sp.Expr

    @cached_property
    def _tasks(self) -> Tasks:
        return tasks_of(self.study, self.study.teacher_weights)

    @cached_property
    def _phases(self) -> tuple[sp.Expr, ...]:
        """1 in every phase, 0 outside of it."""
        time = self.examples * self.P.alpha
        ends = [sp.Heaviside(time - exact(end)) for end in self._tasks.ends[:-1]]
        pairs = zip([sp.S.One, *ends], [*ends, sp.S.Zero], strict=True)
        return tuple(begun - ended for begun, ended in pairs)

    @cached_property
    def taught(self) -> tuple[sp.Expr, ...]:
        """One number per task: 1 for an example that belongs to it, else 0."""
        parts = [sp.S.Zero] * self._tasks.count
        for number, phase in enumerate(self._phases):
            shares = self._tasks.shares[number]
            there = [n for n, share in enumerate(shares) if share > 0.0]
            chosen = self._chosen(number, [shares[n] for n in there])
            for n, one in zip(there, chosen, strict=True):
                parts[n] += phase * one
        return tuple(parts)

    def _chosen(self, number: int, shares: Sequence[float]) -> list[sp.Expr]:
        """Return for every task of a phase 1 where a fresh latent says that it is taught."""
        if len(shares) == 1:
            return [sp.S.One]
        law = {n: exact(share) for n, share in enumerate(shares)}
        law[0] = 1 - sum(p for n, p in law.items() if n)
        latent = self.P.latents(f"task{number + 1}", law)
        values = range(len(shares))
        return [
            sp.Mul(*((latent - m) / sp.Integer(n - m) for m in values if m != n)) for n in values
        ]

    @cached_property
    def teacher_weights(self) -> np.ndarray:
        """Output weights of the teachers, shape (M,): expressions."""
        return self._mixed([[exact(w) for w in row] for row in self._tasks.teachers])

    @cached_property
    def heads(self) -> tuple[sp.Expr, ...]:
        """Factor of the output weights of every head."""
        factors = [sp.S.Zero] * self._tasks.heads
        for head, factor in zip(self._tasks.head, self.taught, strict=True):
            factors[int(head)] += factor
        return tuple(factors) if len(factors) > 1 else (sp.S.One,)

    def _mixed(self, rows: Sequence[Sequence[sp.Expr]]) -> np.ndarray:
        columns = zip(*rows, strict=True)
        mixed: Any = [
            sp.Add(*(factor * each for factor, each in zip(self.taught, column, strict=True)))
            for column in columns
        ]
        return np.array(mixed, dtype=object)

    @cached_property
    def inputs(self) -> tuple[tuple[Any, sp.Expr], ...]:
        """Input models with the factors of the tasks that have them; the study's own is first."""
        numbers = [n for n, task in enumerate(self.study.task) if task.teachers is not None]
        models: list[list[Any]] = [[self.study.data, sp.S.Zero]]
        for number, factor in zip(numbers, self.taught, strict=True):
            model = self.study.task[number].data or self.study.data
            known = next((each for each in models if each[0] == model), None)
            if known is None:
                models.append([model, factor])
            else:
                known[1] += factor
        if len(models) == 1:
            return ((self.study.data, sp.S.One),)
        return tuple((model, factor) for model, factor in models if factor != 0)
