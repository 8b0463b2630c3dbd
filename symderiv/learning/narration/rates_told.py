"""Sections on rules that change rates or the target but not the equations."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from symderiv.foundation.documents.written_derivation import Section, Step
from symderiv.learning.derivation.equivalent_rates import (
    Equivalent,
    batched_velocities,
    heavy_ball,
    small_batch,
)
from symderiv.learning.narration.learning_latex import latex


def told_of(keys: Sequence[str]) -> tuple[Section, ...]:
    """Return the sections for the keys of a study's rule that change no equation."""
    heavy = "training.momentum_rate" in keys
    known = {
        "training.batch": batched_velocities_told if heavy else batches_told,
        "training.momentum": momentum_told,
        "training.schedule": schedule_told,
        "task": tasks_told,
    }
    return tuple(tell() for key, tell in known.items() if key in keys)


def batches_told() -> Section:
    """Return the section on batches of b = O(1) examples."""
    words = (
        "The examples of a batch are taken at the same weights; one after the other they would see "
        "fields that differ by $O(1/N)$ on average. So a batch is $b$ steps at $1/b$ of the rates "
        "and decays; noise of an update is added once in $b$ examples."
    )
    return Section("Small batches", "batch", _told(small_batch(), words))


def momentum_told() -> Section:
    """Return the section on heavy-ball momentum with a fixed β."""
    words = (
        "With $V \\leftarrow \\beta V - g$ and $J \\leftarrow J + V$ this combination moves by "
        "gradients alone; overlaps of it and of J differ by a part that vanishes."
    )
    return Section("Heavy-ball momentum", "momentum", _told(heavy_ball(), words))


def batched_velocities_told() -> Section:
    """Return the section on batches of b = O(1) examples with 1 - β = γ/N."""
    solved, (rate, memory) = batched_velocities(), sp.symbols("learning_rate momentum_rate")
    noise, decay = sp.symbols("update_noise weight_decay")
    words = (
        "In a time of one there are $N/b$ steps. With $U = b U'$ weights follow $U'$, whose drift "
        "and squares are those of steps of single examples at other rates."
    )
    changed = (
        (rate, solved.rate),
        (memory, solved.memory),
        (decay, solved.decay),
        (noise, solved.noise),
    )
    told = Step("rates", words, "", _exchanged(changed))
    return Section("Velocities of batches", "batch", (told,))


def tasks_told() -> Section:
    """Return the section on tasks that follow each other or are mixed."""
    words = (
        "In each phase these equations hold with the output weights of the task's teachers and "
        "head; all order parameters are carried over. In a task with inputs of its own $\\rho_k$, "
        "$r_k$ and $t_k$ are those of its eigenvalues, J and the teachers as they were. Of mixed "
        "tasks the mean over an example is the mean over tasks with their probabilities."
    )
    return Section("Tasks", "task", (Step("mean", words, "", _formula("task")),))


def schedule_told() -> Section:
    """Return the section on rates that change in time."""
    words = "All learning rates are multiplied by a function of time, constant during an example."
    return Section("Schedule", "schedule", (Step("definition", words, "", _formula("rate")),))


def _formula(kind: str) -> str:
    if kind == "task":
        return r"\left\langle f \right\rangle = \sum_{c} p_{c} \left\langle f \right\rangle_{c}"
    return r"\eta \to \eta\, s(\alpha)"


def _told(equivalent: Equivalent, words: str) -> tuple[Step, ...]:
    rate, noise = sp.symbols("learning_rate update_noise")
    changed = ((rate, equivalent.factor), (noise, equivalent.noise))
    return (
        Step(
            "order in 1/N",
            words,
            rf"\Delta\left({latex(equivalent.combination)}\right)",
            latex(equivalent.change),
        ),
        Step("rates", "In the equations these stand in their places.", "", _exchanged(changed)),
    )


def _exchanged(changed: Sequence[tuple[sp.Expr, sp.Expr]]) -> str:
    return r" ,\quad ".join(rf"{latex(old)} \to {latex(by * old)}" for old, by in changed)
