"""Read files that symderiv has written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.api.problem import Problem
from symderiv.api.results.equations.verified import Verdicts
from symderiv.experiment.studies.simulation import Simulation
from symderiv.foundation.drawing import drawing
from symderiv.foundation.errors import InputError
from symderiv.foundation.files import why_unread
from symderiv.foundation.keeping import KEPT
from symderiv.foundation.named_arguments import public
from symderiv.foundation.packing import families_of, field_named
from symderiv.integrate.flows.compression import Compression
from symderiv.integrate.flows.trajectory import Trajectory
from symderiv.problem.state import State, load_state, unchecked_state
from symderiv.storage.learning_curves import facts_of
from symderiv.storage.run_files import BY, GIVEN_START, START, of_rules, read_run
from symderiv.system.system_trajectory import KIND, SystemRun

if TYPE_CHECKING:
    import xarray

    from symderiv.api.stated import System
    from symderiv.sweeps.sweep_result import Sweep


@public
def open_file(
    path: str | PathLike[str],
) -> (
    Trajectory
    | Simulation
    | State
    | Problem
    | Verdicts
    | Sweep
    | System
    | SystemRun
    | xarray.Dataset
):
    """Read a file that symderiv has written.

    Args:
        path: ``RUN.nc`` gives a :class:`Trajectory`, ``SIM.nc`` a :class:`Simulation`, a state file
            ``.npz`` a :class:`State`, a study ``.toml`` a :class:`Problem`, ``ledger.json`` the
            :class:`Verdicts` in it, the JSON file of a :class:`System` gives that system, the file
            of ``run.save`` gives that run, and the store of a sweep gives a :class:`Sweep`. What
            an ensemble, a sweep, a map or :class:`Forgetting` saved gives its xarray Dataset. If
            the file of a trajectory holds no overlaps per eigenvalue, the result has not-a-number
            instead.

    Raises:
        InputError: the file cannot be read, or is none of these.

    >>> import symderiv as sd, tempfile, os
    >>> problem = sd.Problem("erf", students=1, teachers=1, learning_rate=1, inputs=sd.Isotropic(9))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = problem.solve(end=1, output=os.path.join(folder, "run.nc"))
    ...     again = sd.open(run.output)
    >>> bool((again.Q == run.Q).all())
    True
    """
    path = Path(path)
    ending = path.suffix.lower()
    if path.is_dir() and not _is_run(path):
        from symderiv.sweeps.sweep_result import Sweep

        return Sweep.at(path)
    if ending == ".nc" or path.is_dir():
        return _of_netcdf(path)
    if ending == ".npz":
        return load_state(path)
    if ending == ".toml":
        return Problem.from_toml(path)
    if ending == ".json":
        return _system_or_ledger(path)
    raise InputError(
        f"{path.name}: must end in .nc, .npz, .toml or .json, or be a sweep's store, to be opened",
        argument="path",
    )


def _of_netcdf(path: Path) -> Trajectory | Simulation | SystemRun | xarray.Dataset:
    """Return the run, simulation or dataset in a netCDF file or a Zarr group."""
    variables, attributes = read_run(path)
    if attributes.get("kind") == KIND:
        return _system_run(path, variables, attributes)
    if "relative_tolerance" in attributes:
        return _trajectory(path, variables, attributes)
    if "runs" in attributes and "dimension" in attributes:
        return _simulation(path, variables, attributes)
    if KEPT in attributes:
        return _dataset(path)
    raise InputError(f"{path.name}: is neither a RUN nor a SIM file", argument="path")


def _is_run(folder: Path) -> bool:
    """Return whether a Zarr group is a saved run rather than the store of a sweep."""
    try:
        attributes = json.loads((folder / "zarr.json").read_text())["attributes"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    known = {"relative_tolerance", "dimension", "kind"} & set(attributes)
    return KEPT in attributes or (bool(known) and "end" in attributes)


def _dataset(path: Path) -> xarray.Dataset:
    """Return the dataset of a sweep, map, ensemble or tasks, with its methods for drawing."""
    import xarray

    if path.is_dir():
        dataset = xarray.load_dataset(path, engine="zarr", consolidated=False)
    else:
        dataset = xarray.load_dataset(path, engine="h5netcdf")
    runs: xarray.Dataset = drawing("symderiv.sweeps.many_runs").as_runs(dataset)
    return runs


def _system_or_ledger(path: Path) -> System | Verdicts:
    """Return the system or the ledger in a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return _ledger(path)
    if '"symderiv-system"' not in text[:200]:
        return _ledger(path)
    from symderiv.api.stated import System
    from symderiv.system.system_files import read_system

    try:
        return read_system(text, System())  # type: ignore[no-any-return]
    except InputError as error:
        raise error.inside(path.name) from None


def _system_run(
    path: Path, variables: dict[str, np.ndarray], attributes: dict[str, Any]
) -> SystemRun:
    """Return the run of a system with its statement, from the variables of a file."""
    import xarray

    from symderiv.api.stated import System
    from symderiv.system.system_files import read_system

    with xarray.open_dataset(path, engine="h5netcdf") as data:
        dims = {str(name): tuple(map(str, data[name].dims[1:])) for name in data.data_vars}
    system = read_system(attributes["statement"], System()) if attributes["statement"] else None
    observed = () if system is None else tuple(system.statement.observables)
    return SystemRun(
        variables["alpha"],
        {name: variables[name] for name in dims if BY not in name},
        str(attributes["end"]),
        int(attributes["steps"]),
        int(attributes["rhs_evaluations"]),
        float(attributes["error"]),
        json.loads(attributes["parameters"]),
        {name: axes for name, axes in dims.items() if name not in observed and BY not in name},
        system,
        str(path),
        {name: variables[name] for name in dims if BY in name},
        {name: str(attributes[name]) for name in ("events", "means_error") if name in attributes},
        warnings=tuple(filter(None, str(attributes.get("warnings", "")).split("\n"))),
        error_method=str(attributes.get("error_method", "")),
    )


