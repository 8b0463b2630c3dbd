"""A grid of studies that are made one by one when they are needed.

A study of the grid is known by its flat index, the last key varying fastest. Values of keys that no
check relates to another key (``QUICK``) are put into a copy of a checked study. For each
combination of the other keys a study is made and checked as a whole.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from pydantic import BaseModel

from symderiv.foundation.errors import InputError
from symderiv.foundation.progress import Tell
from symderiv.integrate.ensemble import Chunk, group_points, integrate_chunk
from symderiv.integrate.rules.solving import solver_module
from symderiv.keys.study_tables import all_records
from symderiv.keys.toml_text import short_text, to_toml
from symderiv.problem.key_names import study_key
from symderiv.problem.study import Study
from symderiv.storage.checkpoint import identity
from symderiv.sweeps.run_grid import PointsTold, RunGrid
from symderiv.sweeps.swept_keys import Axis, PointArrays, axes_of_lists, is_whole, lists_of

#: Keys that neither a check nor a cached property of a study relates to another key.
QUICK = tuple(f"{table}.{name}" for table, name, record in all_records() if record.quick)

# Largest number of combinations of other keys, all checked before anything is computed.
_MOST_CHECKED = 10**6
_KEPT_STUDIES = 1024
# Arrays with more numbers are identified by digests.
_MOST_NUMBERS = 1000


class Grid(RunGrid):
    """The studies of a sweep.

    Args:
        study: the study with the values that all share; its own [sweep] counts too.
        over: values of keys, in addition to those of [sweep] or in place of them.
        tell: called with the progress of the checks.
        lazily: True checks studies when they are made, and allows repeated values.
        options: options of :func:`integrate_chunk`.

    Raises:
        InputError: a study of the grid is not acceptable; nothing was computed.
    """

    #: Words for messages on where keys are given.
    _where = "in [sweep] "

    def __init__(
        self,
        study: Study,
        over: Mapping[str, Sequence[Any]] | None = None,
        tell: Tell = lambda task, fraction: None,
        *,
        lazily: bool = False,
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        given = lists_of({**study.sweep, **(over or {})}, study_key)
        self.study, self.options = without_sweep(study), options
        self._take(axes_of_lists(given, ", or a table [sweep]"))
        self._take(self._checked(tell, lazily))

    @classmethod
    def of_ensemble(cls, study: Study, axes: tuple[Axis, ...], options: Mapping[str, Any]) -> Grid:
        """Return a grid that is kept in memory, in which values may repeat.

        Args:
            study: the study with the values that all share.
            axes: the keys and their values.
            options: options of :func:`integrate_chunk`.

        Raises:
            InputError: a study of the grid is not acceptable.
        """
        grid = _again(without_sweep(study), axes, options)
        grid._where = ""
        for _ in grid.combinations():
            pass
        grid._take(grid._checked(lambda task, fraction: None, lazily=True))
        return grid

    def _take(self, axes: tuple[Axis, ...]) -> None:
        self.axes = axes
        self._quick = [place for place, axis in enumerate(axes) if axis.key in QUICK]
        self._others = [place for place, axis in enumerate(axes) if axis.key not in QUICK]
        # one cache per grid, which ends with it
        self._of_others = lru_cache(_KEPT_STUDIES)(self._made)
        self._identity = lru_cache(_KEPT_STUDIES)(self._identity_of)
        self._table = lru_cache(_KEPT_STUDIES)(self._copied)
        self._said = lru_cache(None)(lambda axis, n: json.dumps(axes[axis].values[n]))
        self._quick_axes: dict[str, list[int]] = {}
        for place in self._quick:
            table = axes[place].key.partition(".")[0]
            self._quick_axes.setdefault(table, []).append(place)

    def over(self, axes: tuple[Axis, ...]) -> Grid:
        return _again(self.study, axes, self.options)

    def __reduce__(self) -> tuple[Any, ...]:
        # other processes get the study and the lists, not the studies made of them
        return _again, (self.study, self.axes, {**self.options})

    @property
    def text(self) -> str:
        """The text of what all points share."""
        return self.study.text

    @property
    def checked(self) -> bool:
        return self.options.get("check") == "auto"

    def study_at(self, index: int) -> Study:
        """Return the study with a flat index."""
        places, others = self._places(index)
        made = self._of_others(others)
        if not self._quick:
            return made
        tables = {
            table: self._table(others, table, tuple(places[axis] for axis in axes))
            for table, axes in self._quick_axes.items()
        }
        copy = BaseModel.model_copy(made, update=tables)
        copy.__dict__.pop("text", None)
        return copy

    def studies(self, indices: Sequence[int] | np.ndarray) -> Iterator[Study]:
        """Return the studies with flat indices, one after the other."""
        return (self.study_at(int(index)) for index in indices)

    def combinations(self) -> Iterator[tuple[tuple[int, ...], Study]]:
        """Yield indices and study of each combination of the keys that are not quick."""
        shape = self.shape
        for places in np.ndindex(*(shape[axis] for axis in self._others)):
            yield places, self._of_others(places)

    def extent(self) -> tuple[tuple[int, ...], np.ndarray, PointArrays]:
        """Return the axes of the times, the times and the variables.

        One study is made for each combination of the keys that are not quick.
        """
        timed = tuple(n for n, axis in enumerate(self.axes) if axis.key.startswith("time."))
        times: dict[tuple[int, ...], np.ndarray] = {}
        K = M = 1
        for places, study in self.combinations():
            K, M = max(K, study.K), max(M, study.M)
            at = dict(zip(self._others, places, strict=True))
            times[tuple(at[n] for n in timed)] = study.alpha
        first = next(iter(times.values()))
        if all(np.array_equal(alpha, first) for alpha in times.values()):
            timed, alpha = (), first
        else:
            longest = max(each.size for each in times.values())
            alpha = np.full((*(self.shape[n] for n in timed), longest), np.nan)
            for at_times, each in times.items():
                alpha[at_times][: each.size] = each
        return timed, alpha, PointArrays.of_studies(alpha.shape[-1], K, M)

    def derive(self, tell: Tell) -> None:
        """Derive every solver module once."""
        studies = [study for _, study in self.combinations()]
        for group in group_points(studies):
            tell("deriving", 0.0)
            solver_module(studies[group[0]])

    def integrate(
        self, indices: np.ndarray, threads: int | None, told: PointsTold
    ) -> Iterator[tuple[np.ndarray, Chunk]]:
        """Integrate the studies with flat indices; those that share a module are made together."""
        studies, done = list(self.studies(indices)), 0
        for group in group_points(studies):

            def progress(ended: int, count: int, before: int = done) -> None:
                told(before + ended)

            chunk = integrate_chunk(
                [studies[n] for n in group], threads=threads, progress=progress, **self.options
            )
            yield np.array(group), chunk
            done += len(group)

    def hashes(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return 32 hexadecimal digits per study and its files, equal for equal ones."""
        digests = []
        for index in indices:
            places, others = self._places(int(index))
            digest, quick = self._identity(others)
            said = list(quick)
            for axis in self._quick:
                said[QUICK.index(self.axes[axis].key)] = self._said(axis, places[axis])
            text = digest + ",".join(said)
            digests.append(hashlib.sha256(text.encode()).hexdigest()[:32])
        return np.array(digests, dtype="U32")

    def _places(self, index: int) -> tuple[list[int], tuple[int, ...]]:
        """Return a point's position along each axis, and along those that are not quick."""
        places = []
        for length in reversed(self.shape):
            index, place = divmod(index, length)
            places.append(place)
        places.reverse()
        return places, tuple(places[axis] for axis in self._others)

    def _identity_of(self, others: tuple[int, ...]) -> tuple[str, list[str]]:
        """Return a digest of all keys that are not quick and of files, and the quick values."""
        study = self._of_others(others)
        tables = study.tables(_MOST_NUMBERS)
        quick = []
        for key in QUICK:
            table, _, name = key.partition(".")
            tables.get(table, {}).pop(name, None)
            quick.append(json.dumps(getattr(getattr(study, table), name)))
        digest = hashlib.sha256((to_toml(tables) + files_digest(study)).encode()).hexdigest()
        return digest, quick

    def _copied(self, others: tuple[int, ...], table: str, places: tuple[int, ...]) -> BaseModel:
        """Return a table with the values of quick keys at given positions."""
        values = {
            self.axes[axis].key.partition(".")[2]: self.axes[axis].values[place]
            for axis, place in zip(self._quick_axes[table], places, strict=True)
        }
        own: BaseModel = getattr(self._of_others(others), table)
        return BaseModel.model_copy(own, update=values)

    def _made(self, places: tuple[int, ...]) -> Study:
        axes = [self.axes[place] for place in self._others]
        values = {axis.key: axis.values[p] for axis, p in zip(axes, places, strict=True)}
        made = self._refused_with(values)
        # cached properties that all copies share are made once
        _ = made.alpha, made.rule_keys, made.data_model
        return made

    def _refused_with(self, values: dict[str, Any]) -> Study:
        if not values:
            return self.study
        try:
            study = self.study.changed(values)
            # studies without times are refused here, like other invalid values
            _ = study.alpha
        except InputError as error:
            label = ", ".join(f"{k.rpartition('.')[2]}={short_text(v)}" for k, v in values.items())
            reason = f"{error.reason} ({self._where}with {label})"
            raise type(error)(reason, argument=error.argument, entry=error.entry) from None
        return study

    def _checked(self, tell: Tell, lazily: bool) -> tuple[Axis, ...]:
        """Return the axes with values as checked studies have them; refuse repeated values."""
        count = math.prod(self.shape[axis] for axis in self._others)
        if count > _MOST_CHECKED and not lazily:
            keys = ", ".join(self.axes[axis].key for axis in self._others)
            raise InputError(
                f"there are more than {_MOST_CHECKED} combinations of {keys}; give fewer values",
                argument="over",
            )
        for done, _ in enumerate(() if lazily else self.combinations()):
            tell("checking the studies of the sweep", done / count)
        checked = []
        first = next(self.combinations())[1]
        for place, axis in enumerate(self.axes):
            read = axis.values
            if place in self._quick:
                read = tuple(self._quick_value(first, axis.key, value) for value in read)
            if not lazily and len({repr(value) for value in read}) < len(read):
                raise InputError("names a value twice", argument=axis.key)
            checked.append(replace(axis, values=read))
        return tuple(checked)

    @staticmethod
    def _quick_value(first: Study, key: str, value: Any) -> Any:
        """Return a value as the checks of its table leave it.

        The whole study is checked only with the first values, because no check relates quick keys
        to others.
        """
        table, _, name = key.partition(".")
        own = getattr(first, table)
        try:
            return getattr(own.model_copy(update={name: value}), name)
        except InputError as error:
            raise error.renamed(f"{table}.{error.argument or name}") from None


