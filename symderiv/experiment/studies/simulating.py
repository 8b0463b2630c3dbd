"""Simulation of a study at finite N, whatever its rule: the steps of its statement, in several
runs.

All runs share the teacher and the initial student of the integration and differ in their examples.
No equation derived from the rule is used.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.experiment.steps.step_chain import Space, space_of
from symderiv.experiment.studies.simulated_runs import SimulatedRuns, SimulationProgress, run_all
from symderiv.experiment.studies.simulation import Simulation
from symderiv.experiment.studies.study_chain import StudyChain
from symderiv.experiment.studies.study_measures import PlainMeasures, RuleMeasures
from symderiv.experiment.studies.study_steps import StudySteps
from symderiv.formula import activation
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.foundation.limits import check_memory, check_threads
from symderiv.inputs.blas_threads import one_blas_thread
from symderiv.inputs.latent_teacher import Sampler
from symderiv.inputs.spectra import MAX_SIMULATED
from symderiv.integrate.flows.components import inputs_of_tasks
from symderiv.problem.initial import (
    Initial,
    LatentVectors,
    Vectors,
    coordinates_of,
    initial,
    require_linear_teacher,
    vectors_with_overlaps,
)
from symderiv.problem.study import Study
from symderiv.problem.timetable import refuse_negative_rates
from symderiv.storage.checkpoint import Checkpoint, identity
from symderiv.storage.kernels import Kernel
from symderiv.storage.study_kernel import kernel_for

if TYPE_CHECKING:
    from symderiv.experiment.studies.step_size import StepSize


def simulate(
    study: Study,
    *,
    runs: int | None = None,
    kernel: Kernel | None = None,
    start: Initial | None = None,
    workers: int | None = None,
    progress: SimulationProgress | None = None,
    notice: Callable[[str], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Simulation:
    """Simulate a study at finite N, several times.

    The result depends on the study's seed only, not on the number of workers. With
    ``method = "auto"`` vectors are used where they are cheaper than their span.

    Args:
        study: a study without [sweep].
        runs: the number of runs, in place of [simulation] runs.
        kernel, start, checkpoint: see :func:`~symderiv.integrate.rules.solving.solve`; the same
            start may be given to both. The kernel's error of plain descent is recorded.
        workers: threads; None for one per processor.
        progress: called a few times a second.
        notice: see :func:`~symderiv.storage.kernels.load_kernel`.

    Raises:
        InputError: the study cannot be simulated as it is.
    """
    count = _checked_runs(study, runs)
    if workers is not None:
        check_threads("workers", workers)
    start = start or initial(study)
    _check(study, start)
    steps = StudySteps(study, start)
    space, vectors, eigenvalues = _where(steps)
    if study.rule_keys:
        kernel = None
    elif kernel is None:
        kernel = kernel_for(study, notice=notice)
    if checkpoint is not None:
        digests = "none" if kernel is None else kernel.digests
        checkpoint.open(identity(study, digests, command="simulate", runs=count))
    started = time.perf_counter()
    made = np.rint(study.simulation_alpha * (steps.dimension / steps.batch))
    examples = made.astype(np.int64) * steps.batch
    wide = np.repeat(eigenvalues, np.diff(space.bounds), axis=1)
    measured = _measures(steps, wide, vectors, kernel)
    size = _step_size(steps, eigenvalues[-1])
    most = int(examples[-1])

    def chain(index: int) -> StudyChain:
        return StudyChain(steps, space, vectors, eigenvalues, index, most, size)

    # errors and samplers use matrix products
    with one_blas_thread():
        work = SimulatedRuns(chain, measured, examples, count, steps.dimension, checkpoint)
        interrupted = run_all(work, min(count, workers or os.cpu_count() or 1), progress)
    named = _named(study, start, kernel) | {"method": "gram" if space.span else "vectors"}
    named["wall_seconds"] = checkpoint.seconds if checkpoint else time.perf_counter() - started
    return _simulation(work, study.simulation_alpha, interrupted, named)


def _simulation(
    work: SimulatedRuns, alpha: np.ndarray, interrupted: bool, named: dict[str, Any]
) -> Simulation:
    """Return the recorded results at the times that all runs reached."""
    reached = min(run.recorded for run in work.runs)
    cause, message = _ending(work, interrupted)
    results = {name: values[:, :reached] for name, values in work.results.items()}
    return Simulation(
        alpha=alpha[:reached].copy(),
        examples=work.examples[:reached],
        Q=results.pop("Q"),
        R=results.pop("R"),
        v=results.pop("v"),
        generalization_error=results.pop("generalization_error"),
        further=results,
        dimension=work.dimension,
        runs=len(work.runs),
        alpha_end=min(run.made for run in work.runs) / work.dimension,
        cause=cause,
        message=message,
        **named,
    )


def _measures(
    steps: StudySteps, wide: np.ndarray, vectors: np.ndarray, kernel: Kernel | None
) -> PlainMeasures | RuleMeasures:
    """Return the measurements for runs."""
    if kernel is not None:
        return PlainMeasures(steps, wide, kernel)
    return RuleMeasures(steps, wide, vectors[steps.places("B")])


def _step_size(steps: StudySteps, eigenvalue: np.ndarray) -> StepSize | None:
    """Return the divisor of steps that are normalised by their gradient, else None."""
    if steps.study.training.normalise != "gradient":
        return None
    # imported here: it states the rule, which needs SymPy
    from symderiv.experiment.studies.step_size import StepSize

    return StepSize(steps, eigenvalue)


def _named(study: Study, start: Initial, kernel: Kernel | None) -> dict[str, Any]:
    """Return the properties of the study that a simulation's result carries."""
    return {
        "T": start.state.T,
        "teacher_weights": start.state.teacher_weights,
        "initial": start.state,
        "warnings": start.warnings,
        "study_text": study.text,
        "student_activation": activation(study.student_activation).text,
        "teacher_activation": activation(study.teacher_activation).text,
        "kernel_sha256": "none" if kernel is None else kernel.sha256,
        "kernel_name": "none" if kernel is None else kernel.path.name,
    }


