"""RUN.nc and SIM.nc: netCDF-4 through h5netcdf, written whole or not at all."""

from __future__ import annotations

import io
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv import __version__
from symderiv.dynamics.compression import Compression
from symderiv.dynamics.trajectory import Trajectory
from symderiv.errors import InputError
from symderiv.files import kind_of
from symderiv.outputs import Output, as_output
from symderiv.seals import is_sealed

if TYPE_CHECKING:
    import xarray

    # a run that simulates nothing should not compile what simulates
    from symderiv.dynamics.simulation import Simulation

# Arrays per eigenvalue up to this size are written without being asked for.
_AUTOMATIC_BYTES = 64 * 2**20

_TIME = "time, examples / input dimension"

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
    "examples": (("alpha",), "examples learnt, the whole number nearest to N alpha"),
}


def write_run(
    path: str | Path | Output,
    trajectory: Trajectory,
    *,
    per_mode: bool | None = None,
    attributes: Mapping[str, str | float | int] | None = None,
) -> Path:
    """Write an integration as ``RUN.nc``; returns the path.

    Args:
        path: the file, or the :class:`~symderiv.outputs.Output` that was made for it; replaced if
            symderiv wrote it, never left half written.
        trajectory: also one that ended early; its cause and time are in the attributes.
        per_mode: also the overlaps per eigenvalue, which makes the file L times larger; None
            writes them when they take at most 64 MB.
        attributes: more attributes of the file.

    Raises:
        InputError: the file must not be replaced, or the folder cannot be written to.
        SymderivError: the disk is full; an older file of this name is as it was.
    """
    return _write(path, *_run_contents(trajectory, per_mode, attributes))


#: Variables, lengths of the axes, attributes.
_Contents = tuple[dict[str, np.ndarray], dict[str, int], dict[str, Any]]


def _run_contents(
    t: Trajectory,
    per_mode: bool | None = None,
    attributes: Mapping[str, str | float | int] | None = None,
) -> _Contents:
    variables = {
        "alpha": t.alpha,
        "Q": t.Q,
        "R": t.R,
        "T": t.T,
        "v": t.v,
        "teacher_weights": t.teacher_weights,
        "generalization_error": t.generalization_error,
        "eigenvalue": t.initial.eigenvalue,
        "weight": t.initial.weight,
        "teacher_overlap": t.initial.teacher_overlap,
    }
    if per_mode is None:
        per_mode = t.student_overlap.nbytes + t.cross_overlap.nbytes <= _AUTOMATIC_BYTES
    if per_mode:
        variables["student_overlap"] = t.student_overlap
        variables["cross_overlap"] = t.cross_overlap
    kept: dict[str, Any] = {
        "title": "Order parameters of online learning, integrated",
        **_common_attributes(t),
        "method": t.method,
        "steps": t.steps,
        "rejected_steps": t.rejected,
        "rhs_evaluations": t.rhs_evaluations,
        "relative_tolerance": t.relative_tolerance,
        "tolerance_reached": t.tolerance_reached,
        "tolerance_method": t.tolerance_method,
        "tolerance_kept": int(t.tolerance_kept),
        "generalization_error_accuracy": t.error_accuracy,
        **_compression_attributes(t.compression),
        **t.attributes,
        **(attributes or {}),
    }
    return variables, _lengths(t.initial.K, t.initial.M, t.initial.L), kept


def _compression_attributes(compression: Compression | None) -> dict[str, Any]:
    if compression is None:
        return {"compression": "none"}
    return {
        "compression": str(compression),
        "compression_eigenvalues": compression.eigenvalues,
        "compression_nodes": compression.nodes,
        "compression_nodes_per_block": compression.nodes_per_block,
        "compression_error": compression.error,
    }


def write_simulation(
    path: str | Path | Output,
    result: Simulation,
    *,
    attributes: Mapping[str, str | float | int] | None = None,
) -> Path:
    """Write a simulation as ``SIM.nc``: means and, as ``…_standard_error``, their errors.

    The axes are those of ``RUN.nc``; the single runs are kept as ``…_run`` with an axis ``run``
    in front. See :func:`write_run` for the arguments.
    """
    return _write(path, *_simulation_contents(result, attributes))


def _simulation_contents(
    r: Simulation, attributes: Mapping[str, str | float | int] | None = None
) -> _Contents:
    variables: dict[str, np.ndarray] = {"alpha": r.alpha, "examples": r.examples}
    for name in ("Q", "R", "v", "generalization_error"):
        variables[name] = r.mean(name)
        variables[f"{name}_standard_error"] = r.standard_error(name)
        variables[f"{name}_run"] = getattr(r, name)
    variables["T"] = r.T
    variables["teacher_weights"] = r.teacher_weights
    kept: dict[str, Any] = {
        "title": "Order parameters of online learning, simulated",
        **_common_attributes(r),
        "runs": r.runs,
        "method": r.method,
        "dimension": r.dimension,
        **(attributes or {}),
    }
    K, M = r.R.shape[-2:]
    lengths = {**_lengths(K, M, r.initial.L if r.initial else 1), "run": r.runs}
    return variables, lengths, kept


