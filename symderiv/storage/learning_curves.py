"""The common base of trajectories and simulations: learning curves, shown and saved."""

from __future__ import annotations

import platform
import tomllib
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from symderiv import __version__
from symderiv.foundation.documents.document import Part, Summary
from symderiv.foundation.drawing import drawing
from symderiv.foundation.nearest import did_you_mean
from symderiv.foundation.outputs import Output
from symderiv.foundation.showing import whole_rows
from symderiv.storage.curve_results import CurveResult
from symderiv.storage.forgetting import Forgetting, forgetting_of
from symderiv.storage.run_files import Contents, axes_of, check_same, dataset, write

if TYPE_CHECKING:
    import xarray

# arrays over time in files that are not drawn
_NO_CURVES = ("alpha", "examples", "student_overlap", "cross_overlap")
# what attributes of files are called that have not the names of their fields
_NAMES = {
    "study_text": "study",
    "kernel_name": "solver_module",
    "kernel_sha256": "solver_module_sha256",
    "cause": "end",
    "rejected": "rejected_steps",
    "error_accuracy": "generalization_error_accuracy",
}
_KINDS: Mapping[str, type] = {kind.__name__: kind for kind in (bool, int, float, str)}


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Curves(CurveResult):
    """Learning curves: order parameters and the error over time, and how they came about.

    Args:
        alpha: times reached, ascending, shape (P,).
        Q, R, v, generalization_error: arrays over time, of simulations with an axis of runs first.
        T, teacher_weights: shapes (M, M), (M,).
        alpha_end: the time of the last step that was made.
        cause: "done", or why the run ended early.
        message: one line that says how the run ended.
        attributes: more attributes of the file that :meth:`save` writes.
        output: the file it was written to, if any.
        by_default: the values that nobody gave, as :attr:`symderiv.Problem.by_default`.
        further: what a learning rule has beside, by name: ``b`` (P, K); ``P``, ``W`` (P, K, K),
            ``C`` (P, K, M) of velocities; ``heads`` (P, H, K); ``task_error`` (P, tasks);
            ``noisy_error``, ``mean_loss`` (P,). Each can be asked for as an attribute.
        origin: the problem that was solved, where it is known; see :attr:`problem`.
    """

    alpha: np.ndarray
    Q: np.ndarray
    R: np.ndarray
    v: np.ndarray
    generalization_error: np.ndarray
    T: np.ndarray
    teacher_weights: np.ndarray
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
    origin: Any = None

    #: The title of the file, and the fields that it keeps as attributes.
    TITLE: ClassVar[str]
    FACTS: ClassVar[tuple[str, ...]] = (
        *("study_text", "by_default", "student_activation", "teacher_activation", "kernel_name"),
        *("kernel_sha256", "alpha_end", "cause", "message", "wall_seconds"),
    )

    def __getattr__(self, name: str) -> np.ndarray:
        # an object in the making, for instance by pickle, has no ``further`` yet
        values: np.ndarray | None = self.__dict__.get("further", {}).get(name)
        if values is None:
            meant = did_you_mean(name, (*vars(self), *self.__dict__.get("further", {})))
            raise AttributeError(f"a {type(self).__name__} of this rule has no {name!r}{meant}")
        return values

    @abstractmethod
    def contents(self) -> Contents:
        """Return the content of the result's file."""

    def failure(self) -> str | None:
        """Return in one line what was not reached, or None if everything was."""
        if self.cause == "done":
            return None
        return f"{self.message}; what was computed before is kept"

    def _document(self) -> Summary | Part:
        record = self.to_dict()
        record.pop("events", None)
        warnings = [("warning", warning) for warning in record.pop("warnings", ())]
        rows = [(n.replace("_", " "), v) for n, v in record.items()]
        return Summary(rows=[*rows, *whole_rows("by default", self.by_default), *warnings])

    @property
    def problem(self) -> Any:
        """The :class:`symderiv.Problem` that was solved, with the times of this run.

        Raises:
            InputError: the run comes from a file, and files or large arrays that its study
                names are not there.
        """
        if self.origin is not None:
            return self.origin
        return drawing("symderiv.api.problem").Problem.from_toml(self.study_text)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the order parameters, the error and arrays of the rule, as the file has them."""
        variables = self.contents().variables
        curves = {name: value for name, value in variables.items() if name not in _NO_CURVES}
        return {n: value for n, value in curves.items() if axes_of(n)[0][0] == "alpha"}

    def usual(self) -> tuple[str, ...]:
        """Return the name of the generalisation error."""
        return ("generalization_error",)

    def forgetting(self) -> Forgetting:
        """Return how much of each task was forgotten, and how much earlier tasks helped it.

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

    def _write_netcdf(self, target: Output) -> None:
        write(target, self.contents())

    def _check_same(self, path: Path, content: bytes) -> None:
        check_same(path, content, self.TITLE, self.study_text)

    def _common_attributes(self) -> dict[str, Any]:
        from importlib.metadata import version

        facts = {name: getattr(self, name) for name in self.FACTS}
        return {
            "title": self.TITLE,
            "Conventions": "symderiv-1",
            "symderiv_version": __version__,
            "python_version": platform.python_version(),
            "numpy_version": np.__version__,
            "numba_version": version("numba"),
            "warnings": "\n".join(self.warnings),
            # HDF5 has no type of its own for true and false
            **{_named(n): int(f) if isinstance(f, bool) else f for n, f in facts.items()},
        }


def facts_of(kind: type[Curves], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a result that its file has as attributes; older files lack some.

    Args:
        kind: the class of the result.
        attributes: the attributes of the file.
    """
    stated = [each for each in fields(kind) if each.name in kind.FACTS]
    given = [(each, attributes.get(_named(each.name))) for each in stated]
    facts = {each.name: _KINDS[str(each.type)](f) for each, f in given if f is not None}
    return {**facts, "warnings": tuple(filter(None, str(attributes["warnings"]).split("\n")))}


def _named(field: str) -> str:
    return _NAMES.get(field, field)


def lengths(K: int, M: int, L: int, further: Mapping[str, np.ndarray]) -> dict[str, int]:
    """Return the lengths of a result file's axes: students, teachers, modes, tasks, heads."""
    sizes = {"student": K, "student_2": K, "teacher": M, "teacher_2": M, "mode": L}
    for axis, name, place in (("head", "heads", -2), ("task", "task_error", -1)):
        if name in further:
            sizes[axis] = further[name].shape[place]
    return sizes