def recorded_chain(study: Study, start: Initial, block: int) -> tuple[StudyChain, PlainMeasures]:
    """Return a run of plain descent on examples given by the caller, and its measurements.

    Args:
        study, start: the study and its start.
        block: the largest number of examples given at a time.
    """
    steps = StudySteps(study, start)
    space, vectors, eigenvalues = _where(steps)
    wide = np.repeat(eigenvalues, np.diff(space.bounds), axis=1)
    chain = StudyChain(steps, space, vectors, eigenvalues, 0, block)
    return chain, PlainMeasures(steps, wide, kernel_for(study))


def with_sampler(start: Initial, sampler: Sampler) -> Initial:
    """Return a start whose simulated runs draw their inputs from a sampler, for
    ``simulate(start=...)``.

    The equations, and Q, R and the error that runs record, stay those of the covariances of the
    start; so a generator's own outputs are compared with their Gaussian equivalent.

    Args:
        start: the start of a study of structured inputs, with drawn vectors.
        sampler: random generator and count to centred inputs (count, N) and latent vectors
            (count, D), see :func:`symderiv.inputs.generator_sampler`; called from several threads.

    Raises:
        InputError: the start has no vectors of a latent teacher.
    """
    vectors = start.vectors
    if not isinstance(vectors, LatentVectors):
        raise InputError(
            "a sampler needs vectors drawn for a data.model with a latent teacher, "
            "hidden-manifold or generator",
            argument="initial",
        )
    latent = replace(vectors.latent, sampler=sampler)
    return replace(start, vectors=replace(vectors, latent=latent))


def _checked_runs(study: Study, runs: int | None) -> int:
    """Return the number of runs, if it is possible."""
    if study.sweep:
        raise InputError(
            "a study with [sweep] is several runs; use symderiv sweep or symderiv study",
            argument="sweep",
        )
    count = study.simulation.runs if runs is None else runs
    if count < 1:
        raise InputError(f"{count} is below 1", argument="simulation.runs")
    points = study.simulation_alpha.size
    check_memory(
        8.0 * count * points * (study.K * (study.K + study.M + 1) + 1) * 2,
        f"{count} runs of {points} points",
        argument="simulation.runs",
    )
    return count


def _check(study: Study, start: Initial) -> None:
    """Refuse combinations that cannot be simulated, by name."""
    data, training = start.data, study.training
    refuse_negative_rates(study, study.simulation_alpha)
    latent = data is not None and data.latent is not None
    several = data is not None and len(data.components) > 1
    if study.rule_keys and (latent or several):
        raise NotYetError(
            f"inputs of this model cannot be simulated together with "
            f"{study.rule_keys[0]}; use Gaussian inputs that the teacher sees itself",
            argument="data.model",
        )
    if latent and study.simulation.method == "gram":
        raise InputError(
            '"gram" is for Gaussian inputs that the teacher sees itself; '
            "inputs of this data.model need vectors",
            argument="simulation.method",
        )
    if latent and not isinstance(start.vectors, LatentVectors):
        raise InputError(
            "a simulation of this data.model needs drawn vectors; use "
            'draw = "sampled" and no state file, and data.dimension instead of the limit',
            argument="initial",
        )
    if several and not latent and data is not None and data.dimension is not None:
        # otherwise their average would be simulated, which is another problem
        raise InputError(
            f"inputs of several components are simulated up to {MAX_SIMULATED} "
            "coordinates; lower it, or use solve",
            argument="data.dimension",
        )
    if training.normalise == "sphere" and np.min(np.diag(start.state.Q)) <= 0.0:
        raise InputError(
            "cannot keep a student of length 0 on a sphere; give a positive student_std",
            argument="training.normalise",
        )


