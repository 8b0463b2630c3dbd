"""One-pass stochastic gradient descent of a study: the runs, their mean and its error."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.data.blas_threads import one_blas_thread
from symderiv.data.spectra import MAX_SIMULATED
from symderiv.drawing import drawing
from symderiv.dynamics.activation_error import kernel_for
from symderiv.dynamics.checkpoint import Checkpoint, identity
from symderiv.dynamics.gram import Factors, factors, gram_is_cheaper
from symderiv.dynamics.initial import (
    Initial,
    LatentVectors,
    Vectors,
    coordinates_of,
    initial,
    vectors_with_overlaps,
)
from symderiv.dynamics.kernels import Kernel
from symderiv.dynamics.simulated_runs import SimulatedRuns, SimulationProgress, run_all
from symderiv.dynamics.state import State
from symderiv.dynamics.study import Study
from symderiv.dynamics.trajectory import rows_of
from symderiv.errors import InputError
from symderiv.limits import check_memory
from symderiv.outputs import Output
from symderiv.showing import Shown, Summary

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False, eq=False)
class Simulation(Shown):
    """Learning curves of simulated runs and their mean.

    Args:
        alpha: times asked for and reached by all runs, shape (P,).
        examples: the whole numbers of examples nearest to N alpha, where the runs reported, (P,).
        Q, R, v, generalization_error: of every run, shapes (runs, P, K, K), (runs, P, K, M),
            (runs, P, K), (runs, P); the error is computed from Q, R, T, v, not from examples.
        T, teacher_weights: shapes (M, M), (M,); shared by all runs.
        cause: "done", "not-a-number" or "interrupted".
        message: one line that says how the runs ended.
        output: the file it was written to, if any.
    """

    alpha: np.ndarray
    examples: np.ndarray
    Q: np.ndarray
    R: np.ndarray
    v: np.ndarray
    generalization_error: np.ndarray
    T: np.ndarray
    teacher_weights: np.ndarray
    initial: State | None
    dimension: int
    runs: int
    method: str
    alpha_end: float
    cause: str
    message: str
    wall_seconds: float
    warnings: tuple[str, ...] = ()
    study_text: str = ""
    student_activation: str = ""
    teacher_activation: str = ""
    kernel_sha256: str = ""
    kernel_name: str = ""
    output: str | None = None

    @property
    def succeeded(self) -> bool:
        return self.cause == "done"

    def mean(self, name: str) -> np.ndarray:
        """Mean over the runs of "Q", "R", "v" or "generalization_error"."""
        values: np.ndarray = np.mean(getattr(self, name), axis=0)
        return values

    def standard_error(self, name: str) -> np.ndarray:
        """Standard error of :meth:`mean`; not a number for a single run."""
        values = np.asarray(getattr(self, name))
        if self.runs == 1:
            return np.full(values.shape[1:], np.nan)
        errors: np.ndarray = np.std(values, axis=0, ddof=1) / math.sqrt(self.runs)
        return errors

    def failure(self) -> str | None:
        """What was asked for and not reached, in one line; None if nothing."""
        return None if self.succeeded else f"{self.message}; what was computed before is kept"

    def to_dict(self) -> dict[str, Any]:
        """What ``symderiv simulate --json`` prints."""
        mean = self.mean("generalization_error")
        error = self.standard_error("generalization_error")
        return {
            "output": self.output,
            "alpha_end": float(self.alpha_end),
            "generalization_error_end": float(mean[-1]) if mean.size else None,
            "generalization_error_end_standard_error": float(error[-1]) if mean.size else None,
            "runs": self.runs,
            "steps": int(self.examples[-1]) if self.examples.size else 0,
            # no right-hand side is evaluated; the key is there because solve has it
            "rhs_evaluations": 0,
            "wall_seconds": self.wall_seconds,
            "cause": self.cause,
            "warnings": list(self.warnings),
            "activation": self.student_activation,
            "teacher_activation": self.teacher_activation,
        }

    def _summary(self) -> Summary:
        K, M = self.R.shape[-2:]
        mean = self.mean("generalization_error")
        error = self.standard_error("generalization_error")
        rows: list[tuple[str, object]] = [
            ("activation", self.student_activation),
            ("units", f"K = {K} students, M = {M} teachers, N = {self.dimension} inputs"),
            ("runs", f"{self.runs} on {self.method}, {self.wall_seconds:.3g} s"),
            ("alpha", f"{self.alpha.size} times to {self.alpha_end:.6g}; {self.message}"),
        ]
        if mean.size:
            ends = f"{mean[0]:.6g} to {mean[-1]:.6g} ± {error[-1]:.2g}"
            rows.append(("generalization_error", f"{ends} (mean, standard error)"))
        return Summary("Simulation", rows, [f"warning: {warning}" for warning in self.warnings])

    def to_text(self) -> str:
        """What ``symderiv simulate`` prints."""
        return rows_of(self.to_dict())

    def plot(self, *others: Any, ax: Axes | None = None) -> Axes:
        """Draw mean ε_g(α) with standard errors; see :meth:`Trajectory.plot`."""
        axes: Axes = drawing("axes").error_axes([self, *others], ax)
        return axes

    def to_xarray(self) -> xarray.Dataset:
        """Means, standard errors and single runs with named dimensions, units and meanings."""
        from symderiv.dynamics.output import simulation_dataset

        return simulation_dataset(self)

    def save(self, path: str | PathLike[str] | Output, *, force: bool = False) -> Simulation:
        """Write ``SIM.nc``, whole or not at all; :func:`symderiv.open` reads it.

        Args:
            path: the file; its folder is made if needed.
            force: replace a file also if symderiv did not write it.

        Returns:
            The same simulation, which knows where it was written.
        """
        from symderiv.dynamics.output import write_simulation

        target = path if isinstance(path, Output) else Output(path, "nc", force=force)
        return replace(self, output=str(write_simulation(target, self)))


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
    """Simulate a study by one-pass stochastic gradient descent, several times.

    All runs share the teacher and the initial student of the integration and differ in their
    examples. The result depends on the study's seed only, not on the number of workers. With
    ``method = "auto"`` vectors are used where they are cheaper
    (:func:`~symderiv.dynamics.gram.gram_is_cheaper`).

    Args:
        study: a study without [sweep].
        runs: instead of [simulation] runs.
        kernel, start: see :func:`~symderiv.dynamics.integrate.solve`; the same start may be given
            to both.
        workers: threads; None for one per processor.
        progress: called a few times a second.
        notice: see :func:`~symderiv.dynamics.kernels.load_kernel`.
        checkpoint: see :func:`~symderiv.dynamics.integrate.solve`.

    Raises:
        InputError: the study cannot be simulated as it is.
    """
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
    start = start or initial(study)
    weights = _weights(study, start)
    if kernel is None:
        kernel = kernel_for(study, notice=notice)
    if checkpoint is not None:
        checkpoint.open(identity(study, kernel.sha256, command="simulate", runs=count))
    started = time.perf_counter()
    work = SimulatedRuns(study, kernel, weights, start.state, count, checkpoint)
    # only inputs made from latent vectors take products of matrices
    with one_blas_thread() if isinstance(weights, LatentVectors) else nullcontext():
        interrupted = run_all(work, workers or min(count, os.cpu_count() or 1), progress)
    reached = min(run.recorded for run in work.runs)
    N = work.dimension
    cause, message = "done", f"reached alpha = {work.examples[-1] / N:.10g}"
    diverged = [index for index, run in enumerate(work.runs) if run.diverged]
    if diverged:
        first = min(diverged, key=lambda index: work.runs[index].made)
        cause = "not-a-number"
        message = (
            f"run {first + 1} of {count} diverged at alpha = {work.runs[first].made / N:.6g}; "
            "the learning rate may be too large"
        )
    elif interrupted:
        cause, message = "interrupted", "interrupted"
    return Simulation(
        alpha=study.simulation_alpha[:reached].copy(),
        examples=work.examples[:reached],
        Q=np.stack([run.Q[:reached] for run in work.runs]),
        R=np.stack([run.R[:reached] for run in work.runs]),
        v=np.stack([run.v[:reached] for run in work.runs]),
        generalization_error=np.stack([run.error[:reached] for run in work.runs]),
        T=start.state.T,
        teacher_weights=start.state.teacher_weights,
        initial=start.state,
        dimension=N,
        runs=count,
        method="gram" if isinstance(weights, Factors) else "vectors",
        alpha_end=min(run.made for run in work.runs) / N,
        cause=cause,
        message=message,
        wall_seconds=checkpoint.seconds if checkpoint else time.perf_counter() - started,
        warnings=start.warnings,
        study_text=study.text,
        student_activation=kernel.student_activation,
        teacher_activation=kernel.teacher_activation,
        kernel_sha256=kernel.sha256,
        kernel_name=kernel.path.name,
    )


def _weights(study: Study, start: Initial) -> Vectors | Factors | LatentVectors:
    """What the study's method works on."""
    method = study.simulation.method
    if start.data is not None and start.data.latent is not None:
        if method == "gram":
            raise InputError(
                '"gram" is for Gaussian inputs that the teacher sees itself; '
                "inputs of this data.model need vectors",
                argument="simulation.method",
            )
        if not isinstance(start.vectors, LatentVectors):
            raise InputError(
                "a simulation of this data.model needs drawn vectors; use "
                'draw = "sampled" and no state file, and data.dimension instead of the limit',
                argument="initial",
            )
        return start.vectors
    data = start.data
    if data is not None and data.dimension is not None and len(data.components) > 1:
        # their average would be simulated, which is another problem
        raise InputError(
            f"inputs of several components are simulated up to {MAX_SIMULATED} "
            "coordinates; lower it, or use solve",
            argument="data.dimension",
        )
    if method == "auto":
        # without room for a frame of K + M vectors, given overlaps are a matter for factors
        crowded = (
            start.vectors is None
            and coordinates_of(start.data).min() < start.state.K + start.state.M
        )
        cheaper = crowded or gram_is_cheaper(start.state, start.data)
        method = "gram" if cheaper else "vectors"
    if method == "gram":
        return factors(start.state, start.data)
    if isinstance(start.vectors, Vectors):
        return start.vectors
    return vectors_with_overlaps(start.state, start.data, study.initial.seed)
