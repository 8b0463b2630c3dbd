"""A function on a lattice, computed only where it changes: a quadtree of rectangles.

A rectangle whose known values differ is cut into four until it is one cell of the lattice; one
whose corners and all points known on its edges agree is left as it is. Points on an edge become
known when the rectangle beside it is cut, so that a boundary is followed out of a rectangle that it
entered between two corners. What lies wholly inside one of the first rectangles is not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from symderiv.foundation.errors import InputError

MOST_CELLS = 2048
# Squares are cut where values differ by more than this part of what the first ones differ.
_SHARE = 0.05

#: Given places (n, 2) on the lattice, their values (n,).
Values = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Refined:
    """Known values of a function on a lattice of (N_1 + 1) × (N_2 + 1) points.

    Args:
        values: at the points, shape (N_1 + 1, N_2 + 1); arbitrary where not known.
        known: where they were computed, same shape.
        leaves: rectangles as first corner and two sides, shape (n, 4).
        change: the largest difference within a rectangle that is not cut.
    """

    values: np.ndarray
    known: np.ndarray
    leaves: np.ndarray
    change: float

    @property
    def runs(self) -> int:
        """The number of computed values."""
        return int(self.known.sum())

    def filled(self) -> np.ndarray:
        """Return values at all points: those computed, and in between ones that are bilinear in the
        numbers of the points.

        Where ``change`` is 0 all corners of a rectangle have one value, which is that of its
        inside.
        """
        values = self.values.copy()
        for i, j, high, wide in self.leaves.tolist():
            if high == wide == 1:
                continue
            corners = self.values[np.ix_([i, i + high], [j, j + wide])]
            down, along = np.linspace(0.0, 1.0, high + 1), np.linspace(0.0, 1.0, wide + 1)
            if self.change == 0.0 or not np.isfinite(corners).all():
                inside = np.full((high + 1, wide + 1), corners[0, 0])
            else:
                across = corners[0][None] * (1 - down)[:, None] + corners[1] * down[:, None]
                inside = across[:, :1] * (1 - along) + across[:, 1:] * along
            where = np.s_[i : i + high + 1, j : j + wide + 1]
            values[where] = np.where(self.known[where], self.values[where], inside)
        return values


@dataclass(frozen=True)
class MapLattice:
    """The lattice of a map, and how closely it is computed.

    Args:
        resolution: N, cells along a side of which only the ends are given; ``coarse`` times a power
            of 2.
        coarse: rectangles along each side to begin with; what is smaller may be missed.
        change: largest one of the quantity (of its decimal logarithm where that counts) that is
            not followed; a
            twentieth of the range of the first values if it is None. 0 for kinds that are numbered.
        cells: cells along each of the two sides; those of the resolution if it is None.

    Raises:
        InputError: there is no such lattice.
    """

    resolution: int = 128
    coarse: int = 8
    change: float | None = None
    cells: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        N, coarse = self.resolution, self.coarse
        side = N // coarse if coarse >= 1 else 0
        if side < 1 or side * coarse != N or side & (side - 1) or N > MOST_CELLS:
            raise InputError(
                f"must be {coarse} (coarse) times a power of 2, at most {MOST_CELLS}; got {N}",
                argument="resolution",
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Points along each of the two sides."""
        first, second = self.cells or (self.resolution, self.resolution)
        return first + 1, second + 1

    def starts(self) -> list[np.ndarray]:
        """Return the places along each side at which the first rectangles begin and end."""
        return [
            np.unique(np.rint(np.linspace(0, points - 1, self.coarse + 1)).astype(int))
            for points in self.shape
        ]

    def threshold(self, values: Values) -> float:
        """Return the largest change that is not followed."""
        if self.change is not None:
            return self.change
        numbers = values(_mesh(self.starts()))
        numbers = numbers[np.isfinite(numbers)]
        return _SHARE * float(np.ptp(numbers)) if numbers.size else 0.0


def refined(
    values: Values, lattice: MapLattice, tell: Callable[[int], None] = lambda runs: None
) -> Refined:
    """Compute a function where it changes.

    Args:
        values: the function; called with all places of a round at once. Not a number is a value of
            its own.
        lattice: where.
        tell: called with the number of values computed so far.
    """
    change = lattice.threshold(values)
    computed = np.full(lattice.shape, np.nan)
    known = np.zeros(computed.shape, dtype=bool)
    starts = lattice.starts()
    corners, sides = _mesh([each[:-1] for each in starts]), _mesh([np.diff(e) for e in starts])
    leaves = np.column_stack([corners, sides])
    while True:
        places = _corners(leaves)
        places = places[~known[tuple(places.T)]]
        if places.size:
            computed[tuple(places.T)] = values(places)
            known[tuple(places.T)] = True
            tell(int(known.sum()))
        cut = np.array([_changes(computed, known, leaf, change) for leaf in leaves])
        if not cut.any():
            return Refined(computed, known, leaves, change)
        half = leaves[cut, 2:] // 2
        parts = [
            np.column_stack(
                [
                    leaves[cut, :2] + half * np.array(shift),
                    np.where(np.array(shift, dtype=bool), leaves[cut, 2:] - half, half),
                ]
            )
            for shift in np.ndindex(2, 2)
        ]
        whole = np.concatenate(parts)
        # half of a side of one cell is nothing
        leaves = np.concatenate([leaves[~cut], whole[(whole[:, 2:] > 0).all(axis=1)]])


def _mesh(sides: list[np.ndarray]) -> np.ndarray:
    """Return all pairs of an entry of each of two arrays, shape (n, 2)."""
    return np.array(np.meshgrid(*sides, indexing="ij")).reshape(2, -1).T


def _corners(leaves: np.ndarray) -> np.ndarray:
    """Return all corners of rectangles, each once, in a fixed order."""
    corners = [leaves[:, :2] + leaves[:, 2:] * np.array(shift) for shift in np.ndindex(2, 2)]
    return np.unique(np.concatenate(corners), axis=0)


def _changes(values: np.ndarray, known: np.ndarray, leaf: np.ndarray, change: float) -> bool:
    """Return whether a rectangle that can be cut has values that differ."""
    first, second, high, wide = (int(n) for n in leaf)
    if high == wide == 1:
        return False
    where = np.s_[first : first + high + 1, second : second + wide + 1]
    there = values[where][known[where]]
    numbers = there[~np.isnan(there)]
    if 0 < numbers.size < there.size:
        return True
    if not numbers.size or numbers.min() == numbers.max():  # also all infinite
        return False
    return bool(numbers.max() - numbers.min() > change)