def _where(steps: StudySteps) -> tuple[Space, np.ndarray, np.ndarray]:
    """Return the coordinates of runs, the initial vectors in them, and eigenvalues for
    measurements.
    """
    start, state = steps.start, steps.start.state
    counts = coordinates_of(start.data)
    if isinstance(start.vectors, LatentVectors):
        whole = np.array([start.vectors.variance.size])
        return space_of(steps.program, whole), _rows(steps, start.vectors), np.ones((2, 1))
    own = inputs_of_tasks(steps.study, state)
    phases = range(max(1, len(steps.study.task)))
    usual = state.eigenvalue
    eigenvalues = np.array([*(own.get(n, usual) for n in phases), usual])
    method = steps.study.simulation.method
    alive = state.eigenvalue > 0.0
    space = space_of(steps.program, counts, steps.batch)
    span = replace(space, counts=counts[alive], silent=int(np.sum(counts[~alive])))
    # without enough coordinates for all vectors, given overlaps need the span
    crowded = start.vectors is None and counts.min() < state.K + state.M
    asked = "gram" if method == "auto" and crowded else method
    if method == "auto" and not crowded and 0.9 * space.cost <= span.chosen("auto").cost:
        asked = "vectors"
    try:
        span = span.chosen(asked)
        if span.span:
            if steps.study.rule_keys and not np.all(alive):
                raise NotYetError(
                    '"gram" cannot take eigenvalues of 0 together with '
                    f'{steps.study.rule_keys[0]}; use "vectors"',
                    argument="method",
                )
            return span, _in_span(steps, span, alive), np.ascontiguousarray(eigenvalues[:, alive])
    except (InputError, NotYetError) as error:
        name = {"method": "simulation.method", "dimension": "data.dimension"}
        raise error.renamed(name.get(str(error.argument), error.argument)) from None
    vectors = start.vectors
    if not isinstance(vectors, Vectors):
        vectors = vectors_with_overlaps(state, start.data, steps.study.initial.seed)
    return space, _rows(steps, vectors), eigenvalues


def _rows(steps: StudySteps, vectors: Vectors | LatentVectors) -> np.ndarray:
    """Return the initial vectors of all families: averages of students begin as the students."""
    rows = np.zeros((len(steps.program.vectors), vectors.student.shape[1]))
    for place, vector in enumerate(steps.program.members.values()):
        if vector.family != "B":
            rows[place] = vectors.student[vector.index]
        elif isinstance(vectors, Vectors):
            rows[place] = vectors.teacher[vector.index]
    return rows


def _in_span(steps: StudySteps, span: Space, alive: np.ndarray) -> np.ndarray:
    """Return vectors with the overlaps of the state, in the coordinates of their span."""
    state = steps.start.state
    require_linear_teacher(state)
    rho = state.eigenvalue[alive][:, None, None]
    Q, R = state.student_overlap[alive], state.cross_overlap[alive] / rho
    T = state.teacher_overlap[alive] / rho**2
    whole = np.block([[Q, R], [np.swapaxes(R, 1, 2), T]])
    units = [
        vector.index + (state.K if vector.family == "B" else 0)
        for vector in steps.program.members.values()
    ]
    return span.drawn_vectors(whole[:, units][:, :, units], np.random.default_rng(0))


def _ending(work: SimulatedRuns, interrupted: bool) -> tuple[str, str]:
    """Return how the runs ended, as a cause and in one line."""
    N = work.dimension
    diverged = [index for index, run in enumerate(work.runs) if run.diverged]
    if diverged:
        first = min(diverged, key=lambda index: work.runs[index].made)
        return "not-a-number", (
            f"run {first + 1} of {len(work.runs)} diverged at alpha = "
            f"{work.runs[first].made / N:.6g}; the learning rate may be too large"
        )
    if interrupted:
        return "interrupted", "interrupted"
    return "done", f"reached alpha = {work.examples[-1] / N:.10g}"
