"""The result of a simulation of a study."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from symderiv.foundation.errors import check_one_of
from symderiv.foundation.outputs import Output
from symderiv.foundation.showing import Summary, whole_rows
from symderiv.problem.state import State
from symderiv.storage.learning_curves import Curves, lengths
from symderiv.storage.run_files import Contents, start_variables, write


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Simulation(Curves):
    """Learning curves of simulated runs and their mean.

    Args:
        alpha: requested times that all runs have reached, shape (P,).
        examples: the numbers of examples at which the order parameters were computed, the whole
            numbers nearest to N alpha, shape (P,).
        Q, R, v, generalization_error: arrays of every run, shapes (runs, P, K, K), (runs, P, K, M),
            (runs, P, K), (runs, P); the error is computed from Q, R, T, v, not from examples.
        T, teacher_weights: shapes (M, M), (M,), the same for all runs.
        further: the other order parameters of every run, with a leading axis of runs.
        cause: "done", "not-a-number" or "interrupted".
        message: one line that says how the runs ended.
        output: the file it was written to, if any.
    """

    TITLE: ClassVar[str] = "Order parameters of online learning, simulated"
    FACTS: ClassVar[tuple[str, ...]] = (*Curves.FACTS, "runs", "method", "dimension")

    examples: np.ndarray
    initial: State | None
    dimension: int
    runs: int
    method: str

    @property
    def succeeded(self) -> bool:
        """True if all runs reached the last time."""
        return self.cause == "done"

    def times(self) -> np.ndarray:
        """Return the times at which runs reported: whole numbers of examples over N, shape (P,)."""
        return self.examples / self.dimension

    def mean(self, name: str) -> np.ndarray:
        """Return the mean over the runs of "Q", "R", "v", "generalization_error" or a name in
        ``further``.
        """
        values: np.ndarray = np.mean(self._each(name), axis=0)
        return values

    def standard_error(self, name: str) -> np.ndarray:
        """Return the standard error of :meth:`mean`; not a number for a single run."""
        return standard_error(self._each(name))

    def _each(self, name: str) -> np.ndarray:
        """Return a curve of each run, shape (runs, P, …)."""
        check_one_of("name", name, ("Q", "R", "v", "generalization_error", *self.further))
        return np.asarray(getattr(self, name))

    def to_dict(self) -> dict[str, Any]:
        """Return what ``symderiv simulate --json`` prints."""
        mean = self.mean("generalization_error")
        error = self.standard_error("generalization_error")
        return {
            "output": self.output,
            "alpha_end": float(self.alpha_end),
            "generalization_error_end": float(mean[-1]) if mean.size else None,
            "generalization_error_end_standard_error": float(error[-1]) if mean.size else None,
            "runs": self.runs,
            "steps": int(self.examples[-1]) if self.examples.size else 0,
            # no right-hand side is evaluated; the key exists because ``solve`` has it
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
            ("units", f"students K = {K}, teachers M = {M}, inputs N = {self.dimension}"),
            ("runs", f"{self.runs} on {self.method}, {self.wall_seconds:.3g} s"),
            ("alpha", f"{self.alpha.size} times to {self.alpha_end:.6g}; {self.message}"),
        ]
        if mean.size:
            ends = f"{mean[0]:.6g} to {mean[-1]:.6g} ± {error[-1]:.2g}"
            rows.append(("generalization_error", f"{ends} (mean, standard error)"))
        rows += whole_rows("by default", self.by_default)
        return Summary("Simulation", rows, [f"warning: {warning}" for warning in self.warnings])

    def contents(self) -> Contents:
        """Return what ``SIM.nc`` holds; see :func:`write_simulation`."""
        variables: dict[str, np.ndarray] = {"alpha": self.alpha, "examples": self.examples}
        for name in ("Q", "R", "v", "generalization_error", *self.further):
            variables[name] = self.mean(name)
            variables[f"{name}_standard_error"] = self.standard_error(name)
            variables[f"{name}_run"] = getattr(self, name)
        if self.initial is not None:
            start = self.initial
            variables |= {"eigenvalue": start.eigenvalue, "weight": start.weight}
            variables["teacher_overlap"] = start.teacher_overlap
            variables |= start_variables(start)
        variables["T"] = self.T
        variables["teacher_weights"] = self.teacher_weights
        facts = {**self._common_attributes(), **self.attributes}
        K, M = self.R.shape[-2:]
        L = self.initial.L if self.initial else 1
        axes = {**lengths(K, M, L, self.further), "run": self.runs}
        return Contents(variables, axes, facts)


def standard_error(runs: np.ndarray) -> np.ndarray:
    """Return the standard error of the mean over the first axis; not a number for a single run."""
    if len(runs) == 1:
        return np.full(runs.shape[1:], np.nan)
    return np.asarray(np.std(runs, axis=0, ddof=1) / math.sqrt(len(runs)))


def write_simulation(path: str | Path | Output, result: Simulation) -> Path:
    """Write a simulation as ``SIM.nc``: means and, as ``…_standard_error``, their errors.

    The axes are those of ``RUN.nc``; the single runs are kept as ``…_run`` with an axis ``run``
    in front. See :func:`~symderiv.storage.run_files.write` for ``path`` and the errors
    raised.
    """
    return write(path, result.contents())
