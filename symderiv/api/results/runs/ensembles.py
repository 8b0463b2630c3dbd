"""Many runs of one problem as one labelled dataset."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from symderiv import __version__
from symderiv.api.arguments.argument_names import naming_arguments
from symderiv.foundation.drawing import drawing
from symderiv.foundation.errors import InputError
from symderiv.foundation.limits import check_memory
from symderiv.foundation.progress import Tell
from symderiv.foundation.showing import plain
from symderiv.integrate.flows.trajectory import ESTIMATED
from symderiv.problem.key_names import by_key, study_key
from symderiv.problem.study import Study
from symderiv.storage.run_files import FIELDS_OF_RUNS, NUMBERS, TIME, axes_of, labels_of, listed

if TYPE_CHECKING:
    import xarray

    from symderiv.integrate.ensemble import Chunk

_AXES = ("alpha", "student", "student_2", "teacher", "teacher_2", "head", "task")


def ensemble_of(
    study: Study,
    lists: Mapping[str, Sequence[Any]],
    threads: int | None,
    max_steps: int | None,
    check: Literal["auto", "never"],
    update: Tell,
    notice: Callable[[str], None] | None,
) -> xarray.Dataset:
    """Integrate every combination of values; see :meth:`symderiv.Problem.ensemble`."""
    from symderiv.integrate.ensemble import group_points, integrate_chunk

    values = _checked(lists)
    shape = tuple(len(each) for each in values.values())
    count = math.prod(shape)
    A, K, M = study.alpha.size, study.K, study.M
    check_memory(
        2.0 * 8.0 * count * (A * (K * K + K * M + K + 1) + M * M),
        f"{count} runs with {A} points",
        argument=next(iter(values)),
    )
    studies = _studies(study, values)
    dataset = _Collected(shape, studies, study.alpha)
    done = 0
    for numbers in group_points(studies):

        def told(ended: int, total: int, before: int = done) -> None:
            update("integrating", (before + ended) / count)

        chunk = integrate_chunk(
            [studies[number] for number in numbers],
            threads=threads,
            progress=told,
            notice=notice,
            max_steps=100_000_000 if max_steps is None else max_steps,
            check=check,
        )
        dataset.add(numbers, chunk)
        done += len(numbers)
        if chunk.interrupted:
            break
    keys = dict(zip(values, by_key(values), strict=True))
    return dataset.labelled(
        {name: (name, labels_of(each), {"key": keys[name]}) for name, each in values.items()},
        study,
    )


def _checked(lists: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Return the lists, each of at least one value."""
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


def _studies(study: Study, values: Mapping[str, list[Any]]) -> list[Study]:
    """Return the study of every combination, the last list varying fastest."""
    keyed = by_key(values)
    plained = [
        [one if key == "data" else plain(one, finite=False) for one in each]
        for key, each in keyed.items()
    ]
    with naming_arguments():
        return [
            study.changed(dict(zip(keyed, combination, strict=True)))
            for combination in itertools.product(*plained)
        ]


class _Collected:
    """Arrays over all runs, filled chunk by chunk."""

    def __init__(self, shape: tuple[int, ...], studies: Sequence[Study], alpha: np.ndarray) -> None:
        self._shape, self._alpha = shape, alpha
        self._lengths = {"alpha": alpha.size}
        for axis, size in (
            ("student", max(study.K for study in studies)),
            ("teacher", max(study.M for study in studies)),
        ):
            self._lengths |= {axis: size, f"{axis}_2": size}
        self._count = len(studies)
        self._arrays: dict[str, np.ndarray] = {}
        self._runs = {
            "status": np.full(self._count, "interrupted", dtype=object),
            **{
                name: np.full(self._count, np.nan)
                for name in ("alpha_end", "tolerance_reached", "local_error_sum")
            },
            **{name: np.zeros(self._count, np.int64) for name in ("steps", "rhs_evaluations")},
            "wall_seconds": np.zeros(self._count),
        }

    def add(self, numbers: Sequence[int], found: Chunk) -> None:
        """Take over a chunk; networks smaller than the largest leave the rest empty."""
        whole = len(numbers) == self._count
        named = {
            **{name: getattr(found, name) for name in ("Q", "R", "v", "T")},
            "generalization_error": found.generalization_error,
            **found.further,
        }
        for name, values in named.items():
            axes, _ = axes_of(name)
            for axis, size in zip(axes, values.shape[1:], strict=True):
                self._lengths.setdefault(axis, size)
            shape = tuple(self._lengths[axis] for axis in axes)
            if whole and name not in self._arrays and values.shape[1:] == shape:
                self._arrays[name] = values
                continue
            if name not in self._arrays:
                self._arrays[name] = np.full((self._count, *shape), np.nan)
            inside: Any = (list(numbers), *(slice(size) for size in values.shape[1:]))
            self._arrays[name][inside] = values
        for name in self._runs:
            self._runs[name][list(numbers)] = getattr(found, FIELDS_OF_RUNS[name])

    def labelled(self, coordinates: Mapping[str, Any], study: Study) -> xarray.Dataset:
        """Return the dataset, one dimension per list."""
        import xarray

        over = tuple(coordinates)
        variables: dict[str, Any] = {}
        for name, values in self._arrays.items():
            axes, meaning = axes_of(name)
            shaped = values.reshape((*self._shape, *values.shape[1:]))
            variables[name] = ((*over, *axes), shaped, {"long_name": meaning, "units": "1"})
        for name, values in self._runs.items():
            shaped = (values.astype(str) if name == "status" else values).reshape(self._shape)
            variables[name] = (over, shaped, {"long_name": NUMBERS[FIELDS_OF_RUNS[name]]})
        used = {axis for name in self._arrays for axis in axes_of(name)[0]}
        units = {
            axis: np.arange(1, size + 1)
            for axis, size in self._lengths.items()
            if axis in used and axis != "alpha"
        }
        data = xarray.Dataset(
            variables,
            {**coordinates, "alpha": ("alpha", self._alpha, TIME), **units},
            {
                "title": "Order parameters of online learning, integrated: an ensemble",
                "study": study.text,
                "symderiv_version": __version__,
                "tolerance_method": ESTIMATED,
            },
        )
        # datasets draw and save themselves
        runs: xarray.Dataset = drawing("symderiv.sweeps.dataset_accessor").as_runs(data)
        return runs
