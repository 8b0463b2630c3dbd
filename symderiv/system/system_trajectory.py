"""A run of a system as a result that is shown, drawn, reported and saved."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv import __version__
from symderiv.foundation.drawing import drawing
from symderiv.foundation.errors import InputError
from symderiv.foundation.keeping import ANOTHER_RUN
from symderiv.foundation.outputs import Output
from symderiv.foundation.showing import Summary
from symderiv.integrate.events.located_events import FollowedResult
from symderiv.storage.curve_results import CurveResult
from symderiv.storage.run_files import BY, TIME
from symderiv.system.named_states import ByName

if TYPE_CHECKING:
    import xarray

KIND = "system-run"


@dataclass(frozen=True, repr=False, eq=False)
class SystemRun(ByName, FollowedResult, CurveResult):
    """A trajectory of a system.

    Attributes:
        alpha: Times, examples over input dimension, shape (P,).
        values: Order parameters and observables by name, α first.
        cause: ``"done"`` if the last asked time was reached, else why the run ended.
        steps, rhs_evaluations: Numbers of steps and of right-hand sides of the run.
        error: Largest error of overlaps and slow scalars, relative to the lengths of the largest
            vectors of their families and to the largest scalar at that time; see error_method.
        parameters: Values of the parameters.
        dimensions: Names of the axes behind α, by order parameter.
        system: The statement.
        output: The file it was written to, if any.
        further: Derivatives by name, ``"w.B_by_eta"``; see :meth:`sensitivity`.
        attributes: Further attributes of the run in files; ``"means_error"`` is the largest error
            found of means by quadrature, if there are such means. Where the run leaves the
            range of that search it is the change of rates by a much finer rule, times five, if that
            is larger; it is "not known" if comparing takes long.
        enclosure: The proved balls of a run that was certified.
        error_method: How the error was found, as ``tolerance_method`` of a
            :class:`~symderiv.Trajectory`: it is an estimate, or a bound if the run was certified.
        warnings: Warnings on the accuracy of the equations, one line each.
        missed: Why the tolerance that was asked for was not reached; empty if it was.
    """

    alpha: np.ndarray
    values: Mapping[str, np.ndarray]
    cause: str
    steps: int
    rhs_evaluations: int
    error: float
    parameters: Mapping[str, float] = field(default_factory=dict)
    dimensions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    system: Any = None
    output: str | None = None
    further: Mapping[str, np.ndarray] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    missed: str = ""
    warnings: tuple[str, ...] = ()
    enclosure: Any = None
    error_method: str = ""

    def __getstate__(self) -> dict[str, Any]:
        # numbers can be sent to other processes, compiled equations cannot
        return {**self.__dict__, "system": None}

    @property
    def observables(self) -> tuple[str, ...]:
        """The names of what was observed."""
        return tuple(name for name in self.values if name not in self.dimensions)

    @property
    def message(self) -> str:
        """One line that says how the run ended."""
        reached = f"reached alpha = {self.alpha[-1]:g}" if self.alpha.size else "nothing reached"
        return self.failure() or reached

    def failure(self) -> str | None:
        """Return one line on a run that ended early or missed its tolerance; None if neither."""
        if self.cause == "done":
            return self.missed or None
        last = f" at alpha = {self.alpha[-1]:g}" if self.alpha.size else ""
        return f"the run ended early{last} ({self.cause}); what was computed before is kept"

    def _summary(self) -> Summary:
        rows: list[tuple[str, object]] = [("alpha", self.alpha)]
        if self.alpha.size:
            rows += [(f"{name} at the end", value[-1]) for name, value in self.values.items()]
        failure = self.failure()
        notes = [f"warning: {warning}" for warning in self.warnings]
        if self.enclosure is not None:
            notes.append(f"all errors at most {self.enclosure.difference:.1e} (proved)")
        notes += [] if failure is None else [self.missed or f"T{failure[1:]}."]
        return Summary("trajectory of a system", rows, notes)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as lists and numbers."""
        values = {name: value.tolist() for name, value in self.arrays().items()}
        return {
            "alpha": self.alpha.tolist(),
            **values,
            "cause": self.cause,
            **self.attributes,
            "warnings": list(self.warnings),
        }

    def to_xarray(self) -> xarray.Dataset:
        """Return the variables with named dimensions; the statement is in the attributes."""
        import xarray

        data = {
            name: (("alpha", *self.dimensions.get(name.partition(BY)[0], ())), value)
            for name, value in self.arrays().items()
        }
        lengths = {
            axis: size
            for name, value in self.values.items()
            for axis, size in zip(self.dimensions.get(name, ()), value.shape[1:], strict=True)
        }
        units = {axis: np.arange(1, size + 1) for axis, size in lengths.items()}
        attributes = {
            "title": "Order parameters of a stated learning problem, integrated",
            "Conventions": "symderiv-1",
            "kind": KIND,
            "statement": self.statement,
            "parameters": json.dumps(dict(self.parameters)),
            "end": self.cause,
            "steps": self.steps,
            "rhs_evaluations": self.rhs_evaluations,
            "error": self.error,
            "error_method": self.error_method,
            "warnings": "\n".join(self.warnings),
            "symderiv_version": __version__,
            **self.attributes,
        }
        return xarray.Dataset(data, {"alpha": ("alpha", self.alpha, TIME), **units}, attributes)

    @property
    def statement(self) -> str:
        """The JSON of the statement; empty where it is not known."""
        from symderiv.system.system_files import system_text

        return "" if self.system is None else system_text(self.system)

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Order parameters, observables and their derivatives."""
        return {**self.values, **self.further}

    def usual(self) -> tuple[str, ...]:
        """Return the names of what was observed, or of all order parameters."""
        return self.observables or tuple(self.values)

    def _check_same(self, path: Path, content: bytes) -> None:
        import h5netcdf

        with h5netcdf.File(io.BytesIO(content), "r") as file:
            if file.attrs.get("statement") == self.statement:
                return
        raise InputError(ANOTHER_RUN.format(path))

    def report(
        self, path: str | PathLike[str], *, simulation: Any = None, force: bool = False
    ) -> Path:
        """Write one HTML page: figures with their numbers, the derivation, the statement.

        Args:
            path: The file.
            simulation: The simulation of the same system, drawn beside the run.
            force: Replace a file even if symderiv did not write it.
        """
        target = Output(path, "html", force=force)
        page = drawing("symderiv.show.pages.system_page")
        written: Path = page.write_page(self, simulation, target)
        return written
