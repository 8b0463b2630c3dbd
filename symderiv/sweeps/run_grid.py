"""The swept problem, a study or a system with start and times; its runs, divided into boxes."""

from __future__ import annotations

import json
import math
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from symderiv.foundation.progress import Tell
from symderiv.sweeps.swept_keys import Axis, PointArrays, point_label, values_at

if TYPE_CHECKING:
    from symderiv.integrate.ensemble import Chunk

#: A function that is called with the number of finished points.
PointsTold = Callable[[int], None]


class RunGrid(ABC):
    """A grid of runs, numbered by flat indices in which the last key varies fastest.

    Attributes:
        axes: One axis per key, in the order given.
    """

    axes: tuple[Axis, ...]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The numbers of values of the keys."""
        return tuple(len(axis.values) for axis in self.axes)

    def __len__(self) -> int:
        return math.prod(self.shape)

    def settings(self, index: int) -> dict[str, Any]:
        """Return the values of the keys at a point."""
        return {axis.key: value for axis, value in values_at(self.axes, index)}

    def label(self, index: int) -> str:
        """Return the values of the keys at a point in words."""
        return point_label(self.axes, index)

    def part(self, slices: Sequence[slice]) -> Self:
        """Return the grid of some of the values along each axis."""
        return self.over(
            tuple(
                replace(axis, values=axis.values[one])
                for axis, one in zip(self.axes, slices, strict=True)
            )
        )

    @property
    @abstractmethod
    def text(self) -> str:
        """The text of what all points share, as stores keep it."""

    @property
    @abstractmethod
    def checked(self) -> bool:
        """True if the error of each run is measured by a second one."""

    @abstractmethod
    def over(self, axes: tuple[Axis, ...]) -> Self:
        """Return the grid over other values, which have been checked already."""

    @abstractmethod
    def hashes(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return 32 hexadecimal digits per point, which are equal for equal runs."""

    @abstractmethod
    def extent(self) -> tuple[tuple[int, ...], np.ndarray, PointArrays]:
        """Return the axes on which output times depend, the times, and the variables of a point."""

    @abstractmethod
    def derive(self, tell: Tell) -> None:
        """Derive every solver module once, before many workers need it."""

    @abstractmethod
    def integrate(
        self, indices: np.ndarray, threads: int | None, told: PointsTold
    ) -> Iterator[tuple[np.ndarray, Chunk]]:
        """Yield finished points: their positions among the given ones, and their runs."""


