"""What trajectories and simulations have in common: learning curves that are shown and kept."""

from __future__ import annotations

import platform
import tomllib
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from symderiv import __version__
from symderiv.foundation.drawing import drawing
from symderiv.foundation.outputs import Output
from symderiv.foundation.showing import Shown, Summary
from symderiv.storage.forgetting import Forgetting, forgetting_of
from symderiv.storage.run_files import Contents, dataset, write

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Curves(Shown):
    """Learning curves: order parameters and the error over time, and how they came about.

    Args:
        alpha: times reached, ascending, shape (P,).
        alpha_end: the time of the last step that was made.
        cause: "done", or why the run ended early.
        message: one line that says how the run ended.
        attributes: more attributes of the file that :meth:`save` writes.
        output: the file it was written to, if any.
        by_default: the values that nobody gave, as :attr:`symderiv.Problem.by_default`.
        further: what a learning rule has beside, by name: ``b`` (P, K); ``P``, ``W`` (P, K, K),
            ``C`` (P, K, M) of velocities; ``heads`` (P, H, K); ``task_error`` (P, tasks);
            ``noisy_error``, ``mean_loss`` (P,). Each can be asked for as an attribute.
    """

    alpha: np.ndarray
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
    attributes: dict[str, str | float] = field(default_factory=dict)
    output: str | None = None
    by_default: str = ""
    further: Mapping[str, np.ndarray] = field(default_factory=dict)

    #: Of the file.
    TITLE: ClassVar[str]

    def __getattr__(self, name: str) -> np.ndarray:
        # what is being made, by pickle for one, has no ``further`` yet
        found: np.ndarray | None = self.__dict__.get("further", {}).get(name)
        if found is None:
            raise AttributeError(f"a {type(self).__name__} of this rule has no {name!r}")
        return found

    @abstractmethod
    def contents(self) -> Contents:
        """Return what the result's file holds."""

    def failure(self) -> str | None:
        """Return what was asked for and not reached, in one line; None if nothing."""
        if self.cause == "done":
            return None
        return f"{self.message}; what was computed before is kept"

    def _document(self) -> Summary:
        found = self.to_dict()
        warnings = [("warning", warning) for warning in found.pop("warnings", ())]
        return Summary(rows=[*((n.replace("_", " "), v) for n, v in found.items()), *warnings])

    def plot(self, *others: Any, ax: Axes | None = None) -> Axes:
        """Draw ε_g(α); ``others`` are drawn into the same axes.

        Args:
            others: :class:`Trajectory` as lines, :class:`Simulation` as means with standard errors.
            ax: Matplotlib axes to draw into; None makes new ones.

        Returns:
            The axes.
        """
        axes: Axes = drawing("axes").error_axes([self, *others], ax)
        return axes

    def forgetting(self) -> Forgetting:
        """Return what was forgotten of each task, and what the tasks before it did for it.

        Ask for the times of the switches: times of the run that are nearest to them from before
        are used.

        Raises:
            InputError: the problem has no tasks, or alpha = 0 is not among the times.
        """
        errors = self.further.get("task_error")
        if errors is not None and errors.ndim == 3:
            errors = errors.mean(axis=0)
        tasks = tomllib.loads(self.study_text).get("task", [])
        return forgetting_of(self.alpha, errors, tasks)

    def to_xarray(self) -> xarray.Dataset:
        """Return the variables of the file with named dimensions, units and meanings."""
        return dataset(self.contents())

    def save(self, path: str | PathLike[str] | Output, *, force: bool = False) -> Self:
        """Write the netCDF file, whole or not at all; :func:`symderiv.open` reads it.

        Args:
            path: the file; its folder is made if needed.
            force: replace a file also if symderiv did not write it.

        Returns:
            The same result, which knows where it was written.
        """
        target = path if isinstance(path, Output) else Output(path, "nc", force=force)
        return replace(self, output=str(write(target, self.contents())))

    def _common_attributes(self) -> dict[str, Any]:
        from importlib.metadata import version

        return {
            "title": self.TITLE,
            "Conventions": "symderiv-1",
            "study": self.study_text,
            "by_default": self.by_default,
            "student_activation": self.student_activation,
            "teacher_activation": self.teacher_activation,
            "solver_module": self.kernel_name,
            "solver_module_sha256": self.kernel_sha256,
            "symderiv_version": __version__,
            "python_version": platform.python_version(),
            "numpy_version": np.__version__,
            "numba_version": version("numba"),
            "alpha_end": self.alpha_end,
            "end": self.cause,
            "message": self.message,
            "warnings": "\n".join(self.warnings),
            "wall_seconds": self.wall_seconds,
        }


def lengths(K: int, M: int, L: int, further: Mapping[str, np.ndarray]) -> dict[str, int]:
    """Return those of the axes of a result file: students, teachers, eigenvalues, tasks and their
    heads.
    """
    found = {"student": K, "student_2": K, "teacher": M, "teacher_2": M, "mode": L}
    for axis, name, place in (("head", "heads", -2), ("task", "task_error", -1)):
        if name in further:
            found[axis] = further[name].shape[place]
    return found
