"""A function on a lattice, computed only where it changes: a quadtree of squares.

A square whose known values differ is cut into four until it is one cell of the lattice; one whose
corners and all points known on its edges agree is left as it is. Points on an edge become known
when the square beside it is cut, so that a boundary is followed out of a square that it entered
between two corners. What lies wholly inside a square of the first lattice is not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from symderiv.foundation.errors import InputError

__all__ = ["MapLattice", "Refined", "refined"]

MOST_CELLS = 2048
# Squares are cut where values differ by more than this part of what the first ones differ.
_SHARE = 0.05

#: Given places (n, 2) on the lattice, their values (n,).
Values = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Refined:
    """Known values of a function on a lattice of (N + 1) × (N + 1) points.

    Args:
        values: at the points, shape (N + 1, N + 1); arbitrary where not known.
        known: where they were computed, same shape.
        leaves: squares as first corner and side, shape (n, 3).
        change: the largest difference within a square that is not cut.
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
        """Return values at all points: those computed, and bilinear ones in between.

        Where ``change`` is 0 all corners of a square have one value, which is that of its inside.
        """
        found = self.values.copy()
        for first, second, side in self.leaves:
            if side == 1:
                continue
            i, j = int(first), int(second)
            corners = self.values[np.ix_([i, i + side], [j, j + side])]
            share = np.linspace(0.0, 1.0, side + 1)
            if self.change == 0.0 or not np.isfinite(corners).all():
                inside = np.full((side + 1, side + 1), corners[0, 0])
            else:
                across = corners[0][None] * (1 - share)[:, None] + corners[1] * share[:, None]
                inside = across[:, :1] * (1 - share) + across[:, 1:] * share
            where = np.s_[i : i + side + 1, j : j + side + 1]
            found[where] = np.where(self.known[where], self.values[where], inside)
        return found


@dataclass(frozen=True)
class MapLattice:
    """The lattice of a map, and how closely it is computed.

    Args:
        resolution: N, cells along each side; ``coarse`` times a power of 2.
        coarse: squares along each side to begin with; what is smaller may be missed.
        change: largest one of the quantity (of its decimal logarithm where that counts) that is
            not followed; a
            twentieth of the range of the first values if it is None. 0 for kinds that are numbered.

    Raises:
        InputError: there is no such lattice.
    """

    resolution: int = 128
    coarse: int = 8
    change: float | None = None

    def __post_init__(self) -> None:
        N, coarse = self.resolution, self.coarse
        side = N // coarse if coarse >= 1 else 0
        if side < 1 or side * coarse != N or side & (side - 1) or N > MOST_CELLS:
            raise InputError(
                f"must be {coarse} (coarse) times a power of 2, at most {MOST_CELLS}; got {N}",
                argument="resolution",
            )

    @property
    def side(self) -> int:
        """Cells along the side of a square of the first ones."""
        return self.resolution // self.coarse

    def threshold(self, values: Values) -> float:
        """Return the largest change that is not followed."""
        if self.change is not None:
            return self.change
        starts = np.arange(0, self.resolution + 1, self.side)
        mesh = np.array(np.meshgrid(starts, starts, indexing="ij")).reshape(2, -1).T
        numbers = values(mesh)
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
    resolution, side = lattice.resolution, lattice.side
    change = lattice.threshold(values)
    found = np.full((resolution + 1, resolution + 1), np.nan)
    known = np.zeros(found.shape, dtype=bool)
    starts = np.arange(0, resolution, side)
    corners = np.array(np.meshgrid(starts, starts, indexing="ij")).reshape(2, -1).T
    leaves = np.column_stack([corners, np.full(len(corners), side)])
    while True:
        places = _corners(leaves)
        places = places[~known[tuple(places.T)]]
        if places.size:
            found[tuple(places.T)] = values(places)
            known[tuple(places.T)] = True
            tell(int(known.sum()))
        cut = np.array([_changes(found, known, leaf, change) for leaf in leaves])
        if not cut.any():
            return Refined(found, known, leaves, change)
        half = leaves[cut, 2:] // 2
        parts = [
            np.column_stack([leaves[cut, :2] + half * np.array(shift), half])
            for shift in np.ndindex(2, 2)
        ]
        leaves = np.concatenate([leaves[~cut], *parts])


def _corners(leaves: np.ndarray) -> np.ndarray:
    """Return all corners of squares, each once, in a fixed order."""
    found = [leaves[:, :2] + leaves[:, 2:] * np.array(shift) for shift in np.ndindex(2, 2)]
    return np.unique(np.concatenate(found), axis=0)


def _changes(values: np.ndarray, known: np.ndarray, leaf: np.ndarray, change: float) -> bool:
    """Return whether a square that can be cut has values that differ."""
    first, second, side = (int(n) for n in leaf)
    if side == 1:
        return False
    where = np.s_[first : first + side + 1, second : second + side + 1]
    there = values[where][known[where]]
    numbers = there[~np.isnan(there)]
    if 0 < numbers.size < there.size:
        return True
    if not numbers.size or numbers.min() == numbers.max():  # also all infinite
        return False
    return bool(numbers.max() - numbers.min() > change)