class Swept(Protocol):
    """A study or a system that is swept over keys and values."""

    @property
    def text(self) -> str:
        """The text of what all points share, as stores keep it; :func:`tables_of` reads it."""

    def without_sweep(self) -> Self:
        """Return the swept problem without values of its own to sweep over."""

    def checked_keys(self, over: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Return keys and values, including its own, with ranges written out."""

    def grid(
        self, over: Mapping[str, Sequence[Any]], tell: Tell, *, lazily: bool = False
    ) -> RunGrid:
        """Return the grid over keys and values."""

    def is_whole(self, key: str) -> bool:
        """Return whether a key takes whole numbers only."""

    def identity(self, sources: str, **more: str) -> dict[str, str]:
        """Return everything on which the results of its runs depend, for checkpoints."""


def tables_of(text: str) -> dict[str, Any]:
    """Return the tables of keys in a text: a study file's TOML, or the JSON of a swept system."""
    if not text.lstrip().startswith("{"):
        return tomllib.loads(text)
    said: dict[str, Any] = json.loads(text)
    # values that keys may vary are compared as keys, not as parts of the statement
    system = {**said["system"], "declarations": []}
    for declaration in said["system"]["declarations"]:
        facts = {key: value for key, value in declaration.items() if key not in ("model", "value")}
        system["declarations"].append(facts)
    return {**said, "system": {"statement": system}}


#: Limits of a box: a part of the sweep, a number of points, and a number of bytes.
_PARTS, _MOST_IN_BOX, _MOST_BYTES = 16, 1024, 32 * 2**20


@dataclass(frozen=True)
class Box:
    """Neighbouring points of the grid, which are computed and written together.

    Args:
        number: the number of the box.
        start, stop: its range along each swept dimension.
        shape: the shape of the grid.
    """

    number: int
    start: tuple[int, ...]
    stop: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def slices(self) -> tuple[slice, ...]:
        return tuple(slice(a, b) for a, b in zip(self.start, self.stop, strict=True))

    @property
    def lengths(self) -> tuple[int, ...]:
        return tuple(b - a for a, b in zip(self.start, self.stop, strict=True))

    def __len__(self) -> int:
        return math.prod(self.lengths)

    @property
    def indices(self) -> np.ndarray:
        """The flat indices of the points, the last key varying fastest."""
        ranges = [np.arange(a, b) for a, b in zip(self.start, self.stop, strict=True)]
        return np.ravel_multi_index(np.ix_(*ranges), self.shape).ravel()


@dataclass(frozen=True)
class SweepLayout:
    """The layout of a store.

    Args:
        axes: the swept keys.
        alpha: the output times, shape (A,), if all points have the same; else one row for each
            point along the keys ``timed``, shape (…, A), padded with NaN for studies with fewer
            times.
        timed: indices of the axes on which the output times depend.
        inner: the variables of one point with their largest sizes; missing entries are NaN.
        box: the lengths of a box.
    """

    axes: tuple[Axis, ...]
    alpha: np.ndarray
    timed: tuple[int, ...]
    inner: PointArrays
    box: tuple[int, ...]

    def sizes_only(self) -> SweepLayout:
        """Return the layout without values and times, which suffices to compute a box."""
        A = self.alpha.shape[-1]
        return replace(self, axes=(), alpha=np.empty(A), box=())

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis.values) for axis in self.axes)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the swept dimensions."""
        return tuple(axis.name for axis in self.axes)

    @property
    def time(self) -> str:
        """The dimension of the output times: ``alpha``, or ``time_index`` if they differ."""
        return "time_index" if self.timed else "alpha"

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Sizes of the dimensions of one point, except those that only some rules have."""
        return {self.time: self.alpha.shape[-1], **self.inner.sizes}

    def dimensions(self, variable: str) -> tuple[str, ...]:
        """Return the dimensions of a variable of one point."""
        return tuple(self.time if name == "time" else name for name in self.inner.axes(variable))

    @property
    def boxes_along(self) -> tuple[int, ...]:
        return tuple(-(-n // b) for n, b in zip(self.shape, self.box, strict=True))

    @property
    def count(self) -> int:
        """Number of boxes."""
        return math.prod(self.boxes_along)

    def box_at(self, number: int) -> Box:
        place = np.unravel_index(number, self.boxes_along)
        start = tuple(int(p) * b for p, b in zip(place, self.box, strict=True))
        stop = tuple(min(a + b, n) for a, b, n in zip(start, self.box, self.shape, strict=True))
        return Box(number, start, stop, self.shape)

    def label(self, index: int) -> str:
        """Return the swept values of a flat index, in words."""
        return point_label(self.axes, index)

    def labels(self, box: Box) -> str:
        """Return a description of a box's points, by the first and the last."""
        first, last = (self.label(int(n)) for n in (box.indices[0], box.indices[-1]))
        return f"the points from {first} to {last}" if len(box) > 1 else f"the point {first}"

    def boxes(self) -> Iterator[Box]:
        return (self.box_at(number) for number in range(self.count))


def layout_of(grid: RunGrid) -> SweepLayout:
    """Return the layout of a grid."""
    timed, alpha, inner = grid.extent()
    size = 8 * (inner.numbers + 12 + inner.times)
    return SweepLayout(grid.axes, alpha, timed, inner, _box(grid.shape, size))


def _box(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return the lengths of boxes: whole along the last axes, one along the first ones.

    They depend on the grid only, so that every machine computes the same points together.
    """
    most = min(math.ceil(math.prod(shape) / _PARTS), _MOST_IN_BOX, max(1, _MOST_BYTES // size))
    lengths = []
    for length in reversed(shape):
        lengths.append(min(length, max(1, most)))
        most //= lengths[-1]
    return tuple(reversed(lengths))
