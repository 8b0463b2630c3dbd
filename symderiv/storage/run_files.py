"""RUN.nc and SIM.nc: netCDF-4 through h5netcdf, written whole or not at all."""

from __future__ import annotations

import io
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.files import kind_of, why_unread
from symderiv.foundation.keeping import ANOTHER_RUN
from symderiv.foundation.outputs import Output, as_output
from symderiv.foundation.seals import is_sealed

if TYPE_CHECKING:
    import xarray

    from symderiv.problem.state import State

TIME = {"long_name": "time, examples / input dimension", "units": "1"}
"""The attributes of the axis of times."""

# variable: (axes, meaning)
_AXES: dict[str, tuple[tuple[str, ...], str]] = {
    "Q": (("alpha", "student", "student_2"), "E[x_i x_j], student-student overlap"),
    "R": (("alpha", "student", "teacher"), "E[x_i y_n], student-teacher overlap"),
    "T": (("teacher", "teacher_2"), "E[y_n y_m], teacher covariance"),
    "v": (("alpha", "student"), "second-layer weights of the student"),
    "teacher_weights": (("teacher",), "second-layer weights of the teacher"),
    "generalization_error": (("alpha",), "E[(noiseless student - teacher)^2] / 2"),
    "eigenvalue": (("mode",), "distinct eigenvalues rho_k of the input covariance"),
    "weight": (("mode",), "multiplicity of the eigenvalue over N"),
    "student_overlap": (
        ("alpha", "mode", "student", "student_2"),
        "Q_k, mean of J_i J_j over the coordinates of an eigenspace",
    ),
    "cross_overlap": (
        ("alpha", "mode", "student", "teacher"),
        "r_k, mean of J_i phi_n over the coordinates of an eigenspace",
    ),
    "teacher_overlap": (
        ("mode", "teacher", "teacher_2"),
        "t_k, mean of phi_n phi_m over the coordinates of an eigenspace",
    ),
    "initial_student_overlap": (
        ("mode", "student", "student_2"),
        "Q_k of the start that all runs share",
    ),
    "initial_cross_overlap": (
        ("mode", "student", "teacher"),
        "r_k of the start that all runs share",
    ),
    "initial_weights": (("student",), "second-layer weights of the start"),
    "b": (("alpha", "student"), "biases of the student"),
    "P": (("alpha", "student", "student_2"), "E[u_i x_j], u the fields of velocities U = N V"),
    "W": (("alpha", "student", "student_2"), "E[u_i u_j]"),
    "C": (("alpha", "student", "teacher"), "E[u_i y_n]"),
    "heads": (("alpha", "head", "student"), "second-layer weights of all heads of the student"),
    "task_error": (("alpha", "task"), "E[(noiseless student - teacher)^2] / 2 in each task"),
    "noisy_error": (("alpha",), "E[(student at noisy inputs - teacher)^2] / 2"),
    "mean_loss": (("alpha",), "E[loss(noiseless student, teacher)]"),
    "examples": (("alpha",), "examples learnt, the whole number nearest to N alpha"),
}

NUMBERS = {
    "status": "how the run ended: done, or why it ended early; empty: not computed",
    "alpha_end": "time of the last step that was made",
    "tolerance_reached": "estimate of the largest error of Q, R and v (of all order parameters of "
    "a system), relative; not a number without a second run",
    "error_accuracy": "estimate of the largest error of the generalisation error, relative to it; "
    "not a number without a second run",
    "error_sum": "sum of the estimated local errors of the steps, relative; what they have grown "
    "to is not in it",
    "steps": "steps that were made",
    "rhs_evaluations": "evaluations of the equations",
    "wall_seconds": "seconds of the run on its thread",
}
"""The variables that collections of runs have for each run, and their meanings."""

FIELDS_OF_RUNS = {name.replace("error_sum", "local_error_sum"): name for name in NUMBERS}
"""The names of these variables in datasets, and in chunks of runs."""

MORE_OF_RULES = ("b", "P", "W", "C", "heads", "task_error", "noisy_error", "mean_loss")
"""The variables that only runs with a learning rule have, besides overlaps of two families such as
``A.B``."""


def of_rules(name: str) -> bool:
    """Return whether only runs with a learning rule have a variable of this name."""
    return name in MORE_OF_RULES or "." in name


GIVEN_START = "initial_further"
"""The attribute that names the arrays of a rule with which a run was asked to begin."""

BY = "_by_"
"""The text between the name of an array and that of the number it was differentiated by."""


@dataclass(frozen=True)
class Contents:
    """The content of a result file.

    Args:
        variables: the variables by their names in the file.
        lengths: the lengths of the axes "student", "student_2", "teacher", "teacher_2", "mode",
            "run".
        attributes: the attributes of the file.
    """

    variables: Mapping[str, np.ndarray]
    lengths: Mapping[str, int]
    attributes: Mapping[str, Any]


def write(path: str | Path | Output, contents: Contents) -> Path:
    """Write a result file; return the path.

    Args:
        path: the file, or its :class:`~symderiv.foundation.outputs.Output`; it is replaced if
        symderiv wrote it, and never left half written.
        contents: the content of the file.

    Raises:
        InputError: the file must not be replaced, or the folder cannot be written to.
        SymderivError: the disk is full; an older file of this name is unchanged.
    """
    target = as_output(path, "nc")
    # The file is made in memory, because HDF5 does not recover from a full disk.
    content = io.BytesIO()
    _fill(content, contents)
    target.write(content.getbuffer())
    return target.path


