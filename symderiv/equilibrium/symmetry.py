"""Symmetries of a free energy: exchanges of units, and signs of units with even activations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from scipy.linalg import null_space

from symderiv.analysis.fixed_points.exchanged_flow import UnitEntries
from symderiv.equilibrium.free_energy import FreeEnergy

_EQUAL, _COMMUTES = 1e-7, 1e-8


class Symmetries:
    """Exchanges of two students, of two teachers or of both, and signs, as signed permutations that
    leave the slopes of the free energy alone.
    """

    def __init__(self, energy: FreeEnergy) -> None:
        K, M = energy.K, energy.M
        students = [("Q", (int(i), int(j)), True) for i, j in energy.pairs]
        teachers = [("R", (i, K + n), False) for i, n in np.ndindex(K, M)]
        entries = UnitEntries.of(K + M, [*students, *teachers])
        x, still = energy.drawn(np.random.default_rng(2)), np.eye(energy.size)
        slope = energy.at(x, 1.0)[1]
        self._all: list[np.ndarray] = []
        for moved, signs in _candidates(K, M):
            order, sign = entries.places(moved), entries.factors(signs)
            image = still[order] * sign[:, None]
            gaps = energy.at(image @ x, 1.0)[1] - image @ slope
            moves = not np.array_equal(image, still)
            if moves and np.abs(gaps).max() < _COMMUTES * np.abs(slope).max():
                self._all.append(image)

    def frame(self, x: np.ndarray) -> np.ndarray:
        """Return an orthonormal frame of the states with the symmetry of a state, shape (n, m)."""
        unchanged = [g for g in self._all if np.abs(g @ x - x).max() < _EQUAL]
        if not unchanged:
            return np.eye(x.size)
        frame: np.ndarray = null_space(
            np.vstack(unchanged) - np.tile(np.eye(x.size), (len(unchanged), 1))
        )
        return frame


def _candidates(K: int, M: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield units in another order, and signs of units."""
    still, whole = np.arange(K + M), np.ones(K + M)
    students, teachers = ([still], [still])
    for swaps, low, high in ((students, 0, K), (teachers, K, K + M)):
        for i, j in itertools.combinations(range(low, high), 2):
            moved = still.copy()
            moved[[i, j]] = j, i
            swaps.append(moved)
    yield from ((one[other], whole) for one, other in itertools.product(students, teachers))
    own = [*(1.0 - 2.0 * np.eye(K)), np.ones(K)]
    others = [*(1.0 - 2.0 * np.eye(M)), np.ones(M), -np.ones(M)]
    yield from ((still, np.append(*each)) for each in itertools.product(own, others))
