"""A store with more values of its keys: what it holds moves to its new place."""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from symderiv.dynamics.studies.study import Study
from symderiv.errors import InputError
from symderiv.progress import Tell
from symderiv.showing import plain
from symderiv.sweeps.box_results import BoxResult, empty, put
from symderiv.sweeps.layout import Box, Layout
from symderiv.sweeps.store import Store
from symderiv.sweeps.study_grid import Grid
from symderiv.sweeps.swept_keys import Axis, axis_names, checked_keys

__all__ = ["recovered", "widened", "with_values_of"]

_OTHERWISE = "choose another output, or replace it with --force (force=True)"
_KEPT_BOXES = 4


def with_values_of(
    manifest: Mapping[str, Any], study: Study, over: Mapping[str, Sequence[Any]]
) -> dict[str, list[Any]]:
    """The keys and values asked for together with those that a store has.

    Numbers in ascending order stay in it; other values follow those that are there.

    Raises:
        InputError: the store is of another study, or swept over other keys.
    """
    asked = checked_keys({**study.sweep, **over})
    known: dict[str, list[Any]] = manifest["keys"]
    if set(asked) != set(known):
        raise InputError(
            f"the output holds a sweep over {', '.join(known)}; {_OTHERWISE}", argument="output"
        )
    _same_study(tomllib.loads(manifest["study"]), study, list(known))
    return {key: _union(values, asked[key]) for key, values in known.items()}


def _same_study(stored: dict[str, Any], study: Study, keys: list[str]) -> None:
    """Refuse a store of another study, by the first key that differs."""
    # as read from its text, so that both are plain
    own = tomllib.loads(study.model_copy(update={"sweep": {}}).text if study.sweep else study.text)
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
                    f"the output holds a sweep with {key} = {there.get(name)}, not "
                    f"{here.get(name)}; {_OTHERWISE}",
                    argument="output",
                )


def _union(known: list[Any], asked: list[Any]) -> list[Any]:
    numbers = all(type(value) in (int, float) for value in (*known, *asked))
    found = [*known, *(value for value in asked if value not in known)]
    if numbers and known == sorted(known) and asked == sorted(asked):
        return sorted(found)
    return found


def widened(
    path: Path, manifest: Mapping[str, Any], grid: Grid, layout: Layout, tell: Tell
) -> Store:
    """A store in the place of another one, with all points that it has.

    It is made beside it; at every moment there is a whole one.
    """
    old = Store(path, _old_layout(manifest, grid))
    with old.locked():
        beside = path.with_name(f".{path.name}.wider")
        shutil.rmtree(beside, ignore_errors=True)
        new = Store.create(beside, grid, layout)
        taken = _Taken(old, layout)
        for box in layout.boxes():
            tell("widening", box.number / layout.count)
            result = taken.points_of(box)
            if result is not None:
                result.arrays["point_hash"] = grid.hashes(box.indices)
                new.write(box, result)
        os.rename(path, _earlier(path))
        os.rename(beside, path)
    shutil.rmtree(_earlier(path), ignore_errors=True)
    return Store(path, layout)


def recovered(path: Path) -> None:
    """Undo a widening that was killed between its two last steps."""
    earlier = _earlier(path)
    if earlier.exists():
        if os.path.lexists(path):
            shutil.rmtree(earlier)
        else:
            os.rename(earlier, path)


def _earlier(path: Path) -> Path:
    return path.with_name(f".{path.name}.earlier")


def _old_layout(manifest: Mapping[str, Any], grid: Grid) -> Layout:
    """The layout that a store was made with, as far as reading it needs."""
    keys = list(manifest["keys"])
    axes = tuple(
        Axis(key, name, tuple(manifest["keys"][key]))
        for key, name in zip(keys, axis_names(keys), strict=True)
    )
    A, K, M = manifest["inner"]
    return Layout(axes, np.empty(A), tuple(manifest["timed"]), K, M, tuple(manifest["box"]))


class _Taken:
    """Points of a store at their places in another layout."""

    def __init__(self, old: Store, layout: Layout) -> None:
        self._old, self._layout = old, layout
        # place in the old store of every value; -1 for new ones
        self._places = []
        for axis, stored in zip(layout.axes, old.layout.axes, strict=True):
            known = {repr(plain(value)): n for n, value in enumerate(stored.values)}
            found = [known.get(repr(plain(value)), -1) for value in axis.values]
            self._places.append(np.array(found))
        self._read = lru_cache(_KEPT_BOXES)(lambda n: old.read(old.layout.box_at(n)))

    def points_of(self, box: Box) -> BoxResult | None:
        """The points of a box that the store has; None if it has none of them."""
        layout = self._old.layout
        along = [places[one] for places, one in zip(self._places, box.slices, strict=True)]
        mesh = [each.ravel() for each in np.meshgrid(*along, indexing="ij")]
        there = np.flatnonzero(np.all([each >= 0 for each in mesh], axis=0))
        if not there.size:
            return None
        at = np.array([each[there] for each in mesh])
        lengths = np.array(layout.box)[:, None]
        number = np.ravel_multi_index(tuple(at // lengths), layout.boxes_along)
        result = empty(self._layout, len(box), np.full(len(box), b"", dtype="S32"))
        found = False
        for one in np.unique(number):
            read = self._read(int(one))
            if read is None:
                continue
            found = True
            chosen = number == one
            start = np.array(layout.box_at(int(one)).start)[:, None]
            size = layout.box_at(int(one)).lengths
            rows = np.ravel_multi_index(tuple(at[:, chosen] - start), size)
            for name, values in read.arrays.items():
                put(result.arrays, name, there[chosen], values[rows])
        return result if found else None