def _ledger(path: Path) -> Verdicts:
    from symderiv_ledger.papers.ledger import read_ledger

    try:
        records = read_ledger(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {why_unread(path, error)}", argument="path") from None
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
        raise InputError(f"{path.name}: is not a ledger", argument="path") from None
    unsettled = sum(record["verdict"] == "unsettled" for record in records)
    return Verdicts(records, unsettled, in_full=False)


def _state(
    variables: dict[str, np.ndarray],
    *moving: np.ndarray,
    further: Mapping[str, np.ndarray] | None = None,
) -> State:
    """Return a state with these overlaps per eigenvalue and output weights of the students, and
    what a rule adds.
    """
    students, cross, weights = moving
    return unchecked_state(
        variables["eigenvalue"],
        variables["weight"],
        students,
        cross,
        variables["teacher_overlap"],
        variables["T"],
        weights,
        variables["teacher_weights"],
        further=further,
    )


def _trajectory(
    path: Path, variables: dict[str, np.ndarray], attributes: dict[str, Any]
) -> Trajectory:
    if not variables["alpha"].size:
        raise InputError(f"{path.name}: the run reached none of its times", argument="path")
    P, K, M = variables["R"].shape
    L = variables["eigenvalue"].size
    students = variables.get("student_overlap", np.full((P, L, K, K), np.nan))
    cross = variables.get("cross_overlap", np.full((P, L, K, M), np.nan))
    weights = variables["v"]
    compression = None
    if attributes["compression"] != "none":
        compression = Compression(
            int(attributes["compression_eigenvalues"]),
            int(attributes["compression_nodes"]),
            int(attributes["compression_nodes_per_block"]),
            float(attributes["compression_error"]),
        )
    facts: dict[str, Any] = {
        name: value
        for name, value in attributes.items()
        if name.startswith("activation_") or name == "events"
    }
    arrays: dict[str, Any] = {name: variables[name] for name in Trajectory.ARRAYS}
    return Trajectory(
        **arrays,
        student_overlap=students,
        cross_overlap=cross,
        initial=_first(variables, students, cross, str(attributes.get(GIVEN_START, "")).split()),
        final=_state(
            variables, students[-1], cross[-1], weights[-1], further=_added(variables, -1)
        ),
        compression=compression,
        attributes=facts,
        further=_further(variables, ""),
        output=str(path),
        **facts_of(Trajectory, attributes),
    )


def _start(variables: dict[str, np.ndarray]) -> State | None:
    """Return the initial state of a simulation; files of earlier versions do not have it."""
    if START[-1] not in variables:
        return None
    return _state(variables, *(variables[name] for name in START))


def _first(
    variables: dict[str, np.ndarray],
    students: np.ndarray,
    cross: np.ndarray,
    given: list[str],
) -> State:
    """Return the start of a run, of which ``given`` names what a rule adds.

    Files of earlier versions have it only if it is the first row.
    """
    begins = variables["alpha"][0] == 0.0
    moving: tuple[np.ndarray, ...] = students[0], cross[0], variables["v"][0]
    if START[-1] in variables:
        moving = tuple(variables[name] for name in START)
    elif not begins:
        moving = tuple(np.full(each.shape, np.nan) for each in moving)
    added = _added(variables, 0) if begins else {}
    further = {name: added.get(name, np.array(np.nan)) for name in given}
    return _state(variables, *moving, further=further)


def _added(variables: dict[str, np.ndarray], row: int) -> dict[str, np.ndarray]:
    """Return what a rule adds to a state at a time of a file; not a number where the file has only
    sums over eigenvalues, or nothing.
    """
    added = {"b": variables["b"][row]} if "b" in variables else {}
    weight, variance = variables["weight"], variables["weight"] * variables["eigenvalue"]
    for name in variables:
        if name in ("P", "W", "C") or ("." in name and BY not in name):
            field = field_named(name)
            share = weight if families_of(field)[1] == "B" else variance
            share = share if share.size == 1 else np.full(share.size, np.nan)
            added[field] = variables[name][row][..., None] / share
    if "P" in variables:
        # files have no velocities of output weights and biases
        fixed = len(variables["v"]) > 1 and not np.ptp(variables["v"], axis=0).any()
        size = variables["v"].shape[1:]
        added |= {
            "v_velocity": np.full(size, 0.0 if fixed else np.nan),
            "b_velocity": np.full(size, np.nan),
        }
    return added


def _further(variables: dict[str, np.ndarray], ending: str) -> dict[str, np.ndarray]:
    """Return the arrays that a learning rule adds, and the derivatives, of a file."""
    derivatives = {name: values for name, values in variables.items() if BY in name}
    rule = {
        name.removesuffix(ending): values
        for name, values in variables.items()
        if name.endswith(ending) and of_rules(name.removesuffix(ending))
    }
    return rule | derivatives


def _simulation(
    path: Path, variables: dict[str, np.ndarray], attributes: dict[str, Any]
) -> Simulation:
    return Simulation(
        Q=variables["Q_run"],
        R=variables["R_run"],
        v=variables["v_run"],
        generalization_error=variables["generalization_error_run"],
        further=_further(variables, "_run"),
        alpha=variables["alpha"],
        examples=variables["examples"],
        T=variables["T"],
        teacher_weights=variables["teacher_weights"],
        initial=_start(variables),
        output=str(path),
        **facts_of(Simulation, attributes),
    )