def dataset(contents: Contents) -> xarray.Dataset:
    """Return the content in memory, with the names, axes and attributes of the file."""
    import xarray

    data = {}
    for name, values in contents.variables.items():
        if name != "alpha":
            axes, meaning = axes_of(name)
            data[name] = (axes, values, {"long_name": meaning, "units": "1"})
    units = {
        axis: np.arange(1, count + 1) for axis, count in contents.lengths.items() if axis != "mode"
    }
    alpha = ("alpha", contents.variables["alpha"], TIME)
    return xarray.Dataset(data, {"alpha": alpha, **units}, dict(contents.attributes))


def read_run(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the variables and the attributes of ``RUN.nc`` or ``SIM.nc``, or of a Zarr group.

    Raises:
        InputError: the file cannot be read, or is not, byte for byte, as symderiv wrote it; a Zarr
            group has no checksum.
    """
    if Path(path).is_dir():
        import xarray

        with xarray.open_zarr(path, consolidated=False) as data:
            return {str(name): data[name].values for name in data.variables}, dict(data.attrs)
    with _opened(path) as file:
        variables = {name: np.asarray(file.variables[name][...]) for name in file.variables}
        return variables, _attributes(file)


def check_same(path: Path, content: bytes, title: str, study_text: str) -> None:
    """Refuse to replace a file that contains another run.

    A run of the same problem to another end, at other times or with more digits is the same.

    Args:
        path: the file, for the message.
        content: its bytes, whose seal is intact.
        title: the title of the result that would replace it.
        study_text: the study text of that result.

    Raises:
        InputError: the file contains another kind of result, or that of another problem.
    """
    try:
        with _read(path, content) as file:
            held = _attributes(file)
    except InputError:
        held = {}
    if held.get("title") == title and _learning(held.get("study", "")) == _learning(study_text):
        return
    raise InputError(ANOTHER_RUN.format(path))


def _learning(study_text: str) -> dict[str, Any]:
    """Return the part of a study that determines learning: all but times and accuracy."""
    tables = tomllib.loads(study_text)
    return {name: table for name, table in tables.items() if name not in ("time", "simulation")}


def start_variables(start: State) -> dict[str, np.ndarray]:
    """Return the variables that hold the start of a run."""
    moving = start.student_overlap, start.cross_overlap, start.student_weights
    return dict(zip(START, moving, strict=True))


START = "initial_student_overlap", "initial_cross_overlap", "initial_weights"
"""The variables of the start of a run."""


@contextmanager
def _opened(path: str | Path) -> Iterator[Any]:
    """Yield a file that is opened from exactly the bytes whose checksum was verified."""

    path = Path(path)
    try:
        if kind := kind_of(path.stat()):
            raise InputError(f"{path}: is a {kind}, not a result")
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {why_unread(path, error)}") from None
    if not is_sealed(content):
        raise InputError(
            f"{path}: is not a complete result of symderiv: another program wrote or changed it, "
            "or a part is missing; compute it again"
        )
    with _read(path, content) as file:
        yield file


@contextmanager
def _read(path: Path, content: bytes) -> Iterator[Any]:
    """Yield the netCDF file in these bytes."""
    import h5netcdf

    try:
        with h5netcdf.File(io.BytesIO(content), "r") as file:
            yield file
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as netCDF-4 ({error})") from None


def _attributes(file: Any) -> dict[str, Any]:
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in file.attrs.items()
    }


def axes_of(name: str) -> tuple[tuple[str, ...], str]:
    """Return the axes of a variable in result files, and its meaning."""
    differentiated, _, by = name.partition(BY)
    if by:
        axes, meaning = axes_of(differentiated)
        return axes, f"{meaning}; derivative by {by}"
    base = name.removesuffix("_standard_error").removesuffix("_run")
    axes, meaning = _AXES[base] if base in _AXES else _of_overlap(base)
    if name.endswith("_run"):
        return ("run", *axes), f"{meaning}; of every run"
    if name != base:
        return axes, f"{meaning}; standard error of the mean over the runs"
    return axes, meaning


def _of_overlap(name: str) -> tuple[tuple[str, ...], str]:
    """Return axes and meaning of an overlap of two families of vectors that a rule adds.

    ``A.B`` is one of averages of the students with the teachers, ``J.A`` one with the students.
    """
    first, second = name.split(".")
    columns = "teacher" if second == "B" else "student_2"
    return ("alpha", "student", columns), f"overlap of the weights {first} and {second}"


def listed(name: str, given: Any) -> list[Any]:
    """Return a list of values for a collection of runs.

    Raises:
        InputError: The values are not a list, or it is empty.
    """
    if isinstance(given, str | bytes | Mapping) or not hasattr(given, "__iter__"):
        raise InputError(f"must be a list of values; give {name}=[…]", argument=name)
    if not (values := list(given)):
        raise InputError("must be a list of at least one value", argument=name)
    return values


def labels_of(values: Sequence[Any]) -> np.ndarray:
    """Return values as labels of a dimension: numbers and texts as they are, the rest as texts."""
    if all(isinstance(each, bool | int | float | str | np.generic) for each in values):
        labels = np.array(values)
        if labels.dtype.kind in "biufU":
            return labels
    return np.array([str(each) for each in values])


def _fill(file_in_memory: io.BytesIO, contents: Contents) -> None:
    # here, because an integration should not wait for HDF5 to load
    import h5netcdf

    variables = contents.variables
    with h5netcdf.File(file_in_memory, "w") as file:
        file.dimensions = {"alpha": variables["alpha"].size, **contents.lengths}
        alpha = file.create_variable("alpha", ("alpha",), data=variables["alpha"])
        alpha.attrs["long_name"] = TIME["long_name"]
        for name, values in variables.items():
            if name == "alpha":
                continue
            axes, meaning = axes_of(name)
            variable = file.create_variable(name, axes, data=values)
            variable.attrs["long_name"] = meaning
        for name, value in contents.attributes.items():
            file.attrs[name] = value
