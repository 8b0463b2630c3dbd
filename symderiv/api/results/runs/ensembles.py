"""Many runs of one problem as a labelled dataset: a grid that is kept in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from symderiv import __version__
from symderiv.api.arguments.argument_names import naming_arguments
from symderiv.foundation.drawing import drawing
from symderiv.foundation.errors import InputError, check_one_of, check_whole
from symderiv.foundation.limits import check_memory, check_threads
from symderiv.foundation.progress import Tell
from symderiv.foundation.showing import plain
from symderiv.integrate.flows.trajectory import ESTIMATED
from symderiv.problem.key_names import by_key, study_key
from symderiv.problem.study import Study
from symderiv.storage.run_files import FIELDS_OF_RUNS, NUMBERS, TIME, axes_of, labels_of, listed
from symderiv.sweeps.box_results import INTERRUPTED, SCALARS, put
from symderiv.sweeps.run_grid import RunGrid
from symderiv.sweeps.study_grid import Grid
from symderiv.sweeps.swept_keys import Axis
from symderiv.sweeps.system_grid import SweptSystem, SystemGrid

if TYPE_CHECKING:
    import xarray

_AXES = ("alpha", "student", "student_2", "teacher", "teacher_2", "head", "task")


def check_run(max_steps: int | None, check: str) -> None:
    """Raise an error if the limit of steps, or the measure of errors, is none."""
    check_one_of("check", check, ("auto", "never"))
    if max_steps is not None:
        check_whole("max_steps", max_steps, 1)


def ensemble_of(
    study: Study,
    lists: Mapping[str, Sequence[Any]],
    threads: int | None,
    max_steps: int | None,
    check: Literal["auto", "never"],
    update: Tell,
    notice: Callable[[str], None] | None,
) -> xarray.Dataset:
    """Integrate a study for every combination of values; see :meth:`symderiv.Problem.ensemble`."""
    check_run(max_steps, check)
    values = _checked(lists)
    keyed = dict(zip(by_key(values), values.items(), strict=True))
    axes = tuple(
        Axis(key, name, tuple(one if key == "data" else plain(one, finite=False) for one in each))
        for key, (name, each) in keyed.items()
    )
    options = {"max_steps": 100_000_000 if max_steps is None else max_steps, "check": check}
    with naming_arguments():
        grid = Grid.of_ensemble(study, axes, {**options, "notice": notice})
    labels: dict[str, Any] = {
        name: (name, labels_of(each), {"key": key}) for key, (name, each) in keyed.items()
    }
    attributes = {
        "title": "Order parameters of online learning, integrated: an ensemble",
        "study": study.text,
        "symderiv_version": __version__,
        "tolerance_method": ESTIMATED,
    }
    return _integrated(grid, labels, threads, update).assign_attrs(attributes)


def system_ensemble(
    swept: SweptSystem, lists: Mapping[str, Sequence[Any]], threads: int | None, update: Tell
) -> xarray.Dataset:
    """Integrate a system for every combination of values; see :meth:`symderiv.System.ensemble`.

    Raises:
        InputError: A value is not a list, or a name is not that of something that can vary.
    """
    if not lists:
        raise InputError("are missing; give a list of values, as eta=[0.1, 0.2]", argument="lists")
    keys = {name: swept.varied.key_of(name) for name in lists}
    values = {name: listed(name, given) for name, given in lists.items()}
    axes = tuple(Axis(key, name, tuple(values[name])) for name, key in keys.items())
    labels: dict[str, Any] = {name: (name, labels_of(each), {}) for name, each in values.items()}
    attributes = {"relative_tolerance": swept.wanted.relative_tolerance}
    return _integrated(SystemGrid(swept, axes), labels, threads, update).assign_attrs(attributes)


def _checked(lists: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Return the lists of values; refuse names that cannot vary."""
    checked = {}
    for name, given in lists.items():
        if name.startswith(("time", "simulation")):
            raise InputError(
                "must be the same for all runs of an ensemble; give one value", argument=name
            )
        if name in _AXES:
            raise InputError("is the name of another dimension of the result", argument=name)
        study_key(name)
        checked[name] = listed(name, given)
    if not checked:
        raise InputError(
            "is missing: an ensemble needs at least one list of values, such as seed=range(100)",
            argument="lists",
        )
    return checked


def _integrated(
    grid: RunGrid, labels: Mapping[str, Any], threads: int | None, update: Tell
) -> xarray.Dataset:
    """Return all runs of a grid, one dimension per list; runs of smaller sizes are padded."""
    import xarray

    count, (_, alpha, inner) = len(grid), grid.extent()
    if threads is not None:
        check_threads("threads", threads)
    check_memory(
        16.0 * count * inner.numbers,
        f"{count} runs with {inner.times} points",
        argument=next(iter(labels)),
    )
    arrays: dict[str, np.ndarray] = {
        name: np.full(count, fill, dtype=kind) for name, (kind, fill) in SCALARS.items()
    }
    arrays["status"] = np.full(count, INTERRUPTED, dtype=object)
    for name in ("tolerance_reached", *(("error_accuracy",) if inner.study else ())):
        arrays[name] = np.full(count, np.nan)
    for numbers, ended in grid.integrate(
        np.arange(count), threads, lambda done: update("integrating", done / count)
    ):
        arrays["status"][numbers] = ended.status
        for name, values in ended.arrays.items():
            put(arrays, name, numbers, values)
        if ended.interrupted:
            break
    over, variables, units = [*labels], dict[str, Any](), dict[str, np.ndarray]()
    for name, values in arrays.items():
        if name in SCALARS or name in NUMBERS:
            continue
        axes = ["alpha" if axis == "time" else axis for axis in inner.axes(name)]
        meaning = {"long_name": axes_of(name)[1], "units": "1"} if inner.study else {}
        shaped = values.reshape((*grid.shape, *values.shape[1:]))
        variables[name] = ((*over, *axes), shaped, meaning)
        for axis, length in zip(axes, values.shape[1:], strict=True):
            if axis != "alpha":
                units[axis] = np.arange(1, length + 1)
    for name, field in FIELDS_OF_RUNS.items():
        if field not in arrays:
            continue
        values = arrays[field].astype(str) if name == "status" else arrays[field]
        variables[name] = (over, values.reshape(grid.shape), {"long_name": NUMBERS[field]})
    data = xarray.Dataset(variables, {**labels, "alpha": ("alpha", alpha, TIME), **units})
    # with methods by which datasets draw and save themselves
    runs: xarray.Dataset = drawing("symderiv.sweeps.many_runs").as_runs(data)
    return runs
