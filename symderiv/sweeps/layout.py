"""The layout of a grid's points in arrays: dimensions, padding, and boxes of points."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from symderiv.sweeps.point_arrays import PointArrays
from symderiv.sweeps.run_grid import RunGrid
from symderiv.sweeps.swept_keys import Axis, point_label

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