def without_sweep(study: Study) -> Study:
    """Return the study without its table [sweep]."""
    return study.model_copy(update={"sweep": {}}) if study.sweep else study


@dataclass(frozen=True)
class SweptStudy:
    """A study that is swept; its table [sweep] counts too.

    Args:
        study: the study.
        options: options of :func:`integrate_chunk`.
    """

    study: Study
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text of the study file without [sweep]."""
        return without_sweep(self.study).text

    def without_sweep(self) -> SweptStudy:
        """Return the study without [sweep]."""
        return replace(self, study=without_sweep(self.study))

    def checked_keys(self, over: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Return keys and values, with those of [sweep]."""
        return lists_of({**self.study.sweep, **over}, study_key)

    def grid(self, over: Mapping[str, Sequence[Any]], tell: Tell, *, lazily: bool = False) -> Grid:
        """Return the grid over keys and values."""
        return Grid(self.study, over, tell, lazily=lazily, options=self.options)

    def is_whole(self, key: str) -> bool:
        """Return whether a key takes whole numbers only."""
        table, _, name = key.partition(".")
        return is_whole(getattr(self.study, table, None), name)

    def identity(self, sources: str, **more: str) -> dict[str, str]:
        """Return everything on which the results of its runs depend."""
        return identity(self.study, sources, **more)


def _again(study: Study, axes: tuple[Axis, ...], options: Mapping[str, Any]) -> Grid:
    """Return a grid of studies that were checked in another process."""
    grid = object.__new__(Grid)
    grid.study, grid.options = study, options
    grid._take(axes)
    return grid


def files_digest(study: Study) -> str:
    """Return a digest of the files that the study reads, so that a changed file is a new point."""
    digest = hashlib.sha256()
    for file in study.input_files:
        try:
            digest.update(hashlib.sha256(file.read_bytes()).digest())
        except OSError:
            continue  # solving the study will report the error
    return digest.hexdigest()
