"""A function on a lattice that is computed only where it changes, by a quadtree.

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
# Rectangles are cut if values differ by more than this part of the first values' range.
_SHARE = 0.05

#: A function from places (n, 2) on the lattice to their values (n,).
Values = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Refined:
    """Known values of a function on a lattice of (N_1 + 1) × (N_2 + 1) points.

    Args:
        values: the values at the points, shape (N_1 + 1, N_2 + 1); arbitrary where not known.
        known: True where values were computed, same shape.
        leaves: the rectangles as first corner and two sides, shape (n, 4).
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
        """Return values at all points, interpolated bilinearly between the computed ones.

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
    """The lattice of a map, and the accuracy to which it is computed.

    Args:
        resolution: N, the number of cells along a side given by its ends; ``coarse`` times a power
            of 2.
        coarse: the number of first rectangles along each side; regions inside of one may be missed.
        change: the largest change of the quantity (or of its decimal logarithm) that is not
            refined; a twentieth of the range of the first values if None; 0 for numbered kinds.
        cells: the numbers of cells along both sides; those of the resolution if None.

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
        if self.change is not None and not self.change >= 0.0:
            raise InputError(f"{self.change!r} is not a number >= 0", argument="change")

    @property
    def shape(self) -> tuple[int, int]:
        """The number of points along each of the two sides."""
        first, second = self.cells or (self.resolution, self.resolution)
        return first + 1, second + 1

    def starts(self) -> list[np.ndarray]:
        """Return the edges of the first rectangles along each side."""
        return [
            np.unique(np.rint(np.linspace(0, points - 1, self.coarse + 1)).astype(int))
            for points in self.shape
        ]

    def threshold(self, values: Values) -> float:
        """Return the largest change that is not refined."""
        if self.change is not None:
            return self.change
        numbers = values(_mesh(self.starts()))
        numbers = numbers[np.isfinite(numbers)]
        return _SHARE * float(np.ptp(numbers)) if numbers.size else 0.0


def refined(
    values: Values, lattice: MapLattice, tell: Callable[[int], None] = lambda runs: None
) -> Refined:
    """Compute a function on a lattice, refined where it changes.

    Args:
        values: the function, called with all places of a round at once; NaN counts as a value.
        lattice: the lattice.
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
        # halving a side of one cell gives empty parts
        leaves = np.concatenate([leaves[~cut], whole[(whole[:, 2:] > 0).all(axis=1)]])


def _mesh(sides: list[np.ndarray]) -> np.ndarray:
    """Return all pairs of an entry of each of two arrays, shape (n, 2)."""
    return np.array(np.meshgrid(*sides, indexing="ij")).reshape(2, -1).T


def _corners(leaves: np.ndarray) -> np.ndarray:
    """Return all corners of rectangles, each once, in a fixed order."""
    corners = [leaves[:, :2] + leaves[:, 2:] * np.array(shift) for shift in np.ndindex(2, 2)]
    return np.unique(np.concatenate(corners), axis=0)


def _changes(values: np.ndarray, known: np.ndarray, leaf: np.ndarray, change: float) -> bool:
    """Return whether a rectangle has values that differ too much, and can be cut."""
    first, second, high, wide = (int(n) for n in leaf)
    if high == wide == 1:
        return False
    where = np.s_[first : first + high + 1, second : second + wide + 1]
    there = values[where][known[where]]
    numbers = there[~np.isnan(there)]
    if 0 < numbers.size < there.size:
        return True
    if not numbers.size or numbers.min() == numbers.max():  # also if all are infinite
        return False
    return bool(numbers.max() - numbers.min() > change)
