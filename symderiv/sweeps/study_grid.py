"""A grid of studies that are made one by one, when they are needed.

A study of the grid is known by its flat index, the last key varying fastest. Keys that no check
relates to another (``QUICK``) are put into a copy of a checked study; all others make a study that
is checked as a whole, once for each of their combinations.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from pydantic import BaseModel

from symderiv.foundation.errors import InputError
from symderiv.foundation.progress import Tell
from symderiv.integrate.ensemble import group_points, integrate_chunk
from symderiv.integrate.ensemble.chunk import Chunk
from symderiv.problem.study import Study
from symderiv.problem.study_tables import all_records
from symderiv.problem.toml_text import short_text, to_toml
from symderiv.storage.checkpoint import identity
from symderiv.sweeps.point_arrays import Ended, PointArrays
from symderiv.sweeps.run_grid import PointsTold
from symderiv.sweeps.swept_keys import Axis, axis_names, checked_keys, point_label

__all__ = ["QUICK", "Grid", "SweptStudy"]

#: Keys whose values neither a check nor anything that a study keeps relates to another key.
QUICK = tuple(f"{table}.{name}" for table, name, record in all_records() if record.quick)

MOST_POINTS = 10**8
# Combinations of the other keys are all checked before anything is computed.
_MOST_CHECKED = 10**6
_KEPT_STUDIES = 1024
# Larger arrays go by their digest.
_MOST_NUMBERS = 1000


class Grid:
    """The studies of a sweep.

    Args:
        study: what is the same in all of them; its own [sweep] counts too.
        over: values of keys, beside or in the place of those of [sweep].
        tell: told how far the checks are.
        lazily: check studies when they are made; values may stand twice.

    Raises:
        InputError: a study of the grid is not acceptable; nothing was computed.

    Attributes:
        axes: one per key, in the order given.
        shape: their lengths.
    """

    def __init__(
        self,
        study: Study,
        over: Mapping[str, Sequence[Any]] | None = None,
        tell: Tell = lambda task, fraction: None,
        *,
        lazily: bool = False,
    ) -> None:
        given = checked_keys({**study.sweep, **(over or {})})
        if not given:
            raise InputError(
                "nothing to sweep over: give keys and values, or a table [sweep]", argument="over"
            )
        count = math.prod(len(values) for values in given.values())
        if count > MOST_POINTS:
            raise InputError(f"{count} points are more than {MOST_POINTS}", argument="over")
        self.study = without_sweep(study)
        self._take(given)
        self.axes = tuple(
            Axis(key, name, values)
            for key, name, values in zip(
                given, axis_names(list(given)), self._checked(tell, lazily), strict=True
            )
        )

    def _take(self, given: Mapping[str, list[Any]]) -> None:
        self._keys, self._given = list(given), list(given.values())
        self.shape = tuple(len(values) for values in self._given)
        self._quick = [place for place, key in enumerate(given) if key in QUICK]
        self._others = [place for place, key in enumerate(given) if key not in QUICK]
        # one per grid, and gone with it
        self._of_others = lru_cache(_KEPT_STUDIES)(self._made)
        self._identity = lru_cache(_KEPT_STUDIES)(self._identity_of)
        self._table = lru_cache(_KEPT_STUDIES)(self._copied)
        self._said = lru_cache(None)(lambda axis, n: json.dumps(self.axes[axis].values[n]))
        self._quick_axes: dict[str, list[int]] = {}
        for axis in self._quick:
            table = self._keys[axis].partition(".")[0]
            self._quick_axes.setdefault(table, []).append(axis)

    def __len__(self) -> int:
        return math.prod(self.shape)

    def __reduce__(self) -> tuple[Any, ...]:
        # what travels to another process: the study and the lists, not the studies made of them
        return _again, (self.study, dict(zip(self._keys, self._given, strict=True)), self.axes)

    @property
    def text(self) -> str:
        """What all points have in common."""
        return self.study.text

    @property
    def other_keys(self) -> list[str]:
        """Keys that are not quick."""
        return [self._keys[axis] for axis in self._others]

    def study_at(self, index: int) -> Study:
        """The study of a flat index."""
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
        """The studies of flat indices, one after the other."""
        return (self.study_at(int(index)) for index in indices)

    def combinations(self) -> Iterator[tuple[dict[str, Any], Study]]:
        """Values and study of every combination of keys that are not quick."""
        for places in np.ndindex(*(self.shape[axis] for axis in self._others)):
            values = {
                self._keys[axis]: self._given[axis][place]
                for axis, place in zip(self._others, places, strict=True)
            }
            yield values, self._of_others(tuple(int(place) for place in places))

    def part(self, slices: Sequence[slice]) -> Grid:
        """The grid of some of the values along each axis, its studies checked already."""
        axes = tuple(
            replace(axis, values=axis.values[one])
            for axis, one in zip(self.axes, slices, strict=True)
        )
        given = {
            key: values[one]
            for key, values, one in zip(self._keys, self._given, slices, strict=True)
        }
        return _again(self.study, given, axes)

    def extent(self) -> tuple[tuple[int, ...], np.ndarray, PointArrays]:
        """Output times and sizes; one study is made per combination of keys that are not quick."""
        timed = tuple(n for n, axis in enumerate(self.axes) if axis.key.startswith("time."))
        others = [n for n, axis in enumerate(self.axes) if axis.key in self.other_keys]
        times: dict[tuple[int, ...], np.ndarray] = {}
        K = M = 1
        places = np.ndindex(*(self.shape[n] for n in others))
        for place, (_, study) in zip(places, self.combinations(), strict=True):
            K, M = max(K, study.K), max(M, study.M)
            at = dict(zip(others, place, strict=True))
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
        from symderiv.integrate.rules.whichever import solver_module

        studies = [study for _, study in self.combinations()]
        for group in group_points(studies):
            tell("deriving", 0.0)
            solver_module(studies[group[0]])

    def integrate(
        self, indices: np.ndarray, threads: int | None, told: PointsTold | None
    ) -> Iterator[Ended]:
        """Integrate the studies of flat indices, those together that share a module."""
        studies, done = list(self.studies(indices)), 0
        for group in group_points(studies):
            progress = None
            if told is not None:
                report, before = told, done

                def progress(
                    ended: int, count: int, report: PointsTold = report, before: int = before
                ) -> None:
                    report(before + ended, indices.size)

            chunk = integrate_chunk([studies[n] for n in group], threads=threads, progress=progress)
            yield _ended(np.array(group), chunk)
            done += len(group)

    def settings(self, index: int) -> dict[str, Any]:
        """The swept values of a flat index, by the names of the dimensions."""
        places, _ = self._places(index)
        return {a.name: a.values[p] for a, p in zip(self.axes, places, strict=True)}

    def label(self, index: int) -> str:
        """The same in words."""
        return point_label(self.settings(index))

    def hashes(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """Of each study, files and all, 32 hexadecimal digits: equal studies, equal hashes."""
        found = []
        for index in indices:
            places, others = self._places(int(index))
            digest, quick = self._identity(others)
            said = list(quick)
            for axis in self._quick:
                said[QUICK.index(self._keys[axis])] = self._said(axis, places[axis])
            text = digest + ",".join(said)
            found.append(hashlib.sha256(text.encode()).hexdigest()[:32])
        return np.array(found, dtype="U32")

    def _places(self, index: int) -> tuple[list[int], tuple[int, ...]]:
        """Where an index stands along each axis, and along those that are not quick."""
        places = []
        for length in reversed(self.shape):
            index, place = divmod(index, length)
            places.append(place)
        places.reverse()
        return places, tuple(places[axis] for axis in self._others)

    def _identity_of(self, others: tuple[int, ...]) -> tuple[str, list[str]]:
        """A digest of all keys that are not quick and of the files that are read; the quick ones
        in words.
        """
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
        """A table with other values of quick keys, at these places of its axes."""
        values = {
            self._keys[axis].partition(".")[2]: self.axes[axis].values[place]
            for axis, place in zip(self._quick_axes[table], places, strict=True)
        }
        own: BaseModel = getattr(self._of_others(others), table)
        return BaseModel.model_copy(own, update=values)

    def _made(self, places: tuple[int, ...]) -> Study:
        keys = [self._keys[axis] for axis in self._others]
        values = [self._given[axis][p] for axis, p in zip(self._others, places, strict=True)]
        made = self._refused_with(dict(zip(keys, values, strict=True)))
        # what all copies of it share is made once
        _ = made.alpha, made.rule_keys, made.data_model
        return made

    def _refused_with(self, values: dict[str, Any]) -> Study:
        if not values:
            return self.study
        try:
            study = self.study.changed(values)
            # a study without times is refused here, as any other value
            _ = study.alpha
        except InputError as error:
            label = ", ".join(f"{k.rpartition('.')[2]}={short_text(v)}" for k, v in values.items())
            reason = f"{error.reason} (in [sweep] with {label})"
            raise type(error)(reason, argument=error.argument, entry=error.entry) from None
        return study

    def _checked(self, tell: Tell, lazily: bool) -> list[tuple[Any, ...]]:
        """The values as checked studies have them."""
        count = math.prod(self.shape[axis] for axis in self._others)
        if count > _MOST_CHECKED and not lazily:
            keys = ", ".join(self._keys[axis] for axis in self._others)
            raise InputError(f"more than {_MOST_CHECKED} combinations of {keys}", argument="over")
        for done, _ in enumerate(() if lazily else self.combinations()):
            tell("checking the studies of the sweep", done / count)
        found = []
        first = next(self.combinations())[1]
        for axis, (key, values) in enumerate(zip(self._keys, self._given, strict=True)):
            table, _, name = key.partition(".")
            if axis in self._others:
                read: list[Any] = list(values)
            else:
                read = [self._quick_value(first, table, name, value) for value in values]
            seen = {json.dumps(repr(value)) for value in read}
            if len(seen) < len(read) and not lazily:
                raise InputError("names a value twice", argument=key)
            found.append(tuple(read))
        return found

    @staticmethod
    def _quick_value(first: Study, table: str, name: str, value: Any) -> Any:
        """The value as the table's own checks leave it; the whole study is checked with the first
        of them, and no check relates it to another key.
        """
        own = getattr(first, table)
        try:
            return getattr(own.model_copy(update={name: value}), name)
        except InputError as error:
            raise error.renamed(f"{table}.{error.argument or name}") from None


def _ended(numbers: np.ndarray, chunk: Chunk) -> Ended:
    """Return a chunk as a sweep takes it."""
    names = ("alpha_end", "error_sum", "steps", "rhs_evaluations", "wall_seconds")
    curves = ("generalization_error", "Q", "R", "v", "T")
    arrays = {name: getattr(chunk, name) for name in (*names, *curves)}
    return Ended(numbers, chunk.alpha, chunk.status, {**arrays, **chunk.further}, chunk.interrupted)


def without_sweep(study: Study) -> Study:
    """The study without its table [sweep]."""
    return study.model_copy(update={"sweep": {}}) if study.sweep else study


@dataclass(frozen=True)
class SweptStudy:
    """A study as what is swept; its table [sweep] counts too."""

    study: Study

    @property
    def text(self) -> str:
        """The study file, without [sweep]."""
        return without_sweep(self.study).text

    def alone(self) -> SweptStudy:
        """The study without [sweep]."""
        return SweptStudy(without_sweep(self.study))

    def checked_keys(self, over: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Keys and values, with those of [sweep]."""
        return checked_keys({**self.study.sweep, **over})

    def grid(self, over: Mapping[str, Sequence[Any]], tell: Tell, *, lazily: bool = False) -> Grid:
        """The grid over keys and values."""
        return Grid(self.study, over, tell, lazily=lazily)

    def is_whole(self, key: str) -> bool:
        """Whether a key takes whole numbers only."""
        table, _, name = key.partition(".")
        fields = getattr(type(getattr(self.study, table, None)), "model_fields", {})
        annotation = str(fields[name].annotation) if name in fields else ""
        return "int" in annotation and "float" not in annotation

    def identity(self, sources: str, **more: str) -> dict[str, str]:
        """All that the numbers of its runs depend on."""
        return identity(self.study, sources, **more)


def _again(study: Study, given: dict[str, list[Any]], axes: tuple[Axis, ...]) -> Grid:
    """A grid whose studies were checked in another process."""
    grid = object.__new__(Grid)
    grid.study, grid.axes = study, axes
    grid._take(given)
    return grid


def files_digest(study: Study) -> str:
    """A digest of the files that the study reads, so that a changed file is a new point."""
    digest = hashlib.sha256()
    for file in study.input_files:
        try:
            digest.update(hashlib.sha256(file.read_bytes()).digest())
        except OSError:
            continue  # solving it will say what is wrong
    return digest.hexdigest()
