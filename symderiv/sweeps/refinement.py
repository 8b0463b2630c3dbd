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

__all__ = ["Refined", "refined"]

#: Given places (n, 2) on the lattice, their values (n,).
Values = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Refined:
    """What is known of a function on a lattice of (N + 1) × (N + 1) points.

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
        """How many values were computed."""
        return int(self.known.sum())

    def filled(self) -> np.ndarray:
        """Values at all points: those computed, and bilinear ones in between.

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


def refined(
    values: Values,
    resolution: int,
    *,
    coarse: int = 8,
    change: float = 0.0,
    tell: Callable[[int], None] = lambda runs: None,
) -> Refined:
    """Compute a function where it changes.

    Args:
        values: the function; called with all places of a round at once.
        resolution: N, cells along each side; ``coarse`` times a power of 2.
        coarse: squares along each side to begin with.
        change: differences up to this are none; 0 for kinds that are numbered. Not a number is a
            value of its own.
        tell: called with the number of values computed so far.
    """
    side = resolution // coarse
    if side * coarse != resolution or side & (side - 1):
        raise ValueError("the resolution must be coarse times a power of 2")
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
    """All corners of squares, each once, in a fixed order."""
    found = [leaves[:, :2] + leaves[:, 2:] * np.array(shift) for shift in np.ndindex(2, 2)]
    return np.unique(np.concatenate(found), axis=0)


def _changes(values: np.ndarray, known: np.ndarray, leaf: np.ndarray, change: float) -> bool:
    """Whether a square that can be cut has values that differ."""
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
