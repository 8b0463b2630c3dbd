"""The widening of a store by keys or values: known points move to their new places."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.progress import Tell
from symderiv.foundation.showing import plain
from symderiv.sweeps.box_results import BoxResult, empty, put
from symderiv.sweeps.files.manifest import DamagedError, Manifest
from symderiv.sweeps.files.store import Store
from symderiv.sweeps.run_grid import Box, RunGrid, SweepLayout, Swept, tables_of

_OTHERWISE = "choose another output, or replace it with --force (force=True)"
_KEPT_BOXES = 4
_LONGEST = 100


def with_values_of(
    manifest: Manifest, swept: Swept, over: Mapping[str, Sequence[Any]]
) -> dict[str, list[Any]]:
    """Return the keys and values asked for, united with those of a store.

    A key over which only one of the two sweeps has, in the other, the single value of its study.
    Numbers stay in ascending order; other values follow the existing ones.

    Raises:
        InputError: the store belongs to another study.
    """
    asked = swept.checked_keys(over)
    stored = tables_of(manifest.study)
    # read from its text, so that both have plain values
    own = tables_of(swept.text)
    keys = list(dict.fromkeys((*manifest.keys, *asked)))
    _same_study(stored, own, keys)
    return {
        key: _union(
            manifest.keys.get(key) or _value_of(stored, key), asked.get(key) or _value_of(own, key)
        )
        for key in keys
    }


def _value_of(study: Mapping[str, Any], key: str) -> list[Any]:
    """Return the value of a key in a study, as a list."""
    table, _, name = key.partition(".")
    try:
        return [study[table][name]]
    except KeyError:
        raise InputError(
            f"the output holds a sweep of a study without {key}, to which it cannot be added; "
            f"{_OTHERWISE}",
            argument="output",
        ) from None


def _same_study(stored: dict[str, Any], own: dict[str, Any], keys: list[str]) -> None:
    """Refuse a store of another study, with a message on the first key that differs."""
    for table in dict.fromkeys((*stored, *own)):
        here, there = own.get(table, {}), stored.get(table, {})
        if not isinstance(here, dict) or not isinstance(there, dict):
            if here != there:
                raise InputError(f"the output holds a sweep with other {table}; {_OTHERWISE}")
            continue
        for name in dict.fromkeys((*there, *here)):
            key = f"{table}.{name}"
            if key not in keys and here.get(name) != there.get(name):
                raise InputError(
                    f"the output holds a sweep with {key} = {_shown(there.get(name))}, not "
                    f"{_shown(here.get(name))}; {_OTHERWISE}",
                    argument="output",
                )


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _union(known: list[Any], asked: list[Any]) -> list[Any]:
    numbers = all(type(value) in (int, float) for value in (*known, *asked))
    values = [*known, *(value for value in asked if value not in known)]
    if numbers and known == sorted(known) and asked == sorted(asked):
        return sorted(values)
    return values


def widened(
    path: Path,
    manifest: Manifest,
    grid: RunGrid,
    layout: SweepLayout,
    tell: Tell,
    notice: Callable[[str], None],
) -> Store:
    """Return a wider store in place of an existing one, with all its whole points.

    The new store is made beside the old one, so that a whole store exists at every moment. Only the
    one writer of the store may call this.

    Args:
        path: the store.
        manifest: the description of the old store.
        grid, layout: the grid and layout of the new store.
        tell: called with the progress.
        notice: called with a line on each damaged part, which is left out.
    """
    beside = path.with_name(f".{path.name}.wider")
    shutil.rmtree(beside, ignore_errors=True)
    new = Store.create(beside, grid.text, layout)
    taken = _Taken(Store(path, manifest), layout, notice)
    for box in layout.boxes():
        tell("widening", box.number / layout.count)
        result = taken.points_of(box, grid.hashes(box.indices))
        if result is not None:
            new.write(box, result)
    os.rename(path, _earlier(path))
    os.rename(beside, path)
    shutil.rmtree(_earlier(path), ignore_errors=True)
    return Store(path, new.manifest)


def recovered(path: Path) -> None:
    """Undo a widening that was killed between its last two steps."""
    earlier = _earlier(path)
    if earlier.exists():
        if os.path.lexists(path):
            shutil.rmtree(earlier)
        else:
            os.rename(earlier, path)


def _earlier(path: Path) -> Path:
    return path.with_name(f".{path.name}.earlier")


class _Taken:
    """The points of a store at their places in a wider layout, whose first axes are old ones."""

    def __init__(self, old: Store, layout: SweepLayout, notice: Callable[[str], None]) -> None:
        self._old, self._layout, self._notice = old, layout, notice
        stored: list[Sequence[Any]] = [axis.values for axis in old.layout.axes]
        given = tables_of(old.manifest.study)
        stored += [_value_of(given, axis.key) for axis in layout.axes[len(stored) :]]
        # index of every value in the old store; 0 along axes that it lacks, -1 for new values
        self._places = []
        for axis, values in zip(layout.axes, stored, strict=True):
            known = {repr(plain(value)): n for n, value in enumerate(values)}
            places = [known.get(repr(plain(value)), -1) for value in axis.values]
            self._places.append(np.array(places))
        self._read = lru_cache(_KEPT_BOXES)(self._whole)

    def _whole(self, number: int) -> BoxResult | None:
        try:
            return self._old.read(self._old.layout.box_at(number))
        except DamagedError as error:
            self._notice(f"{error.damage}; it is computed again")
            return None

    def points_of(self, box: Box, hashes: np.ndarray) -> BoxResult | None:
        """Return the known points of a box, or None if none is known.

        Args:
            box: the box of the new layout.
            hashes: the hashes of its points; a stored point with another hash does not count as
                known.
        """
        layout = self._old.layout
        along = [places[one] for places, one in zip(self._places, box.slices, strict=True)]
        mesh = [each.ravel() for each in np.meshgrid(*along, indexing="ij")]
        there = np.flatnonzero(np.all([each >= 0 for each in mesh], axis=0))
        if not there.size:
            return None
        at = np.array([each[there] for each in mesh[: len(layout.shape)]])
        lengths = np.array(layout.box)[:, None]
        number = np.ravel_multi_index(tuple(at // lengths), layout.boxes_along)
        result = empty(self._layout, len(box), hashes)
        some_known = False
        for one in np.unique(number):
            read = self._read(int(one))
            if read is None:
                continue
            some_known = True
            chosen = np.flatnonzero(number == one)
            start = np.array(layout.box_at(int(one)).start)[:, None]
            size = layout.box_at(int(one)).lengths
            rows = np.ravel_multi_index(tuple(at[:, chosen] - start), size)
            # a file that a study reads may have changed
            same = read.arrays["point_hash"][rows] == hashes[there[chosen]]
            rows, places = rows[same], there[chosen[same]]
            for name, values in read.arrays.items():
                put(result.arrays, name, places, values[rows])
        return result if some_known else None