def run_dataset(trajectory: Trajectory) -> xarray.Dataset:
    """An integration as a Dataset, with the names, axes and attributes of ``RUN.nc``."""
    return _dataset(*_run_contents(trajectory))


def simulation_dataset(result: Simulation) -> xarray.Dataset:
    """A simulation as a Dataset, with the names, axes and attributes of ``SIM.nc``."""
    return _dataset(*_simulation_contents(result))


def _dataset(
    variables: Mapping[str, np.ndarray], lengths: Mapping[str, int], kept: Mapping[str, Any]
) -> xarray.Dataset:
    import xarray

    time = {"long_name": _TIME, "units": "1"}
    data = {}
    for name, values in variables.items():
        if name != "alpha":
            axes, meaning = _axes(name)
            data[name] = (axes, values, {"long_name": meaning, "units": "1"})
    units = {axis: np.arange(1, count + 1) for axis, count in lengths.items() if axis != "mode"}
    return xarray.Dataset(data, {"alpha": ("alpha", variables["alpha"], time), **units}, dict(kept))


def read_run(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The variables and the attributes of ``RUN.nc`` or ``SIM.nc``.

    Raises:
        InputError: the file cannot be read, or is not, byte for byte, as symderiv wrote it.
    """
    with _opened(path) as file:
        variables = {name: np.asarray(file.variables[name][...]) for name in file.variables}
        return variables, _attributes(file)


def read_attributes(path: str | Path) -> dict[str, Any]:
    """The attributes of ``RUN.nc`` or ``SIM.nc``; as :func:`read_run`, and much faster."""
    with _opened(path) as file:
        return _attributes(file)


@contextmanager
def _opened(path: str | Path) -> Iterator[Any]:
    """The file, opened from the very bytes whose checksum was found right."""
    import h5netcdf

    path = Path(path)
    try:
        if kind := kind_of(path.stat()):
            raise InputError(f"{path}: is a {kind}, not a result")
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if not is_sealed(content):
        raise InputError(
            f"{path}: is not a result as symderiv wrote it: another program made or changed it, or "
            "a part is missing; compute it again"
        )
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


def _lengths(K: int, M: int, L: int) -> dict[str, int]:
    return {"student": K, "student_2": K, "teacher": M, "teacher_2": M, "mode": L}


def _common_attributes(result: Trajectory | Simulation) -> dict[str, Any]:
    return {
        "Conventions": "symderiv-1",
        "study": result.study_text,
        "student_activation": result.student_activation,
        "teacher_activation": result.teacher_activation,
        "solver_module": result.kernel_name,
        "solver_module_sha256": result.kernel_sha256,
        "symderiv_version": __version__,
        "python_version": platform.python_version(),
        "numpy_version": np.__version__,
        "numba_version": _version("numba"),
        "alpha_end": result.alpha_end,
        "end": result.cause,
        "message": result.message,
        "warnings": "\n".join(result.warnings),
        "wall_seconds": result.wall_seconds,
    }


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)


def _axes(name: str) -> tuple[tuple[str, ...], str]:
    base = name.removesuffix("_standard_error").removesuffix("_run")
    axes, meaning = _AXES[base]
    if name.endswith("_run"):
        return ("run", *axes), f"{meaning}; of every run"
    if name != base:
        return axes, f"{meaning}; standard error of the mean over the runs"
    return axes, meaning


def _write(
    path: str | Path | Output,
    variables: Mapping[str, np.ndarray],
    lengths: Mapping[str, int],
    attributes: Mapping[str, Any],
) -> Path:
    target = as_output(path, "nc")
    # The file is made in memory: HDF5 does not recover from a disk that fills up under it.
    content = io.BytesIO()
    _fill(content, variables, lengths, attributes)
    target.write(content.getbuffer())
    return target.path


def _fill(
    content: io.BytesIO,
    variables: Mapping[str, np.ndarray],
    lengths: Mapping[str, int],
    attributes: Mapping[str, Any],
) -> None:
    # here, because the integration itself should not wait for HDF5
    import h5netcdf

    with h5netcdf.File(content, "w") as file:
        file.dimensions = {"alpha": variables["alpha"].size, **lengths}
        alpha = file.create_variable("alpha", ("alpha",), data=variables["alpha"])
        alpha.attrs["long_name"] = _TIME
        for name, values in variables.items():
            if name == "alpha":
                continue
            axes, meaning = _axes(name)
            variable = file.create_variable(name, axes, data=values)
            variable.attrs["long_name"] = meaning
        for name, value in attributes.items():
            file.attrs[name] = value
